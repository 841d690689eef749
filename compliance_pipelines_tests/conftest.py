"""Shared by all pipeline tests: no environment of the developer leaks in, every test has a home of its own."""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

VARIABLES = (
    "LANGFUSE_BASE_URL", "LANGFUSE_HOST", "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "LANGFUSE_EXPORT",
    "LANGFUSE_WRITE_BACK",
    "JUDGE_BASE_URL", "JUDGE_MODEL", "JUDGE_API_KEY", "EMBEDDING_BASE_URL", "EMBEDDING_MODEL", "S3_ENDPOINT",
    "S3_ACCESS_KEY", "S3_SECRET_KEY", "S3_BUCKET", "ALERTMANAGER_URL", "PUSHGATEWAY_URL", "REPORT_SIGNING_P12",
    "REPORT_SIGNING_PASSWORD", "REPORT_TSA_URL", "COMPLIANCE_POLICY_DIR", "COMPLIANCE_HMAC_KEY", "COMPLIANCE_FIRST_DAY",
    "NAMESPACE", "DAGSTER_UI_URL", "SELF_EVAL_MODEL",
)  # fmt: skip


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COMPLIANCE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home" / "dagster"))


@pytest.fixture(autouse=True)
def no_stale_instance() -> Generator[None]:
    """Dagster keeps the state storage of the last instance in a variable; of one that is gone it would ask in vain."""
    if "dagster" not in sys.modules:
        yield
        return
    from dagster._core.storage.defs_state.base import set_defs_state_storage

    with set_defs_state_storage(None):
        yield
