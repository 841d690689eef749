"""`make audit`: what is known, what is clean, and what nobody could say are three different exit codes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tools import audit

ROOT = Path(__file__).parents[2]
CLEAN = {"name": "alpha", "version": "1.0", "vulns": []}
KNOWN = {"name": "beta", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"], "aliases": []}]}
SKIPPED = {"name": "gamma", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([CLEAN], 0),
        ([CLEAN, KNOWN], 1),
        ([KNOWN, SKIPPED], 1),
        ([CLEAN, SKIPPED], 2),
        ([SKIPPED], 2),
        ([], 2),
    ],
)
def test_three_outcomes(rows: list[dict[str, object]], code: int) -> None:
    assert audit.read("lock", json.dumps({"dependencies": rows}), 0).code == code


@pytest.mark.parametrize("answer", ["", "Traceback", "[]", "{}", '{"dependencies": [{}]}', '{"dependencies": 3}'])
def test_what_cannot_be_read_is_no_clean_bill(answer: str) -> None:
    found = audit.read("lock", answer, 1)
    assert (found.code, found.asked) == (2, 0)
    assert found.failed


def command(tmp_path: Path, answer: str, code: int = 0) -> str:
    script = tmp_path / "asked.py"
    script.write_text(f"import sys\nsys.stdout.write({answer!r})\nsys.exit({code})\n", encoding="utf-8")
    return f"{sys.executable} {script}"


def test_the_worst_lock_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.dumps({"dependencies": [CLEAN, KNOWN]})
    assert audit.main(["a.txt", "b.txt", "--pip-audit", command(tmp_path, answer, 1)]) == 1
    assert "beta 2.0 : PYSEC-1 (corrigé en 2.1)" in capsys.readouterr().out


def test_a_service_that_is_away_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main(["a.txt", "--pip-audit", command(tmp_path, "", 1)]) == 2
    assert audit.main(["a.txt", "--pip-audit", "no-such-command"]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert [line.startswith("a.txt : service de vulnérabilités non consulté") for line in lines] == [True, True]


def test_the_targets_look_at_what_is_shipped() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    locks = re.search(r"^LOCKS := (.+)$", makefile, re.MULTILINE)
    assert locks is not None
    assert {path for path in locks[1].split() if not (ROOT / path).exists()} == set()
    for image in ("pipelines", "guardrails"):
        text = (ROOT / "docker" / f"{image}.Dockerfile").read_text(encoding="utf-8")
        (lock,) = set(re.findall(r"^COPY (docker/\S+\.txt) ", text, re.MULTILINE))
        assert lock in locks[1].split()
    for target in ("audit", "sbom", "licences", "scan"):
        assert re.search(rf"^{target}: .*## ", makefile, re.MULTILINE)
