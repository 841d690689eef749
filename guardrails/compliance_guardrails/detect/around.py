"""An entry of a list around the word that it is filed under: what must stand before and after, and where it ends.

`Known` holds the entries of one word by the word that follows it or stands before it, so that a neighbour rules out
nearly all of them; `go_on` looks at those that are left. Forms are never multiplied out. Linear in the entries looked
at. Knows no list and no text; phrases.py says which word an entry is filed under.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
Option = tuple[str, ...]


class Step(NamedTuple):
    """One place as it is walked over from one side: its options by the word met first, and whether it may be absent.

    `plain`: one word, whichever.
    """

    options: dict[str, list[Option]]
    optional: bool
    plain: bool


class Around(NamedTuple, Generic[T]):
    """What must stand before (nearest first) and after a word that an entry is filed under."""

    number: int
    value: T
    before: tuple[Step, ...]
    after: tuple[Step, ...]


Found = list[tuple[int, int, int, T]]
"""Entries found: first token, token after the last, number, value."""


class Longer(NamedTuple, Generic[T]):
    """An entry that goes on from a neighbour: which words must stand how far from the word it is filed under.

    `around` None: that is all, and the entry takes the tokens from `first` up to `last`. Otherwise its places are to be
    walked, for some may be absent or longer than a word.
    """

    needed: tuple[tuple[int, dict[str, list[Option]]], ...]
    first: int
    last: int
    number: int
    value: T
    around: Around[T] | None


Beside = tuple[list[tuple[int, T]], list[Longer[T]]]
"""What a neighbouring word completes (number and value), and the entries that go on from it."""


class Known(Generic[T]):
    """A word worked out: what it is by itself, and by the word that follows it or stands before it.

    `free` holds the entries that need no neighbour in particular.
    """

    __slots__ = ("after", "alone", "before", "free")

    def __init__(self) -> None:
        self.alone: list[tuple[int, T]] = []
        self.after: dict[str, Beside[T]] = {}
        self.before: dict[str, Beside[T]] = {}
        self.free: list[Around[T]] = []

    def add(self, entry: Around[T]) -> int:
        """File an entry under its nearest obligatory neighbours; the number of words that took."""
        number, value, before, after = entry
        if not before and not after:
            self.alone.append((number, value))
            return 1
        if len(before) + len(after) == 1:
            return self._add_pair(entry)
        for side, steps, others, ahead in ((self.after, after, before, 1), (self.before, before, after, -1)):
            words = _nearest(steps)
            if words:
                longer = _longer(entry, steps, others, ahead)
                for word in words:
                    _beside(side, word)[1].append(longer)
                return len(words)
        self.free.append(entry)
        return 1

    def _add_pair(self, entry: Around[T]) -> int:
        number, value, before, after = entry
        (step,) = before or after
        side = self.after if after else self.before
        if step.optional:
            self.alone.append((number, value))
        if step.plain:
            for word in step.options:
                _beside(side, word)[0].append((number, value))
            return len(step.options)
        for word, options in step.options.items():
            if (word,) in options:
                _beside(side, word)[0].append((number, value))
            if len(options) > 1 or len(options[0]) > 1:
                _beside(side, word)[1].append(Longer((), 0, 0, number, value, entry))
        return len(step.options)


def _longer(entry: Around[T], steps: tuple[Step, ...], others: tuple[Step, ...], ahead: int) -> Longer[T]:
    """What an entry needs besides the nearest word on one side (`ahead` 1 or -1)."""
    near, near_known = _fixed(steps, ahead)
    far, far_known = _fixed(others, -ahead)
    needed = (*far, *(near if steps[0].optional else near[1:]))
    around = None if near_known and far_known else entry
    return Longer(needed, -len(entry.before), 1 + len(entry.after), entry.number, entry.value, around)


def _fixed(steps: tuple[Step, ...], ahead: int) -> tuple[list[tuple[int, dict[str, list[Option]]]], bool]:
    """The words that must stand at known distances on one side, and whether that is all of the side."""
    needed: list[tuple[int, dict[str, list[Option]]]] = []
    for at, (options, optional, plain) in enumerate(steps, 1):
        if optional:
            return needed, False
        needed.append((at * ahead, options))
        if not plain:
            return needed, False
    return needed, True


def _beside(side: dict[str, Beside[T]], word: str) -> Beside[T]:
    found = side.get(word)
    if found is None:
        found = side[word] = ([], [])
    return found


def single(word: str) -> Step:
    """The place of this word and no other."""
    return Step({word: [(word,)]}, optional=False, plain=True)


def step_of(options: dict[str, list[Option]], *, optional: bool) -> Step:
    """The place with these options by the word met first."""
    plain = not optional and all(len(option) == 1 for group in options.values() for option in group)
    return Step(options, optional, plain)


def _nearest(steps: tuple[Step, ...]) -> set[str]:
    """The words that may stand nearest on one side; none when nothing need stand there."""
    out: set[str] = set()
    for step in steps:
        out.update(step.options)
        if not step.optional:
            return out
    return set()


def go_on(beside: Beside[T], words: list[str], at: int, start: int, found: Found[T]) -> Found[T]:
    """Add to `found` the entries around token `at` that its neighbour completes or goes on with, and give it back.

    `start`: the first of the two.
    """
    for number, value in beside[0]:
        found.append((start, start + 2, number, value))
    size = len(words)
    for needed, first, last, number, value, around in beside[1]:
        for offset, options in needed:
            if not 0 <= (place := at + offset) < size or words[place] not in options:
                break
        else:
            if around is None:
                found.append((at + first, at + last, number, value))
            else:
                spans(around, words, at, found)
    return found


def spans(entry: Around[T], words: list[str], at: int, found: Found[T]) -> None:
    """Add to `found` each stretch of `words` that is the entry around token `at`."""
    ends = [at + 1]
    size = len(words)
    for options, optional, _ in entry.after:
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
    for options, optional, _ in entry.before:
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
