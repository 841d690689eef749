"""All scanners of claims under one roof, compiled once for each set of rules.

`ClaimScanner.scan` gives the raw hits of a view in order. Which rules are in use is the business of `in_use`; what a
figure or a claim is to the outside stands in `figures` and `citations`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from operator import attrgetter
from typing import Final, NamedTuple

from .amounts import AmountScanner
from .claim_rules import ClaimRules
from .coverage import CoverageScanner
from .hits import MAX_CANDIDATES, MAX_HITS, Hit
from .lexicon import Anchor, Lexicon
from .numbers_fr import DIGITS, parse_digits
from .references import ReferenceScanner
from .text import View

_DIGITS: Final = re.compile(DIGITS)
_PLACE: Final = attrgetter("start", "end")


class Scan(NamedTuple):
    """Hits in order of their start, and the places of all words of the lexicon."""

    hits: list[Hit]
    anchors: list[list[Anchor]]


class ClaimScanner:
    """Every kind of claim of one set of rules; words that others add to `lexicon` are found in the same pass."""

    def __init__(self, rules: ClaimRules, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._amounts = AmountScanner(rules, lexicon)
        self._references = ReferenceScanner(rules, lexicon)
        self._coverage = CoverageScanner(rules.coverage, lexicon)

    def scan(self, seen: View, cap: int = MAX_HITS) -> Scan:
        """The claims of a view, at most `cap`."""
        folded = seen.compact
        anchors = self._lexicon.find(folded)
        hits = self._amounts.scan(folded, anchors, cap)
        numbers = {hit.number for hit in hits}
        hits.extend(islice(self._references.scan(seen, anchors, numbers), cap))
        hits.extend(islice(self._coverage.scan(folded, anchors), cap))
        hits.sort(key=_PLACE)
        return Scan(hits[:cap], anchors)

    def table_numbers(self, folded: str) -> Iterator[Decimal]:
        """Numbers in the rows of a table (``|`` or ``;`` between cells), whose unit may stand in the header."""
        if "|" not in folded:
            return
        budget = MAX_CANDIDATES
        for line in folded.split("\n"):
            if line.count("|") < 2:
                continue
            for match in _DIGITS.finditer(line):
                budget -= 1
                if budget < 0:
                    return
                yield parse_digits(match[0], money=True)
