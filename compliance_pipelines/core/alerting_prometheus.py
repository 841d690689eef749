"""The Prometheus rules as data, made from the policy: limits, waits, departments and French words stand there once.

Rules on the hook's counters live in Prometheus alone (bursts, errors, a gate that nobody feeds). The others watch the
watcher: they fire, with the same labels as the sensors' alerts, when the pipeline itself has fallen silent, and only
then: two senders of one alert would end each other's. `Installation` alerts have no sensor and their words stand here:
they tell of nothing that a policy decides. Files are written by k8s/monitoring/generate.py.
"""

from __future__ import annotations

import enum
from typing import Any

from compliance_guardrails.policy import Policy
from compliance_guardrails.policy.types import AlertName

from compliance_pipelines.core.alerting import ALL_DEPARTMENTS
from compliance_pipelines.core.alerting_delivery import SERVICE
from compliance_pipelines.core.alerting_text import Links
from compliance_pipelines.core.gauges import PURGE_JOB, WATCH_JOB

# nightly: 24 h, an hour for a day of 25, an hour to run; monthly: the longest month and the day it may take
_NIGHT_SECONDS, _MONTH_SECONDS = 26 * 3600, 32 * 86400
_FIRST_NIGHT = "compliance_first_night_timestamp"
# weekly, twelve hours to start late, an hour to run: a week that failed is told before the next one
_PURGE_SECONDS = 8 * 86400
# a department with little traffic is looked at over more hours, so that a single call never pages and none is forgotten
_SHORT, _LONG = "1h", "6h"
# the sensors look every five minutes; an hour covers a restart of the daemon and of the gateway of gauges
_WATCH_SECONDS = 3600
# increase() sees nothing in a series that is born at 1: what was not there before the window counts as it stands
_ERRORS = (
    "(guardrail_errors_total unless max_over_time(guardrail_errors_total[15m] offset 15m)) "
    "or increase(guardrail_errors_total[15m])"
)
# a department's share is never negative: departments and the whole gateway share one rule
_NO_HOOK = (
    "{{ else }}Prometheus ne reçoit aucun compteur des garde-fous : crochet non chargé, ou passerelle non collectée."
    "{{ end }}"
)
_SEEN = "{{ if ge $value 0.0 }}"
_UNSEEN = (
    "{{ else }}Prometheus ne reçoit plus cette mesure : dispositif arrêté, passerelle de mesures vide, ou collecte "
    "sans honor_labels.{{ end }}"
)


def rules(policy: Policy, links: Links) -> dict[str, Any]:
    """The rule file, as Prometheus reads it."""
    burst, coverage = policy.thresholds.uncited_burst, policy.thresholds.min_score_coverage
    window, departments = f"{burst.window_minutes}m", "|".join(sorted(burst.departments))
    errors = policy.alerts.rule(AlertName.GUARDRAIL_ERRORS).limit or 0
    night, report = _last("nightly"), _last("monthly_report")
    groups = [
        _rule(
            policy,
            AlertName.UNCITED_CLAIMS_BURST,
            # rounded: five events, extrapolated to the edges of the window, must not read 5.08
            "round(sum by (department) "
            f'(increase(uncited_specific_claim_total{{department=~"{departments}"}}[{window}]))) > {burst.count}',
            '{{ $labels.department }} : {{ $value | printf "%.0f" }} affirmations sans source en '
            f"{burst.window_minutes} min, plus de {burst.count}.",
            links.asset("evaluation/citations"),
        ),
        _rule(
            policy,
            AlertName.GUARDRAIL_ERRORS,
            f"round(sum ({_ERRORS})) > {errors:g}",
            # the stage is no label, which would make an alert of each: it is asked for when the words are made
            '{{ $value | printf "%.0f" }} erreur(s) des garde-fous en 15 min, étape(s) : '
            f"{{{{ range $k, $one := query `sum by (stage) ({_ERRORS}) > 0` | sortByLabel `stage` }}}}"
            "{{ if $k }}, {{ end }}{{ $one.Labels.stage }}{{ end }}.",
            links.gateway(),
        ),
        _rule(
            policy,
            AlertName.GUARDRAIL_NOT_FED,
            f"{_unfed(policy, _SHORT)} or "
            f"{_unfed(policy, _LONG)} unless {_asked(_SHORT)} >= {policy.thresholds.min_n} or "
            f'label_replace({_never("retrieval_score_missing_total")}, "department", "{ALL_DEPARTMENTS}", "", "")',
            f"{_SEEN}{{{{ $labels.department }}}} : {{{{ $value | humanizePercentage }}}} des requêtes portent une "
            f"similarité, moins de {coverage * 100:.0f} %.{_NO_HOOK}",
            links.gateway(),
        ),
        _rule(
            policy,
            AlertName.NIGHT_MISSING,
            _silent(f"time() - max({night}) > {_NIGHT_SECONDS} or {_never(night)}"),
            f"{_SEEN}Aucune nuit achevée depuis {{{{ $value | humanizeDuration }}}}.{_UNSEEN}",
            links.daily(),
        ),
        _rule(
            policy,
            AlertName.REPORT_MISSING,
            _silent(
                f"time() - max({report}) > {_MONTH_SECONDS} or "
                # a new installation owes no report before it has been there for a month
                f"{_never(report)} and on () (time() - max({_FIRST_NIGHT}) > {_MONTH_SECONDS})"
            ),
            f"{_SEEN}Aucun rapport mensuel depuis {{{{ $value | humanizeDuration }}}}.{_UNSEEN}",
            links.asset("audit/bias_report"),
        ),
        *installation(),
    ]
    return {"groups": [{"name": SERVICE, "rules": groups}]}


