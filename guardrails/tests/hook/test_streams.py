"""Streamed answers: what is held, what is let through, where a notice goes, and that nothing is lost on failure."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from compliance_guardrails import streams
from compliance_guardrails.payloads import Endpoint
from compliance_guardrails.streams import FINDINGS_KEY, StreamGuard, StreamTooLongError
from compliance_guardrails.streams_events import MessagesDialect, dialect_of
from hypothesis import given
from hypothesis import strategies as st

NOTICE = "⚠️ Attention."
FINDINGS = {"bias": []}


def chat_chunk(text: str | None = None, finish: str | None = None, index: int = 0, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": {"content": text, **delta}, "finish_reason": finish}]}


def chat(*texts: str) -> list[dict[str, Any]]:
    return [*(chat_chunk(text) for text in texts), chat_chunk(finish="stop"), {"choices": [], "usage": {"total": 1}}]


def frame(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def messages(*texts: str) -> list[bytes]:
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}} for text in texts
    ]
    events = [
        {"type": "message_start", "message": {"content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    return [frame(event) for event in events]


def responses(*texts: str) -> list[dict[str, Any]]:
    whole = "".join(texts)
    item = {"type": "message", "content": [{"type": "output_text", "text": whole}]}
    place = {"item_id": "m", "output_index": 0, "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created"},
        *({"type": "response.output_text.delta", **place, "delta": text} for text in texts),
        {"type": "response.output_text.done", **place, "text": whole},
        {"type": "response.content_part.done", **place, "part": {"type": "output_text", "text": whole}},
        {"type": "response.output_item.done", "output_index": 0, "item": copy.deepcopy(item)},
        {"type": "response.completed", "response": {"output": [copy.deepcopy(item)]}},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


STREAMS = {Endpoint.CHAT: chat, Endpoint.MESSAGES: messages, Endpoint.RESPONSES: responses}


def said(endpoint: Endpoint, pieces: list[Any]) -> str:
    """The text that a client puts together."""
    dialect = dialect_of(endpoint)
    return "".join(w.text for p in pieces for whole in dialect.cut(p) for w in dialect.words(whole) if w.shown)


def play(
    endpoint: Endpoint, pieces: list[Any], *, buffer: bool, notices: dict[int, str], findings: Any = None
) -> list[Any]:
    guard = StreamGuard(dialect_of(endpoint), buffer=buffer)
    out = [piece for chunk in copy.deepcopy(pieces) for piece in guard.feed(chunk)]
    return out + guard.finish(notices, findings)


@pytest.mark.parametrize("endpoint", STREAMS)
@pytest.mark.parametrize("buffer", [True, False])
def test_a_stream_without_findings_goes_through_as_it_came(endpoint: Endpoint, buffer: bool) -> None:
    pieces = STREAMS[endpoint]("La franchise", " est de 150 €.")
    assert play(endpoint, pieces, buffer=buffer, notices={}) == pieces


@pytest.mark.parametrize("endpoint", STREAMS)
def test_held_back_nothing_goes_out_before_the_end(endpoint: Endpoint) -> None:
    guard = StreamGuard(dialect_of(endpoint), buffer=True)
    assert [guard.feed(piece) for piece in STREAMS[endpoint]("un", "deux")].count([]) == len(
        STREAMS[endpoint]("un", "deux")
    )
    assert guard.texts() == ("undeux",)


@pytest.mark.parametrize("endpoint", STREAMS)
def test_let_through_words_go_out_at_once(endpoint: Endpoint) -> None:
    guard = StreamGuard(dialect_of(endpoint), buffer=False)
    out = [piece for chunk in STREAMS[endpoint]("un", "deux") for piece in guard.feed(chunk)]
    assert said(endpoint, out) == "undeux"


@pytest.mark.parametrize("endpoint", STREAMS)
@pytest.mark.parametrize("buffer", [True, False])
def test_a_notice_stands_before_or_after(endpoint: Endpoint, buffer: bool) -> None:
    done = play(endpoint, STREAMS[endpoint]("un", "deux"), buffer=buffer, notices={0: NOTICE})
    text = said(endpoint, done)
    assert text.replace("\n\n", "|") == (f"{NOTICE}|undeux" if buffer else text.replace("\n\n", "|"))
    assert text.startswith("undeux") != buffer
    assert text.count(NOTICE) == 1


@pytest.mark.parametrize("endpoint", STREAMS)
@pytest.mark.parametrize("buffer", [True, False])
def test_findings_stand_once_at_the_end(endpoint: Endpoint, buffer: bool) -> None:
    done = play(endpoint, STREAMS[endpoint]("un"), buffer=buffer, notices={}, findings=FINDINGS)
    raw = "".join(p.decode() if isinstance(p, bytes) else json.dumps(p) for p in done)
    assert raw.count(FINDINGS_KEY) == 1


@pytest.mark.parametrize("buffer", [True, False])
def test_responses_stay_consistent(buffer: bool) -> None:
    done = play(Endpoint.RESPONSES, responses("un", "deux"), buffer=buffer, notices={0: NOTICE})
    numbers = [event["sequence_number"] for event in done]
    assert numbers == list(range(len(done)))
    text = said(Endpoint.RESPONSES, done)
    kinds = {event["type"]: event for event in done}
    assert kinds["response.output_text.done"]["text"] == text
    assert kinds["response.content_part.done"]["part"]["text"] == text
    assert kinds["response.output_item.done"]["item"]["content"][0]["text"] == text
    assert kinds["response.completed"]["response"]["output"][0]["content"][0]["text"] == text


@pytest.mark.parametrize("buffer", [True, False])
def test_several_messages_of_a_response_are_one_answer_with_one_notice(buffer: bool) -> None:
    first = [event for event in responses("un") if event["type"] != "response.completed"]
    second = [event for event in responses("deux") if event["type"] not in {"response.created", "response.completed"}]
    items = [event["item"] for event in (first[-1], second[-1])]
    second = [{**event, "output_index": 1} for event in second]
    last = {"type": "response.completed", "response": {"output": copy.deepcopy(items)}}
    guard = StreamGuard(dialect_of(Endpoint.RESPONSES), buffer=buffer)
    done = [piece for event in copy.deepcopy([*first, *second, last]) for piece in guard.feed(event)]
    assert guard.texts() == ("un\ndeux",)
    done += guard.finish({0: NOTICE}, None)
    whole = [f"{NOTICE}\n\nun", "deux"] if buffer else ["un", f"deux\n\n{NOTICE}"]
    final = [item["content"][0]["text"] for item in done[-1]["response"]["output"]]
    deltas = ["", ""]
    for event in done:
        if event["type"] == "response.output_text.delta":
            deltas[event["output_index"]] += event["delta"]
    repeated = [event["text"] for event in done if event["type"] == "response.output_text.done"]
    assert final == deltas == repeated == whole


def test_a_finishing_chunk_that_also_speaks() -> None:
    pieces = [chat_chunk("un"), chat_chunk("deux", finish="stop")]
    done = play(Endpoint.CHAT, pieces, buffer=False, notices={0: NOTICE})
    assert said(Endpoint.CHAT, done) == f"undeux\n\n{NOTICE}"
    assert [piece["choices"][0]["finish_reason"] for piece in done] == [None, None, "stop"]


def test_each_choice_gets_its_own_notice() -> None:
    pieces = [chat_chunk("a", index=0), chat_chunk("b", index=1), chat_chunk(finish="stop", index=0)]
    done = play(Endpoint.CHAT, pieces, buffer=False, notices={1: NOTICE})
    by_choice = {
        at: "".join(p["choices"][0]["delta"]["content"] or "" for p in done if p["choices"][0]["index"] == at)
        for at in (0, 1)
    }
    assert by_choice == {0: "a", 1: f"b\n\n{NOTICE}"}


def test_reasoning_is_kept_apart() -> None:
    guard = StreamGuard(dialect_of(Endpoint.CHAT), buffer=True)
    guard.feed(chat_chunk(None, reasoning_content="je pense"))
    guard.feed(chat_chunk("réponse"))
    assert guard.texts() == ("je pense\nréponse",)
    done = guard.finish({0: NOTICE}, None)
    assert done[0]["choices"][0]["delta"]["reasoning_content"] == "je pense"
    assert done[1]["choices"][0]["delta"]["content"].startswith(NOTICE)


@given(st.lists(st.integers(1, 400), max_size=8), st.sampled_from([b"\n\n", b"\r\n\r\n"]))
def test_frames_are_found_wherever_they_are_cut(cuts: list[int], end: bytes) -> None:
    raw = b"".join(piece.replace(b"\n\n", end) for piece in messages("La franchise", " est de 150 €."))
    chunks, at = [], 0
    for cut in cuts:
        chunks.append(raw[at : at + cut])
        at += cut
    chunks.append(raw[at:])
    dialect = MessagesDialect()
    frames = [piece for chunk in chunks for piece in dialect.cut(chunk)]
    assert b"".join([*frames, *dialect.rest()]) == raw
    assert "".join(w.text for piece in frames for w in dialect.words(piece)) == "La franchise est de 150 €."


def test_what_is_not_an_event_goes_through() -> None:
    odd = [b": ping\n\n", b"event: x\ndata: {cass\xc3\n\n", b"data: [1]\n\n", b"reste"]
    guard = StreamGuard(dialect_of(Endpoint.MESSAGES), buffer=False)
    out = [piece for chunk in odd for piece in guard.feed(chunk)]
    assert b"".join(out + guard.give_up()) == b"".join(odd)


@pytest.mark.parametrize("endpoint", STREAMS)
@pytest.mark.parametrize("buffer", [True, False])
@pytest.mark.parametrize("fails_at", range(6))
def test_after_a_failure_every_piece_goes_out_once(
    endpoint: Endpoint, buffer: bool, fails_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = STREAMS[endpoint]("un", "deux")
    calls = iter(range(100))
    dialect = dialect_of(endpoint)
    words = dialect.words

    def failing(piece: Any) -> Any:
        if next(calls) == fails_at:
            raise RuntimeError
        return words(piece)

    monkeypatch.setattr(dialect, "words", failing)
    guard, out = StreamGuard(dialect, buffer=buffer), []
    for chunk in pieces:
        try:
            out += [chunk] if guard.broken else guard.feed(chunk)
        except RuntimeError:
            out += guard.give_up()
    out += [] if guard.broken else guard.give_up()
    assert out == pieces


@pytest.mark.parametrize("endpoint", STREAMS)
def test_memory_is_bounded(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_CHARACTERS", 10)
    guard = StreamGuard(dialect_of(endpoint), buffer=True)
    chunks = STREAMS[endpoint]("x" * 8, "y" * 8)
    with pytest.raises(StreamTooLongError):
        [guard.feed(chunk) for chunk in chunks]


@pytest.mark.parametrize("endpoint", [Endpoint.CHAT, Endpoint.MESSAGES, Endpoint.RESPONSES])
def test_whether_a_notice_found_its_place_is_known(endpoint: Endpoint) -> None:
    """A held answer without words that the user sees has none: the stamp must not say that one was shown."""
    wordless = {
        Endpoint.CHAT: [chat_chunk(reasoning_content="150 €"), chat_chunk(finish="tool_calls")],
        Endpoint.MESSAGES: messages(),
        Endpoint.RESPONSES: responses(),
    }[endpoint]
    for pieces, noticed in ((wordless, False), (STREAMS[endpoint]("La franchise", " est de 150 €."), True)):
        guard = StreamGuard(dialect_of(endpoint), buffer=True)
        for piece in pieces:
            guard.feed(piece)
        guard.finish({0: NOTICE}, None)
        assert guard.noticed is noticed


def test_pieces_without_words_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_PIECES", 3)
    guard = StreamGuard(dialect_of(Endpoint.CHAT), buffer=True)
    pieces = [chat_chunk(tool_calls=[{"index": number}]) for number in range(4)]
    for piece in pieces[:3]:
        assert guard.feed(piece) == []
    with pytest.raises(StreamTooLongError):
        guard.feed(pieces[3])
    assert guard.give_up() == pieces
