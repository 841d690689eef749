"""Finds money, percentages and durations: a unit, and the number in digits or in words before it.

Units come from the lexicon, so a text full of digits costs nothing; the number is read backwards from its unit within
a bounded window. Whether a duration is a delay or an age is decided in `delays`. Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import NamedTuple

from .claim_rules import ClaimRules
from .delays import DelayJudge
from .hits import MAX_CANDIDATES, Hit, Kind
from .lexicon import Anchor, Lexicon, Role
from .numbers_fr import DIGITS, NUMBER_WORDS, number_before, parse_digits
from .text import EURO, fold

_WIDEST = 30  # characters of the longest number in digits
_PLAIN = 14  # digits of the longest one read without the pattern
_NUMBER = re.compile(rf"{DIGITS}\Z")
_RANGE = re.compile(rf"({DIGITS})(?: a | ou | et |-| - |/)\Z")
_RANGE_MARKS = " -/"
_GAPS = frozenset(" \n")
_DIGITS = "0123456789"
_BEFORE_UNIT = f"{_DIGITS}) \n"
_HUNDRED = Decimal(100)
_MONEY, _DELAY = Kind.MONEY, Kind.DELAY  # looked up once: an enum attribute is dear in a loop
_UNIT, _MULTIPLIED, _SIGN, _SPELLED = map(int, (Role.UNIT, Role.MULTIPLIED_UNIT, Role.SIGN, Role.SPELLED_UNIT))
_RANGE_ENDS = ("-", " a ", " ou ", " et ", " - ", "/")
_NOT_IN_A_RANGE = ("article ", "articles ", "clause ", "clauses ", "art. ", "page ", "pages ", "n° ", "en ")
_CENTS = re.compile(r"[0-9]{2}(?![0-9])")
_AFTER_SIGN = re.compile(rf"({DIGITS})(?! ?[{EURO}%])")
_ONE = ("un", "une")
_PLURAL_ENDINGS = ("s", "x", "pour")
_LINKS = (" ", " d'", " de ")  # "millions d'euros"
_SHORT_LINKS = ("", " ", " d'")  # "M€", "k €", "M d'euros"


class _Unit(NamedTuple):
    """What stands behind a number: a currency, the percent sign ("%") or the spelling of a unit of time."""

    kind: Kind
    name: str
    times: int


class AmountScanner:
    """The units of one set of rules; adds its anchors to the lexicon."""

    def __init__(self, rules: ClaimRules, lexicon: Lexicon) -> None:
        self._delays = DelayJudge(rules.delay)
        self._no_figure = tuple(f" {fold(word)}" for word in rules.percent.never_before)
        units: dict[str, _Unit] = {}
        for code, words in rules.money.currencies.items():
            for word in map(fold, words):
                units[word] = _Unit(Kind.MONEY, code, 1)
                for multiplier, times in rules.money.multipliers.items():
                    for link in _LINKS if len(multiplier) > 3 else _SHORT_LINKS:
                        units[fold(multiplier) + link + word] = _Unit(Kind.MONEY, code, times)
        units.update((fold(word), _Unit(Kind.PERCENT, "%", 1)) for word in rules.percent.words)
        units.update((word, _Unit(Kind.DELAY, word, 1)) for word in self._delays.words)
        for word, unit in units.items():
            # With the character before it, a unit is met only where a number may end: not in each "an" of a word.
            if unit.times != 1:
                lexicon.add(Role.MULTIPLIED_UNIT, word, unit, inside=True)
                continue
            for before in _BEFORE_UNIT:
                lexicon.add(Role.UNIT, before + word, unit, inside=True)
            if unit.kind is Kind.MONEY and (len(word) == 1 or word.upper() == unit.name):
                for digit in _DIGITS:
                    lexicon.add(Role.SIGN, word + digit, unit)
                    lexicon.add(Role.SIGN, f"{word} {digit}", unit)
            for number, link in _spelled(word, unit):
                lexicon.add(Role.SPELLED_UNIT, number + link + word, (len(number), unit))

    def scan(self, folded: str, anchors: list[list[Anchor]], cap: int) -> list[Hit]:
        """Amounts in digits, then with the sign first, then in words; about `cap` of each at most."""
        hits: list[Hit] = []
        # Of the units that start at one place ("jours", "jours ouvrés") the longest comes last and stays.
        for start, end, unit in {anchor[0]: anchor for anchor in anchors[_UNIT][:MAX_CANDIDATES]}.values():
            self._digits(folded, start + (folded[start] not in _GAPS), end, unit, hits)
            if len(hits) >= cap:
                break
        if anchors[_MULTIPLIED]:
            for start, end, unit in {anchor[0]: anchor for anchor in anchors[_MULTIPLIED][:cap]}.values():
                self._digits(folded, start - (folded[start - 1 : start] in _GAPS), end, unit, hits)
        if anchors[_SIGN]:
            ends = {hit.end for hit in hits}
            for start, end, unit in anchors[_SIGN]:
                number = end - 1
                sign_end = number - (folded[number - 1] == " ")
                hit = None if sign_end in ends else self._after_sign(folded, start, number, unit)
                if hit is not None and hit.end not in ends:
                    hits.append(hit)
        if anchors[_SPELLED]:
            hits.extend(islice(self._in_words(folded, anchors[_SPELLED]), cap))
        return hits

    def _digits(self, folded: str, number_end: int, end: int, unit: _Unit, hits: list[Hit]) -> None:
        """Append the amount of the number and unit that end there, and the first number of a range ("5 à 10 %")."""
        closed = folded[number_end - 1 : number_end] == ")"
        number_end -= closed
        if number_end <= 0 or folded[number_end - 1] not in _DIGITS:
            return
        start = _start_of_number(folded, number_end)
        if start is None:
            return
        hit = self._hit(folded, unit, folded[start:number_end], start, end)
        if hit is None:
            return
        before = folded[start - 1] if start else ""
        if closed and before == "(":  # "trente (30) jours": the evidence begins with the words
            words = number_before(folded, start - 1 - (folded[start - 2 : start - 1] == " "))
            hit = hit._replace(start=min(hit.start, words[0])) if words else hit
        if folded[end - 1] == EURO and (cents := _CENTS.match(folded, end)):
            hit = hit._replace(value=Decimal(hit.value) + Decimal(cents[0]) / 100, end=cents.end())
        if before and before in _RANGE_MARKS and folded.endswith(_RANGE_ENDS, 0, start):
            first = _RANGE.search(folded, max(0, start - _WIDEST), start)
            if first is not None and _opens_a_range(folded, first):
                other = self._hit(folded, unit, first[1], first.start(), first.end(1))
                if other is not None:
                    hits.append(other)
                    hit = hit._replace(start=max(hit.start, start))
        hits.append(hit)

    def _hit(self, folded: str, unit: _Unit, number: str | int, start: int, end: int) -> Hit | None:
        """The amount of `number` (digits, or a value read from words) and `unit`."""
        money = unit.kind is _MONEY
        value = parse_digits(number, money=money) if isinstance(number, str) else Decimal(number)
        if unit.kind is _DELAY:
            return self._delays.judge(folded, value, unit.name, start, end)
        if value == _HUNDRED and unit.name == "%" and folded.startswith(self._no_figure, end):
            return None
        return Hit(unit.kind, value * unit.times if unit.times != 1 else value, unit.name, start, end, start)

    def _after_sign(self, folded: str, start: int, number: int, unit: _Unit) -> Hit | None:
        """``€ 500``: the sign before the number, unless the number has a sign of its own."""
        match = _AFTER_SIGN.match(folded, number)
        if match is None:
            return None
        return Hit(Kind.MONEY, parse_digits(match[1], money=True), unit.name, start, match.end(1), number)

    def _in_words(self, folded: str, anchors: list[Anchor]) -> Iterator[Hit]:
        """Numbers in words before a unit: ``trente jours``, ``deux mille euros``, ``dix pour cent``."""
        for start, end, (length, unit) in {anchor[0]: anchor for anchor in anchors}.values():
            found = number_before(folded, start + length)
            if found is None:
                continue
            first, value = found
            if first >= 2 and folded[first - 2].isdigit():  # "12 mille euros" was read from its digits
                continue
            hit = self._hit(folded, unit, value, first, end)
            if hit is not None:
                yield hit


def _start_of_number(folded: str, end: int) -> int | None:
    """Where the number in digits that ends at `end` begins; None for a part of a word or of something longer.

    Most numbers are a plain run of digits behind a word and a space, which is read without the pattern.
    """
    start, low = end - 1, end - _PLAIN
    while start > low and start > 0 and folded[start - 1] in _DIGITS:
        start -= 1
    if start > max(low, 1) and folded[start - 1] == " " and folded[start - 2] not in _DIGITS:
        return start
    match = _NUMBER.search(folded, max(0, end - _WIDEST), end)
    return match.start() if match else None


def _opens_a_range(folded: str, first: re.Match[str]) -> bool:
    """Whether a number and its link begin a range: not a year, an article or a clause, nor a mere "et"."""
    start = first.start()
    if folded.endswith(_NOT_IN_A_RANGE, 0, start) or folded[start - 1 : start] == "-":
        return False
    return not first[0].endswith(" et ") or folded.endswith("entre ", 0, start)


def _spelled(word: str, unit: _Unit) -> Iterator[tuple[str, str]]:
    """The words that a number may end with before the unit `word`, and what stands between the two."""
    if unit.times != 1 or len(word) < 2 or not word[0].isalpha():
        return
    plural = word.split(maxsplit=1)[0].endswith(_PLURAL_ENDINGS)
    for number in NUMBER_WORDS:
        if plural or number in _ONE:
            yield number, " "
        if number.startswith("milli"):
            yield number, " d'"
