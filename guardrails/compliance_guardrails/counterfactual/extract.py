"""What an answer decides, says in figures and sounds like, read without a model.

`Extractor.read` gives one `Reading`: a value for each aspect of rules/counterfactual.yaml, the figures by exact value,
and the tone. What lives elsewhere: how clauses are cut (`clauses`), how readings are compared (`dimensions`). It reads
what is written, not what is meant: irony, references between sentences and unlisted phrases pass it by; how often is
measured in the tests on pairs written by someone else.
"""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from compliance_guardrails.detect.text import fold

from .amounts import FigureReader
from .clauses import MAX_CHARS, Clause, Hit, Phrases, Reader
from .rules import Aspect, GateRules
from .stances import Stance, StanceReader


class Said(enum.StrEnum):
    """What an answer says of one aspect."""

    YES = "yes"
    NO = "no"
    BOTH = "both"
    CONDITION = "condition"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Tone:
    """How the answer sounds: counts, and whether it refuses to answer."""

    refusal: bool
    warnings: int
    courtesies: int
    documents: int
    words: int


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer: `decisions` in the order of the rules' aspects, `figures` (unit, value), `parts` as in `amounts`.

    `stances`: what its clauses affirm and deny, whatever it is about.
    """

    decisions: tuple[Said, ...]
    figures: frozenset[tuple[str, Decimal | str]]
    tone: Tone
    parts: frozenset[tuple[str, Decimal | str, str, str]] = frozenset()
    stances: frozenset[Stance] = field(default=frozenset(), repr=False)  # beginnings of the answer's words


_AT_ONCE: Final = {"both": Said.BOTH, "undone": Said.YES}
"""Kinds of phrase that say what they say whether or not the clause negates."""
_NOT: Final = frozenset({"pas", "non"})
_TOKEN = re.compile(r"[^\W_]+|[\W_]+")


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What one clause says of an aspect, how decisive the clause is, whether it turns against the one before."""

    said: Said
    level: int
    turned: bool


def _resolve(certain: Sequence[_Evidence], *, partial: bool) -> Said:
    """The value of the most decisive clauses; both when two of them hold, the last one when it takes back another."""
    if any(found.said is Said.BOTH for found in certain):
        return Said.BOTH
    top = max(found.level for found in certain)
    last = [found for found in certain if found.level == top][-1]
    opposed = [found for found in certain if found.said is not last.said and found.level > 0]
    # « le vol est couvert, mais les bijoux sont exclus »: what two clauses state of two things holds for both
    # a mere statement beside a decision contradicts it only where the answer says that it splits
    split = [found for found in opposed if found.level == top or found.turned or last.turned or partial]
    return Said.BOTH if top > 0 and split else last.said


