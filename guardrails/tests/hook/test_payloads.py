"""Where question, prompt and answer stand in the bodies of the four endpoints; nothing raises on a strange shape."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from compliance_guardrails.payloads import (
    UNEXAMINED,
    Endpoint,
    callers_turns,
    documents_of,
    endpoint_of,
    put_prompt_first,
    question_of,
    slots_of,
    texts_of,
    unexamined_of,
    without_sources,
)
from hypothesis import given
from hypothesis import strategies as st

USER = {"role": "user", "content": "Quelle franchise ?"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "text", "type", "choices", "message", "output", "index", "x"]), inner
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("call_type", "endpoint"),
    [
        ("acompletion", Endpoint.CHAT),
        ("anthropic_messages", Endpoint.MESSAGES),
        ("aresponses", Endpoint.RESPONSES),
        ("atext_completion", Endpoint.TEXT),
        ("aembedding", None),
        ("aget_responses", None),
        (None, None),
        (["acompletion"], None),
    ],
)
def test_which_calls_are_guarded(call_type: Any, endpoint: Endpoint | None) -> None:
    assert endpoint_of(call_type) is endpoint


@pytest.mark.parametrize(
    ("endpoint", "data", "question"),
    [
        (Endpoint.CHAT, {"messages": [USER, {"role": "assistant", "content": "x"}]}, "Quelle franchise ?"),
        (
            Endpoint.CHAT,
            {"messages": [{"role": "user", "content": "ancien"}, {"role": "assistant", "content": "x"}, USER]},
            "Quelle franchise ?",
        ),
        (
            Endpoint.CHAT,
            {"messages": [{"role": "user", "content": "avant"}, {"role": "system", "content": "x"}, USER]},
            "avant\nQuelle franchise ?",
        ),
        (Endpoint.RESPONSES, {"input": [{"role": "user", "content": "avant"}, USER]}, "avant\nQuelle franchise ?"),
        (Endpoint.CHAT, {"messages": [{"role": "user", "content": [{"text": "a"}, {"image": 1}, "b"]}]}, "a\nb"),
        (Endpoint.MESSAGES, {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}, "a"),
        (Endpoint.RESPONSES, {"input": "a"}, "a"),
        (Endpoint.RESPONSES, {"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]}, "a"),
        (Endpoint.TEXT, {"prompt": "a"}, "a"),
        (Endpoint.TEXT, {"prompt": ["a", "b"]}, "a\nb"),
        (Endpoint.CHAT, {"messages": [{"role": "system", "content": "x"}]}, ""),
        (Endpoint.CHAT, {"messages": None}, ""),
        (Endpoint.CHAT, {}, ""),
    ],
)
def test_the_last_words_of_the_user(endpoint: Endpoint, data: dict[str, Any], question: str) -> None:
    assert question_of(data, endpoint) == question


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("avant <source id='1'>document</source> après", "avant \n après"),
        ("<source>a</source><source>b</source>q", "\n\nq"),
        ("q <source>jamais fermé", "q <source>jamais fermé"),
        ("<source>a</source> <source>caché ?", "\n <source>caché ?"),
        ("</source> q", "</source> q"),
        ("q", "q"),
    ],
)
def test_documents_are_taken_off_and_nothing_else(text: str, left: str) -> None:
    assert without_sources(text) == left


def test_documents_in_a_system_message_are_found() -> None:
    data = {"messages": [{"role": "system", "content": "<source>d</source>"}, USER]}
    assert documents_of(data, Endpoint.CHAT) == "<source>d</source>"
    assert documents_of({"messages": [USER], "system": "sans document"}, Endpoint.MESSAGES) == ""


def test_the_prompt_comes_first_everywhere() -> None:
    chat: dict[str, Any] = {"messages": [{"role": "system", "content": "client"}, USER]}
    put_prompt_first(chat, Endpoint.CHAT, "P")
    assert [m["content"] for m in chat["messages"]] == ["P", "client", "Quelle franchise ?"]
    text: dict[str, Any] = {"system": "client"}
    put_prompt_first(text, Endpoint.MESSAGES, "P")
    assert text["system"] == "P\n\nclient"
    blocks: dict[str, Any] = {"system": [{"type": "text", "text": "client"}]}
    put_prompt_first(blocks, Endpoint.MESSAGES, "P")
    assert [block["text"] for block in blocks["system"]] == ["P", "client"]
    for given_instructions, expected in ((None, "P"), ("client", "P\n\nclient"), (3, "P")):
        responses: dict[str, Any] = {"instructions": given_instructions}
        put_prompt_first(responses, Endpoint.RESPONSES, "P")
        assert responses["instructions"] == expected
    for given_prompt, expected_prompt in (("q", "P\n\nq"), (["q", "r"], ["P\n\nq", "P\n\nr"]), ([1, 2], [1, 2])):
        completion: dict[str, Any] = {"prompt": given_prompt}
        put_prompt_first(completion, Endpoint.TEXT, "P")
        assert completion["prompt"] == expected_prompt


def test_the_callers_turns_leave_our_prompt_out() -> None:
    data: dict[str, Any] = {"messages": [{"role": "system", "content": "P"}, USER]}
    assert callers_turns(data, Endpoint.CHAT, "P") == [USER]
    assert callers_turns(data, Endpoint.CHAT, "autre") == data["messages"]
    assert callers_turns({"input": "q"}, Endpoint.RESPONSES, "P") == "q"


def test_answers_of_every_shape() -> None:
    chat = {
        "choices": [
            {"message": {"content": "un", "reasoning_content": "pensée"}},
            {"message": {"content": None, "tool_calls": [1]}},
            {"message": {"content": "trois"}},
        ]
    }
    assert texts_of(slots_of(chat)) == ("pensée\nun", "", "trois")
    objects = SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="un"))])
    assert texts_of(slots_of(objects)) == ("un",)
    message = {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "tool_use"}, {"text": "b"}]}
    assert texts_of(slots_of(message)) == ("a\nb",)
    output = [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": "a"}]}]
    assert texts_of(slots_of({"output": output})) == ("a",)
    assert texts_of(slots_of({"choices": [{"text": "a"}]})) == ("a",)
    assert slots_of({"data": [{"embedding": [0.1]}]}) == ()


def test_a_slot_changes_in_place() -> None:
    chat = {"choices": [{"message": {"content": "un"}}]}
    (slot,) = slots_of(chat)
    slot.replace("deux")
    assert chat["choices"][0]["message"]["content"] == "deux"


@given(JSON, st.sampled_from(list(Endpoint)))
def test_nothing_raises(value: Any, endpoint: Endpoint) -> None:
    data = dict.fromkeys(("messages", "input", "prompt", "system", "instructions"), value)
    assert isinstance(question_of(data, endpoint), str)
    assert isinstance(documents_of(data, endpoint), str)
    assert all(isinstance(text, str) for text in texts_of(slots_of({"choices": value, "output": value})))
    assert all(isinstance(text, str) for text in texts_of(slots_of(value)))


def test_reasoning_of_a_responses_answer_is_read_but_gets_no_notice() -> None:
    spoken = {"type": "message", "content": [{"type": "output_text", "text": "Bonjour."}]}
    parts = [{"type": "summary_text", "text": "Un."}, {"text": None}, 5]
    thought = {"type": "reasoning", "summary": parts, "content": [{"text": "Un."}, {"text": "Deux."}]}
    slots = slots_of({"output": [thought, spoken, {"type": "reasoning", "summary": None}]})
    assert texts_of(slots) == ("Un.\nDeux.\nBonjour.",)
    assert [slot.shown for slot in slots] == [False, False, True]


def test_a_question_wrapped_whole_as_a_source_is_read_all_the_same() -> None:
    wrapped = "<source id='1'>Refuser parce qu’il est étranger ?</source>\n"
    assert without_sources(wrapped) == wrapped
    assert "étranger" not in without_sources(f"{wrapped} Quelle franchise ?")


@pytest.mark.parametrize("prompt", [[1, 2], [[1, 2], [3]], ["a", 7], 7, {"a": 1}])
def test_a_prompt_of_tokens_is_not_examined(prompt: object) -> None:
    for call_type in ("atext_completion", "text_completion"):
        assert endpoint_of(unexamined_of({"prompt": prompt}, call_type)) is None
        assert unexamined_of({"prompt": prompt}, call_type) in UNEXAMINED
    assert unexamined_of({"prompt": prompt}, "acompletion") == "acompletion"


@pytest.mark.parametrize("prompt", [None, "", "a", [], ["a", "b"]])
def test_a_prompt_of_texts_is(prompt: object) -> None:
    assert endpoint_of(unexamined_of({"prompt": prompt}, "atext_completion")) is Endpoint.TEXT


def test_the_messages_of_a_response_are_one_answer() -> None:
    """A client shows them one after the other: a statement begun in one goes on in the next."""
    said = [{"type": "message", "content": [{"type": "output_text", "text": text}]} for text in ("a", "b")]
    assert texts_of(slots_of({"output": [said[0], {"type": "function_call"}, said[1]]})) == ("a\nb",)
