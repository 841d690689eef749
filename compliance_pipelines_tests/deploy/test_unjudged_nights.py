"""Nights that the judge left unfinished are asked for again once it has judged a later one well, and only then."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, date, datetime
from pathlib import Path

import dagster as dg
import pytest

from compliance_pipelines.adapters.judge import BATCH_REASONS
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.records import Judgement, Status
from compliance_pipelines.core.tables import frame
from compliance_pipelines.core.unjudged import Judged, judged, owed
from compliance_pipelines.defs.operations import sensors
from compliance_pipelines.resources import InstallationResource, JudgeResource

NOW = datetime(2026, 6, 5, 8, tzinfo=UTC)
SCORED, UNSCORED, WITHHELD = Status.SCORED, Status.UNSCORED, Status.WITHHELD
Row = tuple[Status, str | None]


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[dg.DagsterInstance]:
    monkeypatch.setattr(sensors, "utc_now", lambda: NOW)
    with dg.instance_for_test(temp_dir=str(tmp_path)) as found:
        yield found


def night(home: Path, day: int, *rows: Row, metric: str = "judge_neutrality") -> None:
    when = datetime(2026, 6, day, 10, tzinfo=UTC)
    found = [
        Judgement(f"t{n}", "direction-it", when, metric, 0.9 if s is SCORED else None, s, why, "judge/m/d/p", 1.0)
        for n, (s, why) in enumerate(rows)
    ]
    TableStore(home / "data").write(("evaluation", "neutrality"), f"2026-06-{day:02}", frame(found, Judgement))


def evaluate(instance: dg.DagsterInstance, home: Path, url: str = "http://h/v1") -> list[tuple[str, str]]:
    resources = {
        "judge": JudgeResource(home=str(home), base_url=url, model="m"),
        "installation": InstallationResource(home=str(home)),
    }
    found = sensors.unjudged_nights(dg.build_sensor_context(instance=instance, resources=resources))
    if isinstance(found, dg.SkipReason):
        return []
    assert isinstance(found, dg.SensorResult)
    return [(str(one.partition_key), str(one.run_key)) for one in found.run_requests or []]


def test_a_withheld_night_waits_for_a_good_one_and_is_then_asked_for_once(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    night(tmp_path, 2, *[(WITHHELD, "anchors_failed")] * 3)
    assert evaluate(instance, tmp_path) == []
    night(tmp_path, 3, (SCORED, None), (UNSCORED, "timeout"))
    assert evaluate(instance, tmp_path, url="") == []
    ((day, key),) = evaluate(instance, tmp_path)
    assert day == "2026-06-02"
    instance.add_run(
        dg.DagsterRun(
            job_name="nightly", run_id="3f2c1a52-5d0e-4ef0-9f5c-0f3f1d7f6a11", tags={"dagster/run_key": key},
            status=dg.DagsterRunStatus.FAILURE,
        )
    )  # fmt: skip
    assert evaluate(instance, tmp_path) == []
    # it failed again, and the judge was seen to be well again since
    night(tmp_path, 4, (SCORED, None))
    ((day, other),) = evaluate(instance, tmp_path)
    assert (day, other != key) == ("2026-06-02", True)
    night(tmp_path, 2, *[(SCORED, None)] * 3)
    assert evaluate(instance, tmp_path) == []


def test_nothing_is_asked_while_a_night_runs_or_for_a_month_whose_report_is_due(
    instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(tmp_path, 2, (WITHHELD, "anchors_failed"))
    night(tmp_path, 3, (SCORED, None))
    monkeypatch.setattr(sensors, "utc_now", lambda: datetime(2026, 7, 2, 8, tzinfo=UTC))
    assert evaluate(instance, tmp_path) == []
    monkeypatch.setattr(sensors, "utc_now", lambda: NOW)
    run_id = "3f2c1a52-5d0e-4ef0-9f5c-0f3f1d7f6a12"
    instance.add_run(dg.DagsterRun(job_name="nightly", run_id=run_id, status=dg.DagsterRunStatus.STARTED))
    assert evaluate(instance, tmp_path) == []


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([("judge_neutrality", SCORED, None)], Judged.WELL),
        ([("judge_neutrality", SCORED, None), ("judge_neutrality", UNSCORED, "reply_not_json")], Judged.WELL),
        ([("judge_neutrality", SCORED, None), ("judge_neutrality", UNSCORED, "budget_exhausted")], Judged.UNFINISHED),
        ([("judge_neutrality", UNSCORED, "judge_unavailable")], Judged.UNFINISHED),
        ([("judge_neutrality", UNSCORED, "anchors_pending")], Judged.UNFINISHED),
        ([("judge_neutrality", WITHHELD, "anchors_failed")], Judged.UNFINISHED),
        ([("judge_neutrality", UNSCORED, "timeout")], Judged.SILENT),
        ([("lexical_neutrality", SCORED, None)], Judged.SILENT),
        ([("lexical_neutrality", UNSCORED, "judge_unavailable")], Judged.SILENT),
        ([], Judged.SILENT),
    ],
)
def test_what_a_night_became(rows: list[tuple[str, Status, str | None]], found: Judged) -> None:
    given = [{"metric": metric, "status": status.value, "reason": reason} for metric, status, reason in rows]
    assert judged(given, BATCH_REASONS) is found


def test_only_nights_before_a_good_one_are_owed() -> None:
    days = [date(2026, 6, n) for n in range(1, 6)]
    kinds = [Judged.UNFINISHED, Judged.SILENT, Judged.WELL, Judged.UNFINISHED, Judged.SILENT]
    assert owed(dict(zip(days, kinds, strict=True))) == [(days[0], days[2])]
    assert owed({days[0]: Judged.UNFINISHED}) == []
