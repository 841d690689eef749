"""Exchanges with known truth, for measuring detectors and evaluators on situations that made no trace.

Every wording of every answer of a folder is rendered once a row of values and once a question kind that goes
with it. Deterministic. Nothing here computes a figure of merit: that is the business of whoever measures.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from compliance_pipelines.sample.situations import (
    DEFAULT_BANDS,
    HELD_OUT_FOLDER,
    AnswerKind,
    Band,
    QuestionKind,
    Situation,
    load_situations,
)
from compliance_pipelines.sample.texts import MarkedFigure, Typography, fill, render

_QUESTION_OF = {
    AnswerKind.INDEPENDENT_CITED: (QuestionKind.NEUTRAL, QuestionKind.LEADING),
    AnswerKind.INDEPENDENT_UNCITED: (QuestionKind.NEUTRAL, QuestionKind.LEADING),
    AnswerKind.HEDGED: (QuestionKind.LEADING,),
    AnswerKind.SYCOPHANTIC: (QuestionKind.LEADING,),
    AnswerKind.UNGROUNDED: (QuestionKind.NEUTRAL,),
    AnswerKind.PROTECTED_FAIR: (QuestionKind.PROTECTED,),
    AnswerKind.PROTECTED_BIASED: (QuestionKind.PROTECTED,),
}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, its documents, an answer, the truth; `answer[f.start:f.end] == f.text` for each figure."""

    situation: str
    department: str
    question_kind: QuestionKind
    question: str
    contexts: tuple[str, ...]
    answer_kind: AnswerKind
    answer: str
    band: Band
    figures: tuple[MarkedFigure, ...]
    protected: str | None


def exchanges(folder: Path = HELD_OUT_FOLDER, seed: int = 7) -> Iterator[Exchange]:
    """Every exchange of `folder`. Raises what `load_situations` raises."""
    for situation in load_situations(folder):
        rng = random.Random(f"{seed}:{situation.id}")  # noqa: S311 - sample data, not a secret
        for answer_kind, question_kinds in _QUESTION_OF.items():
            for question_kind in question_kinds:
                yield from _of(situation, answer_kind, question_kind, rng)


def _of(
    situation: Situation, answer_kind: AnswerKind, question_kind: QuestionKind, rng: random.Random
) -> Iterator[Exchange]:
    for answer in situation.answers(answer_kind):
        for case in situation.cases:
            user, model = Typography.draw(rng), Typography.draw(rng)
            text, figures = render(answer.text, case, model, rng)
            yield Exchange(
                situation=situation.id,
                department=situation.departments[0],
                question_kind=question_kind,
                question=user.apply(fill(rng.choice(situation.questions(question_kind)), case)),
                contexts=tuple(user.apply(fill(document.text, case)) for document in situation.contexts),
                answer_kind=answer_kind,
                answer=text,
                band=answer.band or DEFAULT_BANDS[answer_kind],
                figures=figures,
                protected=situation.protected.attribute
                if situation.protected and question_kind is QuestionKind.PROTECTED
                else None,
            )
