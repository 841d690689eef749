"""The figures of an answer by exact value, and the part each one plays: deductible or ceiling, a month or a year.

Amounts, percentages, articles and delays come from `detect.figures`; durations that it leaves out because they stand
beside no word of delay ("un mois après", "dans l'année") are added here, so that two ways to say one delay agree.
A part is read from the words around an amount and compared only where both answers give one. Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from compliance_guardrails.detect.figures import Figure, Kind, extract_figures
from compliance_guardrails.detect.numbers_fr import number_before
from compliance_guardrails.detect.text import fold

from .rules import PartOfFigure

Key = tuple[str, Decimal | str]
Part = tuple[str, Decimal | str, str, str]

_UNITS: Final = {"mois": (1, "mois"), "an": (12, "mois"), "annee": (12, "mois"), "semaine": (7, "jour")}
_UNITS_ANY: Final = _UNITS | {"jour": (1, "jour"), "heure": (1, "heure")}
_LONE: Final = re.compile(r"\b(?:dans|durant|pendant|sous) (?:le |l')(mois|an|annee)\b")
_COUNTED: Final = re.compile(r"(?<=[a-z0-9] )(jour|heure|semaine|mois|annee|an)s?\b( ouvre)?")
_DIGITS: Final = re.compile(r"(?<![0-9a-z.,])([0-9]{1,4})(i?eme|e)? $")
_BEFORE: Final = 70
_AFTER: Final = 40
_CUT: Final = re.compile(r"[.;:\n]|, (?=[a-z])")


@dataclass(frozen=True, slots=True)
class Figures:
    """`values`: (unit, value); `parts`: (unit, value, group, part) for the amounts whose part is said."""

    values: frozenset[Key]
    parts: frozenset[Part]


class FigureReader:
    """Reads figures; `parts` are the rules' groups of words that exclude each other."""

    def __init__(self, parts: Sequence[PartOfFigure]) -> None:
        self._parts = [
            (part.group, part.id, part.before, re.compile(rf"(?<![a-z0-9])(?:{'|'.join(map(_escaped, part.words))})"))
            for part in parts
        ]

    def read(self, answer: str) -> Figures:
        """Every figure of `answer`. Never raises on any text."""
        found = [figure for figure in extract_figures(answer) if figure.kind is not Kind.COVERAGE]
        folded = fold(answer)
        values = {figure.key for figure in found} | set(_durations(folded))
        parts = {
            (*figure.key, group, part)
            for figure in found
            if figure.kind is Kind.MONEY
            for group, part in self._parts_of(folded, figure)
        }
        return Figures(frozenset(values), frozenset(parts))

    def _parts_of(self, folded: str, figure: Figure) -> Iterable[tuple[str, str]]:
        before = _CUT.split(folded[max(0, figure.start - _BEFORE) : figure.start])[-1]
        # « HT » may be taken for a part of the amount itself
        after = folded[figure.start : figure.end] + _CUT.split(folded[figure.end : figure.end + _AFTER])[0]
        nearest: dict[str, tuple[int, str]] = {}
        for group, part, looks_before, words in self._parts:
            places = [len(before) - hit.start() for hit in words.finditer(before)] if looks_before else []
            places += [_BEFORE + hit.start() for hit in words.finditer(after)]
            if places and min(places) < nearest.get(group, (10_000, ""))[0]:
                nearest[group] = (min(places), part)
        return [(group, part) for group, (_, part) in nearest.items()]


def _escaped(words: str) -> str:
    return re.escape(fold(words))


def _durations(folded: str) -> Iterable[Key]:
    for hit in _LONE.finditer(folded):
        times, unit = _UNITS[hit[1]]
        yield unit, Decimal(times)
    for hit in _COUNTED.finditer(folded):
        digits = _DIGITS.search(folded[max(0, hit.start() - 10) : hit.start()])
        worded = number_before(folded, hit.start())
        number = int(digits[1]) if digits else worded[1] if worded is not None else 0
        if digits and digits[2]:
            number -= 1  # « dès le 91e jour » dit la même attente que « après 90 jours »
        if number > 1 or (number and hit[1] not in {"jour", "heure"}):
            times, unit = _UNITS_ANY[hit[1]]
            yield f"{unit}{hit[2] or ''}", Decimal(number * times)


def clashes(one: frozenset[Part], two: frozenset[Part]) -> int:
    """How many amounts of both answers play parts that exclude each other; an amount with two parts clashes never."""
    first, second = _by_amount(one), _by_amount(two)
    return len({place[:2] for place, parts in first.items() if place in second and parts.isdisjoint(second[place])})


def _by_amount(parts: frozenset[Part]) -> dict[tuple[str, Decimal | str, str], set[str]]:
    out: dict[tuple[str, Decimal | str, str], set[str]] = {}
    for unit, value, group, part in parts:
        out.setdefault((unit, value, group), set()).add(part)
    return out


__all__ = ["FigureReader", "Figures", "clashes"]
