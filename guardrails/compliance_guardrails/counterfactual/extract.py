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
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from compliance_guardrails.detect.figures import Kind, extract_figures
from compliance_guardrails.detect.text import fold

from .clauses import MAX_CHARS, Clause, Hit, Phrases, Reader
from .rules import Aspect, GateRules


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
    """One answer: `decisions` in the order of the rules' aspects, `figures` as (unit, value)."""

    decisions: tuple[Said, ...]
    figures: frozenset[tuple[str, Decimal | str]]
    tone: Tone


_TOKEN = re.compile(r"[^\W_]+|[\W_]+")


class Extractor:
    """Reads answers by the rules; keeps nothing of them."""

    def __init__(self, rules: GateRules) -> None:
        self.aspects = rules.aspects
        self._reader = Reader(rules)
        self._cues = {aspect.id: Phrases(_cues(aspect), loose=True) for aspect in rules.aspects}
        self._requests = {a.id: Phrases((phrase, "") for phrase in a.requests) for a in rules.aspects}
        tone = rules.tone
        self._tone = {
            name: Phrases((phrase, "") for phrase in phrases)
            for name, phrases in (
                ("refusal", tone.refusal),
                ("warning", tone.warning),
                ("courtesy", tone.courtesy),
                ("documents", tone.document_nouns),
            )
        }

    def read(self, answer: str) -> Reading:
        """Read one answer. O(length); never raises on any text."""
        answer = answer[:MAX_CHARS]
        clauses = self._reader.clauses(answer)
        refusal = bool(self._hits("refusal", clauses))
        decisions = tuple(self._aspect(aspect, clauses) for aspect in self.aspects)
        return Reading(decisions, _figures(answer), self._sound(answer, clauses, refusal=refusal))

    def _aspect(self, aspect: Aspect, clauses: list[Clause]) -> Said:
        certain: set[Said] = set()
        conditional = False
        for clause in clauses:
            for said in self._clause(aspect, clause):
                if clause.conditional or clause.reported:
                    conditional = conditional or not clause.reported
                else:
                    certain.add(said)
        if not aspect.no:
            certain.discard(Said.NO)  # « aucune expertise n’est nécessaire » says as much as silence
        if certain >= {Said.YES, Said.NO} or Said.BOTH in certain:
            return Said.BOTH
        if certain:
            return next(iter(certain))
        return Said.CONDITION if conditional else Said.NOTHING

    def _clause(self, aspect: Aspect, clause: Clause) -> Iterable[Said]:
        hits = self._cues[aspect.id].find(clause.words)
        if not hits and aspect.requests:
            hits = self._requested(aspect, clause)
        strong = [hit for hit in hits if hit.value in {"no", "both"}]
        if any(hit.value == "both" for hit in strong):
            return [Said.BOTH]
        # a clause that refuses is about a refusal, whatever it refuses
        if strong:
            return {Said.YES if clause.negated(hit) else Said.NO for hit in strong[:1]}
        plain = [hit for hit in hits if hit.value == "yes"]
        if not plain:
            return {Said.NO for hit in hits if clause.negated(hit)}
        return {Said.NO if clause.negated(hit) else Said.YES for hit in plain}

    def _requested(self, aspect: Aspect, clause: Clause) -> list[Hit]:
        """A verb of request and the name of a document in one clause."""
        verbs = self._requests[aspect.id].find(clause.words)
        nouns = self._tone["documents"].find(clause.words) if verbs else []
        return [Hit(verbs[0].start, nouns[0].end, "yes")] if nouns else []

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
    ]


def _figures(answer: str) -> frozenset[tuple[str, Decimal | str]]:
    return frozenset(figure.key for figure in extract_figures(answer) if figure.kind is not Kind.COVERAGE)


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
