"""Streamed answers of the guarded endpoints: which words a piece carries, where the answer closes, and how a notice or
the findings are put into it without breaking the protocol.

What lives here: the interface of a dialect, the transcript, and the dialect of chat chunks; those of the Messages and
Responses APIs are in `streams_events`. Pieces are read and changed by attribute or key, and what is not understood goes
through as it came. The order of holding back and letting go is the hook's business.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from .asides import aside_of, readable
from .payloads import get, put

FINDINGS_KEY: Final = "compliance_guardrails"
"""Where findings stand in the body of an answer."""

MAX_CHARACTERS: Final = 4_000_000
"""Characters of one streamed answer that are kept for its examination."""

MAX_PIECES: Final = 200_000
"""Pieces of one streamed answer that are held back; those without words (tool calls) take memory as well."""

GAP: Final = "\n\n"


class StreamTooLongError(Exception):
    """The streamed answer exceeds what is kept for its examination."""


@dataclass(frozen=True, slots=True)
class Words:
    """Words of one choice in a piece; `shown` is False for reasoning, which the user need not see, None beside it."""

    choice: int
    text: str
    shown: bool | None = True


@dataclass(slots=True)
class Transcript:
    """The words of a stream so far, by choice."""

    spoken: dict[int, list[str]] = field(default_factory=dict)
    thought: dict[int, list[str]] = field(default_factory=dict)
    beside: dict[int, list[str]] = field(default_factory=dict)
    size: int = 0

    def add(self, words: Iterable[Words]) -> None:
        """Keep the words of a piece; StreamTooLongError beyond MAX_CHARACTERS."""
        for word in words:
            kept = self.spoken if word.shown else self.beside if word.shown is None else self.thought
            kept.setdefault(word.choice, []).append(word.text)
            self.size += len(word.text)
        if self.size > MAX_CHARACTERS:
            raise StreamTooLongError

    def asides(self) -> tuple[str, ...]:
        """One text for each choice from 0 on, of what stands beside it: see the module asides."""
        return tuple(readable("".join(self.beside.get(at, ()))) for at in range(1 + max(self.beside, default=-1)))

    def texts(self) -> tuple[str, ...]:
        """One text for each choice from 0 on: reasoning, then what is shown, as `payloads.texts_of` joins them."""
        count = 1 + max((*self.spoken, *self.thought), default=-1)
        return tuple(
            "\n".join("".join(kept[at]) for kept in (self.thought, self.spoken) if at in kept) for at in range(count)
        )


class Dialect(Protocol):
    """How one protocol streams an answer."""

    def cut(self, chunk: Any) -> list[Any]:
        """The whole pieces that `chunk` completes."""
        ...

    def rest(self) -> list[Any]:
        """What is left of an incomplete piece, as it came."""
        ...

    def words(self, piece: Any) -> list[Words]:
        """The words that `piece` adds to the answer."""
        ...

    def closes(self, piece: Any) -> bool:
        """Whether the answer's text may be over with this piece: from here on pieces are held until it is judged."""
        ...

    def prepend(self, pieces: list[Any], choice: int, notice: str) -> bool:
        """Put `notice` before the text of `choice` in a whole answer; False when it has no text to put it before."""
        ...

    def append(self, pieces: list[Any], choice: int, notice: str) -> bool:
        """Put `notice` after the text of `choice`, given the pieces from the closing one on; False when it cannot."""
        ...

    def annotate(self, pieces: list[Any], findings: dict[str, Any]) -> None:
        """Put findings into the closing piece."""
        ...


