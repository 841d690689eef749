"""The Prometheus rules as data, made from the policy: limits, waits, departments and French words stand there once.

Rules on the hook's counters live in Prometheus alone (bursts, errors, a gate that nobody feeds). The others watch the
watcher: they fire, with the same labels as the sensors' alerts, when the pipeline itself has fallen silent. Files are
written by k8s/monitoring/generate.py.
"""

from __future__ import annotations

from typing import Any

from compliance_guardrails.policy import Policy
from compliance_guardrails.policy.types import AlertName

from compliance_pipelines.core.alerting import ALL_DEPARTMENTS
from compliance_pipelines.core.alerting_delivery import SERVICE
from compliance_pipelines.core.alerting_text import Links

# nightly: 24 h, an hour for a day of 25, an hour to run; monthly: the longest month and the day it may take
_NIGHT_SECONDS, _MONTH_SECONDS = 26 * 3600, 32 * 86400


def rules(policy: Policy, links: Links) -> dict[str, Any]:
    """The rule file, as Prometheus reads it."""
    burst, coverage = policy.thresholds.uncited_burst, policy.thresholds.min_score_coverage
    window, departments = f"{burst.window_minutes}m", "|".join(sorted(burst.departments))
    fed = "sum by (department) (rate({0}[1h]))"
    asked = fed.format('guardrail_requests_total{stage="grounding"}')
    unfed = fed.format("retrieval_score_missing_total")
    errors = policy.alerts.rule(AlertName.GUARDRAIL_ERRORS).limit or 0
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
            f"sum (increase(guardrail_errors_total[15m])) > {errors:g}",
            '{{ $value | printf "%.0f" }} erreur(s) des garde-fous en 15 min.',
            "",
        ),
        _rule(
            policy,
            AlertName.GUARDRAIL_NOT_FED,
            f"1 - {unfed} / ({asked} > 0) < {coverage:g}",
            "{{ $labels.department }} : {{ $value | humanizePercentage }} des requêtes portent une similarité, "
            f"moins de {coverage * 100:.0f} %.",
            "",
        ),
        _rule(
            policy,
            AlertName.NIGHT_MISSING,
            f'time() - max(compliance_last_success_timestamp{{job="nightly"}}) > {_NIGHT_SECONDS}',
            "Aucune nuit achevée depuis {{ $value | humanizeDuration }}.",
            links.daily(),
        ),
        _rule(
            policy,
            AlertName.REPORT_MISSING,
            f'time() - max(compliance_last_success_timestamp{{job="monthly_report"}}) > {_MONTH_SECONDS}',
            "Aucun rapport mensuel depuis {{ $value | humanizeDuration }}.",
            links.asset("audit/bias_report"),
        ),
    ]
    return {"groups": [{"name": SERVICE, "rules": groups}]}


def _rule(policy: Policy, name: AlertName, expr: str, description: str, link: str) -> dict[str, Any]:
    rule = policy.alerts.rule(name)
    labels = {"severity": rule.severity.value, "service": SERVICE}
    if "by (department)" not in expr:
        labels["department"] = ALL_DEPARTMENTS
    notes = {
        "summary": rule.summary,
        "description": description,
        "next_step": rule.next_step,
    }
    return {
        "alert": name.value,
        "expr": expr,
        "for": f"{rule.for_minutes or 0}m",
        "labels": labels,
        "annotations": notes | ({"dagster_url": link} if link else {}),
    }
