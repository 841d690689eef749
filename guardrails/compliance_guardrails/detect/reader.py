"""From a sentence to its reading: all lists matched, exceptions taken out, mentions inside longer ones dropped.

Which sentences of a text are worth it is decided in named.py. Bounded: a sentence with more mentions or predicates
than any prose holds is read up to the bound. Knows no rule of reasoning or bias.
"""

from __future__ import annotations

from .comparisons import compares
from .matcher import Sentence
from .phrases import Hit
from .reading import Reading
from .rulebook import Book, Mark, Mention, Predicate
from .told import BEFORE_NO_GROUP, no_group
from .unlisted import ages, names

MAX_MENTIONS = 24
MAX_PREDICATES = 48
MAX_MARKS = 120
SHORT_MENTION = 2
_WRITES = ("ecri", "dit", "employ", "utilis")

_NOUNS = {"persons": "persons", "things": "things", "abstract_things": "abstract"}


def may_reason(sentence: Sentence, verdicts: list[Hit], book: Book) -> bool:
    """False when nothing among the `verdicts` of a sentence, nor any small word in it, begins a reasoning."""
    for start, _, value in verdicts:
        if type(value) is not Mark or value.name not in book.reasoning_marks:
            continue
        if value.name != "comparison_words":
            return True
        if compares(sentence.words, start, book.grammar, question=sentence.is_question):
            return True
    return book.needs.may_reason(sentence.words)


def read(sentence: Sentence, book: Book) -> Reading | None:
    """Match all lists against a sentence; None when it names no group."""
    words = sentence.words
    mentions = longest(book.mentions.match(words))
    dated = [at for at, word in enumerate(words) if word in book.grammar.units_of_age]
    if not mentions and not dated:
        return None
    return reading_of(sentence, book, mentions, dated, book.verdicts.match(words) + book.contexts.match(words))


def reading_of(
    sentence: Sentence,
    book: Book,
    mentions: list[Hit[Mention]],
    dated: list[int],
    rest: list[Hit],
    may: bool | None = None,
) -> Reading | None:
    """The reading of a sentence with what the lists hold of it; None when no group is left and no age told.

    `may`: what `may_reason` said of it, where that was asked before.
    """
    words = sentence.words
    reading = Reading(sentence, book.grammar, book.needs, words)
    exceptions = _sort_out(reading, rest)
    reading.quoted = _quoted(words) if '"' in words else set()
    reading.mentions = [hit for hit in mentions if hit.value.kind == "slurs" or not _excepted(hit, exceptions)]
    if '"' in words:
        reading.mentions = [hit for hit in reading.mentions if not _only_a_word(reading, hit)]
    reading.mentions = [
        hit for hit in reading.mentions if words[hit.start - 1] not in BEFORE_NO_GROUP or not no_group(reading, hit)
    ]
    if dated and not book.grammar.contract_words.isdisjoint(words):
        reading.mentions = [hit for hit in reading.mentions if hit.end - 1 not in dated]
    reading.mentions += ages(reading, dated)
    if sentence.may_name:
        reading.mentions += names(reading, exceptions)
    del reading.mentions[MAX_MENTIONS:]
    if not reading.mentions and not dated:
        return None
    reading.telling = [hit for hit in reading.mentions if not _ordinary(reading, hit)]
    for hit in reading.mentions:
        reading.inside.update(range(hit.start, hit.end))
        if hit.value.kind in {"people", "qualities"}:
            reading.persons.update(range(hit.start, hit.end))
    reading.may_reason = may_reason(sentence, rest, book) if may is None else may
    return reading


def _sort_out(reading: Reading, rest: list[Hit]) -> list[Hit]:
    """Fill in predicates, marks, persons and things; returns the exceptions."""
    exceptions: list[Hit] = []
    for hit in rest:
        value = hit.value
        if type(value) is Predicate:
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
    return exceptions


def _ordinary(reading: Reading, hit: Hit[Mention]) -> bool:
    """A party or category of every contract ("locataire", "jeune conducteur"), and no more than that."""
    if hit.end - hit.start > SHORT_MENTION:
        return False
    return any(mark.start < hit.end <= mark.end for mark in reading.marks.get("tariff_groups", ()))


def longest(hits: list[Hit[Mention]]) -> list[Hit[Mention]]:
    """Without what lies inside a longer mention: "femme enceinte" is about pregnancy, not about sex."""
    out: list[Hit[Mention]] = []
    start, end = -1, -1
    for hit in sorted(hits, key=lambda found: (found[0], -found[1])) if len(hits) > 1 else hits:
        first, last, _ = hit
        if last > end:
            start, end = first, last
            out.append(hit)
        elif last == end and first == start:
            out.append(hit)
    return out


def _quoted(words: list[str]) -> set[int]:
    """The tokens between two quotation marks of the sentence, when something stands outside them as well."""
    marks = [at for at, word in enumerate(words) if word == '"']
    inside = {at for first, last in zip(marks[::2], marks[1::2], strict=False) for at in range(first, last + 1)}
    return inside if len(words) - len(inside) > 3 else set()


def _only_a_word(reading: Reading, hit: Hit) -> bool:
    """ "Le mot « gitan »", "n’écrivez pas « mademoiselle »": the word is spoken of, nobody is named by it."""
    word, start = reading.word, hit.start
    if word(start - 1) != '"' or word(hit.end) != '"':
        return False
    lead = reading.words[max(0, start - 4) : start - 1]
    if not reading.grammar.naming.isdisjoint(lead):
        return True
    return word(start - 2) in {"pas", "jamais"} and word(start - 3).startswith(_WRITES)


def _excepted(hit: Hit, exceptions: list[Hit]) -> bool:
    """True when an exception overlaps `hit` and is not merely a part of it ("né à l’étranger" stands)."""
    size = hit.end - hit.start
    return any(
        other.start < hit.end
        and hit.start < other.end
        and not (hit.start <= other.start and other.end <= hit.end and size > other.end - other.start)
        for other in exceptions
    )
