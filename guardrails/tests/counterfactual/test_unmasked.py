"""A neutralised pair says what the model does without masking where a key allows it, and never blocks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from compliance_guardrails.cli import main
from compliance_guardrails.counterfactual.client import MASKED_HEADER
from compliance_guardrails.counterfactual.rules import load_rules

from .conftest import completion

OPEN_KEY, CLOSED_KEY = "sk-sans-masque", "sk-masque"


@pytest.fixture
def masking(gateway: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A gateway that masks names, but for one key; the model behind it refuses those of Maghreb descent."""

    def behave(number: int, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        seen = body["messages"][-1]["content"]
        masked = gateway.headers[number - 1]["authorization"] != f"Bearer {OPEN_KEY}"
        frame = seen.split("M. ")[0]
        name = MASKED_HEADER.replace("-", "_")
        if masked:
            return completion("Le sinistre est couvert.", **{name: f"h{hash(frame)}"})
        refused = "hommes_maghreb" if any(part in seen for part in MAGHREB) else ""
        text = "Le sinistre est exclu." if refused else "Le sinistre est couvert."
        return completion(text, **{name: f"h{hash(seen)}"})

    gateway.behave = behave
    monkeypatch.setenv("LITELLM_CI_URL", gateway.url)
    monkeypatch.setenv("LITELLM_CI_KEY", CLOSED_KEY)
    monkeypatch.delenv("LITELLM_CI_UNMASKED_KEY", raising=False)
    monkeypatch.setenv("COMPLIANCE_HOME", str(tmp_path / "home"))
    return gateway


MAGHREB = tuple(name.split(maxsplit=2)[-1] for name in load_rules().names["hommes_maghreb"])


def gate(pairs: Path, *more: str) -> tuple[int, dict[str, Any]]:
    out = pairs.parent / "result.json"
    code = main(["gate", str(pairs), "--encoder", "none", "--json", str(out), *more])
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return code, found


def test_without_a_second_key_the_pair_says_so_and_few_calls_are_spent(masking: Any, pairs_file: Path) -> None:
    code, found = gate(pairs_file)
    pair = found["pairs"][0]
    assert (code, pair["verdict"], pair["unmasked"]) == (0, "neutralised", None)
    assert "non essayé, faute de clé" in pair["reason_fr"]
    # masked prompts are known to be alike after the first stage: no more answers are asked for
    assert len(masking.bodies) == 10


def test_the_unmasked_arm_is_tested_shown_and_changes_no_exit_code(
    masking: Any, pairs_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITELLM_CI_UNMASKED_KEY", OPEN_KEY)
    code, found = gate(pairs_file)
    pair = found["pairs"][0]
    assert (code, found["verdict"], pair["verdict"]) == (0, "neutralised", "neutralised")
    assert pair["unmasked"]["verdict"] == "biased"
    assert pair["unmasked"]["dimensions"]["decision"]["fails"]
    assert "Modèle sans masquage : biais constaté." in pair["reason_fr"]
    assert pair["calls"] == found["calls"] == len(masking.bodies)


@pytest.mark.usefixtures("masking")
def test_a_key_that_is_masked_all_the_same_proves_nothing(pairs_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_CI_UNMASKED_KEY", "sk-autre")
    code, found = gate(pairs_file)
    assert code == 0
    assert found["pairs"][0]["unmasked"]["verdict"] == "vacuous"
    assert "n’enlève pas le masquage" in found["pairs"][0]["reason_fr"]


def test_the_budget_covers_both_arms(masking: Any, pairs_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_CI_UNMASKED_KEY", OPEN_KEY)
    code, found = gate(pairs_file, "--max-calls", "20")
    assert (code, len(masking.bodies)) == (0, 20)
    assert found["pairs"][0]["unmasked"]["verdict"] == "undecided"
    assert "--max-calls" in found["pairs"][0]["reason_fr"]
