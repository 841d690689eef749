"""`compliance alerts`: which alerts fire, what each rule looks at, a trial alert, and the end of an alert by hand.

0 nothing fires, or done · 1 something fires (list), was not taken (test), has nothing to end (resolve) · 2 could not
decide: there is no state, it is too old to reassure anybody, or a word is unknown.
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

from compliance_pipelines.adapters.outbox import Outbox
from compliance_pipelines.core import alerting_calendar, alerting_delivery, alerting_rules
from compliance_pipelines.core.alerting import ALL_DEPARTMENTS, Episode
from compliance_pipelines.core.alerting_delivery import Post, Timing
from compliance_pipelines.core.alerting_prometheus import Installation, installation
from compliance_pipelines.core.periods import PARIS

alerts_app = typer.Typer(no_args_is_help=True, help="Les alertes : lister, terminer, essayer, expliquer.")
out = Console(highlight=False, soft_wrap=True)
_LOOKED_LATELY = timedelta(hours=1)
_REASON = 200

_SOURCES = {
    AlertName.NEUTRALITY_BELOW_THRESHOLD: "les mesures de chaque nuit achevée et, en journée, les fenêtres glissantes",
    AlertName.UNCITED_CLAIMS_BURST: "les compteurs de la passerelle (règle Prometheus) ; "
    "sans Prometheus, les événements Langfuse de l'heure (UNCITED_BURST_FROM)",
    AlertName.UNSCORED_RATE_HIGH: "les mesures de chaque nuit achevée",
    AlertName.JUDGE_UNRELIABLE: "les notes retenues de chaque nuit achevée",
    AlertName.NIGHT_MISSING: "le calendrier des nuits ; Prometheus si le dispositif lui-même se tait",
    AlertName.RUN_FAILED: "les exécutions Dagster, relances épuisées, et la semaine contrefactuelle qui manque ; "
    "s'éteint quand le même travail réussit",
    AlertName.REPORT_MISSING: "le calendrier des rapports ; Prometheus si le dispositif lui-même se tait",
    AlertName.RETENTION_NOT_VERIFIED: "le verrou de chaque rapport archivé, relu dans l'archive toutes les six heures",
    AlertName.GUARDRAIL_ERRORS: "les compteurs de la passerelle (Prometheus)",
    AlertName.GUARDRAIL_NOT_FED: "les compteurs de la passerelle (Prometheus)",
    AlertName.REPORT_PUBLISHED: "les révisions archivées : un avis, dit une fois",
}


@alerts_app.command("list")
def list_alerts(
    everything: Annotated[bool, typer.Option("--all", help="Aussi les alertes terminées.")] = False,
) -> None:
    """Lister les alertes en cours, et ce qui attend d'être remis."""
    outbox = _outbox()
    found = outbox.episodes()
    firing = [e for e in found if e.ended_at is None]
    for episode in found if everything else firing:
        out.print(escape(_line(episode)))
        out.print(escape(f"    {_told(episode)}"))
    undelivered = outbox.undelivered()
    if undelivered.waiting:
        out.print(f"{undelivered.waiting} alerte(s) en attente de remise.")
    for episode in undelivered.refused:
        out.print(escape(f"Refusée par Alertmanager, mise de côté : {_line(episode)}"))
    if firing:
        raise typer.Exit(1)
    stale = _stale(outbox)
    out.print(stale or "Aucune alerte en cours.")
    raise typer.Exit(2 if stale else 0)


def _outbox() -> Outbox:
    from compliance_pipelines.resources import alerting_from_env
    from compliance_pipelines.settings import SettingsError, settings

    outbox = alerting_from_env(str(settings().home)).outbox
    if not outbox.path.exists():
        raise SettingsError(
            f"aucun état trouvé : {outbox.path} n'existe pas ; vérifiez COMPLIANCE_HOME, et que les capteurs tournent"
        )
    return outbox


def _stale(outbox: Outbox) -> str:
    """What to say instead of "nothing fires" when nobody has looked lately."""
    from compliance_pipelines.resources import utc_now

    looked = outbox.looked_at()
    if looked is not None and utc_now() - looked <= _LOOKED_LATELY:
        return ""
    since = f"depuis le {_when(looked)}" if looked else "à une date connue"
    return f"Aucune alerte connue, mais les capteurs n'ont rien relevé {since} : vérifiez que Dagster tourne."


@alerts_app.command("resolve")
def resolve(
    rule: Annotated[str, typer.Argument(metavar="RÈGLE", help="Par exemple RunFailed ; aussi une règle retirée.")],
    reason: Annotated[str, typer.Option(help="Motif, joint à la résolution ; sans nom de personne.")],
    department: Annotated[str, typer.Option(help="Direction de l'alerte.")] = ALL_DEPARTMENTS,
    subject: Annotated[
        str, typer.Option(help="Un seul de ses constats (entre crochets dans la liste) ; tous sinon.")
    ] = "",
) -> None:
    """Terminer à la main une alerte que plus rien n'éteindrait."""
    from compliance_pipelines.core.periods import PeriodError
    from compliance_pipelines.resources import utc_now

    if not reason.strip() or len(reason) > _REASON or not reason.isprintable():
        raise PeriodError(f"--reason : attendu une ligne de 1 à {_REASON} caractères")
    ended = _outbox().resolve(rule, department, subject or None, f"à la main, {reason.strip()}", utc_now())
    if not ended:
        out.print(escape(f"Rien à terminer pour {rule[:40]}, {department[:40]} (compliance alerts list)."))
        raise typer.Exit(1)
    out.print(
        f"{ended} constat(s) terminé(s) ; la résolution part au prochain envoi. "
        "Si la cause dure, l'alerte revient au prochain relevé."
    )


