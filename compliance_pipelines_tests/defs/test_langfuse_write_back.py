"""Inside Dagster, against the stand-in: scores and queue items written once, reviews read, corrections made golden."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.records import Judgement, Score, Status, Trace
from compliance_pipelines.core.review_queue import GoldenEntry, QueuedTrace, ReviewItem
from compliance_pipelines.core.tables import frame, records
from compliance_pipelines.core.write_back import SentScore
from compliance_pipelines.io_manager import ParquetIOManager
from compliance_pipelines.resources import PolicyResource, TraceSourceResource
from compliance_pipelines.settings import WRITE_BACK, SettingsError, settings
from compliance_pipelines_tests.dagster_runs import materialize
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn

with warnings.catch_warnings():
    # backfill_policy is in beta; Dagster says so once, when an asset is defined
    warnings.simplefilter("ignore", dg.BetaWarning)
    from compliance_pipelines.defs import keys
    from compliance_pipelines.defs.langfuse import reviews, write_back
    from compliance_pipelines.defs.partitions import daily

DAY = "2026-06-02"
NOON = datetime(2026, 6, 2, 10, tzinfo=UTC)
REVIEWED = datetime(2026, 6, 4, 8, tzinfo=UTC)
WORDS = "La franchise est de 300 € (conditions générales, p. 12)."


class Clock:
    """A time that the test sets."""

    def __init__(self) -> None:
        self.time = NOON + timedelta(hours=14)

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture(params=["events_only", "v3"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn(request.param, clock=Clock()) as running:
        monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", running.public_key)
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", running.secret_key)
        yield running


def trace(name: str, department: str = "direction-it") -> Trace:
    return Trace(
        trace_id=name, observed_at=NOON, created_at=NOON, session_hash=None, department=department,
        department_source="stamp", model="m", alias=None, question=f"Question {name} ?", answer=f"Réponse {name}.",
        contexts=(f"Page {name}.",), retrieval_score=0.8, flagged=False, delivered="unchanged",
        environment="production", source="api", row_digest=name,
    )  # fmt: skip


def judged(name: str, value: float | None, metric: str = "judge_neutrality") -> Judgement:
    status = Status.UNSCORED if value is None else Status.SCORED
    return Judgement(name, "direction-it", NOON, metric, value, status, None, "juge/1", 1.0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    store = TableStore(tmp_path / "data")
    traces = [trace("t1"), trace("t2"), trace("t3", "direction-rh"), trace("t4/o4", "direction-rh")]
    store.write(("langfuse", "traces"), DAY, frame(traces, Trace))
    event = Score("e", "t3", "uncited-specific-claim", 1.0, "WARNING", "EVENT", NOON, NOON)
    store.write(("langfuse", "scores"), DAY, frame([event], Score))
    judge(tmp_path, [judged("t1", 0.9), judged("t2", 0.59), judged("t3", None), judged("t4/o4", 0.2)])
    return tmp_path


def judge(home: Path, rows: Sequence[Judgement]) -> None:
    TableStore(home / "data").write(("evaluation", "neutrality"), DAY, frame(rows, Judgement))


def run(
    home: Path,
    server: LangfuseStandIn | None,
    *assets: dg.AssetsDefinition,
    day: str = DAY,
    allowed: Sequence[str] = WRITE_BACK,
) -> dict[str, bool]:
    """Materialise `assets` for a day; returns which checks passed."""
    upstream = {keys.TRACES, keys.SCORES, keys.NEUTRALITY, keys.RAGAS, reviews.REVIEW_ITEMS}
    upstream -= {key for asset in assets for key in asset.keys}
    checks = [write_back.every_written_score_was_taken] if write_back.written_scores in assets else []
    source = TraceSourceResource(
        export="", home=str(home), langfuse_url=server.url if server else "", write_back=list(allowed)
    )
    result = materialize(
        [*assets, *(dg.AssetSpec(key=key, partitions_def=daily) for key in upstream), *checks],
        partition_key=day,
        resources={
            "io_manager": ParquetIOManager(home=str(home)),
            "policy": PolicyResource(),
            "source": source,
        },
    )
    return {evaluation.check_name: evaluation.passed for evaluation in result.get_asset_check_evaluations()}


def stored(home: Path, name: str, kind: type, day: str = DAY) -> list[object]:
    return records(TableStore(home / "data").read(("langfuse", name), day), kind)


def posts(server: LangfuseStandIn, path: str) -> int:
    return sum(request.method == "POST" and request.path.endswith(path) for request in server.requests)


def test_scores_are_written_once_and_changes_replace_them(home: Path, server: LangfuseStandIn) -> None:
    assert run(home, server, write_back.written_scores) == {"every_written_score_was_taken": True}
    first = server.scores
    assert {(s["subject"]["id"], s["value"], s["timestamp"]) for s in first} == {
        ("t1", 0.9, "2026-06-02T10:00:00.000Z"),
        ("t2", 0.59, "2026-06-02T10:00:00.000Z"),
        ("o4", 0.2, "2026-06-02T10:00:00.000Z"),
    }
    assert {(s["name"], s["environment"], s["metadata"]["evaluator"]) for s in first} == {
        ("judge_neutrality", "production", "juge/1")
    }
    run(home, server, write_back.written_scores)
    assert (server.scores, posts(server, "ingestion")) == (first, 1)
    judge(home, [judged("t1", 0.4), judged("t2", 0.59)])
    run(home, server, write_back.written_scores)
    assert {s["subject"]["id"]: s["value"] for s in server.scores} == {"t1": 0.4, "t2": 0.59, "o4": 0.2}
    assert stored(home, "written_scores", SentScore) == [
        SentScore("t1", "judge_neutrality", 0.4, "juge/1", 1, 201),
        SentScore("t2", "judge_neutrality", 0.59, "juge/1", 0, 201),
    ]


def test_refusals_are_counted_and_tried_again(home: Path, server: LangfuseStandIn) -> None:
    server.faults.rejected_scores["judge_neutrality"] = 400
    assert run(home, server, write_back.written_scores) == {"every_written_score_was_taken": False}
    assert {row.http_status for row in stored(home, "written_scores", SentScore)} == {400}  # type: ignore[attr-defined]
    assert server.scores == []
    server.faults.rejected_scores.clear()
    assert run(home, server, write_back.written_scores) == {"every_written_score_was_taken": True}
    assert len(server.scores) == 3


def test_low_notes_and_events_go_to_the_queue_of_their_department_once(home: Path, server: LangfuseStandIn) -> None:
    for _ in range(2):
        run(home, server, write_back.queued_traces)
    # another judgement of one trace adds nothing for the others
    judge(home, [judged("t1", 0.1), judged("t2", 0.3)])
    run(home, server, write_back.queued_traces)
    queues = {row["id"]: row["name"] for row in server.store.queues.values()}
    found = sorted((queues[row["queueId"]], row["objectType"], row["objectId"]) for row in server.store.items.values())
    assert found == [
        ("review-direction-it", "TRACE", "t1"),
        ("review-direction-it", "TRACE", "t2"),
        ("review-direction-rh", "OBSERVATION", "o4"),
        ("review-direction-rh", "TRACE", "t3"),
    ]
    assert [(q.trace_id, q.reason) for q in stored(home, "queued_traces", QueuedTrace)] == [  # type: ignore[attr-defined]
        ("t1", "judge_neutrality"),
        ("t2", "judge_neutrality"),
        ("t3", "uncited-specific-claim"),
    ]


def review(server: LangfuseStandIn, home: Path) -> None:
    """Queue the night's traces, complete all but t2 two days later, correct t3 and the further call of t4."""
    judge(home, [judged("t1", 0.1), judged("t2", 0.3), judged("t4/o4", 0.2)])
    run(home, server, write_back.queued_traces)
    server.clock.time = REVIEWED  # type: ignore[attr-defined]
    for row in list(server.store.items.values()):
        if row["objectId"] != "t2":
            server.store.complete_item(row["id"])
    server.add_score(name="review_outcome", value="confirmed", traceId="t1")
    server.add_score(name="review_outcome", value="overridden", traceId="t3", comment="voir la correction")
    server.add_score(name="correction", value=WORDS, dataType="TEXT", traceId="t3")
    server.add_score(
        name="review_outcome", value="overridden", traceId="t4", observationId="o4", comment="Non couvert."
    )


