"""Decisions before the model: similarity, gate, department, routing, prompt, protected attributes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal

import pytest
from compliance_guardrails import decisions
from compliance_guardrails.decisions import Before, Caller, MissingReason, Rules, before, origin_of, printed, read_score
from compliance_guardrails.events import EventName
from compliance_guardrails.policy import Policy, load_policy
from compliance_guardrails.policy.types import MissingScore
from hypothesis import given
from hypothesis import strategies as st

SINISTRES = Caller("sinistres", None, None)
STRANGER = Caller("inconnu", None, None)

RULES = Rules.current()


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def decide(
    policy: Policy, caller: Caller, places: list[object], question: str, model: object = "claims-assistant"
) -> Before:
    return before(policy, RULES, origin_of(policy, caller), model, places, question)


def score(value: object) -> list[object]:
    return [{"retrieval_score": value}]


@pytest.mark.parametrize(
    ("given_score", "value"),
    [(0.35, 0.35), (0, 0.0), (1, 1.0), ("0.82", 0.82), ("0", 0.0), ("1.0", 1.0), (0.34999999, 0.34999999)],
)
def test_usable_scores(given_score: object, value: float) -> None:
    assert read_score(score(given_score)) == decisions.Reading(value)


@pytest.mark.parametrize(
    ("given_score", "reason"),
    [
        (None, MissingReason.ABSENT),
        ("", MissingReason.NOT_A_NUMBER),
        ("haut", MissingReason.NOT_A_NUMBER),
        ("0,82", MissingReason.NOT_A_NUMBER),
        ("1e-9", MissingReason.NOT_A_NUMBER),
        ("nan", MissingReason.NOT_A_NUMBER),
        ("٠.٩", MissingReason.NOT_A_NUMBER),
        ("0." + "9" * 5000, MissingReason.NOT_A_NUMBER),
        (True, MissingReason.NOT_A_NUMBER),
        ([0.9], MissingReason.NOT_A_NUMBER),
        ({"value": 0.9}, MissingReason.NOT_A_NUMBER),
        (math.nan, MissingReason.NOT_FINITE),
        (math.inf, MissingReason.NOT_FINITE),
        (10**400, MissingReason.OUT_OF_RANGE),
        (1.0000001, MissingReason.OUT_OF_RANGE),
        (-0.1, MissingReason.OUT_OF_RANGE),
        ("1.5", MissingReason.OUT_OF_RANGE),
        (82, MissingReason.OUT_OF_RANGE),
    ],
)
def test_scores_that_count_as_missing(given_score: object, reason: MissingReason) -> None:
    assert read_score(score(given_score)) == decisions.Reading(None, reason)


def test_nothing_to_read_from() -> None:
    assert read_score([]).reason is MissingReason.ABSENT
    assert read_score([None, "x", 3, []]).reason is MissingReason.ABSENT


@pytest.mark.parametrize("places", [[0.9, 0.1], [0.1, 0.9], [0.1, "abc"], ["abc", 0.1]])
def test_a_second_score_never_opens_the_gate(places: list[object]) -> None:
    assert read_score([place for value in places for place in score(value)]).value == 0.1


@pytest.mark.parametrize(
    ("value", "floor", "texts"),
    [
        (0.21, 0.35, ("0.21", "0.35")),
        (0.3499999, 0.35, ("0.34", "0.35")),
        (0.354, 0.355, ("0.354", "0.355")),
        (0.0, 0.35, ("0.00", "0.35")),
        (1e-12, 0.35, ("0.00", "0.35")),
        (0.4999, 0.5, ("0.49", "0.50")),
    ],
)
def test_the_score_is_cut_not_rounded(value: float, floor: float, texts: tuple[str, str]) -> None:
    assert printed(value, floor) == texts


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_refused_score_never_reads_like_the_floor(value: float, floor: float) -> None:
    if value < floor:
        shown, limit = printed(value, floor)
        assert Decimal(shown) < Decimal(limit)


def test_below_the_floor_is_refused_with_the_contact(policy: Policy) -> None:
    decision = decide(policy, SINISTRES, score(0.3499), "Quelle est la franchise ?")
    assert decision.refusal == (
        "Aucun document pertinent trouvé pour votre question (score de similarité 0.34 < 0.35). "
        "Veuillez reformuler ou contacter votre référent Sinistres."
    )
    (event,) = decision.events
    assert event.name is EventName.GATE_BLOCKED
    assert event.level == "DEFAULT"
    assert event.metadata == {
        "department": "direction-sinistres",
        "similarity": 0.3499,
        "floor": 0.35,
        "policy_digest": policy.digest,
    }


@pytest.mark.parametrize("value", [0.35, 0.350000001, 1.0])
def test_at_the_floor_goes_on(policy: Policy, value: float) -> None:
    decision = decide(policy, SINISTRES, score(value), "Quelle est la franchise ?")
    assert decision.refusal is None
    assert decision.events == ()
    assert decision.scored


def test_a_missing_score_passes_and_is_flagged(policy: Policy) -> None:
    decision = decide(policy, SINISTRES, score(math.nan), "Quelle est la franchise ?")
    assert decision.refusal is None
    assert not decision.scored
    assert [(event.name, event.metadata["reason"]) for event in decision.events] == [
        (EventName.SCORE_MISSING, "not_finite")
    ]


def with_department(policy: Policy, **update: object) -> Policy:
    changed = tuple(d.model_copy(update=update) if d.id == "direction-sinistres" else d for d in policy.departments)
    return replace(policy, departments=changed)


def test_a_missing_score_refuses_where_the_policy_says_so(policy: Policy) -> None:
    strict = with_department(policy, missing_score=MissingScore.REFUSE)
    decision = decide(strict, SINISTRES, [], "Quelle est la franchise ?")
    assert decision.refusal is not None
    assert "Sinistres" in decision.refusal
    assert [event.name for event in decision.events] == [EventName.SCORE_MISSING, EventName.GATE_BLOCKED]
    assert decision.events[1].metadata["similarity"] is None


def test_the_gate_can_be_off(policy: Policy) -> None:
    department = policy.department("direction-sinistres")
    off = with_department(policy, layers=department.layers.model_copy(update={"grounding": False}))
    decision = decide(off, SINISTRES, score(0.01), "Quelle est la franchise ?")
    assert (decision.refusal, decision.events) == (None, ())


@pytest.mark.parametrize(
    ("caller", "asked", "department", "model", "prompt"),
    [
        (SINISTRES, "claims-assistant", "direction-sinistres", None, "gestionnaires de sinistres"),
        (Caller("juridique", None, None), "claims-assistant", "direction-juridique", "legal-assistant", "conseil"),
        (Caller(None, "Équipe Sinistres", None), "gpt-x", "direction-sinistres", "claims-assistant", "sinistres"),
        (Caller(None, None, "team-finance"), None, "direction-finance", "finance-assistant", "financières"),
        (Caller("it", None, None), "claims-assistant", "direction-it", "general-assistant", None),
        (STRANGER, "gpt-x", "non-attribue", None, "assistant interne"),
        (STRANGER, "claims-assistant, gpt-x", "non-attribue", "claims-assistant", "gestionnaires de sinistres"),
        (Caller(None, None, None), "claims-assistant", "non-attribue", None, "gestionnaires de sinistres"),
        (Caller(["sinistres"], {"a": 1}, 7), ["x"], "non-attribue", None, "assistant interne"),
    ],
)
def test_department_routing_and_prompt(
    policy: Policy, caller: Caller, asked: object, department: str, model: str | None, prompt: str | None
) -> None:
    decision = decide(policy, caller, score(0.9), "", asked)
    assert decision.origin.department == department
    assert decision.model == (None if isinstance(asked, list) else model)
    assert (decision.prompt is None) if prompt is None else (prompt in (decision.prompt or ""))


def test_a_declared_department_is_not_trusted(policy: Policy) -> None:
    places = [{"department": "direction-it", "compliance_department": "direction-it", "tags": ["department:it"]}]
    assert decide(policy, STRANGER, places, "").origin.department == "non-attribue"


@pytest.mark.parametrize(
    "question", ["Faut-il refuser parce qu'il est étranger ?", "Vu qu’elle est handicapée, on refuse ?"]
)
def test_reasoning_from_a_protected_attribute_is_flagged_not_refused(policy: Policy, question: str) -> None:
    decision = decide(policy, SINISTRES, score(0.9), question)
    assert decision.refusal is None
    assert decision.review
    (event,) = decision.events
    assert event.name is EventName.PROTECTED_ATTRIBUTE
    assert event.level == "WARNING"
    assert event.review
    assert event.metadata["grounds"]
    assert "étranger" not in json.dumps(dict(event.metadata), ensure_ascii=False)


@pytest.mark.parametrize("question", ["En raison de l'âge du véhicule, quelle est la franchise ?", "", "Bonjour"])
def test_ordinary_questions_are_not_flagged(policy: Policy, question: str) -> None:
    decision = decide(policy, SINISTRES, score(0.9), question)
    assert (decision.review, decision.events) == (False, ())
