"""A gateway whose policy refuses calls when a guardrail itself fails, and which caches answers."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from compliance_pipelines_tests.services.litellm.gateway import ENVIRONMENT, ROOT
from compliance_pipelines_tests.services.litellm.mock_model import say
from compliance_pipelines_tests.services.litellm.setup import Bench, bench, metric, policy_with

UNCITED = "La franchise est de 150 €."
NOTICE = "⚠️ Je ne dispose pas"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bench]:
    directory = tmp_path_factory.mktemp("strict")
    policy = policy_with(directory, ("guardrails.yaml", "on_error: pass", "on_error: refuse"))
    with bench(directory, policy, {"cache": True, "cache_params": {"type": "local"}}) as made:
        yield made


@pytest.mark.usefixtures("own_failure")
@pytest.mark.parametrize("endpoint", ["chat", "messages", "responses"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_failing_rule_refuses_before_the_model(at: Bench, endpoint: str, stream: bool) -> None:
    before = metric(at, "guardrail_errors_total", stage="pre_call")
    answer = getattr(at.client, endpoint)("panne-avant", stream=stream)
    assert answer.status == 503
    assert answer.message.startswith("Un contrôle de conformité n’a pas pu être effectué.")
    assert at.model.requests == []
    assert metric(at, "guardrail_errors_total", stage="pre_call") == before + 1
    stored = at.generation(answer.headers["x-litellm-call-id"].replace("-", ""))
    assert stored["metadata"]["compliance_delivered"] == "blocked"


@pytest.mark.usefixtures("own_failure")
@pytest.mark.parametrize("endpoint", ["chat", "messages", "responses"])
def test_a_failing_rule_withholds_the_answer(at: Bench, endpoint: str) -> None:
    at.model.answer = lambda _: say("panne-après secret")
    answer = getattr(at.client, endpoint)("question de retenue")
    assert answer.status == 503
    assert "secret" not in answer.raw
    stored = at.generation(answer.headers["x-litellm-call-id"].replace("-", ""))
    assert stored["metadata"]["compliance_delivered"] == "blocked"


@pytest.mark.usefixtures("own_failure")
def test_a_failing_rule_withholds_a_held_stream(at: Bench) -> None:
    at.model.answer = lambda _: say("panne-après secret")
    answer = at.client.as_key("finance").chat("question de flux retenu", stream=True)
    assert answer.status == 503
    assert "secret" not in answer.raw


@pytest.mark.usefixtures("own_failure")
def test_a_failing_rule_ends_an_open_stream_with_an_error(at: Bench) -> None:
    """What has gone out cannot be taken back: the stream ends without a finish reason."""
    at.model.answer = lambda _: say("panne-après " * 20)
    body = {
        "model": "claims-assistant", "messages": [{"role": "user", "content": "question de flux ouvert"}],
        "stream": True, "metadata": {"retrieval_score": 0.9},
    }  # fmt: skip
    seen = b""
    with (
        at.client.http.stream("POST", "/v1/chat/completions", json=body, headers=at.client.headers()) as answer,
        contextlib.suppress(httpx.RemoteProtocolError),  # cut, or closed in order: either is an end without success
    ):
        for chunk in answer.iter_raw():
            seen += chunk
    assert "panne" in seen.decode("utf-8", "ignore")
    assert b"finish_reason" not in seen
    assert b"[DONE]" not in seen
    at.model.reset()
    assert at.client.chat("une autre question").status == 200


@pytest.mark.parametrize("stream", [False, True])
def test_cached_answers_are_judged_again_and_changed_once(at: Bench, stream: bool) -> None:
    at.model.answer = lambda _: say(UNCITED)
    at.model.rating = lambda _: say("1")
    question = f"question en cache {stream}"
    first, second, third = (at.client.chat(question, stream=stream) for _ in range(3))
    assert len(at.model.asked()) == 1
    for answer in (first, second, third):
        assert answer.text().count(NOTICE) == 1
        assert UNCITED in answer.text()
        at.wait_for_events(answer.trace_id, "low_self_confidence", "uncited-specific-claim")
    assert len({first.trace_id, second.trace_id, third.trace_id}) == 3


def test_the_gate_stands_before_the_cache(at: Bench) -> None:
    question = "question en cache et refusée"
    assert at.client.chat(question).status == 200
    assert at.client.chat(question, score=0.1).status == 400


def test_departments_do_not_share_cached_answers(at: Bench) -> None:
    """The prompt put first is part of what the cache compares."""
    at.model.answer = lambda request: say(request["messages"][0]["content"][:40])
    question = "question commune"
    sinistres = at.client.chat(question).text()
    assert at.client.as_key("juridique").chat(question).text() != sinistres
    assert at.client.chat(question).text() == sinistres


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "thresholds.yaml: grounding_floor: attendu un nombre"),
        ({"COMPLIANCE_POLICY_DIR": "absent"}, "attendu un dossier de politique lisible"),
        ({"COMPLIANCE_POLICY_DIR": "", "LANGFUSE_PUBLIC_KEY": "p", "LANGFUSE_SECRET_KEY": "s"}, "LANGFUSE_BASE_URL"),
    ],
)
def test_a_gateway_that_cannot_start_says_why_in_one_line(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    """The proxy's own module stands for a proxy that is starting; its hundreds of lines hid the one that counts."""
    policy = policy_with(tmp_path, ("thresholds.yaml", "grounding_floor: 0.35", "grounding_floor: 0,35"))
    program = (
        "import sys, types; sys.modules['litellm.proxy.proxy_server'] = types.ModuleType('started');"
        "import compliance_guardrails.litellm_hook"
    )
    environment = {"PYTHONPATH": str(ROOT / "guardrails"), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(
        [str(ENVIRONMENT / "bin" / "python"), "-c", program],
        capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path,
        env={**environment, "COMPLIANCE_POLICY_DIR": str(policy), **settings},
    )  # fmt: skip
    (line,) = done.stderr.splitlines()
    assert said in line
    assert done.returncode == 2
