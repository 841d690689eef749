"""Which policy values guard something, and in which direction they loosen: the table that `policy diff`
goes by.

A key is `<file>.<path>` with list items named by their id (`departments[direction-
it].report_threshold`). Patterns are tried in order; `*` stands for one name. A value that no pattern
names is free to change. Adding a threshold to a model means adding its line here: a test refuses numbers
and switches that no pattern covers.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final


class Change(enum.StrEnum):
    """What became of a guarded value."""

    SAME = "same"
    TIGHTENED = "tightened"
    LOOSENED = "loosened"


@dataclass(frozen=True, slots=True)
class Guard:
    """How to compare: `order` lists words from loose to strict; else numbers, stricter when `higher` or not.

    `higher` None and no order: any change counts as loosening, because either direction can hide something.
    """

    higher: bool | None = None
    order: tuple[Any, ...] = ()

    def compare(self, before: Any, after: Any) -> Change:
        """The change from `before` to `after`; what cannot be compared counts as loosened."""
        if _equal(before, after):
            return Change.SAME
        if self.order:
            if before not in self.order or after not in self.order:
                return Change.LOOSENED
            up = self.order.index(after) > self.order.index(before)
            return Change.TIGHTENED if up else Change.LOOSENED
        old, new = _number(before), _number(after)
        if self.higher is None or old is None or new is None:
            return Change.LOOSENED
        return Change.TIGHTENED if (new > old) == self.higher else Change.LOOSENED


_UP: Final = Guard(higher=True)
_DOWN: Final = Guard(higher=False)
_ANY: Final = Guard()
_OFF_ON: Final = Guard(order=(False, True))
_RISK: Final = Guard(order=("LOW", "MEDIUM", "HIGH", "CRITICAL"))

_PATTERNS: Final[tuple[tuple[str, Guard], ...]] = (
    ("thresholds.grounding_floor", _UP),
    ("thresholds.counterfactual_cosine_floor", _UP),
    ("thresholds.counterfactual_cosine_overrides.*", _UP),
    ("thresholds.citation_compliance", _UP),
    ("thresholds.flagged_weight", _UP),
    ("thresholds.retention_years", _UP),
    ("thresholds.queue_below", _UP),
    ("thresholds.suppress_below", _UP),
    ("thresholds.min_score_coverage", _UP),
    ("thresholds.max_unscored_rate", _DOWN),
    ("thresholds.purge_months", _DOWN),
    ("thresholds.uncited_burst.count", _DOWN),
    ("thresholds.uncited_burst.window_minutes", _UP),
    ("thresholds.uncited_burst.departments[*]", _ANY),
    # Fewer traces for a verdict make it fragile, more make it rare: both are decisions.
    ("thresholds.min_n", _ANY),
    ("departments*.risk", _RISK),
    ("departments*.layers.*", _OFF_ON),
    ("departments*.report_threshold", _UP),
    ("departments*.alert_threshold", _UP),
    ("departments*.alert_for_minutes", _DOWN),
    ("departments*.sampling_rate", _UP),
    ("departments*.missing_score", Guard(order=("pass_and_flag", "refuse"))),
    # Another seed draws other traces: nobody should be able to draw until the figure pleases.
    ("sampling.salt", _ANY),
    ("sampling.strata[*]", _ANY),
    ("sampling.min_per_stratum", _UP),
    ("sampling.probe_triples_per_department", _UP),
    ("sampling.intraday.departments[*]", _ANY),
    ("sampling.intraday.window_minutes", _ANY),
    ("sampling.intraday.every_minutes", _DOWN),
    ("sampling.intraday.rate", _UP),
    ("sampling.intraday.min_n", _DOWN),
    ("sampling.intraday.max_calls_per_hour", _UP),
    ("guardrails.on_error", Guard(order=("pass", "refuse"))),
    ("guardrails.bias_screen*.action", Guard(order=("warn", "block"))),
    ("guardrails.bias_screen*.threshold", _ANY),
    ("guardrails.bias_screen*.domain", _ANY),
    ("guardrails.bias_screen*.stream", Guard(order=("append", "buffer"))),
    ("guardrails.self_evaluation.timeout_seconds", _UP),
    ("alerts.resend_minutes", _DOWN),
    ("alerts.rules[*].limit", _ANY),
    ("alerts.rules[*].limit_from", _ANY),
    ("alerts.rules[*].comparison", _ANY),
    ("alerts.rules[*].metric", _ANY),
    ("alerts.rules[*].for_minutes", _DOWN),
    ("alerts.rules[*].for_minutes_from", _ANY),
    ("alerts.rules[*].severity", Guard(order=("info", "warning", "critical"))),
    ("prompts/*.refusal", _ANY),
    ("prompts/*.alias", _ANY),
    ("rules/**.threshold", _DOWN),
    ("rules/**.severity", _RISK),
    ("rules/**.severity.*", _RISK),
    ("rules/**.multipliers.*", _UP),
    ("rules/**.weights.*", _UP),
)


def _compiled(pattern: str) -> re.Pattern[str]:
    """`**` spans anything, `*` one name; `departments*` is a bracketed item or `.unattributed`."""
    body = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\[\*\]", r"\[[^\]]*\]")
    body = body.replace(r"departments\*", r"departments(?:\[[^\]]*\]|\.unattributed)")
    body = body.replace(r"bias_screen\*", r"bias_screen(?:_overrides\.[^.\[]+)?")
    return re.compile(body.replace(r"\*", r"[^.\[\]]+"))


_TABLE: Final = tuple((_compiled(pattern), guard) for pattern, guard in _PATTERNS)


def guard_of(key: str) -> Guard | None:
    """The guard of a key, or None when its value is free."""
    for pattern, guard in _TABLE:
        if pattern.fullmatch(key):
            return guard
    return None


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def _equal(before: Any, after: Any) -> bool:
    if type(before) is bool or type(after) is bool:
        return before is after
    old, new = _number(before), _number(after)
    return old == new if old is not None and new is not None else before == after
