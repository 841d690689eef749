"""Chats under one trace id that go on over midnight: the same rows whether read night by night, at once or exported."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from compliance_pipelines.adapters.langfuse_export import ExportReader
from compliance_pipelines.core.extraction import ReadReport
from compliance_pipelines.core.periods import day_start
from compliance_pipelines.core.records import Trace
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.langfuse_fill import DAY, at, exchange, reader_of, traces


@pytest.mark.parametrize("minutes", [(-600, -40, -10, 5, 40, 300), (-600, -40, 40, 300), (-10, 40), (-600, 5)])
@pytest.mark.parametrize("flagged", [(0,), (1,), (2, 3), ()])
def test_a_trace_over_midnight_gives_the_same_rows_night_by_night_and_at_once(
    server: LangfuseStandIn, tmp_path: Path, minutes: tuple[int, ...], flagged: tuple[int, ...]
) -> None:
    days = [DAY, DAY + timedelta(days=1)]
    for k, minute in enumerate(minutes):
        # a chat under one trace id; a flag is an event a few milliseconds after its call
        rows = exchange(20 + 2 * k + (k not in flagged), day_start(days[1]) + timedelta(minutes=minute))
        server.add(*[row | {"traceId": f"{1:032x}", "isRootObservation": k == 0} for row in rows])
    server.add(*exchange(3, at(DAY, 0.5)))
    at_once, whole = {}, ReadReport()
    with reader_of(server, tmp_path) as reader:
        at_once |= reader.trace_days(days, whole)
    by_night: dict[date, list[Trace]] = {}
    for day in days:
        night = ReadReport()
        with reader_of(server, tmp_path) as reader:
            by_night |= reader.trace_days([day], night)
        assert night.totals(day, day) == whole.totals(day, day)
    assert by_night == at_once
    assert sum(map(len, at_once.values())) == len(minutes) + 1
    assert all(len({trace.trace_id for trace in found}) == len(found) for found in at_once.values())
    if server.mode != "v3":
        (tmp_path / "export").mkdir()
        (tmp_path / "export" / "page.json").write_text(json.dumps({"data": server.observations, "meta": {}}))
        export = ExportReader(tmp_path / "export", tmp_path / "scratch", reader.resolve, reader.hmac_key)
        found = dict(export.trace_days(days, ReadReport()))
        assert {day: [dataclasses.replace(t, source="api") for t in rows] for day, rows in found.items()} == at_once


@pytest.mark.parametrize("there", [True, False])
def test_a_v3_call_after_midnight_finds_its_trace_of_the_day_before(tmp_path: Path, there: bool) -> None:
    with LangfuseStandIn("v3", clock=lambda: datetime(2026, 6, 10, tzinfo=UTC)) as running:
        night = DAY + timedelta(days=1)
        for number, minutes in ((21, -600), (23, 40)):
            (row,) = exchange(number, day_start(night) + timedelta(minutes=minutes))
            running.add(row | {"traceId": "chat 1", "isRootObservation": number == 21, "sessionId": "chat"})
        running.add(*exchange(5, at(night, 0.5)))
        if not there:
            # erased meanwhile: the call stands as it is
            running.faults.fail("/traces/chat 1", 404, times=9)
        found, counts = traces(reader_of(running, tmp_path), night, night)
        by_id = [request.path for request in running.requests if "/traces/" in request.path]
    assert [trace.trace_id for trace in found] == ["chat 1", f"{5:032x}"]
    assert (found[0].session_hash is not None) == there
    assert by_id == ["/api/public/traces/chat 1"]
    # two calls and a trace: that of the day before is no row of this one
    assert counts["rows"] == 3
    assert counts["read_rows"] == counts["server_rows"] == 2
