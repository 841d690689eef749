"""Queue items by day, reviews by department, what goes before a person, which correction belongs to which exchange."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from compliance_pipelines.core import review_queue
from compliance_pipelines.core.records import Judgement, Score, Status
from compliance_pipelines.core.review_queue import QueuedTrace, ReviewItem, Reviews
from compliance_pipelines.core.tables import frame, records

DAY = date(2026, 6, 2)
NOON = datetime(2026, 6, 2, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)


def item(name: str, queued: datetime = NOON, done: datetime | None = None, **changes: str) -> ReviewItem:
    given = {"department": "direction-it", "object_id": name, "object_type": "TRACE"} | changes
    return ReviewItem(f"item-{name}", queued_at=queued, completed_at=done, **given)


def test_an_item_is_kept_on_the_day_it_was_queued_and_on_the_day_it_was_completed() -> None:
    later = item("a", done=NOON + timedelta(days=3))
    assert review_queue.of_day([later], DAY) == [item("a")]
    assert review_queue.of_day([later], DAY + timedelta(days=1)) == []
    assert review_queue.of_day([later], DAY + timedelta(days=3)) == [later]
    assert review_queue.completed_on([later], DAY) == []
    assert review_queue.completed_on([later], DAY + timedelta(days=3)) == [later]


def test_days_end_at_midnight_in_paris() -> None:
    midnight = datetime(2026, 6, 2, 22, tzinfo=UTC)
    assert review_queue.of_day([item("a", queued=midnight)], DAY) == []
    assert review_queue.of_day([item("a", done=midnight)], DAY) == [item("a")]
    before = item("a", done=midnight - timedelta(microseconds=1))
    assert review_queue.of_day([before], DAY) == [before]


def test_one_version_an_item_as_it_stood_at_the_cutoff() -> None:
    done = item("a", done=NOON + 5 * HOUR)
    assert review_queue.latest([item("a"), done], NOON + 6 * HOUR) == [done]
    assert review_queue.latest([item("a"), done], NOON + 4 * HOUR) == [item("a")]
    assert review_queue.latest([item("a")], NOON - HOUR) == []


def test_reviews_are_counted_by_trace_and_department() -> None:
    departments = {"t1": "a", "t2": "a", "t3": "a", "t4/o4": "b", "t5": "b", "t6": "c"}
    items = [
        item("t1", done=NOON + 2 * HOUR),
        item("t2", done=NOON + 4 * HOUR),
        item("t3"),
        item("o4", done=NOON + 30 * HOUR, object_type="OBSERVATION"),
        # an exchange of another month and a session are nobody's here
        item("t9", done=NOON + HOUR),
        item("t5", object_type="SESSION"),
    ]
    outcomes = [
        ("t1", "confirmed"),
        ("t1", "overridden"),
        ("t2", "confirmed"),
        ("t5", "overridden"),
        ("t9", "confirmed"),
    ]
    found = review_queue.measure(items, ["t1", "t3", "t8"], outcomes, departments)
    assert found["a"] == Reviews(queued=3, reviewed=2, overridden=1, median_hours=3.0)
    assert found["b"] == Reviews(queued=2, reviewed=2, overridden=1, median_hours=30.0)
    assert found["c"] == Reviews()


def test_nobody_reviews_before_it_was_queued() -> None:
    items = [item("t1", done=NOON - HOUR), item("t2", done=NOON + HOUR), item("t3", done=NOON)]
    assert review_queue.measure(items, [], [], dict.fromkeys(("t1", "t2", "t3"), "a"))["a"].median_hours == 0


def test_without_queues_outcomes_and_events_still_count() -> None:
    found = review_queue.measure([], ["t1", "t2"], [("t2", "confirmed")], {"t1": "a", "t2": "a"})
    assert found["a"] == Reviews(queued=2, reviewed=1, overridden=0, median_hours=None)


def judgement(trace: str, value: float | None, metric: str = "judge_neutrality") -> Judgement:
    status = Status.UNSCORED if value is None else Status.SCORED
    return Judgement(trace, "direction-it", NOON, metric, value, status, None, "e", 1.0)


def event(trace: str, name: str, source: str = "EVENT") -> Score:
    return Score(f"{trace}{name}", trace, name, 1.0, "WARNING", source, NOON, NOON)


def test_what_goes_before_a_person() -> None:
    departments = dict.fromkeys(("t1", "t2", "t3", "t4", "t5"), "direction-it")
    rows = [judgement("t1", 0.59), judgement("t2", 0.6), judgement("t3", None), judgement("t9", 0.1)]
    rows.append(judgement("t4", 0.1, "lexical_neutrality"))
    scores = [
        event("t1", "uncited-specific-claim"),
        event("t5", "protected-attr-comparison-detected"),
        event("t2", "retrieval_gate_blocked"),
        event("t3", "uncited-specific-claim", source="API"),
    ]
    assert review_queue.to_queue(rows, scores, departments, "judge_neutrality", 0.6) == [
        QueuedTrace("t1", "direction-it", "uncited-specific-claim"),
        QueuedTrace("t5", "direction-it", "protected-attr-comparison-detected"),
    ]
    assert review_queue.to_queue(rows, [], departments, "judge_neutrality", 0.6) == [
        QueuedTrace("t1", "direction-it", "judge_neutrality")
    ]


@pytest.mark.parametrize(
    ("trace_id", "texts", "calls", "expected"),
    [
        ("t1", {"t1": "x", "t1/o": "y"}, (), "x"),
        ("t1", {"t1/o": "y"}, (), "y"),
        ("t1", {"t1/o": "y"}, ("t1/o",), None),
        ("t1/o", {"t1/o": "y"}, ("t1/o",), "y"),
        ("t1", {"t1/o": "y", "t1/p": "z"}, (), None),
        ("t1", {"t10/o": "y", "t10": "z"}, (), None),
        ("t1/o", {"t1": "x"}, (), None),
    ],
)
def test_whose_correction_it_is(trace_id: str, texts: dict[str, str], calls: tuple[str, ...], expected: str) -> None:
    assert review_queue.correction_of(trace_id, texts, calls) == expected


def test_items_survive_their_table() -> None:
    items = [item("a"), item("b", done=NOON + HOUR)]
    assert records(frame(items, ReviewItem), ReviewItem) == items
    assert records(frame([], ReviewItem), ReviewItem) == []
