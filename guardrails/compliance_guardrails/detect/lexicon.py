"""One Aho-Corasick pass over a folded text for all the words that claims and citations start from.

`Lexicon` collects words by role, `find` gives their places by role. The words come from the rules; what a place means
is the business of the scanner that owns its role. Serves the rule that time is linear in the text.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

import ahocorasick  # ty: ignore[import-not-found]

from .text import fold

MAX_ANCHORS: Final = 25_000
"""Places looked at in one text at most: bounds the time that a text made of our own words can cost."""


# Letters by frequency in French. The automaton tries the branches of a node in the order of insertion, so the frequent
# ones go first: measured, a third of the time of a pass.
_BY_FREQUENCY: Final = {ord(char): rank for rank, char in enumerate(" esaitnrulodcpmvqfbghjxyzkw0123456789")}


def _by_frequency(word: str) -> str:
    return word.translate(_BY_FREQUENCY)


class Role(enum.IntEnum):
    """What a word was added for."""

    UNIT = 0
    MULTIPLIED_UNIT = 1
    SIGN = 2
    SPELLED_UNIT = 3
    ARTICLE = 4
    CLAUSE = 5
    OF_A_CODE = 6
    DASH = 7
    COVER = 8
    LIMIT = 9
    FOR_AN_AMOUNT = 10
    MARKER = 11
    NAMED = 12
    ACRONYM = 13
    PAGE = 14
    DOCUMENT = 15


_ROLES: Final = len(Role)

NOTE_SIGNS: Final = "¹²³"
"""What the fold keeps of raised digits: they end a word ("deux mille euros¹")."""

Anchor = tuple[int, int, Any]
"""A word of the lexicon: start and end in the compact fold, and what its owner stored for it."""


class Lexicon:
    """Words by role. A word that begins or ends with a letter or digit must begin or end there in the text."""

    def __init__(self) -> None:
        self._entries: dict[str, list[tuple[int, int, Any, bool, bool]]] = {}
        self._automaton: Any = None

    def add(self, role: Role, word: str, data: Any = None, *, inside: bool = False) -> None:
        """Add `word` (folded here) with `data`; `inside` lets a letter or digit stand before it."""
        folded = fold(word)
        left = folded[0].isalnum() and not inside
        entry = (int(role), len(folded), data, left, folded[-1].isalpha())
        self._entries.setdefault(folded, []).append(entry)

    def find(self, folded: str) -> list[list[Anchor]]:
        """Places of the words in `folded`, one list in order of end for each role; at most `MAX_ANCHORS` in all."""
        if self._automaton is None:
            automaton = ahocorasick.Automaton()
            for word in sorted(self._entries, key=_by_frequency):
                automaton.add_word(word, tuple(self._entries[word]))
            automaton.make_automaton()
            self._automaton = automaton
        places: list[list[Anchor]] = [[] for _ in range(_ROLES)]
        for last, entries in islice(self._automaton.iter(folded), MAX_ANCHORS):
            end = last + 1
            for role, length, data, left, right in entries:
                start = end - length
                if left and start and folded[start - 1].isalnum():
                    continue
                if right and folded[end : end + 1].isalnum() and folded[end] not in NOTE_SIGNS:
                    continue
                places[role].append((start, end, data))
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
