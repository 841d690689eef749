"""Figures: what is one, of which value, and what is not; grounding by value."""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from typing import Literal

import pytest
from compliance_guardrails.detect.figures import Kind, extract_figures

NNBSP, NBSP, THIN = "\u202f", "\xa0", "\u2009"


def keys(text: str, kind: Kind) -> list[tuple[str, str]]:
    return [
        (str(figure.value.normalize()) if isinstance(figure.value, Decimal) else figure.value, figure.unit)
        for figure in extract_figures(text)
        if figure.kind is kind
    ]


def values(text: str, kind: Kind) -> list[object]:
    return [figure.value for figure in extract_figures(text) if figure.kind is kind]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Le montant est de 12 500,00 €.", [12500]),
        (f"Le montant est de 12{NNBSP}500,00{NNBSP}€.", [12500]),
        (f"Le montant est de 12{NBSP}500{THIN}€.", [12500]),
        ("Le montant est de 12500 euros.", [12500]),
        ("Le montant est de 12500euros.", [12500]),
        ("Capital : 1,2 M€", [1_200_000]),
        ("Capital : 1,2 million d’euros", [1_200_000]),
        ("Capital : 3 millions d'EUROS", [3_000_000]),
        ("Provision de 4 milliards d'euros", [4_000_000_000]),
        ("Provision de 2 Md€", [2_000_000_000]),
        ("Montant : 12.500,00 EUR", [12500]),
        ("Montant : 12.500 EUR", [12500]),
        ("Montant : 1.250.000 €", [1_250_000]),
        ("Montant : 12,500.50 EUR", [Decimal("12500.5")]),
        ("Montant : 12'500 CHF", [12500]),
        ("Une avance de 3 k€ est possible", [3000]),
        ("Une avance de 3k€ est possible", [3000]),
        ("Une avance de 3 KEUR est possible", [3000]),
        ("Un acompte de deux mille euros", [2000]),
        ("Un acompte de DEUX-MILLE euros", [2000]),
        ("Une amende de quatre-vingt-dix euros", [90]),
        ("Une dotation d'un million d'euros", [1_000_000]),
        ("Soit cent cinquante et un euros", [151]),
        ("Une aide de 12 mille euros", [12000]),
        ("Comptez € 500 de franchise", [500]),
        ("Comptez €500", [500]),
        ("EUR 1 250,50 à votre charge", [Decimal("1250.5")]),
        ("Il vous en coûtera 12€50", [Decimal("12.5")]),
        ("Une prime de 0,50 €/km", [Decimal("0.5")]),
        ("Entre 150 et 300 € selon le modèle", [150, 300]),
        ("de 1 000 à 2 500 euros", [1000, 2500]),
        ("une part de 500-600 €", [500, 600]),
        ("**12 500 €**", [12500]),
        ("payés 300 € puis 200 €", [300, 200]),
        ("la clause n° 4 et 500 €", [500]),
        ("L113-8 et 500 €", [500]),
        ("en 2024 et 500 €", [500]),
        ("300 ou 400 €", [300, 400]),
        ("5 M d'euros", [5_000_000]),
        ("5 mds d’€", [5_000_000_000]),
        ("en 2024 500 € ont été versés", [500]),
        ("300 dollars", [300]),
        ("(150 €)", [150]),
        ("150 € TTC par an", [150]),
    ],
)
def test_money_by_value(text: str, expected: list[object]) -> None:
    assert sorted(values(text, Kind.MONEY), key=str) == sorted([Decimal(str(value)) for value in expected], key=str)


