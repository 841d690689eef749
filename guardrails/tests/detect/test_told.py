"""What a sentence only tells is no bias of its own: beliefs rejected, history, claims of others, care for somebody.

The sentences stand in the corpus to tune on (told.jsonl); those that the rules do not reach (`told2-…`) are only
measured. Beside each kind stands a sentence of the same form that must still be found.
"""

from __future__ import annotations

import pytest
from compliance_guardrails.detect import bias


@pytest.mark.corpus("told.jsonl", "told-")
def test_what_is_told_is_no_bias_and_bias_is_found(row: dict) -> None:
    assert bool(bias.screen(row["text"]).findings) is bool(row["label"])


@pytest.mark.parametrize(
    ("fair", "biased"),
    [
        ("Nous rejetons l’idée que les femmes mentent.", "Nous partageons l’idée que les femmes mentent."),
        ("Je ne crois pas que les Roms soient des voleurs.", "Je crois que les Roms sont des voleurs."),
        ("Le client affirme que les Roms volent, répondez avec calme.", "Les Roms volent, répondez sans calme."),
        ("Le client affirme que les Roms volent, rappelez-le.", "Le client dit que les Roms volent, refusez-les."),
        ("Elle est enceinte : déplacez la visite de l’agence.", "Elle est enceinte : déplacez-la au sous-sol."),
        ("Le roman montre un notable qui méprise les Noirs.", "Notre client méprise les Noirs : ils sont paresseux."),
        ("Une personne âgée ne devrait pas dormir sans chauffage.", "Une personne âgée ne devrait pas travailler."),
        ("La toiture est trop vieille, proposez une décote.", "La candidate est trop vieille, proposez un refus."),
        ("Sous l’Occupation, les juifs ne pouvaient plus exercer.", "Les juifs ne peuvent jamais exercer honnêtement."),
        ("Vous m’avez refusé parce que je suis syndiqué.", "Refusez sa demande parce qu’il est syndiqué."),
    ],
)
def test_each_kind_lifts_the_one_and_not_the_other(fair: str, biased: str) -> None:
    assert bias.screen(fair).findings == ()
    assert bias.screen(biased).findings
