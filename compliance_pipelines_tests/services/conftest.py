"""What tests against real servers share: one proxy with the hook, started when first asked for, and an S3 server.

The model is a stub that says what the test wants, Langfuse a stand-in that the proxy's own Langfuse callback and the
hook both write to. A module whose gateway has another policy defines `running` anew; `at` then follows it.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest
from minio import Minio

from compliance_pipelines_tests.services.litellm.setup import Bench, audit_refuses, bench
from compliance_pipelines_tests.services.servers import S3Server, weed


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bench]:
    directory = tmp_path_factory.mktemp("gateway")
    with bench(directory, audit_refuses(directory)) as made:
        yield made


@pytest.fixture
def own_failure() -> None:
    """Asked for by tests in which a guardrail fails on purpose."""


@pytest.fixture
def at(running: Bench, request: pytest.FixtureRequest) -> Generator[Bench]:
    """The gateway with a model that has forgotten the test before.

    `on_error: pass` hides a bug of the hook behind an answer that looks right; so no test may leave an own failure in
    the gateway's log, except those made for one.
    """
    running.model.reset()
    before = running.own_failures()
    yield running
    if "own_failure" not in request.fixturenames:
        assert running.own_failures() == before


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[S3Server]:
    """A real S3 server with Object Lock, for one file of tests."""
    with weed(tmp_path_factory.mktemp("s3") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def client(server: S3Server) -> Minio:
    """The S3 server as an outsider sees it."""
    host = server.endpoint.removeprefix("http://")
    return Minio(host, access_key=server.access_key, secret_key=server.secret_key, secure=False, region="us-east-1")
