"""What the calendar sensor sees beside nights and reports: a week of the gate that is missing, the last purge."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
from compliance_guardrails.policy import load_policy

from compliance_pipelines.adapters import purge
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.alerting import watching
from compliance_pipelines.resources_alerting import AlertingResource

POLICY = load_policy(at=date(2026, 6, 30))
NOW = datetime(2026, 6, 10, 2, tzinfo=UTC)


def test_the_watch_publishes_the_last_purge(instance: dg.DagsterInstance, alerting: AlertingResource) -> None:
    home, written = Path(alerting.home), Path(alerting.home) / "outbox" / "metrics" / "purge.prom"
    watching.calendar(instance, alerting, POLICY, NOW)
    assert not written.exists()
    purge.note(home, NOW - timedelta(days=2))
    watching.calendar(instance, alerting, POLICY, NOW)
    gauge = f'compliance_last_success_timestamp{{job="purge"}} {(NOW - timedelta(days=2)).timestamp()}'
    assert gauge in written.read_text(encoding="utf-8")
    for damaged in (b"", b"\xff\xfe", b"2026-06-08T00:00:00", b"9" * 10_000):  # a zoneless time says no instant
        (home / "state" / "purge.txt").write_bytes(damaged)
        assert purge.last(home) is None


def test_a_week_of_the_gate_that_stays_missing_is_told_and_ends_when_it_is_there_or_past(
    instance: dg.DagsterInstance, alerting: AlertingResource
) -> None:
    def week(monday: str) -> None:
        instance.report_runless_asset_event(dg.AssetMaterialization(asset_key=keys.COUNTERFACTUAL, partition=monday))

    def told(now: datetime) -> list[tuple[str, ...]]:
        watching.calendar(instance, alerting, POLICY, now)
        found = [e for e in alerting.outbox.episodes() if e.rule == "RunFailed" and e.ended_at is None]
        return [one.subjects for one in found]

    late = datetime(2026, 6, 16, 10, tzinfo=UTC)  # Tuesday: the gate of the week before was due on Monday
    assert told(late) == []  # who never ran the gate owes no week
    week("2026-06-01")
    assert told(datetime(2026, 6, 15, 12, tzinfo=UTC)) == []
    assert told(late) == [("semaine 2026-06-08",)]
    (episode,) = [e for e in alerting.outbox.episodes() if e.rule == "RunFailed"]
    assert "Barrière contrefactuelle : la semaine du 2026-06-08" in str(episode.details)
    week("2026-06-08")
    assert told(late + timedelta(minutes=5)) == []
    # another week is missed; the one after it takes its place, and a month without any is a decision
    assert told(late + timedelta(weeks=1)) == [("semaine 2026-06-15",)]
    assert told(late + timedelta(weeks=2)) == [("semaine 2026-06-22",)]
    assert told(late + timedelta(weeks=5)) == []
