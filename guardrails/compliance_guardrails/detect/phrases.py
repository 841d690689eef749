"""Lists of phrases, found by their rarest word: every listed phrase in a sentence, in time linear in its words.

An entry is a sequence of places with alternative words (inflect.py). It is filed under the words of one place, the
rarest; only where a text holds such a word are the places around it looked at, and only then are their written forms
made. Forms are never multiplied out. Memory is bounded: beyond `MAX_FORMS` what was worked out is dropped and begun
again. Knows neither texts nor rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import compress, count
from typing import Generic, NamedTuple, TypeVar

from .around import Around, Found, Known, Option, Step, go_on, single, spans, step_of
from .inflect import Entry, Piece, forms_of, key_of, place_of, rarest_of, words_of_place

MAX_FORMS = 400_000
"""Neighbouring words kept worked out, some tens of megabytes at most; ordinary traffic stays far below."""

COMMON_WEIGHT = 1_000

T = TypeVar("T")


class Hit(NamedTuple, Generic[T]):
    """A listed phrase at tokens `start` up to and not including `end`."""

    start: int
    end: int
    value: T


_new_hit: Callable[..., Hit] = tuple.__new__


class Phrases(Generic[T]):
    """Phrases with a value each; one phrase may carry several values.

    `common` weighs words that texts use often (word to weight): entries are filed under others where they can be. It
    only saves time: every entry is found whatever `common` holds.
    """

    def __init__(self, common: Mapping[str, int] | None = None) -> None:
        self._common = {word: COMMON_WEIGHT * weight for word, weight in (common or {}).items()}
        # By number of the entry: its value, its places (as text until needed, "": one word alone), which is looked up.
        self._values: list[T] = []
        self._entries: list[Entry | str] = []
        self._at: list[int] = []
        # By word: the number of the only entry filed there, or of all; what was worked out, once a text holds the word.
        self._index: dict[str, int | list[int] | Known[T]] = {}
        self._filed: dict[str, int | list[int]] = {}
        self._made = 0
        self._steps: dict[tuple[Piece, int], Step] = {}

    def add(self, places: Entry, value: T) -> Sequence[str]:
        """Add one entry, its first place not optional; the words it is filed under."""
        at = places.rarest(self._common)
        return self._file(places.keys(at, self._common), places, at, value)

    def add_term(self, term: str, value: T) -> Sequence[str]:
        """`add` of an entry of a folded list. Raises ValueError when it is malformed."""
        words = None if " " in term else forms_of(term)
        if words is not None:
            return self._file(words, "", 0, value)
        plain = None if "(" in term else rarest_of(term, self._common)
        if plain is None:
            return self.add(Entry(term, folded=True), value)
        return self._file(plain[1], term, plain[0], value)

    def add_terms(self, listed: Iterable[str], value: T, others: Mapping[str, T]) -> None:
        """`add_term` of each entry, with what `others` has for it or else `value`. A ValueError holds its place."""
        start = len(self._values)
        index, special = self._index, others.get
        for term in listed:
            if term.isalnum() and term.isascii() and term not in index:  # most entries: one word, filed nowhere yet
                index[term] = len(self._values)
                self._values.append(special(term, value) if others else value)
                self._entries.append("")
                self._at.append(0)
                continue
            try:
                self.add_term(term, special(term, value) if others else value)
            except ValueError:
                raise ValueError(len(self._values) - start) from None

    def _file(self, words: Sequence[str], places: Entry | str, at: int, value: T) -> Sequence[str]:
        number = len(self._values)
        self._values.append(value)
        self._entries.append(places)
        self._at.append(at)
        index = self._index
        for word in words:
            others = index.setdefault(word, number)
            if others is number:
                continue
            if isinstance(others, int):
                index[word] = [others, number]
            elif isinstance(others, Known):
                raise TypeError("entries are added before the first match")
            elif others[-1] != number:
                others.append(number)
        return words

    def words(self) -> frozenset[str]:
        """The words that entries are filed under: a text with none of them holds no entry."""
        return frozenset(self._index)

    def keys(self, words: list[str]) -> set[str]:
        """The words under which an entry of the lists is found in `words`; quicker than `match`, which says which."""
        index = self._index
        out: set[str] = set()
        beside = [*words, ""]  # no word stands before the first (index -1) nor behind the last
        for at in compress(count(), map(index.__contains__, words)):
            word = beside[at]
            known = index[word]
            if type(known) is not Known:
                known = self._work_out(word, known)  # ty: ignore[invalid-argument-type]
            if known.alone or known.free:
                out.add(word)
                continue
            near = beside[at + 1]
            if near in known.after and go_on(known.after[near], words, at, at, []):
                out.add(word)
                continue
            near = beside[at - 1]
            if near in known.before and go_on(known.before[near], words, at, at - 1, []):
                out.add(word)
        return out

    def match(self, words: list[str], among: Set[str] | None = None) -> list[Hit[T]]:
        """All entries found in `words`, by start, then by length, then in the order they were added.

        `among`: what `keys` gave for a text that holds `words`, where that is known; other words are passed over.
        """
        index = self._index
        found: Found[T] = []
        beside = [*words, ""]
        for at in compress(count(), map((index if among is None else among).__contains__, words)):
            word = beside[at]
            known = index[word]
            if type(known) is not Known:
                known = self._work_out(word, known)  # ty: ignore[invalid-argument-type]
            if known.alone:
                for number, value in known.alone:
                    found.append((at, at + 1, number, value))
            near = beside[at + 1]
            if near in known.after:
                go_on(known.after[near], words, at, at, found)
            near = beside[at - 1]
            if near in known.before:
                go_on(known.before[near], words, at, at - 1, found)
            if known.free:
                for entry in known.free:
                    spans(entry, words, at, found)
        if len(found) > 1:
            found = _in_order(found)
        return [_new_hit(Hit, (start, end, value)) for start, end, _, value in found]

    def _work_out(self, word: str, filed: int | list[int]) -> Known[T]:
        if self._made > MAX_FORMS:
            self._made = 0
            self._index.update(self._filed)
            self._filed.clear()
            self._steps.clear()
        known: Known[T] = Known()
        for number in (filed,) if isinstance(filed, int) else filed:
            places, at, value = self._entries[number], self._at[number], self._values[number]
            if not places:
                known.alone.append((number, value))
                self._made += 1
                continue
            if isinstance(places, str):
                places = self._entries[number] = Entry(places, folded=True)
            before = [self._step(piece, -1) for piece in places.pieces[:at][::-1]]
            after = [self._step(piece, 0) for piece in places.pieces[at + 1 :]]
            for option in places.options_with(word, at):
                if word in option and (len(option) == 1 or key_of(option, self._common) == word):
                    inside = option.index(word)
                    self._made += known.add(
                        Around(
                            number,
                            value,
                            (*map(single, reversed(option[:inside])), *before),
                            (*map(single, option[inside + 1 :]), *after),
                        )
                    )
        self._index[word] = known
        self._filed[word] = filed
        return known

    def _step(self, piece: Piece, end: int) -> Step:
        """A place as met from one side (`end` 0: from before it, -1: from after it); made once for all entries."""
        key = (piece, end)
        step = self._steps.get(key)
        if step is None:
            words = words_of_place(*piece)
            if words is not None:
                step = Step({word: [(word,)] for word in words if word}, "" in words, "" not in words)
            else:
                place = place_of(*piece)
                options: dict[str, list[Option]] = {}
                for option in place:
                    if option:
                        options.setdefault(option[end], []).append(option)
                step = step_of(options, optional=() in place)
            self._steps[key] = step
        return step


def _in_order(found: Found[T]) -> Found[T]:
    """Sorted by start, length and number, each once; equal numbers stand for one and the same value."""
    found.sort()
    last = found[0]
    out = [last]
    for item in found:
        if item != last:
            last = item
            out.append(item)
    return out
