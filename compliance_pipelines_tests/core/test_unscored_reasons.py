"""Why traces were not scored: the printed totals count what the aggregates count, and give no masked row back."""

from __future__ import annotations

from datetime import UTC, datetime

from compliance_pipelines.core import departments
from compliance_pipelines.core.records import Judgement, Status
from compliance_pipelines.core.tables import frame

WHEN = datetime(2026, 6, 2, 10, tzinfo=UTC)


def judged(trace: str, department: str, metric: str, status: Status, reason: str | None) -> Judgement:
    return Judgement(trace, department, WHEN, metric, None, status, reason, "e/1", 1.0)


ROWS = [
    judged("a", "large", "judge_neutrality", Status.UNSCORED, "timeout"),
    judged("b", "large", "judge_neutrality", Status.WITHHELD, "judge_unreliable"),
    judged("c", "large", "judge_neutrality", Status.NOT_SAMPLED, "sampling"),
    judged("late", "large", "judge_neutrality", Status.UNSCORED, "timeout"),
    judged("d", "small", "judge_neutrality", Status.UNSCORED, "timeout"),
    judged("a", "large", "ragas_faithfulness", Status.UNSCORED, "timeout"),
]
ON_TIME = {"a", "b", "c", "d"}


def test_late_traces_and_rows_that_are_not_published_are_not_counted() -> None:
    def published(department: str, metric: str) -> bool:
        return department != "small" and metric != "ragas_faithfulness"

    tables = [frame(ROWS[:3], Judgement), frame(ROWS[3:], Judgement), frame([], Judgement)]
    assert departments.reasons(tables, ON_TIME, published) == {"timeout": 1, "judge_unreliable": 1}
    everything = departments.reasons(tables, ON_TIME | {"late"}, lambda *_: True)
    assert everything == {"timeout": 4, "judge_unreliable": 1}


def test_a_masked_row_changes_nothing() -> None:
    def published(department: str, _: str) -> bool:
        return department != "small"

    without = [row for row in ROWS if row.department != "small"]
    assert departments.reasons([frame(ROWS, Judgement)], ON_TIME, published) == departments.reasons(
        [frame(without, Judgement)], ON_TIME, published
    )
