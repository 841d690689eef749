"""Finds cover assertions with a limit: "couverts jusqu'à", "garantie à hauteur de", "exclus dans la limite de".

The limit is looked for first because it is rare, then the word of cover before it in the same sentence.
Windows are bounded, so time is linear.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from .claim_rules import CoverageRule
from .hits import Hit, Kind
from .lexicon import Anchor, Lexicon, Role, trie
from .text import fold

_WINDOW: Final = 110  # characters between a word of cover and its limit
_COVER, _LIMIT, _FOR_AN_AMOUNT = map(int, (Role.COVER, Role.LIMIT, Role.FOR_AN_AMOUNT))
_HEADS: Final = ".!?:\n"
_BREAKS: Final = re.compile(r"[.;!?](?=[ \n])|\n")


class CoverageScanner:
    """One `CoverageRule`, prepared; adds its anchors to the lexicon."""

    def __init__(self, rule: CoverageRule, lexicon: Lexicon) -> None:
        self._amount = re.compile(rf" ?(?:[0-9]|(?:{trie(rule.amount_nouns)})(?![a-z]))")
        self._breakers = re.compile(rf"(?<![a-z])(?:{trie(rule.breakers)})(?![a-z])")
        self._no_limit = re.compile(rf" (?:{trie(rule.no_limits)})(?![a-z])") if rule.no_limits else None
        self._gap = rule.max_words_between
        for limit in rule.limits:
            lexicon.add(Role.LIMIT, limit)
            if "'" in limit.replace("’", "'"):  # the apostrophe is often left out: "jusqu à"
                lexicon.add(Role.LIMIT, fold(limit).replace("'", " "))
        for word in rule.words:
            lexicon.add(Role.COVER, word)
            for link in rule.amount_links:
                lexicon.add(Role.FOR_AN_AMOUNT, f"{word} {link}")

    def scan(self, folded: str, anchors: list[list[Anchor]]) -> Iterator[Hit]:
        """Cover assertions of a compact fold; one for each word of cover at most."""
        last: Hit | None = None
        words = anchors[_COVER]
        for anchor in anchors[_LIMIT] if words else ():
            if self._no_limit and self._no_limit.match(folded, anchor[1]):
                continue
            start = self._cover_before(folded, anchor[0], words)
            if start is None:
                after = self._cover_after(folded, anchor, words)
                if after is not None and (last is None or anchor[0] >= last.end):
                    yield Hit(Kind.COVERAGE, "", "", anchor[0], after, anchor[0])
                continue
            if last is not None and last.start == start:
                if anchor[0] <= last.end:  # "jusqu'à concurrence de" is one limit
                    last = last._replace(end=max(last.end, anchor[1]))
                continue
            if last is not None:
                yield last
            last = Hit(Kind.COVERAGE, "", "", start, anchor[1], start)
        if last is not None:
            yield last
        for anchor in anchors[_FOR_AN_AMOUNT]:
            if self._amount.match(folded, anchor[1]):
                yield Hit(Kind.COVERAGE, "", "", anchor[0], anchor[1], anchor[0])

    def _cover_before(self, folded: str, at: int, words: list[Anchor]) -> int | None:
        """Where the last word of cover before the limit at `at` starts, if the two belong together."""
        index = bisect_left(words, (at,)) - 1
        if index < 0:
            return None
        start, end, _ = words[index]
        if at - end > _WINDOW:
            return None
        between = folded[end:at]
        if between.count(" ") > self._gap + 1 or _BREAKS.search(between) or self._breakers.search(between):
            return None
        return start

    def _cover_after(self, folded: str, limit: Anchor, words: list[Anchor]) -> int | None:
        """Where the word of cover ends that a limit at the head of a sentence bears on ("Jusqu'à 500 €, … couvert")."""
        head = folded[max(0, limit[0] - 3) : limit[0]].rstrip(' *-"(')
        if head and head[-1] not in _HEADS:
            return None
        index = bisect_left(words, (limit[1],))
        if index == len(words) or words[index][0] - limit[1] > _WINDOW:
            return None
        between = folded[limit[1] : words[index][0]]
        if _BREAKS.search(between) or self._breakers.search(between):
            return None
        return words[index][1]
