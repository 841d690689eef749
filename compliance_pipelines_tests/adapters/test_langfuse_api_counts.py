"""What the server counts beside what was read: ends of days, servers that count badly or no more, rows that went."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from compliance_pipelines.core import reconciliation
from compliance_pipelines.core.extraction import ReadReport
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.langfuse_fill import DAY, at, exchange, fill, numbers, reader_of, traces

NEXT = DAY + timedelta(days=1)
Answer = tuple[int, Any]


def day(counts: dict[str, int]) -> reconciliation.DayCount:
    return reconciliation.day_count(DAY, counts)


def changed(server: LangfuseStandIn, change: Callable[[str, dict[str, str], Any], Answer | None]) -> None:
    """Let `change(path, query, body)` replace answers of the server."""
    answer = server.api.answer

    def replaced(method: str, path: str, query: dict[str, str], *rest: Any) -> Answer:
        status, body = answer(method, path, query, *rest)
        return change(path, query, body) or (status, body)

    server.api.answer = replaced  # type: ignore[method-assign]


def asked(server: LangfuseStandIn) -> list[dict[str, Any]]:
    return [json.loads(r.query["query"]) for r in server.requests if r.path.endswith("v2/metrics")]


def test_a_row_of_midnight_counts_on_one_day(server: LangfuseStandIn, tmp_path: Path) -> None:
    fill(server, 20)
    server.store.put_observations(exchange(900, at(NEXT, 0)))
    for first, last in ((DAY, DAY), (NEXT, NEXT), (DAY, NEXT)):
        report = ReadReport()
        with reader_of(server, tmp_path) as reader:
            list(reader.trace_chunks(first, last, report))
        found = {one.day: one for one in reconciliation.day_counts(report, [DAY, NEXT]) if first <= one.day <= last}
        expected = {DAY: 30, NEXT: 2}
        assert {d: (one.server, one.read) for d, one in found.items()} == {d: (expected[d],) * 2 for d in found}


def test_a_server_that_refuses_the_filter_is_asked_to_the_millisecond_before(
    v4: LangfuseStandIn, tmp_path: Path
) -> None:
    fill(v4, 20)
    v4.store.put_observations(exchange(900, at(NEXT, 0)))
    refused = {"message": "Invalid filter column start_time"}
    changed(v4, lambda _, query, __: (400, refused) if "start_time" in query.get("query", "") else None)
    _, counts = traces(reader_of(v4, tmp_path))
    assert (day(counts).server, day(counts).read) == (30, 30)
    ends = [query["toTimestamp"] for query in asked(v4) if not query["filters"]]
    assert set(ends) == {"2026-06-02T21:59:59.999Z"}


def test_a_day_too_long_to_count_is_counted_in_halves(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 40)

    def slow(path: str, query: dict[str, str], _: Any) -> Answer | None:
        if not path.endswith("v2/metrics"):
            return None
        span = json.loads(query["query"])
        begin, end = (datetime.fromisoformat(span[name]) for name in ("fromTimestamp", "toTimestamp"))
        return (422, {}) if end - begin > timedelta(hours=7) else None

    changed(v4, slow)
    _, counts = traces(reader_of(v4, tmp_path))
    assert (day(counts).server, day(counts).read) == (60, 60)


@pytest.mark.parametrize("number", ["²", None, -1, 1.5, True, [], {}, "many"])
def test_what_is_no_count_is_not_taken_for_one(number: object, v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 4)
    changed(v4, lambda path, *_: (200, {"data": [{"count_count": number}]}) if path.endswith("v2/metrics") else None)
    found, counts = traces(reader_of(v4, tmp_path))
    assert len(found) == 4
    assert day(counts).server is None
    assert reconciliation.uncounted(counts)


@pytest.mark.parametrize("number", [6, "6", 6.0])
def test_a_count_in_each_of_its_forms(number: object, v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 4)
    changed(v4, lambda path, *_: (200, {"data": [{"count_count": number}]}) if path.endswith("v2/metrics") else None)
    _, counts = traces(reader_of(v4, tmp_path))
    assert (day(counts).server, day(counts).read) == (6, 6)
    assert not reconciliation.uncounted(counts)


@pytest.mark.parametrize("started", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-06-09T10:00:00Z"])
def test_a_row_of_another_time_than_asked_for_stops_nothing(
    started: str, server: LangfuseStandIn, tmp_path: Path
) -> None:
    fill(server, 4)

    def strange(path: str, query: dict[str, str], body: Any) -> Answer | None:
        if not path.endswith("observations") or query.get("limit") == "1" or not body.get("data"):
            return None
        stranger = body["data"][0] | {"id": "stranger", "traceId": "stranger", "startTime": started}
        return 200, body | {"data": [*body["data"], stranger]}

    changed(server, strange)
    found, counts = traces(reader_of(server, tmp_path))
    assert numbers(found) == [0, 1, 2, 3]
    assert (day(counts).server, day(counts).read) == (6, 6)


def test_days_with_fewer_rows_than_at_their_last_read_are_said(tmp_path: Path) -> None:
    with LangfuseStandIn("v3", clock=lambda: datetime(2026, 6, 10, tzinfo=UTC)) as server:
        fill(server, 10)
        report = ReadReport()
        with reader_of(server, tmp_path) as reader:
            list(reader.trace_chunks(DAY, DAY, report))
        assert report.gone == {}
        # changed over to v4 without its past
        server.api.mode = server.mode = "events_only"
        server.store.old_only |= {row["id"] for row in server.observations}
        server.store.version += 1
        with reader_of(server, tmp_path) as reader:
            assert not [t for chunk in reader.trace_chunks(DAY, date(2026, 6, 3), report) for t in chunk]
        assert report.gone == {DAY: (15, 0)}
