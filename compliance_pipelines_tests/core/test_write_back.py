"""Which scores are sent to Langfuse, with which revision, and which that come back are left out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from compliance_pipelines.core import write_back
from compliance_pipelines.core.records import Judgement, Score, Status
from compliance_pipelines.core.write_back import SentScore

NOON = datetime(2026, 6, 2, 10, tzinfo=UTC)


def judged(value: float | None, metric: str = "lexical_neutrality", evaluator: str = "e1") -> Judgement:
    status = Status.WITHHELD if value is None else Status.SCORED
    return Judgement("t1", "direction-it", NOON, metric, value, status, None, evaluator, 1.0)


def sent(value: float, evaluator: str = "e1", revision: int = 0, status: int = 201) -> SentScore:
    return SentScore("t1", "lexical_neutrality", value, evaluator, revision, status)


@pytest.mark.parametrize(
    ("before", "row", "revision"),
    [
        ([], judged(0.4), 0),
        ([sent(0.4)], judged(0.4), None),
        ([sent(0.4, revision=3)], judged(0.4), None),
        ([sent(0.4)], judged(0.5), 1),
        ([sent(0.4, revision=3)], judged(0.4, evaluator="e2"), 4),
        ([sent(0.4, status=400)], judged(0.4), 0),
        ([sent(0.4, status=0)], judged(0.5), 1),
    ],
)
def test_a_score_is_sent_when_new_changed_or_refused(
    before: list[SentScore], row: Judgement, revision: int | None
) -> None:
    standing, due = write_back.plan([row], before)
    assert [one.revision for one in due] == ([] if revision is None else [revision])
    assert standing == (before if revision is None else [])


@pytest.mark.parametrize("row", [judged(None), judged(1.0, "citation_compliance"), judged(1.0, "human_oversight")])
def test_what_has_no_value_or_is_another_ones_score_is_not_sent(row: Judgement) -> None:
    assert write_back.plan([row], []) == ([], [])


def test_the_servers_answer_is_kept() -> None:
    _, due = write_back.plan([judged(0.4)], [])
    assert write_back.outcome(due, [None]) == [sent(0.4)]
    assert write_back.outcome(due, [400]) == [sent(0.4, status=400)]


def read(name: str, source: str = "API", text: str | None = None) -> Score:
    return Score("s", "t1", name, None, text, source, NOON, NOON)


def test_our_own_scores_are_not_read_back_and_corrections_lose_their_words() -> None:
    assert write_back.foreign(read("lexical_neutrality")) is None
    assert write_back.foreign(read("judge_neutrality")) is None
    for kept in (
        read("judge_neutrality", source="ANNOTATION"),
        read("citation_compliance"),
        read("review_outcome", text="overridden"),
        read("uncited-specific-claim", source="EVENT", text="WARNING"),
    ):
        assert write_back.foreign(kept) == kept
    # a site's own scores and comments, whatever they are called
    for name in ("correction", "comment", "review_outcome", "motif"):
        assert write_back.foreign(read(name, text="M. Untel demande 300 €.")) == read(name)
