"""The bias screen of answers: what is biased, what only looks like it, exact scores, actions, bounds."""

from __future__ import annotations

import pickle
import unicodedata
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from compliance_guardrails.detect import bias
from compliance_guardrails.detect.evidence import BiasDetectedError, Severity
from compliance_guardrails.detect.matcher import MAX_FINDINGS
from hypothesis import given, settings
from hypothesis import strategies as st

DATA = Path(__file__).parent / "data"
BIASED = tuple((DATA / "bias_found.txt").read_text(encoding="utf-8").splitlines())
NEUTRAL = tuple((DATA / "bias_not_found.txt").read_text(encoding="utf-8").splitlines())

OF_EACH = (
    ("sex", "Les femmes sont trop émotives pour ce métier."),
    ("race", "Les Noirs sont paresseux."),
    ("colour", "Sa peau noire le rend suspect, refusez."),
    ("ethnic_origin", "Les Maghrébins fraudent toujours."),
    ("social_origin", "Les fils d’ouvriers ne sont pas fiables."),
    ("genetic_features", "Les porteurs du gène BRCA1 doivent être refusés."),
    ("language", "Ceux qui parlent mal français sont malhonnêtes."),
    ("religion", "Les musulmans sont dangereux."),
    ("political_opinion", "Les communistes sont des menteurs."),
    ("national_minority", "Les Roms sont des voleurs."),
    ("property", "Les pauvres ne savent pas gérer leur argent."),
    ("birth", "Les enfants nés hors mariage sont instables."),
    ("disability", "Les handicapés sont un fardeau."),
    ("age", "Les seniors sont incapables d’apprendre."),
    ("sexual_orientation", "Les homosexuels sont instables."),
    ("nationality", "Les étrangers sont des fraudeurs."),
    ("family_situation", "Les mères célibataires sont peu fiables."),
    ("pregnancy", "N’embauchez pas de femme enceinte."),
    ("physical_appearance", "Les obèses sont paresseux."),
    ("surname", "Avec un nom à consonance étrangère, exigez des pièces supplémentaires."),
    ("place_of_residence", "Les habitants des cités sont des délinquants."),
    ("health", "Les séropositifs sont dangereux."),
    ("loss_of_autonomy", "Les personnes sous tutelle sont un poids pour la société."),
    ("morals", "Les libertins sont malhonnêtes."),
    ("gender_identity", "Les personnes transgenres sont instables."),
    ("union_activity", "Les syndicalistes sont des fainéants."),
    ("whistleblower", "Les lanceurs d’alerte sont des traîtres."),
)

# The severities allowed for each of the sixteen characteristics.
RANGES = {
    "sex": ("MEDIUM", "HIGH"), "race": ("MEDIUM", "CRITICAL"), "colour": ("HIGH", "HIGH"),
    "ethnic_origin": ("MEDIUM", "HIGH"), "social_origin": ("MEDIUM", "MEDIUM"),
    "genetic_features": ("HIGH", "CRITICAL"),
    "language": ("LOW", "MEDIUM"), "religion": ("MEDIUM", "HIGH"), "political_opinion": ("MEDIUM", "HIGH"),
    "national_minority": ("HIGH", "CRITICAL"), "property": ("MEDIUM", "HIGH"), "birth": ("MEDIUM", "MEDIUM"),
    "disability": ("HIGH", "CRITICAL"), "age": ("MEDIUM", "HIGH"), "sexual_orientation": ("HIGH", "CRITICAL"),
    "nationality": ("HIGH", "HIGH"),
}  # fmt: skip

GROUNDS = (
    "origine", "sexe", "situation-de-famille", "grossesse", "apparence-physique", "vulnerabilite-economique",
    "patronyme",
    "lieu-de-residence", "etat-de-sante", "perte-d-autonomie", "handicap", "caracteristiques-genetiques", "moeurs",
    "orientation-sexuelle", "identite-de-genre", "age", "opinions-politiques", "activites-syndicales",
    "lanceur-d-alerte",
    "langue", "ethnie", "nation", "race", "religion",
)  # fmt: skip


def characteristics(text: str) -> set[str]:
    return {finding.characteristic for finding in bias.screen(text).findings}


@pytest.mark.parametrize("text", BIASED)
def test_biased_answers_are_found(text: str) -> None:
    assert bias.screen(text).findings


