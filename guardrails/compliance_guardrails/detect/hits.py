"""What the scanners of figures hand to one another: kinds, raw hits and their caps.

Offsets of a `Hit` are into the compact fold; `figures` carries them back to the original text. No rule lives here.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from decimal import Decimal
from typing import Final, NamedTuple

from .text import fold

MAX_HITS: Final = 2_000
"""Figures reported for one text at most; a real answer holds a few dozen."""

MAX_CANDIDATES: Final = 10_000
"""Numbers with a unit looked at in one text at most: bounds the time that near misses can cost."""


class Kind(enum.StrEnum):
    """The six kinds of specific claims."""

    MONEY = "money"
    PERCENT = "percent"
    LAW_ARTICLE = "law_article"
    CLAUSE = "clause"
    DELAY = "delay"
    COVERAGE = "coverage"


class Hit(NamedTuple):
    """One figure at ``compact[start:end]``; its number starts at `number`. `value` is "" for a cover assertion."""

    kind: Kind
    value: Decimal | str
    unit: str
    start: int
    end: int
    number: int


def folded_words(words: Iterable[str]) -> tuple[str, ...]:
    """The folded words without doubles, longest first."""
    return tuple(sorted({fold(word) for word in words}, key=lambda word: (-len(word), word)))
