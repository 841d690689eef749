"""Judgements: status and reason of what is not scored, weights, sampling."""

import dataclasses
from datetime import UTC, datetime

import pytest
from compliance_guardrails.detect import in_use
from compliance_guardrails.policy import load_policy

from compliance_pipelines.adapters.lexical_judge import lexical_rules
from compliance_pipelines.core import judging
from compliance_pipelines.core.judge_sampling import Strata, chosen
from compliance_pipelines.core.records import Score, Status, Trace

WHEN = datetime(2026, 6, 2, 10, tzinfo=UTC)
TRACE = Trace(
    "t1", WHEN, WHEN, None, "direction-sinistres", "stamp", "m", None, "Quelle franchise ?",
    "La franchise est de 150 €.", ("Franchise de 150 €.",), 0.8, False, "unchanged", "production", "export", "d",
)  # fmt: skip
EVERYTHING = None


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


def test_the_looser_rule_is_a_measure_of_its_own() -> None:
    """Any marker anywhere against an identifiable source: "votre contrat couvre" satisfies the first alone."""
    named = trace(answer="Votre contrat couvre jusqu'à 500 €.")
    marked = judging.citation_scorer(lambda _: True, RULES, marker=True)
    assert (CITED(named).value, marked(named).value) == (0, 1)


def test_flagged_traces_weigh_what_policy_says() -> None:
    found = judging.judge([TRACE, trace(trace_id="t2", flagged=True)], "m", "e", LEXICAL, 2.0, EVERYTHING)
    assert [j.weight for j in found] == [1.0, 2.0]


def drawn(traces: list[Trace], strata: Strata) -> set[str]:
    found = judging.judge(traces, "m", "e", LEXICAL, 2.0, strata)
    assert [j.trace_id for j in found] == [t.trace_id for t in traces]
    assert {j.status for j in found} <= {Status.SCORED, Status.NOT_SAMPLED}
    return {j.trace_id for j in found if j.status is Status.SCORED}


def test_sampling_is_stable_about_the_rate_and_the_salt_decides() -> None:
    many = [trace(trace_id=f"t{k}") for k in range(4000)]
    taken = drawn(many, Strata(lambda _: 0.25, "a", 0))
    assert taken == drawn(many[::-1], Strata(lambda _: 0.25, "a", 0))
    assert 900 < len(taken) < 1100
    other = drawn(many, Strata(lambda _: 0.25, "b", 0))
    assert 150 < len(taken & other) < 350
    assert drawn(many, Strata(lambda _: 1.0, "a", 0)) == {t.trace_id for t in many}


def test_a_small_stratum_keeps_its_minimum_among_what_can_be_judged() -> None:
    few = [trace(trace_id=f"t{k}") for k in range(8)]
    silent = [trace(trace_id=f"s{k}", answer="") for k in range(50)]
    found = judging.judge([*silent, *few], "m", "e", LEXICAL, 2.0, Strata(lambda _: 0.0, "a", 5))
    assert sum(j.status is Status.SCORED for j in found) == 5
    assert sum(j.status is Status.NOT_APPLICABLE for j in found) == 50


def test_the_lexical_evaluator_draws_the_traces_of_the_paid_judge() -> None:
    many = [trace(trace_id=f"t{k}") for k in range(200)]
    strata = Strata(lambda _: 0.1, "a", 5)
    assert drawn(many, strata) == chosen(many, strata)


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
