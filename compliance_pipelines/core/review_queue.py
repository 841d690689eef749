"""The review queues as facts: what was queued on a day, what was reviewed, how long it took, what became golden.

A queue item is kept twice at most: on the Paris day it was queued and on the day it was completed, each time as it
stood at the end of that day, so that reading an old day again gives the same table. Pure; no text of a conversation.
Serves AI Act art. 14: a person looks, and it can be shown that she did.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from compliance_pipelines.core.periods import day_window
from compliance_pipelines.core.records import Judgement, Score

# guardrail events after which a person has to look
REVIEWED_EVENTS = ("uncited-specific-claim", "protected-attr-comparison-detected")
OBSERVATION = "OBSERVATION"
CREATED, WITHOUT_CORRECTION, WITHOUT_EXCHANGE = "created", "no_correction", "no_exchange"


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """An object in the queue `review-<department>`. `completed_at` is None while nobody has reviewed it."""

    item_id: str
    department: str
    object_id: str
    object_type: str
    queued_at: datetime
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class QueuedTrace:
    """A trace that was put into its department's queue, and why: an event's name or a metric's."""

    trace_id: str
    department: str
    reason: str


@dataclass(frozen=True, slots=True)
class GoldenEntry:
    """What a completed item became in the dataset `golden-<department>`: created, or the reason why not."""

    item_id: str
    department: str
    trace_id: str | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Reviews:
    """One department's queue over a period, counted by trace. The median is None when nothing was completed."""

    queued: int = 0
    reviewed: int = 0
    overridden: int = 0
    median_hours: float | None = None


def of_day(items: Iterable[ReviewItem], day: date) -> list[ReviewItem]:
    """Items queued or completed on a Paris day, as they stood at its end, in order of queueing."""
    start, end = day_window(day)
    found = []
    for item in items:
        done = item.completed_at if item.completed_at is not None and item.completed_at < end else None
        if start <= item.queued_at < end or (done is not None and done >= start):
            found.append(replace(item, completed_at=done))
    return sorted(found, key=lambda item: (item.queued_at, item.item_id))


def completed_on(items: Iterable[ReviewItem], day: date) -> list[ReviewItem]:
    """Items completed on a Paris day."""
    start, end = day_window(day)
    return [item for item in items if item.completed_at is not None and start <= item.completed_at < end]


def latest(items: Iterable[ReviewItem], cutoff: datetime) -> list[ReviewItem]:
    """One version an item, as it stood at `cutoff`; `items` are those of several days, in order of time."""
    kept: dict[str, ReviewItem] = {}
    for item in items:
        if item.queued_at <= cutoff:
            late = item.completed_at is not None and item.completed_at > cutoff
            kept[item.item_id] = replace(item, completed_at=None) if late else item
    return list(kept.values())


def objects(trace_ids: Iterable[str]) -> dict[tuple[str, str], str]:
    """(object type, object id) of a queue item to the trace it stands for: "trace", or "trace/observation"."""
    found: dict[tuple[str, str], str] = {}
    for trace_id in trace_ids:
        whole, _, observation = trace_id.partition("/")
        found[(OBSERVATION, observation) if observation else ("TRACE", whole)] = trace_id
    return found


def measure(
    items: Sequence[ReviewItem],
    signalled: Iterable[str],
    outcomes: Iterable[tuple[str, str]],
    department_of: Mapping[str, str],
) -> dict[str, Reviews]:
    """Reviews by department, over the traces in `department_of`.

    signalled: traces that an event or a review puts into a queue, also where no queue can be read. outcomes: (trace,
    "confirmed" | "overridden") in order of time, the last of a trace stands. Each trace counts once.
    """
    known = objects(department_of)
    standing = [(item, trace) for item in items if (trace := known.get((item.object_type, item.object_id)))]
    last = {trace: outcome for trace, outcome in outcomes if trace in department_of}
    queued = {trace for trace in signalled if trace in department_of} | {trace for _, trace in standing} | last.keys()
    reviewed = last.keys() | {trace for item, trace in standing if item.completed_at is not None}
    hours: dict[str, list[float]] = {}
    for item, trace in standing:
        if item.completed_at is not None:
            # two clocks may disagree: nobody reviews before it was queued
            waited = max(timedelta(), item.completed_at - item.queued_at) / timedelta(hours=1)
            hours.setdefault(department_of[trace], []).append(waited)
    return {
        department: Reviews(
            queued=sum(department_of[trace] == department for trace in queued),
            reviewed=sum(department_of[trace] == department for trace in reviewed),
            overridden=sum(
                department_of[trace] == department and outcome == "overridden" for trace, outcome in last.items()
            ),
            median_hours=round(statistics.median(hours[department]), 2) if department in hours else None,
        )
        for department in set(department_of.values())
    }


def to_queue(
    judgements: Iterable[Judgement],
    scores: Iterable[Score],
    department_of: Mapping[str, str],
    metric: str,
    queue_below: float,
) -> list[QueuedTrace]:
    """Traces that a person has to look at: an event that asks for it, or `metric` scored strictly below the policy's.

    Each trace once, with its first reason, in order of trace id.
    """
    found: dict[str, str] = {}
    for score in scores:
        if score.source == "EVENT" and score.name in REVIEWED_EVENTS and score.trace_id in department_of:
            found.setdefault(str(score.trace_id), score.name)
    for row in judgements:
        if row.metric == metric and row.value is not None and row.value < queue_below and row.trace_id in department_of:
            found.setdefault(row.trace_id, metric)
    return [QueuedTrace(trace, department_of[trace], reason) for trace, reason in sorted(found.items())]


def correction_of(trace_id: str, texts: Mapping[str, str], calls: Collection[str] = ()) -> str | None:
    """The correction of an exchange among those by "trace" or "trace/observation".

    One that was written on the trace's only corrected observation stands for the trace, unless that observation is an
    exchange of its own (one of `calls`).
    """
    if trace_id in texts:
        return texts[trace_id]
    inside = [text for key, text in texts.items() if key.startswith(f"{trace_id}/") and key not in calls]
    return inside[0] if len(inside) == 1 else None
