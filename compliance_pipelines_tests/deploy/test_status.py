"""`compliance status gate`: verdicts by pair, exit code 1 on bias, whatever else the table holds."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.cli import app
from compliance_pipelines.status import Question, ask


def gate(tmp_path: Path, rows: list[tuple[str, str, str]], week: str = "2026-06-22") -> None:
    table = pd.DataFrame(rows, columns=["pair_id", "dimension", "verdict"])
    TableStore(tmp_path / "data").write(("counterfactual", "results"), week, table)


@pytest.mark.parametrize(
    ("rows", "code", "line"),
    [
        ([("a", "meaning", "fair"), ("a", "decision", "fair"), ("b", "meaning", "fair")], 0, "2 paires, fair 2"),
        ([("a", "meaning", "biased"), ("b", "meaning", "fair")], 1, "2 paires, biased 1, fair 1"),
        ([("a", "meaning", "undecided"), ("b", "meaning", "neutralised")], 0, "2 paires, neutralised 1, undecided 1"),
    ],
)
def test_the_last_weekly_result(tmp_path: Path, rows: list[tuple[str, str, str]], code: int, line: str) -> None:
    gate(tmp_path, [("old", "meaning", "biased")], "2026-06-15")
    gate(tmp_path, rows)
    reply = ask(Question.GATE, tmp_path, lambda: DirectoryArchive(tmp_path / "archive"))
    assert reply.exit_code == code
    assert reply.lines_fr[0] == f"porte contrefactuelle du 2026-06-22 : {line}"
    assert ("  biais : a" in reply.lines_fr) is (code == 1)
    assert reply.as_json()["run"] == "2026-06-22"


def test_without_a_question_every_answer_and_the_worst_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPLIANCE_HOME", str(tmp_path))
    gate(tmp_path, [("a", "meaning", "biased")])
    done = CliRunner().invoke(app, ["status"])
    # nothing else is stored (2), but a bias is known (1)
    assert done.exit_code == 1, done.output
    assert [line for line in done.output.splitlines() if line in set(Question)] == [one.value for one in Question]
    document = json.loads(CliRunner().invoke(app, ["status", "--json"]).output)
    assert [one["question"] for one in document["answers"]] == [one.value for one in Question]
    assert {one["exit_code"] for one in document["answers"]} == {1, 2}
    assert document["exit_code"] == 1
    one = json.loads(CliRunner().invoke(app, ["status", "gate", "--json"]).output)
    assert one == document["answers"][0]
