"""Small synthetic months run through the whole pipeline once, for tests of the commands around the report.

`run_months` fills a home as nights and reports would; `environment` is what the commands read. No server, no clock
but the manifest's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from compliance_pipelines import runs
from compliance_pipelines.core.periods import Month
from compliance_pipelines.sample.generate import generate


def small_export(folder: Path, months: Sequence[str], traces: int) -> Path:
    """An export of `traces` exchanges a month."""
    for number, month in enumerate(months):
        generate(folder / month, month, traces, 11 + number)
    return folder


def environment(patch: pytest.MonkeyPatch, home: Path, export: Path) -> None:
    """Point the process at a home and an export."""
    patch.setenv("COMPLIANCE_HOME", str(home))
    patch.setenv("LANGFUSE_EXPORT", str(export))
    patch.delenv("DAGSTER_HOME", raising=False)
    runs.dagster_home(home)


def run_months(home: Path, export: Path, months: Sequence[str]) -> None:
    """Nights and report of each month, archived in the home."""
    with pytest.MonkeyPatch.context() as patch:
        environment(patch, home, export)
        for month in months:
            runs.run_nights(Month.parse(month), lambda *_: None)
            runs.run_report(Month.parse(month), lambda *_: None)
