"""Which scores go back to Langfuse, and which of those that come from there are our own.

A score is sent when it is new or changed; a change gets a higher revision, because a server cannot put two versions of
the same instant in order. Our own scores are left out of what is read, so that writing them changes no figure and no
digest of the month. Pure; nothing here sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from compliance_pipelines.core.records import Judgement, Score

OWN = frozenset(
    {
        "judge_neutrality",
        "lexical_neutrality",
        "ragas_faithfulness",
        "ragas_answer_relevancy",
        "ragas_context_precision",
    }
)
CORRECTION = "correction"
# the words that figures are made of: outcomes of a review, levels of an event. Whatever else a score says may be what a
# person wrote (a correction, a comment under any name) and stays in Langfuse
KEPT_WORDS = frozenset({"confirmed", "overridden", "DEBUG", "DEFAULT", "WARNING", "ERROR"})
ACCEPTED = 201


@dataclass(frozen=True, slots=True)
class SentScore:
    """A score as it was sent: `http_status` is the server's answer to it (201 taken, 0 silent)."""

    trace_id: str
    name: str
    value: float
    evaluator: str
    revision: int
    http_status: int


@dataclass(frozen=True, slots=True)
class DueScore:
    """A score to send."""

    trace_id: str
    name: str
    value: float
    evaluator: str
    observed_at: datetime
    revision: int


def foreign(score: Score) -> Score | None:
    """The score as it is kept: None for our own, and without words that a person may have written."""
    if score.name in OWN and score.source == "API":
        return None
    known = score.string_value is None or score.string_value in KEPT_WORDS
    return score if known else replace(score, string_value=None)


def plan(judgements: Iterable[Judgement], before: Iterable[SentScore]) -> tuple[list[SentScore], list[DueScore]]:
    """(scores that stand at the server, scores to send). `before` is what was sent for these days last time."""
    sent = {(row.trace_id, row.name): row for row in before}
    standing, due = [], []
    for row in judgements:
        if row.value is None or row.metric not in OWN:
            continue
        last = sent.get((row.trace_id, row.metric))
        same = last is not None and (last.value, last.evaluator) == (row.value, row.evaluator)
        if last is not None and same and last.http_status == ACCEPTED:
            standing.append(last)
            continue
        # also after a refusal: an answer that was lost may hide a score that was stored
        revision = 0 if last is None else last.revision + (not same)
        due.append(DueScore(row.trace_id, row.metric, row.value, row.evaluator, row.observed_at, revision))
    return standing, due


def outcome(due: Sequence[DueScore], refused: Sequence[int | None]) -> list[SentScore]:
    """What was sent with its status; `refused` gives the server's status for each refused score, None otherwise."""
    return [
        SentScore(d.trace_id, d.name, d.value, d.evaluator, d.revision, ACCEPTED if status is None else status)
        for d, status in zip(due, refused, strict=True)
    ]
