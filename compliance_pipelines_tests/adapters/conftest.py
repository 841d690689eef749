"""Langfuse stand-ins shared by the tests of the API reader; their clock is later than the days that are read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn

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
