"""The runbook's commands are run as they are printed; its table names what exists; every alert has a row."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from compliance_guardrails.policy.paths import BUNDLED

from compliance_pipelines import runs
from compliance_pipelines.core.alerting_prometheus import Installation
from compliance_pipelines.core.periods import Month
from compliance_pipelines.sample.generate import generate

ROOT = Path(__file__).parents[2]
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
Run = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a command line of the runbook on a home where June has been computed, from a folder of its own."""
    folder, export, home = (tmp_path_factory.mktemp(name) for name in ("cwd", "export", "home"))
    generate(export, "2026-06", 330, 11)
    env = {**os.environ, "COMPLIANCE_HOME": str(home), "LANGFUSE_EXPORT": str(export)}
    env["DAGSTER_HOME"] = str(home / "dagster")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("COMPLIANCE_HOME", "LANGFUSE_EXPORT", "DAGSTER_HOME"):
            patch.setenv(name, env[name])
        runs.dagster_home(home)
        runs.run_nights(Month.parse("2026-06"), lambda *_: None)
        runs.run_report(Month.parse("2026-06"), lambda *_: None)

    def carry_out(line: str) -> subprocess.CompletedProcess[str]:
        assert f"`{line}`" in RUNBOOK or f"`{line} " in RUNBOOK or f"{line}`" in RUNBOOK, f"not in the runbook: {line}"
        words = shlex.split(line)
        return subprocess.run(
            [str(BIN / words[0]), *words[1:]], capture_output=True, text=True, env=env, cwd=folder, check=False
        )

    return carry_out


CHECKS = [
    ("compliance status neutrality", 0, r"direction-sinistres .* N \d+"),
    (
        "compliance status protected-attr",
        0,
        r"protected-attr-comparison-detected : \d+ pendant la journée du 2026-06-30",
    ),
    ("compliance status gate-blocks", 0, r"retrieval_gate_blocked : \d+ pendant la journée du 2026-06-30"),
    ("compliance status uncited", 0, r"uncited-specific-claim : \d+"),
    ("compliance status last-report", 0, r"dernier rapport : 2026-06, révision 1"),
    ("compliance report list", 0, r"2026-06 +révision 1 +en vigueur"),
    ("compliance report build 2026-06", 0, r"VALIDE"),
    ("compliance report get 2026-06 --to .", 0, r"bias-report-2026-06\.pdf"),
    ("compliance report verify bias-report-2026-06.pdf", 0, r"VALIDE"),
    ("compliance report verify --all", 0, r"VALIDE"),
    ("compliance-guardrails policy digest", 0, r"[0-9a-f]{64}"),
    ("compliance doctor", 0, r"contrôles"),
    # no weekly result is stored in this month: the answer is that there is none, not that all is well
    ("compliance status gate", 2, r"rien de stocké"),
]


@pytest.mark.parametrize(("line", "code", "expected"), CHECKS, ids=[line for line, *_ in CHECKS])
def test_each_command_of_the_runbook_answers(run: Run, line: str, code: int, expected: str) -> None:
    done = run(line)
    assert done.returncode == code, done.stdout + done.stderr
    assert re.search(expected, done.stdout), done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_counts_are_those_of_the_stored_events(run: Run) -> None:
    """By day, the count of events equals the rows of the export's month that carry the name."""
    done = run("compliance status protected-attr")
    assert len(re.findall(r"2026-06-\d\d : \d+", done.stdout)) == 6


def test_the_gate_line_of_the_hook_is_what_people_grep() -> None:
    source = (ROOT / "guardrails" / "compliance_guardrails" / "litellm_hook.py").read_text(encoding="utf-8")
    assert "RetrievalGroundingHook loaded version=%s policy=%s" in source


def test_every_alert_has_a_row_and_no_row_is_made_up() -> None:
    names = {rule["name"] for rule in yaml.safe_load((BUNDLED / "alerts.yaml").read_text(encoding="utf-8"))["rules"]}
    names |= {name.value for name in Installation}
    section = RUNBOOK.split("## What to do for each alert")[1].split("\n## ")[0]
    rows = {row.split("|")[1].strip() for row in section.splitlines() if row.startswith("| ") and "alert |" not in row}
    assert rows == names


def test_the_nine_checks_are_all_there() -> None:
    section = RUNBOOK.split("## Operational checks")[1].split("\n## ")[0]
    rows = [row for row in section.splitlines() if row.startswith("| ")]
    assert len(rows) == 1 + 9


def test_metrics_and_jobs_that_the_runbook_names_exist() -> None:
    from compliance_pipelines.definitions import build_defs

    metrics = (ROOT / "guardrails" / "compliance_guardrails" / "metrics.py").read_text(encoding="utf-8")
    for name in re.findall(r"increase\((\w+)\[", RUNBOOK):
        assert name.removesuffix("_total") in metrics
    repository = build_defs().get_repository_def()
    known = {s.name for s in repository.sensor_defs} | {j.name for j in repository.get_all_jobs()}
    assert {
        "catch_up_nights",
        "catch_up_weeks",
        "retry_passing_failures",
        "late_report",
        "nightly",
        "monthly_report",
    } <= known


def test_a_question_on_an_empty_home_is_not_answered_with_zero(tmp_path: Path) -> None:
    env = {**os.environ, "COMPLIANCE_HOME": str(tmp_path)}
    for question in ("neutrality", "protected-attr", "gate-blocks", "last-report", "gate"):
        done = subprocess.run(
            [str(BIN / "compliance"), "status", question], capture_output=True, text=True, env=env, check=False
        )
        assert (done.returncode, "rien de stocké" in done.stdout) == (2, True), done.stdout + done.stderr