@pytest.mark.parametrize(
    "text",
    [
        "Souscrit en 2024, résilié en 2025.",
        "Appelez le 01 44 55 66 77 ou le +33 1 44 55 66 77.",
        "IBAN FR76 3000 6000 0112 3456 7890 189",
        "Sinistre n° 2024-118-455, dossier 4581",
        "Rendez-vous le 12/03/2025 à 14h30, page 12, version 2.1.3",
        "Les prix sont en euros.",
        "L'eurodéputé a 3 eurobonds",
        "Montant à définir en €",
        "123456789012345678901234567890 €"[:30],
        "Une clause de 4 m de large",
        "un kilo",
        "3 M de tonnes",
        "le 12 euro-obligataire"[:5],
    ],
)
def test_not_money(text: str) -> None:
    assert values(text, Kind.MONEY) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("un taux de 85 %", [85]),
        (f"un taux de 85{NNBSP}%", [85]),
        ("un taux de 85%", [85]),
        ("un taux de 12,5 %", ["12.5"]),
        ("un taux de 12.5%", ["12.5"]),
        ("une part de 85 pour cent", [85]),
        ("une part de quatre-vingt-cinq pour cent", [85]),
        ("une part de QUATRE VINGT CINQ POUR CENT", [85]),
        ("entre 5 et 10 %", [5, 10]),
        ("de 5 à 10 %", [5, 10]),
        ("5-10 %", [5, 10]),
        ("1,250 %", ["1.25"]),
        ("cent pour cent des frais", [100]),
        ("20 p. 100 du capital", [20]),
    ],
)
def test_percent_by_value(text: str, expected: list[object]) -> None:
    assert sorted(values(text, Kind.PERCENT), key=str) == sorted([Decimal(str(v)) for v in expected], key=str)


@pytest.mark.parametrize(
    "text", ["un pourcentage élevé", "le coefficient est de 0,50", "10 pour centaines", "12 pour 15"]
)
def test_not_percent(text: str) -> None:
    assert values(text, Kind.PERCENT) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L'article L111-1 du Code", ["L111-1"]),
        ("l’Article L. 113-8", ["L113-8"]),
        ("ARTICLE L.113-8", ["L113-8"]),
        ("voir L. 113-8", ["L113-8"]),
        ("voir L113-8 et L113-9", ["L113-8", "L113-9"]),
        ("les articles L113-8, L113-9 et R. 112-1", ["L113-8", "L113-9", "R112-1"]),
        ("articles L. 113-8 à L. 113-10", ["L113-8", "L113-10"]),
        ("l'article R*111-2", ["R111-2"]),
        ("selon R*111-2", ["R111-2"]),
        ("l'article A. 111-4", ["A111-4"]),
        ("l'article A111-4 et D. 133-10", ["A111-4", "D133-10"]),
        ("l'article 1792", ["1792"]),
        ("l'article 1792-4-1 du Code civil", ["1792-4-1"]),
        ("art. 1240 C. civ.", ["1240"]),
        ("arts. 1240 et 1241", ["1240", "1241"]),
        ("les articles 1240 et 1241 du Code civil", ["1240", "1241"]),
        ("1792 du Code civil", ["1792"]),
        ("l'article 1er de la loi", ["1"]),
        ("l'article premier", ["1"]),
        ("l'article 700 du CPC", ["700"]),
        ("l'article n° 22 du RGPD", ["22"]),
        ("l'article L121-1 bis", ["L121-1bis"]),
        ("l'**article L. 113-2**", ["L113-2"]),
        ("l'article **L. 113-2**", ["L113-2"]),
        ("article L113-2, 5 jours", ["L113-2"]),
        ("l'article 12 et 500 euros", ["12"]),
    ],
)
def test_law_articles(text: str, expected: list[str]) -> None:
    assert values(text, Kind.LAW_ARTICLE) == expected


