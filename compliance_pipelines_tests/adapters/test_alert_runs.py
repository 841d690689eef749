"""Failed runs: which are told and when, with retries awaited, exhausted, cancelled or never started."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from compliance_pipelines.core.ports import ArchiveUnavailableError
from compliance_pipelines.defs.alerting import watching
from compliance_pipelines.defs.failures import ATTEMPT, retry_key
from compliance_pipelines.resources import utc_now
from compliance_pipelines.resources_alerting import AlertingResource
from compliance_pipelines_tests.adapters.test_alert_sensors import POLICY, ended


def put_at(instance: dg.DagsterInstance, moment: datetime, status: str) -> None:
    """Give every run of that status one end."""
    with instance.run_storage.connect() as db:  # ty: ignore[unresolved-attribute]
        given = (f"{moment:%Y-%m-%d %H:%M:%S}", moment.timestamp(), status)
        db.exec_driver_sql("UPDATE runs SET update_timestamp = ?, end_time = ? WHERE status = ?", given)


def test_more_failures_than_a_batch_in_one_second_are_read_once(
    instance: dg.DagsterInstance, alerting: AlertingResource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cursor must move past them: before, the first batch was read again at every tick, and a later run never."""
    monkeypatch.setattr(watching, "BATCH", 3)
    for number in range(1, 12):
        ended(instance, number, failed=True)
    same = datetime(2026, 6, 10, 1, tzinfo=UTC)
    later = same + timedelta(minutes=2)
    put_at(instance, same, "FAILURE")
    now = same + timedelta(minutes=1)
    cursor = watching.runs(instance, alerting, POLICY, None, now)
    ended(instance, 12, failed=False)
    put_at(instance, later, "SUCCESS")
    for _ in range(3):
        cursor = watching.runs(instance, alerting, POLICY, cursor, now + timedelta(minutes=2))
    (episode,) = alerting.outbox.episodes()
    assert episode.ended_at == later


def failing(instance: dg.DagsterInstance, error: Exception, attempt: int = 0, **tags: str) -> dg.DagsterRun:
    """A night whose step `archived` fails with `error`."""

    @dg.asset(name="archived")
    def archived() -> None:
        raise error

    job = dg.Definitions(assets=[archived], jobs=[dg.define_asset_job("nightly", "*")]).resolve_job_def("nightly")
    tags = {"dagster/partition": "2026-06-10", "job": "nightly"} | {k.replace("__", "/"): v for k, v in tags.items()}
    tags |= {ATTEMPT: str(attempt)} if attempt else {}
    return job.execute_in_process(instance=instance, raise_on_error=False, tags=tags).dagster_run


def test_a_failure_that_is_tried_again_wakes_nobody_until_the_retries_are_exhausted(
    instance: dg.DagsterInstance, alerting: AlertingResource
) -> None:
    away, now = ArchiveUnavailableError("archive éteinte"), utc_now() + timedelta(minutes=1)
    first = failing(instance, away)
    cursor = watching.runs(instance, alerting, POLICY, None, now)
    retries = [failing(instance, away, k, dagster__run_key=retry_key(r)) for k, r in ((1, first.run_id),)]
    cursor = watching.runs(instance, alerting, POLICY, cursor, now + timedelta(minutes=1))
    assert alerting.outbox.episodes() == []
    retries.append(failing(instance, away, 2, dagster__run_key=retry_key(retries[0].run_id)))
    cursor = watching.runs(instance, alerting, POLICY, cursor, now + timedelta(minutes=2))
    (episode,) = alerting.outbox.episodes()
    words = episode.details["nightly 2026-06-10"]
    assert words["description"] == "Exécution nightly en échec, partition 2026-06-10, étape(s) archived."
    assert words["dagster_url"].endswith(retries[-1].run_id)
    assert json.loads(cursor)["waiting"] == []
    watching.runs(instance, alerting, POLICY, None, now + timedelta(minutes=3))
    assert len(alerting.outbox.episodes()) == 1


@pytest.mark.parametrize("lost", [False, True])
def test_a_retry_that_never_comes_is_waited_for_ten_minutes(
    instance: dg.DagsterInstance, alerting: AlertingResource, lost: bool
) -> None:
    """The sensor that tries again may be off; a cursor that was lost changes nothing."""
    failing(instance, ArchiveUnavailableError("archive éteinte"))
    now = utc_now()
    cursor = watching.runs(instance, alerting, POLICY, None, now)
    cursor = watching.runs(instance, alerting, POLICY, cursor, now + timedelta(minutes=9))
    assert alerting.outbox.episodes() == []
    watching.runs(instance, alerting, POLICY, None if lost else cursor, now + timedelta(minutes=11))
    assert len(alerting.outbox.episodes()) == 1


def test_a_retry_that_succeeds_or_is_cancelled(instance: dg.DagsterInstance, alerting: AlertingResource) -> None:
    first = failing(instance, ArchiveUnavailableError("archive éteinte"))
    now = utc_now()
    cursor = watching.runs(instance, alerting, POLICY, None, now)
    tags = {"dagster/run_key": retry_key(first.run_id)}
    run = dg.DagsterRun(job_name="nightly", run_id="00000000-0000-0000-0000-000000000009", tags=tags)
    instance.add_run(run)  # it runs for an hour
    cursor = watching.runs(instance, alerting, POLICY, cursor, now + timedelta(hours=1))
    assert json.loads(cursor)["waiting"] == [first.run_id]
    instance.report_run_canceling(run)
    instance.report_run_canceled(run)
    cursor = watching.runs(instance, alerting, POLICY, cursor, now + timedelta(hours=1, minutes=1))
    (episode,) = alerting.outbox.episodes()
    assert episode.ended_at is None
    ended(instance, 10, failed=False)
    watching.runs(instance, alerting, POLICY, cursor, now + timedelta(hours=1, minutes=2))
    (episode,) = alerting.outbox.episodes()
    assert episode.ended_at is not None


def test_what_a_person_must_mend_is_told_at_once(instance: dg.DagsterInstance, alerting: AlertingResource) -> None:
    failing(instance, ValueError("thresholds.yaml"))
    watching.runs(instance, alerting, POLICY, None, utc_now())
    assert len(alerting.outbox.episodes()) == 1
