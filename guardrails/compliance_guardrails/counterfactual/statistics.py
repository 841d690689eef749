"""Two groups of answers as distance matrices: permutation test, one omnibus p, effects, intervals, Holm.

Pure numbers; no text, no rule. The statistic of a dimension is the energy distance (twice the mean distance between the
groups minus the mean distances within them), so a difference counts only in excess of the variance inside each group.
The omnibus is the smallest p over the dimensions, judged against its own permutation distribution (Westfall and Young
1993). Deterministic: every random number comes from the seed given. numpy is imported inside functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np

MAX_EXACT: Final = 1_000
"""Permutations are all enumerated up to this many; beyond it they are drawn."""
FIRST_DRAW: Final = 999
SECOND_DRAW: Final = 4_999
FULL_DRAW: Final = 19_999
MAX_DRAW: Final = 99_999
CHUNK: Final = 4_096
REPLICATES: Final = 500
_EPS: Final = 1e-9
_MARGIN: Final = 1.5
"""How far above its mean the number of drawn labellings as extreme as the observed one is allowed for."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One dimension: energy statistic, its own p, and p adjusted for having looked at all dimensions."""

    statistic: float
    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """All dimensions of one pair and the omnibus p; `smallest_p` is the smallest that the design could give.

    `resolution`: the omnibus p that drawing gives to groups wholly apart in the dimension with the smallest share of
    the error; a smaller one cannot be told from it. 0 when every permutation was enumerated.
    """

    p: float
    dimensions: Mapping[str, Compared]
    smallest_p: float
    resolution: float = 0.0


def compare(
    distances: Mapping[str, np.ndarray],
    base_units: Sequence[int],
    swap_units: Sequence[int],
    seed: int,
    level: float = 0.01,
    weights: Mapping[str, float] | None = None,
) -> Comparison:
    """Permutation test of base (the first rows) against swap. Matrices (n, n), symmetric, zero diagonal.

    Answers with the same unit (about the same name) change sides together: a model that treats one name oddly is not
    counted once for every answer. `level` is the p that the pair has to reach: drawing goes on until p near it is known
    well enough. `weights` share the error between dimensions: the omnibus is the smallest p / weight, equal by default.
    O(n² + draws × units²).
    """
    if len(base_units) < 2 or len(swap_units) < 2 or not distances:
        return Comparison(1.0, {name: Compared(0.0, 1.0, 1.0) for name in distances}, 1.0)
    share = [(weights or {}).get(name, 1.0) for name in distances]
    # the smallest share counts: groups wholly apart in that dimension alone have to reach the level too
    scale = sum(share) / min(share)
    full = min(MAX_DRAW, max(FULL_DRAW, math.ceil(max(4.0, _MARGIN * scale) / max(level, 1e-6))))
    found = _tested(distances, base_units, swap_units, seed, FIRST_DRAW, share)
    if _labellings(base_units, swap_units) <= MAX_EXACT:
        return found  # every labelling was looked at
    if found.p <= 0.02:
        found = _tested(distances, base_units, swap_units, seed, SECOND_DRAW, share)
    # where the level is finer than the second drawing can tell, its smallest values go on too
    if found.p <= max(8 * level, _MARGIN * scale / (SECOND_DRAW + 1)):
        found = _tested(distances, base_units, swap_units, seed, full, share)
    return replace(found, resolution=_MARGIN * scale / (full + 1))


def _tested(
    distances: Mapping[str, np.ndarray],
    base_units: Sequence[int],
    swap_units: Sequence[int],
    seed: int,
    draws: int,
    share: Sequence[float],
) -> Comparison:
    import numpy as np

    base_ids, swap_ids = sorted(set(base_units)), sorted(set(swap_units))
    places = [base_ids.index(unit) for unit in base_units]
    places += [len(base_ids) + swap_ids.index(unit) for unit in swap_units]
    labels = _labels(len(base_ids), len(swap_ids), seed, draws)
    # answers of one unit move together, so their distances are added up once: n² becomes units² for every labelling
    member = np.zeros((len(base_ids) + len(swap_ids), len(places)))
    member[places, np.arange(len(places))] = 1
    counts = member.sum(axis=1)
    names = list(distances)
    statistics = np.stack([_energies(member @ np.asarray(distances[k]) @ member.T, counts, labels) for k in names])
    total = statistics.shape[1]  # row 0 is what was observed, so that no p is ever 0
    p = np.stack([_p_values(row) for row in statistics])
    weighted = p / np.array(share)[:, None]
    smallest = weighted.min(axis=0)
    dimensions = {
        name: Compared(
            float(statistics[k, 0]), float(p[k, 0]), float((smallest <= weighted[k, 0] + _EPS).sum() / total)
        )
        for k, name in enumerate(names)
    }
    omnibus = float((smallest <= smallest[0] + _EPS).sum() / total)
    mirrored = 2 if len(base_ids) == len(swap_ids) else 1  # sides of one size that change places tie with what was seen
    return Comparison(omnibus, dimensions, mirrored / _labellings(base_units, swap_units))


def _labellings(base_units: Sequence[int], swap_units: Sequence[int]) -> int:
    """In how many ways the units can be dealt to the two sides."""
    base, swap = len(set(base_units)), len(set(swap_units))
    return math.comb(base + swap, base)


