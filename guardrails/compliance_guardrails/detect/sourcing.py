"""Which identifiable sources a sentence names: page, note mark, named document, title, number.

`SourceFinder.evidence` reads one stretch of a text; how that makes a claim cited is said in `citations`. Markers and
names come from ``rules/citations.yaml``. Places of words come from the lexicon; looks after a
marker are bounded.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import Final, NamedTuple

from .claim_rules import CitationRules
from .lexicon import Anchor, Lexicon, Role, trie
from .text import View, fold

_NOTE: Final = re.compile(r"\[(?:\^|doc(?:ument)?\.? |sources? |ref\.? )?[0-9]{1,3}(?:[,;-] ?[0-9]{1,3}){0,8}\]")
_PAGE_NUMBER: Final = re.compile(r" ?(?:n° ?)?[0-9]{1,4}(?![0-9])")
# « Gel et canalisations », "Dentaire 2024", "tarifaire TNS v7"
_ITS_TITLE: Final = re.compile(
    r"[ :]{1,3}[«\"“][^»\"”\n]{3,90}[»\"”]"
    r"|(?: [a-zà-ÿ]{3,15})?(?: [A-ZÀ-Þ][\w-]{1,20}){1,4} (?:20[0-9]{2}|v[0-9])(?![0-9])"
)
_CONTRACT: Final = re.compile(r"(?:contrat|police|assurance)s? \Z")
_QUOTED: Final = re.compile(r'[^".;\n]{0,30}" ?(?=[^"\n]{0,8}[a-z])[^"\n]{3,90}"')
_NUMERO: Final = re.compile(r"[^.;:,()\n]{0,40}?(?<![a-z0-9])n(?:°|os?|um(?:eros?)?)?\.? ?(?=[a-z0-9-]{0,6}[0-9])")
_DIRECT: Final = re.compile(
    r"[ :]{0,3}(?:n(?:°|o) ?)?"
    r"((?:[a-z]{2,8}[-_]){0,3}[a-z]{0,4}-?[0-9][a-z0-9/.-]{0,30}|[ivx]{1,5}(?![a-z0-9'])|[a-h](?![a-z0-9']|\.[a-z0-9]))"
)
_TITLE_END: Final = re.compile(r"[,;.!?()\n]| : ")
_GOES_ON: Final = re.compile(r" (?:[0-9]|[A-Z]{1,6}(?![\w'’]))")
_TOKEN: Final = re.compile(r"[^\W_][\w-]*")
_URL: Final = re.compile(r"[^.;\n]{0,20}(?:https?://|www\.)[a-z0-9]")
_WORD: Final = "[a-z][a-z-]{2,19}(?![a-z0-9-])"
_COMPLEMENT: Final = rf"(?: {_WORD})?(?: (?:de la |de l'|des |du |de |d'){_WORD}(?: {_WORD})?){{0,3}}"
_BESIDE: Final = re.compile(r"[ ,:(-](?:l'|en son )?\Z")
_TITLED: Final = re.compile(
    r"(?:,? (?:[A-ZÀ-Þ0-9(][\w/().-]{0,20}|éd\.|édition)){0,4}(?:\.(?=,))?[ ,:(–—-]{1,3}(?:[Ll]['’]|en son )?"
)
_OWN, _NUMBERED, _PLAIN = "own", "numbered", "plain"
LEAD: Final = "lead"
"""What the lexicon stores for a marker that is none of the looser rule ("comme le prévoit")."""
_TITLE_WORDS: Final = 7
_CLOSE_TITLE_WORDS: Final = 3
_NAME_REACH: Final = 60
_SHORTEST_CODE: Final = 3


class Evidence(NamedTuple):
    """What a stretch offers: `strong` (page or note mark), `named` document, `marked` (a marker that is not an article
    or clause word, with a title, number or named document)."""

    strong: bool
    named: bool
    marked: bool

    def __or__(self, other: Evidence) -> Evidence:  # type: ignore[override]
        """What two stretches offer together."""
        return Evidence(*(a or b for a, b in zip(self, other, strict=True)))


STRONG: Final = Evidence(strong=True, named=True, marked=True)
_MARKED: Final = Evidence(strong=False, named=True, marked=True)
_TITLE_ONLY: Final = Evidence(strong=False, named=False, marked=True)
_NAMED_ONLY: Final = Evidence(strong=False, named=True, marked=False)
_NOTHING: Final = Evidence(strong=False, named=False, marked=False)
_MARKER, _NAMED, _ACRONYM, _PAGE, _DOCUMENT = map(
    int, (Role.MARKER, Role.NAMED, Role.ACRONYM, Role.PAGE, Role.DOCUMENT)
)


class SourceFinder:
    """One set of citation rules, compiled once; adds its anchors to the lexicon."""

    def __init__(self, rules: CitationRules, reference_words: frozenset[str], lexicon: Lexicon) -> None:
        self.abbreviations = frozenset(map(fold, rules.abbreviations))
        self._reach = rules.reach
        self._numbered = frozenset(map(fold, rules.numbered_sources))
        self._generic = frozenset(map(fold, rules.generic_titles))
        identified = (fold(noun).split(" ", 1)[0] for noun in rules.identified_documents)
        self._documents = frozenset((*map(fold, rules.document_nouns), *identified))
        self._determiners = frozenset(map(fold, rules.determiners))
        self._lines = frozenset(map(fold, rules.business_lines))
        self._persons = frozenset(map(fold, rules.person_titles))
        file = re.compile(rf"[^;\n]{{0,60}}?[a-z0-9_)-]\.(?:{trie(rules.file_endings)})(?![a-z0-9])")
        date = (
            rf" du (?:[0-9]{{1,2}}(?:er)? (?:{trie(rules.months)})|[0-9]{{1,2}}[/.][0-9]{{1,2}}[/.])"
            r" ?[0-9]{4}(?![0-9])"
        )
        site = re.compile(
            r"[^;\n]{0,30}?(?<![@a-z0-9_.-])[a-z0-9-]{2,40}(?:\.[a-z0-9-]{2,30}){0,3}"
            rf"\.(?:{trie(rules.site_endings)})(?![a-z0-9-])"
        )
        self._identifying = (_QUOTED, file, _URL, site)
        self._until_date = re.compile(rf"[^.;:,()\n]{{0,50}}?{date}")
        self._dated = re.compile(_COMPLEMENT + date)
        self._coded = re.compile(
            rf"{_COMPLEMENT}[ (]{{1,2}}(?:ref(?:erence)?\.? ?)?(?:(n°|no|num(?:ero)?) ?)?"
            r"([a-z0-9]{1,12}(?:[-_/][a-z0-9]{1,12}){0,5})(?![a-z0-9%])"
        )
        for word in rules.markers:
            folded = fold(word)
            # An article or clause word marks other claims through the reference it announces, and only so.
            kind = _OWN if folded in reference_words else _NUMBERED if folded in self._numbered else _PLAIN
            lexicon.add(Role.MARKER, word, kind)
        for word in rules.leads:
            lexicon.add(Role.MARKER, word, LEAD)
        for role, words in (
            (Role.NAMED, rules.named_sources),
            (Role.ACRONYM, rules.acronyms),
            (Role.PAGE, rules.page_words),
            (Role.DOCUMENT, rules.identified_documents),
        ):
            for word in words:
                lexicon.add(role, word)

    def evidence(
        self,
        seen: View,
        anchors: list[list[Anchor]],
        start: int,
        end: int,
        taken: Callable[[int], bool],
    ) -> Evidence:
        """What ``compact[start:end]`` offers; `taken(place)` says that a claim's own words stand there."""
        text = seen.compact
        if pages := anchors[_PAGE]:
            for page in _within(pages, start, end):
                if _PAGE_NUMBER.match(text, page[1], end):
                    return STRONG
        if text.find("[", start, end) >= 0 and _NOTE.search(text, start, end):
            return STRONG
        named = [place[0] for place in _within(anchors[_NAMED], start, end)]
        if acronyms := anchors[_ACRONYM]:
            named += [at for at, to, _ in _within(acronyms, start, end) if seen.visible[at:to].isupper()]
        for _, after, kind in _within(anchors[_MARKER], start, end):
            if kind is _OWN:
                continue
            for place in named:
                if after <= place <= after + self._reach:
                    return _MARKED
            if self._identified(seen, kind is _NUMBERED, after, end, taken):
                return _MARKED if named else _TITLE_ONLY
        if named or any(self._that_one(seen, at[1], end, taken) for at in _within(anchors[_DOCUMENT], start, end)):
            return _NAMED_ONLY
        return _NOTHING

    def named_before(self, seen: View, anchors: list[list[Anchor]], place: int) -> bool:
        """Whether a named document stands directly before `place`: "CG Auto, art. 14.2", "Code civil, article 1240"."""
        if not _BESIDE.search(seen.compact, max(0, place - 10), place):
            return False
        for role in (_NAMED, _ACRONYM):
            for at, to, _ in _within(anchors[role], place - _NAME_REACH, place):
                if _TITLED.fullmatch(seen.visible, to, place) and (role == _NAMED or seen.visible[at:to].isupper()):
                    return True
        return False

    def _that_one(self, seen: View, after: int, end: int, taken: Callable[[int], bool]) -> bool:
        """Whether a word for a document goes on with its date or its number: "rapport d'expertise du 3 mars 2024"."""
        high = min(end, after + self._reach)
        if self._dated.match(seen.compact, after, high) or _ITS_TITLE.match(seen.visible, after, high):
            return True
        found = self._coded.match(seen.compact, after, high)
        if found is None or taken(found.start(2)):
            return False
        code = seen.visible[found.start(2) : found.end(2)]
        if found[1] is not None:
            return any(char.isdigit() for char in code)
        return len(code) >= _SHORTEST_CODE and code[0].isupper() and code[-1].isdigit() and code == code.upper()

    def _identified(self, seen: View, numbered: bool, after: int, end: int, taken: Callable[[int], bool]) -> bool:
        """Whether a title, a number, a date or a file name follows the marker that ends at `after`."""
        text = seen.compact
        high = min(end, after + self._reach)
        if any(pattern.match(text, after, high) for pattern in self._identifying):
            return True
        dated = self._until_date.match(text, after, high)
        # "votre courrier du 3 mars 2024" can be looked up, "votre demande du 3 mars 2024" cannot.
        if dated is not None and (numbered or not self._documents.isdisjoint(_TOKEN.findall(dated[0]))):
            return True
        number = _NUMERO.match(text, after, high)
        if number is not None and not taken(number.end()):
            return True
        if numbered:
            direct = _DIRECT.match(text, after, high)
            if direct is not None and not taken(direct.start(1)):
                shown = seen.visible[direct.start(1) : direct.end(1)]
                if any(char.isdigit() for char in shown) or shown.isupper():
                    return True
        return self._titled(seen, numbered, after, high, taken)

    def _titled(self, seen: View, numbered: bool, after: int, high: int, taken: Callable[[int], bool]) -> bool:
        """Whether a title follows: a word with a capital, at once or behind a word for a document."""
        words = _CLOSE_TITLE_WORDS if numbered else _TITLE_WORDS
        begin = after
        while begin < high and seen.compact[begin] in " .:*\"'(":
            begin += 1
        stop = _TITLE_END.search(seen.compact, begin, high)
        limit = stop.start() if stop else high
        shown = seen.visible[begin:limit]
        if shown.isupper():
            return False
        content = 0
        for token in _TOKEN.finditer(shown):
            plain = fold(token[0])
            if plain in self._determiners:
                continue
            if plain in self._persons or content >= words:
                return False
            content += 1
            at = begin + token.start()
            if plain in self._lines and _CONTRACT.search(seen.compact, max(0, at - 11), at):
                continue
            titled = token[0][0].isupper() and len(plain) > 2 and not token[0].isupper()
            # "selon le Guide", "selon Bâle III" name a document; "selon Martin", "selon les Français" do not.
            named = numbered or content > 1 or plain in self._documents or _GOES_ON.match(shown, token.end())
            if named and titled and plain not in self._generic and not taken(at):
                return True
            # "selon le modèle Renault" names no document: the first noun must be one, or be the title itself.
            if content == 1 and not numbered and plain not in self._documents:
                return False
        return False


def _within(places: list[Anchor], start: int, end: int) -> list[Anchor]:
    """The anchors that start in ``start:end``."""
    if not places or places[-1][0] < start or places[0][0] >= end:
        return []
    return places[bisect_left(places, (start,)) : bisect_left(places, (end,))]
