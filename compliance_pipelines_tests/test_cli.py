"""`compliance` as people type it: one line and an exit code for each thing that can be wrong."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [str(Path(sys.executable).parent / "compliance")]


def run(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LANGFUSE", "COMPLIANCE", "DAGSTER"))}
    environment |= {"COMPLIANCE_HOME": str(cwd / "home")} | env
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, env=environment, cwd=cwd, check=False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("report", "build", "juin"), "attendu AAAA-MM"),
        (("report", "build", "2999-01"), "n'est pas terminé"),
        (("report", "build", "2025-01"), "précède le premier jour suivi"),
        (("report", "build", "2026-06", "--cutoff", "hier"), "--cutoff"),
        (("report", "get", "2026-06"), "2026-06"),
        (("report", "build", "2026-03"), "aucune nuit de 2026-03"),
    ],
)
def test_one_line_and_exit_code_2(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reprot",), "commande inconnue : reprot (compliance --help)"),
        (("report", "verfy"), "commande inconnue : verfy (compliance report --help)"),
        (("report", "verify", "--al"), "option inconnue : --al, attendu --all"),
        (("report", "verify", "2026-06", "--revision", "un"), "--revision : attendu un nombre entier"),
        (("report", "verify", "2026-06", "--revision"), "--revision : attendu une valeur"),
        (("report", "verify", "--all=oui"), "--all : attendu sans valeur"),
        (("report", "get"), "AAAA-MM : attendu, et absent de la commande (compliance report get --help)"),
        (("report", "get", "2026-06", "a", "b"), "argument en trop : a b"),
        (("report", "explain", "2026-06"), "DIRECTION : attendu, et absent de la commande"),
        (("doctor", "\x1b[31mrouge\n"), "argument en trop : \\x1b[31mrouge\\x0a"),
    ],
)
def test_a_mistake_in_the_command_line_is_one_french_line(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"compliance : {message}"), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_a_group_alone_shows_its_help_and_help_itself_succeeds(tmp_path: Path) -> None:
    alone = run("report", cwd=tmp_path)
    assert (alone.returncode, "verify" in alone.stdout + alone.stderr) == (2, True)
    asked = run("report", "verify", "--help", cwd=tmp_path)
    assert (asked.returncode, "--published" in asked.stdout) == (0, True)


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    done = run("report", "build", "2026-06", cwd=tmp_path, LANGFUSE_EXPORT="absent")
    assert (done.returncode, "LANGFUSE_EXPORT=absent" in done.stderr) == (2, True)
    done = run("report", "build", "2026-06", cwd=tmp_path, COMPLIANCE_FIRST_DAY="hier")
    assert (done.returncode, "COMPLIANCE_FIRST_DAY=hier" in done.stderr) == (2, True)


def test_a_truncated_export_stops_the_nights_with_nothing_written(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "o.jsonl.gz").write_bytes(gzip.compress(b'{"id": "o1"}\n' * 9000)[:-20])
    done = run("report", "build", "2026-06", "--nights", cwd=tmp_path, LANGFUSE_EXPORT=str(folder))
    assert done.returncode == 2
    assert "tronquée" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert not list((tmp_path / "home" / "data").rglob("*.parquet"))


def test_an_empty_archive_lists_nothing(tmp_path: Path) -> None:
    done = run("report", "list", cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "Aucun rapport archivé.")


def test_verify_of_an_unknown_month_cannot_decide(tmp_path: Path) -> None:
    done = run("report", "verify", "2026-06", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize(("after", "said"), [(1, True), (2, False)])
def test_a_reason_that_made_no_revision_is_told(
    after: int, said: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from types import SimpleNamespace

    from compliance_pipelines import cli_report, demo

    kept = iter([[None], [None] * after])
    monkeypatch.setattr(cli_report, "_archive", lambda: SimpleNamespace(list_revisions=lambda: next(kept)))
    monkeypatch.setattr(demo, "build", lambda *_, **__: None)
    cli_report.build("2026-06", reason="chiffres corrigés")
    assert ("Aucune révision ajoutée" in capsys.readouterr().out) is said
