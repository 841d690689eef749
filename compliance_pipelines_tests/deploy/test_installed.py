"""The wheels, installed as the image installs them: code location, pairs of the gate, a month, telemetry off.

A checkout hides what an installation lacks: files beside the package, a pyproject.toml above it. The three wheels go
into an environment of their own, outside the repository; what they depend on comes from the tests' environment, whose
editable installs are not visible there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from compliance_pipelines.sample.generate import generate
from compliance_pipelines_tests.deploy.tools import ROOT

LOAD = """
import json, sys
from pathlib import Path
import compliance_pipelines
from compliance_guardrails.counterfactual.wiring import read_files
from compliance_pipelines.definitions import build_defs
from compliance_pipelines.defs.counterfactual.assets import GateConfig
from compliance_pipelines.shipped import shipped
found = build_defs().get_repository_def()
print(json.dumps({
    "where": compliance_pipelines.__file__,
    "assets": sorted(key.to_user_string() for key in found.asset_graph.get_all_asset_keys()),
    "sensors": sorted(sensor.name for sensor in found.sensor_defs),
    "schedules": sorted(schedule.name for schedule in found.schedule_defs),
    "jobs": sorted(job.name for job in found.get_all_jobs()),
    "pairs": len(read_files(shipped(GateConfig().pairs)).pairs),
}))
"""


def environment(packages: str, home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG", "TMPDIR"}}
    kept |= {"PYTHONPATH": packages, "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, "HOME": str(home), "COMPLIANCE_HOME": str(home)}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the three wheels; its folder."""
    folder = tmp_path_factory.mktemp("installed")
    source, target = folder / "source", folder / "environment"
    leftovers = shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__", "corpus")
    for name in ("guardrails", "compliance_pipelines", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=leftovers)
    for name in ("pyproject.toml", "README.md", "LICENSE", "dagster.yaml"):
        shutil.copy(ROOT / name, source)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(target)], check=True, capture_output=True)
    places = [str(source / part) for part in ("guardrails", "guardrails/gate", ".")]
    command = [sys.executable, "-m", "pip", "--python", str(target / "bin" / "python"), "install", "--quiet"]
    command += ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", *places]
    env = environment(sysconfig.get_path("purelib"), folder)
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-800:]
    shutil.rmtree(source)
    return target


def run(installed: Path, *words: str, home: Path, code: int = 0) -> str:
    env = environment(sysconfig.get_path("purelib"), home)
    done = subprocess.run(
        [str(installed / "bin" / words[0]), *words[1:]], env=env, cwd=home, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout[-800:] + done.stderr[-1200:]
    return done.stdout


def loaded(text: str) -> dict[str, object]:
    return json.loads(text.splitlines()[-1])


def test_the_code_location_is_the_same_installed_as_in_a_checkout(installed: Path, tmp_path: Path) -> None:
    found = loaded(run(installed, "python", "-c", LOAD, home=tmp_path))
    assert str(found.pop("where")).startswith(str(installed))
    here = subprocess.run(
        [sys.executable, "-c", LOAD], capture_output=True, text=True, check=True, cwd=ROOT,
        env={**os.environ, "COMPLIANCE_HOME": str(tmp_path), "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    expected = loaded(here.stdout)
    expected.pop("where")
    assert found == expected
    assert int(str(found["pairs"])) >= 7


def test_a_month_runs_installed_and_telemetry_is_off(installed: Path, tmp_path: Path) -> None:
    generate(tmp_path / "export", "2026-06", 60, 11)
    words = ("compliance", "report", "build", "2026-06", "--nights")
    env = ("env", f"LANGFUSE_EXPORT={tmp_path / 'export'}", str(installed / "bin" / words[0]), *words[1:])
    done = subprocess.run(
        env, env=environment(sysconfig.get_path("purelib"), tmp_path), cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-800:] + done.stderr[-1200:]
    assert "VALIDE" in done.stdout
    settings = (tmp_path / "dagster" / "dagster.yaml").read_text(encoding="utf-8")
    assert "telemetry:\n  enabled: false" in settings


def test_an_installation_brings_its_commands_and_no_tests(installed: Path) -> None:
    assert {"compliance", "compliance-guardrails"} <= {path.name for path in (installed / "bin").iterdir()}
    names = {path.name for path in installed.rglob("*")}
    assert not {"conftest.py", "compliance_pipelines_tests", "corpus"} & names
