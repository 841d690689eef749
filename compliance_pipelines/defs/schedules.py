"""When things run: every night after the Paris day ends, and the report at 04:00 UTC on the 1st.

A month's report waits for the month's last night: its run is skipped, with the reason, until that night is there.
"""

from datetime import UTC, date, timedelta

import dagster as dg

from compliance_pipelines.core.periods import Month, paris_day
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.partitions import FIRST_DAY, daily, monthly

NIGHT = dg.AssetSelection.groups("langfuse", "evaluation") | dg.AssetSelection.assets(keys.DEPARTMENT_DAILY)
REPORT = dg.AssetSelection.assets(keys.DEPARTMENT_MONTHLY) | dg.AssetSelection.groups("audit")
UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
]
"""The states of a run that nobody needs to ask for again."""

nightly_job = dg.define_asset_job(
    "nightly", NIGHT, description="La nuit : lecture, jugements, mesures par direction.", tags={"job": "nightly"}
)
monthly_report_job = dg.define_asset_job(
    "monthly_report", REPORT, description="Le mois : mesures, rapport PDF, archivage.", tags={"job": "monthly_report"}
)


@dg.schedule(job=nightly_job, cron_schedule="30 1 * * *", execution_timezone="Europe/Paris")
def nightly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """The Paris day that has just ended, once the follow-up has begun."""
    day = paris_day(context.scheduled_execution_time) - timedelta(days=1)
    if day < FIRST_DAY:
        return dg.SkipReason(f"{day} précède le premier jour suivi ({FIRST_DAY}, COMPLIANCE_FIRST_DAY)")
    return dg.RunRequest(run_key=f"nightly-{day}", partition_key=day.isoformat())


@dg.schedule(job=monthly_report_job, cron_schedule="0 4 1 * *", execution_timezone="UTC")
def monthly_report(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """The month that has just ended, once its last night is there."""
    month = _month_before(context.scheduled_execution_time.astimezone(UTC).date())
    last_night = month.days()[-1].isoformat()
    done = context.instance.get_materialized_partitions(keys.DEPARTMENT_DAILY)
    if last_night not in done:
        return dg.SkipReason(f"{month} attend sa dernière nuit ({last_night}), pas encore calculée")
    return dg.RunRequest(run_key=f"report-{month}", partition_key=month.first_day.isoformat())


def _month_before(day: date) -> Month:
    last = day.replace(day=1) - timedelta(days=1)
    return Month(last.year, last.month)


__all__ = ["daily", "monthly", "monthly_report", "monthly_report_job", "nightly", "nightly_job"]
