"""Reading Langfuse servers of every generation: the same exchanges, none lost, none doubled, whatever happens."""

from __future__ import annotations

import dataclasses
import itertools
import json
import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from compliance_pipelines.adapters.langfuse_api_http import LangfuseError
from compliance_pipelines.adapters.langfuse_api_late import Ledger
from compliance_pipelines.adapters.langfuse_export import ExportReader
from compliance_pipelines.core import reconciliation
from compliance_pipelines.core.extraction import ReadReport, Window, inherit, windows
from compliance_pipelines.core.langfuse_rows import Observation
from compliance_pipelines.core.periods import day_start
from compliance_pipelines_tests.standins import langfuse_recorded as rec
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.langfuse_fill import DAY, at, exchange, fill, numbers, reader_of, traces
from compliance_pipelines_tests.standins.langfuse_rows import observation

MODES = ("events_only", "dual", "v3")
RECORDED_DAY = date(2026, 11, 30)


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
    assert counts.keys() == {"observations", "read_rows", "rows", "server_rows"}
    # 400 generations and 200 events; the traces of v3 are no rows that the server counts
    assert counts["server_rows"] == counts["read_rows"] == 600
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
    # only a server can be asked how many rows it has
    assert counts.pop("server_rows") == counts.pop("read_rows") == counts["observations"]
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


@pytest.mark.parametrize("old", [range(40), range(100), range(0, 100, 3)])
def test_a_dual_server_loses_no_row_that_only_its_old_tables_hold(tmp_path: Path, old: range) -> None:
    with LangfuseStandIn("dual", clock=lambda: datetime(2026, 6, 10, tzinfo=UTC)) as running:
        rows = fill(running, 100)
        whole, wanted = traces(reader_of(running, tmp_path / "whole"))
        with reader_of(running, tmp_path / "whole") as reader:
            scores = reader.read_scores(DAY, DAY)[0]
        running.store.old_only = {row["id"] for row in rows if int(row["traceId"], 16) in old}
        found, counts = traces(reader_of(running, tmp_path / "partly"))
        with reader_of(running, tmp_path / "partly") as reader:
            assert reader.read_scores(DAY, DAY)[0] == scores
            assert reader.late_days(DAY, DAY) == []
    assert numbers(found) == list(range(100))
    # v3 gives input and output parsed, so the digest over their text differs and nothing else
    bare = [dataclasses.replace(trace, row_digest="") for trace in whole]
    assert [dataclasses.replace(trace, row_digest="") for trace in found] == bare
    assert "duplicates" not in counts
    assert counts["read_rows"] == counts["server_rows"] == wanted["read_rows"] == 150
    # the traces of v3 are rows too
    assert counts["rows"] > wanted["rows"] == 150


def test_rows_that_only_the_new_tables_hold_are_counted_beside_the_old_ones(tmp_path: Path) -> None:
    with LangfuseStandIn("dual", clock=lambda: datetime(2026, 6, 10, tzinfo=UTC)) as running:
        rows = {row["id"]: int(row["traceId"], 16) for row in fill(running, 100)}
        # changed over within the day: 90 rows in the old tables, 75 in the new ones, 15 in both
        running.store.old_only = {row for row, number in rows.items() if number < 50}
        running.store.new_only = {row for row, number in rows.items() if number >= 60}
        found, counts = traces(reader_of(running, tmp_path))
    assert numbers(found) == list(range(100))
    assert counts["server_rows"] == counts["read_rows"] == 150


def test_a_dual_server_with_full_new_tables_is_read_from_these_alone(tmp_path: Path) -> None:
    with LangfuseStandIn("dual", clock=lambda: datetime(2026, 6, 10, tzinfo=UTC)) as running:
        fill(running, 100)
        traces(reader_of(running, tmp_path))
        old = [r.path for r in running.requests if r.path.endswith(("public/observations", "public/traces"))]
        # which API there is, and how many rows before and after
        assert len(old) == 3


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
    assert traces(reader_of(server, tmp_path)) == ([], {"server_rows": 0})
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


@pytest.mark.parametrize(("minutes", "unsettled"), [(9, 1), (10, 0)])
def test_a_window_settles_ten_minutes_after_its_end(minutes: int, unsettled: int, tmp_path: Path) -> None:
    # the last window ends a quarter of an hour after the day
    now = at(DAY, 1) + timedelta(minutes=15 + minutes)
    with LangfuseStandIn("events_only", clock=lambda: now) as server:
        fill(server, 4)
        with reader_of(server, tmp_path) as reader:
            assert sum(map(len, reader.trace_chunks(DAY, DAY, ReadReport()))) == 4
            assert reader.progress.unsettled == unsettled


