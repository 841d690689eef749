"""One sentence as the detectors read it: which tokens are groups, persons, things, connectors, and small questions.

Questions such as "is this word said of a person?" are answered here with word lists and short distances, never with a
parser. The families of reasoning and of bias are elsewhere (reasoning.py, bias_logic.py). Linear in the tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .matcher import Sentence
from .phrases import Hit
from .rulebook import Book, Mention, Predicate
from .rules_models import Characteristic

PUNCTUATION = frozenset(",;:()\"?!.")
COPULAS = frozenset(
    "est sont etait etaient sera seront serait seraient soit soient etre suis es sommes etes fut furent etant "
    "reste restent devient deviennent semble semblent parait paraissent demeure demeurent ete is are was were be "
    "been being am seem seems become becomes".split()
)
POSSESSIVES = frozenset("son sa ses leur leurs votre vos mon ma mes ton ta tes notre nos his her their your my".split())
ARTICLES = frozenset("le la les l un une des du de d au aux ce cet cette ces the a an this that these those".split())
PLURALS = frozenset("les des aux ces tous toutes certains certaines beaucoup plupart majorite these those most all "
                    "many some trop".split())  # fmt: skip
PRONOUNS = frozenset("il elle ils elles on lui eux c celui celle ceux celles he she they him them".split())
NEGATIONS = frozenset(
    "ne n pas jamais aucun aucune aucunement nullement ni sans non guere not never no nor without cannot neither "
    "hardly".split()
)
_CONTRACTED = frozenset("don doesn didn can couldn won wouldn shouldn isn aren wasn weren hasn haven mustn".split())
_NO_COMPLEMENT = frozenset(
    "avant apres pour par sans avec a en dans sur est sont et ou que qu qui ne n il elle on je nous vous ils elles "
    "before after for by without with in on is are and or that which".split()
)
_OF = frozenset("de du des d of chez".split())


@dataclass(slots=True)
class Reading:
    """A sentence with its marks by name, its mentions of groups and its predicates."""

    sentence: Sentence
    marks: dict[str, list[Hit]] = field(default_factory=dict)
    mentions: list[Hit[Mention]] = field(default_factory=list)
    telling: list[Hit[Mention]] = field(default_factory=list)
    predicates: list[Hit[Predicate]] = field(default_factory=list)
    persons: set[int] = field(default_factory=set)
    things: set[int] = field(default_factory=set)
    abstract: set[int] = field(default_factory=set)
    inside: set[int] = field(default_factory=set)
    quoted: set[int] = field(default_factory=set)

    @property
    def words(self) -> list[str]:
        """The tokens."""
        return self.sentence.words

    def has(self, name: str) -> bool:
        """True when a mark of this name stands anywhere in the sentence."""
        return name in self.marks

    def before(self, index: int, distance: int) -> list[str]:
        """Up to `distance` tokens before `index`, cut at strong punctuation."""
        first = max(0, index - distance)
        words = self.words
        for at in range(index - 1, first - 1, -1):
            if words[at] in ";:()?!.":
                return words[at + 1 : index]
        return words[first:index]

    def negated(self, index: int, distance: int = 4) -> bool:
        """True when a negation stands at most `distance` tokens before `index`, a comma apart and no group word."""
        words = self.words
        for at in range(index - 1, max(-1, index - 1 - distance), -1):
            if words[at] in PUNCTUATION:
                return False
            if at in self.inside:
                continue
            if words[at] in NEGATIONS or (words[at] == "t" and at and words[at - 1] in _CONTRACTED):
                return True
        return False

    def copula_before(self, index: int, distance: int = 5) -> int | None:
        """Position of the nearest copula at most `distance` tokens before `index`, in the same part."""
        for at in range(index - 1, max(-1, index - 1 - distance), -1):
            word = self.words[at]
            if word in COPULAS or (word == "c" and self.words[at + 1 : at + 2] == ["est"]):
                return at
            if word in ";:()?!.":
                return None
        return None

    def possessed(self, index: int, distance: int = 3) -> bool:
        """True when a possessive stands just before token `index` ("son très jeune âge")."""
        for at in range(index - 1, max(-1, index - 1 - distance), -1):
            word = self.words[at]
            if word in POSSESSIVES:
                return True
            if word in PUNCTUATION or at in self.things or at in self.persons:
                return False
        return False

    def complement(self, end: int) -> str:
        """What follows a noun that ends before `end`: "person", "thing", "none", or "other" for an unlisted noun."""
        words = self.words
        for at in range(end, min(end + 3, len(words))):
            if words[at] in PUNCTUATION or words[at] in _NO_COMPLEMENT:
                return "none"
            if words[at] in _OF or (words[at] == "s" and at == end):
                return self._named(at + 1)
        return "none"

    def _named(self, start: int) -> str:
        for at in range(start, min(start + 5, len(self.words))):
            if at in self.persons or self.words[at] in {"celui", "celle", "ceux", "interesse", "interessee"}:
                return "person"
            if at in self.things or at in self.abstract:
                return "thing"
            if self.words[at] in PUNCTUATION:
                return "other"
            if self.sentence.capital(at) and self.words[at] not in ARTICLES:
                return "person"
        return "other"

    def thing_near(self, start: int, end: int) -> bool:
        """True when a listed thing stands directly before or after tokens `start`..`end` ("société étrangère")."""
        return (start - 1) in self.things or end in self.things

    def person_before(self, index: int, distance: int = 2) -> bool:
        """True when a person is named at most `distance` tokens before `index`."""
        return any(at in self.persons for at in range(max(0, index - distance), index))

    def about_thing(self, index: int, strict: bool = False) -> bool:
        """True when the subject of what stands at `index` is a thing, as far as word lists can tell.

        The noun nearest the beginning decides; `strict` lets a person anywhere before `index` win.
        """
        things = [at for at in self.things if at < index]
        persons = [at for at in self.persons if at < index]
        if not things:
            return False
        if not persons:
            return True
        if strict:
            return False
        return min(things) < min(persons)

    def generic(self, start: int, end: int) -> bool:
        """True when a group is spoken of in general: plural or a bare, indefinite or English plural noun phrase."""
        back = self.before(start, 3)
        if any(word in PLURALS for word in back):
            return True
        if back and back[-1] in {"un", "une", "a", "an", "la", "le", "l", "d", "toute", "tout", "chaque", "any", "every"}:
            return True
        return not back or back[-1] in PUNCTUATION or self.words[end - 1].endswith("s")


_TENS = ("ingt", "ingts", "nte", "nze", "dix", "ze", "un", "deux", "trois", "cinq", "six", "sept", "huit", "neuf", "ty")
_AGE_BEFORE = re.compile(
    r"\b(?:a|ont|avait|ayant|ages?|agees?|que|ses|sont|est|is|was|at|over|under|aged|de) "
    r"(?:1[4-9]|[2-9]\d|1[01]\d|quinze|seize|(?:vingt|trente|quarante|cinquante|soixante|quatre[ -]vingts?)(?:[ -]et)?"
    r"(?:[ -][a-z]{2,8}){0,2}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty)(?:[ -][a-z]{3,5})?) \Z"
)


def wanted_words(compact: str, words: list[bytes], book: Book) -> frozenset[bytes]:
    """Those words of a text that make a sentence worth reading: of a group, and "ans" where an age may be told."""
    found = book.group_keys.intersection(words)
    for unit in (b"ans", b"years"):
        if unit in words and _ages_told(compact, unit.decode()):
            found |= {unit}
    return found


def _ages_told(compact: str, unit: str) -> bool:
    unit = f" {unit}"
    at = compact.find(unit)
    for _ in range(MAX_MENTIONS * 4):
        if at < 0:
            return False
        before = compact[max(0, at - 45) : at + 1]
        number = before.split()[-1:]
        if number and (number[0].isdigit() or number[0].endswith(_TENS)) and _AGE_BEFORE.search(before):
            return True
        at = compact.find(unit, at + 1)
    return True


MAX_MENTIONS = 24
MAX_PREDICATES = 48
MAX_MARKS = 120


def read(sentence: Sentence, book: Book, *, possessed_only: bool = False) -> Reading | None:
    """Match all lists against a sentence; None when it names no group.

    `possessed_only`: a sentence is not read for common attributes alone ("nom", "adresse") unless somebody's. A mention inside an exception or inside a longer mention is dropped. Beyond `MAX_MENTIONS` and `MAX_PREDICATES` the
    rest of a sentence is not read: no prose comes near them.
    """
    words = sentence.words
    mentions = _longest(book.mentions.match(words))
    dated = [at for at, word in enumerate(words) if word in {"ans", "years"}]
    if not mentions and not dated:
        return None
    if possessed_only and not dated and all(_faint(hit, words) for hit in mentions):
        return None
    reading = Reading(sentence)
    exceptions: list[Hit] = []
    for hit in book.rest.match(words):
        value = hit.value
        if isinstance(value, Predicate):
            if len(reading.predicates) < MAX_PREDICATES:
                reading.predicates.append(hit)
        elif value.name in _NOUNS:
            getattr(reading, _NOUNS[value.name]).update(range(hit.start, hit.end))
        elif value.name == "exceptions":
            exceptions.append(hit)
        else:
            found = reading.marks.setdefault(value.name, [])
            if len(found) < MAX_MARKS:
                found.append(hit)
    reading.things -= reading.abstract
    reading.quoted = _quoted(words)
    reading.mentions = [hit for hit in mentions if hit.value.kind == "slurs" or not _excepted(hit, exceptions)]
    if dated and not _CONTRACT.isdisjoint(words):
        reading.mentions = [hit for hit in reading.mentions if words[hit.end - 1] not in {"ans", "years"}]
    reading.mentions += ages(reading, dated)
    reading.mentions += _unknown_peoples(reading, exceptions)
    del reading.mentions[MAX_MENTIONS:]
    if not reading.mentions and (possessed_only or not dated):
        return None
    ordinary = reading.marks.get("tariff_groups", ())
    reading.telling = [
        hit
        for hit in reading.mentions
        if not any(mark.start <= hit.end - 1 < mark.end and hit.end - hit.start <= 2 for mark in ordinary)
    ]
    for hit in reading.mentions:
        reading.inside.update(range(hit.start, hit.end))
        if hit.value.kind in {"people", "qualities"}:
            reading.persons.update(range(hit.start, hit.end))
    return reading


_THIRD = frozenset("son sa ses leur leurs his her their".split())
_NOUNS = {"persons": "persons", "things": "things", "abstract_things": "abstract"}


def _faint(hit: Hit[Mention], words: list[str]) -> bool:
    """A common attribute that is nobody's in particular."""
    value = hit.value
    return (value.weak or value.ignored) and _THIRD.isdisjoint(words[max(0, hit.start - 3) : hit.start])


