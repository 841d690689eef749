"""A night's traces to judgements by the judge, and what follows from them: the rows, the counts, the review queue.

Pure: the calls are made between `plan` and `judgements` by whoever has a judge. Every trace gets one row with its
status and reason; a trace left out by sampling says so; withheld is not unscored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from compliance_pipelines.core.judge_samples import METRIC, Ineligible, Reading, Sample, sample_of
from compliance_pipelines.core.judge_sampling import Strata, chosen
from compliance_pipelines.core.records import Judgement, Status, Trace

ANCHORS_FAILED = "anchors_failed"
SAMPLING = "sampling"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask: `samples` by content key (each once), and for each trace its key or why it has none."""

    samples: Mapping[str, Sample]
    keys: Mapping[str, str]
    left_out: Mapping[str, Ineligible]
    unsampled: frozenset[str]


def plan(traces: Sequence[Trace], strata: Strata) -> Plan:
    """Choose and prepare; identical exchanges share one key and one call."""
    found = {trace.trace_id: sample_of(trace) for trace in traces}
    eligible = [trace for trace in traces if isinstance(found[trace.trace_id], Sample)]
    taken = chosen(eligible, strata)
    samples, keys = dict[str, Sample](), dict[str, str]()
    for trace in eligible:
        sample = found[trace.trace_id]
        if trace.trace_id in taken and isinstance(sample, Sample):
            keys[trace.trace_id] = sample.key
            samples.setdefault(sample.key, sample)
    left_out = {trace_id: why for trace_id, why in found.items() if isinstance(why, Ineligible)}
    unsampled = frozenset(trace.trace_id for trace in eligible) - taken
    return Plan(samples, keys, left_out, unsampled)


def judgements(
    traces: Sequence[Trace],
    planned: Plan,
    readings: Mapping[str, Reading],
    withheld: Collection[str],
    evaluator: str,
    flagged_weight: float,
) -> list[Judgement]:
    """One row a trace. `readings` and `withheld` are by content key."""
    return [
        Judgement(
            trace_id=trace.trace_id,
            department=trace.department,
            observed_at=trace.observed_at,
            metric=METRIC,
            value=value,
            status=status,
            reason=reason,
            evaluator=evaluator,
            weight=flagged_weight if trace.flagged else 1.0,
        )
        for trace in traces
        for value, status, reason in [_outcome(trace.trace_id, planned, readings, withheld)]
    ]


def _outcome(
    trace_id: str, planned: Plan, readings: Mapping[str, Reading], withheld: Collection[str]
) -> tuple[float | None, Status, str | None]:
    why = planned.left_out.get(trace_id)
    if why is not None:
        return None, Status.UNSCORED if why.unscored else Status.NOT_APPLICABLE, why.reason
    if trace_id in planned.unsampled:
        return None, Status.NOT_SAMPLED, SAMPLING
    key = planned.keys[trace_id]
    if key in withheld:
        return None, Status.WITHHELD, ANCHORS_FAILED
    reading = readings[key]
    if reading.value is None:
        return None, Status.UNSCORED, reading.reason or "no_reading"
    return reading.value, Status.SCORED, None


@dataclass(frozen=True, slots=True)
class Rates:
    """Counts a night prints: every trace is in exactly one of the last four, or not applicable."""

    traces: int
    eligible: int
    sampled: int
    scored: int
    unscored: int
    withheld: int
    reasons: Mapping[str, int]

    @property
    def unscored_rate(self) -> float | None:
        """Unscored and withheld among the sampled; None when nothing was sampled."""
        return (self.unscored + self.withheld) / self.sampled if self.sampled else None


def rates(rows: Sequence[Judgement]) -> Rates:
    """The counts of a night or of any set of rows."""
    status = Counter(row.status for row in rows)
    sampled = status[Status.SCORED] + status[Status.UNSCORED] + status[Status.WITHHELD]
    kept_out = (row.reason or "" for row in rows if row.status in {Status.UNSCORED, Status.WITHHELD})
    return Rates(
        traces=len(rows),
        eligible=sampled + status[Status.NOT_SAMPLED],
        sampled=sampled,
        scored=status[Status.SCORED],
        unscored=status[Status.UNSCORED],
        withheld=status[Status.WITHHELD],
        reasons=dict(sorted(Counter(kept_out).items())),
    )


@dataclass(frozen=True, slots=True)
class ForReview:
    """A trace for a person of its department to look at (AI Act art. 14)."""

    trace_id: str
    department: str

    @property
    def queue(self) -> str:
        """The department's annotation queue."""
        return f"review-{self.department}"


def for_review(rows: Sequence[Judgement], queue_below: float) -> list[ForReview]:
    """Traces scored strictly below `queue_below`; whether one was queued before is the ledger's business."""
    return [
        ForReview(row.trace_id, row.department) for row in rows if row.value is not None and row.value < queue_below
    ]


@dataclass(frozen=True, slots=True)
class Trailing:
    """Mean of one department's scores in the trailing window; None below the minimum N."""

    department: str
    n: int
    mean: float | None


def in_window(traces: Sequence[Trace], now: datetime, window_minutes: int, departments: Collection[str]) -> list[Trace]:
    """Traces of the intraday departments observed in the trailing window (its start excluded, `now` included)."""
    start = now - timedelta(minutes=window_minutes)
    return [t for t in traces if start < t.observed_at <= now and t.department in departments]


def trailing(rows: Sequence[Judgement], departments: Sequence[str], min_n: int) -> list[Trailing]:
    """One figure a department, in the order given, for the alert rules to look at."""
    values: dict[str, list[float]] = {department: [] for department in departments}
    for row in rows:
        if row.value is not None and row.department in values:
            values[row.department].append(row.value)
    return [Trailing(d, len(v), sum(v) / len(v) if len(v) >= max(1, min_n) else None) for d, v in values.items()]
