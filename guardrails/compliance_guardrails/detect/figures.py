"""Figures of a text by exact value, and whether they stand in given sources.

What lives here: `extract_figures` (money, percent, law article, clause, delay, cover assertion) and `ground`, the
deterministic measure of invented figures. What does not: whether a figure is cited (`citations`) and the word lists
(``rules/claims.yaml``). Numbers are compared by value: 1,2 M€ is 1 200 000 euros, deux ans are 24 mois.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from .hits import MAX_CANDIDATES, MAX_HITS, Hit, Kind
from .in_use import detectors
from .scanner import ClaimScanner
from .text import View, view

__all__ = ["MAX_HITS", "Figure", "Grounding", "Kind", "extract_figures", "ground"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: ``text[start:end]`` of the original is its evidence.

    `value` is exact: a Decimal in `unit` (ISO currency, "%", "mois", "jour", "jour ouvre", "heure"), the normalised
    reference ("L113-8") with `unit` "article" or "clause", or "" for a cover assertion, which has no value.
    """

    kind: Kind
    value: Decimal | str
    unit: str
    start: int
    end: int
    text: str

    @property
    def key(self) -> tuple[str, Decimal | str]:
        """What two figures that say the same have in common."""
        return self.unit, self.value


@dataclass(frozen=True, slots=True)
class Grounding:
    """How many different figures of an answer stand in its sources; `missing` keeps the first place of each other."""

    total: int
    found: int
    missing: tuple[Figure, ...]

    @property
    def share(self) -> float | None:
        """found / total, None when the answer holds no figure."""
        return self.found / self.total if self.total else None


def to_figures(seen: View, hits: Iterable[Hit]) -> list[Figure]:
    """Hits of a compact fold as figures of the original text, in order."""
    figures = []
    for hit in hits:
        start, end = seen.span(hit.start, hit.end)
        figures.append(Figure(hit.kind, hit.value, hit.unit, start, end, seen.original[start:end]))
    return figures


def extract_figures(text: str, scanner: ClaimScanner | None = None) -> list[Figure]:
    """Figures of `text` in order, at most `MAX_HITS`. O(length); never raises on any text.

    `scanner` defaults to the rules of the policy folder in use; PolicyError when that folder is not in order.
    """
    seen = view(text)
    return to_figures(seen, (scanner or detectors().scanner).scan(seen).hits)


def ground(answer: str, sources: Sequence[str], scanner: ClaimScanner | None = None) -> Grounding:
    """Look for each figure of `answer` in `sources` by value. O(total length).

    Counts different values, cover assertions left out. A delay "5 jours" is found in "5 jours ouvrés", not the other
    way round. In a table row of a source a bare number counts as the amount its column may give a unit to.
    """
    scanner = scanner or detectors().scanner
    wanted: dict[tuple[str, Decimal | str], Figure] = {}
    for figure in extract_figures(answer, scanner):
        if figure.kind is not Kind.COVERAGE:
            wanted.setdefault(figure.key, figure)
    if not wanted:
        return Grounding(0, 0, ())
    known: set[tuple[str, Decimal | str]] = set()
    bare: set[Decimal] = set()
    for source in sources:
        known.update(_keys(scanner, source, bare))
    missing = tuple(
        figure
        for key, figure in wanted.items()
        if key not in known and not (figure.kind in {Kind.MONEY, Kind.PERCENT} and figure.value in bare)
    )
    return Grounding(len(wanted), len(wanted) - len(missing), missing)


def _keys(scanner: ClaimScanner, source: str, bare: set[Decimal]) -> Iterable[tuple[str, Decimal | str]]:
    seen = view(source)
    bare.update(scanner.table_numbers(seen.compact))
    for hit in scanner.scan(seen, MAX_CANDIDATES).hits:
        yield hit.unit, hit.value
        if hit.kind is Kind.DELAY and " " in hit.unit:
            yield hit.unit.partition(" ")[0], hit.value
