"""Claims of an answer and whether each of them is cited.

A claim is cited when its sentence, list item or table row, or the source line below, names a source that can be looked
up; an article or a clause never cites itself, nor one another. The looser rule (any marker anywhere) is reported beside
it. What the outcome leads to (score, event, queue) is decided elsewhere; the words stand in ``rules/citations.yaml``.
"""

from __future__ import annotations

import enum
import re
from bisect import bisect_left
from dataclasses import dataclass
from operator import attrgetter

from .hits import Hit, Kind
from .in_use import Detectors, detectors
from .lexicon import Anchor, Role
from .prepared import Prepared, prepare
from .sentences import Stretches, inside, merged
from .sourcing import LEAD, STRONG, Evidence, SourceFinder
from .text import View

__all__ = ["Because", "CitationCheck", "Claim", "Kind", "check"]


class Because(enum.StrEnum):
    """Why a claim counts as cited, or that nothing cites it."""

    PAGE_OR_NOTE = "page_or_note"
    MARKED_SOURCE = "marked_source"
    NAMED_DOCUMENT = "named_document"
    REFERENCE = "reference"
    NOTHING = "nothing"


_NOTHING = Because.NOTHING
_IS_CITED = attrgetter("cited")
_LISTED = 6  # characters between two articles of one list: " et l'"
_OPENS = re.compile(r"\([^()\n]*\Z")
_BRACKETED = 60  # characters between a bracket and the reference in it
_NOTES = (
    (("¹", "²", "³", "<sup>"), re.compile(r"(?<![ 0-9/ckdm]m)[¹²³]|<sup>[0-9]")),  # a note sign, not "85 m²"
    (("\n(1)",), re.compile(r"(?<=[^\n ]) ?\([1-9]\)")),  # "(1)" where a line explains it
)
_REFERENCES = frozenset({Kind.LAW_ARTICLE, Kind.CLAUSE})


@dataclass(frozen=True, slots=True)
class Claim:
    """One specific claim; ``text[start:end]`` of the original is its evidence, `because` says why it is cited."""

    kind: Kind
    text: str
    start: int
    end: int
    cited: bool
    because: Because = Because.NOTHING


@dataclass(frozen=True, slots=True)
class CitationCheck:
    """Claims in order; `compliance` 1 when each is cited, 0 when one is not, None when there is none.

    `marker` is the looser rule: 1 when any citation marker stands anywhere outside the claims' own words, or a page, a
    note mark or a named document cites one of them.
    """

    claims: tuple[Claim, ...]
    compliance: int | None
    marker: int | None


def check(text: str | Prepared, using: Detectors | None = None) -> CitationCheck:
    """Find the claims of `text` (at most `hits.MAX_HITS`) and judge each. O(length); never raises on any text.

    `using` defaults to the rules of the policy folder in use; PolicyError when that folder is not in order.
    """
    using = using or detectors()
    prepared = prepare(text)
    seen, text = prepared.seen, prepared.text
    hits, anchors = using.scanner.scan(seen)
    if not hits:
        return CitationCheck((), None, None)
    judge = _Judge(seen, hits, anchors, using.finder)
    claims: list[Claim] = []
    moved = len(seen.compact) != len(text)
    for hit in hits:
        first, last = seen.span(hit.start, hit.end) if moved else (hit.start, hit.end)
        because = judge.because(hit)
        claims.append(Claim(hit.kind, text[first:last], first, last, because is not _NOTHING, because))
    return CitationCheck(
        tuple(claims), int(all(map(_IS_CITED, claims))), int(any(map(_IS_CITED, claims)) or judge.any_marker())
    )


class _Judge:
    """Judges the claims of one text in order, each stretch once."""

    def __init__(self, seen: View, hits: list[Hit], anchors: list[list[Anchor]], finder: SourceFinder) -> None:
        self._seen = seen
        self._anchors = anchors
        self._finder = finder
        self._own = merged([(hit.start, hit.end) for hit in hits if hit.kind in _REFERENCES])
        self._hits = hits
        self._every: list[tuple[int, int]] | None = None
        self._stretches = Stretches(seen.compact, seen.visible, finder.abbreviations)
        self._notes = [pattern for signs, pattern in _NOTES if any(map(seen.compact.__contains__, signs))]
        self._until = -1
        self._led_to = -2 * _LISTED
        self._figure = self._reference = _NOTHING

    def because(self, hit: Hit) -> Because:
        """What cites the claim; claims come in ascending order."""
        if not 0 <= hit.number < self._until:
            self._read(hit.number)
        if hit.kind not in _REFERENCES:
            return self._figure
        if self._reference is _NOTHING and self._led(hit):
            return Because.NAMED_DOCUMENT
        return self._reference

    def _led(self, hit: Hit) -> bool:
        """Whether the document stands before its article or list of articles, or names it and has it in brackets.

        "CG, art. 14", "(art. 14 des CG)", "le RGPD (art. 33)"; "l'article 14 des CG" does not cite itself.
        """
        listed = 0 <= hit.start - self._led_to <= _LISTED
        led = listed or self._finder.named_before(self._seen, self._anchors, hit.start)
        if not led and self._figure is Because.NAMED_DOCUMENT:
            led = _OPENS.search(self._seen.compact, max(0, hit.start - _BRACKETED), hit.start) is not None
        if led:
            self._led_to = hit.end
        return led

    def any_marker(self) -> bool:
        """The looser rule: a marker anywhere that is not a claim's own word."""
        markers = self._anchors[Role.MARKER]
        return any(kind is not LEAD and not inside(self._own, start) for start, _, kind in markers)

    def _read(self, place: int) -> None:
        stretch = self._stretches.around(place)
        found = self._offered(stretch.start, stretch.end)
        referring = self._refers(stretch.start, stretch.end)
        for start, end in (stretch.lead, stretch.foot):
            if end > start:
                found |= self._offered(start, end)
                referring = referring or self._refers(start, end)
        self._until = stretch.end
        if found.strong or found.marked:
            self._reference = self._figure = Because.PAGE_OR_NOTE if found.strong else Because.MARKED_SOURCE
            return
        self._reference = _NOTHING
        named = Because.NAMED_DOCUMENT if found.named else None
        self._figure = named or (Because.REFERENCE if referring else _NOTHING)

    def _offered(self, start: int, end: int) -> Evidence:
        if self._notes and any(pattern.search(self._seen.compact, start, end) for pattern in self._notes):
            return STRONG
        return self._finder.evidence(self._seen, self._anchors, start, end, self._taken)

    def _taken(self, place: int) -> bool:
        if self._every is None:
            self._every = merged([(hit.start, hit.end) for hit in self._hits])
        return inside(self._every, place)

    def _refers(self, start: int, end: int) -> bool:
        """Whether an article or a clause stands in ``start:end``: it cites the figures beside it, never itself."""
        at = bisect_left(self._own, (start,))
        return at < len(self._own) and self._own[at][0] < end