def test_rows_erased_since_are_no_late_rows(tmp_path: Path) -> None:
    kept = Ledger(tmp_path / "counts.json")
    kept.keep({DAY: 10})
    assert kept.grown([(DAY, 9)]) == kept.grown([(DAY, 10)]) == []
    assert kept.grown([(DAY, 11)]) == [DAY]


def test_rows_that_cannot_be_used_are_counted(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 2)
    good = exchange(11, at(DAY, 0.4))[0]
    v4.add(good | {"id": "x" * 300, "traceId": "t1"}, good | {"id": "no-trace", "traceId": ""})
    v4.add(good | {"id": "weird", "traceId": "w1", "tags": "not a list", "level": None, "name": None})
    found, counts = traces(reader_of(v4, tmp_path))
    assert len(found) == 3
    assert counts["rejected_missing_id"] == 2


def test_rows_that_cannot_be_used_count_on_their_own_day(server: LangfuseStandIn, tmp_path: Path) -> None:
    fill(server, 6, days=3)
    days = [DAY + timedelta(days=k) for k in range(3)]
    good, eve = exchange(11, at(days[1], 0.4))[0], exchange(13, at(DAY, -0.003))[0]
    server.add(good | {"id": "x" * 300, "traceId": "t1"}, good | {"id": "no-trace", "traceId": ""})
    # in the margin before the first day: read for its trace, counted when its day is read
    server.add(eve | {"id": "y" * 300, "traceId": "t2"})
    report = ReadReport()
    with reader_of(server, tmp_path) as reader:
        assert sum(map(len, reader.trace_chunks(days[0], days[-1], report))) >= 6
    refused = [sum(n for name, n in report.days[day].items() if name.startswith("rejected_")) for day in days]
    assert refused[0] == refused[2] == 0
    assert refused[1] >= 2
    assert [one.difference for one in reconciliation.day_counts(report, days)] == [0, 0, 0]


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


def row(kind: str, row_id: str, **more: object) -> Observation:
    moment = at(DAY, 0.5)
    fields: dict[str, object] = {
        "trace_id": "t1", "name": "", "level": "DEFAULT", "status_message": "", "started_at": moment,
        "created_at": moment, "session_id": None, "environment": None, "model": None, "tags": (), "input": None,
        "output": None, "metadata": {}, "model_parameters": {},
    }  # fmt: skip
    return Observation(row_id, kind=kind, **(fields | more))  # type: ignore[arg-type]


def test_a_v3_generation_takes_from_its_trace_what_v3_keeps_there() -> None:
    trace = row(
        "TRACE",
        "t1",
        session_id="s",
        tags=("department:direction-rh",),
        metadata={
            "compliance_department": "direction-it",
            "bias_review_required": True,
            "department": "d'un événement",
        },
    )
    bare = row("GENERATION", "g1")
    full = row("GENERATION", "g2", session_id="own", tags=("own",), metadata={"compliance_department": "own"})
    stranger = row("GENERATION", "g3", trace_id="t2")
    event = row("EVENT", "e1")
    found = {item.row_id: item for item in inherit([trace, bare, full, stranger, event])}
    assert (found["g1"].session_id, found["g1"].tags) == ("s", ("department:direction-rh",))
    assert found["g1"].metadata == {"compliance_department": "direction-it", "bias_review_required": True}
    assert (found["g2"].session_id, found["g2"].tags) == ("own", ("own",))
    assert found["g2"].metadata["compliance_department"] == "own"
    assert (found["g3"], found["e1"], found["t1"]) == (stranger, event, trace)


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 6, 2), 24), (date(2026, 10, 25), 25)])
def test_windows_cover_a_paris_day_without_gap_or_overlap(day: date, hours: int) -> None:
    parts = windows(day, day, timedelta(hours=2), timedelta(minutes=15))
    assert (parts[0].start, parts[-1].end) == (
        day_start(day) - timedelta(minutes=15),
        day_start(day + timedelta(days=1)) + timedelta(minutes=15),
    )
    assert all(one.end == other.start for one, other in itertools.pairwise(parts))
    assert parts[-1].end - parts[0].start == timedelta(hours=hours, minutes=30)


def test_a_window_is_halved_down_to_a_second() -> None:
    part = Window(at(DAY, 0), at(DAY, 0) + timedelta(seconds=3))
    halves = part.halves()
    assert halves is not None
    assert (halves[0].start, halves[0].end, halves[1].end) == (part.start, halves[1].start, part.end)
    assert halves[0].halves() is None
