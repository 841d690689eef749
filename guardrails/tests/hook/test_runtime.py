"""What the hook holds: counters, log lines without text, the policy that changes with the day, the printed config."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import replace
from datetime import date

import pytest
import yaml
from compliance_guardrails import events, litellm_config
from compliance_guardrails.decisions import Caller
from compliance_guardrails.events import Origin
from compliance_guardrails.metrics import Metric, Metrics, Stage
from compliance_guardrails.policy import Policy, PolicyError, load_policy
from compliance_guardrails.runtime import LOG, Runtime
from compliance_guardrails.transport import TransportError
from prometheus_client import CollectorRegistry

TRACE = "ab" * 16


@pytest.fixture(autouse=True)
def log_reaches_the_test() -> Generator[None]:
    before = LOG.propagate
    LOG.propagate = True
    yield
    LOG.propagate = before


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def runtime(registry: CollectorRegistry) -> Runtime:
    return Runtime({}, metrics=Metrics(registry))


def test_events_are_counted_and_logged_by_code(
    runtime: Runtime, registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    origin = Origin("direction-finance", runtime.policy.digest)
    with caplog.at_level(logging.INFO):
        runtime.report(TRACE, [events.gate_blocked(origin, 0.1, 0.35), events.uncited_claim(origin, ["money"], 3)])
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        f"retrieval_gate_blocked department=direction-finance trace_id={TRACE}",
        f"uncited-specific-claim department=direction-finance trace_id={TRACE}",
    ]
    for name in ("retrieval_gate_refused_total", "uncited_specific_claim_total"):
        assert registry.get_sample_value(name, {"department": "direction-finance"}) == 1
        assert registry.get_sample_value(name, {"department": "direction-audit"}) == 0


def test_an_own_failure_is_logged_without_its_text(
    runtime: Runtime, registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    runtime.failed(Stage.POST_CALL, ValueError("Dossier de Mme Quatrecent"))
    assert "Quatrecent" not in caplog.text
    assert "stage=post_call kind=ValueError at=" in caplog.text
    assert registry.get_sample_value("guardrail_errors_total", {"stage": "post_call"}) == 1


@pytest.mark.parametrize(
    ("name", "labels"),
    [("guardrail_errors_total", {"stage": stage}) for stage in ("pre_call", "post_call", "stream", "headers", "policy")]
    + [
        ("guardrail_requests_total", {"stage": stage, "department": department})
        for stage in ("pre_call", "grounding", "post_call", "exempt")
        for department in ("direction-sinistres", "direction-it", "non-attribue")
    ]
    + [
        (name, {"department": department})
        for name in (
            "retrieval_gate_refused_total",
            "retrieval_score_missing_total",
            "uncited_specific_claim_total",
            "protected_attr_comparison_detected_total",
            "low_self_confidence_total",
        )
        for department in ("direction-audit", "non-attribue")
    ]
    + [
        ("self_evaluation_total", {"department": "direction-sinistres", "outcome": outcome})
        for outcome in ("confident", "doubtful", "low", "unparseable", "timeout", "unavailable")
    ]
    + [
        ("guardrail_reports_dropped_total", {"reason": reason})
        for reason in ("queue_full", "refused", "unavailable", "no_queue", "error")
    ]
    + [("guardrail_seconds_count", {"stage": stage}) for stage in ("pre_call", "post_call", "self_evaluation")],
)
def test_counters_are_born_at_zero(
    runtime: Runtime, registry: CollectorRegistry, name: str, labels: dict[str, str]
) -> None:
    """Otherwise `increase()` does not see the first event: a series that appears with 1 has not grown."""
    assert runtime.metrics.available
    assert registry.get_sample_value(name, labels) == 0


def test_no_counter_is_born_with_a_label_that_nobody_uses(runtime: Runtime, registry: CollectorRegistry) -> None:
    del runtime
    stages = {
        sample.labels["stage"]
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "guardrail_errors_total"
    }
    assert stages == {"pre_call", "post_call", "stream", "headers", "policy"}


def test_metrics_without_prometheus_count_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    metrics = Metrics()
    assert not metrics.available
    metrics.count(Metric.ERRORS, ("x",))
    metrics.observe(Stage.PRE_CALL, 1.0)
    metrics.start_at_zero(["x"])


def test_every_promised_series_exists() -> None:
    promised = {
        "retrieval_gate_refused_total",
        "retrieval_score_missing_total",
        "uncited_specific_claim_total",
        "protected_attr_comparison_detected_total",
        "bias_findings_total",
        "low_self_confidence_total",
        "guardrail_errors_total",
        "guardrail_requests_total",
        "guardrail_seconds",
    }
    assert promised <= {metric.value for metric in Metric}


def wait_until_reloaded(runtime: Runtime, day: date) -> None:
    deadline = time.monotonic() + 10
    while runtime._day != day and time.monotonic() < deadline:
        time.sleep(0.01)
    assert runtime._day == day


def test_a_new_day_brings_its_policy(registry: CollectorRegistry) -> None:
    today = [date(2026, 6, 30)]
    first = load_policy()
    new = first.departments[0].model_copy(update={"id": "direction-nouvelle"})
    second = replace(first, digest="nouveau", departments=(*first.departments, new))
    policies: dict[date, Policy] = {date(2026, 6, 30): first, date(2026, 7, 1): second}
    runtime = Runtime({}, metrics=Metrics(registry), today=lambda: today[0], load=lambda day: policies[day])
    runtime.follow_the_day()
    assert runtime.policy is first
    today[0] = date(2026, 7, 1)
    runtime.follow_the_day()
    wait_until_reloaded(runtime, today[0])
    assert runtime.policy is second
    assert registry.get_sample_value("retrieval_gate_refused_total", {"department": "direction-nouvelle"}) == 0


def test_a_policy_that_turns_wrong_leaves_the_last_good_one(
    registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    today = [date(2026, 6, 30)]
    first = load_policy()

    def load(day: date) -> Policy:
        if day > date(2026, 6, 30):
            raise PolicyError("thresholds.yaml", "grounding_floor", "un nombre")
        return first

    runtime = Runtime({}, metrics=Metrics(registry), today=lambda: today[0], load=load)
    today[0] = date(2026, 7, 1)
    runtime.follow_the_day()
    wait_until_reloaded(runtime, today[0])
    assert runtime.policy is first
    assert registry.get_sample_value("guardrail_errors_total", {"stage": "policy"}) == 1
    assert "kind=PolicyError" in caplog.text


def test_origins_are_remembered_for_each_policy(runtime: Runtime) -> None:
    caller = Caller("sinistres", None, None)
    assert runtime.origin_of(caller) is runtime.origin_of(caller)
    assert runtime.origin_of(caller).department == "direction-sinistres"
    assert runtime.origin_of(Caller(["sinistres"], None, None)).department == "non-attribue"
    runtime.policy = replace(runtime.policy, digest="nouveau")
    assert runtime.origin_of(caller).policy_digest == "nouveau"


def test_wrong_settings_stop_the_start(registry: CollectorRegistry) -> None:
    with pytest.raises(TransportError):
        Runtime({"LANGFUSE_PUBLIC_KEY": "pk"}, metrics=Metrics(registry))


def test_the_printed_configuration_serves_every_alias_and_nothing_else() -> None:
    policy = load_policy()
    made = litellm_config.configuration(policy, "ollama_chat", "http://modele", "llama3.2:1b", langfuse=True)
    models = {model["model_name"]: model["litellm_params"]["model"] for model in made["model_list"]}
    assert models == {
        "claims-assistant": "ollama_chat/llama3.2:3b",
        "finance-assistant": "ollama_chat/llama3.2:3b",
        "legal-assistant": "ollama_chat/llama3.2:3b",
        "general-assistant": "ollama_chat/llama3.2:1b",
        "llama3.2:1b": "ollama_chat/llama3.2:1b",
    }
    assert made["litellm_settings"]["callbacks"] == ["compliance_guardrails.litellm_hook.hook"]


def test_the_command_prints_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    assert litellm_config.main(["--without-langfuse", "--api-base", "http://modele:11434", "--at", "2026-06-30"]) == 0
    made = yaml.safe_load(capsys.readouterr().out)
    assert made["model_list"][0]["litellm_params"]["api_base"] == "http://modele:11434"
    assert "success_callback" not in made["litellm_settings"]


def test_only_the_hook_needs_litellm() -> None:
    """Every module but the hook imports where there is no litellm; the hook says what it misses."""
    names = "answers calls decisions events langfuse_wire litellm_config metrics payloads runtime selfeval streams"
    modules = ", ".join(f"compliance_guardrails.{name}" for name in [*names.split(), "streams_events", "transport"])
    heavy = "{'litellm', 'dagster', 'pandas', 'torch', 'numpy', 'langfuse', 'httpx', 'prometheus_client'}"
    program = f"import sys; import {modules}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
