"""Judgements: status and reason of what is not scored, weights, sampling."""

import dataclasses
from datetime import UTC, datetime

import pytest
from compliance_guardrails.detect import in_use
from compliance_guardrails.policy import load_policy

from compliance_pipelines.adapters.lexical_judge import lexical_rules
from compliance_pipelines.core import judging
from compliance_pipelines.core.records import Score, Status, Trace

WHEN = datetime(2026, 6, 2, 10, tzinfo=UTC)
TRACE = Trace(
    "t1", WHEN, WHEN, None, "direction-sinistres", "stamp", "m", None, "Quelle franchise ?",
    "La franchise est de 150 €.", ("Franchise de 150 €.",), 0.8, False, "unchanged", "production", "export", "d",
)  # fmt: skip
EVERYTHING = judging.Sampling({})


def trace(**changes: object) -> Trace:
    return dataclasses.replace(TRACE, **changes)  # type: ignore[arg-type]


LEXICAL = judging.lexical_scorer(lexical_rules(load_policy()))
RULES = in_use.of(load_policy())
CITED = judging.citation_scorer(lambda _: True, RULES, marker=False)
GROUNDED = judging.grounding_scorer(RULES)


@pytest.mark.parametrize(
    ("scorer", "changes", "reason"),
    [
        (LEXICAL, {"answer": None}, "no_answer"),
        (LEXICAL, {"answer": ""}, "no_answer"),
        (LEXICAL, {"question": None}, "no_question"),
        (LEXICAL, {"contexts": ()}, "no_context"),
        (CITED, {"answer": None}, "no_answer"),
        (CITED, {"answer": "Bonjour."}, "no_claim"),
        (judging.citation_scorer(lambda _: False, RULES, marker=False), {}, "layer_off"),
        (GROUNDED, {"contexts": ()}, "no_context"),
        (GROUNDED, {"answer": "Bonjour."}, "no_figure"),
    ],
)
def test_what_cannot_be_judged_says_why(scorer: judging.Scorer, changes: dict[str, object], reason: str) -> None:
    found = scorer(trace(**changes))
    assert (found.value, found.status, found.reason) == (None, Status.NOT_APPLICABLE, reason)


def test_citations_and_grounding_of_an_answer() -> None:
    assert CITED(TRACE).value == 0
    assert CITED(trace(answer="Selon les Conditions générales, p. 12, la franchise est de 150 €.")).value == 1
    assert GROUNDED(TRACE).value == 1
    assert GROUNDED(trace(answer="La franchise est de 250 €.")).value == 0
    assert GROUNDED(trace(answer="De 150 € à 1 150 €.")).value == 0.5


def test_flagged_traces_weigh_what_policy_says() -> None:
    found = judging.judge([TRACE, trace(trace_id="t2", flagged=True)], "m", "e", LEXICAL, 2.0, EVERYTHING)
    assert [j.weight for j in found] == [1.0, 2.0]


def test_sampling_is_stable_and_about_the_rate() -> None:
    sampling = judging.Sampling({"direction-sinistres": 0.25})
    taken = [sampling.takes(trace(trace_id=f"t{k}")) for k in range(4000)]
    assert taken == [sampling.takes(trace(trace_id=f"t{k}")) for k in range(4000)]
    assert 900 < sum(taken) < 1100
    assert judging.Sampling({}).takes(TRACE)
    found = judging.judge([trace(trace_id=f"t{k}") for k in range(40)], "m", "e", LEXICAL, 2.0, sampling)
    assert {j.status for j in found} == {Status.SCORED, Status.NOT_SAMPLED}


def test_oversight_counts_feedback_and_reviews_once() -> None:
    def score(name: str, trace_id: str) -> Score:
        return Score(f"s-{name}", trace_id, name, 1.0, None, "API", WHEN, WHEN)

    scorer = judging.oversight_scorer(
        [score("human_feedback", "t1"), score("review_outcome", "t1"), score("other", "t2")]
    )
    assert scorer(TRACE).value == 1
    assert scorer(trace(trace_id="t1/o2")).value == 1
    assert scorer(trace(trace_id="t2")).value == 0
    assert scorer(trace(answer=None)).status is Status.NOT_APPLICABLE


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.1])
def test_a_score_outside_the_unit_interval_is_an_error(value: float) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        judging.scored(value)
