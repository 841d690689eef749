"""Ways round the hook in a real LiteLLM proxy, over HTTP: parameters and headers of LiteLLM's own, other endpoints.

Each of these reached the model without the department's prompt, or the client without the screen, or left no text in
the trace. The proxy, the model stub and the Langfuse stand-in are those of conftest.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from compliance_pipelines_tests.services.litellm.mock_model import Reply, say
from compliance_pipelines_tests.services.litellm.samples import BIASED, ENDPOINTS, QUESTION, UNCITED, ask
from compliance_pipelines_tests.services.litellm.setup import Bench, metric

OWN = "gestionnaires de sinistres"
OTHER = [{"role": "user", "content": "DETOURNEMENT"}]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize(
    "rewrite",
    [
        {"extra_body": {"messages": OTHER, "model": "autre"}},
        {"litellm_system_prompt": "DETOURNEMENT"},
        {"supports_system_message": False},
        {"additional_drop_params": ["instructions", "system", "messages"]},
        {"ensure_alternating_roles": True, "user_continue_message": OTHER[0]},
        {"custom_llm_provider": "hosted_vllm"},
    ],
    ids=lambda rewrite: next(iter(rewrite)),
)
def test_no_parameter_rewrites_what_the_model_reads(at: Bench, endpoint: str, rewrite: dict[str, Any]) -> None:
    assert ask(at.client, endpoint, **rewrite).status == 200
    (sent,) = at.model.asked()
    assert sent["model"] == "llama3.2:3b"
    assert sent["messages"][0]["role"] == "system"
    assert json.dumps(sent["messages"][0], ensure_ascii=False).find(OWN) < 60
    assert OWN in json.dumps(sent["messages"][0], ensure_ascii=False)
    assert "DETOURNEMENT" not in json.dumps(sent)


def test_a_provoked_failure_does_not_lead_to_other_words(at: Bench) -> None:
    """The client's own time limit makes the first call fail; its "fallback" brings other messages."""
    at.model.answer = lambda request: say(
        "Bonjour.", first=2.0 if OWN in json.dumps(request, ensure_ascii=False) else 0
    )
    fallbacks = [{"model": "general-assistant", "messages": OTHER}]
    answer = at.client.chat(QUESTION, fallbacks=fallbacks, timeout=0.3, num_retries=0)
    assert answer.status == 408
    assert "DETOURNEMENT" not in json.dumps(at.model.requests)


@pytest.mark.parametrize("name", ["litellm-enable-message-redaction", "x-litellm-enable-message-redaction"])
def test_no_header_keeps_the_text_out_of_the_trace(at: Bench, name: str) -> None:
    at.model.answer = lambda _: say(UNCITED)
    body = {"messages": [{"role": "user", "content": QUESTION}], "metadata": {"retrieval_score": 0.9}}
    answer = at.client.post("/v1/chat/completions", body, headers={name: "true"})
    assert "150" in at.generation(answer.trace_id)["output"]


def test_a_stream_by_another_name_is_held_back_too(at: Bench) -> None:
    """LiteLLM quoted the whole answer of the model in its error."""
    at.model.answer = lambda _: say(BIASED)
    body = {"messages": [{"role": "user", "content": QUESTION}], "metadata": {"retrieval_score": 0.9}, "stream": 1}
    answer = at.client.as_key("commercial").post("/v1/chat/completions", body)
    assert answer.status == 400
    assert "femmes" not in answer.raw


GEMINI: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1beta/models/claims-assistant:generateContent", GEMINI),
        ("/v1beta/models/claims-assistant:streamGenerateContent", GEMINI),
        ("/models/claims-assistant:generateContent", GEMINI),
        ("/v1beta/interactions", {"input": QUESTION}),
        ("/v1/responses/compact", {"input": QUESTION}),
    ],
)
def test_endpoints_that_are_not_examined_do_not_reach_the_model(at: Bench, path: str, body: dict[str, Any]) -> None:
    answer = at.client.post(path, {**body, "metadata": {"retrieval_score": 0.9}})
    assert answer.status == 400
    assert "outside the compliance guardrails" in answer.raw
    assert at.model.requests == []


