"""Finds cover assertions with a limit: "couverts jusqu'à", "garantie à hauteur de", "exclus dans la limite de".

The limit is looked for first because it is rare, then the word of cover before it in the same sentence.
Serves SPEC 2.3; windows are bounded, so time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .claim_rules import CoverageRule
from .hits import MAX_CANDIDATES, Hit, Kind, longest_first
from .text import fold

_WINDOW: Final = 110
_BREAKS: Final = re.compile(r"[.;!?](?=[ \n])|\n")


class CoverageScanner:
    """One `CoverageRule`, prepared."""

    def __init__(self, rule: CoverageRule) -> None:
        words = "|".join(map(re.escape, longest_first(rule.words)))
        self._word = re.compile(rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])")
        self._ends = tuple(fold(word) for word in rule.words)
        self._limits = _roots(longest_first(rule.limits))
        self._links = tuple(f" {fold(word)} " for word in rule.amount_links)
        nouns = "|".join(map(re.escape, longest_first(rule.amount_nouns)))
        self._amount = re.compile(rf"(?:[0-9]|{nouns})")
        self._breakers = re.compile(
            "|".join(rf"(?<![a-z]){re.escape(w)}(?![a-z])" for w in longest_first(rule.breakers))
        )
        self._gap = rule.max_words_between

    def scan(self, folded: str) -> Iterator[Hit]:
        """Cover assertions of a compact fold; one for each limit at most."""
        budget = MAX_CANDIDATES
        low = 0
        for root, pattern in self._limits:
            at = folded.find(root)
            low = 0
            while at >= 0 and budget > 0:
                budget -= 1
                limit = pattern.match(folded, at)
                if limit is not None and (at == 0 or not folded[at - 1].isalnum()):
                    start = self._cover_before(folded, max(low, at - _WINDOW), at)
                    if start is not None:
                        yield Hit(Kind.COVERAGE, "", "", start, limit.end(), start)
                        low = limit.end()
                at = folded.find(root, at + len(root))
        yield from self._for_an_amount(folded, budget)

    def _cover_before(self, folded: str, low: int, at: int) -> int | None:
        window = folded[low:at]
        found: re.Match[str] | None = None
        for found in self._word.finditer(window):  # noqa: B007 - the last one is wanted
            pass
        if found is None:
            return None
        between = window[found.end() :]
        if _BREAKS.search(between) or self._breakers.search(between) or between.count(" ") > self._gap + 1:
            return None
        return low + found.start()

    def _for_an_amount(self, folded: str, budget: int) -> Iterator[Hit]:
        """``garanti pour 10 000 €``: the word touches the link and an amount follows."""
        for link in self._links:
            at = folded.find(link)
            while at >= 0 and budget > 0:
                if folded.endswith(self._ends, max(0, at - 16), at):
                    budget -= 1
                    amount = self._amount.match(folded, at + len(link))
                    word = None
                    for word in self._word.finditer(folded, max(0, at - 16), at):  # noqa: B007
                        pass
                    if amount and word:
                        yield Hit(Kind.COVERAGE, "", "", word.start(), at + len(link) - 1, word.start())
                at = folded.find(link, at + len(link))


def _roots(limits: list[str]) -> list[tuple[str, re.Pattern[str]]]:
    """Limits by a first word that is cheap to find, the apostrophe optional (``jusqu à``)."""
    roots: dict[str, list[str]] = {}
    for limit in limits:
        root = "jusqu" if limit.startswith("jusqu") else limit[: max(limit.find(" ", 3), 6)]
        roots.setdefault(root, []).append(limit)
    compiled = []
    for root, words in sorted(roots.items()):
        choices = "|".join(
            re.escape(word).replace("'", "['e]? ?") + ("(?![a-z])" if word[-1].isalpha() else "")
            for word in words
        )
        compiled.append((root, re.compile(choices)))
    return compiled
