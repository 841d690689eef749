"""Lists of phrases, found by their rarest word: every listed phrase in a sentence, in time linear in its words.

An entry is a sequence of places with alternative words (inflect.py). It is filed under the words of one place, the
rarest; only where a text holds such a word are the places around it looked at, and only then are their written forms
made. Forms are never multiplied out. Memory is bounded: beyond `MAX_FORMS` what was worked out is dropped and begun
again. Knows neither texts nor rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Generic, NamedTuple, TypeVar

from .inflect import Entry

MAX_FORMS = 400_000
"""Neighbouring words kept worked out, some tens of megabytes at most; ordinary traffic stays far below."""

COMMON_WEIGHT = 1_000

T = TypeVar("T")
Option = tuple[str, ...]


class Hit(NamedTuple, Generic[T]):
    """A listed phrase at tokens `start` up to and not including `end`."""

    start: int
    end: int
    value: T


_Filed = tuple[int, Entry, int, T]
"""An entry as it is filed under a word: its number, its places, which of them holds the word, its value."""

_new_hit: Callable[..., Hit] = tuple.__new__
_PLACE_AND_NUMBER = itemgetter(0, 1, 2)


class _Step(NamedTuple):
    """One place as it is walked over from one side: its options by the word met first, and whether it may be absent."""

    options: dict[str, list[Option]]
    optional: bool


class _Around(NamedTuple, Generic[T]):
    """What must stand before (nearest first) and after a word that an entry is filed under."""

    number: int
    value: T
    before: tuple[_Step, ...]
    after: tuple[_Step, ...]


class _Known(Generic[T]):
    """A word worked out: values it has by itself, entries by the word that must follow it or stand before it.

    `with_next` and `with_previous` hold the entries that are complete with that one word more.
    """

    __slots__ = ("alone", "free", "next", "previous", "sides", "with_next", "with_previous")

    def __init__(self) -> None:
        self.alone: list[tuple[int, T]] = []
        self.with_next: dict[str, list[tuple[int, T]]] = {}
        self.with_previous: dict[str, list[tuple[int, T]]] = {}
        self.next: dict[str, list[_Around[T]]] = {}
        self.previous: dict[str, list[_Around[T]]] = {}
        self.free: list[_Around[T]] = []
        self.sides = False

    def add(self, entry: _Around[T]) -> int:
        """File an entry under its nearest obligatory neighbours; the number of words that took."""
        number, value, before, after = entry
        if not before and not after:
            self.alone.append((number, value))
            return 1
        if len(before) + len(after) == 1:
            return self._add_pair(entry)
        for side, steps in ((self.next, after), (self.previous, before)):
            words = _nearest(steps)
            if words:
                for word in words:
                    side.setdefault(word, []).append(entry)
                return len(words)
        self.free.append(entry)
        return 1

    def _add_pair(self, entry: _Around[T]) -> int:
        number, value, before, after = entry
        (step,) = before or after
        pairs, longer = (self.with_next, self.next) if after else (self.with_previous, self.previous)
        if step.optional:
            self.alone.append((number, value))
        for word, options in step.options.items():
            if (word,) in options:
                pairs.setdefault(word, []).append((number, value))
            if len(options) > 1 or len(options[0]) > 1:
                longer.setdefault(word, []).append(entry)
        return len(step.options)


class _Weights(dict[str, int]):
    """What a word weighs: much when texts use it often, otherwise the less the longer it is."""

    def __missing__(self, word: str) -> int:
        weight = self[word] = -len(word)
        return weight


class Phrases(Generic[T]):
    """Phrases with a value each; one phrase may carry several values.

    `common` weighs words that texts use often (word to weight): entries are filed under others where they can be. It
    only saves time: every entry is found whatever `common` holds.
    """

    def __init__(self, common: Mapping[str, int] | None = None) -> None:
        common = common or {}
        self._weigh = _Weights({word: COMMON_WEIGHT * weight for word, weight in common.items()}).__getitem__
        self._index: dict[str, list[_Filed[T]] | _Known[T]] = {}
        self._filed: dict[str, list[_Filed[T]]] = {}
        self._count = 0
        self._made = 0
        self._steps: dict[tuple[int, int, int], _Step] = {}

    def add(self, places: Entry, value: T) -> list[str]:
        """Add one entry, its first place not optional; the words it is filed under."""
        number = self._count
        self._count = number + 1
        index = self._index
        at = places.rarest(self._weigh)
        filed: _Filed[T] = (number, places, at, value)
        words = [option[0] if len(option) == 1 else self._key(option) for option in places[at] if option]
        for word in words:
            others = index.get(word)
            if others is None:
                index[word] = [filed]
            elif isinstance(others, _Known):
                raise TypeError("entries are added before the first match")
            elif others[-1] is not filed:
                others.append(filed)
        return words

    def words(self) -> frozenset[str]:
        """The words that entries are filed under: a text with none of them holds no entry."""
        return frozenset(self._index)

    def match(self, words: list[str]) -> list[Hit[T]]:
        """All entries found in `words`, by start, then by length, then in the order they were added."""
        index = self._index
        found: list[tuple[int, int, int, T]] = []
        last = len(words) - 1
        for at, word in enumerate(words):
            filed = index.get(word)
            if filed is not None:
                known = filed if isinstance(filed, _Known) else self._work_out(word, filed)
                if known.alone:
                    found += [(at, at + 1, number, value) for number, value in known.alone]
                if known.sides:
                    self._beside(known, words, at, last, found)
        if len(found) > 1:
            found = _in_order(found)
        return [_new_hit(Hit, (start, end, value)) for start, end, _, value in found]

    @staticmethod
    def _beside(known: _Known[T], words: list[str], at: int, last: int, found: list[tuple[int, int, int, T]]) -> None:
        """Add the entries of several words around token `at`."""
        if at < last:
            following = words[at + 1]
            if pairs := known.with_next.get(following):
                found += [(at, at + 2, number, value) for number, value in pairs]
            for entry in known.next.get(following, ()):
                _spans(entry, words, at, found)
        if at:
            preceding = words[at - 1]
            if pairs := known.with_previous.get(preceding):
                found += [(at - 1, at + 1, number, value) for number, value in pairs]
            for entry in known.previous.get(preceding, ()):
                _spans(entry, words, at, found)
        for entry in known.free:
            _spans(entry, words, at, found)

    def _key(self, option: Option) -> str:
        return min(option, key=self._weigh)

    def _work_out(self, word: str, filed: list[_Filed[T]]) -> _Known[T]:
        if self._made > MAX_FORMS:
            self._made = 0
            for name, entries in self._filed.items():
                self._index[name] = entries
            self._filed.clear()
            self._steps.clear()
        known: _Known[T] = _Known()
        for number, places, at, value in filed:
            before = [self._step(places, index, -1) for index in range(at - 1, -1, -1)]
            after = [self._step(places, index, 0) for index in range(at + 1, len(places))]
            for option in places[at]:
                if option and (len(option) == 1 or self._key(option) == word) and word in option:
                    inside = option.index(word)
                    self._made += known.add(
                        _Around(
                            number,
                            value,
                            (*map(_single, reversed(option[:inside])), *before),
                            (*map(_single, option[inside + 1 :]), *after),
                        )
                    )
        known.sides = bool(known.with_next or known.with_previous or known.next or known.previous or known.free)
        self._index[word] = known
        self._filed[word] = filed
        return known

    def _step(self, places: Entry, at: int, end: int) -> _Step:
        """Place `at` as met from one side (`end` 0: from before it, -1: from after it); made once."""
        key = (id(places), at, end)
        step = self._steps.get(key)
        if step is None:
            options: dict[str, list[Option]] = {}
            for option in places[at]:
                if option:
                    options.setdefault(option[end], []).append(option)
            step = self._steps[key] = _Step(options, () in places[at])
        return step


def _single(word: str) -> _Step:
    return _Step({word: [(word,)]}, optional=False)


def _nearest(steps: tuple[_Step, ...]) -> set[str]:
    """The words that may stand nearest on one side; none when nothing need stand there."""
    out: set[str] = set()
    for step in steps:
        out.update(step.options)
        if not step.optional:
            return out
    return set()


def _spans(entry: _Around[T], words: list[str], at: int, found: list[tuple[int, int, int, T]]) -> None:
    """Add to `found` each stretch of `words` that is the entry around token `at`."""
    ends = [at + 1]
    size = len(words)
    for options, optional in entry.after:
        reached = ends[:] if optional else []
        for end in ends:
            if end < size and (possible := options.get(words[end])):
                for option in possible:
                    longer = len(option)
                    if longer == 1 or tuple(words[end : end + longer]) == option:
                        reached.append(end + longer)
        if not reached:
            return
        ends = reached
    starts = [at]
    for options, optional in entry.before:
        reached = starts[:] if optional else []
        for start in starts:
            if start and (possible := options.get(words[start - 1])):
                for option in possible:
                    longer = len(option)
                    if longer == 1 or (start >= longer and tuple(words[start - longer : start]) == option):
                        reached.append(start - longer)
        if not reached:
            return
        starts = reached
    found += [(start, end, entry.number, entry.value) for start in starts for end in ends]


def _in_order(found: list[tuple[int, int, int, T]]) -> list[tuple[int, int, int, T]]:
    """Sorted by start, length and number, each once."""
    found.sort(key=_PLACE_AND_NUMBER)
    out = [found[0]]
    for item in found:
        last = out[-1]
        if item[1] != last[1] or item[0] != last[0] or item[2] != last[2]:
            out.append(item)
    return out
