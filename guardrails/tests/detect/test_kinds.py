"""Kinds of sentence that were once judged wrongly, each with sentences that must and that must not be found.

The sentences stand in the corpus to tune on (kinds_fr.jsonl, ids `kinds-…`). Those of two later rounds, which the rules
do not all reach, stand beside them (`kinds2-…`, `kinds3-…`) and are only measured. What two sentences say together is
tested here.
"""

from __future__ import annotations

from decimal import Decimal

import pytest
from compliance_guardrails.detect import attributes, bias, citations


def _found(detector: str, text: str) -> bool:
    if detector == "citations":
        return citations.check(text).compliance == 1
    return bool(attributes.find(text) if detector == "protected_attribute" else bias.screen(text).findings)


@pytest.mark.corpus("kinds_fr.jsonl", "kinds-")
def test_each_kind_is_told_from_its_look_alike(row: dict) -> None:
    assert _found(row["detector"], row["text"]) is bool(row["label"])


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("Une femme a appelé ce matin. Les Roms sont des voleurs.", ["Roms sont des voleurs"]),
        ("Les femmes habitent ici. Les Roms sont des voleurs.", ["Roms sont des voleurs"]),
        ("Mon client est gitan. C’est un voleur.", ["gitan. C’est un voleur"]),
        ("Les femmes habitent ici. Refusez les Roms.", ["Refusez les Roms"]),
        ("Une veuve a appelé ce matin. Les voleurs ont fracturé la porte.", []),
        ("La veuve attend, je classe la demande ? Un chômeur a écrit hier.", []),
    ],
)
def test_what_the_next_sentence_says_of_its_own_group_is_its_own(text: str, evidence: list[str]) -> None:
    assert [finding.evidence for finding in bias.screen(text).findings] == evidence


@pytest.mark.parametrize(
    ("text", "severity", "score"),
    [
        ("Facturez aux étrangers 50 % de plus.", "HIGH", "0.90"),
        ("Aux seniors, on facture la formule 50 % de plus.", "MEDIUM", "0.45"),
        ("Séropositif ? On ne rappelle pas.", "HIGH", "0.90"),
    ],
)
def test_a_decision_keeps_its_weight(text: str, severity: str, score: str) -> None:
    (finding,) = bias.screen(text).findings
    assert (finding.severity, finding.score) == (severity, Decimal(score))


def test_a_quotation_that_a_full_stop_cuts_is_still_one() -> None:
    assert attributes.find("Le titre « Trop vieux pour conduire ? » convient-il à l’article ?") == []
    assert attributes.find("Il est trop vieux pour conduire « seul », je refuse ?")


def test_a_rule_about_everybody_ends_with_its_clause() -> None:
    assert attributes.find("Personne ne la reçoit, mais je refuse à cause de sa religion.")
    assert attributes.find("Nul ne sera refusé à cause de sa religion.") == []


def test_a_lead_is_no_marker_of_the_looser_rule() -> None:
    assert citations.check("Comme le prévoit la loi, le délai est de 30 jours.").marker == 0
    assert citations.check("Selon la loi, le délai est de 30 jours.").marker == 1


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("(CG art. 14.2) La franchise est de 300 €.", [True, True]),
        ("CG, articles 4 et 5 : le plafond est de 300 €.", [True, True, True]),
        ("CG. L’article 12 donne 300 €.", [False, True]),
        ("Le devis est valable du 3 mars 2024 au 4 avril 2024, soit 300 €.", [False]),
        ("Votre arrêt de travail du 3 mars 2024 donne droit à 40 € par jour.", [False]),
    ],
)
def test_a_document_cites_what_it_stands_beside(text: str, cited: list[bool]) -> None:
    assert [claim.cited for claim in citations.check(text).claims] == cited
