"""Finds money, percentages and durations: a number, in digits or in words, and the unit behind it.

One pass over the digits with a pattern that cannot backtrack over a number; numbers in words come from the lexicon
("trente jours"). Whether a duration is a delay or an age is decided in `delays`. Serves SPEC 2.3; linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from .claim_rules import ClaimRules
from .delays import DelayJudge
from .hits import MAX_CANDIDATES, MAX_HITS, Hit, Kind
from .lexicon import Anchor, Lexicon, Role, trie
from .numbers_fr import DIGITS, DIGITS_TAIL, NUMBER_WORDS, number_before, parse_digits
from .text import EURO, fold

_CODE = r"(?<![0-9][0-9])(?>[0-9]{2,3}(?:-[0-9]{1,4}){1,4})(?![0-9a-z])"
_RANGE = re.compile(rf"({DIGITS})(?: a | ou | et |-| - |/)\Z")
_RANGE_ENDS = ("-", " a ", " ou ", " et ", " - ", "/")
_NOT_IN_A_RANGE = ("article ", "articles ", "clause ", "clauses ", "art. ")
_CENTS = re.compile(r"[0-9]{2}(?![0-9])")
_PREFIXED = re.compile(rf"{EURO} ?({DIGITS})(?! ?[{EURO}%])")
_ONE = ("un", "une")
_PLURAL_ENDINGS = ("s", "x", "pour")


class AmountScanner:
    """The patterns of one set of rules, compiled once; adds its anchors to the lexicon."""

    def __init__(self, rules: ClaimRules, lexicon: Lexicon) -> None:
        self._currency = {fold(word): code for code, words in rules.money.currencies.items() for word in words}
        self._multiplier = {fold(word): value for word, value in rules.money.multipliers.items()}
        self._percent = frozenset(map(fold, rules.percent.words))
        self._delays = DelayJudge(rules.delay)
        units = (*self._currency, *self._percent, *self._delays.words)
        worded = trie(unit for unit in units if unit[-1].isalnum())
        signs = trie(unit for unit in units if not unit[-1].isalnum())
        unit = (
            rf"(?:(?P<times>{trie(self._multiplier)})\.? ?(?:d'|de )?)?(?P<unit>(?:{worded})(?![a-z0-9])|{signs})"
        )
        firsts = "".join(sorted({re.escape(word[0]) for word in (*units, *self._multiplier)}))
        self._unit = re.compile(unit)
        self._numbers = re.compile(rf"[0-9](?:{DIGITS_TAIL}\)?[ \n]?(?=[{firsts}]){unit}|({_CODE}))")
        for needle, unit_start in _spelled(units):
            lexicon.add(Role.SPELLED_UNIT, needle, unit_start, prefix=True)

    def scan(self, folded: str, spelled: Iterable[Anchor]) -> tuple[list[Hit], list[tuple[int, int]]]:
        """Amounts, and the places of codes like ``113-8`` (for `references` to judge)."""
        hits: list[Hit] = []
        codes: list[tuple[int, int]] = []
        position = 0
        search = self._numbers.search
        for _ in range(MAX_CANDIDATES):
            match = search(folded, position)
            if match is None or len(hits) > MAX_HITS:
                break
            position = match.end()
            if match.lastgroup is not None:
                self._digits(folded, match, hits)
            elif self._unit.match(folded, position + (folded[position : position + 1] == " ")):
                position = folded.index("-", match.start()) + 1  # "500-600 €" is a range, not a code
            else:
                codes.append(match.span())
        if EURO in folded:
            hits.extend(self._prefixed(folded, {hit.end for hit in hits}))
        hits.extend(self._in_words(folded, spelled))
        return hits, codes

    def _digits(self, folded: str, match: re.Match[str], hits: list[Hit]) -> None:
        start = match.start()
        unit_start = match.start("times") if match["times"] else match.start("unit")
        number = folded[start:unit_start].rstrip(") \n")
        hit = self._hit(folded, match, number, start)
        if hit is None:
            return
        if folded[unit_start - 1] == ")" or folded[unit_start - 2 : unit_start] == ") ":
            # "trente (30) jours": the evidence begins with the words
            words = number_before(folded, len(folded[:start].rstrip(" ("))) if folded[start - 1] == "(" else None
            hit = hit._replace(start=min(hit.start, words[0])) if words else hit
        if hit.kind is Kind.MONEY and folded[hit.end - 1] == EURO and (cents := _CENTS.match(folded, hit.end)):
            hit = hit._replace(value=Decimal(hit.value) + Decimal(cents[0]) / 100, end=cents.end())
        if start > 1 and folded[start - 1] in " -/" and folded.endswith(_RANGE_ENDS, 0, start):
            first = _RANGE.search(folded, max(0, start - 28), start)
            if first is not None and not folded.endswith(_NOT_IN_A_RANGE, 0, first.start()):
                other = self._hit(folded, match, first[1], first.start())
                if other is not None:
                    hits.append(other._replace(end=first.end(1)))
                    hit = hit._replace(start=max(hit.start, start))
        hits.append(hit)

    def _hit(self, folded: str, match: re.Match[str], number: str | int, start: int) -> Hit | None:
        """The amount of `number` (digits, or a value read from words) and the unit of `match`."""
        unit, times = match["unit"], match["times"]
        currency = self._currency.get(unit)
        if times and currency is None:
            return None
        value = parse_digits(number, money=currency is not None) if isinstance(number, str) else Decimal(number)
        if currency is not None:
            total = value * self._multiplier[times] if times else value
            return Hit(Kind.MONEY, total, currency, start, match.end(), start)
        if unit in self._percent:
            return Hit(Kind.PERCENT, value, "%", start, match.end(), start)
        return self._delays.judge(folded, value, unit, start, match.end())

    def _prefixed(self, folded: str, ends: set[int]) -> Iterator[Hit]:
        """``€ 500``: the sign before the number, unless it already closes the amount before it."""
        for match in _PREFIXED.finditer(folded):
            if match.start() + 1 not in ends and match.end(1) not in ends:
                value = parse_digits(match[1], money=True)
                yield Hit(Kind.MONEY, value, "EUR", match.start(), match.end(1), match.start(1))

    def _in_words(self, folded: str, spelled: Iterable[Anchor]) -> Iterator[Hit]:
        """Numbers in words before a unit: ``trente jours``, ``deux mille euros``, ``dix pour cent``."""
        last = -1
        for start, _, unit_start in spelled:
            if start < last:
                continue
            match = self._unit.match(folded, start + unit_start)
            found = number_before(folded, start + unit_start)
            if found is None or match is None:
                continue
            first, value = found
            if first >= 2 and folded[first - 2].isdigit():  # "12 mille euros" was read from its digits
                continue
            last = match.end()
            hit = self._hit(folded, match, value, first)
            if hit is not None:
                yield hit


def _spelled(units: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The last word of a number with the first word of a unit behind it, and where the unit starts in that."""
    for unit in {unit.split()[0] for unit in units if len(unit) > 1 and unit[0].isalpha()}:
        plural = unit.endswith(_PLURAL_ENDINGS)
        for number in NUMBER_WORDS:
            if plural or number in _ONE:
                yield f"{number} {unit}", len(number) + 1
            if number.startswith("milli"):
                yield f"{number} d'{unit}", len(number) + 3