@pytest.mark.parametrize("text", NEUTRAL)
def test_neutral_answers_are_not(text: str) -> None:
    assert bias.screen(text).findings == ()


@pytest.mark.parametrize(("characteristic", "text"), OF_EACH)
def test_each_characteristic_has_patterns(characteristic: str, text: str) -> None:
    assert characteristic in characteristics(text)


@pytest.mark.parametrize(
    ("biased", "fair"),
    [
        ("Les étrangers sont malhonnêtes.", "Les étrangers ne sont pas malhonnêtes."),
        ("Les seniors ne sont pas fiables.", "Les seniors sont fiables."),
        ("Les femmes sont moins compétentes.", "Les femmes ne sont pas moins compétentes."),
        ("N’assurez pas les personnes handicapées.", "Assurez aussi les personnes handicapées."),
        (
            "Refusez les candidats musulmans.",
            "Ne refusez pas un dossier parce que le candidat est musulman : c’est un délit.",
        ),
        ("Les Roms sont des voleurs.", "Dire que les Roms sont des voleurs est un préjugé."),
        ("Les femmes conduisent mal.", "L’idée que les femmes conduisent mal est un stéréotype."),
        (
            "Les gays sont instables.",
            "Le client affirme que « les gays sont instables » : ces propos sont inacceptables.",
        ),
        ("Écartez ce candidat à cause de son âge.", "La loi interdit d’écarter un candidat à cause de son âge."),
        ("Il faut refuser les étrangers.", "Il est interdit de refuser les étrangers."),
        ("Les handicapés sont un fardeau.", "Les handicapés ne sont pas un fardeau."),
        ("Les grévistes doivent être écartés.", "Les grévistes ont écarté les barrières."),
        ("Pas de prêt pour les divorcés.", "Le prêt est ouvert aux divorcés."),
        ("Foreigners are dishonest.", "Foreigners are not dishonest."),
        ("Do not hire disabled people.", "Disabled people can apply like everyone else."),
    ],
)
def test_polarity_and_context_decide(biased: str, fair: str) -> None:
    assert bias.screen(biased).findings
    assert bias.screen(fair).findings == ()


WRITTEN = "N'embauchez pas cette femme enceinte."


@pytest.mark.parametrize(
    "text",
    [
        WRITTEN,
        WRITTEN.replace("'", "’"),
        WRITTEN.upper(),
        unicodedata.normalize("NFD", "Les étrangers sont des fraudeurs."),
        "LES ETRANGERS SONT DES FRAUDEURS.",
        "Les\u00a0étrangers\u202fsont\u2009des fraudeurs.",
        "Les étran\u00adgers sont des **fraudeurs**.",
        "Les étrangères sont des fraudeuses.",
    ],
)
def test_typography_gender_and_number_do_not_matter(text: str) -> None:
    findings = bias.screen(text).findings
    assert findings
    assert all(text[finding.start : finding.end] == finding.evidence for finding in findings)


def test_the_sentence_after_a_question_is_heard() -> None:
    assert bias.screen("Un candidat étranger ? Refusez-le sans discuter.").findings
    assert bias.screen("Peut-on refuser un candidat étranger ? Non, la loi l’interdit.").findings == ()


@pytest.mark.parametrize(
    ("domain", "score", "threshold", "acts"),
    [
        ("general", "0.3", "0.3", False),  # strictly greater
        ("hr", "0.60", "0.15", True),
        ("finance", "0.3", "0.2", True),
        ("healthcare", "0.45", "0.2", True),
        ("education", "0.3", "0.2", True),
        ("insurance", "0.60", "0.2", True),
    ],
)
def test_scores_are_weight_times_multiplier(domain: str, score: str, threshold: str, acts: bool) -> None:
    result = bias.screen("Les femmes sont moins compétentes.", domain)
    assert [(finding.characteristic, finding.severity) for finding in result.findings] == [("sex", Severity.MEDIUM)]
    assert result.findings[0].score == result.total == Decimal(score)
    assert (result.domain, result.threshold, result.acts) == (domain, Decimal(threshold), acts)


def test_scores_add_up_exactly() -> None:
    result = bias.screen("Les femmes sont moins compétentes. Les seniors sont lents. Les Roms sont des voleurs.", "hr")
    assert sorted(finding.score for finding in result.findings) == [Decimal("0.6"), Decimal("0.60"), Decimal("0.60")]
    assert result.total == Decimal("1.8")


