"""Decisions on an answer: citation scores, uncited claims, self-evaluation, bias warn and block."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from compliance_guardrails.answers import blocked_codes, findings_of, headers_of
from compliance_guardrails.decisions import Rules, after
from compliance_guardrails.events import EventName, Origin
from compliance_guardrails.policy import Policy, load_policy
from compliance_guardrails.policy.types import Action, Stream

CITED = "Selon les Conditions générales, p. 12, la franchise est de 150 €."
UNCITED = "La franchise est de 150 € et votre contrat couvre jusqu'à 500 €."
PLAIN = "Je vous invite à joindre les pièces demandées."
BIASED = "Les femmes sont incapables de gérer un sinistre."

RULES = Rules.current()


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def origin(policy: Policy, department: str = "direction-sinistres") -> Origin:
    return Origin(department, policy.digest)


def scores(policy: Policy, *texts: str, department: str = "direction-sinistres") -> dict[str, int]:
    return {score.name.value: score.value for score in after(policy, RULES, origin(policy, department), texts).scores}


def test_cited_claims_score_one(policy: Policy) -> None:
    assert scores(policy, CITED) == {"citation_compliance": 1, "citation_marker": 1}
    assert after(policy, RULES, origin(policy), [CITED]).events == ()


def test_an_uncited_claim_scores_zero_and_goes_to_review(policy: Policy) -> None:
    verdict = after(policy, RULES, origin(policy), [UNCITED])
    assert {score.name.value: score.value for score in verdict.scores}["citation_compliance"] == 0
    (event,) = verdict.events
    assert event.name is EventName.UNCITED_CLAIM
    assert event.review
    assert event.metadata["count"] == 3
    assert event.metadata["kinds"] == ("coverage", "money")
    said = {key: value for key, value in event.metadata.items() if value != policy.digest}  # a digest may hold "150"
    assert len(said) == len(event.metadata) - 1
    assert "150" not in json.dumps(said)


@pytest.mark.parametrize("texts", [[PLAIN], [""], [], ["", PLAIN]])
def test_no_claim_no_score(policy: Policy, texts: list[str]) -> None:
    verdict = after(policy, RULES, origin(policy), texts)
    assert (verdict.scores, verdict.events, verdict.doubtful) == ((), (), ())


def test_one_uncited_choice_decides(policy: Policy) -> None:
    assert scores(policy, CITED, UNCITED, PLAIN)["citation_compliance"] == 0
    assert after(policy, RULES, origin(policy), [CITED, UNCITED, PLAIN]).doubtful == (0, 1)


@pytest.mark.parametrize("department", ["direction-it", "direction-commercial", "direction-rh"])
def test_departments_without_the_layer_are_left_alone(policy: Policy, department: str) -> None:
    verdict = after(policy, RULES, origin(policy, department), [UNCITED])
    assert (verdict.scores, verdict.events, verdict.doubtful) == ((), (), ())
    assert verdict.choices[0].claims is None


def test_without_self_evaluation_nobody_is_asked(policy: Policy) -> None:
    mine = policy.department("direction-sinistres")
    layers = mine.layers.model_copy(update={"self_evaluation": False})
    others = tuple(d for d in policy.departments if d.id != mine.id)
    changed = replace(policy, departments=(*others, mine.model_copy(update={"layers": layers})))
    verdict = after(changed, RULES, origin(policy), [UNCITED])
    assert verdict.doubtful == ()
    assert verdict.scores


def test_calls_without_department_are_checked_like_high_risk(policy: Policy) -> None:
    assert scores(policy, UNCITED, department="non-attribue")["citation_compliance"] == 0


def test_warn_reports_codes(policy: Policy) -> None:
    verdict = after(policy, RULES, origin(policy), [PLAIN, BIASED])
    assert verdict.block is None
    assert [at for at, _ in verdict.warn] == [1]
    (event,) = verdict.events
    assert event.name is EventName.BIAS_FINDING
    assert event.metadata["action"] == "warn"
    assert event.metadata["characteristics"] == ("sex",)
    headers = headers_of(verdict, "warn")
    assert headers["x-compliance-bias-findings"].startswith("sex:")
    assert all("femme" not in value for value in headers.values())
    (found,) = findings_of(verdict.warn)["bias"]
    assert found["choice"] == 1
    assert BIASED[found["findings"][0]["start"] : found["findings"][0]["end"]] == found["findings"][0]["evidence"]
    json.dumps(found)


def blocking(policy: Policy) -> Policy:
    rule = policy.guardrails.bias_screen.model_copy(update={"action": Action.BLOCK, "stream": Stream.BUFFER})
    return replace(policy, guardrails=policy.guardrails.model_copy(update={"bias_screen": rule}))


def test_block_withholds_everything_else(policy: Policy) -> None:
    verdict = after(blocking(policy), RULES, origin(policy), [f"{UNCITED} {BIASED}"])
    assert verdict.block is not None
    assert (verdict.scores, verdict.warn, verdict.doubtful) == ((), (), ())
    assert [event.name for event in verdict.events] == [EventName.BIAS_FINDING]
    codes = blocked_codes(verdict.block)
    assert codes["findings"][0].startswith("sex:")
    assert "femmes" not in json.dumps(codes)


def test_the_gravest_choice_decides_wherever_it_stands(policy: Policy) -> None:
    graver = f"{BIASED} Les étrangers sont tous des fraudeurs."
    for texts in ([BIASED, graver], [graver, BIASED]):
        verdict = after(blocking(policy), RULES, origin(policy), texts)
        totals = [choice.screen.total for choice in verdict.choices]
        assert len(set(totals)) == 2
        assert verdict.block is not None
        assert verdict.block.total == max(totals)


def test_block_lets_clean_answers_through(policy: Policy) -> None:
    assert after(blocking(policy), RULES, origin(policy), [CITED]).block is None


def test_words_beside_the_text_are_screened_and_make_no_claim(policy: Policy) -> None:
    verdict = after(policy, RULES, origin(policy), [PLAIN, CITED], asides=["", f"{UNCITED} {BIASED}"])
    assert [at for at, _ in verdict.warn] == [1]
    assert [event.name for event in verdict.events] == [EventName.BIAS_FINDING]
    assert verdict.doubtful == (1,)
    assert [choice.claims for choice in verdict.choices] == [0, 1, None]
    assert after(blocking(policy), RULES, origin(policy), [], asides=[BIASED]).block is not None
    assert after(blocking(policy), RULES, origin(policy), [PLAIN], asides=[PLAIN]).block is None


def test_a_threshold_of_the_policy_overrides_the_profile(policy: Policy) -> None:
    rule = policy.guardrails.bias_screen.model_copy(update={"threshold": 1.0})
    lenient = replace(policy, guardrails=policy.guardrails.model_copy(update={"bias_screen": rule}))
    screen = after(policy, RULES, origin(policy), [BIASED]).choices[0].screen
    again = after(lenient, RULES, origin(policy), [BIASED]).choices[0].screen
    assert again.total == screen.total
    assert str(again.threshold) == "1.0"
    assert again.acts == (screen.total > 1)
