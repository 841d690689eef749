"""Sensors that start runs: nights missed, grown or unjudged, reports that waited for their last night, failures.

They are off until an installation starts them, as the schedules are. Each asks once: a run key is never used again, so
a run that fails for good is not started over and over, and a person's own re-run carries no key and is never blocked.
"""

from __future__ import annotations

import dagster as dg

from compliance_pipelines.adapters.judge import BATCH_REASONS
from compliance_pipelines.adapters.langfuse_api import ApiReader
from compliance_pipelines.adapters.langfuse_api_http import LangfuseError, Patience
from compliance_pipelines.adapters.table_store import StoreError, TableStore
from compliance_pipelines.core.lateness import MAX_ATTEMPTS, Failure, kind_of, late_nights, late_reports, open_days
from compliance_pipelines.core.periods import month_of
from compliance_pipelines.core.unjudged import judged, owed
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.failures import ATTEMPT, retry_key, root_causes
from compliance_pipelines.defs.operations.execution import HEAVY_NIGHTS
from compliance_pipelines.defs.partitions import FIRST_DAY
from compliance_pipelines.defs.schedules import UNDER_WAY, monthly_report_job, nightly_job
from compliance_pipelines.resources import (
    InstallationResource,
    JudgeResource,
    PolicyResource,
    TraceSourceResource,
    utc_now,
)

AT_ONCE = 2
# tags that Dagster sets itself and a new run must not inherit
_KEPT_TAGS = ("job", "dagster/asset_partition_range_start", "dagster/asset_partition_range_end")