def _p_values(row: np.ndarray) -> np.ndarray:
    """For each permutation, the share of permutations with a statistic at least as large."""
    import numpy as np

    rounded = np.round(row, 5)  # equal statistics must tie, however their sums were rounded
    order = np.sort(rounded)
    return (len(row) - np.searchsorted(order, rounded, side="left")) / len(row)


def _energies(distance: np.ndarray, counts: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Energy statistic of every labelling of u units; `labels` (b, u) of 0 and 1, 1 for base.

    `distance` (u, u): sums of the distances between the answers of two units; `counts` (u,): answers of each. The sizes
    of the sides may differ by row.
    """
    import numpy as np

    total = distance.sum()
    rows = distance.sum(axis=1)
    out = np.empty(len(labels))
    for start in range(0, len(labels), CHUNK):
        chosen = labels[start : start + CHUNK].astype(np.float64)
        within_base = ((chosen @ distance) * chosen).sum(axis=1)
        between = chosen @ rows - within_base
        within_swap = total - within_base - 2 * between
        n_base = chosen @ counts
        n_swap = counts.sum() - n_base
        out[start : start + CHUNK] = (
            2 * between / np.maximum(n_base * n_swap, 1)
            - within_base / np.maximum(n_base * (n_base - 1), 1)
            - within_swap / np.maximum(n_swap * (n_swap - 1), 1)
        )
    return out


@lru_cache(maxsize=4)
def _labels(n_base: int, n_swap: int, seed: int, draws: int) -> Any:
    """Labellings (b, n) of 0 and 1 in bytes, the observed one first; all of them when they are few."""
    import numpy as np

    n = n_base + n_swap
    observed = np.zeros((1, n), np.int8)
    observed[0, :n_base] = 1
    if math.comb(n, n_base) <= MAX_EXACT:
        every = np.zeros((math.comb(n, n_base), n), np.int8)
        for row, chosen in enumerate(combinations(range(n), n_base)):
            every[row, list(chosen)] = 1
        return every  # combinations() begins with 0 … n_base-1: what was observed
    rng = np.random.default_rng(seed)
    sizes = [min(CHUNK, draws - start) for start in range(0, draws, CHUNK)]
    drawn = [(rng.random((size, n)).argsort(axis=1) < n_base).astype(np.int8) for size in sizes]
    return np.concatenate([observed, *drawn])


def holm(p_values: Sequence[float], family: int | None = None) -> list[float]:
    """Holm-adjusted p-values; `family` is the number of hypotheses when some have no p of their own (taken as 1)."""
    m = max(len(p_values), family or 0)
    adjusted = [1.0] * len(p_values)
    running = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda k: p_values[k])):
        running = max(running, min(1.0, p_values[place] * (m - rank)))
        adjusted[place] = running
    return adjusted


def between_and_within(distance: np.ndarray, n_base: int) -> tuple[float, float]:
    """(mean distance between the groups, mean distance within them)."""
    import numpy as np

    between = float(distance[:n_base, n_base:].mean())
    insides = [distance[:n_base, :n_base], distance[n_base:, n_base:]]
    means = [d.sum() / (len(d) * (len(d) - 1)) for d in insides if len(d) > 1]
    return between, float(np.mean(means)) if means else 0.0


def excess_interval(distance: np.ndarray, n_base: int, seed: int) -> tuple[float, float, float]:
    """(excess of the mean distance between over within, 2.5 % and 97.5 % of its bootstrap over answers)."""
    import numpy as np

    n = len(distance)
    rng = np.random.default_rng(seed)
    between, within = between_and_within(distance, n_base)
    n_swap = n - n_base
    base = _multiplicities(rng, n_base)
    swap = _multiplicities(rng, n_swap)
    cross = ((base @ distance[:n_base, n_base:]) * swap).sum(axis=1) / (n_base * n_swap)
    inner = (_within(distance[:n_base, :n_base], base) + _within(distance[n_base:, n_base:], swap)) / 2
    low, high = np.quantile(cross - inner, [0.025, 0.975])
    return between - within, float(low), float(high)


def _within(distance: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean distance between different answers of each resample: an answer drawn twice is not compared with itself."""
    import numpy as np

    sums = ((weights @ distance) * weights).sum(axis=1)
    pairs = weights.sum(axis=1) ** 2 - (weights**2).sum(axis=1)
    return sums / np.maximum(pairs, 1)


def _multiplicities(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.multinomial(n, [1 / n] * n, size=REPLICATES).astype(float)


def share_interval(base: Sequence[bool], swap: Sequence[bool]) -> tuple[float, float, float]:
    """(share in swap minus share in base, with Newcombe's hybrid score interval)."""
    p1, p2 = sum(swap) / len(swap), sum(base) / len(base)
    l1, u1 = wilson(sum(swap), len(swap))
    l2, u2 = wilson(sum(base), len(base))
    low = (p1 - p2) - math.hypot(p1 - l1, u2 - p2)
    high = (p1 - p2) + math.hypot(u1 - p1, p2 - l2)
    return p1 - p2, max(-1.0, low), min(1.0, high)


def wilson(hits: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95 % score interval of a share; (0, 1) when n is 0."""
    if n == 0:
        return 0.0, 1.0
    p = hits / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)
