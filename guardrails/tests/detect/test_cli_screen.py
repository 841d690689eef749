"""`screen` and `explain`: the exact JSON, one clear line for what cannot be read, the exit codes."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from compliance_guardrails.cli import main
from compliance_guardrails.detect.cli_screen import explain_main, screen_main

CITED = "Selon les Conditions générales, p. 12, la franchise est de 150 €."


def run(argv: list[str], data: bytes | str) -> int:
    return screen_main(argv, io.BytesIO(data.encode() if isinstance(data, str) else data))


def objects(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_shape_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    text = f"Refusez, vu qu’elle est handicapée. {CITED}"
    assert run(["--domain", "hr"], text) == 0
    (found,) = objects(capsys)
    assert list(found) == ["protected_attribute", "claims", "citation_compliance", "bias"]
    (flag,) = found["protected_attribute"]
    assert set(flag) == {"rule", "attribute", "text", "start", "end"}
    assert text[flag["start"] : flag["end"]] == flag["text"]
    (claim,) = found["claims"]
    assert claim == {
        "kind": "money",
        "text": "150 €",
        "start": text.index("150"),
        "end": text.index("150") + 5,
        "cited": True,
    }
    bias = found["bias"]
    assert isinstance(bias, dict)
    assert set(bias) == {"domain", "findings", "total", "threshold", "acts"}
    assert (bias["domain"], bias["threshold"]) == ("hr", 0.15)
    for finding in bias["findings"]:
        assert set(finding) == {"characteristic", "severity", "evidence", "score", "start", "end"}
        assert text[finding["start"] : finding["end"]] == finding["evidence"]


def test_nothing_to_find(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([], "") == 0
    (found,) = objects(capsys)
    assert found["claims"] == []
    assert found["citation_compliance"] is None
    assert found["bias"] == {
        "domain": "insurance",
        "findings": [],
        "total": 0.0,
        "threshold": found["bias"]["threshold"],
        "acts": False,
    }


def test_a_text_keeps_its_line_ends(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Bonjour,\r\nla franchise est de 150 €.\r\n"
    run([], text)
    (claim,) = objects(capsys)[0]["claims"]
    assert text[claim["start"] : claim["end"]] == "150 €"


def test_jsonl_goes_on_after_bad_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        b'{"id": "a", "text": "150 \xe2\x82\xac"}',
        b"not json",
        b'{"id": NaN, "text": "x"}',
        b'{"id": 1.5, "text": "x"}',
        b'{"text": 3}',
        b'["text"]',
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"id": 7, "text": "5 %"}',
        b'{"text": "\\ud800 5 %"}',
    ]
    assert run(["--jsonl"], b"\n".join(lines)) == 2
    captured = capsys.readouterr()
    found = [json.loads(line) for line in captured.out.splitlines()]
    assert [item.get("id") for item in found] == ["a", 7, None]
    assert [next(iter(item)) for item in found] == ["id", "id", "protected_attribute"]
    errors = captured.err.splitlines()
    assert [line.split(" :")[0] for line in errors] == [f"ligne {n}" for n in (2, 3, 4, 5, 6, 8, 9)]
    assert all("attendu" in line for line in errors)
    assert "not json" not in captured.err


def test_a_ten_megabyte_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--jsonl"], json.dumps({"id": "long", "text": "mot " * 2_500_000 + "150 €"})) == 0
    assert [item["id"] for item in objects(capsys)] == ["long"]


def test_not_utf8(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([], b"caf\xe9") == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "ligne 1 : attendu un texte en UTF-8\n")


def test_unknown_domain(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--domain", "astrologie"], "x") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "insurance" in captured.err


@pytest.mark.parametrize(("text", "code"), [(CITED, 0), ("La franchise est de 150 €.", 1), ("Bonjour", 0)])
def test_fail_asks_for_an_exit_code(text: str, code: int) -> None:
    assert run(["--fail"], text) == code
    assert run([], text) == 0


def test_explain_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Selon l’article L113-2, la franchise est de 150 €. Refusez, vu qu’elle est handicapée."
    assert explain_main([], io.BytesIO(text.encode())) == 0
    out = capsys.readouterr().out
    assert "affirmation d’article de loi [8:22] « article L113-2 » : non citée" in out
    assert "affirmation de montant [44:49] « 150 € » : citée" in out
    assert "citation_compliance 0, citation_marker 1" in out
    assert "critère protégé" in out
    assert "profil insurance" in out


def test_the_commands_are_registered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"12 %")))
    assert main(["screen"]) == 0
    assert objects(capsys)[0]["claims"][0]["kind"] == "percent"
    assert main(["screen", "--nope"]) == 2