@dg.sensor(job=nightly_job, minimum_interval_seconds=900, description="Relance une fois les nuits manquées.")
def catch_up_nights(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Ask for at most AT_ONCE missing nights, when no nightly run is under way."""
    if _night_under_way(context):
        return dg.SkipReason("une nuit est en cours")
    done = context.instance.get_materialized_partitions(keys.DEPARTMENT_DAILY)
    late = [day for day in late_nights(done, utc_now()) if day >= FIRST_DAY]
    if not late:
        return dg.SkipReason("aucune nuit ne manque")
    wanted = [dg.RunRequest(run_key=f"catch-up-{day}", partition_key=day.isoformat()) for day in late]
    return dg.SensorResult(run_requests=_unasked(context, wanted)[:AT_ONCE])


@dg.sensor(
    job=nightly_job,
    minimum_interval_seconds=1800,
    description="Relit les nuits auxquelles Langfuse a reçu des lignes après leur lecture, avant le rapport du mois.",
)
def late_rows(
    context: dg.SensorEvaluationContext, source: TraceSourceResource, policy: PolicyResource
) -> dg.SensorResult | dg.SkipReason:
    """Ask for at most AT_ONCE nights whose row count at the server is another one than when they were read."""
    if not source.langfuse_url:
        return dg.SkipReason("aucun serveur Langfuse configuré")
    days = [day for day in open_days(utc_now()) if day >= FIRST_DAY]
    if not days:
        return dg.SkipReason("aucun jour ouvert : le rapport du mois est dû (une révision), ou le suivi commence")
    if _night_under_way(context):
        return dg.SkipReason("une nuit est en cours")
    try:
        # a sensor has a minute
        with source.reader(policy.of(month_of(days[-1])), Patience(timeout=10, attempts=2, waiting=10)) as reader:
            late = reader.late_counts(days[0], days[-1]) if isinstance(reader, ApiReader) else {}
    except LangfuseError as failed:
        return dg.SkipReason(str(failed))
    if not late:
        return dg.SkipReason("aucune ligne tardive")
    # with the count: a night that grows again is asked for again, one that fails for good is not
    wanted = [dg.RunRequest(run_key=f"late-rows-{d}-{n}", partition_key=d.isoformat()) for d, n in late.items()]
    return dg.SensorResult(run_requests=_unasked(context, wanted)[:AT_ONCE])


@dg.sensor(
    job=nightly_job,
    minimum_interval_seconds=1800,
    description="Relance les nuits que le juge a laissées (témoins manqués, panne, budget), dès qu'il en a bien jugé "
    "une autre, avant le rapport du mois.",
)
def unjudged_nights(
    context: dg.SensorEvaluationContext, judge: JudgeResource, installation: InstallationResource
) -> dg.SensorResult | dg.SkipReason:
    """Ask for at most AT_ONCE nights that the judge left unfinished before the newest one it judged well."""
    if not judge.configured:
        return dg.SkipReason("aucun juge configuré")
    if _night_under_way(context):
        return dg.SkipReason("une nuit est en cours")
    store, nights = TableStore(installation.path / "data"), {}
    for day in open_days(utc_now()):
        if store.has(keys.NEUTRALITY.path, day.isoformat()):
            try:
                rows = store.read_columns(keys.NEUTRALITY.path, day.isoformat(), ["metric", "status", "reason"])
            except StoreError as unreadable:
                context.log.warning(str(unreadable))
                continue
            nights[day] = judged(rows, BATCH_REASONS)
    again = owed(nights)
    if not again:
        return dg.SkipReason("aucune nuit à juger à nouveau")
    # with the night that shows the judge well: one that fails again waits for the next such night
    wanted = [dg.RunRequest(run_key=f"unjudged-{d}-{well}", partition_key=d.isoformat()) for d, well in again]
    return dg.SensorResult(run_requests=_unasked(context, wanted)[:AT_ONCE])


@dg.sensor(
    job=monthly_report_job,
    minimum_interval_seconds=900,
    description="Construit le rapport qui attendait sa dernière nuit.",
)
def late_report(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Ask for the report of the month that has ended, once its last night is there."""
    if context.instance.get_runs_count(dg.RunsFilter(job_name="monthly_report", statuses=UNDER_WAY)):
        return dg.SkipReason("un rapport est en cours")
    nights = context.instance.get_materialized_partitions(keys.DEPARTMENT_DAILY)
    reports = context.instance.get_materialized_partitions(keys.ARCHIVE_RECEIPT)
    late = late_reports(nights, reports, utc_now())
    if not late:
        return dg.SkipReason("aucun rapport n'attend")
    return dg.SensorResult(
        run_requests=[dg.RunRequest(run_key=f"late-{m}", partition_key=m.first_day.isoformat()) for m in late]
    )


@dg.run_failure_sensor(
    monitored_jobs=[nightly_job, *HEAVY_NIGHTS, monthly_report_job],
    request_jobs=[nightly_job, *HEAVY_NIGHTS, monthly_report_job],
    minimum_interval_seconds=60,
    description="Relance une exécution en échec pour une cause passagère (système injoignable), deux fois au plus.",
)
def retry_passing_failures(context: dg.RunFailureSensorContext) -> dg.RunRequest | dg.SkipReason:
    """Start the failed run again when its root causes may pass. What it has already written is reused."""
    run = context.dagster_run
    causes = list(root_causes(context.get_step_failure_events()))
    attempt = int(run.tags.get(ATTEMPT, "0"))
    if kind_of(causes) is Failure.LASTING:
        return dg.SkipReason(f"{run.job_name} : à corriger ({', '.join(sorted(set(causes))) or 'cause inconnue'})")
    if attempt >= MAX_ATTEMPTS:
        return dg.SkipReason(f"{run.job_name} : {attempt} relances déjà faites, la cause dure")
    tags = {name: run.tags[name] for name in _KEPT_TAGS if name in run.tags}
    return dg.RunRequest(
        run_key=retry_key(run.run_id),
        job_name=run.job_name,
        partition_key=run.tags.get("dagster/partition"),
        run_config=dict(run.run_config),
        tags={**tags, ATTEMPT: str(attempt + 1)},
    )


def _night_under_way(context: dg.SensorEvaluationContext) -> bool:
    # by name, and by the tag that heavy nights and shards carry too
    under_way = (
        dg.RunsFilter(job_name="nightly", statuses=UNDER_WAY),
        dg.RunsFilter(tags={"job": "nightly"}, statuses=UNDER_WAY),
    )
    return any(context.instance.get_runs_count(those) for those in under_way)


def _unasked(context: dg.SensorEvaluationContext, wanted: list[dg.RunRequest]) -> list[dg.RunRequest]:
    """Requests that this sensor has not made before: a used key would only take the place of another night's."""
    return [
        request
        for request in wanted
        if not context.instance.get_runs_count(dg.RunsFilter(tags={"dagster/run_key": request.run_key or ""}))
    ]
