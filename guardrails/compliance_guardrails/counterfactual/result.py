"""What the gate found, as frozen records and as the JSON of docs/interfaces.md ("Gate result").

No answer text has a place here: shares, distances, p-values, and one French sentence a pair. Exit codes: 0 nothing
found, 1 bias found, 2 could not decide.
"""

from __future__ import annotations

import datetime as dt
import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .pairs import Dimension, ExpectedDifference

SCHEMA: Final = "compliance-gate-result/1"


class PairVerdict(enum.StrEnum):
    """The verdict of one pair, and of a run."""

    FAIR = "fair"
    BIASED = "biased"
    NEUTRALISED = "neutralised"
    VACUOUS = "vacuous"
    UNDECIDED = "undecided"


VERDICTS_FR: Final[Mapping[PairVerdict, str]] = {
    PairVerdict.FAIR: "équitable",
    PairVerdict.BIASED: "biais constaté",
    PairVerdict.NEUTRALISED: "neutralisée",
    PairVerdict.VACUOUS: "non probante",
    PairVerdict.UNDECIDED: "non tranchée",
}

DIMENSIONS_FR: Final[Mapping[Dimension, str]] = {
    Dimension.MEANING: "sens",
    Dimension.DECISION: "décision",
    Dimension.FIGURES: "chiffres",
    Dimension.TONE: "ton et service",
}


@dataclass(frozen=True, slots=True)
class DimensionResult:
    """One dimension of one pair. `statistic`: median cosine for meaning, energy distance otherwise.

    `effect` with `ci`: difference of shares (decision) or excess of the distance between over within (others).
    `status`: "tested", "expected" (declared by an expert), "unproven" (encoder without calibration).
    """

    statistic: float
    p: float
    p_holm: float
    effect: float
    ci: tuple[float, float]
    n_base: int
    n_swap: int
    fails: bool
    status: str = "tested"

    def to_json(self) -> dict[str, Any]:
        """The object of the result file; numbers rounded, all finite."""
        return {
            "statistic": _round(self.statistic),
            "p": _round(self.p),
            "p_holm": _round(self.p_holm),
            "effect": _round(self.effect),
            "ci": [_round(self.ci[0]), _round(self.ci[1])],
            "n_base": self.n_base,
            "n_swap": self.n_swap,
            "fails": self.fails,
            "status": self.status,
        }


@dataclass(frozen=True, slots=True)
class Unmasked:
    """A neutralised pair asked again with a key that is not masked: what the model does. Changes no exit code."""

    verdict: PairVerdict
    reason_fr: str
    calls: int
    dimensions: Mapping[Dimension, DimensionResult] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The object of the result file."""
        return {
            "verdict": self.verdict.value,
            "reason_fr": self.reason_fr,
            "calls": self.calls,
            "dimensions": {name.value: found.to_json() for name, found in self.dimensions.items()},
        }


@dataclass(frozen=True, slots=True)
class PairResult:
    """One pair: verdict, the sentence that explains it, the dimensions (empty when none could be compared)."""

    id: str
    protected_attr: str
    department: str
    grounds: tuple[str, ...]
    intersectional: bool
    verdict: PairVerdict
    reason_fr: str
    dimensions: Mapping[Dimension, DimensionResult]
    calls: int
    failures: int
    masking: str
    expected: ExpectedDifference | None = None
    unmasked: Unmasked | None = None

    def to_json(self) -> dict[str, Any]:
        """The object of the result file."""
        declared = self.expected
        return {
            "id": self.id,
            "protected_attr": self.protected_attr,
            "department": self.department,
            "grounds": list(self.grounds),
            "intersectional": self.intersectional,
            "verdict": self.verdict.value,
            "reason_fr": self.reason_fr,
            "dimensions": {name.value: found.to_json() for name, found in self.dimensions.items()},
            "calls": self.calls,
            "failures": self.failures,
            "masking": self.masking,
            "unmasked": self.unmasked.to_json() if self.unmasked else None,
            "expected_difference": declared.model_dump(mode="json") if declared else None,
        }


@dataclass(frozen=True, slots=True)
class EmbeddingIdentity:
    """The encoder of a run; all None when meaning was not measured."""

    name: str | None
    digest: str | None
    dim: int | None
    floor: float | None
    prefix: str | None = None


@dataclass(frozen=True, slots=True)
class GateResult:
    """A whole run."""

    run_id: str
    started_at: dt.datetime
    model: str
    endpoint: str
    samples: tuple[int, ...]
    embedding: EmbeddingIdentity
    extractor: str
    policy_digest: str
    alpha: float
    pairs: tuple[PairResult, ...]
    calls: int

    @property
    def verdict(self) -> PairVerdict:
        """The run's verdict: bias first, then what could not be decided."""
        found = {pair.verdict for pair in self.pairs}
        for verdict in (PairVerdict.BIASED, PairVerdict.VACUOUS, PairVerdict.UNDECIDED):
            if verdict in found:
                return verdict
        return PairVerdict.NEUTRALISED if found == {PairVerdict.NEUTRALISED} else PairVerdict.FAIR

    @property
    def exit_code(self) -> int:
        """0 nothing found, 1 bias found, 2 could not decide."""
        if not self.pairs:
            return 2
        return {PairVerdict.BIASED: 1, PairVerdict.VACUOUS: 2, PairVerdict.UNDECIDED: 2}.get(self.verdict, 0)

    def to_json(self) -> dict[str, Any]:
        """The result file of docs/interfaces.md."""
        e = self.embedding
        return {
            "schema": SCHEMA,
            "run_id": self.run_id,
            "started_at": self.started_at.isoformat(),
            "model": self.model,
            "endpoint": self.endpoint,
            "samples": list(self.samples),
            "embedding": {"name": e.name, "digest": e.digest, "dim": e.dim, "floor": e.floor, "prefix": e.prefix},
            "extractor": self.extractor,
            "policy_digest": self.policy_digest,
            "alpha": self.alpha,
            "calls": self.calls,
            "pairs": [pair.to_json() for pair in self.pairs],
            "verdict": self.verdict.value,
            "exit_code": self.exit_code,
        }


def _round(value: float) -> float:
    return round(value, 6) if math.isfinite(value) else 0.0
