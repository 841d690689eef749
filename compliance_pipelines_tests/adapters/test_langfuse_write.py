"""Writing back to Langfuse: repeating changes nothing, every 207 body is read, queues hold a trace once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from compliance_pipelines.adapters.langfuse_api_http import LangfuseError, LangfuseHttp, Patience, Server
from compliance_pipelines.adapters.langfuse_write import GoldenItem, LangfuseWriter, ScoreToWrite
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn

AT = datetime(2026, 6, 2, 10, 20, 30, 123000, tzinfo=UTC)


@pytest.fixture(params=["events_only", "dual", "v3"])
def server(request: pytest.FixtureRequest) -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn(request.param, clock=lambda: datetime(2026, 6, 3, 2, tzinfo=UTC)) as running:
        yield running


@pytest.fixture
def writer(server: LangfuseStandIn) -> Iterator[LangfuseWriter]:
    target = Server(server.url, server.public_key, server.secret_key)
    http = LangfuseHttp(target, Patience(timeout=2, attempts=4), pause=lambda _: None)
    yield LangfuseWriter(http)
    http.close()


def score(trace: str = "t1", value: float | str = 0.75, **more: object) -> ScoreToWrite:
    return ScoreToWrite(trace, "judge_neutrality", value, AT, **more)  # type: ignore[arg-type]


def test_a_score_carries_the_time_of_its_trace(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    report = writer.write_scores([score(environment="prod", metadata={"evaluator": "abc"})])
    assert (report.accepted, report.rejected) == (1, ())
    (stored,) = server.scores
    assert stored["timestamp"] == "2026-06-02T10:20:30.123Z"
    assert (stored["name"], stored["value"], stored["dataType"]) == ("judge_neutrality", 0.75, "NUMERIC")
    assert stored["subject"] == {"kind": "trace", "id": "t1"}
    assert (stored["environment"], stored["metadata"]) == ("prod", {"evaluator": "abc"})


def test_the_same_scores_again_change_nothing(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    batch = [score(f"t{number}") for number in range(250)]
    assert writer.write_scores(batch).accepted == 250
    before = server.scores
    assert writer.write_scores(batch).accepted == 250
    assert server.scores == before
    posts = [request for request in server.requests if request.method == "POST"]
    assert [len(request.json()["batch"]) for request in posts] == [100, 100, 50] * 2


def test_a_new_judgement_replaces_the_old_one(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    writer.write_scores([score(value=0.2)])
    writer.write_scores([score(value=0.9, revision=1)])
    (stored,) = server.scores
    assert (stored["value"], stored["timestamp"]) == (0.9, "2026-06-02T10:20:30.123Z")
    times = [request.json()["batch"][0]["timestamp"] for request in server.requests if request.method == "POST"]
    assert times == ["2026-06-02T10:20:30.123Z", "2026-06-02T10:20:30.124Z"]


@pytest.mark.parametrize("last", ["2026-06-02T23:59:59.999000Z", "2026-06-02T23:59:59.999999Z"])
def test_a_new_judgement_at_the_end_of_a_day_is_no_second_score(
    last: str, server: LangfuseStandIn, writer: LangfuseWriter
) -> None:
    at = datetime.fromisoformat(last)
    for revision in (0, 1, 2, 60):
        writer.write_scores([ScoreToWrite("t1", "judge_neutrality", revision / 100, at, revision=revision)])
    (stored,) = server.scores
    assert stored["value"] == 0.6
    times = [request.json()["batch"][0]["timestamp"] for request in server.requests if request.method == "POST"]
    assert times == [f"2026-06-02T23:59:59.{ms}Z" for ms in (950, 951, 952, 999)]


@pytest.mark.parametrize("repeated", ["successes", "errors"])
def test_a_score_that_an_answer_names_twice_counts_once(
    repeated: str, server: LangfuseStandIn, writer: LangfuseWriter
) -> None:
    answer = server.api.answer

    def twice(method: str, path: str, *rest: Any) -> tuple[int, Any]:
        status, body = answer(method, path, *rest)
        if path.endswith("ingestion"):
            body[repeated] += [item | {"status": 500} for item in body["successes"]]
        return status, body

    server.api.answer = twice  # type: ignore[method-assign]
    report = writer.write_scores([score("t1"), score("t2")])
    assert (report.accepted, report.rejected) == (2, ())


def test_different_names_and_calls_are_different_scores(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    other = ScoreToWrite("t1", "figure_grounding", 1.0, AT)
    report = writer.write_scores([score(), other, score("t1/o2"), score("t2", "confirmed")])
    assert report.accepted == 4
    subjects = {(row["name"], row["subject"]["kind"], row["dataType"]) for row in server.scores}
    assert subjects == {
        ("judge_neutrality", "trace", "NUMERIC"),
        ("figure_grounding", "trace", "NUMERIC"),
        ("judge_neutrality", "observation", "NUMERIC"),
        ("judge_neutrality", "trace", "CATEGORICAL"),
    }
    further = next(row for row in server.scores if row["subject"]["kind"] == "observation")
    assert further["subject"] == {"kind": "observation", "id": "o2", "traceId": "t1"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_nothing_that_is_not_finite_is_sent(server: LangfuseStandIn, writer: LangfuseWriter, value: float) -> None:
    with pytest.raises(LangfuseError, match="valeur non finie"):
        writer.write_scores([score(value=value)])
    assert server.scores == []


def test_a_time_without_zone_is_refused(writer: LangfuseWriter) -> None:
    with pytest.raises(LangfuseError, match="sans fuseau"):
        writer.write_scores([ScoreToWrite("t1", "n", 1.0, AT.replace(tzinfo=None))])


def test_refusals_in_a_207_are_reported_by_score(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    server.faults.reject_scores("judge_neutrality", 400)
    good = ScoreToWrite("t1", "figure_grounding", 1.0, AT)
    bad = score("t1")
    report = writer.write_scores([good, bad])
    assert report.accepted == 1
    assert report.rejected == ((bad.score_id, 400),)
    assert [row["name"] for row in server.scores] == ["figure_grounding"]
    assert sum(request.method == "POST" for request in server.requests) == 1


def test_what_failed_on_the_servers_side_is_sent_again(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    server.faults.reject_scores("judge_neutrality", 500)
    report = writer.write_scores([score("t1"), ScoreToWrite("t2", "figure_grounding", 1.0, AT)])
    assert report.accepted == 1
    assert report.rejected == ((score("t1").score_id, 500),)
    posts = [request.json()["batch"] for request in server.requests if request.method == "POST"]
    assert [len(batch) for batch in posts] == [2, 1, 1, 1]


@pytest.mark.parametrize("kind", ["reset", "truncate"])
def test_a_broken_answer_doubles_no_score(server: LangfuseStandIn, writer: LangfuseWriter, kind: str) -> None:
    getattr(server.faults, kind)("ingestion", times=2)
    assert writer.write_scores([score()]).accepted == 1
    assert len(server.scores) == 1


def test_a_trace_stands_in_its_queue_once(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    assert writer.enqueue("direction-rh", ["t1", "t2", "t1"]) == 2
    assert writer.enqueue("direction-rh", ["t2", "t3", "t4/o4"]) == 2
    # and so for the next run, which reads the queue anew
    for again in (writer, LangfuseWriter(writer.http)):
        assert again.enqueue("direction-rh", ["t1", "t2", "t3", "t4/o4"]) == 0
    items = writer.queue_items("direction-rh")
    assert [(item.object_type, item.object_id) for item in items] == [
        ("TRACE", "t1"),
        ("TRACE", "t2"),
        ("TRACE", "t3"),
        ("OBSERVATION", "o4"),
    ]
    assert [queue["name"] for queue in server.store.queues.values()] == ["review-direction-rh"]
    (config,) = server.store.configs.values()
    assert [category["label"] for category in config["categories"]] == ["confirmed", "overridden"]


def test_queues_share_one_configuration_and_existing_ones_are_used(
    server: LangfuseStandIn, writer: LangfuseWriter
) -> None:
    made = server.store.add_queue("review-direction-it")
    assert writer.ensure_queue("direction-it") == made["id"]
    writer.ensure_queue("direction-rh")
    writer.ensure_queue("direction-audit")
    assert len(server.store.configs) == 1
    assert len(server.store.queues) == 3


def test_a_completed_item_is_not_queued_again(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    writer.enqueue("direction-rh", ["t1"])
    (item,) = writer.queue_items("direction-rh")
    assert (item.status, item.completed_at) == ("PENDING", None)
    server.store.complete_item(item.item_id)
    assert LangfuseWriter(writer.http).enqueue("direction-rh", ["t1"]) == 0
    (item,) = writer.queue_items("direction-rh")
    assert (item.status, item.completed_at) == ("COMPLETED", datetime(2026, 6, 3, 2, tzinfo=UTC))


def test_long_queues_are_listed_to_their_end(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    queue = server.store.add_queue("review-direction-rh")
    for number in range(350):
        server.store.add_item(queue["id"], f"t{number}", "TRACE")
    assert writer.enqueue("direction-rh", [f"t{number}" for number in range(351)]) == 1
    assert len(server.store.items) == 351


def test_a_run_of_many_nights_reads_a_queue_once(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    for night in range(5):
        assert writer.enqueue("direction-rh", [f"t{night}"]) == 1
    read = [r.path for r in server.requests if r.method == "GET" and r.path.endswith("/items")]
    assert len(read) == 1


def test_a_post_of_unknown_outcome_is_looked_up(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    writer.ensure_queue("direction-rh")
    answer = server.api.answer
    lost = iter([True, False, True])

    def stored_but_lost(method: str, path: str, *rest: object) -> tuple[int, object]:
        status, body = answer(method, path, *rest)  # type: ignore[arg-type]
        if method == "POST" and path.endswith("/items") and next(lost, False):
            return 500, {"message": "the answer was lost"}
        return status, body

    server.api.answer = stored_but_lost  # type: ignore[method-assign]
    assert writer.enqueue("direction-rh", ["t1", "t2", "t3"]) == 3
    assert sorted(row["objectId"] for row in server.store.items.values()) == ["t1", "t2", "t3"]


def test_a_queue_that_refuses_is_an_error_after_a_while(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    writer.ensure_queue("direction-rh")
    answer = server.api.answer

    def refusing(method: str, path: str, *rest: object) -> tuple[int, object]:
        if method == "POST" and path.endswith("/items"):
            return 500, {}
        return answer(method, path, *rest)  # type: ignore[arg-type]

    server.api.answer = refusing  # type: ignore[method-assign]
    with pytest.raises(LangfuseError, match="HTTP 500"):
        writer.enqueue("direction-rh", ["t1"])
    assert not server.store.items


def test_a_department_without_queue_has_no_items(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    assert writer.queue_items("direction-rh") == []
    assert not server.store.queues


def test_golden_items_are_written_once(server: LangfuseStandIn, writer: LangfuseWriter) -> None:
    item = GoldenItem("t1", "Quelle franchise ?", "150 €, p. 12.", ("CG p. 12",), {"reviewer": "référent"})
    assert writer.write_golden("direction-sinistres", [item, GoldenItem("t2/o2", "q", "a")]) == 2
    assert writer.write_golden("direction-sinistres", [item]) == 1
    assert list(server.store.datasets) == ["golden-direction-sinistres"]
    rows = sorted(server.store.dataset_items.values(), key=lambda row: row["sourceTraceId"])
    assert [(row["sourceTraceId"], row["sourceObservationId"]) for row in rows] == [("t1", None), ("t2", "o2")]
    assert rows[0]["input"] == {"question": "Quelle franchise ?", "contexts": ["CG p. 12"]}
    assert rows[0]["expectedOutput"] == "150 €, p. 12."
    corrected = GoldenItem("t1", "Quelle franchise ?", "Voir p. 12.")
    writer.write_golden("direction-sinistres", [corrected])
    assert server.store.dataset_items[rows[0]["id"]]["expectedOutput"] == "Voir p. 12."
    assert len(server.store.dataset_items) == 2


def test_the_same_trace_in_two_departments_has_two_golden_items(
    server: LangfuseStandIn, writer: LangfuseWriter
) -> None:
    writer.write_golden("direction-rh", [GoldenItem("t1", "q", "a")])
    writer.write_golden("direction-it", [GoldenItem("t1", "q", "a")])
    assert len(server.store.dataset_items) == 2


def test_identifiers_do_not_depend_on_the_run() -> None:
    first, again = score(), score()
    assert (first.score_id, first.envelope_id) == (again.score_id, again.envelope_id)
    assert score(value=0.5).score_id == first.score_id
    assert score(value=0.5).envelope_id != first.envelope_id
    assert score("t2").score_id != first.score_id
    moved = ScoreToWrite("t1", "judge_neutrality", 0.75, AT + timedelta(days=1))
    assert moved.envelope_id != first.envelope_id
