"""The alert sensors: what they watch is in `watching`; here are their names, intervals and cursors.

They start with the deployment. A sensor stores its cursor only after the outbox has taken what it saw.
"""

from datetime import date, datetime

import dagster as dg
from compliance_guardrails.policy import Policy

from compliance_pipelines.core.alerting_delivery import Timing
from compliance_pipelines.core.periods import month_of, paris_day
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.alerting import watching
from compliance_pipelines.io_manager import ParquetIOManager
from compliance_pipelines.resources import (
    ArchiveResource,
    JudgeResource,
    PolicyResource,
    TraceSourceResource,
    utc_now,
)
from compliance_pipelines.resources_alerting import AlertingResource

RUNNING = dg.DefaultSensorStatus.RUNNING


def _policy(policy: PolicyResource, now: datetime) -> Policy:
    return policy.of(month_of(paris_day(now)))


@dg.sensor(minimum_interval_seconds=60, default_status=RUNNING, description="Nuits achevées : seuils et jauges.")
def alert_nights(
    context: dg.SensorEvaluationContext,
    alerting: AlertingResource,
    policy: PolicyResource,
    io_manager: dg.ResourceParam[ParquetIOManager],
) -> dg.SkipReason:
    """Neutrality, unscored rate and judge of each completed night."""

    def by_day(day: date) -> Policy:
        return policy.of(month_of(day))

    cursor = watching.nights(context.instance, io_manager.store, alerting, by_day, context.cursor, utc_now())
    if cursor is not None:
        context.update_cursor(cursor)
    return dg.SkipReason("nuits relues")


@dg.sensor(minimum_interval_seconds=30, default_status=RUNNING, description="Exécutions en échec, et rétablies.")
def alert_runs(
    context: dg.SensorEvaluationContext, alerting: AlertingResource, policy: PolicyResource
) -> dg.SkipReason:
    """Failed runs."""
    now = utc_now()
    context.update_cursor(watching.runs(context.instance, alerting, _policy(policy, now), context.cursor, now))
    return dg.SkipReason("exécutions relues")


@dg.sensor(minimum_interval_seconds=300, default_status=RUNNING, description="Nuits et rapports attendus et absents.")
def alert_calendar(
    context: dg.SensorEvaluationContext,
    alerting: AlertingResource,
    policy: PolicyResource,
    source: TraceSourceResource,
    judge: JudgeResource,
) -> dg.SkipReason:
    """Missing nights and reports."""
    now = utc_now()
    judged = bool(source.langfuse_url) and judge.configured
    watching.calendar(context.instance, alerting, _policy(policy, now), now, judged_here=judged)
    return dg.SkipReason("calendrier relu")


@dg.sensor(minimum_interval_seconds=21600, default_status=RUNNING, description="Conservation des rapports archivés.")
def alert_retention(
    context: dg.SensorEvaluationContext, alerting: AlertingResource, policy: PolicyResource, archive: ArchiveResource
) -> dg.SkipReason:
    """Retention of the archive, asked of the store."""
    now = utc_now()
    receipts = watching.archived_months(context.instance)
    watching.retention(archive.open(), alerting, _policy(policy, now), now, receipts)
    # also reports that were archived where this instance does not see it
    watching.published(archive.open(), alerting, _policy(policy, now), now)
    return dg.SkipReason("conservation relue")


@dg.sensor(minimum_interval_seconds=120, default_status=RUNNING, description="Avis de publication des rapports.")
def alert_published(
    context: dg.SensorEvaluationContext, alerting: AlertingResource, policy: PolicyResource, archive: ArchiveResource
) -> dg.SkipReason:
    """A notice for each archived revision, once its receipt is there."""
    now = utc_now()
    after = int(context.cursor) if context.cursor else None
    wanted = dg.AssetRecordsFilter(keys.ARCHIVE_RECEIPT, after_storage_id=after)
    newest = context.instance.fetch_materializations(wanted, limit=1).records
    if not newest:
        return dg.SkipReason("aucun nouveau reçu")
    if not watching.published(archive.open(), alerting, _policy(policy, now), now):
        return dg.SkipReason("archive illisible pour l'instant, nouvel essai au prochain passage")
    context.update_cursor(str(newest[0].storage_id))
    return dg.SkipReason("avis notés")


@dg.sensor(minimum_interval_seconds=30, default_status=RUNNING, description="Remise des alertes à Alertmanager.")
def alert_delivery(
    context: dg.SensorEvaluationContext, alerting: AlertingResource, policy: PolicyResource
) -> dg.SkipReason:
    """Everything that is due, again while it fires; an Alertmanager away loses nothing."""
    now = utc_now()
    swept = alerting.deliver(now, Timing.of(_policy(policy, now)))
    if swept.refused:
        context.log.warning(
            f"{swept.refused} alerte(s) refusée(s) par Alertmanager, mises de côté : compliance alerts list"
        )
    waiting = f", {swept.waiting} en attente : {swept.problem_fr}" if swept.waiting else ""
    return dg.SkipReason(f"{swept.sent} alerte(s) remise(s), {swept.refused} refusée(s){waiting}")
