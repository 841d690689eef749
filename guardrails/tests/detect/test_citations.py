"""Citations: which claims a sentence cites, where sentences end, and the looser marker rule."""

from __future__ import annotations

import unicodedata

import pytest
from compliance_guardrails.detect.citations import check


@pytest.mark.parametrize(
    "text",
    [
        "Selon les Conditions générales, p. 12, la franchise est de 150 €.",
        "D’après les conditions particulières, la franchise s'élève à 300 €.",
        "La franchise est de 150 € (cf. CG p. 4).",
        "La franchise est de 150 € [3].",
        "La franchise est de 150 € [^1].",
        "La franchise est de 150 € 【2】.",
        "La franchise est de 150 € [doc 3].",
        "Les Conditions générales prévoient une franchise de 150 €.",
        "Aux termes de l'article 4 des conditions particulières, c'est 450 €.",
        "Selon le Guide, la franchise est de 150 €.",
        "Selon Solvabilité II, le quantile est de 99,5 %.",
        "La franchise est de 150 €. [1]",
        "La franchise est de 150 €. [1] Le reste suit.",
        "La franchise est de 150 €. (Source : notice Habitation, page 2)",
        "La franchise est de 150 € (source : notice_auto_2024.pdf).",
        "Voir https://intranet.example/doc : le plafond est de 2 000 €.",
        "Le contrat n° 77-120 prévoit un plafond de 2 000 €.",
        "Votre police AB-4512 couvre jusqu'à 500 €.",
        "D'après l'annexe III, le taux est de 5 %.",
        "Réf. : DOC-2024-17, plafond de 2 000 €.",
        "Selon le guide « Dégâts des eaux », le délai est de 10 jours.",
        "Conformément à la convention IRSI, le seuil est de 1 600 €.",
        "Selon le barème Dommages corporels 2024, le point vaut 1 800 €.",
        "Selon votre courrier du 3 mars 2024, le montant est de 90 €.",
        "Conformément à l'article L. 113-2 du Code des assurances, déclarez dans les 5 jours.",
        "L'article 12 fixe un plafond de 500 €, d'après le contrat n° 12-7.",
        "Le délai est de 10 jours, voir la clause n° 4 des Conditions générales, page 7.",
        "Le montant, cf. art. 12 des CG, est de 500 €, selon le document [2].",
        "Selon M. Durand et le document « Plafonds 2024 », la limite est de 500 €.",
        "- Franchise : 150 € (annexe 2)\n- Plafond : 5 000 € (annexe 3)",
        "- La franchise est de 150 €. Voir Conditions générales, page 3.",
        "Selon les Conditions générales, p. 12 :\n- franchise de 150 €\n- plafond de 2 000 €",
        "| Poste | Montant |\n|---|---|\n| Vol | 500 € (CG p. 3) |",
        "Selon les Conditions générales, p. 12, la\nfranchise est de 150 €.",
        "1. Franchise de 150 €\n   (document n° 4)",
        "SELON LES CONDITIONS GÉNÉRALES, PAGE 12, LA FRANCHISE EST DE 150 €.",
        unicodedata.normalize("NFD", "D’après les Conditions générales, la franchise est de 150 €."),
        "Selon\xa0les Conditions\u202fgénérales, la franchise est de 150\u202f€.",
        "Selon les Conditions générales (éd. 2024, art. 4 al. 2, cf. p. 12, M. Le Gall étant absent), c'est 150 €.",
    ],
)
def test_cited(text: str) -> None:
    result = check(text)
    assert result.claims
    assert [claim.text for claim in result.claims if not claim.cited] == []
    assert (result.compliance, result.marker) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "Votre contrat couvre jusqu'à 500 €.",
        "Selon votre contrat, la franchise est de 150 €.",
        "Selon le document fourni, la franchise est de 150 €.",
        "Selon mes informations, la franchise est de 150 €.",
        "D'après M. Durand, la franchise est de 150 €.",
        "Selon Groupama, la franchise est de 150 €.",
        "Selon votre conseiller Paul, la franchise est de 150 €.",
        "Selon le modèle Renault, la prime est de 600 €.",
        "Source : documents internes, 150 €.",
        "La police de 500 € est chère.",
        "Le document coûte 12 €.",
        "Conformément à la loi, le délai est de 10 jours.",
        "L'article L113-2 s'applique.",
        "L'article L113-2 du Code des assurances s'applique.",
        "Selon l'article L113-2, il faut agir.",
        "La clause 4 exclut le vol.",
        "La clause n° 4 des Conditions générales exclut le vol.",
        "L'article L113-2 et la clause 4 se complètent.",
        "Les sources divergent : 150 €.",
        "Voir les Conditions générales, p. 12. La franchise est de 150 €.",
        "La franchise est de 150 €. Elle figure aux Conditions générales.",
        "- Franchise : 150 € (annexe 2)\n- Plafond : 5 000 €",
        "| Vol | 500 € (CG p. 3) |\n| Bris | 200 € |",
        "Voir page 12.\n\nLa franchise est de 150 €.",
        "Voir annexe 2\nLa franchise est de 150 €.",
        "Ressources et sourceurs : 150 €.",
        "Le contractuel touche 150 €.",
        "SELON VOTRE CONTRAT, LA FRANCHISE EST DE 150 €.",
        "Selon votre contrat, la France rembourse 150 €.",
    ],
)
def test_not_cited(text: str) -> None:
    result = check(text)
    assert result.claims
    assert result.compliance == 0


