"""Grounding: the figures of an answer looked for, by value, in its sources."""

from __future__ import annotations

import pytest
from compliance_guardrails.detect.figures import Figure, ground


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        ("un plafond de 1,2 M€", "Plafond : 1 200 000 euros"),
        ("85 % des frais", "remboursement à quatre-vingt-cinq pour cent"),
        ("sous trente jours", "dans les 30 jours"),
        ("un délai de deux ans", "un délai de 24 mois"),
        ("l'article L113-8", "Article L. 113-8 : ..."),
        ("la clause n° 4", "CLAUSE 4 - Vol"),
        ("5 jours", "cinq jours ouvrés"),
        ("une franchise de 150 €", "| Franchise (en euros) | 150 |\n|---|---|"),
        ("12 500,00 €", "12500 EUR"),
    ],
)
def test_ground_finds_equal_values(answer: str, source: str) -> None:
    result = ground(answer, ["sans rapport", source])
    assert (result.total, result.found, result.missing) == (1, 1, ())
    assert result.share == 1.0


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        ("un plafond de 150 €", "un plafond de 1 500 €"),
        ("150 €", "150 %"),
        ("150 €", "le 150 de la rue"),
        ("5 jours ouvrés", "5 jours"),
        ("article L113-8", "article L113-9"),
        ("clause 4", "article 4 de la loi"),
        ("48 heures", "48 jours"),
        ("150 €", ""),
    ],
)
def test_ground_reports_what_is_missing(answer: str, source: str) -> None:
    result = ground(answer, [source])
    assert (result.total, result.found, len(result.missing)) == (1, 0, 1)
    assert isinstance(result.missing[0], Figure)
    assert answer[result.missing[0].start : result.missing[0].end] == result.missing[0].text


def test_ground_counts_each_value_once_and_leaves_cover_out() -> None:
    result = ground("Couvert jusqu'à 500 €, soit 500 euros, puis 20 %.", ["500 €"])
    assert (result.total, result.found) == (2, 1)
    assert result.share == 0.5


def test_ground_without_figures_has_no_share() -> None:
    result = ground("Bonjour.", ["150 €"])
    assert (result.total, result.share) == (0, None)
