"""What the workflows run exists here: make targets, commands and their options, folders, the weight of a wheel.

A workflow runs where no test sees it; a line that names what is no longer so fails on a Friday. Lines are read from the
files, so that a new one is checked as well.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from compliance_pipelines_tests.deploy.tools import ROOT
from compliance_pipelines_tests.docs.test_commands import check

FILES = sorted([*(ROOT / ".github" / "workflows").glob("*.yml"), *(ROOT / "docs" / "github-actions").glob("*.yml")])
CI = ROOT / ".github" / "workflows" / "ci.yml"
# what the runner's image or the job's own lines bring
KNOWN = {"apt-get", "git", "python", "pip", "test", "!", "cat", "echo"}
ASSIGNMENT = re.compile(r"\w+=\S")


def lines(path: Path) -> list[str]:
    """Each command of each step: continued lines joined, `&&` and `||` split, assignments of the shell left out."""
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    text = "\n".join(step["run"] for job in jobs.values() for step in job["steps"] if "run" in step)
    parts = re.split(r"&&|\|\||\n", text.replace("\\\n", " "))
    return [part.strip() for part in parts if part.strip()]


PRINTED = [(path.name, line) for path in FILES for line in lines(path)]


@pytest.mark.parametrize(("file", "line"), PRINTED, ids=[f"{file}: {line}" for file, line in PRINTED])
def test_a_line_of_a_workflow_can_be_run(file: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if ASSIGNMENT.match(line):
        return
    program = Path(shlex.split(line)[0]).name
    if program in {"make", "compliance-guardrails", "compliance"}:
        check(re.sub(r"^\S*/", "", line), monkeypatch)
    else:
        assert program in KNOWN, file
    folders = [word for word in shlex.split(line) if word.startswith("./")]
    if "build --wheel" in line:
        folders.append(shlex.split(line)[-1])
    assert [folder for folder in folders if not (ROOT / folder / "pyproject.toml").exists()] == []


def test_the_wheel_may_weigh_what_its_test_lets_it_weigh() -> None:
    """The workflow's line reads the bound where it stands, and reads it right."""
    from compliance_pipelines_tests.services.test_gateway_wheel import MAX_BYTES

    (line,) = re.findall(r'most="\$\((sed .*)\)"$', CI.read_text(encoding="utf-8"), re.MULTILINE)
    read = subprocess.run(shlex.split(line), cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert int(read) == MAX_BYTES


def test_a_target_of_a_workflow_sets_up_what_its_tests_need() -> None:
    """Each job is a machine of its own: nothing is there that another job's target has installed."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    tests = ROOT / "compliance_pipelines_tests"
    for target, folder in (("test-services", tests / "services"), ("test", tests)):
        needs = re.search(rf"^{target}: ([^#\n]*)", makefile, re.MULTILINE)
        assert needs
        text = "\n".join(p.read_text(encoding="utf-8") for p in folder.rglob("*.py") if p != Path(__file__))
        for environment in ("litellm", "eval"):
            if f'".venv-{environment}"' in text and (target == "test-services" or environment == "eval"):
                assert f"$(VENV)-{environment}/.run" in needs[1], (target, environment)
    recipes = re.findall(r"^\t(.*)$", makefile, re.MULTILINE)
    # kubectl comes with the tests' packages where the machine has none
    assert [one for one in recipes if re.match(r"\s*kubectl ", one)] == []


def test_the_last_line_of_the_wheels_job_can_fail() -> None:
    """`!` before a command never ends a script on its own, so such a line must be the last one of its step."""
    negated = 0
    for path in FILES:
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
            for step in job["steps"]:
                found = [line for line in step.get("run", "").splitlines() if line.strip()]
                assert not any(line.strip().startswith("! ") for line in found[:-1])
                negated += sum(line.strip().startswith("! ") for line in found)
    assert negated


def test_our_distributions_are_never_taken_from_a_public_index() -> None:
    """Their names are free there: a line that installs them by name says from which index, or names a file."""
    texts = [*FILES, *(ROOT / "docker").glob("*.Dockerfile"), *(ROOT / "docs").rglob("*.md")]
    texts += [ROOT / name for name in ("README.md", "guardrails/README.md", "Makefile")]
    wrong = [
        line.strip()
        for path in texts
        for line in path.read_text(encoding="utf-8").splitlines()
        if "--index-url" not in line and re.search(r"pip install .*(?<![\w./-])compliance-(guardrails|pipelines)", line)
    ]
    assert wrong == []