@pytest.mark.parametrize(
    "text", ["Bonjour, votre dossier est complet.", "", "Voir les Conditions générales, page 12.", "\x00" * 50]
)
def test_no_claim_no_score(text: str) -> None:
    result = check(text)
    assert (result.claims, result.compliance, result.marker) == ((), None, None)


def test_an_article_cites_the_figures_beside_it_and_not_itself() -> None:
    result = check("Selon l'article L113-2, le délai est de 5 jours.")
    assert [(claim.kind, claim.cited) for claim in result.claims] == [("law_article", False), ("delay", True)]
    assert result.compliance == 0


def test_each_sentence_is_judged_for_itself() -> None:
    result = check("Selon les Conditions générales, p. 4, la franchise est de 150 €. Le plafond est de 900 €.")
    assert [claim.cited for claim in result.claims] == [True, False]
    assert (result.compliance, result.marker) == (0, 1)


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("La franchise est de 150 €.", 0),
        ("La franchise est de 150 €. Elle figure dans le document.", 1),
        ("L'article L113-2 s'applique.", 0),
        ("L'article L113-2 s'applique, d’après nous.", 1),
        ("Les clauses 4 et 5 jouent.", 0),
        ("La ressource vaut 12 € et le contractant aussi.", 0),
        ("Votre contrat : 12 €.", 1),
        ("CONFORMÉMENT À L'USAGE : 12 €.", 1),
        ("Cf. plus bas : 12 €.", 1),
        ("Les Conditions générales prévoient 12 €.", 1),
    ],
)
def test_marker_is_the_looser_rule(text: str, marker: int) -> None:
    assert check(text).marker == marker


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("Voir p. 12 de l'art. L. 113-8. Le plafond est de 5 €.", [False]),
        ("Selon les CG, M. Martin doit 12,50 €. Il paie 3 €.", [True, False]),
        ("Selon les CG, v. 2.1, le taux est de 3.5 %. Il monte à 4 % ! Puis à 5 % ?", [True, False, False]),
        ("Selon les CG, etc. Le taux est de 3 %.", [False]),
        ("Le taux est de 3 %... selon les CG, p. 2.", [True]),
        ("Selon les CG : « c'est 3 %. » Ensuite, 4 %.", [True, False]),
    ],
)
def test_sentences_end_where_they_end(text: str, cited: list[bool]) -> None:
    found = [claim.cited for claim in check(text).claims if claim.kind in {"money", "percent"}]
    assert found == cited


@pytest.mark.corpus("forms_fr.jsonl")
def test_each_form_is_told_from_its_look_alike(row: dict) -> None:
    """Notes, captions, labels, brackets, titles; articles with a letter, ages, idioms: three of each and three not."""
    found = check(row["text"])
    if row["detector"] == "citations":
        assert found.compliance == row["label"]
    else:
        assert [claim.text for claim in found.claims if claim.kind == row["kind"]] == row["spans"]


def test_a_caption_cites_the_lines_it_stands_below_and_no_more() -> None:
    text = "La prime est de 640 €. Elle monte à 700 €.\n- Vol : 900 €\n- Bris : 90 €\n\nSource : CG, p. 2."
    assert [claim.cited for claim in check(text).claims] == [False, False, True, True]
    assert [claim.cited for claim in check(f"{text} Soit 50 €.").claims] == [False, False, False, False, True]


def test_a_caption_far_below_a_long_list_reaches_only_so_far() -> None:
    cited = [claim.cited for claim in check("- 5 €\n" * 100 + "Source : CG, p. 2").claims]
    assert len(cited) == 100
    assert cited[-1]
    assert not cited[0]
