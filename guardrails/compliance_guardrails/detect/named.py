"""The sentences of a text that name a group or tell an age, and cheaply which of them are worth reading in full.

A necessary condition at each step: a word of the lists in the line, an entry in the sentence, then something that could
be said of a group there or in the sentence behind it (needs.py). What passes is read by reader.py, once for all
detectors.
"""

from __future__ import annotations

import re

from .bias_subject import PEOPLES
from .bias_targets import NOUNS, addressed
from .matcher import MAX_LOOKED_AT, PER_SENTENCE, Sentence, raw_words, stretches
from .needs import STRONG, Needs
from .phrases import Hit
from .prepared import Prepared
from .reader import longest, may_reason, read, reading_of
from .reading import PUNCTUATION, Reading
from .rulebook import Book, Mark, Mention

MAX_AGES_LOOKED_AT = 100
_NUMBER_ENDS = ("ingt", "ingts", "nte", "ze", "dix", "un", "deux", "trois", "cinq", "six", "sept", "huit", "neuf", "ty")
_AGE_BEFORE = re.compile(
    r"\b(?:a|ont|avait|ayant|ages?|agees?|que|ses|sont|est|is|was|at|over|under|aged|de) "
    r"(?:1[4-9]|[2-9]\d|1[01]\d|quinze|seize|(?:vingt|trente|quarante|cinquante|soixante|quatre[ -]vingts?)(?:[ -]et)?"
    r"(?:[ -][a-z]{2,8}){0,2}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty)(?:[ -][a-z]{3,5})?) \Z"
)


_OWNERS = frozenset({"assure", "assuree", "candidat", "candidate", "cliente", "client", "courtier", "salarie"})
_HELD_AGAINST = frozenset(
    {"apparence", "physique", "opinion", "opinions", "prenom", "tenue", "allure", "voile", "look"}
)
"""Common attributes that no ordinary letter names with their owner ("l’apparence de l’assurée")."""


