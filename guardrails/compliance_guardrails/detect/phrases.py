"""Lists of phrases as one automaton over words: every listed phrase in a sentence, in time linear in its words.

An entry is a sequence of places with alternative words (inflect.slots); the written forms are never multiplied out at
load, and what follows a first word is worked out when a text leads there. Memory is bounded: beyond `MAX_NODES` the
worked-out part is dropped and begun again. Knows neither texts nor rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

MAX_NODES = 60_000
"""Nodes kept worked out, some tens of megabytes at most; ordinary traffic stays far below."""

COMMON_WEIGHT = 10_000

T = TypeVar("T")
Places = Sequence[Sequence[tuple[str, ...]]]


class Hit(NamedTuple, Generic[T]):
    """A listed phrase at tokens `start` up to and not including `end`."""

    start: int
    end: int
    value: T


class _Pending(NamedTuple, Generic[T]):
    """An entry part-way: `tail` words to come, then the places from `index` on."""

    tail: tuple[str, ...]
    places: Places
    index: int
    value: T


class _Node(Generic[T]):
    """Where the words so far have led: what is complete, what may follow; `raw` is yet to be sorted into these two."""

    __slots__ = ("accepts", "pending", "raw", "table")

    def __init__(self) -> None:
        self.accepts: list[T] = []
        self.pending: list[_Pending[T]] = []
        self.raw: list[_Pending[T]] = []
        self.table: dict[str, _Node[T]] | None = None

    def settle(self) -> None:
        """Sort `raw`; optional places are passed over as well."""
        for item in self.raw:
            tail, places, index, value = item
            while not tail and index < len(places) and () in places[index]:
                self.pending.append(_Pending((), places, index, value))
                index += 1
            if tail or index < len(places):
                self.pending.append(_Pending(tail, places, index, value))
            else:
                self.accepts.append(value)
        self.raw = []


class Phrases(Generic[T]):
    """Phrases with a value each; one phrase may carry several values."""

    def __init__(self) -> None:
        self._root: dict[str, _Node[T]] = {}
        self._made = 0

    def add(self, places: Places, value: T) -> None:
        """Add one entry, its first place not optional."""
        root = self._root
        only = len(places) == 1
        for option in places[0]:
            if not option:
                continue
            node = root.get(option[0])
            if node is None:
                node = root[option[0]] = _Node()
            if only and len(option) == 1:
                node.accepts.append(value)
            else:
                node.raw.append(_Pending(option[1:], places, 1, value))

    def match(self, words: list[str]) -> list[Hit[T]]:
        """All entries found in `words`, by start, then by length."""
        out: list[Hit[T]] = []
        root = self._root
        size = len(words)
        for start, first in enumerate(words):
            node = root.get(first)
            index = start + 1
            while node is not None:
                if node.raw:
                    node.settle()
                if node.accepts:
                    out += [Hit(start, index, value) for value in node.accepts]
                if index >= size or not node.pending:
                    break
                table = node.table
                if table is None:
                    table = self._work_out(node)
                node = table.get(words[index])
                index += 1
        return out

    def _work_out(self, node: _Node[T]) -> dict[str, _Node[T]]:
        if self._made > MAX_NODES:
            self._made = 0
            for first in self._root.values():
                first.table = None
        table: dict[str, _Node[T]] = {}
        for item in node.pending:
            options = (item.tail,) if item.tail else item.places[item.index]
            index = item.index if item.tail else item.index + 1
            for option in options:
                if option:
                    target = table.get(option[0])
                    if target is None:
                        target = table[option[0]] = _Node()
                    target.raw.append(_Pending(option[1:], item.places, index, item.value))
        node.table = table
        self._made += len(table)
        return table


def key_words(entries: Iterable[Places], common: Mapping[str, int]) -> frozenset[str]:
    """For each entry the words of its rarest place: a text with none of all these words holds no entry.

    Rare means little used by texts (`common`: word to weight) and by few entries, so that "personne sous tutelle" is
    looked for by "tutelle". This only saves time: every entry is found whatever `common` holds.
    """
    listed = list(entries)
    uses = Counter(word for places in listed for options in places for option in options for word in option)
    weights = {word: count + COMMON_WEIGHT * common.get(word, 0) for word, count in uses.items()}
    # A word that is an entry by itself is looked for anyway: it costs other entries nothing more.
    out = {option[0] for places in listed if len(places) == 1 for option in places[0] if len(option) == 1}
    for word in out:
        weights[word] = 0
    for places in listed:
        best: set[str] = set()
        least = 0
        for options in places:
            if () in options:
                continue
            rarest = {min(option, key=weights.__getitem__) for option in options}
            cost = max(map(weights.__getitem__, rarest))
            if not best or cost < least:
                best, least = rarest, cost
        out |= best
    return frozenset(out)
