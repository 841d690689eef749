"""What the report takes from the policy alone: sampling, classification, dated texts, the list of grounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from compliance_guardrails.policy import load_policy

from compliance_pipelines.core import report_facts
from compliance_pipelines.core.report import build_report
from compliance_pipelines.core.report_tree import FactList, Table
from compliance_pipelines_tests import report_samples

POLICY = load_policy(at=date(2026, 8, 31))


def test_sampling_says_rates_strata_and_the_least_number() -> None:
    lines = report_facts.sampling(POLICY)
    assert lines[0].startswith("100 % des échanges : ")
    assert lines[-1] == "Strates : direction × jour ; au moins 5 échanges par strate, quand elle en compte autant"


def test_section_10_prints_the_classification_and_the_dated_texts_of_the_policy() -> None:
    inputs = replace(
        report_samples.inputs(),
        classification=report_facts.classification(POLICY),
        legal_rules=report_facts.legal_rules(POLICY),
        legal_as_of=POLICY.legal.as_of,
        grounds_source_fr=report_facts.grounds_source(POLICY),
    )
    report = build_report(inputs)
    blocks = report.sections[9].blocks
    known = {name: value for block in blocks if isinstance(block, FactList) for name, value in block.items}
    assert known["Classification"] == POLICY.legal.classification.value.value
    assert known["Décision"] == "non prise : le logiciel ne déduit aucun classement"
    assert known["Fondement"].startswith("Règlement (UE) 2024/1689, article 6")
    table = next(block for block in blocks if isinstance(block, Table))
    assert len(table.rows) == len(POLICY.legal.rules)
    rows = {row[0].text: [cell.text for cell in row] for row in table.rows}
    risk = next(cells for name, cells in rows.items() if name.endswith("Article 9"))
    assert risk[1].startswith("Système de gestion des risques : tenir")
    assert risk[2] == "À compter du 2\u00a0août 2026. Report au 2\u00a0décembre 2027 : à confirmer."
    guidance = next(cells for name, cells in rows.items() if "EIOPA" in name)
    assert guidance[2] == "Orientation, sans force obligatoire."
    assert table.note is not None
    assert table.note.count("Journal officiel de l’UE, L, 2024/1689") == 1


def test_the_title_of_the_report_is_the_policy_s() -> None:
    report = build_report(replace(report_samples.inputs(), title="Rapport <b>de contrôle</b>\u202e"))
    assert report.title == "Rapport <b>de contrôle</b>"
