"""What a sentence must hold before a closer look at it can find anything: words and short hits only, no reading.

Every test here is a necessary condition: it may let a sentence through that holds nothing, never the other way round
(test_shortcuts.py compares with the long way). Most sentences of an ordinary letter that name a group end here. What
follows from a sentence that passes is decided in reasoning.py and bias_logic.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from .grammar import Grammar

PUNCTUATION = frozenset(',;:()"?!.')
STRONG = frozenset(";:()?!.")
"""Signs that part a sentence for good; a comma or a quotation mark does not."""

_SET_APART = (", a ", ": a ", "; a ", "( a ")
_NOT = frozenset({"pas", "plus"})
_REFUSED = frozenset({"de", "d", "question", "un", "une"})
OPENERS = frozenset({"avec", "chez", "face", "cote", "encore"})
_THAN = frozenset({"que", "qu", "than"})
_TAKEN_UP = frozenset({"ils", "elles"})
_DECIDED = frozenset(
    {
        "don", "do", "never", "aucun", "aucune", "no", "attention", "on", "je", "j", "nous", "autant", "plutot", "vaut",
        "vaudrait", "gagnerait", "gagnerais", "gagnerions", "gagneriez", "gagneraient", "interet", "quitte", "i", "we",
        "you", "better", "might",
    }
)  # fmt: skip
"""Words that orders, refusals and advice begin with (bias_frames.py, bias_advice.py)."""

_SAID = frozenset({"ca", "autres", "tous", "toutes", "all", "ne", "n"})
_MADAM = frozenset({"m", "mme", "monsieur", "madame"})
_ONE = frozenset({"un", "une"})
_TOLD = frozenset({"est", "sont", "etait", "is", "are"})
PARTS = frozenset({",", ";", ":"})
NE = frozenset({"ne", "n"})
WE = frozenset({"je", "j", "on", "nous"})
_PERSON = frozenset({"il", "elle", "ils", "elles"})
PRAISED = frozenset({"il", "elle", "he", "she"})
_ONE_OR_AN = _ONE | {"a", "an"}
ALAS = frozenset({"mais", "malheureusement", "helas", "dommage", "but", "unfortunately", "sadly"})
_TAKING_BACK = frozenset({"il", "elle", "son", "sa", "c", "qu", "que", "he", "she", "his", "her"})
_NO_MORE = (" pas plus ", " guere plus ", " sans plus ")
_LESS = frozenset({"moins", "less"})
LESS_FOR = frozenset({"pour", "quand", "en", "des", "dans", "lorsqu", "a", "au", "aux", "when", "for", "at", "so"})
_LESS_SO = tuple(f" {less} {what} " for less in sorted(_LESS) for what in sorted(LESS_FOR))
_SMALL = frozenset({"pour", "avec", "comme", "trop", "age", "for", "with", "as", "too"})


def foretells(line: str) -> bool:
    """False when no word of `line` ends as a verb in the future or the conditional does."""
    return "ra " in line or "ront " in line or "rait " in line or "raient " in line


@dataclass(frozen=True, slots=True)
class Needs:
    """Sets of folded words made once from the grammar of a book."""

    turning: frozenset[str]
    more: frozenset[str]
    clause_openers: frozenset[str]
    decided: frozenset[str]
    framed: frozenset[str]
    after_comme: frozenset[str]
    possessives: frozenset[str]
    owned: frozenset[str]
    of_age: frozenset[str]
    evaluations: frozenset[str]
    mistrust: frozenset[str]

    @classmethod
    def of(cls, grammar: Grammar) -> Needs:
        """The sets for one grammar."""
        decided = _DECIDED | grammar.alone
        return cls(
            turning=grammar.negations | grammar.trailing_negations | grammar.seldom | grammar.less | {"t"},
            more=grammar.more,
            clause_openers=grammar.clause_openers | PUNCTUATION,
            decided=decided,
            framed=decided | _SAID | grammar.absolutes | grammar.nobody | grammar.norms | grammar.deniers,
            after_comme=grammar.pronouns | grammar.articles | grammar.possessives | _MADAM,
            possessives=grammar.possessives,
            owned=grammar.possessives | _ONE,
            of_age=grammar.possessives | {"cet"},
            evaluations=grammar.evaluations,
            mistrust=grammar.mistrust,
        )

    def may_decide(self, words: list[str], line: str) -> bool:
        """False when no order, refusal or advice can begin in `words`; `line` is `words` between single spaces."""
        return (
            not self.decided.isdisjoint(words)
            or "ez " in line
            or " ne pas " in line
            or (" a " in line and any(map(line.__contains__, _SET_APART)))
            or (not _NOT.isdisjoint(words) and self._refuses(words))
        )

    def _refuses(self, words: list[str]) -> bool:
        """True for "pas de …", "plus un …" at the head of a clause."""
        last = ""
        for word, following in pairwise(words):
            if word in _NOT and following in _REFUSED and (not last or last in self.clause_openers):
                return True
            last = word
        return False

    def may_turn(self, words: list[str]) -> bool:
        """False when nothing in `words` turns what is favourable into its contrary, or into praise of some only."""
        return not (self.turning.isdisjoint(words) and (self.more.isdisjoint(words) or _THAN.isdisjoint(words)))

    def may_be_framed(self, words: list[str], line: str, *, of_a_people: bool) -> bool:
        """False when no form of bias_frames.py can be in `words`; `of_a_people` False: no habit of a whole people."""
        if not self.framed.isdisjoint(words) or words[0] in {"que", "qu"} or self.may_decide(words, line):
            return True
        if foretells(line) or ", c est " in line or ", ce n " in line or ", ce ser" in line:
            return True
        if not ALAS.isdisjoint(words) and any(a in ALAS and b in _TAKING_BACK for a, b in pairwise(words)):
            return True
        if "," in words and (
            any(map(line.__contains__, _NO_MORE))
            or (not _LESS.isdisjoint(words) and any(map(line.__contains__, _LESS_SO)))
        ):
            return True
        if "ent " in line and ((of_a_people and "les" in words) or not _TAKEN_UP.isdisjoint(words)):
            return True
        return words[0] == "with" or (words[0] in OPENERS and "," in words)

    def may_reason(self, words: list[str]) -> bool:
        """False when none of the small words that begin a reasoning by themselves stands where it could."""
        if not self.mistrust.isdisjoint(words):
            return True
        if not (_PERSON.isdisjoint(words) or _TOLD.isdisjoint(words)) and any(
            last in PARTS and word in _PERSON for last, word in pairwise(words)
        ):
            return True
        if _SMALL.isdisjoint(words):
            return False
        last = len(words) - 1
        for at, word in enumerate(words):
            if word not in _SMALL:
                continue
            following = words[at + 1] if at < last else ""
            match word:
                case "comme" | "as":
                    may = following in self.after_comme
                case "avec" | "with":
                    may = following in self.owned
                case "pour" | "for":
                    may = following in self.possessives or (
                        following in _ONE_OR_AN
                        and (
                            at == 0
                            or words[at - 1] in PUNCTUATION
                            or words[at - 1] in self.evaluations
                            or not PRAISED.isdisjoint(words[:at])
                        )
                    )
                case "age":
                    may = at > 1 and words[at - 1] in self.of_age and "a" in words
                case _:
                    may = True
            if may:
                return True
        return False
