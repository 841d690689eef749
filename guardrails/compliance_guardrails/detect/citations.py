"""Claims of an answer and whether each of them is cited (SPEC 2.3).

A claim is cited when its sentence, list item or table row names a source that can be looked up; an article or a clause
never cites itself, nor one another. The looser rule (any marker anywhere) is reported beside it. What the outcome
leads to (score, event, queue) is decided elsewhere; the words stand in ``rules/citations.yaml``.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from .hits import Hit, Kind
from .in_use import Detectors, detectors
from .sentences import Stretches, inside, merged
from .sourcing import Evidence
from .text import view

__all__ = ["CitationCheck", "Claim", "Kind", "check"]

_REFERENCES = frozenset({Kind.LAW_ARTICLE, Kind.CLAUSE})


@dataclass(frozen=True, slots=True)
class Claim:
    """One specific claim; ``text[start:end]`` of the original is its evidence."""

    kind: Kind
    text: str
    start: int
    end: int
    cited: bool


@dataclass(frozen=True, slots=True)
class CitationCheck:
    """Claims in order; `compliance` 1 when each is cited, 0 when one is not, None when there is none.

    `marker` is the looser rule: 1 when any citation marker stands anywhere outside the claims' own words.
    """

    claims: tuple[Claim, ...]
    compliance: int | None
    marker: int | None


def check(text: str, using: Detectors | None = None) -> CitationCheck:
    """Find the claims of `text` (at most `hits.MAX_HITS`) and judge each. O(length); never raises on any text.

    `using` defaults to the rules of the policy folder in use; PolicyError when that folder is not in order.
    """
    using = using or detectors()
    seen = view(text)
    hits = using.scanner.scan(seen)
    if not hits:
        return CitationCheck((), None, None)
    finder = using.finder
    own = merged([(hit.start, hit.end) for hit in hits if hit.kind in _REFERENCES])
    all_claims = merged([(hit.start, hit.end) for hit in hits])
    references = sorted(hit.start for hit in hits if hit.kind in _REFERENCES)
    stretches = Stretches(seen.compact, seen.visible, finder.abbreviations)
    known: dict[tuple[int, int], Evidence] = {}

    def offered(start: int, end: int) -> Evidence:
        if (start, end) not in known:
            known[start, end] = finder.evidence(seen, start, end, lambda place: inside(all_claims, place))
        return known[start, end]

    claims: list[Claim] = []
    for hit in hits:
        stretch = stretches.around(hit.number)
        found = offered(stretch.start, stretch.end)
        if stretch.lead < stretch.start:
            found |= offered(stretch.lead, stretches.lead_end(stretch))
        first, last = seen.span(hit.start, hit.end)
        claims.append(Claim(hit.kind, text[first:last], first, last, _cited(hit, found, stretch, references)))
    marker = finder.marker_outside(seen.compact, lambda place: inside(own, place))
    return CitationCheck(tuple(claims), int(all(claim.cited for claim in claims)), int(marker))


def _cited(hit: Hit, found: Evidence, stretch: tuple[int, int, int], references: list[int]) -> bool:
    if hit.kind in _REFERENCES:
        return found.strong or found.marked
    start, end, lead = stretch
    if found.strong or found.named or found.marked:
        return True
    at = bisect_right(references, min(start, lead) - 1)
    return at < len(references) and references[at] < end