def _longest(hits: list[Hit[Mention]]) -> list[Hit[Mention]]:
    """Without what lies inside a longer mention: "femme enceinte" is about pregnancy, not about sex.

    `hits` come by start, then by length, so one pass with the furthest end so far is enough.
    """
    out: list[Hit[Mention]] = []
    ordered = sorted(hits, key=lambda hit: (hit.start, -hit.end))
    start, end = -1, -1
    for hit in ordered:
        if hit.end > end or (hit.start == start and hit.end == end):
            out.append(hit)
            if hit.end > end:
                start, end = hit.start, hit.end
    return out


def _quoted(words: list[str]) -> set[int]:
    """The tokens between two quotation marks of the sentence, when something stands outside them as well."""
    marks = [at for at, word in enumerate(words) if word == '"']
    inside = {at for first, last in zip(marks[::2], marks[1::2], strict=False) for at in range(first, last + 1)}
    return inside if len(words) - len(inside) > 3 else set()


def _excepted(hit: Hit, exceptions: list[Hit]) -> bool:
    """True when an exception overlaps `hit` and is not merely a part of it ("né à l’étranger" stands)."""
    return any(
        other.start < hit.end
        and hit.start < other.end
        and not (hit.start <= other.start and other.end <= hit.end and hit.end - hit.start > other.end - other.start)
        for other in exceptions
    )