@alerts_app.command("test")
def test() -> None:
    """Envoyer une alerte d'essai, qui s'éteint seule, au récepteur configuré."""
    from compliance_pipelines.adapters.alertmanager import Alertmanager
    from compliance_pipelines.adapters.outbox import SenderUnavailableError
    from compliance_pipelines.resources import alerting_from_env, utc_now
    from compliance_pipelines.settings import SettingsError, settings

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
    from compliance_pipelines.settings import settings

    for found in installation():
        if found["alert"] == rule:
            notes = found["annotations"]
            out.print(escape(f"{rule} ({found['labels']['severity']})\n{notes['summary']}"))
            out.print(
                escape(f"Regarde : les jauges du dispositif (Prometheus) : {found['expr']}, pendant {found['for']}")
            )
            out.print(escape(f"Que faire : {notes['next_step']}"))
            return
    try:
        name = AlertName(rule)
    except ValueError:
        known = ", ".join([*AlertName, *Installation])
        raise PeriodError(f"règle « {rule[:40]} » inconnue : attendu {known}") from None
    policy = load_policy(settings().policy_dir)
    for line in explanation(policy, name):
        out.print(escape(line))


def explanation(policy: Policy, name: AlertName) -> list[str]:
    """The lines of `explain`."""
    rule = policy.alerts.rule(name)
    lines = [f"{name} ({rule.severity})", rule.summary, f"Regarde : {_SOURCES[name]}.", f"Mesure : {rule.metric}"]
    if "department" in (rule.limit_from or "").split(".")[0]:
        lines += [f"  {d.label:<16} {_by_department(rule, policy, d.id)}" for d in policy.departments]
    else:
        lines.append(f"Condition : {_condition(rule, policy, ALL_DEPARTMENTS)}")
    return [*lines, *_scope(policy, name), f"Que faire : {rule.next_step}"]


def _by_department(rule: AlertRule, policy: Policy, department: str) -> str:
    # only the day waits: a night below the threshold is a whole night
    waits, _, wait = _condition(rule, policy, department).partition(" pendant ")
    followed = department in policy.intraday_departments
    return f"{waits} la nuit ; en journée pendant {wait}" if followed and wait else f"{waits} la nuit"


def _scope(policy: Policy, name: AlertName) -> list[str]:
    """What else decides: how many are needed, over what time, for whom, from when."""
    day, burst, least = policy.sampling.intraday, policy.thresholds.uncited_burst, policy.thresholds.min_n
    trailing = f"moyenne des {day.window_minutes} dernières minutes, relevée toutes les {day.every_minutes} min"
    labels = ", ".join(policy.department(d).label for d in burst.departments)
    lines = {
        AlertName.NEUTRALITY_BELOW_THRESHOLD: [
            f"La nuit : au moins {least} notes ; une alerte au plus par nuit, tenue jusqu'à une nuit conforme.",
            f"En journée : {trailing}, au moins {day.min_n} notes ; il y faut un juge et l'API Langfuse.",
        ],
        AlertName.UNCITED_CLAIMS_BURST: [f"Sur {burst.window_minutes} min glissantes, directions suivies : {labels}."],
        AlertName.UNSCORED_RATE_HIGH: [
            f"Par direction, dès {least} traces tirées ; jamais quand les notes sont retenues (JudgeUnreliable)."
        ],
        AlertName.GUARDRAIL_NOT_FED: [
            f"Dès {least} requêtes de la direction dans l'heure ; avec moins, dès {least} en six heures."
        ],
        AlertName.NIGHT_MISSING: [
            f"Attendue à {alerting_calendar.NIGHT_DUE:%H h %M}, heure de Paris, le lendemain du jour évalué."
        ],
        AlertName.REPORT_MISSING: ["Attendu le 1er du mois suivant à 4 h UTC."],
    }
    return lines.get(name, [])


def _condition(rule: AlertRule, policy: Policy, department: str) -> str:
    limit = alerting_rules.limit_of(rule, policy, department)
    minutes = int(alerting_rules.wait_of(rule, policy, department).total_seconds() // 60)
    if limit is None:
        return f"constatée pendant {minutes} min" if minutes else "dès qu'elle est constatée"
    sign = "<" if rule.comparison == "below" else ">"
    return f"{sign} {limit:g}".replace(".", ",") + (f" pendant {minutes} min" if minutes else "")


def _told(episode: Episode) -> str:
    notes = alerting_delivery.annotations(episode)
    subjects = f" [{' ; '.join(episode.subjects)}]" if episode.subjects else ""
    return " ".join(t for t in (notes.get("description", ""), notes.get("ended", "")) if t) + subjects


def _line(episode: Episode) -> str:
    ended = f"terminée le {_when(episode.ended_at)}" if episode.ended_at else "en cours"
    return f"{_when(episode.started_at)}  {episode.rule}  {episode.department}  {episode.severity}  {ended}"


def _when(moment: datetime) -> str:
    return f"{moment.astimezone(PARIS):%Y-%m-%d %H:%M}"
