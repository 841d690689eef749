"""Words beside an answer's text: found in every shape, read through JSON in any pieces, kept apart from the text."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from compliance_guardrails.asides import asides_of, readable, strings
from compliance_guardrails.payloads import Endpoint, slots_of, texts_of
from compliance_guardrails.streams import StreamGuard
from compliance_guardrails.streams_events import dialect_of
from hypothesis import given
from hypothesis import strategies as st

BAD = "Les étrangers fraudent."
ARGUMENTS = json.dumps({"q": BAD})  # with é as an escape
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ARGUMENTS}}
CITATION = {"type": "url_citation", "url_citation": {"url": "http://x", "title": BAD}}

CHAT = [
    {"tool_calls": [CALL]},
    {"function_call": {"name": "f", "arguments": ARGUMENTS}},
    {"audio": {"id": "a", "data": "AAAA", "transcript": BAD}},
    {"annotations": [CITATION]},
    {"thinking_blocks": [{"type": "thinking", "thinking": BAD, "signature": "x"}]},
    {"provider_specific_fields": {"note": BAD}},
]


def whole(answer: object) -> tuple[str, ...]:
    slots = slots_of(answer)
    assert BAD not in "".join(texts_of(slots))
    return asides_of(answer, {slot.text for slot in slots})


def streamed(endpoint: Endpoint, *pieces: Any) -> tuple[str, ...]:
    guard = StreamGuard(dialect_of(endpoint), buffer=True)
    for piece in pieces:
        guard.feed(piece)
    assert BAD not in "".join(guard.texts())
    return guard.asides()


@pytest.mark.parametrize("extra", CHAT, ids=lambda extra: next(iter(extra)))
def test_beside_a_chat_answer(extra: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": "Voici.", **extra}
    as_object = json.loads(json.dumps(message), object_hook=lambda found: SimpleNamespace(**found))
    for form in (message, as_object):
        first, second = whole({"choices": [{"message": {"content": "a"}}, {"message": form}]})
        assert first == ""
        assert BAD in second
        assert "Voici" not in second
    assert BAD in streamed(Endpoint.CHAT, {"choices": [{"index": 0, "delta": message, "finish_reason": None}]})[0]


def test_one_letter_at_a_time() -> None:
    pieces = [
        {"choices": [{"index": 1, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": letter}}]}}]}
        for letter in ARGUMENTS
    ]
    assert BAD in streamed(Endpoint.CHAT, *pieces)[1]
    events = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": letter}}
        for letter in ARGUMENTS
    ]
    assert BAD in streamed(Endpoint.MESSAGES, *events)[0]
    arguments = [
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": letter} for letter in ARGUMENTS
    ]
    assert BAD in streamed(Endpoint.RESPONSES, *arguments)[0]


def test_beside_messages_and_responses() -> None:
    text = {"type": "text", "text": "Voici."}
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {"q": [BAD]}}
    assert BAD in whole({"role": "assistant", "content": [text, block]})[0]
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    assert BAD in streamed(Endpoint.MESSAGES, start)[0]
    call = {"type": "function_call", "name": "f", "arguments": ARGUMENTS}
    said = {"type": "message", "content": [{"type": "output_text", "text": "a", "annotations": [{"title": BAD}]}]}
    for item in (call, said):
        assert BAD in whole({"output": [item]})[0]
    annotation = {"type": "response.output_text.annotation.added", "annotation": {"title": BAD}}
    assert BAD in streamed(Endpoint.RESPONSES, annotation)[0]


def test_documents_and_results_of_tools_are_not_the_models_words() -> None:
    found = {"type": "file_search_call", "queries": ["franchise"], "results": [{"text": BAD}]}
    called = {"type": "mcp_call", "name": "lire", "arguments": "{}", "output": BAD}
    (aside,) = whole({"output": [found, called]})
    assert BAD not in aside
    assert "franchise" in aside


def test_words_that_come_without_deltas_are_the_answers_text() -> None:
    done = {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": BAD}
    item = {"type": "message", "content": [{"type": "output_text", "text": BAD}]}
    ended = {"type": "response.completed", "response": {"output": [item]}}
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": BAD}}
    for endpoint, piece in ((Endpoint.RESPONSES, done), (Endpoint.RESPONSES, ended), (Endpoint.MESSAGES, start)):
        guard = StreamGuard(dialect_of(endpoint), buffer=True)
        guard.feed(piece)
        assert BAD in guard.texts()[0]
    guard = StreamGuard(dialect_of(Endpoint.RESPONSES), buffer=True)
    for piece in ({**done, "type": "response.output_text.delta", "delta": BAD}, done, ended):
        guard.feed(piece)
    assert guard.texts() == (BAD,)


def test_what_repeats_the_text_is_not_beside_it() -> None:
    same = {"content": "a", "reasoning_content": "b", "thinking_blocks": [{"thinking": "b"}], "x": {"content": "a"}}
    assert whole({"choices": [{"message": same}]}) == ("",)
    assert streamed(Endpoint.CHAT, {"choices": [{"index": 0, "delta": same}]}) == ()


def test_only_json_is_unwrapped() -> None:
    found = readable('{"a": "l\\u00e9ger", "b": ["x\\n\\"y\\""]}')
    assert found.split() == ["{", "a", ":", "léger", ",", "b", ":", "[", "x", '"y"', "]}"]
    assert readable("\\ud83d") == " "
    assert readable('Il a dit "non" hier.') == 'Il a dit "non" hier.'


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=4), st.lists))
def test_nothing_raises(value: object) -> None:
    for made in ({"choices": value}, {"output": value}, {"content": value}, value, {"choices": [{"message": value}]}):
        assert all(isinstance(text, str) for text in asides_of(made, ()))


def test_depth_is_bounded() -> None:
    deep: Any = BAD
    for _ in range(100_000):
        deep = [deep]
    assert list(strings(deep)) == []