class Named:
    """A sentence that names a group, with what has been read of it so far.

    `mentions` and `dated` (tokens "ans", "years") are as `read` needs them.
    """

    __slots__ = (
        "_book", "_contexts", "_is_read", "_may_reason", "_read", "_verdicts", "dated", "faint", "mentions", "sentence",
    )  # fmt: skip

    def __init__(self, sentence: Sentence, hits: list[Hit[Mention]], dated: list[int], book: Book) -> None:
        self.sentence = sentence
        self._book = book
        self._is_read = False
        self._read: Reading | None = None
        self._may_reason: bool | None = None
        self._verdicts: list[Hit] | None = None
        self._contexts: list[Hit] | None = None
        self.mentions = longest(hits) if len(hits) > 1 else hits
        self.dated = dated
        self.faint = not dated and all(_faint(hit, sentence.words, book) for hit in self.mentions)

    @property
    def may_reason(self) -> bool:
        """False when no word here begins a reasoning."""
        if self._may_reason is None:
            self._may_reason = may_reason(self.sentence, self.verdicts, self._book)
        return self._may_reason

    @property
    def common(self) -> bool:
        """True when all that it names is on the lists as nothing to reason from."""
        return (
            not self.dated
            and all(value.ignored and value.kind in {"attributes", "sure_attributes"} for _, _, value in self.mentions)
            and not self.sentence.may_name
        )

    @property
    def to_reader(self) -> bool:
        """True when all that is named is said to the reader ("si vous êtes locataire"), here and in what follows."""
        sentence, units = self.sentence, self._book.grammar.units_of_age
        words = sentence.words
        return (
            not self.dated
            and all(addressed(words, hit) for hit in self.mentions)
            and not any(hit.value.kind in NOUNS or hit.value.kind == "slurs" for hit in self.mentions)
            and not (self.may_reason or sentence.may_name or sentence.next_may_name)
            and units.isdisjoint(sentence.next_tokens)
        )

    @property
    def tells(self) -> bool:
        """False when nothing of the lists that say something could count against somebody here."""
        return not self.faint and _tells(self.verdicts, self.sentence.words, self._book.needs)

    @property
    def may_be_biased(self) -> bool:
        """False when nothing here can be said of a group but by reasoning: no predicate that counts, no form."""
        sentence, needs = self.sentence, self._book.needs
        words = sentence.words
        if _tells(self.verdicts, words, needs):
            return True
        peoples = False
        for _, _, value in self.mentions:
            if value.kind == "slurs":
                return True
            peoples = peoples or value.characteristic in PEOPLES
        return needs.may_be_framed(words, f" {' '.join(words)} ", of_a_people=peoples or sentence.may_name)

    def may_go_on(self, after: Named | None) -> bool:
        """False when the next sentence (`after` where it names a group itself) can say nothing of a group named here.

        What is decided here may also be about a group named there.
        """
        sentence, needs = self.sentence, self._book.needs
        words, following = sentence.words, sentence.next_tokens
        if not following:
            return False
        verdicts = self._book.verdicts.match(following) if after is None else after.verdicts
        apart = words[-1] in STRONG
        around = following if apart else words + following
        if _tells(verdicts, around, needs) or needs.may_decide(around, f" {' '.join(around)} "):
            return True
        if after is None and not sentence.next_may_name and self._book.grammar.units_of_age.isdisjoint(following):
            return False
        return apart and needs.may_decide(words, f" {' '.join(words)} ")

    @property
    def reading(self) -> Reading | None:
        """The sentence read in full, once."""
        if not self._is_read:
            self._is_read = True
            rest = self.verdicts + self.contexts
            self._read = reading_of(self.sentence, self._book, self.mentions, self.dated, rest, self._may_reason)
        return self._read

    @property
    def verdicts(self) -> list[Hit]:
        """What the sentence holds of the lists that say something, matched once."""
        if self._verdicts is None:
            self._verdicts = self._book.verdicts.match(self.sentence.words)
        return self._verdicts

    @property
    def contexts(self) -> list[Hit]:
        """What the sentence holds of the lists that only give a context, matched once."""
        if self._contexts is None:
            self._contexts = self._book.contexts.match(self.sentence.words)
        return self._contexts

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
            units, book = self._book.grammar.units_of_age, self._book
            mentions = longest(book.mentions.match(following))
            rest = book.verdicts.match(following) + book.contexts.match(following)
            dated = [at for at, word in enumerate(following) if word in units]
        else:
            mentions, rest, dated = after.mentions, after.verdicts + after.contexts, after.dated
        dated = self.dated + [at + size for at in dated]
        mentions, rest = self.mentions + _later(mentions, size), self.verdicts + self.contexts + _later(rest, size)
        return reading_of(both, self._book, mentions, dated, rest)


def _tells(verdicts: list[Hit], words: list[str], needs: Needs) -> bool:
    """True when a predicate may count against somebody, or an order that is a list's own stands here.

    What is favourable or only possible counts where a word among `words` may turn it.
    """
    turned = None
    for _, _, value in verdicts:
        if type(value) is Mark:
            if value.name == "english_orders":
                return True
        elif value.polarity in {"negative", "essential"}:
            return True
        elif turned is None:
            turned = needs.may_turn(words)
            if turned:
                return True
    return False


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
    units = book.grammar.units_of_age
    told = {unit for unit in units if f" {unit}" in compact and _ages_told(compact, f" {unit}")}
    budget = MAX_LOOKED_AT
    match, keys = book.mentions.match, book.mentions.keys
    met: set[str] = set()

    def wanted(words: list[str]) -> set[str]:
        found = keys(words)
        met.update(found)
        return found | told.intersection(words) if told else found

    for first, last, follow in stretches(compact, raw_words(compact), wanted):
        sentence = Sentence(source, first, last, follow)
        words = sentence.words
        budget -= len(words) + PER_SENTENCE // 4
        hits = match(words, met)
        dated = [] if units.isdisjoint(words) else [at for at, word in enumerate(words) if word in units]
        if hits or any(words[at] in told for at in dated):
            budget -= len(words)
            out.append(Named(sentence, hits, dated, book))
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


def _faint(hit: Hit[Mention], words: list[str], book: Book) -> bool:
    """A common attribute that is nobody's in particular."""
    if not (hit.value.weak or hit.value.ignored):
        return False
    before = words[max(0, hit.start - 3) : hit.start]
    if words[hit.start] in _HELD_AGAINST and not _OWNERS.isdisjoint(words[hit.end : hit.end + 3]):
        return False
    return book.grammar.third_person.isdisjoint(before) and "vu" not in before
