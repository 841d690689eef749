"""The Open WebUI filter against the filter interface: `inlet(body, __request__, __user__, __metadata__)`.

It was also run in a real Open WebUI 0.12.4 (see openwebui/README.md); here its search is replaced.
"""

from __future__ import annotations

import asyncio
import importlib.util
import math
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "openwebui" / "retrieval_score_filter.py"
DOCUMENT = {"type": "file", "id": "f1"}


@pytest.fixture
def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("retrieval_score_filter", FILE)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def run(module: ModuleType, body: dict[str, Any], found: Any, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    async def search(*_: Any) -> Any:
        if isinstance(found, Exception):
            raise found
        return found

    module.search = search
    return asyncio.run(module.Filter().inlet(body, object(), {"id": "u"}, metadata))


def body(**extra: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Quelle franchise ?"}], "files": [DOCUMENT], **extra}


@pytest.mark.parametrize(
    ("distances", "score"),
    [
        ([0.675], 0.35),
        ([1.0], 1.0),
        ([0.5], 0.0),
        ([0.2], 0.0),
        ([0.9, 0.6], 0.8),
        ([1.00001], 1.0),
        ([None, 0.75], 0.5),
    ],
)
def test_the_best_match_is_sent_as_a_cosine(module: ModuleType, distances: list[Any], score: float) -> None:
    done = run(module, body(), [{"distances": distances}, {"document": ["plein texte"]}])
    assert done["litellm_metadata"]["retrieval_score"] == pytest.approx(score)


@pytest.mark.parametrize(
    "found",
    [
        [], None, [{}], [{"distances": []}], [{"distances": [math.nan, True, "0.9", None]}], RuntimeError("x"),
        # a distance or a reranker's logit: no cosine
        [{"distances": [1.2]}], [{"distances": [0.9, 17.5]}], [{"distances": [0.9]}, {"distances": [2]}],
    ],
)  # fmt: skip
def test_no_score_is_invented(module: ModuleType, found: Any) -> None:
    assert run(module, body(), found) == body()


def test_no_documents_no_search(module: ModuleType) -> None:
    asked = {"messages": [{"role": "user", "content": "Bonjour"}]}
    assert run(module, dict(asked), AssertionError("searched")) == asked


def test_files_may_stand_in_the_metadata(module: ModuleType) -> None:
    asked = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Bonjour"}, {"type": "image_url"}]}]}
    done = run(module, asked, [{"distances": [0.9]}], {"files": [DOCUMENT]})
    assert done["litellm_metadata"]["retrieval_score"] == pytest.approx(0.8)


def test_a_score_of_the_caller_is_taken_off(module: ModuleType) -> None:
    forged = {"litellm_metadata": {"retrieval_score": 0.99, "tag": 1}, "metadata": {"retrieval_score": 0.99}}
    done = run(module, body(**forged), [{"distances": [0.6]}])
    assert done["litellm_metadata"] == {"tag": 1, "retrieval_score": pytest.approx(0.2)}
    assert done["metadata"] == {}


@pytest.mark.parametrize("messages", [None, [], [{"role": "system", "content": "x"}], "x", [{"role": "user"}], [3]])
def test_strange_messages(module: ModuleType, messages: Any) -> None:
    assert module.last_question(messages) == ""


def test_scores_that_are_cosines_already(module: ModuleType) -> None:
    assert module.best_similarity([{"distances": [0.42]}], scaled=False) == 0.42


def test_a_score_of_a_vector_store_need_not_be_a_plain_float(module: ModuleType) -> None:
    done = run(module, body(), [{"distances": [Fraction(3, 4)]}])
    assert done["litellm_metadata"]["retrieval_score"] == 0.5