_AGE_WORDS = frozenset(
    "quinze seize vingt vingts trente quarante cinquante soixante quatre cent twenty thirty forty fifty sixty seventy "
    "eighty ninety".split()
)
_DIGITS = frozenset("un deux trois cinq six sept huit neuf dix onze douze treize quatorze et".split())
_HAS_AGE = frozenset("a avait ont avaient ai as ayant aura aurait approche depasse is was are".split())
_CONTRACT = frozenset(
    "adhesion adhesions adherer garantie garanties contrat contrats cotisation souscription souscrire souscrit limite "
    "anciennete permis experience bail pret emprunt credit duree conservation prescription".split()
)


def ages(reading: Reading, dated: list[int]) -> list[Hit[Mention]]:
    """Ages said of people: "elle a 22 ans", "les plus de 70 ans"; not "depuis 20 ans", not the terms of a contract."""
    words = reading.words
    if not dated or not _CONTRACT.isdisjoint(words):
        return []
    out = []
    for at in dated[:MAX_MENTIONS]:
        if words[at + 1 : at + 2] in (["de"], ["d"]):
            continue
        first = at - 1
        if first >= 0 and words[first].isdigit():
            if not 14 <= int(words[first][:4]) <= 115:
                continue
        else:
            while first >= 0 and words[first] in _AGE_WORDS | _DIGITS:
                first -= 1
            first += 1
            if first >= at or not _AGE_WORDS.intersection(words[first:at]):
                continue
        start = _age_start(reading, first)
        if start is not None and not (words[start] in _HAS_AGE and reading.about_thing(start)):
            out.append(Hit(start, at + 1, _AGE))
    return out


