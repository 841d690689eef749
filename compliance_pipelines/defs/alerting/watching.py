"""What the alert sensors do, as functions of an injected time: read what is new, observe, hand back the next cursor.

A cursor only says how far was read; what is pending or firing lies in the outbox, which takes the same observation
twice without effect. The outbox is written before the cursor: a kill between the two repeats, it never loses.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import dagster as dg
from compliance_guardrails.policy import Policy
from compliance_guardrails.policy.types import AlertName

from compliance_pipelines.adapters.archive_dir import MODE as DIRECTORY
from compliance_pipelines.adapters.archive_s3 import MODE as LOCKED
from compliance_pipelines.adapters.pushgateway import GaugesError
from compliance_pipelines.adapters.table_store import StoreError, TableStore
from compliance_pipelines.core import alerting_rules, gauges
from compliance_pipelines.core.alerting import Observation
from compliance_pipelines.core.judge_night import ANCHORS_FAILED
from compliance_pipelines.core.periods import paris_day
from compliance_pipelines.core.ports import Archive, ArchiveUnavailableError
from compliance_pipelines.core.records import Aggregate, Status
from compliance_pipelines.core.tables import records
from compliance_pipelines.defs import keys
from compliance_pipelines.resources_alerting import AlertingResource

log = logging.getLogger(__name__)
BATCH = 100
_FIRST_LOOK = timedelta(days=1)
_ARCHIVE_AWAY = timedelta(hours=24)
GAUGES_JOB = "compliance-pipelines"
PolicyOf = Callable[[date], Policy]


def nights(
    instance: dg.DagsterInstance,
    store: TableStore,
    alerting: AlertingResource,
    policy_of: PolicyOf,
    cursor: str | None,
    now: datetime,
) -> str | None:
    """Nights materialized since `cursor` (a storage id), in order of their day. Returns the next cursor."""
    wanted = dg.AssetRecordsFilter(keys.DEPARTMENT_DAILY, after_storage_id=int(cursor) if cursor else None)
    found = instance.fetch_materializations(wanted, limit=BATCH, ascending=True).records
    days = sorted({date.fromisoformat(r.partition_key) for r in found if r.partition_key})
    seen: list[Observation] = []
    for day in days:
        try:
            figures, withheld = _figures(store, day.isoformat())
        except StoreError as unreadable:
            log.warning("%s", unreadable)
            if not store.has(keys.DEPARTMENT_DAILY.path, day.isoformat()):
                # purged since: nothing will ever be read of it
                continue
            # the cursor stays before this night, which is read again at the next tick: an alert is late, not lost
            alerting.outbox.observe(seen, now)
            return cursor
        policy = policy_of(day)
        known = {d.id for d in (*policy.departments, policy.unattributed)}
        if strangers := sorted({row.department for row in figures} - known):
            log.warning("%s : %d direction(s) inconnue(s) de la politique", day, len(strangers))
        figures = [row for row in figures if row.department in known]
        seen += alerting_rules.night(day, figures, withheld, policy, alerting.links, now)
    alerting.outbox.observe(seen, now)
    if days and days[-1].isoformat() == max(instance.get_materialized_partitions(keys.DEPARTMENT_DAILY)):
        _publish(store, alerting, policy_of(days[-1]), days[-1].isoformat())
    return str(found[-1].storage_id) if found else cursor


def _publish(store: TableStore, alerting: AlertingResource, policy: Policy, day: str) -> None:
    samples = gauges.of_night(_figures(store, day)[0])
    if store.has(keys.NEUTRALITY.path, day):
        samples += gauges.of_queue(store.read(keys.NEUTRALITY.path, day), policy.thresholds.queue_below)
    _push(alerting, GAUGES_JOB, samples)


def _figures(store: TableStore, day: str) -> tuple[list[Aggregate], int]:
    figures = records(store.read(keys.DEPARTMENT_DAILY.path, day), Aggregate)
    if not store.has(keys.NEUTRALITY.path, day):
        return figures, 0
    judged = store.read(keys.NEUTRALITY.path, day)
    return figures, int(((judged["status"] == Status.WITHHELD.value) & (judged["reason"] == ANCHORS_FAILED)).sum())


def runs(
    instance: dg.DagsterInstance, alerting: AlertingResource, policy: Policy, cursor: str | None, now: datetime
) -> str:
    """Runs that ended since `cursor` (an ISO time): a failed job fires until a later run of it succeeds."""
    # after a clock was set back the cursor may lie in the future, where nothing would be seen
    since = min(datetime.fromisoformat(cursor), now) if cursor else now - _FIRST_LOOK
    wanted = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS],
        # runs of the very same instant are read again: better twice than not at all
        updated_after=since - timedelta(seconds=1),
    )
    found = instance.get_run_records(wanted, limit=BATCH, order_by="update_timestamp", ascending=True)
    seen, succeeded = [], {}
    for record in found:
        run, at = record.dagster_run, _ended(record)
        failed = run.status is dg.DagsterRunStatus.FAILURE
        partition = run.tags.get("dagster/partition", "")
        what = f"Exécution {run.job_name} en échec" + (f", partition {partition}." if partition else ".")
        link = alerting.links.run(run.run_id)
        seen.append(alerting_rules.event(AlertName.RUN_FAILED, run.job_name, what, at, failed, policy, link))
        if not failed:
            succeeded[run.job_name] = at
    alerting.outbox.observe(seen, now)
    for job, at in succeeded.items():
        _push(alerting, job, gauges.last_success(at))
    return (found[-1].update_timestamp.astimezone(UTC) if found else since).isoformat()


def _ended(record: dg.RunRecord) -> datetime:
    return datetime.fromtimestamp(record.end_time, UTC) if record.end_time else record.update_timestamp.astimezone(UTC)


def calendar(instance: dg.DagsterInstance, alerting: AlertingResource, policy: Policy, now: datetime) -> None:
    """Nights and reports that are due and not there; departments that the policy no longer has."""
    done = set(instance.get_materialized_partitions(keys.DEPARTMENT_DAILY))
    reports = set(instance.get_materialized_partitions(keys.ARCHIVE_RECEIPT))
    # an installation owes the nights since its first one; before that, only last night
    first = date.fromisoformat(min(done)) if done else paris_day(now) - timedelta(days=1)
    seen = alerting_rules.calendar(first, done, reports, policy, alerting.links, now)
    outbox = alerting.outbox
    departments = [d.id for d in (*policy.departments, policy.unattributed)]
    outbox.observe([*seen, *alerting_rules.forgotten(outbox.watched(), departments, now)], now)


def retention(archive: Archive, alerting: AlertingResource, policy: Policy, now: datetime) -> None:
    """The retention of every archived month as the store enforces it now; a store away for a day counts as a breach."""
    states: dict[str, str | None] = {}
    try:
        for entry in {e.month: e for e in archive.list_revisions()}.values():
            state = archive.retention(entry.month, entry.revision)
            if state.mode == DIRECTORY:
                # a directory promises no lock, and says so wherever its mode is shown
                continue
            states[entry.month] = None
            if not state.locked or state.mode != LOCKED:
                states[entry.month] = f"verrou {state.mode} au lieu de {LOCKED}"
            elif state.retain_until is None or state.retain_until < entry.retain_until_at:
                states[entry.month] = "conservation plus courte que prévu"
        away = ""
    except ArchiveUnavailableError as unavailable:
        away = str(unavailable)
    name, link = AlertName.RETENTION_NOT_VERIFIED, alerting.links.asset("audit/archive_receipt")
    whole = alerting_rules.event(name, "archive", f"Archive injoignable : {away}.", now, bool(away), policy, link)
    whole = replace(whole, sustain=_ARCHIVE_AWAY, max_gap=_ARCHIVE_AWAY)
    alerting.outbox.observe([*alerting_rules.retention(states, now, policy, alerting.links), whole], now)


def _push(alerting: AlertingResource, job: str, samples: list[gauges.Sample]) -> None:
    try:
        alerting.gauges().push(job, samples)
    except GaugesError as failed:
        # the next night replaces these; alerts do not depend on them
        log.warning("%s", json.dumps(str(failed), ensure_ascii=False))
