"""The shipped policy: the figures that the organisation decided, and what the files say of one another."""

from __future__ import annotations

import time
from datetime import date
from typing import Any

import pytest
from compliance_guardrails.policy import UNATTRIBUTED, load_policy
from compliance_guardrails.policy.types import AlertName, MissingScore, OnError, Severity

ALL = (True, True, True, True)
GATE = (True, False, False, False)

DEPARTMENTS = [
    # id, risk, alias, base model, layers, report, alert, minutes
    ("direction-sinistres", "CRITICAL", "claims-assistant", "llama3.2:3b", ALL, 0.70, 0.70, 30),
    ("direction-finance", "CRITICAL", "finance-assistant", "llama3.2:3b", ALL, 0.70, 0.60, 60),
    ("direction-juridique", "CRITICAL", "legal-assistant", "llama3.2:3b", ALL, 0.70, 0.70, 30),
    ("direction-souscription", "HIGH", "claims-assistant", "llama3.2:3b", ALL, 0.70, 0.70, 30),
    ("direction-actuariat", "HIGH", "finance-assistant", "llama3.2:3b", ALL, 0.70, 0.60, 60),
    ("direction-audit", "HIGH", "finance-assistant", "llama3.2:3b", ALL, 0.70, 0.60, 60),
    ("direction-reassurance", "HIGH", "finance-assistant", "llama3.2:3b", ALL, 0.70, 0.60, 60),
    ("direction-commercial", "MEDIUM", "general-assistant", "llama3.2:1b", GATE, 0.60, 0.60, 60),
    ("direction-it", "LOW", "general-assistant", "llama3.2:1b", GATE, 0.60, 0.60, 60),
    ("direction-transformation", "LOW", "general-assistant", "llama3.2:1b", GATE, 0.60, 0.60, 60),
    ("direction-rh", "LOW", "general-assistant", "llama3.2:1b", GATE, 0.60, 0.60, 60),
]


def test_there_are_eleven_departments() -> None:
    assert [d.id for d in load_policy().departments] == [row[0] for row in DEPARTMENTS]


@pytest.mark.parametrize("row", DEPARTMENTS, ids=[row[0] for row in DEPARTMENTS])
def test_department_is_as_decided(row: tuple[object, ...]) -> None:
    d = load_policy().department(str(row[0]))
    layers = (d.layers.grounding, d.layers.prompt, d.layers.citation_check, d.layers.self_evaluation)
    assert row[1:5] == (d.risk.value, d.alias, d.base_model, layers)
    assert row[5:] == (d.report_threshold, d.alert_threshold, d.alert_for_minutes)
    assert d.missing_score is MissingScore.PASS_AND_FLAG
    assert d.is_high_stakes == (d.risk.value in {"CRITICAL", "HIGH"})
    assert (d.sampling_rate == 1.0) == d.is_high_stakes


def test_thresholds_are_as_decided() -> None:
    t = load_policy().thresholds
    assert (t.grounding_floor, t.counterfactual_cosine_floor, t.citation_compliance) == (0.35, 0.85, 0.80)
    assert (t.flagged_weight, t.retention_years, t.min_n, t.max_unscored_rate) == (2.0, 7, 30, 0.10)
    assert (t.queue_below, t.suppress_below, t.purge_months) == (0.60, 5, 13)
    assert (t.uncited_burst.count, t.uncited_burst.window_minutes) == (5, 60)
    assert set(t.uncited_burst.departments) == {
        "direction-finance", "direction-juridique", "direction-sinistres"
    }  # fmt: skip
    assert t.cosine_floor("gender") == 0.85


def test_unattributed_is_a_department_like_another_but_not_in_the_list() -> None:
    policy = load_policy()
    assert policy.department(UNATTRIBUTED) is policy.unattributed
    assert UNATTRIBUTED not in {d.id for d in policy.departments}
    with pytest.raises(KeyError):
        policy.department("direction-inconnue")


def test_messages_are_word_for_word() -> None:
    messages = load_policy().guardrails.messages
    assert messages.grounding_refusal.format(score="0.21", floor="0.35", contact="Sinistres") == (
        "Aucun document pertinent trouvé pour votre question (score de similarité 0.21 < 0.35). "
        "Veuillez reformuler ou contacter votre référent Sinistres."
    )
    assert messages.low_self_confidence == (
        "⚠️ Je ne dispose pas de documents suffisants pour répondre avec certitude à cette question. "
        "Veuillez vérifier auprès de votre référent métier."
    )
    assert load_policy().guardrails.on_error is OnError.PASS


