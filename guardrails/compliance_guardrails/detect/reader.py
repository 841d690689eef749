"""From a sentence to its reading: all lists matched, exceptions taken out, mentions inside longer ones dropped.

`wanted_words` says cheaply which sentences of a text are worth it. Bounded: a sentence with more mentions or predicates
than any prose holds is read up to the bound. Knows no rule of reasoning or bias. Serves SPEC 2.5 and 2.6.
"""

from __future__ import annotations

import re

from .matcher import Sentence
from .phrases import Hit
from .reading import Reading
from .rulebook import Book, Mention, Predicate
from .unlisted import ages, names

MAX_MENTIONS = 24
MAX_PREDICATES = 48
MAX_MARKS = 120
MAX_AGES_LOOKED_AT = 100
SHORT_MENTION = 2

_NOUNS = {"persons": "persons", "things": "things", "abstract_things": "abstract"}
_NUMBER_ENDS = ("ingt", "ingts", "nte", "ze", "dix", "un", "deux", "trois", "cinq", "six", "sept", "huit", "neuf", "ty")
_AGE_BEFORE = re.compile(
    r"\b(?:a|ont|avait|ayant|ages?|agees?|que|ses|sont|est|is|was|at|over|under|aged|de) "
    r"(?:1[4-9]|[2-9]\d|1[01]\d|quinze|seize|(?:vingt|trente|quarante|cinquante|soixante|quatre[ -]vingts?)(?:[ -]et)?"
    r"(?:[ -][a-z]{2,8}){0,2}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty)(?:[ -][a-z]{3,5})?) \Z"
)


def wanted_words(compact: str, words: list[bytes], book: Book) -> frozenset[bytes]:
    """Those words of a text that make a sentence worth reading: of a group, and "ans" where an age may be told."""
    found = book.group_keys.intersection(words)
    for unit in (b"ans", b"years"):
        if unit in words and _ages_told(compact, f" {unit.decode()}"):
            found |= {unit}
    return found


def _ages_told(compact: str, unit: str) -> bool:
    """True when an age may stand before `unit` somewhere; a text with very many of them is not spared the reading."""
    at = compact.find(unit)
    for _ in range(MAX_AGES_LOOKED_AT):
        if at < 0:
            return False
        before = compact[max(0, at - 45) : at + 1]
        number = before.split()[-1:]
        if number and (number[0].isdigit() or number[0].endswith(_NUMBER_ENDS)) and _AGE_BEFORE.search(before):
            return True
        at = compact.find(unit, at + 1)
    return True


def read(sentence: Sentence, book: Book, *, possessed_only: bool = False) -> Reading | None:
    """Match all lists against a sentence; None when it names no group.

    `possessed_only`: common attributes alone ("nom", "adresse") are no reason to read, unless they are somebody's.
    """
    words = sentence.words
    mentions = _longest(book.mentions.match(words))
    dated = [at for at, word in enumerate(words) if word in book.grammar.units_of_age]
    if not dated and (not mentions or (possessed_only and all(_faint(hit, words, book) for hit in mentions))):
        return None
    reading = Reading(sentence, book.grammar, words)
    exceptions = _sort_out(reading, book)
    reading.quoted = _quoted(words)
    reading.mentions = [hit for hit in mentions if hit.value.kind == "slurs" or not _excepted(hit, exceptions)]
    if dated and not book.grammar.contract_words.isdisjoint(words):
        reading.mentions = [hit for hit in reading.mentions if hit.end - 1 not in dated]
    reading.mentions += ages(reading, dated)
    reading.mentions += names(reading, exceptions)
    del reading.mentions[MAX_MENTIONS:]
    if not reading.mentions and (possessed_only or not dated):
        return None
    reading.telling = [hit for hit in reading.mentions if not _ordinary(reading, hit)]
    for hit in reading.mentions:
        reading.inside.update(range(hit.start, hit.end))
        if hit.value.kind in {"people", "qualities"}:
            reading.persons.update(range(hit.start, hit.end))
    return reading


def _sort_out(reading: Reading, book: Book) -> list[Hit]:
    """Fill in predicates, marks, persons and things; returns the exceptions."""
    exceptions: list[Hit] = []
    for start, end, value in book.rest.match(reading.words):
        if isinstance(value, Predicate):
            if len(reading.predicates) < MAX_PREDICATES:
                reading.predicates.append(Hit(start, end, value))
        elif value.name in _NOUNS:
            getattr(reading, _NOUNS[value.name]).update(range(start, end))
        elif value.name == "exceptions":
            exceptions.append(Hit(start, end, value))
        else:
            found = reading.marks.setdefault(value.name, [])
            if len(found) < MAX_MARKS:
                found.append(Hit(start, end, value))
    reading.things -= reading.abstract
    return exceptions


def _faint(hit: Hit[Mention], words: list[str], book: Book) -> bool:
    """A common attribute that is nobody's in particular."""
    if not (hit.value.weak or hit.value.ignored):
        return False
    return book.grammar.third_person.isdisjoint(words[max(0, hit.start - 3) : hit.start])


def _ordinary(reading: Reading, hit: Hit[Mention]) -> bool:
    """A party or category of every contract ("locataire", "jeune conducteur"), and no more than that."""
    if hit.end - hit.start > SHORT_MENTION:
        return False
    return any(mark.start < hit.end <= mark.end for mark in reading.marks.get("tariff_groups", ()))


def _longest(hits: list[Hit[Mention]]) -> list[Hit[Mention]]:
    """Without what lies inside a longer mention: "femme enceinte" is about pregnancy, not about sex."""
    out: list[Hit[Mention]] = []
    start, end = -1, -1
    for hit in sorted(hits, key=lambda found: (found.start, -found.end)):
        if hit.end > end:
            start, end = hit.start, hit.end
            out.append(hit)
        elif (hit.start, hit.end) == (start, end):
            out.append(hit)
    return out


def _quoted(words: list[str]) -> set[int]:
    """The tokens between two quotation marks of the sentence, when something stands outside them as well."""
    marks = [at for at, word in enumerate(words) if word == '"']
    inside = {at for first, last in zip(marks[::2], marks[1::2], strict=False) for at in range(first, last + 1)}
    return inside if len(words) - len(inside) > 3 else set()


def _excepted(hit: Hit, exceptions: list[Hit]) -> bool:
    """True when an exception overlaps `hit` and is not merely a part of it ("né à l’étranger" stands)."""
    size = hit.end - hit.start
    return any(
        other.start < hit.end
        and hit.start < other.end
        and not (hit.start <= other.start and other.end <= hit.end and size > other.end - other.start)
        for other in exceptions
    )
