"""What must not be found: helpful advice, spared burdens, history, counted groups, refuted beliefs, words as words.

Each veto stands beside a sentence of the same form that must still be found, so that none of them can grow too wide.
"""

from __future__ import annotations

import pytest
from compliance_guardrails.detect import attributes, bias


@pytest.mark.parametrize(
    ("fair", "biased"),
    [
        ("Pour un client sourd, privilégiez le courriel.", "Pour ce poste, privilégiez un homme."),
        ("Proposez un interprète aux clients roumains.", "Proposez aux clients roumains le tarif le plus cher."),
        ("Aucune franchise pour les assurés handicapés.", "Aucun délai pour les assurés handicapés."),
        ("Les retraités ne paient pas de frais de dossier.", "Les retraités ne paient jamais leurs dettes."),
        ("Un salarié handicapé devrait recevoir un poste adapté.", "Un salarié handicapé devrait rester chez lui."),
        ("Jusqu’en 1965, une femme ne pouvait pas ouvrir un compte.", "Une femme ne sait pas gérer un compte."),
        (
            "Le taux d’emploi des personnes handicapées reste inférieur à la moyenne.",
            "Les personnes handicapées sont inférieures aux autres.",
        ),
        (
            "L’espérance de vie des femmes est plus longue que celle des hommes.",
            "Les femmes sont plus hystériques que les hommes.",
        ),
        ("Les femmes sont plus nombreuses que les hommes.", "Les femmes sont plus émotives que les hommes."),
        ("Penser que les jeunes sont paresseux, c’est se tromper.", "Les jeunes sont paresseux, c’est connu."),
        ("N’employez pas le mot « gitan ».", "Ne faites pas confiance à un gitan."),
        ("L’exposition consacrée aux Roms ouvrira demain.", "Les Roms voleront vos outils."),
        ("Mme Lopez vit seule avec trois enfants.", "Écartez toute mère célibataire."),
        ("Les musulmans ne mangent pas de porc.", "Les musulmans ne respectent rien."),
        ("Attention aux escrocs qui démarchent les seniors.", "Attention aux seniors, ils oublient de payer."),
    ],
)
def test_a_veto_lifts_the_one_and_not_the_other(fair: str, biased: str) -> None:
    assert bias.screen(fair).findings == ()
    assert bias.screen(biased).findings


@pytest.mark.parametrize(
    ("fair", "flagged"),
    [
        ("Votre dossier n’a pas été refusé à cause de votre âge.", "Votre dossier a été refusé à cause de votre âge."),
        ("Ce n’est pas parce qu’elle est âgée qu’elle se trompe.", "Elle se trompe parce qu’elle est âgée."),
        ("Le refus n’a rien à voir avec son origine.", "Le refus s’explique par son origine."),
        ("Puis-je être licenciée parce que je suis enceinte ?", "Dois-je la licencier parce qu’elle est enceinte ?"),
        ("La prime est la même que pour un Français.", "La prime est plus chère que pour un Français."),
        ("Cette huile est chère parce qu’elle est italienne.", "Cette cliente ment parce qu’elle est italienne."),
        ("En tant que femme, vous pouvez choisir ce contrat.", "En tant que femme, elle choisira mal ce contrat."),
        ("Comme il est sourd, envoyez-lui un SMS.", "Comme il est sourd, refusez son dossier."),
    ],
)
def test_a_cause_that_is_denied_or_ones_own_or_a_thing_s_is_no_reasoning(fair: str, flagged: str) -> None:
    assert attributes.find(fair) == []
    assert attributes.find(flagged)


def test_a_group_that_nobody_names_is_no_group() -> None:
    assert bias.screen("Ces gens-là exagèrent.").findings == ()
    assert bias.screen("Elle vient des services du siège, donc elle tarde.").findings == ()
    assert bias.screen("Son rapport est jugé trop lent.").findings == ()


def test_a_word_of_race_counts_once() -> None:
    found = [finding.characteristic for finding in bias.screen("Les Noirs sont paresseux.").findings]
    assert found == ["race"]
