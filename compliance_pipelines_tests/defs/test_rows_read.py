"""`langfuse/traces` beside a server: a row too few or too many fails a check, an export is told to have no server."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from compliance_pipelines.io_manager import ParquetIOManager
from compliance_pipelines.resources import PolicyResource, TraceSourceResource
from compliance_pipelines.sample.generate import generate
from compliance_pipelines_tests.dagster_runs import materialize
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.langfuse_fill import fill

with warnings.catch_warnings():
    # backfill_policy is in beta; Dagster says so once, when an asset is defined
    warnings.simplefilter("ignore", dg.BetaWarning)
    from compliance_pipelines.defs import keys
    from compliance_pipelines.defs.langfuse import assets, checks

DAY = "2026-06-02"


@pytest.fixture(params=["events_only", "v3"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn(request.param, clock=lambda: datetime(2026, 6, 10, tzinfo=UTC)) as running:
        monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", running.public_key)
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", running.secret_key)
        fill(running, 40)
        yield running


def read(home: Path, *, url: str = "", export: Path | None = None) -> tuple[dg.AssetCheckEvaluation, Any]:
    """Read the day; returns the check's result and the table shown with the asset."""
    evaluation, metadata = shown_with(home, url=url, export=export)
    return evaluation, metadata["rapprochement"]


def shown_with(
    home: Path, *, url: str = "", export: Path | None = None
) -> tuple[dg.AssetCheckEvaluation, Mapping[str, Any]]:
    """The same with all that is shown."""
    source = TraceSourceResource(export=str(export or ""), home=str(home), langfuse_url=url)
    result = materialize(
        [assets.traces, checks.rows_read_match_the_server],
        partition_key=DAY,
        resources={"io_manager": ParquetIOManager(home=str(home)), "policy": PolicyResource(), "source": source},
    )
    (evaluation,) = result.get_asset_check_evaluations()
    (materialization,) = result.asset_materializations_for_node("langfuse__traces")
    assert materialization.asset_key == keys.TRACES
    return evaluation, materialization.metadata


def test_every_row_read_is_every_row_counted(server: LangfuseStandIn, tmp_path: Path) -> None:
    check, shown = read(tmp_path, url=server.url)
    assert check.passed
    assert check.metadata["constats"].value == "aucun écart"
    assert [record.data for record in shown.records] == [
        {"jour": DAY, "lignes au serveur": 60, "lignes lues": 60, "écart": 0}
    ]


@pytest.mark.parametrize(("counted", "word"), [(61, "1 manquante(s)"), (58, "2 en trop")])
def test_a_difference_fails_the_check(server: LangfuseStandIn, tmp_path: Path, counted: int, word: str) -> None:
    answer = server.api.answer

    def miscounting(method: str, path: str, query: dict[str, str], *rest: Any) -> tuple[int, Any]:
        status, body = answer(method, path, query, *rest)
        if path.endswith("v2/metrics"):
            body["data"][0]["count_count"] = counted
        elif status == 200 and path.endswith("public/observations") and query.get("limit") == "1":
            body["meta"]["totalItems"] = counted
        return status, body

    server.api.answer = miscounting  # type: ignore[method-assign]
    check, shown = read(tmp_path, url=server.url)
    assert not check.passed
    assert check.severity is dg.AssetCheckSeverity.ERROR
    assert word in check.metadata["constats"].value
    assert [record.data["écart"] for record in shown.records] == [counted - 60]


def test_rows_that_no_server_counted_are_a_warning(server: LangfuseStandIn, tmp_path: Path) -> None:
    answer = server.api.answer

    def silent(method: str, path: str, query: dict[str, str], *rest: Any) -> tuple[int, Any]:
        counting = path.endswith("v2/metrics") or (query.get("limit") == "1" and "2000-01" not in str(query))
        return (422, {}) if counting else answer(method, path, query, *rest)

    server.api.answer = silent  # type: ignore[method-assign]
    check, _ = read(tmp_path, url=server.url)
    assert not check.passed
    assert check.severity is dg.AssetCheckSeverity.WARN
    assert check.metadata["constats"].value == f"- {DAY} : non compté par le serveur"


def test_rows_that_went_since_the_last_read_are_shown(server: LangfuseStandIn, tmp_path: Path) -> None:
    _, before = shown_with(tmp_path, url=server.url)
    assert "lignes disparues du serveur" not in before
    for row in server.observations[:3]:
        server.store.delete_observation(row["id"])
    check, after = shown_with(tmp_path, url=server.url)
    assert check.passed
    assert [record.data for record in after["lignes disparues du serveur"].records] == [
        {"jour": DAY, "lignes à la lecture précédente": 60, "lignes aujourd'hui": 57}
    ]


def test_an_export_has_no_server_to_ask(tmp_path: Path) -> None:
    generate(tmp_path / "export", "2026-06", 30, 11)
    check, shown = read(tmp_path / "home", export=tmp_path / "export")
    assert check.passed
    assert "sans objet" in check.metadata["constats"].value
    assert "sans objet" in shown.value
