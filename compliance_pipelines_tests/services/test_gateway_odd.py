"""The hook in a real LiteLLM proxy, over HTTP: odd answers, own failures, gate keys, metrics and logs.

The proxy, the model stub and the Langfuse stand-in are those of conftest.py.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from compliance_pipelines_tests.services.litellm.client import Answer
from compliance_pipelines_tests.services.litellm.mock_model import Reply, say
from compliance_pipelines_tests.services.litellm.samples import BIASED, ENDPOINTS, QUESTION, UNCITED, ask
from compliance_pipelines_tests.services.litellm.setup import Bench, metric

TOOL = {"id": "call_1", "type": "function", "function": {"name": "chercher", "arguments": '{"q": "franchise"}'}}


@pytest.mark.parametrize("key", ["sinistres", "juridique"])
@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls_pass_unharmed(at: Bench, key: str, stream: bool) -> None:
    at.model.answer = lambda _: say(None, tool_calls=(TOOL,))
    tools = [{"type": "function", "function": {"name": "chercher", "parameters": {"type": "object", "properties": {}}}}]
    answer = at.client.as_key(key).chat(QUESTION, tools=tools, stream=stream)
    assert answer.status == 200
    assert "chercher" in answer.raw
    assert "tool_calls" in answer.raw


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("stream", [False, True])
def test_empty_content(at: Bench, endpoint: str, stream: bool) -> None:
    at.model.answer = lambda _: say("")
    answer = ask(at.client, endpoint, stream=stream)
    assert answer.status == 200
    assert answer.text() == ""


def test_a_model_that_fails_is_the_gateways_matter(at: Bench) -> None:
    at.model.answer = lambda _: Reply(status=400)
    assert at.client.chat(QUESTION).status == 400


def test_eight_at_once(at: Bench) -> None:
    """Each answer belongs to its question and each trace to its department."""
    at.model.answer = lambda r: say(f"Écho : {r['messages'][-1]['content']}", pause=0.01)
    keys = ["sinistres", "finance", "audit", "actuariat", "it", "rh", "stranger", "souscription"]

    def one(number: int) -> tuple[Answer, str]:
        answer = at.client.as_key(keys[number % 8]).chat(f"question {number}", stream=number % 2 == 0)
        return answer, f"Écho : question {number}"

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(one, range(32)))
    assert all(answer.status == 200 and answer.text() == expected for answer, expected in done)
    assert len({answer.trace_id for answer, _ in done}) == 32
    for number in (0, 1, 6, 7):
        department = at.generation(done[number][0].trace_id)["metadata"]["compliance_department"]
        assert department == {"stranger": "non-attribue"}.get(keys[number], f"direction-{keys[number]}")


def test_a_client_that_hangs_up(at: Bench) -> None:
    """What it saw is judged; the gateway goes on."""
    at.model.answer = lambda _: say(UNCITED + " Suite." * 200, piece=10, pause=0.02)
    with at.client.leaving_at(b"Suite", QUESTION) as trace_id:
        pass
    at.wait_for_events(trace_id, "uncited-specific-claim")
    at.model.reset()
    assert at.client.chat(QUESTION).status == 200


# Own failures


@pytest.mark.usefixtures("own_failure")
@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("mark", "stage"), [("panne-avant", "pre_call"), ("panne-après", "stream")])
def test_a_rule_that_raises_never_stops_the_gateway(
    at: Bench, endpoint: str, stream: bool, mark: str, stage: str
) -> None:
    stage = "post_call" if mark == "panne-après" and not stream else stage
    before = metric(at, "guardrail_errors_total", stage=stage)
    secret = f"{mark} Dossier de Mme Zoubida Quatrecent"
    at.model.answer = lambda _: say(secret)
    answer = ask(at.client, endpoint, secret if mark == "panne-avant" else QUESTION, stream=stream)
    assert answer.status == 200
    assert answer.text() == secret
    assert metric(at, "guardrail_errors_total", stage=stage) == before + 1
    assert "Quatrecent" not in at.gateway.log_text()


# Gate keys


def test_gate_keys_get_the_hmac_of_the_masked_prompt(at: Bench) -> None:
    gate = at.client.as_key("gate")
    name = "x-compliance-prompt-hmac"
    one, same, other = (gate.chat(text).headers[name] for text in (QUESTION, QUESTION, QUESTION + " "))
    assert one == same != other
    assert len(one) == 64
    assert gate.chat(QUESTION, stream=True).headers[name] == one
    assert name not in at.client.chat(QUESTION).headers


# Metrics and logs


def test_counters_are_served_by_the_gateway(at: Bench) -> None:
    names = ("retrieval_gate_refused_total", "retrieval_score_missing_total", "guardrail_requests_total")
    before = [metric(at, name, department="direction-actuariat") for name in names]
    at.client.as_key("actuariat").chat(QUESTION, score=0.1)
    at.client.as_key("actuariat").chat(QUESTION, score=None)
    after = [metric(at, name, department="direction-actuariat") for name in names]
    assert [b - a for a, b in zip(before, after, strict=True)] == [1, 1, 5]
    assert metric(at, "guardrail_seconds_count", stage="pre_call") > 0


def test_logs_hold_no_text_and_no_secret(at: Bench) -> None:
    at.model.answer = lambda _: say(f"{BIASED} {UNCITED} Signé Aldebert Vingtras.")
    at.client.chat("Dossier Hermengarde Pissenlit : faut-il refuser parce qu’elle est étrangère ?")
    at.client.chat("Dossier Hermengarde Pissenlit", score=0.1)
    at.client.as_key("juridique").chat("Dossier Hermengarde Pissenlit")
    log = at.gateway.log_text()
    assert "protected-attr-comparison-detected" in log
    for word in ("Pissenlit", "Vingtras", "incapables", at.langfuse.secret_key, "sk-test-sinistres", "cle-de-test"):
        assert word not in log, word