def _age_start(reading: Reading, number: int) -> int | None:
    words = reading.words
    back = words[max(0, number - 3) : number]
    if back[-1:] == ["que"] and back[-2:-1] and back[-2] in _HAS_AGE:
        return number - 2
    if back[-1:] and back[-1] in _HAS_AGE and (number < 2 or words[number - 2] not in {"y", "il_y"}):
        if back[-1] == "a" and (number == 1 or words[number - 2] in PUNCTUATION):
            return number - 1  # "À 70 ans, …"
        return number - 1 if number >= 2 and (words[number - 2] in PRONOUNS or number - 2 in reading.persons or words[number - 2] == "qui" or reading.sentence.name_like(number - 2)) else None
    if back[-2:] in (["plus", "de"], ["moins", "de"]):
        lead = words[number - 3] if number >= 3 else ""
        if lead in {"les", "des", "aux", "de", "ages", "agees", "agee"} or number - 3 in reading.persons:
            return number - 2
    if back[-2:-1] and back[-2] in {"age", "agee", "ages", "agees"} and back[-1] == "de":
        return number - 2
    if back[-1:] == ["de"] and number - 2 in reading.persons:
        return number - 1
    return None


def _unknown_peoples(reading: Reading, exceptions: list[Hit]) -> list[Hit[Mention]]:
    """A proper name used as a common noun and in no list: "les Mokrani", "des Frisons", "un Jean-Édouard"."""
    words = reading.words
    taken = {at for hit in [*reading.mentions, *exceptions, *reading.marks.get("institutions", ())] for at in range(hit.start, hit.end)}
    out = []
    for at in range(1, len(words)):
        if words[at - 1] not in {"les", "des", "aux", "ces", "un", "une"} or len(words[at]) < 3 or at in taken:
            continue
        if at in reading.persons or at in reading.things or at in reading.abstract or not reading.sentence.name_like(at):
            continue
        plural = words[at - 1] in {"les", "des", "aux", "ces"} and words[at].endswith(("s", "x"))
        out.append(Hit(at, at + 1, _PEOPLE if plural else _FAMILY))
    return out


_AGE = Mention(Characteristic.AGE, "phrases", weak=False, ignored=False)
_PEOPLE = Mention(Characteristic.ETHNIC_ORIGIN, "people", weak=False, ignored=False)
_FAMILY = Mention(Characteristic.SURNAME, "people", weak=False, ignored=False)
