"""
title: Retrieval score for the grounding gate
description: Sends the similarity of the best document with each question, for the gateway's grounding gate.
version: 0.1.0
license: Apache-2.0
required_open_webui_version: 0.12.0
"""

# An Open WebUI filter: paste it under Admin > Functions and enable it for all models. It needs nothing installed.
#
# Open WebUI looks for documents only after its inlet filters have run, and does not pass its `metadata` on to the model
# server. So this filter asks for the best match itself (one embedding and one search with k=1, through Open WebUI's own
# retrieval and the user's own rights) and writes it where LiteLLM reads it: `litellm_metadata.retrieval_score`.
#
# What Open WebUI calls a distance is a cosine c scaled to (1 + c) / 2; the gate's floor is a cosine, so the filter
# scales it back. Documents given in full have no score: such calls go out without one and the gateway flags them.
# A score that the caller wrote into the request is taken off first. Whatever fails here, the conversation goes on
# without a score.

from __future__ import annotations

import copy
import inspect
import logging
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

LOG = logging.getLogger("compliance_guardrails.openwebui")
KEY = "retrieval_score"
_ROUNDED_ONE = 1.0001


class Filter:
    """The filter that Open WebUI loads: `inlet` is called with each request before the model."""

    class Valves(BaseModel):
        """Settings an administrator can change in Open WebUI."""

        priority: int = Field(default=0, description="Ordre parmi les filtres")
        metadata_key: str = Field(default="litellm_metadata", description="Champ de la requête lu par la passerelle")
        scores_are_scaled: bool = Field(default=True, description="Les scores d’Open WebUI valent (1 + cosinus) / 2")

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(
        self,
        body: dict[str, Any],
        __request__: Any = None,
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The request with `retrieval_score`, or as it came when no document was searched."""
        take_off(body, self.valves.metadata_key)
        files = files_of(body, __metadata__)
        question = last_question(body.get("messages"))
        if not files or not question:
            return body
        try:
            sources = await search(__request__, __user__ or {}, files, question)
            score = best_similarity(sources, scaled=self.valves.scores_are_scaled)
        except Exception as error:  # noqa: BLE001 - a missing score is flagged by the gateway; the user is not to suffer
            LOG.warning("retrieval score not available: %s", type(error).__name__)
            return body
        if score is not None:
            place = body.get(self.valves.metadata_key)
            body[self.valves.metadata_key] = {**(place if isinstance(place, dict) else {}), KEY: score}
        return body


def take_off(body: dict[str, Any], metadata_key: str) -> None:
    """Remove a score that came with the request: only this filter may set one."""
    for name in {metadata_key, "metadata", "litellm_metadata"}:
        if isinstance(body.get(name), dict):
            body[name].pop(KEY, None)


def files_of(body: Mapping[str, Any], metadata: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Attached files and knowledge collections of the request."""
    found = body.get("files") or (metadata or {}).get("files") or []
    return [item for item in found if isinstance(item, dict) and item.get("type") != "filesystem"]


def last_question(messages: Any) -> str:
    """The text of the last user message."""
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, list):
                parts = [part.get("text") for part in content if isinstance(part, dict)]
                content = "\n".join(part for part in parts if isinstance(part, str))
            return content if isinstance(content, str) else ""
    return ""


async def search(request: Any, user: Mapping[str, Any], files: Sequence[Any], question: str) -> list[Any]:
    """The best match in `files` by plain vector search, as Open WebUI finds it for this user."""
    from open_webui.models.users import Users  # ty: ignore[import-not-found]
    from open_webui.retrieval.utils import get_sources_from_items  # ty: ignore[import-not-found]

    found = Users.get_user_by_id(user["id"])
    person = await found if inspect.isawaitable(found) else found

    def embed(query: Any, prefix: Any) -> Any:
        return request.app.state.EMBEDDING_FUNCTION(query, prefix=prefix, user=person)

    sources = get_sources_from_items(
        request=request,
        items=copy.deepcopy(list(files)),  # Open WebUI takes parts off what it is given
        queries=[question],
        embedding_function=embed,
        k=1,
        reranking_function=None,
        k_reranker=1,
        r=0.0,
        hybrid_bm25_weight=0.0,
        hybrid_search=False,
        full_context=False,
        user=person,
    )
    return await sources if inspect.isawaitable(sources) else sources


def best_similarity(sources: Iterable[Any], *, scaled: bool) -> float | None:
    """The highest cosine of the sources' scores, in [0, 1]; None when none has a score.

    A value above 1 is no cosine but another measure (a distance, a reranker's logit), which must not open the gate.
    """
    values = [
        float(value)
        for source in sources or ()
        if isinstance(source, dict)
        for value in source.get("distances") or ()
        if isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    ]
    best = max(values, default=math.inf)
    if best > _ROUNDED_ONE:
        return None
    return min(1.0, max(0.0, 2 * best - 1 if scaled else best))
