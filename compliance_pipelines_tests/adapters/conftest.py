"""What several files need: Langfuse servers whose clock is later than the days read, a judge, its cache, alerting."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.resources_alerting import AlertingResource
from compliance_pipelines_tests.judge_samples import cache_in
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.llm import LlmStub

LATER = datetime(2026, 6, 10, tzinfo=UTC)


def _running(mode: str) -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn(mode, clock=lambda: LATER) as running:
        yield running


@pytest.fixture(params=["events_only", "dual", "v3"])
def server(request: pytest.FixtureRequest) -> Iterator[LangfuseStandIn]:
    """A server of each kind in turn."""
    yield from _running(request.param)


@pytest.fixture
def v4() -> Iterator[LangfuseStandIn]:
    """A v4 server."""
    yield from _running("events_only")


@pytest.fixture
def v3() -> Iterator[LangfuseStandIn]:
    """A v3 server."""
    yield from _running("v3")


@pytest.fixture
def stub() -> Iterator[LlmStub]:
    """A judge's server that misbehaves as told."""
    with LlmStub() as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[SqliteCache]:
    """An empty cache of judgements."""
    with cache_in(tmp_path) as opened:
        yield opened


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An ephemeral Dagster instance."""
    (tmp_path / "dagster").mkdir()
    with dg.instance_for_test(temp_dir=str(tmp_path / "dagster")) as found:
        yield found


@pytest.fixture
def alerting(tmp_path: Path) -> AlertingResource:
    """Alerting without Alertmanager: its outbox lies in a home of its own."""
    return AlertingResource(home=str(tmp_path / "home"), ui_url="https://dagster.example")