@pytest.mark.parametrize(
    "text",
    [
        "un article de presse",
        "cet article de la boutique",
        "les articles de sport garantis",
        "le code postal 75009",
        "à 111-4 mètres",
        "il a 500-600 points",
        "vol 113-8",
        "réf. AL113-8",
        "l'artiste 12",
        "département 92",
        "au chapitre 4",
    ],
)
def test_not_law_articles(text: str) -> None:
    assert values(text, Kind.LAW_ARTICLE) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("la clause n° 4", ["4"]),
        ("la clause n°4.2", ["4.2"]),
        ("la clause numéro 4", ["4"]),
        ("les clauses 4 et 5", ["4", "5"]),
        ("les clauses 4, 5 et 12.3", ["4", "5", "12.3"]),
        ("Clause 12.3", ["12.3"]),
        ("CLAUSE IV", ["IV"]),
        ("la clause quatre", ["4"]),
        ("la clause d’exclusion n° 12", ["12"]),
        ("la clause « vol » n° 4", ["4"]),
        ("Clause Bris de glace, n° 8", ["8"]),
        ("la clause C3", ["C3"]),
        ("les clauses n° 3 à 7", ["3", "7"]),
        ("la clause 8 bis", ["8BIS"]),
        ("l'article 4.2 des conditions générales", ["4.2"]),
        ("l'article 12 de votre contrat", ["12"]),
        ("la clause 4 et 500 €", ["4"]),
    ],
)
def test_clauses(text: str, expected: list[str]) -> None:
    assert values(text, Kind.CLAUSE) == expected


@pytest.mark.parametrize(
    "text",
    [
        "une clause de non-concurrence",
        "cette clause est nulle",
        "la clause vise le vol",
        "une clause d'un contrat",
        "le client n° 4",
        "l'éclipse 4",
        "subclause 4",
        "clause 12 %",
    ],
)
def test_not_clauses(text: str) -> None:
    assert values(text, Kind.CLAUSE) == []


@pytest.mark.parametrize(
    ("text", "expected", "evidence"),
    [
        ("un délai de carence de 90 jours", ("90", "jour"), "délai de carence de 90 jours"),
        ("déclarez dans les 30 jours", ("30", "jour"), "dans les 30 jours"),
        ("vous avez trente jours", ("30", "jour"), "trente jours"),
        ("trente-six mois après", ("36", "mois"), "trente-six mois"),
        ("répondez sous 48 heures", ("48", "heure"), "sous 48 heures"),
        ("en 72 h chrono", ("72", "heure"), "72 h"),
        ("un délai de deux ans", ("24", "mois"), "délai de deux ans"),
        ("une prescription de 2 ans", ("24", "mois"), "prescription de 2 ans"),
        ("deux ans à compter du sinistre", ("24", "mois"), "deux ans"),
        ("5 jours ouvrés", ("5", "jour ouvre"), "5 jours ouvrés"),
        ("dix jours ouvrables", ("10", "jour ouvrable"), "dix jours ouvrables"),
        ("deux semaines plus tard", ("14", "jour"), "deux semaines"),
        ("un préavis d'un mois", ("1", "mois"), "préavis d'un mois"),
        ("un préavis d’un mois", ("1", "mois"), "préavis d’un mois"),
        ("sous trente (30) jours", ("30", "jour"), "trente (30) jours"),
        ("vingt et un jours", ("21", "jour"), "vingt et un jours"),
        ("DANS LES QUINZE JOURS", ("15", "jour"), "DANS LES QUINZE JOURS"),
        ("dans un délai maximum de 6 mois", ("6", "mois"), "délai maximum de 6 mois"),
        ("une durée de 10 ans", ("120", "mois"), "durée de 10 ans"),
        ("dans les 2 heures", ("2", "heure"), "dans les 2 heures"),
        ("un délai de\u202f90\u202fjours", ("90", "jour"), "délai de\u202f90\u202fjours"),
        ("un delai de 90 jours", ("90", "jour"), "delai de 90 jours"),
        ("sous 30 j.", ("30", "jour"), "sous 30 j"),
        ("15 j ouvrés", ("15", "jour ouvre"), "15 j ouvrés"),
        ("au bout d’un an", ("12", "mois"), "au bout d’un an"),
        ("quatorze jours calendaires révolus", ("14", "jour"), "quatorze jours calendaires"),
        ("attendre un an", ("12", "mois"), "un an"),
    ],
)
def test_delays(text: str, expected: tuple[str, str], evidence: str) -> None:
    found = [figure for figure in extract_figures(text) if figure.kind is Kind.DELAY]
    assert [(str(figure.value), figure.unit) for figure in found] == [expected]
    assert evidence in text[found[0].start : found[0].end]


