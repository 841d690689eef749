"""The French words of an alert: what was seen, what to do next, where to look. No text of a trace, no person.

Values are printed here and only here; labels stay the same from post to post.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from urllib.parse import quote, urlencode

from compliance_guardrails.policy import Policy
from compliance_guardrails.policy.models import AlertRule

from compliance_pipelines.core.alerting import ALL_DEPARTMENTS
from compliance_pipelines.core.periods import Month

_NNBSP = "\u202f"
_SIGNS: Mapping[str, str] = {"below": "<", "above": ">"}
_RATES = frozenset({"unscored_rate", "retrieval_score_coverage"})
_COUNTS = frozenset({"uncited_specific_claim_total", "guardrail_errors_total"})


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses in the Dagster UI; an empty `base` (DAGSTER_UI_URL not set) gives no link."""

    base: str = ""

    def asset(self, path: str, partition: str = "") -> str:
        """The page of an asset, at a partition."""
        if not self.base:
            return ""
        query = "?" + urlencode({"view": "partitions", "partition": partition}) if partition else ""
        return f"{self.base.rstrip('/')}/assets/{path}{query}"

    def night(self, day: date) -> str:
        """The figures of one night."""
        return self.asset("department/daily", day.isoformat())

    def daily(self) -> str:
        """The figures by day."""
        return self.asset("department/daily")

    def report(self, month: Month) -> str:
        """A month's report."""
        return self.asset("audit/bias_report", month.first_day.isoformat())

    def receipt(self, month: Month) -> str:
        """The proof of a month's archiving."""
        return self.asset("audit/archive_receipt", month.first_day.isoformat())

    def gateway(self) -> str:
        """Where the gateway's traffic shows in Dagster: the traces as they were read. Its log is elsewhere."""
        return self.asset("langfuse/traces")

    def run(self, run_id: str) -> str:
        """A run."""
        return f"{self.base.rstrip('/')}/runs/{quote(run_id, safe='-')}" if self.base else ""


def notes(
    rule: AlertRule,
    policy: Policy,
    department: str,
    what: str,
    value: float | None,
    limit: float | None,
    n: int | None,
    link: str,
) -> dict[str, str]:
    """Annotations of one observation: summary, description with the figures, next step and link."""
    label = "" if department == ALL_DEPARTMENTS else policy.department(department).label
    out = {
        "summary": f"{label}{_NNBSP}: {_lower(rule.summary)}" if label else rule.summary,
        "description": _described(rule, what, value, limit, n),
        "next_step": rule.next_step,
    }
    return out | {"dagster_url": link} if link else out


def _described(rule: AlertRule, what: str, value: float | None, limit: float | None, n: int | None) -> str:
    if value is None or limit is None:
        return f"{what}{_NNBSP}: {n} note(s) retenue(s)." if n else what
    figure = f"{_number(rule.metric, value)} {_SIGNS[rule.comparison]} {_number(rule.metric, limit)}"
    return f"{what}{_NNBSP}: {figure}" + ("." if rule.metric in _COUNTS or n is None else f" (N = {n}).")


def _number(metric: str, value: float) -> str:
    if metric in _COUNTS:
        return f"{value:.0f}"
    if metric in _RATES:
        return f"{value * 100:.1f}".replace(".", ",") + f"{_NNBSP}%"
    # cut, never rounded: 0,6996 must not read 0,700 < 0,70
    return f"{int(value * 1000 + 1e-9) / 1000:.3f}".replace(".", ",")


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
