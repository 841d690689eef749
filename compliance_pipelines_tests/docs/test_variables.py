"""`.env.example` against the code, both ways, and `.env` as commands read it.

What is read is found in the syntax trees: names asked of an environment, and names that fields and constants called
`…variable` hold. A variable that only a library reads is listed here with that library.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from compliance_pipelines.env_file import load_env_file
from compliance_pipelines.settings import SettingsError
from compliance_pipelines_tests.deploy.tools import ROOT

NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|NAMESPACE")
ENVIRONMENTS = {"env", "environ", "environment"}
SOURCES = ("compliance_pipelines", "guardrails/compliance_guardrails", "k8s", "tools", "tests/bias")
BY_LIBRARIES = {"PROMETHEUS_MULTIPROC_DIR": "prometheus-client", "DAGSTER_HOME": "dagster"}
# set by the code for a library, or by the job that runs it, never a choice of the installation
OURS = {"RAGAS_DO_NOT_TRACK"}


def documented() -> set[str]:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    return set(re.findall(r"^#([A-Z][A-Z0-9_]+)=", text, re.MULTILINE))


def trees() -> Iterator[ast.AST]:
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*.py")):
            yield ast.parse(path.read_text(encoding="utf-8"))


def text(node: ast.AST | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def reads(tree: ast.AST) -> Iterator[str]:
    """Names that a module asks of an environment, or keeps for that purpose."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and last_name(node.value) in ENVIRONMENTS:
            yield text(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr in {"get", "pop", "setdefault"} and last_name(node.func.value) in ENVIRONMENTS:
                yield text(node.args[0])
        elif (isinstance(node, ast.AnnAssign) and last_name(node.target).lower().endswith("variable")) or (
            isinstance(node, ast.Assign) and last_name(node.targets[0]).lower().endswith("variable")
        ):
            yield text(node.value)


def test_each_variable_that_is_read_is_documented() -> None:
    found = {name for tree in trees() for name in reads(tree) if NAME.fullmatch(name)}
    assert len(found) > 20
    assert found - documented() - OURS == set()


def test_each_variable_that_is_documented_is_read() -> None:
    named = {text(node) for tree in trees() for node in ast.walk(tree)}
    # two readers put the name together: f"JUDGE_{name}", f"EMBEDDING_{name}"
    joined = {f"{first}_{name}" for first in ("JUDGE", "EMBEDDING") for name in ("BASE_URL", "MODEL", "API_KEY")}
    assert {name for name in documented() if name not in named | joined | set(BY_LIBRARIES)} == set()


def test_the_page_s_table_names_what_is_documented() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Configuration")[1].split("\n## ")[0]
    names = {name for span in re.findall(r"`([^`]+)`", section) for name in NAME.findall(span)}
    assert {"COMPLIANCE_HOME", "LANGFUSE_EXPORT"} <= names
    assert names - documented() == set()


def test_the_clean_environment_of_the_tests_holds_none_of_them() -> None:
    left = {name for name in documented() if name in os.environ}
    assert left <= {"COMPLIANCE_HOME", "DAGSTER_HOME", "PROMETHEUS_MULTIPROC_DIR"}


def test_the_file_fills_what_the_environment_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESPACE", "from-outside")
    monkeypatch.delenv("S3_BUCKET", raising=False)
    (tmp_path / ".env").write_text(
        "# a note\nNAMESPACE=inside\nS3_BUCKET='evidence'\nexport JUDGE_MODEL=a$b\n", "utf-8"
    )
    with monkeypatch.context() as patch:
        for name in ("S3_BUCKET", "JUDGE_MODEL"):
            patch.setenv(name, "x")
            patch.delenv(name)
        assert set(load_env_file(tmp_path)) == {"S3_BUCKET", "JUDGE_MODEL"}
        assert (os.environ["NAMESPACE"], os.environ["S3_BUCKET"]) == ("from-outside", "evidence")
        assert os.environ["JUDGE_MODEL"] == "a$b"
    assert load_env_file(tmp_path / "absent") == ()


def test_a_file_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"NAMESPACE=\xff\xfe\n")
    with pytest.raises(SettingsError, match=r"^\.env : illisible"):
        load_env_file(tmp_path)


def test_the_doctor_and_the_makefile_see_the_file(tmp_path: Path) -> None:
    """As the interface does: one installation has one configuration."""
    (tmp_path / ".env").write_text("ALERTMANAGER_URL=nonsense\nCOMPLIANCE_HOME=./kept\n", "utf-8")
    env = {name: value for name, value in os.environ.items() if name not in {"COMPLIANCE_HOME", "DAGSTER_HOME"}}
    command = [str(Path(sys.executable).parent / "compliance"), "doctor"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "ALERTMANAGER_URL inutilisable" in done.stdout) == (1, True), done.stdout + done.stderr
    assert (tmp_path / "kept").is_dir()
    (tmp_path / "show.mk").write_text("show:\n\t@echo $$COMPLIANCE_HOME $$DAGSTER_HOME\n")
    made = ["make", "-s", "-f", str(ROOT / "Makefile"), "-f", "show.mk", "show"]
    shown = subprocess.run(made, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout.split()
    assert shown == [str(tmp_path / "kept"), str(tmp_path / "kept" / "dagster")]
    (tmp_path / ".env").unlink()
    shown = subprocess.run(made, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout.split()
    assert shown == [str(tmp_path / ".compliance"), str(tmp_path / ".compliance" / "dagster")]
