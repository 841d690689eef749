"""What the engine asks of the outside: an assistant that answers, an encoder, a second reader. Typed, no code.

Implementations: `client`, `embeddings`, `model_reader`, `simulate` (in process). A failed answer is a value, not an
exception; an endpoint that cannot be used at all is a `GateUnavailableError`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .extract import Said
from .pairs import Prompt

if TYPE_CHECKING:
    import numpy as np


class GateUnavailableError(RuntimeError):
    """An outside system cannot be used; `str` is one French line that names it."""


class Failure(enum.StrEnum):
    """Why an answer is missing."""

    EMPTY = "réponse vide"
    UNREADABLE = "réponse illisible"
    TIMEOUT = "délai dépassé"
    SERVER = "erreur du serveur"
    RATE = "trop de requêtes"
    REFUSED = "appel refusé"
    SKIPPED = "appel non tenté, le modèle ne répondait plus"


@dataclass(frozen=True, slots=True)
class Ask:
    """One call: the prompt, with the document and the model it is for."""

    prompt: Prompt
    model: str
    department: str
    document_name: str
    document: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, or why there is none. `masked` is the gateway's HMAC of the prompt after masking, when it says so."""

    text: str | None
    failure: Failure | None = None
    cached: bool = False
    masked: str | None = None


Progress = Callable[[int, int], None]


class Assistant(Protocol):
    """Answers calls, in the order asked; `progress(done, total)` is called as they come."""

    def answer(self, asks: Sequence[Ask], progress: Progress | None = None) -> list[Reply]:
        """One reply for each ask. Raises GateUnavailableError when none can be had."""
        ...


class Encoder(Protocol):
    """Texts to unit vectors."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def digest(self) -> str | None:
        """What identifies the model's weights, None when unknown."""
        ...

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """(n, dim) unit vectors."""
        ...


class SecondReader(Protocol):
    """A model that extracts the decisions of answers; None for an answer it failed on."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    def read(self, answers: Sequence[str]) -> list[tuple[Said, ...] | None]:
        """One tuple in the order of the rules' aspects for each answer."""
        ...
