"""Decides whether a number with a unit of time is a delay: not an age, a length of service, an hour of the day.

"90 jours" is a delay as it stands; "45 ans" is one only beside a word of delay ("délai", "prescription", "à compter")
and "14 h" only so. Values are normalised (two years are 24 months). Serves SPEC 2.3; every window is bounded.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from .claim_rules import DelayRule
from .hits import Hit, Kind, folded_words
from .lexicon import trie
from .text import fold

_BEFORE: Final = 64  # characters looked at before the number, within the sentence
_AFTER: Final = 32
_BREAKS: Final = re.compile(r"[.;!?:] |\n")
_CLOCK: Final = re.compile(r" ?[0-9]{2}(?![0-9])| ?-")


class DelayJudge:
    """One `DelayRule`, prepared."""

    def __init__(self, rule: DelayRule) -> None:
        self._unit = {fold(word): unit for unit in rule.units for word in unit.words}
        self.words: tuple[str, ...] = tuple(self._unit)
        self._never_after = tuple(f" {fold(word)}" for word in rule.never_after)
        self._age_after = tuple(f" {fold(word)}" for word in rule.age_after)
        self._never_before = tuple(fold(word) for word in rule.never_before)
        self._context_after = tuple(fold(word) for word in rule.context_after)
        self._always = tuple(fold(word) for word in rule.always_after)
        self._context = re.compile(rf"(?<![a-z0-9])(?:{trie(rule.context_before)})")
        # The lead is matched from its first word; `judge` finds that word from the right.
        self._lead_words = folded_words((*rule.lead_nouns, *rule.lead_prepositions))
        self._lead = re.compile(
            rf"(?:(?:{trie(rule.lead_nouns)})(?: [a-z']+){{0,{rule.lead_words}}}|{trie(rule.lead_prepositions)})"
            r" ?(?:d')?\Z"
        )

    def judge(self, folded: str, value: Decimal, word: str, start: int, end: int) -> Hit | None:
        """The delay of `value` × `word` whose number starts at `start`, or None when it is something else."""
        unit = self._unit[word]
        after = folded[end : end + _AFTER].lstrip()
        if after.startswith(self._never_before):
            return None
        before = _sentence_tail(folded, start)
        plain = before.rstrip(" '")
        lead = self._lead.search(before)
        led = lead is not None or any(always in before[-40:] for always in self._always)
        if plain.endswith(self._never_after) and not led:
            return None
        needs_context = unit.needs_context or (value == 1 and folded[start].isalpha())
        if value < unit.context_below:
            needs_context = True
            if _CLOCK.match(folded, end):
                return None
        if needs_context and not led:
            if unit.needs_context and plain.endswith(self._age_after):
                return None
            if not (self._context.search(before) or after.startswith(self._context_after)):
                return None
        if unit.months is not None:
            length, name = unit.months, "mois"
        elif unit.days is not None:
            length, name = unit.days, "jour" + (f" {fold(unit.quality)}" if unit.quality else "")
        else:
            length, name = unit.hours or 1, "heure"
        first = start - len(before) + lead.start() if lead is not None else start
        return Hit(Kind.DELAY, value * length, name, first, end, start)


def _sentence_tail(folded: str, start: int) -> str:
    """The end of the sentence before `start`, at most `_BEFORE` characters, with one space in front."""
    low = max(0, start - _BEFORE)
    window = folded[low:start]
    cut = 0
    for match in _BREAKS.finditer(window):
        cut = match.end()
    return window[cut:]