class ChatDialect:
    """Chunks of chat (and text) completions: objects with `choices`, each with a delta or a text."""

    def cut(self, chunk: Any) -> list[Any]:
        """A chunk is a piece."""
        return [chunk]

    def rest(self) -> list[Any]:
        """Chunks come whole."""
        return []

    def words(self, piece: Any) -> list[Words]:
        """Content, refusal and reasoning of each choice, and what a delta has beside them."""
        found: list[Words] = []
        for choice in get(piece, "choices") or ():
            at, known = _index(choice), []
            for holder, key, shown in _chat_places(choice):
                text = get(holder, key)
                if isinstance(text, str) and text:
                    found.append(Words(at, text, shown))
                    known.append(text)
            if aside := aside_of(choice, known):
                found.append(Words(at, aside, None))
        return found

    def closes(self, piece: Any) -> bool:
        """A finish reason."""
        return any(get(choice, "finish_reason") is not None for choice in get(piece, "choices") or ())

    def prepend(self, pieces: list[Any], choice: int, notice: str) -> bool:
        """Into the first content of the choice."""
        for holder, key in self._contents(pieces, choice):
            put(holder, key, notice + GAP + get(holder, key))
            return True
        return False

    def append(self, pieces: list[Any], choice: int, notice: str) -> bool:
        """As a chunk of its own before the one that finishes the choice, or before the end where none does."""
        for at, piece in enumerate(pieces):
            for found in get(piece, "choices") or ():
                if _index(found) == choice and get(found, "finish_reason") is not None:
                    pieces.insert(at + 1, self._finish_only(piece, choice))
                    self._speak(piece, choice, notice)
                    return True
        if pieces and get(pieces[0], "choices"):
            # The gateway finishes several choices with one chunk: this one gets a chunk made from that.
            extra = copy.deepcopy(pieces[0])
            put(extra, "choices", list(get(extra, "choices"))[:1])
            for found in get(extra, "choices"):
                put(found, "index", choice)
            pieces.insert(0, extra)
            self._speak(extra, choice, notice, alone=True)
            return True
        return False

    def annotate(self, pieces: list[Any], findings: dict[str, Any]) -> None:
        """On the last chunk that finishes a choice."""
        for piece in reversed(pieces):
            if self.closes(piece):
                put(piece, "provider_specific_fields", {FINDINGS_KEY: findings})
                return

    @staticmethod
    def _contents(pieces: Iterable[Any], choice: int) -> Iterator[tuple[Any, str]]:
        for piece in pieces:
            for found in get(piece, "choices") or ():
                for holder, key, shown in _chat_places(found):
                    if _index(found) == choice and shown and get(holder, key):
                        yield holder, key

    @staticmethod
    def _finish_only(piece: Any, choice: int) -> Any:
        """A copy of the finishing chunk that carries the finish reason and no words."""
        last = copy.deepcopy(piece)
        for found in get(last, "choices"):
            if _index(found) == choice:
                for holder, key, _ in _chat_places(found):
                    if get(holder, key):
                        put(holder, key, "" if holder is found else None)
        return last

    @staticmethod
    def _speak(piece: Any, choice: int, notice: str, *, alone: bool = False) -> None:
        """Turn a finishing chunk into one that says its own words, unless it is to speak alone, then the notice."""
        for found in get(piece, "choices"):
            if _index(found) == choice:
                put(found, "finish_reason", None)
                holder, key = (found, "text") if get(found, "delta") is None else (get(found, "delta"), "content")
                put(holder, key, ("" if alone else get(holder, key) or "") + GAP + notice)


def _index(choice: object) -> int:
    at = get(choice, "index")
    return at if isinstance(at, int) and 0 <= at < 128 else 0


def _chat_places(choice: Any) -> tuple[tuple[Any, str, bool], ...]:
    delta = get(choice, "delta")
    if delta is None:
        return ((choice, "text", True),)
    return ((delta, "reasoning_content", False), (delta, "content", True), (delta, "refusal", True))


class StreamGuard:
    """What of a stream may go out when. `buffer` holds everything back, otherwise only the end is held.

    `noticed` tells whether a notice found its place.
    Whatever fails in it, `give_up` hands out every piece that has not gone out yet, as it came.
    """

    def __init__(self, dialect: Dialect, *, buffer: bool) -> None:
        self.buffer = buffer
        self.broken = False
        self.noticed = False
        self._dialect = dialect
        self._script = Transcript()
        self._held: list[Any] = []
        self._unread: list[Any] = []
        self._holding = buffer

    def feed(self, chunk: Any) -> list[Any]:
        """The pieces that may go out now that `chunk` has come."""
        out: list[Any] = []
        self._unread += self._dialect.cut(chunk)
        while self._unread:
            if len(self._held) >= MAX_PIECES:
                raise StreamTooLongError
            piece = self._unread[0]
            self._script.add(self._dialect.words(piece))
            self._holding = self._holding or self._dialect.closes(piece)
            (self._held if self._holding else out).append(piece)
            del self._unread[0]
        return out

    def texts(self) -> tuple[str, ...]:
        """The text of each choice so far."""
        return self._script.texts()

    def asides(self) -> tuple[str, ...]:
        """What stands beside the text of each choice so far."""
        return self._script.asides()

    def finish(self, notices: Mapping[int, str], findings: dict[str, Any] | None) -> list[Any]:
        """The held pieces, with a notice for some choices and findings at the end."""
        place = self._dialect.prepend if self.buffer else self._dialect.append
        for choice, notice in notices.items():
            self.noticed |= place(self._held, choice, notice)
        if findings is not None:
            self._dialect.annotate(self._held, findings)
        return self.give_up()

    def give_up(self) -> list[Any]:
        """Every piece not gone out yet; from now on nothing is held."""
        self.broken = True
        left = [*self._held, *self._unread, *self._dialect.rest()]
        self._held, self._unread = [], []
        return left
