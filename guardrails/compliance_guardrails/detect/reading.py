"""One sentence as the detectors read it: which tokens are groups, persons, things, connectors, and small questions.

Questions such as "is this noun somebody's?" are answered here with word lists and short distances, never with a parser.
How a sentence comes to be read is in reader.py; the families of reasoning and bias are elsewhere. Linear in the tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .grammar import Grammar
from .matcher import Sentence
from .needs import NE, PARTS, PUNCTUATION, STRONG, WE, Needs
from .phrases import Hit
from .rulebook import Mention, Predicate
from .rules_models import Characteristic

__all__ = ["NE", "PARTS", "PUNCTUATION", "STRONG", "WE", "Reading", "Reason", "Statement"]

COMPLEMENT_REACH = 3
NAMED_REACH = 5


class Reason(NamedTuple):
    """Reasoning from an attribute, as tokens: the rule and what it reasons from."""

    rule: str
    characteristic: Characteristic
    start: int
    end: int


class Statement(NamedTuple):
    """A biased passage as tokens: characteristic, family, the rule that saw it and the mention it is about."""

    characteristic: Characteristic
    family: str
    start: int
    end: int
    rule: str
    group: tuple[int, int] = (-1, -1)


@dataclass(slots=True)
class Reading:
    """A sentence with its marks by name, its mentions of groups and its predicates.

    `telling` are the mentions that are no ordinary party of a contract; `inside` the tokens of mentions; `quoted` those
    between quotation marks; `words` the tokens themselves. `may_reason` False: no word that begins a reasoning.
    `reasons` and `statements`: what was found in it, once that is known.
    """

    sentence: Sentence
    grammar: Grammar
    needs: Needs
    words: list[str]
    marks: dict[str, list[Hit]] = field(default_factory=dict)
    mentions: list[Hit[Mention]] = field(default_factory=list)
    telling: list[Hit[Mention]] = field(default_factory=list)
    predicates: list[Hit[Predicate]] = field(default_factory=list)
    persons: set[int] = field(default_factory=set)
    things: set[int] = field(default_factory=set)
    abstract: set[int] = field(default_factory=set)
    inside: set[int] = field(default_factory=set)
    quoted: set[int] = field(default_factory=set)
    may_reason: bool = True
    reasons: list[Reason] | None = None
    statements: list[Statement] | None = None

    def word(self, index: int) -> str:
        """Token `index`, or an empty string outside the sentence."""
        return self.words[index] if 0 <= index < len(self.words) else ""

    @property
    def line(self) -> str:
        """The tokens between single spaces, for a quick look at all of them."""
        return f" {' '.join(self.words)} "

    def has(self, name: str) -> bool:
        """True when a mark of this name stands anywhere in the sentence."""
        return name in self.marks

    def before(self, index: int, distance: int) -> list[str]:
        """Up to `distance` tokens before `index`, cut at strong punctuation."""
        first = max(0, index - distance)
        for at in range(index - 1, first - 1, -1):
            if self.words[at] in STRONG:
                return self.words[at + 1 : index]
        return self.words[first:index]

    def negated(self, index: int, distance: int = 4) -> bool:
        """True when a negation stands at most `distance` tokens before `index`, in its clause, outside a mention."""
        words, grammar = self.words, self.grammar
        for at in range(index - 1, max(-1, index - 1 - distance), -1):
            if words[at] in PUNCTUATION:
                return False
            if at in self.inside:
                continue
            if words[at] in grammar.negations or (words[at] == "t" and self.word(at - 1) in grammar.contracted):
                return True
        return False

    def copula_before(self, index: int, distance: int = 5) -> int | None:
        """Position of the nearest state verb at most `distance` tokens before `index`, in the same part."""
        for at in range(index - 1, max(-1, index - 1 - distance), -1):
            word = self.words[at]
            if word in self.grammar.copulas or (word == "c" and self.word(at + 1) == "est"):
                return at
            if word in STRONG:
                return None
        return None

    def possessed(self, index: int, distance: int = 3) -> bool:
        """True when a possessive stands just before token `index` ("son très jeune âge")."""
        for at in range(index - 1, max(-1, index - 1 - distance), -1):
            word = self.words[at]
            if word in self.grammar.possessives:
                return True
            if word in PUNCTUATION or at in self.things or at in self.persons:
                return False
        return False

    def complement(self, end: int) -> Literal["person", "thing", "other", "none"]:
        """Whose or what's is the noun that ends before `end` ("l’âge du véhicule"); "other": of an unlisted noun."""
        for at in range(end, min(end + COMPLEMENT_REACH, len(self.words))):
            word = self.words[at]
            if word in PUNCTUATION or word in self.grammar.no_complement:
                return "none"
            if word in self.grammar.complement_links or (word == "s" and at == end):
                return self._named(at + 1)
        return "none"

    def _named(self, start: int) -> Literal["person", "thing", "other"]:
        for at in range(start, min(start + NAMED_REACH, len(self.words))):
            word = self.words[at]
            if at in self.persons or word in self.grammar.known_persons:
                return "person"
            if at in self.things or at in self.abstract:
                return "thing"
            if word in PUNCTUATION:
                return "other"
            if self.sentence.capital(at) and word not in self.grammar.articles:
                return "person"
        return "other"

    def thing_near(self, start: int, end: int) -> bool:
        """True when a listed thing stands directly before or after tokens `start`..`end` ("société étrangère")."""
        return (start - 1) in self.things or end in self.things

    def person_before(self, index: int, distance: int = 2) -> bool:
        """True when a person is named at most `distance` tokens before `index`."""
        return any(at in self.persons for at in range(max(0, index - distance), index))

    def about_thing(self, index: int) -> bool:
        """True when what stands before `index` begins with a thing rather than with a person."""
        first_thing = min((at for at in self.things if at < index), default=None)
        if first_thing is None:
            return False
        return first_thing < min((at for at in self.persons if at < index), default=index)

    def thing_subject(self, first: int, verb: int) -> bool:
        """Whether the subject between `first` and the verb, or what its pronoun stands for, is a thing."""
        for at in range(first, verb):
            if at in self.persons:
                return False
            if at in self.things:
                return True
        named = {"c", "he", "she", "they"}.intersection(self.words[first:verb])
        return not named and self.about_thing(first)

    def spared(self, index: int) -> bool:
        """True when what a negation takes away at token `index` is a burden: "pas de franchise", "aucune surprime"."""
        for at in range(index, index + 2):
            if self.word(at) in self.grammar.burdens:
                return True
            if self.word(at) not in {"de", "d", "la", "l", "du"}:
                return False
        return False

    def generic(self, start: int, end: int) -> bool:
        """True when a group is spoken of in general: plural or a bare, indefinite or English plural noun phrase."""
        back = self.before(start, 3)
        if not self.grammar.plurals.isdisjoint(back):
            return True
        if not back or back[-1] in PUNCTUATION or back[-1] in self.grammar.singulars:
            return True
        return self.words[end - 1].endswith("s")
