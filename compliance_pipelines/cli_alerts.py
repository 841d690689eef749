"""`compliance alerts`: which alerts fire, what each rule looks at, and a trial alert to the configured receiver.

0 nothing fires · 1 something fires (list) or was not taken (test) · 2 could not decide.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import typer
from compliance_guardrails.policy import Policy, load_policy
from compliance_guardrails.policy.models import AlertRule
from compliance_guardrails.policy.types import AlertName
from rich.console import Console
from rich.markup import escape

from compliance_pipelines.core import alerting_delivery, alerting_rules
from compliance_pipelines.core.alerting import ALL_DEPARTMENTS, Episode
from compliance_pipelines.core.alerting_delivery import Post, Timing
from compliance_pipelines.core.periods import PARIS

alerts_app = typer.Typer(no_args_is_help=True, help="Les alertes : lister, essayer l'envoi, expliquer une règle.")
out = Console(highlight=False, soft_wrap=True)

_SOURCES = {
    AlertName.NEUTRALITY_BELOW_THRESHOLD: "les mesures de chaque nuit achevée et, en journée, les fenêtres glissantes",
    AlertName.UNCITED_CLAIMS_BURST: "les compteurs de la passerelle (Prometheus)",
    AlertName.UNSCORED_RATE_HIGH: "les mesures de chaque nuit achevée",
    AlertName.JUDGE_UNRELIABLE: "les notes retenues de chaque nuit achevée",
    AlertName.NIGHT_MISSING: "le calendrier des nuits ; Prometheus si le dispositif lui-même se tait",
    AlertName.RUN_FAILED: "les exécutions Dagster ; s'éteint quand le même travail réussit",
    AlertName.REPORT_MISSING: "le calendrier des rapports ; Prometheus si le dispositif lui-même se tait",
    AlertName.RETENTION_NOT_VERIFIED: "le verrou de chaque rapport archivé, relu dans l'archive toutes les six heures",
    AlertName.GUARDRAIL_ERRORS: "les compteurs de la passerelle (Prometheus)",
    AlertName.GUARDRAIL_NOT_FED: "les compteurs de la passerelle (Prometheus)",
}


@alerts_app.command("list")
def list_alerts(
    everything: Annotated[bool, typer.Option("--all", help="Aussi les alertes terminées.")] = False,
) -> None:
    """Lister les alertes en cours, et ce qui attend d'être remis."""
    from compliance_pipelines.resources import alerting_from_env, settings

    outbox = alerting_from_env(str(settings().home)).outbox
    found = outbox.episodes() if outbox.path.exists() else []
    firing = [e for e in found if e.ended_at is None]
    for episode in found if everything else firing:
        out.print(escape(_line(episode)))
        out.print(escape(f"    {alerting_delivery.annotations(episode).get('description', '')}"))
    if not firing:
        out.print("Aucune alerte en cours.")
    waiting = sum(e.closed_at is None and e.announced_at is None and not e.silent for e in found)
    if waiting:
        out.print(f"{waiting} alerte(s) en attente de remise.")
    raise typer.Exit(1 if firing else 0)


@alerts_app.command("test")
def test() -> None:
    """Envoyer une alerte d'essai, qui s'éteint seule, au récepteur configuré."""
    from compliance_pipelines.adapters.alertmanager import Alertmanager
    from compliance_pipelines.adapters.outbox import SenderUnavailableError
    from compliance_pipelines.resources import SettingsError, alerting_from_env, settings, utc_now

    url = alerting_from_env(str(settings().home)).alertmanager_url
    if not url:
        raise SettingsError("ALERTMANAGER_URL n'est pas renseigné : les alertes sont écrites dans un fichier")
    now = utc_now()
    notes = {"summary": "Essai : cette alerte vérifie l’acheminement.", "next_step": "Ne rien faire."}
    episode = Episode(
        "essai", "ComplianceAlertTest", ALL_DEPARTMENTS, "warning", now, None, {"essai": notes}, ("essai",)
    )
    timing = Timing(timedelta(minutes=2), timedelta(minutes=6), ttl=timedelta(minutes=2))
    try:
        with Alertmanager(url) as sender:
            (taken,) = sender.send([Post(episode, firing=True)], now, timing)
    except SenderUnavailableError as away:
        raise SettingsError(f"ALERTMANAGER_URL : {away}") from None
    out.print("Alerte d'essai acceptée ; elle s'éteint d'elle-même dans deux minutes." if taken else "Alerte refusée.")
    raise typer.Exit(0 if taken else 1)


@alerts_app.command("explain")
def explain(rule: Annotated[str, typer.Argument(metavar="RÈGLE", help="Par exemple NightMissing.")]) -> None:
    """Dire ce que regarde une règle, à quel seuil et pendant combien de temps, et que faire."""
    from compliance_pipelines.core.periods import PeriodError
    from compliance_pipelines.resources import settings

    try:
        name = AlertName(rule)
    except ValueError:
        raise PeriodError(f"règle « {rule[:40]} » inconnue : attendu {', '.join(AlertName)}") from None
    policy = load_policy(settings().policy_dir)
    for line in explanation(policy, name):
        out.print(escape(line))


def explanation(policy: Policy, name: AlertName) -> list[str]:
    """The lines of `explain`."""
    rule = policy.alerts.rule(name)
    lines = [f"{name} ({rule.severity})", rule.summary, f"Regarde : {_SOURCES[name]}.", f"Mesure : {rule.metric}"]
    if "department" in (rule.limit_from or "").split(".")[0]:
        lines += [f"  {d.label:<16} {_condition(rule, policy, d.id)}" for d in policy.departments]
    else:
        lines.append(f"Condition : {_condition(rule, policy, ALL_DEPARTMENTS)}")
    return [*lines, f"Que faire : {rule.next_step}"]


def _condition(rule: AlertRule, policy: Policy, department: str) -> str:
    limit = alerting_rules.limit_of(rule, policy, department)
    minutes = int(alerting_rules.wait_of(rule, policy, department).total_seconds() // 60)
    if limit is None:
        return f"constatée pendant {minutes} min" if minutes else "dès qu'elle est constatée"
    sign = "<" if rule.comparison == "below" else ">"
    return f"{sign} {limit:g}".replace(".", ",") + (f" pendant {minutes} min" if minutes else "")


def _line(episode: Episode) -> str:
    ended = f"terminée le {_when(episode.ended_at)}" if episode.ended_at else "en cours"
    return f"{_when(episode.started_at)}  {episode.rule}  {episode.department}  {episode.severity}  {ended}"


def _when(moment: datetime) -> str:
    return f"{moment.astimezone(PARIS):%Y-%m-%d %H:%M}"