@pytest.mark.parametrize(
    "text",
    [
        "M. Dupont, 45 ans, ingénieur",
        "une assurée de 62 ans",
        "Elle est âgée de 30 ans",
        "les moins de 25 ans",
        "les conducteurs de plus de 70 ans",
        "à partir de 18 ans",
        "à 45 ans, il est trop tard",
        "un enfant de 3 ans",
        "un véhicule de 4 ans",
        "client depuis 3 ans",
        "permis obtenu il y a 2 ans",
        "24 heures sur 24 et 7 jours sur 7",
        "24h/24, 7j/7",
        "le rendez-vous est à 14 h",
        "à 14h30",
        "ouvert de 9 h à 18 h",
        "Un jour, nous verrons",
        "un an plus jeune",
        "35 heures par semaine",
        "2 jours/semaine",
        "avant 18 h",
        "puni de trois ans d'emprisonnement",
        "le 3 janvier 2025",
        "en 2024",
        "les deux anses",
        "trois moissons",
        "dix annexes",
        "page 12",
    ],
)
def test_not_delays(text: str) -> None:
    assert values(text, Kind.DELAY) == []


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("le vol est couvert jusqu'à 500 €", "couvert jusqu'à"),
        ("le vol est couvert jusqu’à 500 €", "couvert jusqu’à"),
        ("le vol est couvert jusqu'a 500 €", "couvert jusqu'a"),
        ("LES BIJOUX SONT GARANTIS À HAUTEUR DE 500 €", "GARANTIS À HAUTEUR DE"),
        ("les bijoux sont garanties A HAUTEUR DE 500 €", "garanties A HAUTEUR DE"),
        ("elles sont exclues dans la limite de 10 %", "exclues dans la limite de"),
        (
            "la perte, couverte au titre du pack, l'est à hauteur du plafond",
            "couverte au titre du pack, l'est à hauteur du",
        ),
        ("votre contrat couvre jusqu'à 500 €", "couvre jusqu'à"),
        ("ce bien est garanti pour 10 000 €", "garanti pour"),
        ("ce bien est couvert pour un montant libre", "couvert pour"),
        ("garantis jusqu'à concurrence de 3 000 €", "garantis jusqu'à concurrence de"),
        ("Jusqu'à 3 000 €, les bijoux sont garantis.", "Jusqu'à 3 000 €, les bijoux sont garantis"),
    ],
)
def test_coverage(text: str, evidence: str) -> None:
    found = [figure for figure in extract_figures(text) if figure.kind is Kind.COVERAGE]
    assert [figure.text for figure in found] == [evidence]
    assert found[0].value == ""


@pytest.mark.parametrize(
    "text",
    [
        "le vol est couvert",
        "vous avez jusqu'à lundi",
        "le vol est couvert. Vous avez jusqu'à lundi",
        "le vol est couvert, vous avez jusqu'à lundi",
        "une garantie pour tous",
        "exclu pour les professionnels",
        "à hauteur d'homme",
        "la vitesse est dans la limite de la loi",
        "découvert jusqu'à 500 €",
    ],
)
def test_not_coverage(text: str) -> None:
    assert values(text, Kind.COVERAGE) == []


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC"])
def test_spans_point_into_the_original(form: Literal["NFC", "NFD", "NFKC"]) -> None:
    written = (
        "Un délai\u200b de trente jours : l’assuré\u200e règle 12\u202f500\xa0€ "
        "(article L.\xa0113-8), couvert jusqu’à 10\xa0%."
    )
    text = unicodedata.normalize(form, written)
    found = extract_figures(text)
    assert [figure.kind for figure in found] == ["delay", "money", "law_article", "coverage", "percent"]
    for figure in found:
        assert text[figure.start : figure.end] == figure.text
    assert unicodedata.normalize("NFC", found[0].text).startswith("délai")


def test_figures_are_in_order_and_do_not_repeat() -> None:
    text = "articles L113-8 et L113-9, 1792 du Code civil, clause 4, 12 € et 5 jours ouvrés, 1,2 M€"
    found = extract_figures(text)
    assert [figure.start for figure in found] == sorted(figure.start for figure in found)
    assert len({(figure.start, figure.end) for figure in found}) == len(found) == 7
