"""What the guardrails report about a call: the events, scores and stamps that Langfuse stores, as plain values.

Names are those that people search their traces and logs for, so they never change. An event carries codes, counts and
figures; no field can hold a word of the conversation, because every constructor here takes typed codes only.
Sending is `transport`, counting is `metrics`, deciding is `decisions`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from .detect.evidence import BiasScreen

STAMP_DEPARTMENT: Final = "compliance_department"
STAMP_DIGEST: Final = "compliance_policy_digest"
STAMP_DELIVERED: Final = "compliance_delivered"
STAMP_REVIEW: Final = "bias_review_required"
STAMPS: Final = frozenset({STAMP_DEPARTMENT, STAMP_DIGEST, STAMP_DELIVERED, STAMP_REVIEW})
"""Keys of the trace metadata that only the hook may set."""

QUEUE_PREFIX: Final = "review-"
"""The review queue of a department is called `review-<department id>`."""

Value = str | int | float | bool | None | tuple[str, ...]


class EventName(enum.StrEnum):
    """Every event the hook writes."""

    GATE_BLOCKED = "retrieval_gate_blocked"
    SCORE_MISSING = "retrieval_score_missing"
    UNCITED_CLAIM = "uncited-specific-claim"
    LOW_CONFIDENCE = "low_self_confidence"
    PROTECTED_ATTRIBUTE = "protected-attr-comparison-detected"
    BIAS_FINDING = "bias-screen-finding"


class ScoreName(enum.StrEnum):
    """Every score the hook writes; the value is 0 or 1."""

    CITATION_COMPLIANCE = "citation_compliance"
    CITATION_MARKER = "citation_marker"


class Level(enum.StrEnum):
    """Langfuse levels in use; DEFAULT is its word for information."""

    DEFAULT = "DEFAULT"
    WARNING = "WARNING"


class Delivered(enum.StrEnum):
    """How what the user saw differs from the model's text."""

    UNCHANGED = "unchanged"
    PREPENDED = "prepended"
    APPENDED = "appended"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of one call. `review` asks for a place in the department's review queue."""

    name: EventName
    level: Level
    department: str
    metadata: Mapping[str, Value]
    review: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """One score of one call."""

    name: ScoreName
    value: int
    department: str
    policy_digest: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose call it is and by which policy it is judged: what every event says."""

    department: str
    policy_digest: str


def gate_blocked(origin: Origin, similarity: float | None, floor: float) -> Event:
    """The call was refused before the model; `similarity` is None when a missing score was the reason."""
    return _event(EventName.GATE_BLOCKED, Level.DEFAULT, origin, similarity=similarity, floor=floor)


def score_missing(origin: Origin, reason: str) -> Event:
    """No usable similarity came with the call; `reason` is a `decisions.MissingReason`."""
    return _event(EventName.SCORE_MISSING, Level.WARNING, origin, reason=reason)


def uncited_claim(origin: Origin, kinds: Iterable[str], count: int) -> Event:
    """`count` specific claims of the answer name no source."""
    return _event(EventName.UNCITED_CLAIM, Level.WARNING, origin, review=True, kinds=_codes(kinds), count=count)


def low_confidence(origin: Origin, confidence: int) -> Event:
    """The small model rates its own answer at the bottom of the scale."""
    return _event(EventName.LOW_CONFIDENCE, Level.WARNING, origin, confidence=confidence)


def protected_attribute(origin: Origin, rules: Iterable[str], grounds: Iterable[str]) -> Event:
    """The question reasons from a protected attribute."""
    return _event(
        EventName.PROTECTED_ATTRIBUTE,
        Level.WARNING,
        origin,
        review=True,
        rules=_codes(rules),
        grounds=_codes(grounds),
    )


def bias_finding(origin: Origin, screen: BiasScreen, action: str) -> Event:
    """The answer exceeds the threshold of the bias screen; figures are exact decimals written as text."""
    return _event(
        EventName.BIAS_FINDING,
        Level.WARNING,
        origin,
        domain=screen.domain,
        characteristics=_codes(finding.characteristic for finding in screen.findings),
        total=str(screen.total),
        threshold=str(screen.threshold),
        action=action,
    )


def stamps(origin: Origin, delivered: Delivered, review: bool) -> dict[str, str | bool]:
    """The trace metadata of a call. `bias_review_required` stands there only when it is true."""
    made: dict[str, str | bool] = {
        STAMP_DEPARTMENT: origin.department,
        STAMP_DIGEST: origin.policy_digest,
        STAMP_DELIVERED: delivered.value,
    }
    if review:
        made[STAMP_REVIEW] = True
    return made


def _event(name: EventName, level: Level, origin: Origin, *, review: bool = False, **extra: Value) -> Event:
    metadata: dict[str, Value] = {
        "department": origin.department,
        **extra,
        "policy_digest": origin.policy_digest,
    }
    return Event(name, level, origin.department, MappingProxyType(metadata), review)


def _codes(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({str(value) for value in values}))
