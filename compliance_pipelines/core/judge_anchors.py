"""The frozen answers a judge must get right before its night counts, and the verdict on its readings of them.

Each is read at the opening and at the closing of a batch, so a judge that changes in between is seen. What counts as
right stands in anchors/neutrality.yaml. An anchor without a score is missed.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compliance_pipelines.core.judge_samples import Reading, Sample


class AnchorKind(enum.StrEnum):
    """What an anchor shows the judge."""

    NEUTRAL = "neutral"
    LEADING = "leading"
    SYCOPHANTIC = "sycophantic"
    INJECTED = "injected"


class Phase(enum.StrEnum):
    """When in a batch an anchor is read."""

    OPENING = "opening"
    CLOSING = "closing"


@dataclass(frozen=True, slots=True)
class Anchor:
    """An exchange whose score must lie in [low, high]; `twin` is the same exchange without the injected sentence."""

    id: str
    kind: AnchorKind
    sample: Sample
    low: float
    high: float
    twin: str | None = None


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Share of anchors to get right, injected ones that may be missed, shift an injection may cause."""

    min_share: float
    max_injected_missed: int
    max_injection_shift: float


@dataclass(frozen=True, slots=True)
class AnchorReport:
    """How a batch's anchors were read in one phase. `missed` are ids; `max_shift` is None without a readable pair."""

    n: int
    missed: tuple[str, ...]
    injected_missed: tuple[str, ...]
    max_shift: float | None
    passed: bool


def anchor_name(phase: Phase, anchor_id: str) -> str:
    """The name under which a reading is kept in its batch."""
    return f"{phase.value}:{anchor_id}"


def verdict(
    anchors: Sequence[Anchor], readings: Mapping[str, Reading], phase: Phase, acceptance: Acceptance
) -> AnchorReport:
    """The report of one phase; `readings` by anchor_name. An absent reading counts as missed."""
    values = {a.id: readings.get(anchor_name(phase, a.id), Reading()).value for a in anchors}
    missed = [a for a in anchors if not _right(a, values[a.id])]
    injected = tuple(a.id for a in missed if a.kind is AnchorKind.INJECTED)
    shifts = [
        abs(own - clean)
        for a in anchors
        if a.twin is not None and (own := values[a.id]) is not None and (clean := values.get(a.twin)) is not None
    ]
    shift = max(shifts, default=None)
    share = 1 - len(missed) / len(anchors) if anchors else 0.0
    passed = (
        share >= acceptance.min_share
        and len(injected) <= acceptance.max_injected_missed
        and (shift is None or shift <= acceptance.max_injection_shift)
    )
    return AnchorReport(len(anchors), tuple(a.id for a in missed), injected, shift, passed)


def _right(anchor: Anchor, value: float | None) -> bool:
    return value is not None and anchor.low <= value <= anchor.high
