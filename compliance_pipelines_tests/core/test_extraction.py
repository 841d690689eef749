"""Scores as they are read: one per id, name and Paris day, and of several versions the one updated last."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import pytest

from compliance_pipelines.core.extraction import ReadReport, Scores
from compliance_pipelines.core.langfuse_rows import ScoreRow

DAY = date(2026, 6, 2)
NOON = datetime(2026, 6, 2, 10, tzinfo=UTC)


def version(value: float, updated_hours: int, *, observed: datetime = NOON, name: str = "human_feedback") -> ScoreRow:
    updated = NOON + timedelta(hours=updated_hours)
    return ScoreRow("s1", "t1", "trace", name, value, None, "API", observed, NOON, updated)


@pytest.mark.parametrize("order", list(itertools.permutations([version(1, 0), version(-1, 5), version(0, 2)])))
def test_the_version_updated_last_stands_in_whatever_order_they_come(order: Sequence[ScoreRow]) -> None:
    report = ReadReport()
    scores = Scores(DAY, DAY, report)
    for row in order:
        scores.add(row)
    assert [score.value for score in scores.result()] == [-1]
    assert (report.days[DAY]["scores"], report.days[DAY]["duplicates"]) == (3, 2)


def test_another_name_or_another_paris_day_is_another_score() -> None:
    report = ReadReport()
    scores = Scores(DAY, DAY + timedelta(days=1), report)
    # 22:00 UTC is midnight in Paris
    for row in (version(1, 0), version(0, 0, name="autre"), version(-1, 0, observed=NOON + timedelta(hours=12))):
        scores.add(row)
    assert len(scores.result()) == 3
    assert report.days[DAY]["duplicates"] == 0


def test_scores_of_the_days_around_are_left_to_those_days() -> None:
    report = ReadReport()
    scores = Scores(DAY, DAY, report)
    # the Paris day of 2 June is 22:00 UTC to 22:00 UTC
    for hours in (-12.001, -12, 11.999, 12):
        at = NOON + timedelta(hours=hours)
        scores.add(ScoreRow(f"s{hours}", "t1", "trace", "human_feedback", 1, None, "API", at, at, at))
    assert [score.score_id for score in scores.result()] == ["s-12", "s11.999"]
    assert {day: counts["scores"] for day, counts in report.days.items()} == {DAY: 2}
