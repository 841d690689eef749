"""The text of six reports, page by page, as it was last read and approved by a person.

A change of wording, order or figure shows as a difference here. `UPDATE_GOLDEN=1 pytest …/golden` writes the files
again, to be read before they are committed. What must hold whatever the wording is asserted by itself below.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from pypdf import PdfReader

from compliance_pipelines.adapters.pdf import render, render_summary
from compliance_pipelines.core.records import Verdict
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.report_tree import Table
from compliance_pipelines_tests.golden.months import MONTHS

FOLDER = Path(__file__).parent
EXPECTED: dict[str, tuple[Verdict, tuple[str, ...], tuple[str, ...]]] = {
    # verdict, what must be printed, what must not
    "problems": (
        Verdict.NON_CONFORME,
        (
            "0,6996",
            "Écart contrefactuel établi : origin-sinistres-01",
            "13/06/2026",
            "Évolution depuis mai 2026",
            "↗ hausse",
        ),
        ("indicatif, sans LLM", "Rupture de comparabilité"),
    ),
    "quiet": (
        Verdict.CONFORME,
        ("Rupture de comparabilité", "non comparable", "signature électronique prévue", "Aucune alerte"),
        ("Non conforme sous", "↗", "↘", "Document non signé"),
    ),
    "one_department": (
        Verdict.INDICATIF,
        ("1 direction mesurée", "indicatif, sans LLM", "Non réalisé ce mois-ci", "Données synthétiques"),
        ("Évolution depuis", "Sinistres 8"),
    ),
    "unscored": (
        Verdict.INSUFFISANT,
        ("100,0 %", "délai dépassé (4 949)", "Données insuffisantes"),
        ("0,00 – 0,00", "Moyenne quotidienne par direction"),
    ),
    "no_data": (
        Verdict.INSUFFISANT,
        ("Non mesuré ce mois-ci", "0 direction mesurée", "Aucune mesure ne repose sur assez de traces"),
        ("NaN", "None", "0,00"),
    ),
    "revised": (
        Verdict.NON_CONFORME,
        (
            "Révision 2, remplace la révision 1 du 1er juillet 2026",
            "Motif : lot de traces de Sinistres reçu en retard",
            "thresholds.citation_compliance) : 0,8 → 0,75",
            "ce rapport",
        ),
        ("direction-juridique",),
    ),
}


def pages(content: bytes) -> list[str]:
    return [page.extract_text() for page in PdfReader(io.BytesIO(content)).pages]


def flat(text: str) -> str:
    return " ".join(text.replace("\u202f", " ").replace("\u00a0", " ").split())


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    made = {name: build_report(inputs()) for name, inputs in MONTHS.items()}
    return {name: pages(render(report, attachments(report))) for name, report in made.items()}


@pytest.mark.parametrize("name", MONTHS)
def test_the_text_is_the_approved_one(name: str, texts: dict[str, list[str]]) -> None:
    text = "\n\f\n".join(texts[name]) + "\n"
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MONTHS)
def test_what_must_and_must_not_be_printed(name: str, texts: dict[str, list[str]]) -> None:
    verdict, wanted, unwanted = EXPECTED[name]
    report = build_report(MONTHS[name]())
    assert report.verdict is verdict
    text = flat(" ".join(texts[name]))
    assert verdict.value in texts[name][0]
    assert [words for words in wanted if words not in text] == []
    assert [words for words in unwanted if words in text] == []


@pytest.mark.parametrize("name", MONTHS)
def test_no_table_is_printed_without_a_row(name: str) -> None:
    blocks = [block for section in build_report(MONTHS[name]()).sections for block in section.blocks]
    assert [block.caption for block in blocks if isinstance(block, Table) and not block.rows] == []


@pytest.mark.parametrize("name", MONTHS)
def test_the_summary_is_one_page_with_the_same_verdict(name: str) -> None:
    report = build_report(MONTHS[name]())
    (page,) = pages(render_summary(report))
    assert report.verdict.value in page
    assert "synthèse non signée du rapport" in page
