"""What the alerts are told from outside: addresses, the folder of text files, and how `alerts explain` puts a rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from compliance_guardrails.policy import load_policy
from compliance_guardrails.policy.types import AlertName

from compliance_pipelines.adapters.pushgateway import TextFiles
from compliance_pipelines.cli_alerts import explanation
from compliance_pipelines.core import gauges
from compliance_pipelines.resources import alerting_from_env
from compliance_pipelines.settings import SettingsError

POLICY = load_policy()


def test_textfiles_are_replaced_whole(tmp_path: Path) -> None:
    files = TextFiles(tmp_path)
    for value in (1.0, 2.0):
        files.push("nightly", [gauges.Sample("unscored_rate", (("department", "a"),), value)])
    assert [p.name for p in tmp_path.iterdir()] == ["nightly.prom"]
    assert (tmp_path / "nightly.prom").read_text(encoding="utf-8").endswith("2.0\n")


@pytest.mark.parametrize("name", ["ALERTMANAGER_URL", "PUSHGATEWAY_URL", "DAGSTER_UI_URL"])
def test_an_address_that_is_set_but_wrong_is_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "alertmanager:9093")
    with pytest.raises(SettingsError, match=name):
        alerting_from_env("home")


def test_explain_says_all_that_decides() -> None:
    """How many, over what time, for whom; a wait only where one is waited for."""
    low = explanation(POLICY, AlertName.NEUTRALITY_BELOW_THRESHOLD)
    assert "  Sinistres        < 0,7 la nuit ; en journée pendant 30 min" in low
    assert "  RH               < 0,6 la nuit" in low
    assert any(f"au moins {POLICY.thresholds.min_n} notes" in line for line in low)
    assert any(f"au moins {POLICY.sampling.intraday.min_n} notes" in line for line in low)
    burst = "\n".join(explanation(POLICY, AlertName.UNCITED_CLAIMS_BURST))
    assert "Condition : > 5\nSur 60 min glissantes, directions suivies : Finance, Juridique, Sinistres." in burst
    assert "Attendue à 01 h 30, heure de Paris" in "\n".join(explanation(POLICY, AlertName.NIGHT_MISSING))
    for name in AlertName:
        lines = explanation(POLICY, name)
        assert lines[-1] == f"Que faire : {POLICY.alerts.rule(name).next_step}"
