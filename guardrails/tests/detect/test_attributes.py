"""Reasoning from a protected attribute in queries: what must flag, what must not, typography, spans, bounds."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from compliance_guardrails.detect import attributes
from compliance_guardrails.detect.evidence import AttributeFlag
from compliance_guardrails.detect.matcher import MAX_FINDINGS
from hypothesis import given, settings
from hypothesis import strategies as st

FLAGGED = (
    "Doit-on refuser la souscription parce que la cliente est d'origine malienne ?",
    "Puisque le conducteur a 79 ans, je suppose qu'il est responsable ?",
    "Le dossier semble louche, car l'assuré vient de Roumanie.",
    "Étant donné qu'elle est mère célibataire, on réduit le plafond ?",
    "Du moment que c'est une femme, peut-on douter de sa version ?",
    "Attendu que l'intéressé est sourd, faut-il exiger un tuteur ?",
    "Sachant qu'il est homosexuel, la clause bénéficiaire est-elle suspecte ?",
    "Sous prétexte qu'il porte un turban, peut-on demander une pièce de plus ?",
    "Au motif qu'elle est voilée, puis-je la refuser à l'accueil ?",
    "Comme il parle mal français, j'ai envie de classer sa réclamation.",
    "Comme la candidate attend un enfant, on prend quelqu'un d'autre ?",
    "Je doute de sa bonne foi en raison de son nom de famille.",
    "À cause de ses origines, son témoignage me paraît fragile.",
    "Compte tenu de sa surdité, je ne le rappelle pas.",
    "Eu égard à son âge avancé, l'indemnité peut-elle être minorée ?",
    "Du fait de son handicap, peut-il vraiment conduire ce véhicule ?",
    "Vu son orientation sexuelle, le bénéficiaire est-il crédible ?",
    "Vu son grand âge, on classe ?",
    "Au regard de sa religion, faut-il s'attendre à une fraude ?",
    "Au vu de sa couleur de peau, j'hésite.",
    "Sur la base de sa nationalité, puis-je demander une caution ?",
    "En considération de son sexe, quel tarif appliquer ?",
    "Pour cause de grossesse, faut-il repousser sa promotion ?",
    "De par son accent, il n'inspire pas confiance.",
    "Les femmes déclarent-elles plus d'accidents que les hommes ?",
    "Un Marocain est-il plus enclin à frauder qu'un Français ?",
    "Les Portugais paient moins bien que les autres clients, non ?",
    "Contrairement aux jeunes, les retraités sont lents, faut-il adapter la franchise ?",
    "À la différence d'un valide, un aveugle peut-il prouver le vol ?",
    "Comparé à un homme, une femme est-elle un bon risque ?",
    "Il exagère, comme tous les Marseillais ?",
    "En tant que musulman, va-t-il poser problème au bureau ?",
    "À son âge, est-il encore fiable ?",
    "Elle est trop vieille pour ce prêt, tu confirmes ?",
    "C'est un gitan, donc j'écarte le dossier ?",
    "Elle est dépressive, du coup je refuse ?",
    "Il habite dans une cité, par conséquent je majore.",
    "Son prénom suffit-il à justifier une enquête ?",
    "Sa grossesse justifie-t-elle le refus ?",
    "Son état de santé explique-t-il la fausse déclaration ?",
    "Est-ce que son origine augmente le risque de fraude ?",
    "Vu qu'il est délégué syndical, mieux vaut ne pas le promouvoir.",
    "On peut le licencier puisqu'il a lancé l'alerte ?",
    "Refusé pour sa religion, est-ce que ça se tient ?",
    "Parce qu'elle est grosse, elle coûte plus cher à assurer ?",
    "Parce que ses parents sont immigrés, dois-je vérifier deux fois ?",
    "étant donné sa nationalité algérienne on demande un garant",
    "PARCE QU'IL EST ETRANGER, IL DOIT PAYER PLUS",
    "vu quelle est enceinte on l'augmente pas",
    "Because she is a woman, should I doubt the report?",
    "Given his age, should we cancel the policy?",
    "Should the rate be higher due to her disability?",
)

NOT_FLAGGED = (
    "La toiture s'est effondrée en raison de son âge.",
    "En raison de la nationalité du navire, le droit applicable diffère.",
    "Compte tenu de l'âge de la chaudière, quelle vétusté appliquer ?",
    "À cause de la langue du contrat, il faut une traduction.",
    "Le fichier est rejeté à cause de l'accent dans le nom de la colonne.",
    "Le mot est refusé car il comporte un accent.",
    "Étant donné l'origine de l'incendie, le recours est possible.",
    "Parce que le véhicule est étranger, la carte verte est obligatoire.",
    "L'expert est absent parce qu'il est en congé.",
    "Comme elle est assurée chez nous depuis dix ans, peut-on faire un geste ?",
    "Comme il est en vacances à l'étranger, il répondra lundi.",
    "Vu le handicap de golf annoncé, le trophée est-il assurable ?",
    "J'ai vu son âge sur la carte d'identité, est-ce une donnée sensible ?",
    "La prime est plus élevée que celle de l'an dernier.",
    "Les femmes sont-elles couvertes comme les hommes ?",
    "Quel est l'âge limite de souscription ?",
    "Peut-on refuser un client en raison de son origine sans risquer une sanction pour discrimination ?",
    "L'article 225-1 interdit-il de refuser en raison de l'âge ?",
    "Le bien est étranger au litige, car il est étranger à la succession.",
    "En raison de son ancienneté, il bénéficie d'un bonus.",
    "Du fait de la maladie du chien, l'assurance animale joue-t-elle ?",
    "Elle a droit à un congé du fait de sa grossesse, combien de temps ?",
    "En raison de son handicap, il bénéficie d'une place réservée : comment l'indiquer ?",
    "Le contrat est nul en raison d'une fausse déclaration sur son état de santé.",
    "Puisque le conducteur a 3 ans de permis, quel bonus ?",
    "Parce que le bâtiment a 80 ans, faut-il un diagnostic ?",
    "Le vin est plus vieux que prévu.",
    "Ce chien est trop vieux pour être assuré.",
    "La façade est refusée à cause de sa couleur.",
    "À son arrivée, le client a signé.",
    "Le prix diffère en raison du genre de véhicule.",
    "Étant absent, il n'a pas pu signer.",
    "Il est malade, donc je reporte l'expertise ?",
    "Comparé à l'année dernière, le nombre de sinistres baisse.",
    "Le sinistre est exclu parce que l'assuré était ivre.",
    "On refuse car il n'a pas payé sa prime.",
    "Parce que le nom du bénéficiaire est mal orthographié, le virement est bloqué.",
    "Le dossier est incomplet car l'adresse manque.",
    "Vu l'état du véhicule, l'épave est vendue.",
    "En raison de l'origine inconnue de la fuite, une recherche est nécessaire.",
    "Sa maison est ancienne, donc la prime est plus élevée ?",
    "Le conjoint de l'assuré est-il couvert au même titre que ses enfants ?",
    "Comme les parents sont responsables de leurs enfants mineurs, la garantie joue-t-elle ?",
    "L'employeur doit-il adapter le poste compte tenu de son handicap ?",
    "Quelle indemnité pour une femme de 40 ans renversée par un bus ?",
    "Les étrangers résidant en France peuvent-ils souscrire ?",
    "Mon fils est sourd, quelles aides existent ?",
    "Elle est enceinte : quand faut-il déclarer la naissance ?",
    "Because the building is old, the premium is higher.",
    "The claim is late because he was abroad.",
    "Le voisin a été agressé à cause de sa religion, la garantie corporelle joue-t-elle ?",
    "La cliente se plaint d'avoir été discriminée en raison de son âge.",
)

ATTRIBUTES = (
    ("Refusez-vous parce qu’elle est une femme ?", "sex", "sexe"),
    ("On refuse vu qu’il est métis.", "race", "race"),
    ("À cause de sa couleur de peau, je doute.", "colour", "race"),
    ("Compte tenu de ses origines maghrébines, je vérifie.", "ethnic_origin", "origine"),
    ("Puisqu’il est fils d’ouvrier, on refuse ?", "social_origin", "origine"),
    ("En raison de ses résultats génétiques, on majore ?", "genetic_features", "caracteristiques-genetiques"),
    ("Il est suspect à cause de son accent.", "language", "langue"),
    ("Vu sa religion, je préfère vérifier.", "religion", "religion"),
    ("Parce qu’il est communiste, on l’écarte ?", "political_opinion", "opinions-politiques"),
    ("Étant donné qu’il est tsigane, faut-il refuser ?", "national_minority", "ethnie"),
    ("Comme il est au RSA, on refuse ?", "property", "vulnerabilite-economique"),
    ("Parce qu’il est né hors mariage, perd-il le capital ?", "birth", "origine"),
    ("Vu qu’elle est handicapée, je refuse ?", "disability", "handicap"),
    ("En raison de son âge, faut-il résilier ?", "age", "age"),
    ("Du fait de son homosexualité, la clause tient-elle ?", "sexual_orientation", "orientation-sexuelle"),
    ("Faut-il refuser parce qu’il est étranger ?", "nationality", "nation"),
    ("Parce qu’elle est divorcée, je majore ?", "family_situation", "situation-de-famille"),
    ("Puisqu’elle est enceinte, on reporte ?", "pregnancy", "grossesse"),
    ("Parce qu’elle est obèse, la surprime est-elle justifiée ?", "physical_appearance", "apparence-physique"),
    ("Compte tenu de son patronyme, j’hésite.", "surname", "patronyme"),
    ("En raison de son lieu de résidence, je majore ?", "place_of_residence", "lieu-de-residence"),
    ("Vu son état de santé, on refuse ?", "health", "etat-de-sante"),
    ("Parce qu’elle est sous tutelle, je ne réponds pas ?", "loss_of_autonomy", "perte-d-autonomie"),
    ("À cause de ses mœurs légères, on doute ?", "morals", "moeurs"),
    ("Parce qu’elle est transgenre, je bloque ?", "gender_identity", "identite-de-genre"),
    ("Puisqu’il est syndiqué, on ne le promeut pas ?", "union_activity", "activites-syndicales"),
    ("Puisqu’il est lanceur d’alerte, on l’écarte ?", "whistleblower", "lanceur-d-alerte"),
)

WRITTEN = "Faut-il refuser parce qu'elle est handicapée ?"
TYPOGRAPHY = (
    WRITTEN,
    WRITTEN.replace("'", "’"),
    WRITTEN.upper(),
    "FAUT-IL REFUSER PARCE QU'ELLE EST HANDICAPEE ?",
    unicodedata.normalize("NFD", WRITTEN),
    WRITTEN.replace(" ", "\u00a0"),
    WRITTEN.replace(" ", "\u202f"),
    WRITTEN.replace(" ", "\u2009"),
    WRITTEN.replace("handicapée", "handi\u00adcapée"),
    WRITTEN.replace("handicapée", "handi\u200bcapée"),
    WRITTEN.replace("handicapée", "**handicapée**"),
)


@pytest.mark.parametrize("text", FLAGGED)
def test_reasoning_flags(text: str) -> None:
    assert attributes.find(text)


@pytest.mark.parametrize("text", NOT_FLAGGED)
def test_other_uses_do_not_flag(text: str) -> None:
    assert attributes.find(text) == []


@pytest.mark.parametrize(("text", "attribute", "ground"), ATTRIBUTES)
def test_each_attribute_is_named_with_its_ground(text: str, attribute: str, ground: str) -> None:
    found = {flag.attribute: flag.grounds for flag in attributes.find(text)}
    assert attribute in found
    assert ground in found[attribute]


@pytest.mark.parametrize("text", TYPOGRAPHY)
def test_typography_does_not_matter(text: str) -> None:
    assert [flag.attribute for flag in attributes.find(text)] == ["disability"]


@pytest.mark.parametrize("text", [*FLAGGED, *TYPOGRAPHY])
def test_evidence_is_the_text_between_the_offsets(text: str) -> None:
    for flag in attributes.find(text):
        assert text[flag.start : flag.end] == flag.text
        assert flag.text


def test_a_flag_is_complete() -> None:
    text = "Bonjour. Je majore en raison de son âge."
    assert attributes.find(text) == [AttributeFlag("causal-noun", "age", ("age",), "en raison de son âge", 19, 39)]


@pytest.mark.parametrize(
    ("said_of_a_person", "said_of_a_thing"),
    [
        ("En raison de l’âge de l’assuré, je refuse.", "En raison de l’âge du véhicule, je refuse."),
        ("Du fait de l’origine du client, je vérifie.", "Du fait de l’origine du sinistre, je vérifie."),
        ("Parce qu’il est étranger, je refuse.", "Parce qu’il est étranger au contrat, je refuse."),
        ("Parce qu’il est né à l’étranger, je refuse.", "Parce qu’il est parti à l’étranger, je refuse."),
        ("À cause de son accent, je doute.", "À cause de l’accent circonflexe, je doute."),
        ("En raison de sa foi, je refuse.", "En raison de sa mauvaise foi, je refuse."),
        ("Vu son handicap, je refuse.", "Vu son handicap au golf, je refuse."),
        ("Parce qu’il a 82 ans, je refuse.", "Parce qu’il a 3 ans de permis, je refuse."),
        ("Parce qu’il est noir, je refuse.", "Parce qu’il travaille au noir, je refuse."),
        ("Vu sa couleur de peau, je refuse.", "Vu la couleur de la façade, je refuse."),
    ],
)
def test_the_head_noun_decides(said_of_a_person: str, said_of_a_thing: str) -> None:
    assert attributes.find(said_of_a_person)
    assert attributes.find(said_of_a_thing) == []


def test_overlapping_flags_of_one_attribute_count_once() -> None:
    flags = attributes.find("En raison de son âge, parce qu’il est âgé, je refuse.")
    spans = sorted((flag.start, flag.end) for flag in flags)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))


def test_two_attributes_in_one_passage_both_count() -> None:
    found = {flag.attribute for flag in attributes.find("On refuse parce qu’elle est étrangère et enceinte.")}
    assert found == {"nationality", "pregnancy"}


def test_findings_are_capped() -> None:
    assert len(attributes.find("Refus en raison de son âge. " * 5000)) <= MAX_FINDINGS


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    for flag in attributes.find(text):
        assert text[flag.start : flag.end] == flag.text


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FLAGGED + NOT_FLAGGED), max_size=4), st.text(max_size=20))
def test_sentences_do_not_depend_on_what_stands_around(parts: list[str], noise: str) -> None:
    text = f"{noise}\n" + "\n".join(parts)
    for flag in attributes.find(text):
        assert text[flag.start : flag.end] == flag.text
    assert len(attributes.find(text)) >= sum(part in FLAGGED for part in set(parts))


@pytest.mark.parametrize(
    "text",
    ["\x00", "\ud800 parce qu’il est étranger", "parce que", "é" * 10, "?" * 50, "parce qu’il est " * 50, "ans " * 99],
)
def test_odd_texts_are_taken(text: str) -> None:
    assert isinstance(attributes.find(text), list)
