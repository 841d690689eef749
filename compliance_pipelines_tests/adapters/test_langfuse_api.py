"""Reading Langfuse servers of every generation: the same exchanges, none lost, none doubled, whatever happens."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from compliance_pipelines.adapters.langfuse_api import ApiReader
from compliance_pipelines.adapters.langfuse_api_http import LangfuseError
from compliance_pipelines.adapters.langfuse_export import ExportReader
from compliance_pipelines.core.extraction import ReadReport
from compliance_pipelines.core.periods import day_start
from compliance_pipelines.core.records import Trace
from compliance_pipelines_tests.standins import langfuse_recorded as rec
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.langfuse_fill import DAY, at, exchange, fill, reader_of
from compliance_pipelines_tests.standins.langfuse_rows import observation

MODES = ("events_only", "dual", "v3")
RECORDED_DAY = date(2026, 11, 30)


@pytest.fixture(params=MODES)
def server(request: pytest.FixtureRequest) -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn(request.param, clock=lambda: datetime(2026, 6, 10, tzinfo=UTC)) as running:
        yield running


@pytest.fixture
def v4() -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn("events_only", clock=lambda: datetime(2026, 6, 10, tzinfo=UTC)) as running:
        yield running


@pytest.fixture
def v3() -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn("v3", clock=lambda: datetime(2026, 6, 10, tzinfo=UTC)) as running:
        yield running


def traces(reader: ApiReader, first: date = DAY, last: date = DAY) -> tuple[list[Trace], dict[str, int]]:
    report = ReadReport()
    with reader:
        found = [trace for chunk in reader.trace_chunks(first, last, report) for trace in chunk]
    return sorted(found, key=lambda t: (t.observed_at, t.trace_id)), report.totals(first, last)


def numbers(found: list[Trace]) -> list[int]:
    return [int(trace.trace_id, 16) for trace in found]


def test_every_exchange_of_the_day_is_read_once(server: LangfuseStandIn, tmp_path: Path) -> None:
    fill(server, 400)
    found, counts = traces(reader_of(server, tmp_path))
    assert numbers(found) == list(range(400))
    first = found[0]
    assert (first.question, first.answer) == ("question 0 é", "réponse 0")
    assert (first.department, first.department_source) == ("direction-it", "stamp")
    assert first.retrieval_score == 0.5
    assert first.flagged
    assert not found[1].flagged
    assert first.session_hash == found[7].session_hash != found[1].session_hash
    assert first.created_at == first.observed_at + timedelta(seconds=3)
    assert first.source == "api"
    assert counts.keys() == {"observations", "rows"}
    assert not list(tmp_path.glob("read-*"))


def test_the_server_is_asked_which_api_it_has(tmp_path: Path) -> None:
    expected = {"events_only": "v4", "dual": "v4", "v3": "v3"}
    for mode, name in expected.items():
        with LangfuseStandIn(mode) as running, reader_of(running, tmp_path) as reader:
            assert reader.generation().name == name
            seen = len(running.requests)
            reader.generation()
            assert len(running.requests) == seen


def test_a_server_that_is_not_langfuse_is_said_so(v4: LangfuseStandIn, tmp_path: Path) -> None:
    v4.faults.fail("/api/public", 404, times=99)
    with reader_of(v4, tmp_path) as reader, pytest.raises(LangfuseError, match="est-ce bien Langfuse"):
        reader.generation()


def test_v4_and_v3_give_the_same_exchanges(tmp_path: Path) -> None:
    found = {}
    for mode in MODES:
        with LangfuseStandIn(mode) as running:
            running.add(*rec.observations())
            found[mode], _ = traces(reader_of(running, tmp_path / mode), RECORDED_DAY, RECORDED_DAY)
    assert found["events_only"] == found["dual"]
    assert len(found["events_only"]) > 50
    # v3 gives input and output parsed, so the digest over their text differs and nothing else
    same = [dataclasses.replace(trace, row_digest="") for trace in found["events_only"]]
    assert [dataclasses.replace(trace, row_digest="") for trace in found["v3"]] == same


def test_the_api_and_an_export_of_the_same_rows_agree(tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    page = {"data": rec.observations(), "meta": {}}
    (tmp_path / "export" / "page.json").write_text(json.dumps(page))
    export = ExportReader(tmp_path / "export", tmp_path / "scratch", lambda *_: ("d", "stamp"), b"key")
    report = ReadReport()
    from_export = [t for chunk in export.trace_chunks(RECORDED_DAY, RECORDED_DAY, report) for t in chunk]
    with LangfuseStandIn() as running:
        running.add(*rec.observations())
        reader = reader_of(running, tmp_path / "state")
        reader.resolve = lambda *_: ("d", "stamp")
        found, counts = traces(reader, RECORDED_DAY, RECORDED_DAY)
    wanted = sorted(from_export, key=lambda t: (t.observed_at, t.trace_id))
    assert [dataclasses.replace(trace, source="export") for trace in found] == wanted
    assert counts == report.totals(RECORDED_DAY, RECORDED_DAY)


def test_days_end_at_paris_midnight(server: LangfuseStandIn, tmp_path: Path) -> None:
    start, end = day_start(DAY), day_start(DAY + timedelta(days=1))
    step = timedelta(milliseconds=1)
    for number, moment in enumerate((start - step, start, end - step, end), start=1):
        server.add(*exchange(2 * number + 1, moment))
    found, counts = traces(reader_of(server, tmp_path))
    assert numbers(found) == [5, 7]
    # rows of the margins belong to other days
    assert counts["rows"] == (4 if server.mode == "v3" else 2)


def test_an_event_after_midnight_still_flags_its_exchange(server: LangfuseStandIn, tmp_path: Path) -> None:
    end = day_start(DAY + timedelta(days=1))
    server.add(*exchange(2, end - timedelta(milliseconds=2)))
    found, _ = traces(reader_of(server, tmp_path))
    assert [trace.flagged for trace in found] == [True]


def test_several_days_come_in_order_and_by_day(server: LangfuseStandIn, tmp_path: Path) -> None:
    fill(server, 90, days=3)
    days = [DAY + timedelta(days=k) for k in range(3)]
    report = ReadReport()
    with reader_of(server, tmp_path) as reader:
        by_day = dict(reader.trace_days(days, report))
    assert list(by_day) == days
    assert [numbers(rows) for rows in by_day.values()] == [list(range(k, k + 30)) for k in (0, 30, 60)]
    assert report.sources == {"stamp": 90}


def test_an_empty_project_is_an_empty_day(server: LangfuseStandIn, tmp_path: Path) -> None:
    assert traces(reader_of(server, tmp_path)) == ([], {})
    with reader_of(server, tmp_path) as reader:
        assert reader.read_scores(DAY, DAY)[0] == []


def test_scores_and_guardrail_events_are_read(server: LangfuseStandIn, tmp_path: Path) -> None:
    fill(server, 300, scores=250)
    server.add_score("2026-06-02T10:00:00Z", id="c1", name="review_outcome", value="confirmed", traceId="t9")
    server.add_score("2026-06-02T10:00:00Z", id="b1", name="ok", value=True, dataType="BOOLEAN", traceId="t9")
    server.add_score("2026-06-02T10:00:00Z", id="o1", name="n", value=0.25, traceId="t9", observationId="o9")
    server.add_score("2026-06-03T10:00:00Z", id="other-day", name="n", value=1, traceId="t9")
    with reader_of(server, tmp_path) as reader:
        found, report = reader.read_scores(DAY, DAY)
    by_id = {score.score_id: score for score in found}
    assert sum(score.name == "human_feedback" for score in found) == 250
    assert sum(score.source == "EVENT" for score in found) == 150
    assert len(found) == 403
    assert (by_id["c1"].value, by_id["c1"].string_value) == (None, "confirmed")
    assert by_id["b1"].value == 1
    assert (by_id["o1"].trace_id, by_id["o1"].value) == ("t9", 0.25)
    assert report.totals(DAY, DAY)["scores"] == 403


def test_long_metadata_is_asked_for_by_name(v4: LangfuseStandIn, tmp_path: Path) -> None:
    v4.faults.cut_metadata = True
    fill(v4, 4)
    found, _ = traces(reader_of(v4, tmp_path))
    # cut at 200 characters, requester_metadata would be broken JSON and the score lost
    assert [trace.retrieval_score for trace in found] == [0.5] * 4


def test_a_window_too_wide_for_the_server_is_narrowed(server: LangfuseStandIn, tmp_path: Path) -> None:
    fill(server, 300)
    for status in (422, 524):
        server.faults.too_wide(timedelta(minutes=20), status)
        with reader_of(server, tmp_path / str(status)) as reader:
            report = ReadReport()
            found = [t for chunk in reader.trace_chunks(DAY, DAY, report) for t in chunk]
            assert sorted(numbers(found)) == list(range(300))
            assert reader.progress.narrowed > 10
            assert "duplicates" not in report.totals(DAY, DAY)


def test_a_server_that_never_answers_is_given_up(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 4)
    v4.faults.too_wide(timedelta(0))
    reader = reader_of(v4, tmp_path)
    with reader, pytest.raises(LangfuseError, match="à la seconde près"):
        list(reader.trace_chunks(DAY, DAY, ReadReport()))


def test_a_repeated_cursor_neither_loops_nor_loses(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 3000)
    v4.faults.repeat_cursor("v2/observations", times=5, after=3)
    reader = reader_of(v4, tmp_path, at_once=1)
    found, _ = traces(reader)
    assert numbers(found) == list(range(3000))


def test_a_cursor_that_always_repeats_ends_in_an_error(v4: LangfuseStandIn, tmp_path: Path) -> None:
    for number in range(1500):
        v4.add(*exchange(2 * number + 1, at(DAY, 0.5)))
    v4.faults.repeat_cursor("v2/observations", times=10**6)
    reader = reader_of(v4, tmp_path)
    with reader, pytest.raises(LangfuseError, match="curseur répété"):
        list(reader.trace_chunks(DAY, DAY, ReadReport()))


def test_an_outdated_cursor_starts_the_window_again(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 2000)
    v4.faults.fail("v2/observations", 400, times=1, after=3)
    found, counts = traces(reader_of(v4, tmp_path, at_once=1))
    assert numbers(found) == list(range(2000))
    assert "duplicates" not in counts


def test_pages_that_move_under_the_reader_lose_nothing(v3: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v3, 400)
    late = iter(range(10_001, 10_011, 2))

    def insert(_: int) -> None:
        number = next(late, None)
        if number is not None:
            # newer than every page read so far: each later page shifts by one row
            v3.add(*exchange(number, at(DAY, 0.98)))

    v3.faults.between_pages("/api/public/observations", insert)
    reader = reader_of(v3, tmp_path, at_once=1)
    found, counts = traces(reader)
    assert sorted(numbers(found)) == [*range(400), *range(10_001, 10_011, 2)]
    assert reader.progress.read_again > 0
    assert "duplicates" not in counts


def test_pages_that_shrink_under_the_reader_lose_nothing(v3: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v3, 400)

    def delete(served: int) -> None:
        if served == 2:
            # the newest row goes: the row at the next page's start would be skipped
            v3.store.delete_observation(v3.observations[0]["id"])

    v3.faults.between_pages("/api/public/observations", delete)
    found, _ = traces(reader_of(v3, tmp_path, at_once=1))
    assert len(found) >= 399
    assert numbers(found)[:399] == list(range(399))


def test_a_row_inserted_between_cursor_pages_is_never_doubled(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 2500)
    extra = iter(range(20_001, 20_101, 2))
    v4.faults.between_pages("v2/observations", lambda _: v4.add(*exchange(next(extra), at(DAY, 0.3))))
    found, counts = traces(reader_of(v4, tmp_path, at_once=1))
    assert len(set(numbers(found))) == len(found)
    assert set(range(2500)) <= set(numbers(found))
    assert "duplicates" not in counts


def test_rows_created_after_the_cut_off_are_left_out_and_counted(server: LangfuseStandIn, tmp_path: Path) -> None:
    fill(server, 10)
    cut = datetime(2026, 7, 1, 4, tzinfo=UTC)
    server.add(*[row | {"createdAt": "2026-07-01T04:00:00.000Z"} for row in exchange(101, at(DAY, 0.5))])
    server.add(*[row | {"createdAt": "2026-07-01T03:59:59.999Z"} for row in exchange(103, at(DAY, 0.6))])
    found, counts = traces(reader_of(server, tmp_path, created_before=cut))
    assert sorted(numbers(found)) == [*range(10), 103]
    # a v3 trace row is created with its first observation
    assert counts["late"] == (2 if server.mode == "v3" else 1)


def test_days_with_late_rows_are_found_by_counting(server: LangfuseStandIn, tmp_path: Path) -> None:
    fill(server, 20, days=2)
    last = DAY + timedelta(days=1)
    with reader_of(server, tmp_path) as reader:
        assert reader.late_days(DAY, last) == []
        dict(reader.trace_days([DAY, last], ReadReport()))
        assert reader.late_days(DAY, last) == []
        server.add(*exchange(501, at(last, 0.5)))
        assert reader.late_days(DAY, last) == [last]
        found = dict(reader.trace_days([last], ReadReport()))
        assert 501 in numbers(found[last])
        assert reader.late_days(DAY, last) == []


def test_rows_that_arrive_during_the_read_make_the_day_late(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 20)
    # the first page is the question which API answers, the second the day's own
    v4.faults.between_pages(
        "v2/observations", lambda served: v4.add(*exchange(501, at(DAY, 0.5))) if served == 2 else None
    )
    with reader_of(v4, tmp_path, at_once=1) as reader:
        assert sum(map(len, reader.trace_chunks(DAY, DAY, ReadReport()))) == 20
        assert reader.late_days(DAY, DAY) == [DAY]


def test_a_server_that_cannot_count_is_still_read(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 4)
    v4.faults.fail("v2/metrics", 404, times=99)
    with reader_of(v4, tmp_path) as reader:
        assert sum(map(len, reader.trace_chunks(DAY, DAY, ReadReport()))) == 4
        assert reader.late_days(DAY, DAY) == []


def test_a_read_during_the_day_says_what_is_not_settled(tmp_path: Path) -> None:
    with LangfuseStandIn(clock=lambda: at(DAY, 0.5)) as running:
        fill(running, 20)
        reader = reader_of(running, tmp_path)
        traces(reader)
        assert 5 < reader.progress.unsettled < reader.progress.windows


def test_rows_that_cannot_be_used_are_counted(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 2)
    good = exchange(11, at(DAY, 0.4))[0]
    v4.add(good | {"id": "x" * 300, "traceId": "t1"}, good | {"id": "no-trace", "traceId": ""})
    v4.add(good | {"id": "weird", "traceId": "w1", "tags": "not a list", "level": None, "name": None})
    found, counts = traces(reader_of(v4, tmp_path))
    assert len(found) == 3
    assert counts["rejected_missing_id"] == 2


def test_lone_surrogates_do_not_stop_a_page(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 3)
    content = v4.api.answer

    def with_surrogate(method: str, path: str, *rest: object) -> tuple[int, object]:
        status, answer = content(method, path, *rest)  # type: ignore[arg-type]
        if path.endswith("v2/observations"):
            for row in answer["data"]:
                row["name"] = "lone SURROGATE"
        return status, answer

    v4.api.answer = with_surrogate  # type: ignore[method-assign]
    from compliance_pipelines_tests.standins import langfuse

    original = langfuse.msgspec.json.encode
    langfuse.msgspec.json.encode = lambda value: original(value).replace(b"SURROGATE", b"\\ud83d")  # type: ignore[assignment]
    try:
        found, _ = traces(reader_of(v4, tmp_path))
    finally:
        langfuse.msgspec.json.encode = original  # type: ignore[assignment]
    assert len(found) == 3


def test_a_page_too_large_for_memory_is_read_in_smaller_ones(
    v4: LangfuseStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compliance_pipelines.adapters.langfuse_api_http.MAX_PAGE_BYTES", 60_000)
    for number in range(40):
        row = exchange(2 * number + 1, at(DAY, 0.5 + number / 1000))[0]
        v4.add(row | {"output": "x" * 20_000})
    v4.add(exchange(1001, at(DAY, 0.6))[0] | {"output": "y" * 90_000})
    found, _ = traces(reader_of(v4, tmp_path))
    assert len(found) == 41
    assert any(request.query.get("limit") == "1" for request in v4.requests)


def test_one_trace_over_many_windows_and_kinds(v4: LangfuseStandIn, tmp_path: Path) -> None:
    generation = exchange(1, at(DAY, 0.5))[0]
    retriever = observation(
        id="r1", traceId=generation["traceId"], startTime="2026-06-02T02:00:00.000Z", type="RETRIEVER",
        output=json.dumps([{"text": "La franchise est de 150 €."}]),
    )  # fmt: skip
    v4.add(generation, retriever)
    found, _ = traces(reader_of(v4, tmp_path))
    assert [trace.contexts for trace in found] == [("La franchise est de 150 €.",)]


def test_windows_are_read_several_at_once(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 50)
    together, most, lock = set(), [0], threading.Lock()
    answer = v4.api.answer

    def watched(*arguments: object) -> tuple[int, object]:
        me = threading.get_ident()
        with lock:
            together.add(me)
            most[0] = max(most[0], len(together))
        threading.Event().wait(0.02)
        with lock:
            together.discard(me)
        return answer(*arguments)  # type: ignore[arg-type]

    v4.api.answer = watched  # type: ignore[method-assign]
    traces(reader_of(v4, tmp_path, at_once=4))
    assert most[0] == 4
    most[0] = 0
    traces(reader_of(v4, tmp_path, at_once=1))
    assert most[0] == 1


def test_no_text_or_key_reaches_an_error(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 4)
    v4.faults.fail("v2/observations", 500, times=99, after=1, body=b'{"message":"question 0 secret@exemple.fr"}')
    reader = reader_of(v4, tmp_path)
    with reader, pytest.raises(LangfuseError) as raised:
        list(reader.trace_chunks(DAY, DAY, ReadReport()))
    line = str(raised.value)
    assert "\n" not in line
    assert "HTTP 500" in line
    assert "exemple" not in line
    assert v4.secret_key not in line + repr(reader.http.server)
    assert v4.public_key not in line + repr(reader.http.server)
