"""Mentions that no list can hold: ages said of people, and proper names used as common nouns ("les Mokrani").

An age counts when somebody has it, not as a term of a contract or a duration. A name in the plural is taken for a
people, another for a family name; words with a capital that name neither are a list (`institutions`).
"""

from __future__ import annotations

from collections.abc import Iterator

from .phrases import Hit
from .reading import PUNCTUATION, Reading
from .rulebook import Mention
from .rules_models import Characteristic

YOUNGEST, OLDEST = 14, 115
MAX_AGES = 24

_AGE = Mention(Characteristic.AGE, "phrases", weak=False, ignored=False)
_PEOPLE = Mention(Characteristic.ETHNIC_ORIGIN, "people", weak=False, ignored=False)
_FAMILY = Mention(Characteristic.SURNAME, "people", weak=False, ignored=False)


def ages(reading: Reading, dated: list[int]) -> list[Hit[Mention]]:
    """Ages said of people: "elle a 22 ans", "les plus de 70 ans"; not "depuis 20 ans", not the terms of a contract.

    `dated`: the tokens "ans" and "years".
    """
    words, grammar = reading.words, reading.grammar
    if not dated or not grammar.contract_words.isdisjoint(words):
        return []
    out: list[Hit[Mention]] = []
    for at in dated[:MAX_AGES]:
        number = _number_before(reading, at)
        if number is None or reading.word(at + 1) in {"de", "d"}:
            continue
        start = _age_start(reading, number)
        if start is not None and not (words[start] in grammar.has_age and reading.about_thing(start)):
            out.append(Hit(start, at + 1, _AGE))
    return out


def plausible(word: str) -> bool:
    """True for digits that may be the age of a person who deals with an insurer."""
    return word.isdigit() and YOUNGEST <= int(word[:4]) <= OLDEST


def _number_before(reading: Reading, at: int) -> int | None:
    """Where the number before token `at` begins, when it may be an age; "soixante-dix" is two tokens."""
    words, grammar = reading.words, reading.grammar
    first = at - 1
    if first >= 0 and words[first].isdigit():
        return first if plausible(words[first]) else None
    while first >= 0 and (words[first] in grammar.tens or words[first] in grammar.digits):
        first -= 1
    number = words[first + 1 : at]
    return first + 1 if not grammar.tens.isdisjoint(number) else None


def _age_start(reading: Reading, number: int) -> int | None:
    """Where the statement of an age begins, or None when the number is nobody's age."""
    word, grammar = reading.word, reading.grammar
    last, earlier = word(number - 1), word(number - 2)
    if last == "que" and earlier in grammar.has_age:
        return number - 2
    if last in grammar.has_age and earlier != "y":
        return number - 1 if _has_subject(reading, number) else None
    if last != "de":
        return number - 1 if last in {"ses", "leurs"} else None
    if earlier in {"plus", "moins"}:
        lead = word(number - 3)
        listed = lead in grammar.plural_before_names or lead in {"de", "ages", "agees", "agee"}
        return number - 2 if listed or number - 3 in reading.persons else None
    if earlier in {"age", "agee", "ages", "agees"}:
        return number - 2
    return number - 1 if number - 2 in reading.persons else None


def _has_subject(reading: Reading, number: int) -> bool:
    """ "elle a 22 ans", "M. Petit a 80 ans"; also "À 70 ans, …" at the head of a clause."""
    subject = reading.word(number - 2)
    if reading.words[number - 1] == "a" and (number == 1 or subject in PUNCTUATION):
        return True
    if number < 2:
        return False
    person = subject in reading.grammar.pronouns or subject == "qui" or number - 2 in reading.persons
    return person or reading.sentence.name_like(number - 2)


def names(reading: Reading, exceptions: list[Hit]) -> Iterator[Hit[Mention]]:
    """Proper names used as common nouns and in no list: "les Mokrani", "des Frisons", "un Jean-Édouard"."""
    words, grammar = reading.words, reading.grammar
    taken = reading.persons | reading.things | reading.abstract
    for hit in [*reading.mentions, *exceptions, *reading.marks.get("institutions", ())]:
        taken.update(range(hit.start, hit.end))
    for at in range(1, len(words)):
        if words[at - 1] not in grammar.before_names or at in taken or not reading.sentence.name_like(at):
            continue
        plural = words[at - 1] in grammar.plural_before_names and words[at].endswith(("s", "x"))
        yield Hit(at, at + 1, _PEOPLE if plural else _FAMILY)
