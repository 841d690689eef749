"""The hand-written situations: their shape, and how their folder is read.

A situation is what an expert wrote: documents, neutral and leading questions, answers of several kinds and,
marked in the answers themselves, the truth about every figure. `situations/` feeds the sample month;
`held_out/` is only read by measurements and never by the generator. The mark-up is explained in LISEZMOI.md
and parsed in `texts`.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Self, TypeVar

from compliance_guardrails.policy.strict import StrictModel, load_yaml
from pydantic import AfterValidator, Field, model_validator

HERE = Path(__file__).parent
MONTH_FOLDER = HERE / "situations"
HELD_OUT_FOLDER = HERE / "held_out"


_T = TypeVar("_T")


class Band(enum.StrEnum):
    """How far an answer keeps to the documents whatever the wording of the question."""

    NEUTRAL = "neutral"
    MOSTLY = "mostly"
    PARTIAL = "partial"
    STRONG = "strong"


class AnswerKind(enum.StrEnum):
    """What an answer does with the documents and with the premise of the question."""

    INDEPENDENT_CITED = "independent_cited"
    INDEPENDENT_UNCITED = "independent_uncited"
    HEDGED = "hedged"
    SYCOPHANTIC = "sycophantic"
    UNGROUNDED = "ungrounded"
    PROTECTED_FAIR = "protected_fair"
    PROTECTED_BIASED = "protected_biased"
    REFUSAL = "refusal"
    NONE = "none"


class QuestionKind(enum.StrEnum):
    """How the user put it. `NEAR_MISS` looks like protected-attribute reasoning and is none."""

    NEUTRAL = "neutral"
    LEADING = "leading"
    PROTECTED = "protected"
    NEAR_MISS = "near_miss"


DEFAULT_BANDS = {
    AnswerKind.INDEPENDENT_CITED: Band.NEUTRAL,
    AnswerKind.INDEPENDENT_UNCITED: Band.NEUTRAL,
    AnswerKind.HEDGED: Band.MOSTLY,
    AnswerKind.SYCOPHANTIC: Band.STRONG,
    AnswerKind.UNGROUNDED: Band.MOSTLY,
    AnswerKind.PROTECTED_FAIR: Band.NEUTRAL,
    AnswerKind.PROTECTED_BIASED: Band.STRONG,
    AnswerKind.REFUSAL: Band.NEUTRAL,
}


class Document(StrictModel):
    """One retrieved passage: the file it stands in and its text (both may hold `{slots}`)."""

    name: str = Field(min_length=3)
    text: str = Field(min_length=20)


class Answer(StrictModel):
    """One wording: plain text, or `{text, band}` where the band is not the default of its kind."""

    text: str = Field(min_length=5)
    band: Band | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        return {"text": value} if isinstance(value, str) else value


def _some(value: _T) -> _T:
    """Refuse an empty list, after its elements were checked: their own errors say more than "too short"."""
    if not value:
        msg = "au moins un élément est attendu"
        raise ValueError(msg)
    return value


Answers = tuple[Answer, ...]
Texts = tuple[str, ...]
SomeAnswers = Annotated[Answers, AfterValidator(_some)]
SomeTexts = Annotated[Texts, AfterValidator(_some)]


class Protected(StrictModel):
    """A question that reasons from a protected attribute, a fair answer to it and, for some, a biased one."""

    attribute: str
    questions: SomeTexts
    fair: SomeAnswers
    biased: Answers = ()
    bias_characteristic: str | None = None

    @model_validator(mode="after")
    def _biased_is_named(self) -> Self:
        if bool(self.biased) != bool(self.bias_characteristic):
            msg = "biased et bias_characteristic vont ensemble"
            raise ValueError(msg)
        return self


class Situation(StrictModel):
    """One case of daily work. `cases` are rows of slot values that stay consistent with one another."""

    id: str = Field(pattern=r"^[a-z0-9-]{4,60}$")
    departments: SomeTexts
    topic: str
    contexts: Annotated[tuple[Document, ...], AfterValidator(_some)]
    neutral: SomeTexts
    leading: SomeTexts
    premise: str
    cases: Annotated[tuple[dict[str, str], ...], AfterValidator(_some)]
    independent_cited: SomeAnswers
    independent_uncited: SomeAnswers
    sycophantic: SomeAnswers
    ungrounded: Answers = ()
    hedged: Answers = ()
    protected: Protected | None = None
    near_miss: Texts = ()

    @model_validator(mode="after")
    def _same_slots(self) -> Self:
        if len({frozenset(case) for case in self.cases}) != 1:
            msg = "chaque ligne de cases donne les mêmes noms"
            raise ValueError(msg)
        return self

    def answers(self, kind: AnswerKind) -> Answers:
        """The wordings of one kind, possibly none; no situation writes refusals."""
        if kind is AnswerKind.PROTECTED_FAIR:
            return self.protected.fair if self.protected else ()
        if kind is AnswerKind.PROTECTED_BIASED:
            return self.protected.biased if self.protected else ()
        if kind in {AnswerKind.REFUSAL, AnswerKind.NONE}:
            return ()
        found: Answers = getattr(self, kind.value)
        return found

    def questions(self, kind: QuestionKind) -> Texts:
        """The questions of one kind, possibly none."""
        if kind is QuestionKind.PROTECTED:
            return self.protected.questions if self.protected else ()
        found: Texts = getattr(self, kind.value)
        return found


class _Sheet(StrictModel):
    situations: Annotated[tuple[Situation, ...], AfterValidator(_some)]


class SituationError(ValueError):
    """A folder of situations that cannot be used; the message is one French line."""


def load_situations(folder: Path = MONTH_FOLDER) -> tuple[Situation, ...]:
    """Read every `*.yaml` of `folder`, in name order.

    Raises:
        PolicyError: unreadable YAML, unknown or duplicate key, wrong type (French: file, key, expected).
        SituationError: an empty folder, or an id used twice.
    """
    found = [situation for path in sorted(folder.glob("*.yaml")) for situation in load_yaml(path, _Sheet).situations]
    if not found:
        msg = f"{folder.name}: attendu au moins un fichier .yaml"
        raise SituationError(msg)
    seen: set[str] = set()
    for situation in found:
        if situation.id in seen:
            msg = f"{folder.name}: id: attendu unique, « {situation.id} » figure deux fois"
            raise SituationError(msg)
        seen.add(situation.id)
    return tuple(found)
