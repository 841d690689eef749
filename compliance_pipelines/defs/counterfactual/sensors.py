"""The week of the gate that was missed or failed is asked for again, once a day until the next one is due.

Once a day and not once for all, as nights are: what fails is mostly a gateway that is away, for hours, and an attempt
that finds it away costs a single call. A run that fails is told as every failed run is.
"""

import dagster as dg

from compliance_pipelines.core.lateness import late_week
from compliance_pipelines.core.periods import paris_day
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.counterfactual.schedules import counterfactual_job
from compliance_pipelines.defs.partitions import FIRST_DAY
from compliance_pipelines.defs.schedules import UNDER_WAY
from compliance_pipelines.resources import utc_now


@dg.sensor(
    job=counterfactual_job,
    minimum_interval_seconds=1800,
    description="Relance chaque jour la semaine de la barrière contrefactuelle qui manque, jusqu'à la suivante.",
)
def catch_up_weeks(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Ask for the last week that is due and not there, when no run of the gate is under way."""
    now = utc_now()
    monday = late_week(context.instance.get_materialized_partitions(keys.COUNTERFACTUAL), now)
    if monday is None or monday < FIRST_DAY:
        return dg.SkipReason("aucune semaine ne manque")
    if context.instance.get_runs_count(dg.RunsFilter(job_name=counterfactual_job.name, statuses=UNDER_WAY)):
        return dg.SkipReason("la barrière est en cours")
    return dg.RunRequest(run_key=f"catch-up-week-{monday}-{paris_day(now)}", partition_key=monday.isoformat())
