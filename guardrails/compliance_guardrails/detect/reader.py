"""From a sentence to its reading: all lists matched, exceptions taken out, mentions inside longer ones dropped.

`named` says cheaply which sentences of a text are worth it. Bounded: a sentence with more mentions or predicates
than any prose holds is read up to the bound. Knows no rule of reasoning or bias. Serves SPEC 2.5 and 2.6.
"""

from __future__ import annotations

import re

from .matcher import MAX_LOOKED_AT, PER_SENTENCE, Sentence, raw_words, stretches
from .phrases import Hit
from .prepared import Prepared
from .reading import PUNCTUATION, Reading
from .rulebook import Book, Mention, Predicate
from .unlisted import ages, names

MAX_MENTIONS = 24
MAX_PREDICATES = 48
MAX_MARKS = 120
MAX_AGES_LOOKED_AT = 100
SHORT_MENTION = 2
_WRITES = ("ecri", "dit", "employ", "utilis")

_NOUNS = {"persons": "persons", "things": "things", "abstract_things": "abstract"}
_NUMBER_ENDS = ("ingt", "ingts", "nte", "ze", "dix", "un", "deux", "trois", "cinq", "six", "sept", "huit", "neuf", "ty")
_AGE_BEFORE = re.compile(
    r"\b(?:a|ont|avait|ayant|ages?|agees?|que|ses|sont|est|is|was|at|over|under|aged|de) "
    r"(?:1[4-9]|[2-9]\d|1[01]\d|quinze|seize|(?:vingt|trente|quarante|cinquante|soixante|quatre[ -]vingts?)(?:[ -]et)?"
    r"(?:[ -][a-z]{2,8}){0,2}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty)(?:[ -][a-z]{3,5})?) \Z"
)


class Named:
    """A sentence that names a group, with what has been read of it so far.

    `words` are its words without punctuation. `mentions` and `dated` (tokens "ans", "years") are as `read` needs them.
    """

    __slots__ = ("_book", "_is_read", "_read", "_rest", "dated", "faint", "mentions", "sentence", "words")

    def __init__(self, sentence: Sentence, words: list[str], hits: list[Hit[Mention]], book: Book) -> None:
        self.sentence = sentence
        self.words = words
        self._book = book
        self._is_read = False
        self._read: Reading | None = None
        self._rest: list[Hit] | None = None
        tokens = sentence.words
        if tokens[: len(words)] != words:  # punctuation inside parts what it stands between
            hits = book.mentions.match(tokens)
        self.mentions = _longest(hits) if len(hits) > 1 else hits
        units = book.grammar.units_of_age
        self.dated = [] if units.isdisjoint(words) else [at for at, word in enumerate(tokens) if word in units]
        self.faint = not self.dated and all(_faint(hit, tokens, book) for hit in self.mentions)

    @property
    def empty(self) -> bool:
        """True when it names no group after all."""
        return not self.mentions and not self.dated

    @property
    def reading(self) -> Reading | None:
        """The sentence read in full, once."""
        if not self._is_read:
            self._is_read = True
            self._read = _reading(self.sentence, self._book, self.mentions, self.dated, self.rest)
        return self._read

    @property
    def rest(self) -> list[Hit]:
        """What the other lists hold of the sentence, matched once."""
        if self._rest is None:
            self._rest = self._book.rest.match(self.sentence.words)
        return self._rest

    def joined(self, after: Named | None) -> Reading | None:
        """The sentence and the one behind it as one, read in full; `after` is that one where it is named itself."""
        both = self.sentence.with_next()
        if both is None:
            return None
        tokens, size = both.words, len(self.sentence.words)
        if tokens[size - 1] not in PUNCTUATION or len(tokens) == size:  # an entry may begin here and end there
            return read(both, self._book)
        following = tokens[size:]
        if after is None:
            units = self._book.grammar.units_of_age
            mentions, rest = _longest(self._book.mentions.match(following)), self._book.rest.match(following)
            dated = [at for at, word in enumerate(following) if word in units]
        else:
            mentions, rest, dated = after.mentions, after.rest, after.dated
        dated = self.dated + [at + size for at in dated]
        return _reading(both, self._book, self.mentions + _later(mentions, size), dated, self.rest + _later(rest, size))


def _later(hits: list[Hit], tokens: int) -> list[Hit]:
    """The hits in a sentence that has so many tokens more before them."""
    return [Hit(start + tokens, end + tokens, value) for start, end, value in hits]


def named(prepared: Prepared, book: Book) -> list[Named]:
    """The sentences of a text that name a group or tell an age, within `MAX_LOOKED_AT` tokens; worked out once."""
    if prepared.groups is not None and prepared.groups[0] is book:
        return prepared.groups[1]
    out: list[Named] = []
    source = prepared.seen
    compact = source.compact
    told = {unit for unit in book.grammar.units_of_age if _ages_told(compact, f" {unit}")}
    wanted = book.group_or_age_keys if told else book.group_keys
    budget = MAX_LOOKED_AT
    match = book.mentions.match
    for first, last, words, follow in stretches(compact, raw_words(compact), wanted):
        budget -= len(words) + PER_SENTENCE // 4
        hits = match(words)
        if hits or not told.isdisjoint(words):
            found = Named(Sentence(source, first, last, follow), words, hits, book)
            budget -= len(found.sentence.words)
            if not found.empty:
                out.append(found)
        if budget <= 0:
            break
    prepared.groups = (book, out)
    return out


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


def read(sentence: Sentence, book: Book) -> Reading | None:
    """Match all lists against a sentence; None when it names no group."""
    words = sentence.words
    mentions = _longest(book.mentions.match(words))
    dated = [at for at, word in enumerate(words) if word in book.grammar.units_of_age]
    return _reading(sentence, book, mentions, dated, book.rest.match(words)) if mentions or dated else None


def _reading(
    sentence: Sentence, book: Book, mentions: list[Hit[Mention]], dated: list[int], rest: list[Hit]
) -> Reading | None:
    words = sentence.words
    reading = Reading(sentence, book.grammar, words)
    exceptions = _sort_out(reading, rest)
    reading.quoted = _quoted(words) if '"' in words else set()
    reading.mentions = [hit for hit in mentions if hit.value.kind == "slurs" or not _excepted(hit, exceptions)]
    if '"' in words:
        reading.mentions = [hit for hit in reading.mentions if not _only_a_word(reading, hit)]
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
    reading.may_reason = not (book.reasoning_marks.isdisjoint(reading.marks) and book.reasoning_words.isdisjoint(words))
    return reading


def _sort_out(reading: Reading, rest: list[Hit]) -> list[Hit]:
    """Fill in predicates, marks, persons and things; returns the exceptions."""
    exceptions: list[Hit] = []
    for hit in rest:
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