def test_an_exempt_key_may_use_them(at: Bench) -> None:
    assert at.client.as_key("judge").post("/v1beta/models/claims-assistant:generateContent", GEMINI).status == 200


def test_the_gate_stands_before_embeddings_too(at: Bench) -> None:
    body = {"model": "general-assistant", "input": "x"}
    before = metric(at, "retrieval_gate_refused_total", department="direction-it")
    client = at.client.as_key("it")
    refused = client.post("/v1/embeddings", {**body, "metadata": {"retrieval_score": 0.1}})
    assert refused.status == 400
    assert "référent" in refused.message
    assert at.model.requests == []
    assert metric(at, "retrieval_gate_refused_total", department="direction-it") == before + 1
    trace_id = refused.headers["x-litellm-call-id"].replace("-", "")
    at.wait_for_events(trace_id, "retrieval_gate_blocked")
    assert at.generation(trace_id)["metadata"]["compliance_delivered"] == "blocked"
    for score in ({"metadata": {"retrieval_score": 0.9}}, {}):
        client.post("/v1/embeddings", {**body, **score})
        assert len(at.model.requests) > 0
        at.model.requests.clear()


@pytest.mark.parametrize("endpoint", ["chat", "messages"])
def test_an_answer_that_breaks_off_is_judged_as_far_as_it_was_seen(at: Bench, endpoint: str) -> None:
    before = metric(at, "bias_findings_total", department="non-attribue")
    at.model.answer = lambda _: say(f"{BIASED} {UNCITED} " + "Suite. " * 40, piece=40, pause=0.02, break_after=8)
    answer = ask(at.client.as_key("stranger"), endpoint, stream=True, model="general-assistant")
    assert "femmes" in answer.raw
    at.wait_for_events(answer.trace_id, "bias-screen-finding", "uncited-specific-claim")
    assert metric(at, "bias_findings_total", department="non-attribue") > before


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_that_is_sent_along_is_screened(at: Bench, endpoint: str, stream: bool) -> None:
    at.model.answer = lambda _: say("Bonjour.", reasoning=BIASED)
    answer = ask(at.client.as_key("juridique"), endpoint, stream=stream)
    assert "femmes" not in answer.raw
    assert answer.status == (200 if endpoint == "responses" and stream else 400)


# One check that fails is not all of them


@pytest.mark.usefixtures("own_failure")
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_question_that_cannot_be_examined_has_its_gate_and_its_prompt(at: Bench, endpoint: str) -> None:
    low: Any = "0.1" if endpoint == "responses" else 0.1
    assert ask(at.client, endpoint, "panne-avant", score=low).status == 400
    assert at.model.requests == []
    assert ask(at.client, endpoint, "panne-avant").status == 200
    (sent,) = at.model.asked()
    assert OWN in json.dumps(sent["messages"][0], ensure_ascii=False)


@pytest.mark.usefixtures("own_failure")
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_whose_citations_cannot_be_read_is_screened_for_bias(at: Bench, stream: bool) -> None:
    at.model.answer = lambda _: say(f"panne-citations. {BIASED}")
    before = metric(at, "guardrail_errors_total")
    answer = at.client.as_key("juridique").chat(QUESTION, stream=stream)
    assert answer.status == 400
    assert "femmes" not in answer.raw
    assert metric(at, "guardrail_errors_total") == before + 1


def test_a_model_that_fails_is_not_the_hooks_failure(at: Bench) -> None:
    at.model.answer = lambda _: Reply(status=400)
    before = metric(at, "guardrail_errors_total")
    assert at.client.as_key("juridique").chat(QUESTION, stream=True).status == 400
    assert metric(at, "guardrail_errors_total") == before
