"""The review queue in the month's report: queued, reviewed, overridden, median time, as they stood at the cut-off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core import review_queue
from compliance_pipelines.core.periods import Month
from compliance_pipelines.core.records import Score, Trace
from compliance_pipelines.core.review_queue import ReviewItem
from compliance_pipelines.core.tables import frame, records
from compliance_pipelines.reporting import MonthRequest, build_month
from compliance_pipelines_tests.small_month import BUILT_AT, run_months

MONTH = Month.parse("2026-06")
DEPARTMENT = "direction-sinistres"
HOUR = timedelta(hours=1)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    run_months(tmp_path, ["2026-06"])
    return tmp_path


def printed(home: Path) -> tuple[Mapping[str, object], str]:
    """The oversight figures of the department, and the decision of the build."""
    request = MonthRequest(MONTH, home, None, "local", synthetic=True, built_at=BUILT_AT, reason="relectures")
    built = build_month(request, DirectoryArchive(home / "archive"))
    figures = json.loads(built.files["figures.json"])["figures"]
    found = [f for f in figures if f["department"] == DEPARTMENT and f["metric"] == "human_oversight"]
    return {f["name"]: f["value"] for f in found}, built.decision.kind.value


def store_reviews(home: Path) -> None:
    """24 exchanges, queued two hours later; 14 completed after 1 to 14 hours, one in July; six of 14 overridden."""
    store = TableStore(home / "data")
    days = [day.isoformat() for day in MONTH.days()]
    mine = [t for _, table in store.read_many(("langfuse", "traces"), days) for t in records(table, Trace)]
    mine = [t for t in mine if t.department == DEPARTMENT][:24]
    items = [
        ReviewItem(f"i{k}", DEPARTMENT, t.trace_id, "TRACE", t.observed_at + 2 * HOUR, None) for k, t in enumerate(mine)
    ]
    done = [(i.queued_at + (k + 1) * HOUR) if k < 14 else None for k, i in enumerate(items)]
    done[14] = MONTH.end + HOUR
    items = [
        ReviewItem(i.item_id, i.department, i.object_id, i.object_type, i.queued_at, at)
        for i, at in zip(items, done, strict=True)
    ]
    for day in MONTH.days():
        store.write(("langfuse", "review_items"), day.isoformat(), frame(review_queue.of_day(items, day), ReviewItem))
    last = days[-1]
    rated = records(store.read(("langfuse", "scores"), last), Score)
    at = MONTH.end - HOUR
    rated += [
        Score(f"r{k}", mine[k].trace_id, "review_outcome", None, outcome, "ANNOTATION", at, at)
        for k, outcome in enumerate(["overridden"] * 6 + ["confirmed"] * 8)
    ]
    store.write(("langfuse", "scores"), last, frame(rated, Score))


def test_reviews_reach_the_report_and_are_an_input_of_it(home: Path) -> None:
    before, decision = printed(home)
    assert before["median_review_hours"] is None
    assert decision == "identical"
    store_reviews(home)
    found, decision = printed(home)
    assert (found["queued"], found["reviewed"], found["overridden"]) == (24, 14, 6)
    assert found["median_review_hours"] == 7.5
    assert decision == "revision"
