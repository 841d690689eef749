"""Rows that reach Langfuse after their night was read: the night is asked for again while its month is still open."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from compliance_pipelines.adapters.langfuse_api import ApiReader
from compliance_pipelines.core.lateness import open_days
from compliance_pipelines.core.periods import day_start, month_of
from compliance_pipelines.core.records import Trace
from compliance_pipelines.defs.operations import sensors
from compliance_pipelines.resources import PolicyResource, TraceSourceResource
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.langfuse_fill import exchange, fill, numbers, traces

READ, NEXT = date(2026, 6, 2), date(2026, 6, 3)
NOW = datetime(2026, 6, 5, 8, tzinfo=UTC)


@pytest.fixture
def instance(tmp_path: Path) -> Generator[dg.DagsterInstance]:
    with dg.instance_for_test(temp_dir=str(tmp_path)) as found:
        yield found


@pytest.fixture(params=["events_only", "v3"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[LangfuseStandIn]:
    with LangfuseStandIn(request.param, clock=lambda: NOW) as running:
        monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", running.public_key)
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", running.secret_key)
        monkeypatch.setattr(sensors, "utc_now", lambda: NOW)
        fill(running, 20, day=READ, days=2)
        yield running


def source_of(server: LangfuseStandIn, folder: Path) -> TraceSourceResource:
    return TraceSourceResource(export="", home=str(folder / "home"), langfuse_url=server.url)


def read(source: TraceSourceResource, day: date) -> list[Trace]:
    reader = source.reader(PolicyResource().of(month_of(day)))
    assert isinstance(reader, ApiReader)
    return traces(reader, day, day)[0]


def evaluate(instance: dg.DagsterInstance, source: TraceSourceResource) -> dg.SensorResult | dg.SkipReason:
    resources = {"source": source, "policy": PolicyResource()}
    found = sensors.late_rows(dg.build_sensor_context(instance=instance, resources=resources))
    assert isinstance(found, (dg.SensorResult, dg.SkipReason))
    return found


def asked(instance: dg.DagsterInstance, source: TraceSourceResource) -> list[tuple[str, str]]:
    found = evaluate(instance, source)
    assert isinstance(found, dg.SensorResult)
    return [(str(one.partition_key), str(one.run_key)) for one in found.run_requests or []]


def test_a_night_with_late_rows_is_read_again_once_for_each_arrival(
    server: LangfuseStandIn, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    source = source_of(server, tmp_path)
    for day in (READ, NEXT):
        read(source, day)
    assert isinstance(evaluate(instance, source), dg.SkipReason)

    server.add(*exchange(101, day_start(NEXT) + timedelta(hours=9)))
    ((day, first_key),) = asked(instance, source)
    assert day == NEXT.isoformat()

    # a run that failed for good is not started over and over; more rows are another matter
    instance.add_run(dg.DagsterRun("nightly", tags={"dagster/run_key": first_key}, status=dg.DagsterRunStatus.FAILURE))
    assert asked(instance, source) == []
    server.add(*exchange(103, day_start(NEXT) + timedelta(hours=10)))
    ((day, second_key),) = asked(instance, source)
    assert (day, second_key != first_key) == (NEXT.isoformat(), True)

    assert [number for number in numbers(read(source, NEXT)) if number > 100] == [101, 103]
    assert isinstance(evaluate(instance, source), dg.SkipReason)


def test_nothing_is_asked_for_while_a_night_runs(
    server: LangfuseStandIn, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    source = source_of(server, tmp_path)
    read(source, READ)
    server.add(*exchange(101, day_start(READ) + timedelta(hours=9)))
    instance.add_run(dg.DagsterRun("nightly", status=dg.DagsterRunStatus.STARTED))
    assert isinstance(evaluate(instance, source), dg.SkipReason)


def test_a_server_away_is_a_reason_in_one_line(
    server: LangfuseStandIn, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    server.faults.fail("/api/public", 401, times=99)
    found = evaluate(instance, source_of(server, tmp_path))
    assert isinstance(found, dg.SkipReason)
    assert "clés refusées" in str(found.skip_message)


def test_an_export_has_no_late_rows(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    found = evaluate(instance, TraceSourceResource(export=str(tmp_path), home=str(tmp_path)))
    assert isinstance(found, dg.SkipReason)


@pytest.mark.parametrize(
    ("now", "first", "last"),
    [
        ("2026-06-05T08:00Z", "2026-05-31", "2026-06-04"),
        ("2026-07-01T03:59Z", "2026-06-24", "2026-06-30"),
    ],
)
def test_days_are_open_until_their_report_is_due(now: str, first: str, last: str) -> None:
    days = open_days(datetime.fromisoformat(now))
    # May's report was due on 1 June at 04:00 UTC
    expected = max(first, "2026-06-01")
    assert (days[0].isoformat(), days[-1].isoformat()) == (expected, last)


def test_no_day_is_open_once_the_report_is_due() -> None:
    assert open_days(datetime(2026, 7, 1, 4, tzinfo=UTC)) == []
