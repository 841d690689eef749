"""The gate runs in the night to Monday, for the Paris week that has just ended."""

from datetime import timedelta

import dagster as dg

from compliance_pipelines.core.periods import paris_day
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.partitions import FIRST_DAY

counterfactual_job = dg.define_asset_job(
    "counterfactual",
    dg.AssetSelection.assets(keys.COUNTERFACTUAL),
    description="La semaine : la barrière contrefactuelle.",
    tags={"job": "counterfactual"},
)


@dg.schedule(job=counterfactual_job, cron_schedule="0 3 * * 1", execution_timezone="Europe/Paris")
def weekly_counterfactual(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """The week that ended last night, once a whole one has been followed."""
    monday = paris_day(context.scheduled_execution_time) - timedelta(days=7)
    if monday < FIRST_DAY:
        return dg.SkipReason(f"la semaine du {monday} commence avant le premier jour suivi ({FIRST_DAY})")
    return dg.RunRequest(run_key=f"counterfactual-{monday}", partition_key=monday.isoformat())
