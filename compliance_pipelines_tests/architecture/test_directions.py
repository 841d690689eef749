"""The directions of the architecture, as tests: imports, purity, file heads and sizes, what must not be in the tree."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT / "compliance_pipelines", ROOT / "guardrails" / "compliance_guardrails"]
SOURCES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
PYTHON = sorted(
    path
    for path in ROOT.rglob("*.py")
    if not any(part.startswith(".") or part in {"build", "dist"} for part in path.relative_to(ROOT).parts)
)


CLOCKS = {
    f"{module}{name}"
    for module in ("", "dt.", "datetime.")
    for name in ("datetime.now", "datetime.utcnow", "datetime.today", "date.today")
}


def tracked_text() -> list[Path]:
    """Every file that git tracks and that reads as text, but for the license."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [
        ROOT / name
        for name in names
        if name and name != "LICENSE" and (ROOT / name).is_file() and b"\0" not in (ROOT / name).read_bytes()[:4096]
    ]


def test_import_contracts_hold() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_says_what_lives_in_it(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    empty = not path.read_text(encoding="utf-8").strip() and path.name == "__init__.py"
    assert docstring or empty, f"{path} has no charter"


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: str(p.relative_to(ROOT)))
def test_file_is_at_most_400_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_core_is_pure() -> None:
    forbidden = {"os", "sys", "time", "random", "socket", "subprocess", "pathlib", "tempfile", "shutil", "urllib"}
    found = []
    for path in (ROOT / "compliance_pipelines" / "core").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
                names = ["os"]
            elif isinstance(node, ast.Attribute) and ast.unparse(node) in CLOCKS:
                names = ["time"]
            found += [f"{path.name}: {n}" for n in names if n.partition(".")[0] in forbidden and n != "urllib.parse"]
    assert found == []


def test_guardrails_import_is_light() -> None:
    code = (
        "import sys, compliance_guardrails, compliance_guardrails.policy, compliance_guardrails.detect\n"
        "from compliance_guardrails.policy import load_policy\nload_policy()\n"
        "heavy = {'dagster', 'pandas', 'torch', 'numpy', 'litellm', 'langfuse', 'httpx'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_definitions_import_nothing_heavy() -> None:
    code = (
        "import sys, warnings\nwarnings.simplefilter('ignore')\nimport compliance_pipelines.definitions as d\n"
        "d.build_defs()\n"
        "heavy = {'matplotlib', 'matplotlib.pyplot', 'ragas', 'torch', 'sentence_transformers', 'langfuse'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_tree_names_no_machine_and_no_registry() -> None:
    machine = re.compile("|".join(["/wor" + "k/", "/ro" + "ot/", "ba" + "sh_jobs"]))
    hosts = re.compile(
        "|".join(["py" + r"pi\.org", "python" + r"hosted\.org", "registry" + r"\.npmjs", "deb" + r"\.debian"])
    )
    unfinished = re.compile(r"(^|[^a-zA-Z])(TO" + "DO|FIX" + r"ME)([^a-zA-Z]|$)")
    found = []
    for path in tracked_text():
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {p.pattern[:12]}" for p in (machine, hosts, unfinished) if p.search(text)]
    assert found == []
