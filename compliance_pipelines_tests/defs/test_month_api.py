"""The month read from a Langfuse server gives the figures of the month read from an export, in tables and in the PDF.

One invented month is written as an export and put, row by row, into the stand-in; both go through Dagster in process.
What may differ is where the rows came from (source, counts of files' own repetitions), never a figure.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from compliance_pipelines import runs
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.periods import Month
from compliance_pipelines.core.records import Aggregate, Score, Trace
from compliance_pipelines.core.tables import records
from compliance_pipelines.core.verify import verify_month
from compliance_pipelines.reporting import bundle_folder
from compliance_pipelines.resources import ArchiveResource, verification_tools
from compliance_pipelines.sample.generate import generate
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn

MONTH = Month.parse("2026-06")
TRACES = 150
AFTER = datetime(2026, 7, 1, 3, tzinfo=UTC)
# rows that the export repeats between its pages; a server has none
REPEATED = frozenset({"rows_read", "duplicates"})


@dataclass(frozen=True)
class Ran:
    """One run of the month: its home and the checks that did not pass."""

    home: Path
    failed_checks: frozenset[str]

    def figures(self) -> list[dict[str, Any]]:
        found = json.loads((bundle_folder(self.home, MONTH) / "figures.json").read_bytes())
        return found["figures"] if isinstance(found, dict) else found

    def table(self, key: tuple[str, str], kind: type, partitions: list[str]) -> list[Any]:
        store = TableStore(self.home / "data")
        return [row for _, table in store.read_many(key, partitions) for row in records(table, kind)]

    def days(self, key: tuple[str, str], kind: type) -> list[Any]:
        return self.table(key, kind, [day.isoformat() for day in MONTH.days()])


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    generate(folder, "2026-06", TRACES, 11)
    return folder


@pytest.fixture(scope="module")
def from_export(export: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return _ran(tmp_path_factory.mktemp("home-export"), {"LANGFUSE_EXPORT": str(export)})


@pytest.fixture(scope="module", params=["events_only", "dual", "v3"])
def server(request: pytest.FixtureRequest, export: Path) -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn(request.param, clock=lambda: AFTER) as started:
        load(started, export)
        yield started


@pytest.fixture(scope="module")
def from_api(server: LangfuseStandIn, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return _ran(tmp_path_factory.mktemp(f"home-{server.mode}"), address(server))


def address(server: LangfuseStandIn) -> dict[str, str]:
    return {
        "LANGFUSE_BASE_URL": server.url,
        "LANGFUSE_PUBLIC_KEY": server.public_key,
        "LANGFUSE_SECRET_KEY": server.secret_key,
    }


def load(server: LangfuseStandIn, export: Path) -> None:
    """Put the rows of an export into the server; a repeated row replaces itself."""
    for path in sorted(export.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        if path.name.startswith("observations"):
            server.store.put_observations(rows)
        elif path.name.startswith("scores"):
            for row in rows:
                server.store._scores[row["id"], row["name"], row["timestamp"][:10]] = row  # with its own createdAt
            server.store.version += 1


def _ran(home: Path, settings: dict[str, str]) -> Ran:
    with pytest.MonkeyPatch.context() as patch:
        environment(patch, home, settings)
        nights = runs.run_nights(MONTH, lambda *_: None)
        runs.run_report(MONTH, lambda *_: None)
    return Ran(home, frozenset(name for _, name in nights.failed_checks))


def environment(patch: pytest.MonkeyPatch, home: Path, settings: dict[str, str]) -> None:
    patch.setenv("COMPLIANCE_HOME", str(home))
    for name in ("LANGFUSE_EXPORT", "LANGFUSE_BASE_URL", "LANGFUSE_HOST", "DAGSTER_HOME"):
        patch.delenv(name, raising=False)
    for name, value in settings.items():
        patch.setenv(name, value)
    runs.dagster_home(home)


def test_the_same_exchanges_are_read(from_export: Ran, from_api: Ran) -> None:
    expected = [_told(trace) for trace in from_export.days(("langfuse", "traces"), Trace)]
    assert len(expected) == TRACES
    assert [_told(trace) for trace in from_api.days(("langfuse", "traces"), Trace)] == expected


def _told(trace: Trace) -> Trace:
    """The exchange without its way here: v3 writes the same JSON in other words, which its digest shows."""
    return replace(trace, source="", row_digest="")


def test_the_same_scores_are_read(from_export: Ran, from_api: Ran) -> None:
    expected = from_export.days(("langfuse", "scores"), Score)
    assert expected
    assert from_api.days(("langfuse", "scores"), Score) == expected


def test_the_figures_of_days_and_month_are_the_same(from_export: Ran, from_api: Ran) -> None:
    daily = ("department", "daily")
    assert from_api.days(daily, Aggregate) == from_export.days(daily, Aggregate)
    monthly = from_export.table(("department", "monthly"), Aggregate, ["2026-06-01"])
    assert sum(row.n_traces for row in monthly if row.metric == "human_oversight") == TRACES
    assert from_api.table(("department", "monthly"), Aggregate, ["2026-06-01"]) == monthly


def test_the_report_prints_the_same_figures(from_export: Ran, from_api: Ran) -> None:
    expected, found = from_export.figures(), from_api.figures()
    assert len(expected) > 100
    assert [figure for figure in found if not _of_files(figure)] == [f for f in expected if not _of_files(f)]
    assert {f["name"] for f in [*expected, *found] if _of_files(f)} == REPEATED


def _of_files(figure: dict[str, Any]) -> bool:
    return figure["metric"] == "extraction" and figure["name"] in REPEATED


def test_every_row_of_the_server_was_read(from_api: Ran, from_export: Ran) -> None:
    days = list(
        TableStore(from_api.home / "data").read_many(("langfuse", "traces"), [d.isoformat() for d in MONTH.days()])
    )
    counts = [table.attrs["counts"] for _, table in days]
    assert len(counts) == 30
    assert all(day["server_rows"] == day.get("read_rows", 0) for day in counts)
    assert sum(day["server_rows"] for day in counts) > TRACES
    assert "rows_read_match_the_server" not in from_api.failed_checks | from_export.failed_checks


@pytest.mark.parametrize("server", ["events_only"], indirect=True)
def test_a_second_run_reads_its_own_writing_and_changes_nothing(
    server: LangfuseStandIn, from_api: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sum(score["name"] == "lexical_neutrality" for score in server.scores) > TRACES // 2
    assert server.store.items
    environment(monkeypatch, from_api.home, address(server))
    written, queued = server.scores, len(server.store.items)
    before = {path.name: path.read_bytes() for path in bundle_folder(from_api.home, MONTH).iterdir()}
    assert not _ran(from_api.home, address(server)).failed_checks - from_api.failed_checks
    assert {path.name: path.read_bytes() for path in bundle_folder(from_api.home, MONTH).iterdir()} == before
    assert [e.revision for e in ArchiveResource(home=str(from_api.home)).open().list_revisions()] == [1]
    assert (server.scores, len(server.store.items)) == (written, queued)


def test_the_archived_report_verifies(from_api: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPLIANCE_HOME", str(from_api.home))
    found = verify_month(ArchiveResource(home=str(from_api.home)).open(), "2026-06", verification_tools())
    assert found.verdict == "VALIDE", found.lines_fr()