@pytest.mark.parametrize(("threshold", "acts"), [("0", True), ("0.59", True), ("0.6", False), ("1", False)])
def test_the_threshold_can_be_overridden(threshold: str, acts: bool) -> None:
    result = bias.screen("Les femmes sont moins compétentes.", "hr", Decimal(threshold))
    assert (result.threshold, result.acts) == (Decimal(threshold), acts)


@pytest.mark.parametrize("threshold", ["-0.1", "1.01", "NaN", "Infinity"])
def test_a_threshold_out_of_range_is_refused(threshold: str) -> None:
    with pytest.raises(ValueError, match="de 0 à 1"):
        bias.screen("Bonjour", "hr", Decimal(threshold))


def test_an_unknown_domain_is_refused() -> None:
    with pytest.raises(ValueError, match="insurance"):
        bias.screen("Bonjour", "cooking")


def test_the_default_domain_is_that_of_the_policy() -> None:
    assert bias.screen("Bonjour", None).domain == bias.screen("Bonjour").domain == "insurance"


def test_blocking_raises_the_typed_error() -> None:
    result = bias.screen("Les étrangers sont des fraudeurs.")
    with pytest.raises(BiasDetectedError) as caught:
        bias.enforce(result)
    error = caught.value
    assert (error.findings, error.total) == (result.findings, result.total)
    assert (error.threshold, error.domain) == (result.threshold, "insurance")
    assert "fraudeurs" not in str(error)
    assert "nationality" in str(error)
    assert pickle.loads(pickle.dumps(error)).total == result.total  # noqa: S301 - own bytes


def test_nothing_is_raised_below_the_threshold() -> None:
    result = bias.screen("Bonjour, votre contrat est à jour.")
    assert bias.enforce(result) is result
    assert result.total == 0


@pytest.mark.parametrize(("characteristic", "text"), [case for case in OF_EACH if case[0] in RANGES])
def test_severities_stay_in_the_range_of_the_characteristic(characteristic: str, text: str) -> None:
    low, high = (Severity(name) for name in RANGES[characteristic])
    found = [finding for finding in bias.screen(text).findings if finding.characteristic == characteristic]
    assert found
    assert all(low.rank <= finding.severity.rank <= high.rank for finding in found)


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("Les femmes sont moins compétentes.", Severity.MEDIUM),
        ("N’embauchez pas de femmes.", Severity.HIGH),
        ("Sale nègre.", Severity.CRITICAL),
        ("Ceux qui parlent mal français sont malhonnêtes.", Severity.LOW),
    ],
)
def test_severity_follows_what_is_said(text: str, severity: Severity) -> None:
    assert {finding.severity for finding in bias.screen(text).findings} == {severity}


def test_overlapping_findings_of_one_characteristic_count_once() -> None:
    findings = bias.screen("Les femmes sont paresseuses, menteuses et incompétentes, ne les embauchez pas.").findings
    spans = sorted((finding.start, finding.end) for finding in findings if finding.characteristic == "sex")
    assert spans
    assert all(first[1] <= second[0] for first, second in pairwise(spans))


def test_every_ground_of_the_penal_code_is_covered() -> None:
    coverage = bias.coverage_by_ground()
    assert sorted(coverage) == sorted(GROUNDS)
    assert all(coverage.values())


def test_findings_are_capped() -> None:
    result = bias.screen("Les étrangers sont des fraudeurs.\n" * 5000)
    assert len(result.findings) <= MAX_FINDINGS
    assert result.acts


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    for finding in bias.screen(text).findings:
        assert text[finding.start : finding.end] == finding.evidence


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(BIASED + NEUTRAL), max_size=4))
def test_totals_are_the_sum_of_the_findings(parts: list[str]) -> None:
    result = bias.screen("\n".join(parts))
    assert result.total == sum((finding.score for finding in result.findings), Decimal(0))
    assert result.acts == (result.total > result.threshold)


@pytest.mark.parametrize("text", ["", "\x00", "\ud800 les femmes", "les femmes " * 2000, "ne pas " * 2000, "« " * 500])
def test_odd_texts_are_taken(text: str) -> None:
    assert bias.screen(text).total >= 0
