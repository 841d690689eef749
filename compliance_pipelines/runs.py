"""Runs of the code location from the command line: the month's nights in one backfill run, then the month's report.

Everything goes through Dagster and its instance, so that the UI shows what the command did. Progress is drawn from the
log records of the run; failures come back as one line.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import dagster as dg

from compliance_pipelines import nights
from compliance_pipelines.core.periods import Month
from compliance_pipelines.io_manager import progress as partition_log
from compliance_pipelines.resources import PolicyResource, TraceSourceResource, from_env
from compliance_pipelines.settings import settings
from compliance_pipelines.shipped import shipped

EMBEDDED = (
    "langfuse/traces",
    "langfuse/scores",
    "evaluation/neutrality",
    "evaluation/citations",
    "evaluation/figure_grounding",
    "department/daily",
)
OURS = "compliance/command"
RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"
# called with the asset and partition that have just been written
Progress = Callable[[str, str], None]


class RunFailedError(RuntimeError):
    """A run that did not succeed: the message is the cause in one line."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """A finished run: its id and the checks that did not pass, by asset."""

    run_id: str
    failed_checks: tuple[tuple[str, str], ...]


def dagster_home(home: Path) -> Path:
    """Prepare and announce DAGSTER_HOME: `<home>/dagster` with the project's dagster.yaml, unless one is set."""
    given = os.environ.get("DAGSTER_HOME")
    folder = Path(given) if given else home / "dagster"
    folder.mkdir(parents=True, exist_ok=True)
    settings, ours = folder / "dagster.yaml", shipped("dagster.yaml")
    if not settings.exists() and ours.exists():
        settings.symlink_to(ours)
    os.environ["DAGSTER_HOME"] = str(folder.absolute())
    return folder


def followed_days(month: Month) -> list[date]:
    """The nights of a month from the first followed day on; RunFailedError when there is none."""
    first = settings().first_day
    days = [day for day in month.days() if day >= first]
    if not days:
        raise RunFailedError(f"le mois {month} précède le premier jour suivi, {first:%d/%m/%Y} (COMPLIANCE_FIRST_DAY)")
    return days


def run_nights(month: Month, progress: Progress) -> RunOutcome:
    """Every followed night of the month, in one single-run backfill."""
    days = followed_days(month)
    tags = {RANGE_START: days[0].isoformat(), RANGE_END: days[-1].isoformat()}
    if not _embedded():
        return _execute("nightly", None, tags, {}, progress)
    # without a judge or a server the other assets would write empty tables
    only = [dg.AssetKey(name.split("/")) for name in EMBEDDED]
    source, policy = _inputs()
    # before the run: what arrives while it reads was not read
    made_from = nights.inputs(month, source, policy)

    def remember() -> None:
        nights.remember(month, EMBEDDED, source, made_from)

    return _execute("nightly", None, tags, {}, progress, only, remember)


def nights_unchanged(month: Month) -> bool:
    """Whether `run_nights` would compute what is stored and shown already, from the same export, policy and code."""
    if not _embedded():
        return False
    source, policy = _inputs()
    return nights.unchanged(month, EMBEDDED, source, nights.inputs(month, source, policy)) and _shown(month)


def _shown(month: Month) -> bool:
    """Whether Dagster's instance knows these nights: tables may outlive it, schedules and interface look there."""
    days = {day.isoformat() for day in followed_days(month)}
    with dg.DagsterInstance.get() as instance:
        return all(days <= instance.get_materialized_partitions(dg.AssetKey(name.split("/"))) for name in EMBEDDED)


def _embedded() -> bool:
    return not os.environ.get("JUDGE_BASE_URL") and not settings().langfuse_url and settings().export.exists()


def _inputs() -> tuple[TraceSourceResource, PolicyResource]:
    found = from_env()
    source, policy = found["source"], found["policy"]
    assert isinstance(source, TraceSourceResource)
    assert isinstance(policy, PolicyResource)
    return source, policy


def run_report(month: Month, progress: Progress, *, reason: str = "", cutoff: str = "") -> RunOutcome:
    """The month's figures, report and archiving."""
    ops: dict[str, object] = {}
    if reason or cutoff:
        ops["audit__bias_report"] = {"config": {"reason": reason, "cutoff": cutoff}}
        ops["department__monthly"] = {"config": {"cutoff": cutoff}}
    return _execute("monthly_report", month.first_day.isoformat(), {}, {"ops": ops} if ops else {}, progress)


def _execute(
    job: str,
    partition: str | None,
    tags: dict[str, str],
    config: dict[str, object],
    progress: Progress,
    only: list[dg.AssetKey] | None = None,
    succeeded: Callable[[], None] | None = None,
) -> RunOutcome:
    from compliance_pipelines.definitions import build_defs

    with _alone(), dg.DagsterInstance.get() as instance, _relayed(progress):
        _bury(instance)
        result = (
            build_defs()
            .resolve_job_def(job)
            .execute_in_process(
                instance=instance,
                partition_key=partition,
                tags={**tags, OURS: "true"},
                run_config={**config, "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                raise_on_error=False,
                asset_selection=only,
            )
        )
        # still alone: another run would change the tables
        if result.success and succeeded is not None:
            succeeded()
    if not result.success:
        raise RunFailedError(_cause(result))
    failed = tuple(
        (e.asset_key.to_user_string(), e.check_name) for e in result.get_asset_check_evaluations() if not e.passed
    )
    return RunOutcome(result.run_id, failed)


def _cause(result: dg.ExecuteInProcessResult) -> str:
    for event in result.all_events:
        if event.is_step_failure:
            error = event.step_failure_data.error
            # Dagster wraps what the asset raised; what that was caused by is no longer one line for its reader
            while error is not None and error.cause is not None and (error.cls_name or "").startswith("Dagster"):
                error = error.cause
            if error is not None:
                # Dagster prefixes the message with the exception's full name
                lines = error.message.strip().splitlines() or [error.cls_name or "erreur"]
                return (lines[0].partition(": ")[2] or lines[0])[:500]
    return "la planification de l'exécution a échoué (voir l'interface Dagster)"


@contextmanager
def _alone() -> Generator[None]:
    """One run of the command at a time on a home: two at once would mix their tables in one report."""
    folder = settings().home / "state"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _bury(instance: dg.DagsterInstance) -> None:
    """Mark runs of a killed command as failed; we hold the lock, so none of them is alive."""
    unfinished = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
    for run in instance.get_runs(dg.RunsFilter(statuses=unfinished, tags={OURS: "true"})):
        instance.report_run_failed(run, "interrompue : le processus a été arrêté")


@contextmanager
def _relayed(progress: Progress) -> Generator[None]:
    handler = _Relay(progress)
    partition_log.addHandler(handler)
    partition_log.setLevel(logging.INFO)
    partition_log.propagate = False
    try:
        yield
    finally:
        partition_log.removeHandler(handler)


class _Relay(logging.Handler):
    """Turns the IO manager's "asset partition" records into progress."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.INFO)
        self.progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        """Relay one written partition."""
        asset, partition = record.getMessage().split(" ")
        self.progress(asset, partition)