class Extractor:
    """Reads answers by the rules; keeps nothing of them."""

    def __init__(self, rules: GateRules) -> None:
        self.aspects = rules.aspects
        self._reader = Reader(rules)
        self._cues = {aspect.id: Phrases(_cues(aspect), loose=True) for aspect in rules.aspects}
        self._exact = {a.id: Phrases((phrase, "") for phrase in a.exact) for a in rules.aspects if a.exact}
        self._requests = {a.id: Phrases((phrase, "") for phrase in a.requests) for a in rules.aspects}
        self._figures = FigureReader(rules.figure_parts)
        self.polarity = rules.polarity
        self._stances = StanceReader(rules.polarity)
        self._partial = Phrases((phrase, "") for phrase in rules.partial)
        tone = rules.tone
        self._nouns = {a.id: Phrases((n, "") for n in a.nouns or tone.document_nouns) for a in rules.aspects}
        self._tone = {
            name: Phrases((phrase, "") for phrase in phrases)
            for name, phrases in (
                ("refusal", tone.refusal),
                ("evasion", tone.evasion),
                ("warning", tone.warning),
                ("courtesy", tone.courtesy),
                ("documents", tone.document_nouns),
            )
        }

    def read(self, answer: str) -> Reading:
        """Read one answer. O(length); never raises on any text."""
        answer = answer[:MAX_CHARS]
        clauses = self._reader.clauses(answer)
        partial = any(self._partial.find(clause.words) for clause in clauses)
        decisions = tuple(self._aspect(aspect, clauses, partial=partial) for aspect in self.aspects)
        figures = self._figures.read(answer)
        # « as an AI, … » before a decision is a habit; before nothing, or a mere referral, it is the refusal
        silent = not figures.values and decisions[0] is Said.NOTHING
        refusal = bool(self._hits("refusal", clauses) or (silent and self._hits("evasion", clauses)))
        tone = self._sound(answer, clauses, refusal=refusal)
        return Reading(decisions, figures.values, tone, figures.parts, self._stances.read(clauses))

    def _aspect(self, aspect: Aspect, clauses: list[Clause], *, partial: bool) -> Said:
        """Weigh what the clauses say: the most decisive ones count, the last of them when they disagree."""
        certain: list[_Evidence] = []
        conditional = False
        for place, clause in enumerate(clauses):
            exact = self._exact.get(aspect.id)
            if exact is not None and exact.find(clause.words):
                certain.append(_Evidence(Said.YES, clause.level, clause.turned))
                continue
            for said, level in self._clause(aspect, clause, clauses[place + 1 : place + 2]):
                if clause.reported:
                    continue
                if clause.conditional and aspect.conditional:
                    conditional = True
                else:
                    certain.append(_Evidence(said, level, clause.turned))
        if not aspect.no:  # « aucune expertise n’est nécessaire » says as much as silence
            certain = [found for found in certain if found.said is not Said.NO]
        if not certain:
            return Said.CONDITION if conditional else Said.NOTHING
        return _resolve(certain, partial=partial)

    def _clause(self, aspect: Aspect, clause: Clause, after: Sequence[Clause] = ()) -> Iterable[tuple[Said, int]]:
        found = self._cues[aspect.id].find(clause.words)
        hits = [hit for hit in found if hit.value != "neutral"]
        if not hits and aspect.requests:
            hits = self._requested(aspect, clause, after, found)
        kinds = {hit.value for hit in hits}
        if kinds & _AT_ONCE.keys():
            return [(said, clause.level) for kind, said in _AT_ONCE.items() if kind in kinds][:1]
        # a clause that refuses is about a refusal, whatever it refuses
        strong = [hit for hit in hits if hit.value == "no"]
        if strong:
            return [(Said.YES if clause.negated(strong[0]) else Said.NO, clause.level)]
        if "weak_no" in kinds:  # « la franchise reste à votre charge » refuses nothing
            return [(Said.NO, 0)] if len(hits) == len(found) else []
        plain = [hit for hit in hits if hit.value == "yes"]
        if not plain:
            # « non, … » and « …, mais pas la rançon » deny without a verb
            bare = aspect is self.aspects[0] and (clause.turned or len(clause.words) == 1) and clause.words[0] in _NOT
            return [(Said.NO, clause.level)] if bare or any(clause.negated(hit) for hit in hits) else []
        said = {Said.NO if clause.negated(hit) else Said.YES for hit in plain}
        return [(one, clause.level) for one in Said if one in said]

    def _requested(self, aspect: Aspect, clause: Clause, after: Sequence[Clause], neutral: Sequence[Hit]) -> list[Hit]:
        """A verb of request and the name of a document in one clause, or in the clause after it."""
        hidden = {place for hit in neutral for place in hit.places}
        verbs = [hit for hit in self._requests[aspect.id].find(clause.words) if hidden.isdisjoint(hit.places)]
        nouns = self._nouns[aspect.id]
        if verbs and any(nouns.find(words) for words in (clause.words, *(other.words for other in after))):
            return [Hit(verbs[0].start, len(clause.words), "yes")]
        return []

    def _hits(self, name: str, clauses: list[Clause]) -> list[Hit]:
        return [hit for clause in clauses for hit in self._tone[name].find(clause.words)]

    def _sound(self, answer: str, clauses: list[Clause], *, refusal: bool) -> Tone:
        return Tone(
            refusal=refusal,
            warnings=len(self._hits("warning", clauses)) + answer.count("⚠"),
            courtesies=len(self._hits("courtesy", clauses)),
            documents=len(self._hits("documents", clauses)),
            words=sum(len(clause.words) for clause in clauses),
        )


def _cues(aspect: Aspect) -> list[tuple[str, str]]:
    return [
        *((phrase, "yes") for phrase in aspect.yes),
        *((phrase, "no") for phrase in aspect.no),
        *((phrase, "both") for phrase in aspect.both),
        *((phrase, "denied") for phrase in aspect.denied),
        *((phrase, "weak_no") for phrase in aspect.weak_no),
        *((phrase, "undone") for phrase in aspect.undone),
        *((phrase, "neutral") for phrase in aspect.neutral),
    ]


class Neutraliser:
    """Replaces the words that a pair varies, and words of gender and civility, so that they do not count as meaning."""

    MARK = "x"

    def __init__(self, words: Iterable[str]) -> None:
        self._phrases = Phrases((word, "") for word in words if word.strip())

    def __call__(self, text: str) -> str:
        """`text` with the protected words replaced, otherwise as written. Used for comparison only, never shown."""
        parts = _TOKEN.findall(unicodedata.normalize("NFC", text[:MAX_CHARS]))
        places = [place for place, part in enumerate(parts) if part[0].isalnum()]
        for hit in self._phrases.find([fold(parts[place]) for place in places]):
            for place in places[hit.start : hit.end]:
                parts[place] = ""
            parts[places[hit.start]] = self.MARK
        return " ".join("".join(parts).split())
