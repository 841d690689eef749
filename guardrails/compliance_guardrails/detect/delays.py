"""Decides whether a number with a unit of time is a delay: not an age, a length of service, an hour of the day.

"90 jours" is a delay as it stands; "45 ans" is one only beside a word of delay ("délai", "prescription", "à compter")
and "14 h" only so. Values are normalised (two years are 24 months). Every window is bounded.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final, NamedTuple

from .claim_rules import DelayRule
from .hits import Hit, Kind, folded_words
from .lexicon import trie
from .text import fold

_BEFORE: Final = 64  # characters looked at before the number, within the sentence
_AFTER: Final = 32
_BREAKS: Final = ("\n", ". ", "; ", "! ", "? ", ": ")
_CLOCK: Final = re.compile(r" ?[0-9]{2}(?![0-9])| ?-")


class _Unit(NamedTuple):
    """A spelling of a unit: what one of it is worth, in what, and when it needs a word of delay beside it."""

    length: int
    name: str
    needs_context: bool
    context_below: int


class DelayJudge:
    """One `DelayRule`, prepared."""

    def __init__(self, rule: DelayRule) -> None:
        self._unit: dict[str, _Unit] = {}
        for unit in rule.units:
            length, name = (
                (unit.months, "mois") if unit.months else (unit.days, "jour") if unit.days else (unit.hours, "heure")
            )
            named = f"{name} {fold(unit.quality)}" if unit.quality else name
            for word in unit.words:
                self._unit[fold(word)] = _Unit(length or 1, named, unit.needs_context, unit.context_below)
        self.words: tuple[str, ...] = tuple(self._unit)
        self._never_after = _after(rule.never_after)
        self._age_after = _after(rule.age_after)
        self._clock_after = _after(rule.clock_after)
        self._never_before = folded_words(rule.never_before)
        self._age_before = folded_words(rule.age_before)
        self._age_from = rule.age_from or 1_000
        self._context_after = folded_words(rule.context_after)
        self._context = re.compile(rf"(?<![a-z0-9])(?:{trie(rule.context_before)})")
        self._prepositions = _after(rule.lead_prepositions)
        self._nouns = frozenset(map(fold, rule.lead_nouns))
        self._reach = rule.lead_words + 1

    def judge(self, folded: str, value: Decimal, word: str, start: int, end: int) -> Hit | None:
        """The delay of `value` × `word` whose number starts at `start`, or None when it is something else."""
        unit = self._unit[word]
        after = folded[end : end + _AFTER].lstrip()
        if after.startswith(self._never_before):
            return None
        before = folded[start - _BEFORE : start] if start >= _BEFORE else " " + folded[:start]
        plain = before.rstrip(" ")
        if plain.endswith(" d'"):
            plain = plain[:-1] + "e"  # "au bout d'un mois" as "au bout de"
        lead, led = self._lead(plain)
        if plain.endswith(self._never_after):
            return None
        if led and unit.needs_context and value >= self._age_from and plain.endswith(self._age_after):
            led = False  # "après 70 ans"
        clock = value < unit.context_below
        if clock and (_CLOCK.match(folded, end) or plain.endswith(self._clock_after)):
            return None
        if not led and (clock or unit.needs_context or (value == 1 and folded[start].isalpha())):
            if unit.needs_context and (plain.endswith(self._age_after) or after.startswith(self._age_before)):
                return None
            cut = max([before.rfind(mark) for mark in _BREAKS])
            if not (self._context.search(before, cut + 1) or after.startswith(self._context_after)):
                return None
        first = start - len(before) + lead if lead is not None else start
        return Hit(Kind.DELAY, value * unit.length, unit.name, first, end, start)

    def _lead(self, plain: str) -> tuple[int | None, bool]:
        """Where the words that belong to the delay begin ("délai de carence de", "dans les"), and whether they do."""
        if plain.endswith(self._prepositions):
            longest = next(word for word in self._prepositions if plain.endswith(word))
            return len(plain) - len(longest) + (longest[0] == " "), True
        if not any(map(plain.__contains__, self._nouns)):
            return None, False
        at = len(plain)
        lead: int | None = None
        for _ in range(self._reach):
            space = plain.rfind(" ", 0, at)
            word = plain[space + 1 : at]
            bare = word.rpartition("'")[2]
            if bare in self._nouns:
                lead = at - len(bare)  # "délai de carence de": the outermost noun wins
            if space < 0 or not word.replace("'", "").isalpha():
                break
            at = space
        return lead, lead is not None


def _after(words: tuple[str, ...]) -> tuple[str, ...]:
    """Whole words to look for at the end of a window that starts with a space."""
    return tuple(f" {word}" for word in folded_words(words))
