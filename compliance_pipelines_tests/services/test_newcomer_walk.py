"""A newcomer's walk: a month, a threshold changed in YAML, what turns stale, the month again, what the change log says.

Commands and queries are those that a person (`compliance …`) and Dagster's interface (its GraphQL) use, each in a
process of its own, over a copy of the policy folder. Marked `services` for its length alone: it needs no server.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pypdf
import pytest
from compliance_guardrails.policy.paths import BUNDLED

from compliance_pipelines.sample.generate import generate

pytestmark = pytest.mark.services
ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
LAST_NIGHT, MONTH = "2026-06-30", "2026-06-01"
STALE = """{ assetNodes(loadMaterializations: false) { assetKey { path }
  night: staleStatus(partition: "%s") nightCauses: staleCauses(partition: "%s") { reason key { path } }
  month: staleStatus(partition: "%s") monthCauses: staleCauses(partition: "%s") { reason key { path } } } }"""
Run = Callable[..., str]


@dataclass(frozen=True)
class Walk:
    """What each stop of the walk gave. `before`, `after`, `again`: asset to (status, causes) of the last period."""

    before: dict[str, tuple[str, set[str]]]
    after: dict[str, tuple[str, set[str]]]
    again: dict[str, tuple[str, set[str]]]
    first: str
    diff: str
    second: str
    pdf: str


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    folder = tmp_path_factory.mktemp("walk")
    policy, export, home = folder / "policy", folder / "export", folder / "home"
    shutil.copytree(BUNDLED, policy)
    generate(export, "2026-06", 330, 11)
    env = {
        **os.environ,
        "COMPLIANCE_HOME": str(home),
        "DAGSTER_HOME": str(home / "dagster"),
        "PYTHONWARNINGS": "ignore",
    }
    env |= {"LANGFUSE_EXPORT": str(export), "COMPLIANCE_POLICY_DIR": str(policy)}

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [str(BIN / words[0]), *words[1:]], capture_output=True, text=True, env=env, cwd=folder, check=False
        )
        assert done.returncode == code, done.stdout[-600:] + done.stderr[-600:]
        return done.stdout

    who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "policy"), (*who, "commit", "-q", "-m", "policy")):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    first = run("compliance", "report", "build", "2026-06", "--nights")
    before = stale(run)
    edit(policy / "departments.yaml")
    # a tightening needs no line in retired.yaml; the same command guards a pull request
    diff = run("compliance-guardrails", "policy", "diff", "--base", "HEAD", str(policy))
    after = stale(run)
    second = run("compliance", "report", "build", "2026-06", "--nights", "--reason", "seuil Commercial relevé")
    run("compliance", "report", "get", "2026-06", "--to", ".")
    reader = pypdf.PdfReader(folder / "bias-report-2026-06.pdf")
    text = "\n".join(page.extract_text() for page in reader.pages)
    return Walk(before, after, stale(run), first, diff, second, text)


def edit(path: Path) -> None:
    """What an expert does in an editor: 0.60 to 0.65 for one department."""
    text = path.read_text(encoding="utf-8")
    start = text.index("id: direction-commercial")
    assert "report_threshold: 0.60" in text[start : start + 400]
    path.write_text(
        text[:start] + text[start:].replace("report_threshold: 0.60", "report_threshold: 0.65", 1), encoding="utf-8"
    )


def stale(run: Run) -> dict[str, tuple[str, set[str]]]:
    """What the interface shows for the last night, and for the month where an asset has no nights."""
    query = STALE % (LAST_NIGHT, LAST_NIGHT, MONTH, MONTH)
    answer = run("dagster-graphql", "-w", str(ROOT / "workspace.yaml"), "-t", query)
    found, _ = json.JSONDecoder().raw_decode(answer[answer.index('{"data"') :])
    shown = {}
    for node in found["data"]["assetNodes"]:
        period = "month" if node["assetKey"]["path"][0] == "audit" or "monthly" in node["assetKey"]["path"] else "night"
        causes = {f"{'/'.join(c['key']['path'])} {c['reason']}" for c in node[f"{period}Causes"]}
        shown["/".join(node["assetKey"]["path"])] = (node[period], causes)
    return shown


COMPUTED = {
    "langfuse/traces", "langfuse/scores", "evaluation/neutrality", "evaluation/citations",
    "evaluation/figure_grounding", "department/daily", "department/monthly", "audit/bias_report",
    "audit/archive_receipt",
}  # fmt: skip


def test_a_month_that_was_just_computed_is_fresh(walk: Walk) -> None:
    assert "VALIDE (avec réserves : non signé, répertoire sans WORM), révision 1" in walk.first
    assert {name for name, (status, _) in walk.before.items() if status == "FRESH"} == COMPUTED


def test_an_edited_threshold_marks_what_reads_it_and_nothing_else(walk: Walk) -> None:
    marked = {name for name, (status, _) in walk.after.items() if status == "STALE"}
    assert {"evaluation/neutrality", "department/daily", "department/monthly", "audit/bias_report"} <= marked
    # neither reads departments.yaml
    assert walk.after["langfuse/scores"][0] == "FRESH"
    assert walk.after["evaluation/figure_grounding"][0] == "FRESH"
    for name in ("department/daily", "audit/bias_report"):
        assert f"{name} has a new code version" in walk.after[name][1]


def test_the_policy_s_own_command_names_the_change(walk: Walk) -> None:
    assert "direction-commercial" in walk.diff
    assert re.search(r"report_threshold.*0[.,]60?.*0[.,]65", walk.diff)


def test_after_the_second_run_nothing_is_stale(walk: Walk) -> None:
    assert {name for name, (status, _) in walk.again.items() if status == "STALE"} == set()
    assert {name for name, (status, _) in walk.again.items() if status == "FRESH"} == COMPUTED


def test_the_change_log_of_the_new_revision_says_so(walk: Walk) -> None:
    assert "VALIDE (avec réserves : non signé, répertoire sans WORM), révision 2" in walk.second
    text = re.sub(r"\s+", " ", walk.pdf)
    assert "Commercial, seuil de neutralité du rapport (departments.report_threshold) : 0,6 → 0,65" in text
    assert "remplace la révision 1" in text