def test_items_are_kept_by_the_day_they_were_queued_or_completed(home: Path, server: LangfuseStandIn) -> None:
    review(server, home)
    for day in ("2026-06-02", "2026-06-03", "2026-06-04"):
        run(home, server, reviews.review_items, day=day)
    assert stored(home, "review_items", ReviewItem, "2026-06-02") == []
    queued = stored(home, "review_items", ReviewItem, "2026-06-03")
    assert len(queued) == 4
    assert {item.completed_at for item in queued} == {None}  # type: ignore[attr-defined]
    done = stored(home, "review_items", ReviewItem, "2026-06-04")
    assert {(i.object_id, i.completed_at) for i in done} == {(n, REVIEWED) for n in ("t1", "t3", "o4")}  # type: ignore[attr-defined]


def test_corrected_reviews_become_golden_items_once(home: Path, server: LangfuseStandIn) -> None:
    review(server, home)
    for _ in range(2):
        run(home, server, reviews.review_items, reviews.golden_items, day="2026-06-04")
    (dataset,) = server.store.datasets
    assert dataset == "golden-direction-rh"
    items = {row["sourceTraceId"]: row for row in server.store.dataset_items.values()}
    assert {name: row["expectedOutput"] for name, row in items.items()} == {"t3": WORDS, "t4": "Non couvert."}
    assert items["t3"]["input"] == {"question": "Question t3 ?", "contexts": ["Page t3."]}
    assert items["t4"]["sourceObservationId"] == "o4"
    entries = stored(home, "golden_items", GoldenEntry, "2026-06-04")
    assert {(e.trace_id, e.outcome) for e in entries} == {  # type: ignore[attr-defined]
        ("t1", "no_correction"),
        ("t3", "created"),
        ("t4/o4", "created"),
    }


