"""Streamed answers of the two APIs that send typed events: Anthropic's Messages and OpenAI's Responses.

Messages come as server-sent events in bytes, whose frames may be split over chunks, or as dicts; Responses come as
event objects. An inserted notice keeps block numbers and sequence numbers consistent. See `streams` for the interface.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .payloads import Endpoint, Slot, get, put, slots_of
from .streams import FINDINGS_KEY, GAP, MAX_CHARACTERS, ChatDialect, Dialect, StreamTooLongError, Words

_ENDS: Final = (b"\n\n", b"\r\n\r\n")


def dialect_of(endpoint: Endpoint) -> Dialect:
    """The dialect of an endpoint."""
    if endpoint is Endpoint.MESSAGES:
        return MessagesDialect()
    return ResponsesDialect() if endpoint is Endpoint.RESPONSES else ChatDialect()


class MessagesDialect:
    """Server-sent events of the Messages API. A message is one choice."""

    def __init__(self) -> None:
        self._open = b""
        self._blocks = 0

    def cut(self, chunk: Any) -> list[Any]:
        """Whole frames: bytes up to and with their blank line, or one dict."""
        raw = chunk.encode() if isinstance(chunk, str) else chunk
        if not isinstance(raw, bytes):
            return [chunk]
        # Ends are looked for from where the last search stopped, so that a long frame in small chunks stays linear.
        seen = max(0, len(self._open) - 3)
        held, frames, at = self._open + raw, [], 0
        while found := min(((place, end) for end in _ENDS if (place := held.find(end, seen)) >= 0), default=None):
            stop = found[0] + len(found[1])
            frames.append(held[at:stop])
            at = seen = stop
        self._open = held[at:]
        if len(self._open) > MAX_CHARACTERS:
            raise StreamTooLongError
        return frames

    def rest(self) -> list[Any]:
        """Bytes of a frame that never closed."""
        left, self._open = self._open, b""
        return [left] if left else []

    def words(self, piece: Any) -> list[Words]:
        """Text and thinking deltas."""
        event = _event_of(piece)
        kind = get(event, "type")
        if kind == "content_block_start":
            number = get(event, "index")
            self._blocks = max(self._blocks, number + 1 if isinstance(number, int) else 0)
        if kind != "content_block_delta":
            return []
        delta = get(event, "delta")
        for key, shown in (("text", True), ("thinking", False)):
            text = get(delta, key)
            if isinstance(text, str) and text:
                return [Words(0, text, shown)]
        return []

    def closes(self, piece: Any) -> bool:
        """The message's own delta, which carries the stop reason."""
        return get(_event_of(piece), "type") in {"message_delta", "message_stop"}

    def prepend(self, pieces: list[Any], choice: int, notice: str) -> None:
        """Into the first text delta."""
        del choice
        for at, piece in enumerate(pieces):
            event = _event_of(piece)
            text = get(get(event, "delta"), "text")
            if get(event, "type") == "content_block_delta" and isinstance(text, str) and text:
                changed = {**event, "delta": {**event["delta"], "text": notice + GAP + text}}
                pieces[at] = _as_came(piece, changed)
                return

    def append(self, pieces: list[Any], choice: int, notice: str) -> None:
        """As a text block of its own before the message closes."""
        del choice
        number = self._blocks
        block = (
            {"type": "content_block_start", "index": number, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": number, "delta": {"type": "text_delta", "text": notice}},
            {"type": "content_block_stop", "index": number},
        )
        like = pieces[0] if pieces else b""
        pieces[0:0] = [_as_came(like, event) for event in block]

    def annotate(self, pieces: list[Any], findings: dict[str, Any]) -> None:
        """On the message's own delta."""
        for at, piece in enumerate(pieces):
            event = _event_of(piece)
            if get(event, "type") == "message_delta":
                pieces[at] = _as_came(piece, {**event, FINDINGS_KEY: findings})
                return


def _event_of(piece: Any) -> Any:
    """The event of a frame, None for what is not one (a ping, a comment, damaged JSON)."""
    if not isinstance(piece, bytes):
        return piece
    data = [line[5:].strip() for line in piece.splitlines() if line.startswith(b"data:")]
    if not data:
        return None
    try:
        event = json.loads(b"\n".join(data))
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def _as_came(like: Any, event: dict[str, Any]) -> Any:
    """`event` in the form of `like`: an SSE frame or a dict."""
    if not isinstance(like, bytes):
        return event
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


class ResponsesDialect:
    """Events of the Responses API. Each message item of the output is a choice, in order of its first words."""

    def __init__(self) -> None:
        self._choices: dict[object, int] = {}
        self._last: dict[int, Any] = {}

    def cut(self, chunk: Any) -> list[Any]:
        """An event is a piece."""
        return [chunk]

    def rest(self) -> list[Any]:
        """Events come whole."""
        return []

    def words(self, piece: Any) -> list[Words]:
        """Text, refusal and reasoning deltas."""
        kind, delta = _kind(piece), get(piece, "delta")
        if not isinstance(delta, str) or not delta:
            return []
        if kind in {"response.output_text.delta", "response.refusal.delta"}:
            self._last[self._choice(piece)] = piece
            return [Words(self._choice(piece), delta)]
        if kind.startswith("response.reasoning"):
            return [Words(max(self._choices.values(), default=0), delta, shown=False)]
        return []

    def closes(self, piece: Any) -> bool:
        """The event that repeats a text whole, or the end of the response."""
        kind = _kind(piece)
        return kind in {"response.output_text.done", "response.refusal.done"} or _ends(kind)

    def prepend(self, pieces: list[Any], choice: int, notice: str) -> None:
        """Into the first delta and into every later repetition of the text."""
        done = False
        for piece in pieces:
            if not done and _kind(piece) == "response.output_text.delta" and self._choice(piece) == choice:
                put(piece, "delta", notice + GAP + (get(piece, "delta") or ""))
                done = True
        for slot in self._repeated(pieces, choice):
            slot.replace(notice + GAP + slot.text)

    def append(self, pieces: list[Any], choice: int, notice: str) -> None:
        """As one more delta before the text is repeated, and at the end of every repetition."""
        last = self._last.get(choice)
        for at, piece in enumerate(pieces):
            if _kind(piece) == "response.output_text.done" and self._choice(piece) == choice and last is not None:
                extra = copy.deepcopy(last)
                put(extra, "delta", GAP + notice)
                if get(extra, "sequence_number") is not None:
                    put(extra, "sequence_number", get(piece, "sequence_number"))
                _renumber(pieces[at:])
                pieces.insert(at, extra)
                break
        for slot in self._repeated(pieces, choice):
            slot.replace(slot.text + GAP + notice)

    def annotate(self, pieces: list[Any], findings: dict[str, Any]) -> None:
        """On the response that ends the stream."""
        for piece in pieces:
            if _ends(_kind(piece)) and get(piece, "response") is not None:
                put(get(piece, "response"), FINDINGS_KEY, findings)

    def _choice(self, piece: Any) -> int:
        return self._choices.setdefault(get(piece, "output_index"), len(self._choices))

    def _repeated(self, pieces: Iterable[Any], choice: int) -> Iterator[Slot]:
        """Every place that repeats the text of a choice; each object once, even when two events share it."""
        seen: set[int] = set()
        for piece in pieces:
            for slot in self._places(piece, choice):
                if id(slot.holder) not in seen:
                    seen.add(id(slot.holder))
                    yield slot

    def _places(self, piece: Any, choice: int) -> Iterator[Slot]:
        kind = _kind(piece)
        if _ends(kind):
            yield from (slot for slot in slots_of(get(piece, "response")) if slot.choice == choice)
        elif get(piece, "output_index") in self._choices and self._choice(piece) == choice:
            if kind == "response.output_text.done":
                yield Slot(choice, piece, "text")
            elif kind == "response.content_part.done" and isinstance(get(get(piece, "part"), "text"), str):
                yield Slot(choice, get(piece, "part"), "text")
            elif kind == "response.output_item.done":
                yield from slots_of({"output": [get(piece, "item")]})


def _kind(piece: Any) -> str:
    kind = get(piece, "type")
    return str(getattr(kind, "value", kind)) if kind is not None else ""


def _ends(kind: str) -> bool:
    return kind in {"response.completed", "response.incomplete", "response.failed"}


def _renumber(pieces: Iterable[Any]) -> None:
    for piece in pieces:
        number = get(piece, "sequence_number")
        if isinstance(number, int):
            put(piece, "sequence_number", number + 1)
