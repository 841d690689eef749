"""What the alert sensors do, as functions of an injected time: read what is new, observe, hand back the next cursor.

A cursor only says how far was read; what is pending or firing lies in the outbox, which takes the same observation
twice without effect. The outbox is written before the cursor: a kill between the two repeats, it never loses.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
from compliance_guardrails.policy import Policy
from compliance_guardrails.policy.types import AlertName

from compliance_pipelines.adapters import purge
from compliance_pipelines.adapters.archive_dir import MODE as DIRECTORY
from compliance_pipelines.adapters.archive_s3 import MODE as LOCKED
from compliance_pipelines.adapters.pushgateway import GaugesError
from compliance_pipelines.adapters.table_store import StoreError, TableStore
from compliance_pipelines.core import alerting_calendar, alerting_rules, gauges
from compliance_pipelines.core.alerting import Observation
from compliance_pipelines.core.counterfactual_rows import by_attribute
from compliance_pipelines.core.evidence import EvidenceError
from compliance_pipelines.core.judge_night import ANCHORS_FAILED
from compliance_pipelines.core.periods import Month, day_window, paris_day
from compliance_pipelines.core.ports import Archive, ArchiveUnavailableError
from compliance_pipelines.core.records import Aggregate, Status
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines.core.tables import records
from compliance_pipelines.defs import failures, keys
from compliance_pipelines.defs.partitions import FIRST_DAY
from compliance_pipelines.resources_alerting import AlertingResource

log = logging.getLogger(__name__)
BATCH = 100
_FIRST_LOOK = timedelta(days=1)
_ARCHIVE_AWAY = timedelta(hours=24)
_WAITING, _STEPS_SHOWN = 200, 3
_GOOD = [dg.DagsterRunStatus.SUCCESS]
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
    stuck, readable = False, set()
    for day in days:
        try:
            figures, withheld = _figures(store, day.isoformat())
        except StoreError as unreadable:
            log.warning("%s", unreadable)
            if not store.has(keys.DEPARTMENT_DAILY.path, day.isoformat()):
                # purged since: nothing will ever be read of it
                continue
            if now - day_window(day)[1] <= alerting_rules.SILENT_AFTER:
                # the cursor stays before this night, which is read again at the next tick: an alert is late, not lost
                stuck = True
            continue
        readable.add(day)
        policy = policy_of(day)
        known = {d.id for d in (*policy.departments, policy.unattributed)}
        if strangers := sorted({row.department for row in figures} - known):
            log.warning("%s : %d direction(s) inconnue(s) de la politique", day, len(strangers))
        figures = [row for row in figures if row.department in known]
        seen += alerting_rules.night(day, figures, withheld, policy, alerting.links, now)
    alerting.outbox.observe(seen, now)
    newest = max(instance.get_materialized_partitions(keys.DEPARTMENT_DAILY), default="")
    if days and days[-1].isoformat() == newest and days[-1] in readable:
        weeks = instance.get_materialized_partitions(keys.COUNTERFACTUAL)
        _publish(store, alerting, policy_of(days[-1]), days[-1].isoformat(), max(weeks, default=None))
    return str(found[-1].storage_id) if found and not stuck else cursor


def _publish(store: TableStore, alerting: AlertingResource, policy: Policy, day: str, week: str | None) -> None:
    """The gauges of the newest night, with those of the newest week: a push replaces all that a job said before."""
    samples = gauges.of_night(_figures(store, day)[0])
    if store.has(keys.NEUTRALITY.path, day):
        samples += gauges.of_queue(store.read(keys.NEUTRALITY.path, day), policy.thresholds.queue_below)
    if week is not None and store.has(keys.COUNTERFACTUAL.path, week):
        samples += gauges.of_pairs(by_attribute(store.read(keys.COUNTERFACTUAL.path, week)))
    _push(alerting, GAUGES_JOB, samples)


def _figures(store: TableStore, day: str) -> tuple[list[Aggregate], int]:
    figures = records(store.read(keys.DEPARTMENT_DAILY.path, day), Aggregate)
    if not store.has(keys.NEUTRALITY.path, day):
        return figures, 0
    judged = store.read(keys.NEUTRALITY.path, day)
    return figures, int(((judged["status"] == Status.WITHHELD.value) & (judged["reason"] == ANCHORS_FAILED)).sum())


@dataclass(frozen=True, slots=True)
class _Place:
    """How far runs were read, and the failed runs (ids) whose retry is awaited."""

    since: datetime
    waiting: tuple[str, ...] = ()

    @classmethod
    def parse(cls, cursor: str | None, now: datetime) -> _Place:
        """From the cursor; None, and what cannot be read, looks back a day, which repeats and loses nothing."""
        try:
            found = json.loads(cursor or "{}")
            # after a clock was set back the cursor may lie in the future, where nothing would be seen
            return cls(min(datetime.fromisoformat(found["since"]), now), tuple(found["waiting"]))
        except (ValueError, KeyError, TypeError):
            return cls(now - _FIRST_LOOK)

    def text(self) -> str:
        """The cursor."""
        return json.dumps({"since": self.since.isoformat(), "waiting": list(self.waiting)})


def runs(
    instance: dg.DagsterInstance, alerting: AlertingResource, policy: Policy, cursor: str | None, now: datetime
) -> str:
    """Runs that ended since `cursor`: a failed one that nobody tries again fires until a later run of its job succeeds.

    Subjects are job and partition, so that a failure of another partition shows beside the first.
    """
    place = _Place.parse(cursor, now)
    found = _ended_since(instance, place.since)
    awaited = [record for i in place.waiting if (record := instance.get_run_record_by_id(i)) is not None]
    succeeded = {_job(r): _ended(r) for r in found if r.dagster_run.status is dg.DagsterRunStatus.SUCCESS}
    seen, waiting = [], []
    failed = {
        r.dagster_run.run_id: r for r in (*awaited, *found) if r.dagster_run.status is dg.DagsterRunStatus.FAILURE
    }
    for record in failed.values():
        run, at = record.dagster_run, _ended(record)
        steps = failures.step_failures(instance, run.run_id)
        retry = failures.retry_of(instance, run, steps, at, now)
        mended = _job(record) in succeeded and succeeded[_job(record)] >= at
        if retry is failures.Retry.AWAITED and not mended:
            waiting.append(run.run_id)
        elif retry is failures.Retry.NONE and not (mended and run.run_id in place.waiting):
            what, link = _words(record, steps), alerting.links.run(run.run_id)
            seen.append(alerting_rules.event(AlertName.RUN_FAILED, _subject(record), what, at, True, policy, link))
    known = {o.key.subject for o in seen}
    if succeeded:
        known |= {k.subject for k in alerting.outbox.watched() if k.rule == AlertName.RUN_FAILED}
    for job, at in succeeded.items():
        ended = sorted(subject for subject in known if subject.split(" ")[0] == job)
        seen += [alerting_rules.event(AlertName.RUN_FAILED, one, "", at, False, policy, "") for one in ended]
    alerting.outbox.observe(seen, now)
    for job, at in succeeded.items():
        _push(alerting, job, gauges.last_success(at))
    since = found[-1].update_timestamp.astimezone(UTC) if found else place.since
    return _Place(since, tuple(waiting[-_WAITING:])).text()


def _ended_since(instance: dg.DagsterInstance, since: datetime) -> list[dg.RunRecord]:
    wanted = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS],
        # runs of the very same instant are read again: better twice than not at all
        updated_after=since - timedelta(seconds=1),
    )
    limit = BATCH
    while True:
        found = list(instance.get_run_records(wanted, limit=limit, order_by="update_timestamp", ascending=True))
        # more runs than a batch in one second would be read again for ever: widen until the cursor moves
        if len(found) < limit or found[-1].update_timestamp.astimezone(UTC) > since:
            return found
        limit *= 2


def _job(record: dg.RunRecord) -> str:
    # `nightly_by_pod` is the night too: its tag says so
    return record.dagster_run.tags.get("job") or record.dagster_run.job_name


def _subject(record: dg.RunRecord) -> str:
    return f"{_job(record)} {record.dagster_run.tags.get('dagster/partition', '')}".rstrip()


def _words(record: dg.RunRecord, steps: list[dg.DagsterEvent]) -> str:
    run = record.dagster_run
    partition = run.tags.get("dagster/partition", "")
    names = sorted({step.step_key for step in steps if step.step_key})
    more = f" et {len(names) - _STEPS_SHOWN} de plus" if len(names) > _STEPS_SHOWN else ""
    return (
        f"Exécution {run.job_name} en échec"
        + (f", partition {partition}" if partition else "")
        + (f", étape(s) {', '.join(names[:_STEPS_SHOWN])}{more}" if names else "")
        + "."
    )


def _ended(record: dg.RunRecord) -> datetime:
    return datetime.fromtimestamp(record.end_time, UTC) if record.end_time else record.update_timestamp.astimezone(UTC)


def calendar(
    instance: dg.DagsterInstance, alerting: AlertingResource, policy: Policy, now: datetime, *, judged_here: bool = True
) -> None:
    """Nights, weeks, reports that are due and not there; what nobody else would end; what the alerting says of itself.

    Whether a week is there is asked of the assets: a run of the gate that fails leaves none.
    """
    done = set(instance.get_materialized_partitions(keys.DEPARTMENT_DAILY))
    reports = set(instance.get_materialized_partitions(keys.ARCHIVE_RECEIPT))
    # an installation owes the nights since its first one; before that, only last night
    first = date.fromisoformat(min(done)) if done else max(paris_day(now) - timedelta(days=1), FIRST_DAY)
    outbox = alerting.outbox
    watched = outbox.watched()
    gone = alerting_calendar.forgotten(watched, policy, now, bursts_here=alerting.bursts_here, judged_here=judged_here)
    known = [key for key in watched if key not in {o.key for o in gone}]
    seen = alerting_calendar.calendar(first, done, reports, policy, alerting.links, now, known)
    weeks = set(instance.get_materialized_partitions(keys.COUNTERFACTUAL))
    seen += alerting_calendar.weeks(weeks, policy, alerting.links, now, known)
    outbox.observe([*seen, *gone], now)
    state = outbox.undelivered()
    since = day_window(first)[1] if done else None
    looked = now if alerting.alertmanager_url else None
    _push(alerting, gauges.WATCH_JOB, gauges.of_watch(since, state.waiting, len(state.refused), looked))
    for job in failures.RETRIED:
        # again, in case the receiver of gauges has lost them since: absent, they count as silence
        if (at := _last_success(instance, job)) is not None:
            _push(alerting, job, gauges.last_success(at))
    # the purge runs beside Dagster, in a pod that reaches nothing: it leaves a note
    if (purged := purge.last(Path(alerting.home))) is not None:
        _push(alerting, gauges.PURGE_JOB, gauges.last_success(purged))


def _last_success(instance: dg.DagsterInstance, job: str) -> datetime | None:
    wanted = (dg.RunsFilter(job_name=job, statuses=_GOOD), dg.RunsFilter(tags={"job": job}, statuses=_GOOD))
    found = [instance.get_run_records(one, limit=1, order_by="update_timestamp") for one in wanted]
    return max((_ended(record) for records in found for record in records), default=None)


def archived_months(instance: dg.DagsterInstance) -> frozenset[str]:
    """The months whose archiving this instance has a receipt of."""
    return frozenset(key[:7] for key in instance.get_materialized_partitions(keys.ARCHIVE_RECEIPT))


def retention(
    archive: Archive,
    alerting: AlertingResource,
    policy: Policy,
    now: datetime,
    receipts: Collection[str] = (),
) -> None:
    """The retention of every archived month as the store enforces it now; a store away for a day counts as a breach.

    A month that was watched, or that a receipt stands for, and that is in the archive no more is one as long as it was
    to be kept, and so is a chain that cannot be read.
    """
    states: dict[str, str | None] = {}
    away = damaged = ""
    name, link = AlertName.RETENTION_NOT_VERIFIED, alerting.links.asset("audit/archive_receipt")
    try:
        entries = {e.month: e for e in archive.list_revisions()}
        for entry in entries.values():
            state = archive.retention(entry.month, entry.revision)
            if state.mode == DIRECTORY:
                # a directory promises no lock, and says so wherever its mode is shown
                continue
            states[entry.month] = None
            if not state.locked or state.mode != LOCKED:
                states[entry.month] = f"verrou {state.mode} au lieu de {LOCKED}"
            elif state.retain_until is None or state.retain_until < entry.retain_until_at:
                states[entry.month] = "conservation plus courte que prévu"
        watched = (key.subject for key in alerting.outbox.watched() if key.rule == name)
        lost = {month for month in watched if month not in {*entries, "archive", "chaîne"}}
        years = policy.thresholds.retention_years
        lost |= {m for m in receipts if m not in entries and now < retain_until(Month.parse(m).first_day, years)}
        states |= dict.fromkeys(lost, "absent de l’archive")
    except ArchiveUnavailableError as unavailable:
        away = str(unavailable)
    except EvidenceError as wrong:
        damaged = str(wrong)
    whole = alerting_rules.event(name, "archive", f"Archive injoignable : {away}.", now, bool(away), policy, link)
    whole = replace(whole, sustain=_ARCHIVE_AWAY, max_gap=_ARCHIVE_AWAY)
    # an archive that cannot be reached says nothing of its chain
    chain = alerting_rules.event(name, "chaîne", f"Archive illisible : {damaged}.", now, bool(damaged), policy, link)
    seen = [*alerting_calendar.retention(states, now, policy, alerting.links), whole, *([] if away else [chain])]
    alerting.outbox.observe(seen, now)


def published(archive: Archive, alerting: AlertingResource, policy: Policy, now: datetime) -> bool:
    """A notice of each revision that was archived and not told of yet; False when the archive does not answer."""
    try:
        entries = archive.list_revisions()
    except (ArchiveUnavailableError, EvidenceError) as unreadable:
        # the watch over retention alerts on both
        log.warning("%s", json.dumps(str(unreadable), ensure_ascii=False))
        return False
    outbox = alerting.outbox
    known = outbox.known(AlertName.REPORT_PUBLISHED)
    outbox.observe(alerting_calendar.published(entries, known, now, policy, alerting.links), now)
    return True


def _push(alerting: AlertingResource, job: str, samples: list[gauges.Sample]) -> None:
    try:
        alerting.gauges().push(job, samples)
    except GaugesError as failed:
        # the next night replaces these; alerts do not depend on them
        log.warning("%s", json.dumps(str(failed), ensure_ascii=False))
