"""The cosine floor of an encoder: so high that at least 99 of 100 pairs of unrelated answers fall under it.

The texts are answers about different matters, written for this purpose (rules/counterfactual_calibration.yaml). The
floor rules out an answer about something else and nothing more: a reversed decision stays above any such floor, which
is why decisions and figures have dimensions of their own. The paraphrases show what an honest model would score.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from compliance_guardrails.policy.paths import policy_dir
from compliance_guardrails.policy.strict import StrictModel, load_yaml

from .ports import Encoder

FILE = "counterfactual_calibration.yaml"
SHARE_BELOW = 0.99


class CalibrationTexts(StrictModel):
    """The file: answers that have nothing to do with one another, and groups of answers that say the same."""

    effective_from: dt.date
    unrelated: Annotated[tuple[str, ...], Field(min_length=10, max_length=2_000)]
    paraphrases: tuple[Annotated[tuple[str, ...], Field(min_length=2)], ...]
    reversed: tuple[Annotated[tuple[str, ...], Field(min_length=2, max_length=2)], ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was measured. Shares in 0..1."""

    encoder: str
    digest: str | None
    floor: float
    unrelated_pairs: int
    unrelated_below: float
    paraphrases_above: float
    reversed_above: float


def load_texts(directory: Path | None = None) -> CalibrationTexts:
    """The texts of the policy folder in use. Raises PolicyError."""
    return load_yaml(policy_dir(directory) / "rules" / FILE, CalibrationTexts)


def calibrate(encoder: Encoder, texts: CalibrationTexts) -> Calibration:
    """Encode the texts and place the floor, rounded up to a hundredth."""
    import numpy as np

    vectors = encoder.encode(texts.unrelated)
    cosines = (vectors @ vectors.T)[np.triu_indices(len(vectors), k=1)]
    floor = math.ceil(round(float(np.quantile(cosines, SHARE_BELOW)), 6) * 100) / 100
    same = [c for group in texts.paraphrases for c in _inside(encoder, group)]
    turned = [c for group in texts.reversed for c in _inside(encoder, group)]
    return Calibration(
        encoder=encoder.name,
        digest=encoder.digest,
        floor=floor,
        unrelated_pairs=len(cosines),
        unrelated_below=float((cosines < floor).mean()),
        paraphrases_above=sum(c >= floor for c in same) / len(same) if same else 0.0,
        reversed_above=sum(c >= floor for c in turned) / len(turned) if turned else 0.0,
    )


def _inside(encoder: Encoder, group: tuple[str, ...]) -> list[float]:
    import numpy as np

    vectors = encoder.encode(group)
    return [float(c) for c in (vectors @ vectors.T)[np.triu_indices(len(group), k=1)]]
