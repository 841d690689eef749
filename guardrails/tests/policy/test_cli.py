"""The command as people meet it: exit codes, French lines, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from compliance_guardrails import cli
from compliance_guardrails.cli import COMMANDS, Command, main
from compliance_guardrails.policy import PolicyError, check, load_policy
from compliance_guardrails.policy.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    Edit = Callable[[str, str, str], None]


def test_check_prints_one_line_per_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "check", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert len(lines) == len(files) + 1
    assert all(line.startswith("OK      ") for line in lines[:-1])
    assert lines[-1] == f"empreinte {load_policy(folder).digest}"


def test_check_goes_on_after_an_error_and_names_each(
    folder: Path, edit: Edit, capsys: pytest.CaptureFixture[str]
) -> None:
    edit("thresholds.yaml", "min_n: 30", 'min_n: "30"')
    edit("history/legal/2026-01-01.yaml", "binding: true", "binding: oui")
    (folder / "sampling.yaml").unlink()
    assert main(["policy", "check", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "erreur  thresholds.yaml: min_n: attendu un nombre entier, sans guillemets, trouvé « 30 »" in out
    assert "erreur  history/legal/2026-01-01.yaml: rules[ai-act-9].binding: attendu true ou false" in out
    assert "erreur  sampling.yaml: (fichier): attendu un fichier présent" in out
    assert "OK      departments.yaml" in out
    assert out.endswith("3 erreurs\n")


def test_check_sees_what_only_the_whole_shows(folder: Path, edit: Edit, capsys: pytest.CaptureFixture[str]) -> None:
    edit("sampling.yaml", "direction-finance]", "direction-compta]")
    assert main(["policy", "check", str(folder)]) == 1
    assert "erreur  sampling.yaml: intraday.departments: attendu" in capsys.readouterr().out


def refusing(folder: Path) -> None:
    """A detector that finds two of its rules in disagreement with their examples."""
    assert folder.is_dir()
    other = Problem("mots.yaml", "b", "une reconnaissance de « deux »")
    raise PolicyError("mots.yaml", "a", "une reconnaissance de « un »", (other,))


def test_check_lets_the_detectors_read_their_rules(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rules").mkdir()
    (folder / "rules" / "mots.yaml").write_text("effective_from: 2026-01-01\n", encoding="utf-8")
    monkeypatch.setattr(check, "RULE_READERS", ("detector:refusing",))
    monkeypatch.setitem(sys.modules, "detector", sys.modules[refusing.__module__])
    assert main(["policy", "check", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "OK      rules/mots.yaml" not in out
    assert "erreur  rules/mots.yaml: a: attendu une reconnaissance de « un »\n" in out
    assert "erreur  rules/mots.yaml: b: attendu une reconnaissance de « deux »\n" in out


def test_the_bundled_folder_is_in_order_with_its_rules(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["policy", "check"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, ""), out


def test_check_cannot_decide_without_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "check", str(tmp_path / "absent")]) == 2
    assert capsys.readouterr().err == "absent: (fichier): attendu un dossier de politique lisible\n"


def test_digest_is_that_of_the_loaded_policy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "digest", str(folder)]) == 0
    assert capsys.readouterr().out == load_policy(folder).digest + "\n"
    assert main(["policy", "digest", str(folder), "--at", "2026-06-30", "--files"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] != load_policy(folder).digest  # legal.yaml has a version of August
    assert len(lines) == 1 + len(load_policy(folder).file_digests)
    assert main(["policy", "digest", str(folder), "--at", "30/06/2026"]) == 2


def test_schema_of_one_and_of_all(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["policy", "schema", "thresholds"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert "grounding_floor" in one["required"]
    assert one["additionalProperties"] is False
    assert main(["policy", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["thresholds"] == one
    assert main(["policy", "schema", "--out", str(tmp_path / "s")]) == 0
    assert json.loads((tmp_path / "s" / "thresholds.schema.json").read_text()) == one
    assert main(["policy", "schema", "inconnu"]) == 2


def test_revise_then_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "revise", "thresholds", "--effective-from", "2026-09-01", str(folder)]) == 0
    assert main(["policy", "check", str(folder)]) == 0
    assert "OK      history/thresholds/2026-01-01.yaml" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [[], ["inconnue"], ["policy"], ["policy", "zz"], ["policy", "diff"]])
def test_wrong_use_is_exit_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["policy", "--help"]])
def test_help_is_exit_0(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    assert capsys.readouterr().out


def failing(_: list[str]) -> int:
    """A handler with a bug, whose message must not be shown."""
    raise RuntimeError("texte confidentiel")


def test_a_bug_shows_its_kind_and_no_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cli, "COMMANDS", (Command("x", "", "broken:failing"),))
    monkeypatch.setitem(sys.modules, "broken", sys.modules[failing.__module__])
    assert main(["x"]) == 2
    assert capsys.readouterr().err == "compliance-guardrails x : erreur interne (RuntimeError)\n"


def test_every_command_in_the_table_can_be_imported() -> None:
    import importlib

    for command in COMMANDS:
        module, _, function = command.handler.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


def test_reader_that_goes_away_leaves_no_traceback() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "compliance_guardrails.cli", "policy", "schema"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    process.wait(30)
    assert error == b""
