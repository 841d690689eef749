"""What is known of a failed run: its failed steps, their root causes, and whether it will be tried again by itself.

Shared by the sensor that tries again and by the one that alerts, so that a failure which is being retried wakes nobody
and one whose retries are exhausted, or never came, does.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from datetime import datetime, timedelta

import dagster as dg

from compliance_pipelines.core.lateness import MAX_ATTEMPTS, Failure, kind_of
from compliance_pipelines.defs.schedules import monthly_report_job, nightly_job

ATTEMPT = "compliance/attempt"
RETRIED = (nightly_job.name, monthly_report_job.name)
# how long the retry of a passing failure may take to appear, before the failure counts as not retried
RETRY_GRACE = timedelta(minutes=10)
_STEPS_READ = 50


class Retry(enum.StrEnum):
    """What becomes of a failed run. NONE: nobody tries again; AWAITED: one will, or is; TAKEN_OVER: one has ended."""

    NONE = "none"
    AWAITED = "awaited"
    TAKEN_OVER = "taken_over"


def retry_key(run_id: str) -> str:
    """The run key of the retry of a run."""
    return f"retry-{run_id}"


def step_failures(instance: dg.DagsterInstance, run_id: str) -> list[dg.DagsterEvent]:
    """The failed steps of a run, as events."""
    found = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.STEP_FAILURE, limit=_STEPS_READ).records
    events = (record.event_log_entry.dagster_event for record in found)
    return [event for event in events if event is not None]


def root_causes(events: object) -> Iterator[str]:
    """Class name of what each failed step was caused by; a step that only waited on another has none."""
    for event in events if isinstance(events, (list, tuple)) else ():
        error = event.step_failure_data.error
        while error is not None and error.cause is not None:
            error = error.cause
        if error is not None and error.cls_name:
            yield error.cls_name


def retry_of(
    instance: dg.DagsterInstance, run: dg.DagsterRun, failures: list[dg.DagsterEvent], ended: datetime, now: datetime
) -> Retry:
    """Whether `run`, failed at `ended`, is tried again. A retry that a person cancelled counts as none."""
    followed = instance.get_runs(dg.RunsFilter(tags={"dagster/run_key": retry_key(run.run_id)}), limit=1)
    if followed:
        if followed[0].status in (dg.DagsterRunStatus.CANCELED, dg.DagsterRunStatus.CANCELING):
            return Retry.NONE
        return Retry.TAKEN_OVER if followed[0].is_finished else Retry.AWAITED
    passing = kind_of(root_causes(failures)) is Failure.PASSING
    left = int(run.tags.get(ATTEMPT, "0")) < MAX_ATTEMPTS
    awaited = run.job_name in RETRIED and passing and left and ended <= now < ended + RETRY_GRACE
    return Retry.AWAITED if awaited else Retry.NONE