def test_a_review_of_an_exchange_that_was_never_read_is_said(home: Path, server: LangfuseStandIn) -> None:
    queue = server.store.add_queue("review-direction-rh")
    server.clock.time = REVIEWED  # type: ignore[attr-defined]
    server.store.add_item(queue["id"], "t99", "TRACE", "COMPLETED")
    run(home, server, reviews.review_items, reviews.golden_items, day="2026-06-04")
    (entry,) = stored(home, "golden_items", GoldenEntry, "2026-06-04")
    assert (entry.trace_id, entry.outcome) == (None, "no_exchange")  # type: ignore[attr-defined]
    assert not server.store.datasets


ALL = (reviews.review_items, reviews.golden_items, write_back.written_scores, write_back.queued_traces)


def test_one_run_at_a_time_puts_traces_into_queues() -> None:
    """A queue doubles what two writers put there at once: production's pools admit one run each."""
    assert write_back.queued_traces.op.pool == "review_queue"


def test_nothing_is_written_where_it_is_not_admitted(home: Path, server: LangfuseStandIn) -> None:
    run(home, server, *ALL, allowed=())
    assert {request.method for request in server.requests} == {"GET"}
    assert not TableStore(home / "data").has(("langfuse", "written_scores"), DAY)


def test_an_export_has_no_queues_and_takes_no_scores(home: Path) -> None:
    run(home, None, *ALL)
    assert sorted(path.name for path in (home / "data" / "langfuse").iterdir()) == ["scores", "traces"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, WRITE_BACK),
        ("", WRITE_BACK),
        ("none", ()),
        ("scores", ("scores",)),
        (" queues, golden", ("queues", "golden")),
    ],
)
def test_what_the_environment_admits(given: str | None, expected: tuple[str, ...], tmp_path: Path) -> None:
    env = {"COMPLIANCE_HOME": str(tmp_path)} | ({} if given is None else {"LANGFUSE_WRITE_BACK": given})
    assert settings(env).write_back == expected


@pytest.mark.parametrize("given", ["all", "scores,none", "score", "oui"])
def test_a_word_that_means_nothing_is_an_error(given: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"LANGFUSE_WRITE_BACK={given}"):
        settings({"COMPLIANCE_HOME": str(tmp_path), "LANGFUSE_WRITE_BACK": given})
