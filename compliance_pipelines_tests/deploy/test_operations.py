"""Ticks over clock changes and month ends, missed nights, waiting reports, retries by kind of failure."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise, takewhile
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
import yaml
from dagster._core.op_concurrency_limits_counter import GlobalOpConcurrencyLimitsCounter
from dagster._core.storage.dagster_run import RunOpConcurrency
from dagster._core.utils import make_new_run_id
from dagster._utils.schedules import schedule_execution_time_iterator

from compliance_pipelines.core.lateness import PASSING, Failure, kind_of, late_nights, late_reports, late_week
from compliance_pipelines.core.periods import Month, month_of
from compliance_pipelines.core.ports import ArchiveUnavailableError
from compliance_pipelines.definitions import build_defs
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.counterfactual import sensors as gate_sensors
from compliance_pipelines.defs.operations import sensors
from compliance_pipelines.defs.schedules import monthly_report, nightly

PARIS = ZoneInfo("Europe/Paris")
ROOT = Path(__file__).parents[2]
YEAR = datetime(2026, 1, 1, tzinfo=PARIS), datetime(2027, 1, 1, tzinfo=PARIS)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=PARIS).astimezone(UTC)


def ticks(schedule: dg.ScheduleDefinition, start: datetime, end: datetime) -> list[datetime]:
    # the very iterator of the daemon's scheduler, which no public name gives
    found = schedule_execution_time_iterator(
        start.timestamp(), str(schedule.cron_schedule), schedule.execution_timezone
    )
    return list(takewhile(lambda tick: tick < end, found))


@pytest.fixture
def instance(tmp_path: Path) -> Generator[dg.DagsterInstance]:
    with dg.instance_for_test(temp_dir=str(tmp_path)) as found:
        yield found


def materialize(instance: dg.DagsterInstance, key: dg.AssetKey, *partitions: str) -> None:
    for partition in partitions:
        instance.report_runless_asset_event(dg.AssetMaterialization(asset_key=key, partition=partition))


# -- schedules


def test_every_paris_day_of_a_year_has_one_tick_for_the_day_before(instance: dg.DagsterInstance) -> None:
    first, *rest = found = ticks(nightly, *YEAR)
    days = []
    # the day before the first followed one is nobody's
    before = nightly(dg.build_schedule_context(instance=instance, scheduled_execution_time=first))
    assert isinstance(before, dg.SkipReason)
    for tick in rest:
        request = nightly(dg.build_schedule_context(instance=instance, scheduled_execution_time=tick))
        assert isinstance(request, dg.RunRequest)
        days.append(date.fromisoformat(request.partition_key or ""))
        assert request.run_key == f"nightly-{request.partition_key}"
    assert days == [date(2026, 1, 1) + timedelta(days=k) for k in range(364)]
    gaps = {
        round((after - before).total_seconds() / 3600) for before, after in pairwise(t.astimezone(UTC) for t in found)
    }
    assert gaps == {23, 24, 25}


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25)])
def test_a_short_and_a_long_day_are_one_night_each(instance: dg.DagsterInstance, day: str, hours: int) -> None:
    start = at(f"{day}T00:00")
    end = at(f"{date.fromisoformat(day) + timedelta(days=1)}T00:00")
    assert end - start == timedelta(hours=hours)
    (tick,) = ticks(nightly, start, end + timedelta(seconds=0))
    (next_tick,) = ticks(nightly, end, end + timedelta(hours=12))
    keys_asked = [
        nightly(dg.build_schedule_context(instance=instance, scheduled_execution_time=t)).partition_key  # ty: ignore
        for t in (tick, next_tick)
    ]
    assert keys_asked == [str(date.fromisoformat(day) - timedelta(days=1)), day]


def test_each_month_of_a_year_is_due_once_at_four_utc(instance: dg.DagsterInstance) -> None:
    found = ticks(monthly_report, *YEAR)
    assert [(t.astimezone(UTC).day, t.astimezone(UTC).hour) for t in found] == [(1, 4)] * 12
    for tick in found:
        month = month_of((tick.astimezone(UTC) - timedelta(days=2)).date())
        waiting = monthly_report(dg.build_schedule_context(instance=instance, scheduled_execution_time=tick))
        assert isinstance(waiting, dg.SkipReason)
        materialize(instance, keys.DEPARTMENT_DAILY, month.days()[-1].isoformat())
        request = monthly_report(dg.build_schedule_context(instance=instance, scheduled_execution_time=tick))
        assert isinstance(request, dg.RunRequest)
        assert request.partition_key == month.first_day.isoformat()


# -- what is late


JUNE = [f"2026-06-{day:02d}" for day in range(1, 31)]


@pytest.mark.parametrize(
    ("done", "now", "expected"),
    [
        ([], "2026-06-11T12:00", ["2026-06-10"]),
        ([], "2026-06-11T03:00", ["2026-06-09"]),
        (JUNE[:10], "2026-06-11T12:00", []),
        (JUNE[:10], "2026-06-12T03:59", []),
        (JUNE[:10], "2026-06-12T04:00", ["2026-06-11"]),
        (["2026-06-08", "2026-06-10"], "2026-06-11T12:00", ["2026-06-09"]),
        (["2026-05-01"], "2026-06-11T12:00", [f"2026-06-{d:02d}" for d in range(4, 11)]),
        (JUNE, "2026-07-01T12:00", []),
        # the day of 23 hours: its night is due four hours after the next midnight in Paris
        (["2026-03-28"], "2026-03-30T03:59", []),
        (["2026-03-28"], "2026-03-30T04:00", ["2026-03-29"]),
        # the day of 25 hours
        (["2026-10-24"], "2026-10-26T03:59", []),
        (["2026-10-24"], "2026-10-26T04:00", ["2026-10-25"]),
        (["2026-12-31"], "2026-06-11T12:00", []),
    ],
)
def test_late_nights(done: list[str], now: str, expected: list[str]) -> None:
    assert [str(day) for day in late_nights(set(done), at(now))] == expected


@pytest.mark.parametrize(
    ("nights", "reports", "now", "expected"),
    [
        (JUNE, [], "2026-07-01T04:30:00+00:00", []),
        (JUNE, [], "2026-07-01T05:00:00+00:00", ["2026-06"]),
        (JUNE[:-1], [], "2026-07-01T06:00:00+00:00", []),
        (JUNE, ["2026-06-01"], "2026-07-01T06:00:00+00:00", []),
        (JUNE, [], "2026-07-31T21:59:00+00:00", ["2026-06"]),
        # 22:00 UTC on 31 July is August in Paris: June is then an old month
        (JUNE, [], "2026-07-31T22:00:00+00:00", []),
        (["2026-12-31"], [], "2027-01-01T05:00:00+00:00", ["2026-12"]),
        ([], [], "2026-07-02T06:00:00+00:00", []),
    ],
)
def test_late_reports(nights: list[str], reports: list[str], now: str, expected: list[str]) -> None:
    found = late_reports(nights, reports, datetime.fromisoformat(now))
    assert found == [Month.parse(text) for text in expected]


@pytest.mark.parametrize(
    ("done", "now", "expected"),
    [
        ([], "2026-06-15T08:59", "2026-06-01"),
        ([], "2026-06-15T09:00", "2026-06-08"),
        (["2026-06-01"], "2026-06-15T08:59", None),
        (["2026-06-01"], "2026-06-15T09:00", "2026-06-08"),
        (["2026-06-01"], "2026-06-21T23:59", "2026-06-08"),
        (["2026-06-08"], "2026-06-21T23:59", None),
        # the clocks change on Sunday: nine hours after midnight all the same
        ([], "2026-03-30T09:00", "2026-03-23"),
        ([], "2026-10-26T08:59", "2026-10-12"),
    ],
)
def test_the_late_week(done: list[str], now: str, expected: str | None) -> None:
    found = late_week(set(done), at(now))
    assert (str(found) if found else None) == expected


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        (["LangfuseError"], Failure.PASSING),
        (["JudgeUnavailableError", "ArchiveUnavailableError"], Failure.PASSING),
        (["LangfuseError", "PolicyError"], Failure.LASTING),
        (["PolicyError"], Failure.LASTING),
        (["EvidenceError"], Failure.LASTING),
        (["ZeroDivisionError"], Failure.LASTING),
        ([], Failure.LASTING),
    ],
)
def test_kind_of_failure(causes: list[str], expected: Failure) -> None:
    assert kind_of(causes) is expected


# -- sensors


def asked(result: object) -> list[str]:
    assert isinstance(result, dg.SensorResult), result
    return [request.partition_key or "" for request in result.run_requests or []]


def test_missed_nights_are_asked_for_once_two_at_a_time(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensors, "utc_now", lambda: at("2026-06-11T12:00"))
    materialize(instance, keys.DEPARTMENT_DAILY, "2026-06-05", "2026-06-07")
    evaluate = lambda: sensors.catch_up_nights(dg.build_sensor_context(instance=instance))  # noqa: E731
    assert asked(evaluate()) == ["2026-06-06", "2026-06-08"]
    # what the daemon does with a request: a run that carries its key, here failed for good
    for day in ("2026-06-06", "2026-06-08"):
        run = dg.DagsterRun(
            job_name="nightly", tags={"dagster/run_key": f"catch-up-{day}"}, status=dg.DagsterRunStatus.FAILURE
        )
        instance.add_run(run)
    assert asked(evaluate()) == ["2026-06-09", "2026-06-10"]
    # a person's own run of that night carries no key; once it is there, the night is no longer missing
    materialize(instance, keys.DEPARTMENT_DAILY, "2026-06-06", "2026-06-08", "2026-06-09", "2026-06-10")
    assert isinstance(evaluate(), dg.SkipReason)


def test_nothing_is_asked_for_while_a_night_runs(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensors, "utc_now", lambda: at("2026-06-11T12:00"))
    instance.add_run(dg.DagsterRun(job_name="nightly", status=dg.DagsterRunStatus.STARTED))
    assert isinstance(sensors.catch_up_nights(dg.build_sensor_context(instance=instance)), dg.SkipReason)


@pytest.mark.parametrize("job_name", ["nightly_by_pod", "judge_by_shards", "__ASSET_JOB"])
def test_nothing_is_asked_for_while_a_heavy_night_runs(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, job_name: str
) -> None:
    monkeypatch.setattr(sensors, "utc_now", lambda: at("2026-06-11T12:00"))
    run = dg.DagsterRun(job_name=job_name, status=dg.DagsterRunStatus.STARTED, tags={"job": "nightly"})
    instance.add_run(run)
    assert isinstance(sensors.catch_up_nights(dg.build_sensor_context(instance=instance)), dg.SkipReason)


def test_a_report_that_waited_is_built_when_its_last_night_comes(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensors, "utc_now", lambda: at("2026-07-02T09:00"))
    evaluate = lambda: sensors.late_report(dg.build_sensor_context(instance=instance))  # noqa: E731
    materialize(instance, keys.DEPARTMENT_DAILY, *JUNE[:-1])
    assert isinstance(evaluate(), dg.SkipReason)
    materialize(instance, keys.DEPARTMENT_DAILY, JUNE[-1])
    assert asked(evaluate()) == ["2026-06-01"]
    materialize(instance, keys.ARCHIVE_RECEIPT, "2026-06-01")
    assert isinstance(evaluate(), dg.SkipReason)


def test_a_week_that_was_missed_or_failed_is_asked_for_again_once_a_day(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tick(now: str) -> dg.RunRequest | dg.SkipReason:
        monkeypatch.setattr(gate_sensors, "utc_now", lambda: at(now))
        found = gate_sensors.catch_up_weeks(dg.build_sensor_context(instance=instance))
        assert isinstance(found, (dg.RunRequest, dg.SkipReason))
        return found

    def key(now: str) -> tuple[str | None, str | None]:
        request = tick(now)
        assert isinstance(request, dg.RunRequest), request
        return request.partition_key, request.run_key

    materialize(instance, keys.COUNTERFACTUAL, "2026-06-01")
    assert isinstance(tick("2026-06-15T08:00"), dg.SkipReason)
    assert key("2026-06-15T09:30") == ("2026-06-08", "catch-up-week-2026-06-08-2026-06-15")
    assert key("2026-06-15T18:00") == ("2026-06-08", "catch-up-week-2026-06-08-2026-06-15")
    assert key("2026-06-16T00:10") == ("2026-06-08", "catch-up-week-2026-06-08-2026-06-16")
    run = instance.add_run(dg.DagsterRun(job_name="counterfactual", status=dg.DagsterRunStatus.STARTED))
    assert isinstance(tick("2026-06-16T09:30"), dg.SkipReason)
    instance.delete_run(run.run_id)
    materialize(instance, keys.COUNTERFACTUAL, "2026-06-08")
    assert isinstance(tick("2026-06-16T09:30"), dg.SkipReason)


class LastingError(ValueError):
    """Stands for a policy that does not load."""


def failed_run(instance: dg.DagsterInstance, error: Exception, attempt: int) -> object:
    @dg.asset(name="archived")
    def archived() -> None:
        raise error

    job = dg.Definitions(assets=[archived], jobs=[dg.define_asset_job("nightly", "*")]).resolve_job_def("nightly")
    tags = {"dagster/partition": "2026-06-10", "job": "nightly", "dagster/run_key": "nightly-2026-06-10"}
    tags |= {sensors.ATTEMPT: str(attempt)} if attempt else {}
    result = job.execute_in_process(instance=instance, raise_on_error=False, tags=tags)
    context = dg.build_run_status_sensor_context(
        sensor_name="retry_passing_failures",
        dagster_event=result.get_run_failure_event(),
        dagster_instance=instance,
        dagster_run=result.dagster_run,
    ).for_run_failure()
    return sensors.retry_passing_failures(context), result.run_id


@pytest.mark.parametrize("attempt", [0, 1])
def test_an_outage_is_tried_again(instance: dg.DagsterInstance, attempt: int) -> None:
    request, run_id = failed_run(instance, ArchiveUnavailableError("archive : le stockage S3 ne répond pas"), attempt)  # ty: ignore
    assert isinstance(request, dg.RunRequest)
    assert (request.job_name, request.partition_key, request.run_key) == ("nightly", "2026-06-10", f"retry-{run_id}")
    assert request.tags[sensors.ATTEMPT] == str(attempt + 1)
    assert "dagster/run_key" not in request.tags


@pytest.mark.parametrize(
    ("error", "attempt"), [(LastingError("thresholds.yaml"), 0), (ArchiveUnavailableError("archive"), 2)]
)
def test_what_a_person_must_mend_or_an_outage_that_lasts_is_left(
    instance: dg.DagsterInstance, error: Exception, attempt: int
) -> None:
    result, _ = failed_run(instance, error, attempt)  # ty: ignore
    assert isinstance(result, dg.SkipReason)


# -- definitions


def test_nights_and_reports_have_a_freshness_policy_and_the_judge_has_a_pool() -> None:
    graph = build_defs().resolve_asset_graph()
    assert graph.get(keys.DEPARTMENT_DAILY).freshness_policy is not None
    assert graph.get(keys.ARCHIVE_RECEIPT).freshness_policy is not None
    for asking in (keys.NEUTRALITY, keys.RAGAS, keys.SYCOPHANCY_PROBES):
        assert graph.get(asking).pools == {"judge"}


def test_the_judge_s_pool_admits_one_run_at_a_time(tmp_path: Path) -> None:
    """By the counter that the queue's daemon asks, with the pools of k8s/base/dagster.yaml."""
    settings = yaml.safe_load((ROOT / "k8s" / "base" / "dagster.yaml").read_text(encoding="utf-8"))
    pools = {"concurrency": {"pools": settings["concurrency"]["pools"]}}
    asking = RunOpConcurrency(root_key_counts={}, has_unconstrained_root_nodes=True, all_pools={"judge"})
    with dg.instance_for_test(temp_dir=str(tmp_path), overrides=pools) as found:

        def run(status: dg.DagsterRunStatus, needs: RunOpConcurrency | None) -> dg.DagsterRun:
            return found.add_run(
                dg.DagsterRun(job_name="nightly", run_id=make_new_run_id(), status=status, run_op_concurrency=needs)
            )

        def blocked(queued: dg.DagsterRun) -> bool:
            going = found.get_run_records(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
            limits = found.event_log_storage.get_pool_limits()
            counter = GlobalOpConcurrencyLimitsCounter(
                found, [queued], going, {limit.name for limit in limits} | {"judge"}, limits,
                pool_granularity=found.get_concurrency_config().pool_config.pool_granularity,
            )  # fmt: skip
            return counter.is_blocked(queued)

        waiting, report = (run(dg.DagsterRunStatus.NOT_STARTED, needs) for needs in (asking, None))
        assert not blocked(waiting)
        run(dg.DagsterRunStatus.STARTED, asking)
        assert blocked(waiting)
        assert not blocked(report)


def test_passing_causes_are_classes_that_exist() -> None:
    """A renamed error would silently become one that nobody retries."""
    import builtins
    import importlib
    import pkgutil

    import httpx
    import sqlalchemy.exc
    from dagster._core import errors, executor

    from compliance_pipelines import adapters, core

    modules = [
        builtins,
        httpx,
        sqlalchemy.exc,
        errors,
        importlib.import_module(f"{executor.__name__}.child_process_executor"),
    ]
    modules += [
        importlib.import_module(f"{package.__name__}.{one.name}")
        for package in (adapters, core)
        for one in pkgutil.iter_modules(package.__path__)
        if one.name not in {"ragas_eval", "ragas_night"}
    ]
    known = {name for module in modules for name, value in vars(module).items() if isinstance(value, type)}
    assert PASSING - known == set()


def test_what_starts_runs_is_off_until_an_installation_starts_it() -> None:
    repository = build_defs().get_repository_def()
    starting = {
        s.name: s.default_status
        for s in repository.sensor_defs
        if s.name in {"catch_up_nights", "catch_up_weeks", "late_rows", "unjudged_nights", "late_report"}
    }
    assert set(starting.values()) == {dg.DefaultSensorStatus.STOPPED}
    assert len(starting) == 5
