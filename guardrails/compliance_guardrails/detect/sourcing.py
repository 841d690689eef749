"""Which identifiable sources a sentence names: page, note mark, named document, title, number.

`SourceFinder.evidence` reads one stretch of a text; how that makes a claim cited is said in `citations`. Markers and
names come from ``rules/citations.yaml``. One Aho-Corasick pass over the stretch, bounded looks after each marker.
Serves SPEC 2.3.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import ahocorasick

from .claim_rules import CitationRules
from .hits import longest_first
from .text import View, fold

_NOTE: Final = re.compile(r"\[[0-9]{1,3}(?:[,;-] ?[0-9]{1,3}){0,8}\]")
_PAGE_NUMBER: Final = re.compile(r" ?(?:n° ?)?[0-9]{1,4}(?![0-9])")
_QUOTED: Final = re.compile(r'[^".;\n]{0,30}" ?(?=[^"\n]{0,8}[a-z])[^"\n]{3,90}"')
_NUMERO: Final = re.compile(
    r"[^.;:,()\n]{0,40}?(?<![a-z0-9])n(?:°|os?|um(?:eros?)?)?\.? ?(?=[a-z0-9-]{0,6}[0-9])"
)
_DIRECT: Final = re.compile(
    r" ?(?:n(?:°|o) ?)?([a-z]{0,4}-?[0-9][a-z0-9/.-]{0,30}|[ivx]{1,5}(?![a-z0-9'])|[a-h](?![a-z0-9'.]))"
)
_TITLE_END: Final = re.compile(r"[,;.!?()\n]| : ")
_TOKEN: Final = re.compile(r"[^\W_][\w-]*")
_URL: Final = re.compile(r"[^.;\n]{0,20}(?:https?://|www\.)[a-z0-9]")
_TITLE_WORDS: Final = 7
_CLOSE_TITLE_WORDS: Final = 3


class _Role(enum.IntEnum):
    MARKER = 1
    NAMED = 2
    ACRONYM = 3
    PAGE = 4


class Evidence(NamedTuple):
    """What a stretch offers: `strong` (page or note mark), `named` document, `marked` (a marker that is not an article
    or clause word, with a title, number or named document)."""

    strong: bool
    named: bool
    marked: bool

    def __or__(self, other: Evidence) -> Evidence:  # type: ignore[override]
        """What two stretches offer together."""
        return Evidence(*(a or b for a, b in zip(self, other, strict=True)))


class SourceFinder:
    """One set of citation rules, compiled once."""

    def __init__(self, rules: CitationRules, reference_words: frozenset[str]) -> None:
        self.abbreviations = frozenset(map(fold, rules.abbreviations))
        self._reach = rules.reach
        self._reference_words = reference_words
        self._numbered = frozenset(map(fold, rules.numbered_sources))
        self._generic = frozenset(map(fold, rules.generic_titles))
        self._persons = frozenset(map(fold, rules.person_titles))
        self._markers = tuple(longest_first(rules.markers))
        self._markers_roots = tuple(
            marker
            for marker in self._markers
            if not any(o != marker and marker.startswith(o) for o in self._markers)
        )
        endings = "|".join(longest_first(rules.file_endings))
        self._file = re.compile(rf"[^;\n]{{0,60}}?[a-z0-9_)-]\.(?:{endings})(?![a-z0-9])")
        self._automaton = ahocorasick.Automaton()
        for role, words in (
            (_Role.PAGE, rules.page_words),
            (_Role.ACRONYM, rules.acronyms),
            (_Role.NAMED, rules.named_sources),
            (_Role.MARKER, rules.markers),
        ):
            for word in words:
                self._automaton.add_word(fold(word), (role, fold(word)))
        self._automaton.make_automaton()

    def evidence(self, seen: View, start: int, end: int, taken: Callable[[int], bool]) -> Evidence:
        """What ``compact[start:end]`` offers; `taken(place)` says that a claim's own words stand there."""
        text = seen.compact
        strong = "[" in text[start:end] and _NOTE.search(text, start, end) is not None
        named: list[int] = []
        markers: list[tuple[int, str]] = []
        for last, (role, word) in self._automaton.iter(text, start, end):
            after = last + 1
            first = after - len(word)
            if (first > 0 and text[first - 1].isalnum()) or (
                word[-1].isalnum() and text[after : after + 1].isalnum()
            ):
                continue
            if role is _Role.MARKER:
                markers.append((after, word))
            elif role is _Role.PAGE:
                strong = strong or _PAGE_NUMBER.match(text, after, end) is not None
            elif role is _Role.NAMED or seen.visible[first:after].isupper():
                named.append(first)
        marked = False
        for after, word in markers:
            if word in self._reference_words:
                continue
            if any(after <= place <= after + self._reach for place in named) or self._identified(
                seen, word, after, end, taken
            ):
                marked = True
                break
        return Evidence(strong, bool(named), marked)

    def _identified(self, seen: View, word: str, after: int, end: int, taken: Callable[[int], bool]) -> bool:
        """Whether a title, a number or a file name follows the marker that ends at `after`."""
        text = seen.compact
        high = min(end, after + self._reach)
        if (
            _QUOTED.match(text, after, high)
            or self._file.match(text, after, high)
            or _URL.match(text, after, high)
        ):
            return True
        number = _NUMERO.match(text, after, high)
        if number is not None and not taken(number.end()):
            return True
        numbered = word in self._numbered
        if numbered:
            direct = _DIRECT.match(text, after, high)
            if direct is not None and not taken(direct.start(1)):
                shown = seen.visible[direct.start(1) : direct.end(1)]
                if any(char.isdigit() for char in shown) or shown.isupper():
                    return True
        return self._titled(seen, after, high, _CLOSE_TITLE_WORDS if numbered else _TITLE_WORDS, taken)

    def _titled(self, seen: View, after: int, high: int, words: int, taken: Callable[[int], bool]) -> bool:
        """Whether a word with a capital that is no generic one stands among the next `words` words."""
        begin = after
        while begin < high and seen.compact[begin] in " .:*\"'(":
            begin += 1
        stop = _TITLE_END.search(seen.compact, begin, high)
        limit = stop.start() if stop else high
        shown = seen.visible[begin:limit]
        if shown.isupper():
            return False
        for count, token in enumerate(_TOKEN.finditer(shown)):
            if count >= words:
                return False
            plain = fold(token[0])
            if plain in self._persons:
                return False
            if (
                token[0][0].isupper()
                and not (token[0].isupper() and len(token[0]) > 1)
                and len(plain) > 2
                and plain not in self._generic
                and not taken(begin + token.start())
            ):
                return True
        return False

    def marker_outside(self, text: str, taken: Callable[[int], bool]) -> bool:
        """Whether any marker stands anywhere in `text` (compact), a claim's own words apart."""
        return any(not taken(place) for place in self._marker_places(text))

    def _marker_places(self, text: str) -> Iterator[int]:
        for root in self._markers_roots:
            at = text.find(root)
            while at >= 0:
                if not (at > 0 and text[at - 1].isalnum()):
                    longest = next(m for m in self._markers if text.startswith(m, at))
                    after = at + len(longest)
                    if not (longest[-1].isalnum() and text[after : after + 1].isalnum()):
                        yield at
                at = text.find(root, at + len(root))
