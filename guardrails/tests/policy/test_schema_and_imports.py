"""The checked-in schemas are current, and the package stays light for the gateway's image."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from compliance_guardrails.policy.paths import BUNDLED
from compliance_guardrails.policy.schema import render, schemas

DOCS = Path(__file__).parents[3] / "docs" / "schemas"


@pytest.mark.parametrize("name", sorted(schemas()))
def test_checked_in_schema_is_current(name: str) -> None:
    path = DOCS / f"{name}.schema.json"
    assert path.read_text(encoding="utf-8") == render(schemas()[name]), (
        "run: compliance-guardrails policy schema --out docs/schemas"
    )


def test_no_schema_is_left_over() -> None:
    ours = {f"{name}.schema.json" for name in schemas()}
    assert {path.name for path in DOCS.glob("*.schema.json")} >= ours


def test_every_file_has_a_schema() -> None:
    assert {path.stem for path in BUNDLED.glob("*.yaml")} | {"prompt"} == set(schemas())


def _fresh(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={k: v for k, v in os.environ.items() if k != "COMPLIANCE_POLICY_DIR"}
        | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stderr == ""
    return done.stdout


def test_nothing_heavy_comes_in() -> None:
    code = """
import sys, json
import compliance_guardrails, compliance_guardrails.cli, compliance_guardrails.policy.cli
from compliance_guardrails.policy import load_policy
load_policy()
heavy = set("dagster pandas torch numpy litellm httpx openai langfuse pyarrow requests".split())
print(json.dumps(sorted(heavy & set(sys.modules))))
"""
    assert json.loads(_fresh(code)) == []


def test_import_and_load_cost_little_cpu() -> None:
    code = """
import time
start = time.process_time()
from compliance_guardrails.policy import load_policy
load_policy()
print(time.process_time() - start)
"""
    assert min(float(_fresh(code)) for _ in range(3)) < 0.6  # about half of that on an idle machine
