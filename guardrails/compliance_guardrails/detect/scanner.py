"""All scanners of claims under one roof, compiled once for each set of rules.

`ClaimScanner.scan` gives the raw hits of a view in order. Which rules are in use is the business of `in_use`; what a
figure or a claim is to the outside stands in `figures` and `citations`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from operator import attrgetter
from typing import Final

from .amounts import AmountScanner
from .claim_rules import ClaimRules
from .coverage import CoverageScanner
from .hits import MAX_CANDIDATES, MAX_HITS, Hit
from .numbers_fr import DIGITS, parse_digits
from .references import ReferenceScanner
from .text import View

_DIGITS: Final = re.compile(DIGITS)


class ClaimScanner:
    """Every kind of claim of one set of rules."""

    def __init__(self, rules: ClaimRules) -> None:
        self._amounts = AmountScanner(rules)
        self._references = ReferenceScanner(rules)
        self._coverage = CoverageScanner(rules.coverage)

    def scan(self, seen: View, cap: int | None = MAX_HITS) -> list[Hit]:
        """Hits in order of their start; at most `cap`."""
        folded = seen.compact
        hits, codes = self._amounts.scan(folded)
        hits.extend(self._references.scan(seen, codes, {hit.number for hit in hits}))
        hits.extend(self._coverage.scan(folded))
        hits.sort(key=attrgetter("start", "end"))
        return hits[:cap]

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
