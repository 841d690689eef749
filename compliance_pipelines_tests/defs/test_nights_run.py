"""Nights run by the command when something beside the inputs is wrong: damage, a lost instance, rows that arrive late.

One small month through Dagster; each test leaves the home as it found it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from compliance_pipelines import runs
from compliance_pipelines.adapters.table_store import StoreError, TableStore
from compliance_pipelines.core.periods import Month
from compliance_pipelines.sample.generate import generate
from compliance_pipelines.settings import SettingsError, settings
from compliance_pipelines_tests.small_month import damage

MONTH = Month.parse("2026-06")
JUDGED = ("evaluation", "neutrality")
SCORE = '{"id": "s-late", "name": "human_feedback", "value": 1, "timestamp": "2026-06-02T10:00:00Z"}\n'


def quiet(*_: str) -> None:
    """Progress that nobody watches."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nights")
    generate(folder / "export", "2026-06", 60, 11)
    with pytest.MonkeyPatch.context() as patch:
        _environment(patch, folder)
        runs.run_nights(MONTH, quiet)
    return folder


@pytest.fixture(autouse=True)
def environment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _environment(monkeypatch, root)


def _environment(patch: pytest.MonkeyPatch, root: Path) -> None:
    patch.setenv("COMPLIANCE_HOME", str(root / "home"))
    patch.setenv("LANGFUSE_EXPORT", str(root / "export"))
    patch.setenv("DAGSTER_HOME", str(root / "home" / "dagster"))
    runs.dagster_home(root / "home")


def test_a_damaged_night_is_computed_again_and_comes_out_the_same(root: Path) -> None:
    store = TableStore(root / "home" / "data")
    path = store.path(JUDGED, "2026-06-15")
    before = path.read_bytes()
    damage(path)
    with pytest.raises(StoreError, match="report build 2026-06 --nights"):
        store.read(JUDGED, "2026-06-15")
    assert not runs.nights_unchanged(MONTH)
    runs.run_nights(MONTH, quiet)
    assert path.read_bytes() == before
    assert runs.nights_unchanged(MONTH)


def test_an_instance_that_does_not_know_the_nights_is_told_of_them(root: Path, tmp_path: Path) -> None:
    assert runs.nights_unchanged(MONTH)
    os.environ["DAGSTER_HOME"] = str(tmp_path)  # put back by the fixture
    runs.dagster_home(root / "home")
    assert not runs.nights_unchanged(MONTH)
    runs.run_nights(MONTH, quiet)
    assert runs.nights_unchanged(MONTH)


def test_rows_that_arrive_while_the_nights_run_are_not_taken_for_read(root: Path) -> None:
    late = root / "export" / "scores-late.jsonl"

    def arrive(asset: str, _: str) -> None:
        if asset == "department/daily":
            late.write_text(SCORE, encoding="utf-8")

    runs.run_nights(MONTH, arrive)
    assert late.exists()
    assert not runs.nights_unchanged(MONTH)
    late.unlink()
    assert runs.nights_unchanged(MONTH)


def test_a_month_in_which_the_follow_up_begins_has_the_nights_from_that_day_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPLIANCE_FIRST_DAY", "2026-06-10")
    days = runs.followed_days(MONTH)
    assert (days[0], days[-1], len(days)) == (date(2026, 6, 10), date(2026, 6, 30), 21)
    monkeypatch.setenv("COMPLIANCE_FIRST_DAY", "2026-07-01")
    with pytest.raises(runs.RunFailedError, match="01/07/2026"):
        runs.followed_days(MONTH)


def test_a_home_that_is_a_file_is_refused_and_not_read_as_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").write_text("", encoding="utf-8")
    monkeypatch.setenv("COMPLIANCE_HOME", str(tmp_path / "home"))
    with pytest.raises(SettingsError, match="COMPLIANCE_HOME"):
        settings()


PLAN = """
from compliance_pipelines.definitions import build_defs
graph = build_defs().resolve_asset_graph()
for key in ("department/monthly", "audit/bias_report"):
    node = graph.get(dg.AssetKey(key.split("/")))
    for parent in node.parent_keys:
        if isinstance(graph.get(parent).partitions_def, dg.DailyPartitionsDefinition):
            assert node.partition_mappings[parent].allow_nonexistent_upstream_partitions, (key, parent)
            print(key, parent.to_user_string())
"""


def test_the_first_month_s_report_does_not_ask_for_nights_before_the_first_day() -> None:
    # partitions are read when the code location is loaded: a process of its own
    env = {**os.environ, "COMPLIANCE_FIRST_DAY": "2026-06-10"}
    command = [sys.executable, "-W", "ignore", "-c", "import dagster as dg" + PLAN]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-400:]
    shown = done.stdout.splitlines()
    assert "department/monthly evaluation/neutrality" in shown
    assert "audit/bias_report department/daily" in shown