class Installation(enum.StrEnum):
    """Alerts on the installation itself; people route on these names, so they never change."""

    PURGE_MISSING = "PurgeMissing"
    ALERTS_NOT_DELIVERED = "AlertsNotDelivered"


def installation() -> list[dict[str, Any]]:
    """The rules of the `Installation` alerts, as `rules` has them."""
    purged, delivering = _last(PURGE_JOB), f"on () (time() - max({_last(WATCH_JOB)}) < {_WATCH_SECONDS})"
    return [
        _written(
            Installation.PURGE_MISSING,
            f"time() - max({purged}) > {_PURGE_SECONDS} or "
            f"{_never(purged)} and on () (time() - max({_FIRST_NIGHT}) > {_PURGE_SECONDS})",
            60,
            "La purge des données de travail n’a pas réussi depuis plus d’une semaine.",
            f"{_SEEN}Dernière purge réussie il y a {{{{ $value | humanizeDuration }}}}."
            "{{ else }}Aucune purge réussie depuis la première nuit.{{ end }}",
            "Lire le dernier passage du CronJob purge (kubectl get jobs, puis kubectl logs), corriger, puis lancer "
            "compliance purge --apply. Tant qu’elle manque, des données dépassent leur durée de conservation.",
        ),
        _written(
            Installation.ALERTS_NOT_DELIVERED,
            # without Alertmanager the sensors write no time of looking, and alerts wait in their file by choice
            f"(max(compliance_alerts_waiting) > 0 or max(compliance_alerts_refused) > 0) and {delivering}",
            30,
            "Des alertes n’arrivent pas à Alertmanager.",
            '{{ $value | printf "%.0f" }} alerte(s) en attente ou refusée(s) depuis plus de 30 min.',
            "Lancer compliance alerts list : elle nomme ce qui attend et ce qui est refusé. Vérifier ALERTMANAGER_URL, "
            "le réseau et le journal d’Alertmanager.",
        ),
    ]


def _asked(window: str) -> str:
    return f'sum by (department) (increase(guardrail_requests_total{{stage="grounding"}}[{window}]))'


def _unfed(policy: Policy, window: str) -> str:
    limits, asked = policy.thresholds, _asked(window)
    missing = f"sum by (department) (increase(retrieval_score_missing_total[{window}]))"
    return f"1 - {missing} / {asked} < {limits.min_score_coverage:g} and {asked} >= {limits.min_n}"


def _last(job: str) -> str:
    return f'compliance_last_success_timestamp{{job="{job}"}}'


def _silent(expr: str) -> str:
    # sensors that look, and whose alerts arrive, own the calendar; what waits for delivery would be told by nobody
    watching = f"time() - max({_last(WATCH_JOB)}) < {_WATCH_SECONDS} and on () max(compliance_alerts_waiting) == 0"
    return f"({expr}) unless on () ({watching})"


def _never(series: str) -> str:
    # max drops the labels that absent() would add; a negative value tells the two cases apart in the words
    return f"-max(absent({series}))"


def _rule(policy: Policy, name: AlertName, expr: str, description: str, link: str) -> dict[str, Any]:
    rule = policy.alerts.rule(name)
    return _written(
        name, expr, rule.for_minutes or 0, rule.summary, description, rule.next_step, link, rule.severity.value
    )


def _written(
    name: str,
    expr: str,
    minutes: int,
    summary: str,
    description: str,
    next_step: str,
    link: str = "",
    severity: str = "warning",
) -> dict[str, Any]:
    labels = {"severity": severity, "service": SERVICE}
    if "by (department)" not in expr:
        labels["department"] = ALL_DEPARTMENTS
    notes = {"summary": summary, "description": description, "next_step": next_step}
    return {
        "alert": str(name),
        "expr": expr,
        "for": f"{minutes}m",
        "labels": labels,
        "annotations": notes | ({"dagster_url": link} if link else {}),
    }
