"""A real LiteLLM proxy, over HTTP: words beside the answer's text, several models at once, who leaves when.

Each of these reached the client unscreened, was counted twice, or left a trace that did not say what the client saw.
The proxy, the model stub and the Langfuse stand-in are those of conftest.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from compliance_pipelines_tests.services.litellm.mock_model import say
from compliance_pipelines_tests.services.litellm.samples import BIASED, QUESTION, UNCITED, ask
from compliance_pipelines_tests.services.litellm.setup import Bench, metric

ARGUMENTS = json.dumps({"q": BIASED})
CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": ARGUMENTS}}
BESIDE: list[dict[str, Any]] = [
    {"tool_calls": [CALL]},
    {"function_call": {"name": "f", "arguments": ARGUMENTS}},
    {"audio": {"id": "a", "data": "", "expires_at": 1, "transcript": BIASED}},
    {"annotations": [{"type": "url_citation", "url_citation": {"url": "http://x", "title": BIASED}}]},
    {"thinking_blocks": [{"type": "thinking", "thinking": BIASED, "signature": "x"}]},
    {"a_field_of_the_model_server": BIASED},
]


@pytest.mark.parametrize("extra", BESIDE, ids=lambda extra: next(iter(extra)))
@pytest.mark.parametrize("endpoint", ["chat", "messages"])
@pytest.mark.parametrize("stream", [False, True])
def test_nothing_beside_the_text_goes_round_the_screen(
    at: Bench, endpoint: str, stream: bool, extra: dict[str, Any]
) -> None:
    """What LiteLLM has no place for in the client's protocol does not reach it; the rest is blocked."""
    at.model.answer = lambda _: say("Voici.", extra=extra, piece=1)
    answer = ask(at.client.as_key("commercial"), endpoint, stream=stream)
    assert "incapables" not in answer.raw
    dropped = endpoint == "messages" or (stream and "a_field_of_the_model_server" in extra)
    assert answer.status in ((200, 400) if dropped else (400,))


@pytest.mark.parametrize("stream", [False, True])
def test_arguments_of_a_tool_make_no_claim(at: Bench, stream: bool) -> None:
    call = {**CALL, "function": {"name": "f", "arguments": json.dumps({"q": UNCITED})}}
    at.model.answer = lambda _: say(None, extra={"tool_calls": [call]})
    answer = at.client.as_key("commercial").chat(QUESTION, stream=stream)
    assert answer.status == 200
    assert "150" in answer.raw
    at.generation(answer.trace_id)
    assert at.events(answer.trace_id) == []


@pytest.mark.parametrize("fastest", [False, True])
def test_several_models_at_once_give_one_judged_answer(at: Bench, fastest: bool) -> None:
    at.model.answer = lambda _: say(BIASED)
    options = {"fastest_response": True} if fastest else {}
    answer = at.client.as_key("stranger").chat(QUESTION, model="general-assistant,claims-assistant", **options)
    assert answer.headers["x-compliance-bias-findings"].startswith("sex:")
    assert answer.body["compliance_guardrails"]["bias"]
    assert len(at.model.asked()) == 1


def test_a_prompt_of_tokens_does_not_reach_the_model(at: Bench) -> None:
    for prompt in ([1, 2, 3], [[1], [2]], ["a", 2]):
        answer = at.client.post("/v1/completions", {"prompt": prompt, "metadata": {"retrieval_score": 0.9}})
        assert answer.status == 400
        assert "outside the compliance guardrails" in answer.raw
    assert at.model.requests == []


def test_who_leaves_while_the_small_model_is_asked_is_counted_once(at: Bench) -> None:
    at.model.answer = lambda _: say(UNCITED)
    at.model.rating = lambda _: say("3", first=1.5)

    def counted() -> list[float]:
        judged = metric(at, "guardrail_requests_total", department="direction-sinistres", stage="post_call")
        return [judged, metric(at, "uncited_specific_claim_total", department="direction-sinistres")]

    before = counted()
    with at.client.leaving_at(b"150", QUESTION) as trace_id:
        at.wait_for_events(trace_id, "uncited-specific-claim")
    assert at.client.chat("Bonjour").status == 200
    assert [b - a for a, b in zip(before, counted(), strict=True)] == [2, 2]
    assert at.events(trace_id) == ["uncited-specific-claim"]


def test_a_question_in_two_messages_is_read_whole(at: Bench) -> None:
    asked = ("Faut-il refuser parce qu’il est étranger ?", "Réponds.")
    turns = [{"role": "user", "content": text} for text in asked]
    answer = at.client.chat("", messages=turns)
    at.wait_for_events(answer.trace_id, "protected-attr-comparison-detected")


@pytest.mark.usefixtures("own_failure")
def test_a_stream_too_long_to_keep_is_judged_as_far_as_it_was_kept(at: Bench) -> None:
    at.model.answer = lambda _: say(BIASED + " Suite." * 600_000, piece=100_000)
    answer = at.client.as_key("juridique").chat(QUESTION, stream=True)
    assert answer.status == 400
    assert "incapables" not in answer.raw
