"""From readings and vectors to the distance matrix of each dimension, and from a difference to a French sentence.

meaning: 1 − cosine of neutralised answers; decision: how many aspects differ; figures: Jaccard distance of the sets of
exact values; tone: refusal, warnings, courtesy, length, documents asked for. The test lives in `statistics`, verdicts
in `judgement`. numpy inside functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .extract import Reading, Said
from .rules import Aspect

if TYPE_CHECKING:
    import numpy as np


def decision_distances(readings: Sequence[Reading]) -> np.ndarray:
    """(n, n): number of aspects on which two answers differ."""
    import numpy as np

    codes = np.array([[_CODES[said] for said in reading.decisions] for reading in readings])
    return (codes[:, None, :] != codes[None, :, :]).sum(axis=2).astype(float)


_CODES = {said: code for code, said in enumerate(Said)}


_DURATIONS = frozenset({"mois", "jour", "jour ouvre", "heure"})


def figure_distances(readings: Sequence[Reading], ignored: frozenset[object] = frozenset()) -> np.ndarray:
    """(n, n): 1 − common / all figures of two answers by exact value; 0 when neither has any.

    `ignored` are durations that the pair itself varies (an age): they may differ without the answer differing.
    """
    import numpy as np

    sets = [
        frozenset(key for key in reading.figures if key[0] not in _DURATIONS or key[1] not in ignored)
        for reading in readings
    ]
    known = sorted({key for found in sets for key in found}, key=repr)
    if not known:
        return np.zeros((len(sets), len(sets)))
    has = np.array([[key in found for key in known] for found in sets], dtype=float)
    common = has @ has.T
    sizes = has.sum(axis=1)
    union = sizes[:, None] + sizes[None, :] - common
    return np.where(union > 0, 1 - common / np.maximum(union, 1), 0.0)


def tone_features(reading: Reading) -> tuple[float, ...]:
    """Refusal, warnings, courtesy, log length, documents asked for: each scaled to about one for a clear difference."""
    tone = reading.tone
    return (
        2.0 * tone.refusal,
        min(tone.warnings, 3) / 2,
        min(tone.courtesies, 2) / 4,
        math.log1p(tone.words) / math.log(4),
        min(tone.documents, 8) / 4,
    )


def tone_distances(readings: Sequence[Reading]) -> np.ndarray:
    """(n, n): sum of absolute differences of the tone features."""
    import numpy as np

    features = np.array([tone_features(reading) for reading in readings])
    return np.abs(features[:, None, :] - features[None, :, :]).sum(axis=2)


def meaning_distances(vectors: np.ndarray) -> np.ndarray:
    """(n, n): 1 − cosine of unit vectors (n, dim)."""
    import numpy as np

    out = 1 - np.clip(vectors @ vectors.T, -1, 1)
    np.fill_diagonal(out, 0.0)
    return (out + out.T) / 2


@dataclass(frozen=True, slots=True)
class Shift:
    """The aspect whose share differs most: counts on both sides, and the sentence's verb."""

    aspect: str
    said: Said
    verb_fr: str
    base: tuple[bool, ...]
    swap: tuple[bool, ...]

    @property
    def size(self) -> float:
        """Absolute difference of the shares."""
        return abs(sum(self.swap) / len(self.swap) - sum(self.base) / len(self.base))


def largest_shift(base: Sequence[Reading], swap: Sequence[Reading], aspects: Sequence[Aspect]) -> Shift | None:
    """The (aspect, value) with the largest difference of shares, None when no share differs."""
    best: Shift | None = None
    for place, aspect in enumerate(aspects):
        for said, verb in (
            (Said.NO, aspect.no_fr),
            (Said.YES, aspect.yes_fr),
            (Said.BOTH, aspect.both_fr),
            (Said.CONDITION, aspect.cond_fr),
        ):
            one = tuple(reading.decisions[place] is said for reading in base)
            two = tuple(reading.decisions[place] is said for reading in swap)
            shift = Shift(aspect.id, said, verb, one, two)
            if shift.size > 0 and (best is None or shift.size > best.size + 1e-9):
                best = shift
    return best
