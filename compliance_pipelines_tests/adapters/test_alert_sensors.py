"""The sensors on an ephemeral instance, without Alertmanager: cursors, restarts, files, commands, resources."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from compliance_guardrails.policy import Policy, load_policy
from typer.testing import CliRunner

from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.cli_alerts import alerts_app
from compliance_pipelines.core.alerting_delivery import Timing
from compliance_pipelines.core.evidence import EvidenceError
from compliance_pipelines.core.evidence_chain import ChainEntry
from compliance_pipelines.core.periods import day_window
from compliance_pipelines.core.ports import Archive, ArchiveUnavailableError, RetentionState
from compliance_pipelines.core.records import Aggregate, Verdict
from compliance_pipelines.core.tables import frame
from compliance_pipelines.definitions import build_defs
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.alerting import watching
from compliance_pipelines.resources import from_env, utc_now
from compliance_pipelines.resources_alerting import AlertingResource
from compliance_pipelines.settings import SettingsError

POLICY = load_policy(at=date(2026, 6, 30))
NOW = datetime(2026, 6, 10, 2, tzinfo=UTC)


def policy_of(_: date) -> Policy:
    return POLICY


def write_night(instance: dg.DagsterInstance, store: TableStore, day: date, mean: float) -> None:
    start, end = day_window(day)
    row = Aggregate(
        "direction-sinistres", start, end, "judge_neutrality", 60, 60, 60, 60, 0, mean, mean, mean, mean, 0.0, mean,
        mean, 0.7, Verdict.CONFORME, True, POLICY.digest,
    )  # fmt: skip
    store.write(keys.DEPARTMENT_DAILY.path, day.isoformat(), frame([row], Aggregate))
    event = dg.AssetMaterialization(asset_key=keys.DEPARTMENT_DAILY, partition=day.isoformat())
    instance.report_runless_asset_event(event)


def test_nights_are_read_once_and_again_without_effect(
    instance: dg.DagsterInstance, alerting: AlertingResource
) -> None:
    store = TableStore(Path(alerting.home) / "data")
    assert watching.nights(instance, store, alerting, policy_of, None, NOW) is None
    write_night(instance, store, date(2026, 6, 8), 0.6)
    write_night(instance, store, date(2026, 6, 9), 0.9)
    cursor = watching.nights(instance, store, alerting, policy_of, None, NOW)
    assert watching.nights(instance, store, alerting, policy_of, cursor, NOW) == cursor
    watching.nights(instance, store, alerting, policy_of, None, NOW)
    (episode,) = alerting.outbox.episodes()
    assert (episode.started_at, episode.ended_at) == (day_window(date(2026, 6, 8))[1], day_window(date(2026, 6, 9))[1])
    text = (Path(alerting.home) / "outbox" / "metrics" / "compliance-pipelines.prom").read_text(encoding="utf-8")
    assert 'judge_neutrality{department="direction-sinistres",job="compliance-pipelines"} 0.9' in text


def test_the_newest_week_of_the_gate_goes_with_the_gauges_of_the_night(
    instance: dg.DagsterInstance, alerting: AlertingResource
) -> None:
    store = TableStore(Path(alerting.home) / "data")
    metrics = Path(alerting.home) / "outbox" / "metrics" / "compliance-pipelines.prom"
    for week, verdicts in (("2026-05-25", ["biased"]), ("2026-06-01", ["fair", "biased", "neutralised", "undecided"])):
        rows = [_gate_row(f"p-{number}", verdict) for number, verdict in enumerate(verdicts)]
        store.write(keys.COUNTERFACTUAL.path, week, pd.DataFrame(rows))
        event = dg.AssetMaterialization(asset_key=keys.COUNTERFACTUAL, partition=week)
        instance.report_runless_asset_event(event)
    write_night(instance, store, date(2026, 6, 9), 0.9)
    assert watching.nights(instance, store, alerting, policy_of, None, NOW)
    text = metrics.read_text(encoding="utf-8")
    # an undecided pair has no share; both gauges stand in one push, which replaces what the job said before
    assert f'counterfactual_consistency{{protected_attr="origin",job="compliance-pipelines"}} {2 / 3!r}' in text
    assert 'judge_neutrality{department="direction-sinistres",job="compliance-pipelines"} 0.9' in text


def _gate_row(pair_id: str, verdict: str) -> dict[str, str]:
    return {"pair_id": pair_id, "protected_attr": "origin", "department": "direction-sinistres", "verdict": verdict}


def test_a_night_whose_table_is_gone_stops_nothing(instance: dg.DagsterInstance, alerting: AlertingResource) -> None:
    store = TableStore(Path(alerting.home) / "data")
    write_night(instance, store, date(2026, 6, 8), 0.6)
    store.path(keys.DEPARTMENT_DAILY.path, "2026-06-08").unlink()
    write_night(instance, store, date(2026, 6, 9), 0.5)
    assert watching.nights(instance, store, alerting, policy_of, None, NOW)
    assert len(alerting.outbox.episodes()) == 1


def ended(instance: dg.DagsterInstance, number: int, *, failed: bool) -> None:
    run = dg.DagsterRun(job_name="nightly", run_id=f"00000000-0000-0000-0000-{number:012d}")
    instance.add_run(run)
    if failed:
        instance.report_run_failed(run)
    else:
        kind = dg.DagsterEventType.PIPELINE_SUCCESS
        instance.report_dagster_event(dg.DagsterEvent(kind.value, "nightly"), run.run_id)


def test_a_failed_job_fires_until_it_succeeds(instance: dg.DagsterInstance, alerting: AlertingResource) -> None:
    cursor = watching.runs(instance, alerting, POLICY, None, utc_now())
    for number in (1, 2):
        ended(instance, number, failed=True)
        cursor = watching.runs(instance, alerting, POLICY, cursor, utc_now())
    (episode,) = alerting.outbox.episodes()
    assert episode.ended_at is None
    assert episode.details["nightly"]["description"].startswith("Exécution nightly en échec")
    ended(instance, 3, failed=False)
    cursor = watching.runs(instance, alerting, POLICY, cursor, utc_now())
    for again in (cursor, None):
        watching.runs(instance, alerting, POLICY, again, utc_now())
    (episode,) = alerting.outbox.episodes()
    assert episode.ended_at is not None
    assert (Path(alerting.home) / "outbox" / "metrics" / "nightly.prom").exists()


def test_an_unreadable_night_holds_up_no_other(instance: dg.DagsterInstance, alerting: AlertingResource) -> None:
    store = TableStore(Path(alerting.home) / "data")
    for day, mean in ((7, 0.9), (8, 0.6), (9, 0.5)):
        write_night(instance, store, date(2026, 6, day), mean)
    path = store.path(keys.DEPARTMENT_DAILY.path, "2026-06-08")
    whole = path.read_bytes()
    path.write_bytes(b"PAR1 damaged")
    cursor = watching.nights(instance, store, alerting, policy_of, None, NOW)
    assert cursor is None  # read again, until it can be read or a week has passed
    (episode,) = alerting.outbox.episodes()
    assert episode.started_at == day_window(date(2026, 6, 9))[1]
    path.write_bytes(whole)
    assert watching.nights(instance, store, alerting, policy_of, cursor, NOW) is not None
    starts = {e.started_at for e in alerting.outbox.episodes()}
    assert starts == {day_window(date(2026, 6, d))[1] for d in (8, 9)}
    path.write_bytes(b"PAR1 damaged")
    assert watching.nights(instance, store, alerting, policy_of, None, NOW + timedelta(days=8)) is not None


def test_the_watch_publishes_what_the_rules_of_silence_need(
    instance: dg.DagsterInstance, alerting: AlertingResource
) -> None:
    store, folder = TableStore(Path(alerting.home) / "data"), Path(alerting.home) / "outbox" / "metrics"
    watching.calendar(instance, alerting, POLICY, NOW)
    assert "compliance_first_night_timestamp" not in (folder / "compliance-watch.prom").read_text(encoding="utf-8")
    assert not (folder / "nightly.prom").exists()
    write_night(instance, store, date(2026, 6, 8), 0.9)
    run = dg.DagsterRun(
        job_name="nightly_by_pod", run_id="00000000-0000-0000-0000-000000000007", tags={"job": "nightly"}
    )
    instance.add_run(run)
    kind = dg.DagsterEventType.PIPELINE_SUCCESS
    instance.report_dagster_event(dg.DagsterEvent(kind.value, "nightly_by_pod"), run.run_id)
    watching.calendar(instance, alerting, POLICY, NOW)
    text = (folder / "compliance-watch.prom").read_text(encoding="utf-8")
    assert (
        f'compliance_first_night_timestamp{{job="compliance-watch"}} {day_window(date(2026, 6, 8))[1].timestamp()}'
        in text
    )
    assert 'compliance_alerts_refused{job="compliance-watch"} 0.0' in text
    assert 'compliance_last_success_timestamp{job="nightly"}' in (folder / "nightly.prom").read_text(encoding="utf-8")
    # alerts go to a file here: Prometheus keeps its own rules of silence
    assert "compliance_last_success_timestamp" not in text
    told = alerting.model_copy(update={"alertmanager_url": "http://127.0.0.1:9"})
    watching.calendar(instance, told, POLICY, NOW)
    text = (folder / "compliance-watch.prom").read_text(encoding="utf-8")
    assert f'compliance_last_success_timestamp{{job="compliance-watch"}} {NOW.timestamp()}' in text


def test_missing_nights_fire_after_two_hours_and_end_when_filled(
    instance: dg.DagsterInstance, alerting: AlertingResource
) -> None:
    store = TableStore(Path(alerting.home) / "data")
    write_night(instance, store, date(2026, 6, 7), 0.9)
    write_night(instance, store, date(2026, 6, 9), 0.9)
    watching.calendar(instance, alerting, POLICY, datetime(2026, 6, 9, 1, 0, tzinfo=UTC))  # due 23:30 UTC on the 8th
    assert alerting.outbox.episodes() == []
    watching.calendar(instance, alerting, POLICY, datetime(2026, 6, 9, 1, 31, tzinfo=UTC))
    (episode,) = alerting.outbox.episodes()
    assert episode.subjects == ("2026-06-08",)
    write_night(instance, store, date(2026, 6, 8), 0.9)
    watching.calendar(instance, alerting, POLICY, datetime(2026, 6, 9, 3, tzinfo=UTC))
    assert alerting.outbox.episodes()[0].ended_at is not None


class Locked:
    """An archive of one month (None: empty), as far as the watch asks it; `error` stands for a damaged chain."""

    def __init__(self, entry: ChainEntry | None, state: RetentionState | None, error: str = "") -> None:
        self.entry, self.state, self.error = entry, state, error

    def list_revisions(self) -> tuple[ChainEntry, ...]:
        if self.state is None:
            raise ArchiveUnavailableError("archive éteinte")
        if self.error:
            raise EvidenceError(self.error)
        return (self.entry,) if self.entry else ()

    def retention(self, month: str, revision: int | None = None) -> RetentionState:
        del month, revision
        assert self.state is not None
        return self.state


UNTIL = datetime(2033, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "fires"),
    [
        (RetentionState("COMPLIANCE", True, UNTIL, False), False),
        (RetentionState("COMPLIANCE", True, UNTIL - timedelta(days=1), False), True),
        (RetentionState("COMPLIANCE", True, None, False), True),
        (RetentionState("GOVERNANCE", False, UNTIL, False), True),
        (RetentionState("GOVERNANCE", True, UNTIL, False), True),
        (RetentionState("AUCUN", True, None, False), True),
        (
            RetentionState("AUCUN (répertoire)", False, None, None),
            False,
        ),  # the embedded archive locks nothing, and says so
    ],
)
def test_retention(state: RetentionState, fires: bool, alerting: AlertingResource) -> None:
    entry = _entry()
    archive: Archive = Locked(entry, state)  # type: ignore[assignment]
    watching.retention(archive, alerting, POLICY, NOW)
    assert bool(alerting.outbox.episodes()) is fires


def test_an_archive_away_for_a_day_counts(alerting: AlertingResource) -> None:
    archive: Archive = Locked(_entry(), None)  # type: ignore[assignment]
    for hours in (0, 6, 12, 18):
        watching.retention(archive, alerting, POLICY, NOW + timedelta(hours=hours))
    assert alerting.outbox.episodes() == []
    watching.retention(archive, alerting, POLICY, NOW + timedelta(hours=24))
    assert "injoignable" in alerting.outbox.episodes()[0].details["archive"]["description"]


def test_a_month_that_vanished_and_a_damaged_chain_are_breaches(alerting: AlertingResource) -> None:
    def look(archive: Locked, hours: int) -> dict[str, str]:
        watching.retention(archive, alerting, POLICY, NOW + timedelta(hours=hours))  # type: ignore[arg-type]
        details = [e.details for e in alerting.outbox.episodes() if e.ended_at is None]
        return {subject: words["description"] for one in details for subject, words in one.items()}

    short, good = (RetentionState("COMPLIANCE", True, UNTIL - timedelta(days=d), False) for d in (1, 0))
    assert set(look(Locked(_entry(), short), 0)) == {"2026-06"}
    assert look(Locked(None, good), 6) == {"2026-06": "Rapport de 2026-06 : absent de l’archive."}
    assert set(look(Locked(_entry(), good, "chain.jsonl : maillon 0 illisible"), 12)) == {"2026-06", "chaîne"}
    assert look(Locked(_entry(), good), 18) == {}


def test_a_receipt_whose_month_is_not_in_the_archive_is_a_breach(
    instance: dg.DagsterInstance, alerting: AlertingResource
) -> None:
    """An archive that was emptied or replaced: nothing was wrong before, so nothing was watched."""
    good = RetentionState("COMPLIANCE", True, UNTIL, False)
    for month in ("2019-05-01", "2026-05-01", "2026-06-01"):
        instance.report_runless_asset_event(dg.AssetMaterialization(keys.ARCHIVE_RECEIPT, partition=month))
    months = watching.archived_months(instance)
    assert months == {"2019-05", "2026-05", "2026-06"}
    archive: Archive = Locked(_entry(), good)  # type: ignore[assignment]
    watching.retention(archive, alerting, POLICY, NOW, months)
    (episode,) = alerting.outbox.episodes()
    # 2019-05 was to be kept for seven years, which are over
    assert episode.subjects == ("2026-05",)
    assert episode.details["2026-05"]["description"] == "Rapport de 2026-05 : absent de l’archive."
    watching.retention(Locked(_entry(), None), alerting, POLICY, NOW + timedelta(hours=6), months)  # type: ignore[arg-type]
    assert alerting.outbox.episodes()[0].ended_at is None  # an archive away says nothing of its months


def test_a_published_report_is_told_once(instance: dg.DagsterInstance, alerting: AlertingResource) -> None:
    """By the sensor, once its receipt is there; an archive away is asked again at the next tick."""
    good = RetentionState("COMPLIANCE", True, UNTIL, False)
    sensor = build_defs().get_repository_def().get_sensor_def("alert_published")

    class Opened:
        """Hands out the archive under test."""

        def open(self) -> Locked:
            return archive

    def tick(cursor: str | None) -> str | None:
        found = {**from_env(), "alerting": alerting, "archive": Opened()}
        with dg.build_sensor_context(instance=instance, resources=found, cursor=cursor) as context:
            assert sensor.evaluate_tick(context).skip_message
            return context.cursor

    archive = Locked(_entry(), good)
    assert tick(None) is None
    assert not alerting.outbox.path.exists()
    instance.report_runless_asset_event(dg.AssetMaterialization(keys.ARCHIVE_RECEIPT, partition="2026-06-01"))
    archive = Locked(_entry(), None)
    assert tick(None) is None
    archive = Locked(_entry(), good)
    cursor = tick(None)
    assert cursor is not None
    instance.report_runless_asset_event(dg.AssetMaterialization(keys.ARCHIVE_RECEIPT, partition="2026-06-01"))
    assert tick(cursor) != cursor  # an identical re-run
    watching.published(archive, alerting, POLICY, NOW)  # type: ignore[arg-type]
    for minute in range(0, 30, 2):
        alerting.deliver(utc_now() + timedelta(minutes=minute), Timing.of(POLICY))
    lines = (Path(alerting.home) / "outbox" / "notifications.jsonl").read_text(encoding="utf-8").splitlines()
    (line,) = [json.loads(one) for one in lines]
    assert line["labels"] == {
        "alertname": "ReportPublished",
        "department": "toutes",
        "severity": "info",
        "service": "compliance-pipelines",
    }
    assert "2026-06, révision 1, maillon 0" in line["annotations"]["description"]
    assert "d" * 64 in line["annotations"]["description"]
    # a notice is no alert of the month
    assert alerting.outbox.facts(NOW - timedelta(days=900), NOW + timedelta(days=900)) == ()


def _entry() -> ChainEntry:
    class Entry:
        month, revision, retain_until_at = "2026-06", 1, UNTIL
        chain_index, manifest_sha256 = 0, "d" * 64

    return Entry()  # type: ignore[return-value]


def test_every_sensor_runs_in_the_code_location(instance: dg.DagsterInstance) -> None:
    repository = build_defs().get_repository_def()
    names = {s.name for s in repository.sensor_defs if s.name.startswith("alert_")}
    assert names >= {"alert_nights", "alert_runs", "alert_calendar", "alert_retention", "alert_delivery"}
    for name in sorted(names):
        sensor = repository.get_sensor_def(name)
        assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
        context = dg.build_sensor_context(instance=instance, resources=from_env(), repository_def=repository)
        assert sensor.evaluate_tick(context).skip_message


def test_the_commands(alerting: AlertingResource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPLIANCE_HOME", alerting.home)
    cli = CliRunner()
    missing = cli.invoke(alerts_app, ["list"])
    assert isinstance(missing.exception, SettingsError)  # which `compliance` turns into one line and exit code 2
    assert "aucun état trouvé" in str(missing.exception)
    assert not Path(alerting.home).exists()
    alerting.outbox.observe([], utc_now())
    calm = cli.invoke(alerts_app, ["list"])
    assert (calm.exit_code, calm.output) == (0, "Aucune alerte en cours.\n")
    alerting.outbox.observe([], utc_now() - timedelta(hours=2))
    stale = cli.invoke(alerts_app, ["list"])
    assert (stale.exit_code, "n'ont rien relevé depuis" in stale.output) == (2, True)
    watching.retention(Locked(_entry(), RetentionState("COMPLIANCE", False, UNTIL, None)), alerting, POLICY, NOW)  # type: ignore[arg-type]
    found = cli.invoke(alerts_app, ["list"])
    assert found.exit_code == 1
    assert "RetentionNotVerified" in found.output
    assert "1 alerte(s) en attente de remise" in found.output
    for wrong in ("", "x" * 201, "deux\nlignes"):
        assert cli.invoke(alerts_app, ["resolve", "RetentionNotVerified", "--reason", wrong]).exception is not None
    other = cli.invoke(alerts_app, ["resolve", "RetentionNotVerified", "--reason", "essai", "--subject", "2026-01"])
    assert (other.exit_code, "Rien à terminer" in other.output) == (1, True)
    done = cli.invoke(alerts_app, ["resolve", "RetentionNotVerified", "--reason", "archive remplacée"])
    assert (done.exit_code, "1 constat(s) terminé(s)" in done.output) == (0, True)
    told = cli.invoke(alerts_app, ["list", "--all"]).output
    assert "UTC\u202f: à la main, archive remplacée." in told
    assert "Regarde" in cli.invoke(alerts_app, ["explain", "NightMissing"]).output
    assert "compliance purge --apply" in cli.invoke(alerts_app, ["explain", "PurgeMissing"]).output
    assert "PurgeMissing" in str(cli.invoke(alerts_app, ["explain", "Autre"]).exception)
    assert cli.invoke(alerts_app, ["explain", "Inconnue"]).exception is not None
    monkeypatch.setenv("ALERTMANAGER_URL", "http://127.0.0.1:9")
    assert "ne répond pas" in str(cli.invoke(alerts_app, ["test"]).exception)


def test_nothing_that_goes_out_names_a_person_or_a_trace(alerting: AlertingResource, tmp_path: Path) -> None:
    watching.retention(Locked(_entry(), RetentionState("COMPLIANCE", False, UNTIL, None)), alerting, POLICY, NOW)  # type: ignore[arg-type]
    alerting.deliver(NOW, Timing.of(POLICY))
    (line,) = (Path(alerting.home) / "outbox" / "notifications.jsonl").read_text(encoding="utf-8").splitlines()
    assert set(json.loads(line)["annotations"]) == {"summary", "description", "next_step", "dagster_url"}
    del tmp_path
