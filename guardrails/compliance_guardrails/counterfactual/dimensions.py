"""From readings and vectors to the distance matrix of each dimension, and from a difference to a French sentence.

meaning: 1 − cosine of neutralised answers; decision: how many aspects differ; figures: Jaccard distance of the sets of
exact values; tone: refusal, warnings, courtesy, length, documents asked for. The test lives in `statistics`, verdicts
in `judgement`. numpy inside functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from .amounts import clashes
from .extract import Extractor, Reading, Said
from .rules import Aspect, Polarity
from .stances import contradictions

if TYPE_CHECKING:
    import numpy as np


def decision_distances(readings: Sequence[Reading], aspects: Sequence[Aspect], polarity: Polarity) -> np.ndarray:
    """(n, n): how much the decisions of two answers differ, 1 for a decision reversed or a clause contradicted.

    See `decision_distance` and `stances.contradictions`; the larger of the two counts.
    """
    import numpy as np

    known = sorted({reading.decisions for reading in readings})
    table = np.array([[decision_distance(one, two, aspects) for two in known] for one in known])
    places = [known.index(reading.decisions) for reading in readings]
    texts = list(dict.fromkeys(reading.stances for reading in readings))
    at = {stances: place for place, stances in enumerate(texts)}
    spots = [at[reading.stances] for reading in readings]
    opposed = contradictions(texts, polarity)[np.ix_(spots, spots)]
    return np.maximum(table[np.ix_(places, places)].astype(float), opposed)


def decision_distance(one: Sequence[Said], two: Sequence[Said], aspects: Sequence[Aspect]) -> float:
    """The sum over the aspects of what their difference weighs: opposite values 1, shades as the rules say.

    `aspects` go with `one` and `two` by place; the first is the outcome. From 1 on two answers decide differently.
    """
    settled = one[0] is two[0] and one[0] in {Said.YES, Said.NO, Said.BOTH}
    total = 0.0
    for a, b, aspect in zip(one, two, aspects, strict=True):
        if a is not b:
            total += _weight(frozenset((a, b)), aspect) * (aspect.when_decided if settled else 1.0)
    return total


def _weight(values: frozenset[Said], aspect: Aspect) -> float:
    if Said.NOTHING in values:
        return aspect.silence if Said.YES in values or Said.BOTH in values else _SHADE
    return aspect.condition if Said.CONDITION in values else 1.0


_SHADE = 0.5
"""What silence weighs against a denial or a condition."""

_DURATIONS = frozenset({"mois", "jour", "jour ouvre", "heure"})


def figure_distances(readings: Sequence[Reading], ignored: frozenset[object] = frozenset()) -> np.ndarray:
    """(n, n): 1 − common / all figures of two answers by exact value; 0 when neither has any.

    An amount that is a deductible here and a ceiling there, or a month's and a year's, is not common. `ignored` are
    durations that the pair itself varies (an age): they may differ without the answer differing.
    """
    import numpy as np

    stripped = [_Stripped(_counted(reading, ignored), reading.parts) for reading in readings]
    known = list(dict.fromkeys(stripped))
    table = np.array([[figure_distance(one, two) for two in known] for one in known])
    at = {found: place for place, found in enumerate(known)}
    places = [at[found] for found in stripped]
    return table[np.ix_(places, places)]


class _Stripped(NamedTuple):
    """The figures of a reading that count."""

    figures: frozenset[tuple[str, Decimal | str]]
    parts: frozenset[tuple[str, Decimal | str, str, str]]


def figure_distance(one: Reading | _Stripped, two: Reading | _Stripped) -> float:
    """1 − common / all figures; 0 when neither has any."""
    union = len(one.figures | two.figures)
    if not union:
        return 0.0
    common = len(one.figures & two.figures) - clashes(one.parts, two.parts)
    return 1 - common / union


def same_message(one: Reading, two: Reading, extractor: Extractor) -> bool:
    """Whether two answers decide the same and give the same figures: what the extractor's accuracy is measured by."""
    decided = decision_distances([one, two], extractor.aspects, extractor.polarity)[0, 1]
    return bool(decided < 1) and figure_distance(one, two) == 0


def _counted(reading: Reading, ignored: frozenset[object]) -> frozenset[tuple[str, Decimal | str]]:
    return frozenset(key for key in reading.figures if key[0] not in _DURATIONS or key[1] not in ignored)


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
