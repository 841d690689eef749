"""Streamed answers of the two APIs that send typed events: Anthropic's Messages and OpenAI's Responses.

Messages come as server-sent events in bytes, whose frames may be split over chunks, or as dicts; Responses come as
event objects. An inserted notice keeps block numbers and sequence numbers consistent. See `streams` for the interface.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .asides import aside_of
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
        """Text and thinking, and what a block or its delta has beside them."""
        event = _event_of(piece)
        kind = get(event, "type")
        if kind == "content_block_start":
            number = get(event, "index")
            self._blocks = max(self._blocks, number + 1 if isinstance(number, int) else 0)
        if kind not in {"content_block_start", "content_block_delta"}:
            return []
        holder = get(event, "content_block" if kind == "content_block_start" else "delta")
        found = [
            Words(0, text, shown)
            for key, shown in (("text", True), ("thinking", False))
            if isinstance(text := get(holder, key), str) and text
        ]
        aside = aside_of(holder, [word.text for word in found])
        return [*found, Words(0, aside, None)] if aside else found

    def closes(self, piece: Any) -> bool:
        """The message's own delta, which carries the stop reason."""
        return get(_event_of(piece), "type") in {"message_delta", "message_stop"}

    def prepend(self, pieces: list[Any], choice: int, notice: str) -> bool:
        """Into the first text delta."""
        del choice
        for at, piece in enumerate(pieces):
            event = _event_of(piece)
            text = get(get(event, "delta"), "text")
            if get(event, "type") == "content_block_delta" and isinstance(text, str) and text:
                changed = {**event, "delta": {**event["delta"], "text": notice + GAP + text}}
                pieces[at] = _as_came(piece, changed)
                return True
        return False

    def append(self, pieces: list[Any], choice: int, notice: str) -> bool:
        """As a text block of its own before the message closes."""
        del choice
        if not pieces:
            return False
        number = self._blocks
        block = (
            {"type": "content_block_start", "index": number, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": number, "delta": {"type": "text_delta", "text": notice}},
            {"type": "content_block_stop", "index": number},
        )
        pieces[0:0] = [_as_came(pieces[0], event) for event in block]
        return True

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
    """Events of the Responses API. The messages of the output are one choice, each part on a line of its own."""

    def __init__(self) -> None:
        self._heard: set[tuple[object, object]] = set()
        self._parts: dict[tuple[object, object], Any] = {}

    def cut(self, chunk: Any) -> list[Any]:
        """An event is a piece."""
        return [chunk]

    def rest(self) -> list[Any]:
        """Events come whole."""
        return []

    def words(self, piece: Any) -> list[Words]:
        """Deltas of text, refusal, reasoning and what stands beside them; also a text that comes without deltas."""
        kind, delta = _kind(piece), get(piece, "delta")
        if isinstance(delta, str) and delta:
            if kind in {"response.output_text.delta", "response.refusal.delta"}:
                if kind == "response.output_text.delta":
                    self._parts[_part(piece)] = piece
                return [self._spoken(piece, delta)]
            return [Words(0, delta, False if kind.startswith("response.reasoning") else None)]
        if kind in {"response.output_text.done", "response.refusal.done"} and _part(piece) not in self._heard:
            text = get(piece, "text") or get(piece, "refusal")
            return [self._spoken(piece, text)] if isinstance(text, str) and text else []
        if _ends(kind) and not self._heard:
            return [Words(slot.choice, slot.text + "\n", slot.shown) for slot in slots_of(get(piece, "response"))]
        if kind == "response.output_text.annotation.added" and (aside := aside_of(get(piece, "annotation"), ())):
            return [Words(0, aside, None)]
        return []

    def _spoken(self, piece: Any, text: str) -> Words:
        first = not self._heard or _part(piece) in self._heard
        self._heard.add(_part(piece))
        return Words(0, text if first else "\n" + text)

    def closes(self, piece: Any) -> bool:
        """The event that repeats a text whole, or the end of the response."""
        kind = _kind(piece)
        return kind in {"response.output_text.done", "response.refusal.done"} or _ends(kind)

    def prepend(self, pieces: list[Any], choice: int, notice: str) -> bool:
        """Into the first delta and into every later repetition of the text."""
        del choice
        part = next(iter(self._parts), None)
        for piece in pieces:
            if _kind(piece) == "response.output_text.delta" and _part(piece) == part:
                put(piece, "delta", notice + GAP + (get(piece, "delta") or ""))
                break
        else:
            return False
        for slot in _repeated(pieces, part, 0):
            slot.replace(notice + GAP + slot.text)
        return True

    def append(self, pieces: list[Any], choice: int, notice: str) -> bool:
        """As one more delta before the last text is repeated, and at the end of every repetition."""
        del choice
        part, last = next(reversed(self._parts.items()), (None, None))
        for at, piece in enumerate(pieces):
            if _kind(piece) == "response.output_text.done" and _part(piece) == part and last is not None:
                extra = copy.deepcopy(last)
                put(extra, "delta", GAP + notice)
                if get(extra, "sequence_number") is not None:
                    put(extra, "sequence_number", get(piece, "sequence_number"))
                _renumber(pieces[at:])
                pieces.insert(at, extra)
                break
        else:
            return False
        for slot in _repeated(pieces, part, -1):
            slot.replace(slot.text + GAP + notice)
        return True

    def annotate(self, pieces: list[Any], findings: dict[str, Any]) -> None:
        """On the response that ends the stream."""
        for piece in pieces:
            if _ends(_kind(piece)) and get(piece, "response") is not None:
                put(get(piece, "response"), FINDINGS_KEY, findings)


def _part(piece: Any) -> tuple[object, object]:
    return get(piece, "output_index"), get(piece, "content_index")


def _repeated(pieces: Iterable[Any], part: tuple[object, object] | None, at: int) -> Iterator[Slot]:
    """Every place that repeats the text of a part, the first (0) or the last (-1) of its answer; each object once."""
    seen: set[int] = set()
    for piece in pieces:
        for slot in _places(piece, part, at):
            if id(slot.holder) not in seen:
                seen.add(id(slot.holder))
                yield slot


def _places(piece: Any, part: tuple[object, object] | None, at: int) -> list[Slot]:
    kind = _kind(piece)
    if kind == "response.output_text.done" and _part(piece) == part:
        return [Slot(0, piece, "text")]
    if kind == "response.content_part.done" and _part(piece) == part:
        held = get(piece, "part")
        return [Slot(0, held, "text")] if isinstance(get(held, "text"), str) else []
    output: Any = None
    if _ends(kind):
        output = get(piece, "response")
    elif kind == "response.output_item.done" and part is not None and get(piece, "output_index") == part[0]:
        output = {"output": [get(piece, "item")]}
    texts = [slot for slot in slots_of(output) if slot.shown and slot.key == "text"]
    return [texts[at]] if texts else []


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
