"""One Aho-Corasick pass over a folded text for all the words that claims and citations start from.

`Lexicon` collects words by role, `find` gives their places by role. The words come from the rules; what a place means
is the business of the scanner that owns its role. Serves the rule that time is linear in the text.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, NamedTuple

import ahocorasick

from .text import fold

MAX_ANCHORS: Final = 40_000
"""Places looked at in one text at most: bounds the time that a text made of our own words can cost."""


class Role(enum.IntEnum):
    """What a word was added for."""

    SPELLED_UNIT = 0
    ARTICLE = 1
    CLAUSE = 2
    OF_A_CODE = 3
    LIMIT = 4
    FOR_AN_AMOUNT = 5
    MARKER = 6
    NAMED = 7
    ACRONYM = 8
    PAGE = 9


class Anchor(NamedTuple):
    """A word of the lexicon at ``compact[start:end]``, with what its owner stored for it."""

    start: int
    end: int
    data: Any


class Lexicon:
    """Words by role. A word that begins or ends with a letter or digit must begin or end there in the text."""

    def __init__(self) -> None:
        self._entries: dict[str, list[tuple[Role, int, Any, bool, bool]]] = {}
        self._automaton: Any = None

    def add(self, role: Role, word: str, data: Any = None, *, prefix: bool = False) -> None:
        """Add `word` (folded here) with `data`; `prefix` lets the text go on after it."""
        folded = fold(word)
        entry = (role, len(folded), data, folded[0].isalnum(), folded[-1].isalnum() and not prefix)
        self._entries.setdefault(folded, []).append(entry)

    def find(self, folded: str) -> tuple[list[Anchor], ...]:
        """Places of the words in `folded`, one ascending list for each role; at most `MAX_ANCHORS` in all."""
        if self._automaton is None:
            automaton = ahocorasick.Automaton()
            for word, entries in self._entries.items():
                automaton.add_word(word, tuple(entries))
            automaton.make_automaton()
            self._automaton = automaton
        places: tuple[list[Anchor], ...] = tuple([] for _ in Role)
        for last, entries in islice(self._automaton.iter(folded), MAX_ANCHORS):
            for role, length, data, left, right in entries:
                end = last + 1
                start = end - length
                if left and start and folded[start - 1].isalnum():
                    continue
                if right and folded[end : end + 1].isalnum():
                    continue
                places[role].append(Anchor(start, end, data))
        return places


def trie(words: Iterable[str]) -> str:
    """A pattern for any of `words` (folded here), longest first, that decides by the next character."""
    return _trie(sorted({fold(word) for word in words}))


def _trie(words: list[str]) -> str:
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(word[:1], []).append(word[1:])
    branches = [re.escape(head) + _trie(tails) for head, tails in groups.items() if head]
    if not branches:
        return ""
    body = branches[0] if len(branches) == 1 and "" not in groups else f"(?:{'|'.join(branches)})"
    return f"(?:{body})?" if "" in groups else body