def test_claims_prompt_quotes_the_exact_refusal() -> None:
    prompt = load_policy().prompt_for("claims-assistant")
    refusal = "Cette information ne figure pas dans mes documents. Merci de contacter votre référent sinistres."
    assert prompt.refusal == refusal
    assert f"« {refusal} »" in prompt.body


@pytest.mark.parametrize(
    ("alias", "words"),
    [
        ("claims-assistant", ["montant", "délai réglementaire", "article", "clause", "garantie", "document"]),
        ("finance-assistant", ["source", "IFRS 17", "Solvabilité II", "fiscales", "n’extrapoles"]),
        ("legal-assistant", ["conseil juridique", "reformules", "a pu changer"]),
        ("general-assistant", ["référent"]),
    ],
)
def test_each_alias_has_a_prompt_with_its_rules(alias: str, words: list[str]) -> None:
    body = load_policy().prompt_for(alias).body
    assert [word for word in words if word not in body] == []
    assert not body.startswith("---")


def test_there_are_twenty_four_distinct_grounds() -> None:
    grounds = [ground.id for ground in load_policy().grounds.grounds]
    assert len(grounds) == len(set(grounds)) == 24
    assert {
        "origine",
        "sexe",
        "patronyme",
        "lanceur-d-alerte",
        "langue",
        "nation",
        "race",
        "religion",
    } <= set(grounds)


def test_every_alert_has_a_rule_and_its_limit_leads_to_a_number() -> None:
    policy = load_policy()
    assert {rule.name for rule in policy.alerts.rules} == set(AlertName)
    juridique, it = policy.department("direction-juridique"), policy.department("direction-it")
    rule = policy.alerts.rule(AlertName.NEUTRALITY_BELOW_THRESHOLD)
    assert rule.limit_from is not None
    assert (policy.limit_of(rule.limit_from, juridique), policy.limit_of(rule.limit_from, it)) == (0.70, 0.60)
    assert rule.for_minutes_from is not None
    assert policy.limit_of(rule.for_minutes_from, juridique) == 30
    burst = policy.alerts.rule(AlertName.UNCITED_CLAIMS_BURST)
    assert burst.limit_from is not None
    assert policy.limit_of(burst.limit_from) == 5
    assert policy.alerts.rule(AlertName.RETENTION_NOT_VERIFIED).severity is Severity.CRITICAL
    assert all(rule.summary and rule.next_step for rule in policy.alerts.rules)


def test_law_is_dated_and_the_reported_postponement_is_marked_as_such() -> None:
    today, june = load_policy().legal, load_policy(at=date(2026, 6, 30)).legal
    assert june.as_of < today.as_of
    for legal in (today, june):
        rules = {rule.id: rule for rule in legal.rules}
        assert set(rules) == {
            "ai-act-9", "ai-act-10", "ai-act-13", "ai-act-14", "ai-act-26-7", "rgpd-13", "rgpd-22", "rgpd-35",
            "code-penal-225-1", "eiopa-bos-25-360", "acpr-2020",
        }  # fmt: skip
        assert rules["ai-act-9"].applies_from == date(2026, 8, 2)
        assert rules["ai-act-9"].pending is not None
        assert rules["ai-act-9"].pending.status == "à confirmer"
        assert rules["ai-act-9"].pending.applies_from == date(2027, 12, 2)
        assert all(rule.source and rule.as_of <= legal.as_of for rule in legal.rules)
        assert all(rule.pending is None or rule.pending.as_of <= legal.as_of for rule in legal.rules)
        assert legal.classification.decided_on is None


def test_policy_is_frozen() -> None:
    policy: Any = load_policy()
    with pytest.raises(AttributeError):
        policy.digest = "x"
    with pytest.raises(ValueError, match="frozen"):
        policy.thresholds.min_n = 1
    with pytest.raises(TypeError):
        policy.file_digests["x"] = "y"


def test_loading_is_quick() -> None:
    load_policy()
    start = time.process_time()
    load_policy()
    assert time.process_time() - start < 0.15
