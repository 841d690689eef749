"""Means, quantiles and intervals used by the aggregates. Pure numpy, seeded, no thresholds.

Proportions get Wilson's interval; means get a bootstrap over conversations (traces of one session are not independent),
or, above `BOOTSTRAP_CLUSTERS` conversations, the cluster-robust normal interval that the bootstrap converges to. Scores
that are all alike show no spread to resample; that they are is then a proportion, and gets Wilson's interval.
Sources: Wilson 1927; Efron & Tibshirani 1993, ch. 13; Cameron & Miller 2015 for clusters.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

Z95 = 1.959963984540054
BOOTSTRAP_REPLICATES = 2000
BOOTSTRAP_CLUSTERS = 5000
_CHUNK = 200
_SAME = 1e-12  # rounding of a sum, not a spread


def wilson(successes: int, n: int) -> tuple[float, float] | None:
    """95 % Wilson interval of a proportion; None when n is 0."""
    if n <= 0:
        return None
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie in 0..n, got {successes} of {n}")
    share = successes / n
    z2 = Z95 * Z95
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    """Mean of `values` under non-negative `weights` of the same length and positive sum."""
    return float(np.dot(values, weights) / weights.sum())


def mean_interval(values: np.ndarray, clusters: np.ndarray, seed: int) -> tuple[float, float] | None:
    """95 % interval of the mean of `values`, resampling whole clusters.

    values: float64 in [0, 1], shape (n,). clusters: integer codes 0..k-1, shape (n,). None when fewer than two
    clusters, where no spread between conversations can be seen.
    """
    k = int(clusters.max()) + 1 if len(clusters) else 0
    if k < 2:
        return None
    sums = np.bincount(clusters, weights=values, minlength=k)
    sizes = np.bincount(clusters, minlength=k).astype(np.float64)
    mean = float(sums.sum() / sizes.sum())
    residual = sums - mean * sizes
    if np.abs(residual).max() <= _SAME * sizes.max():
        # Of k conversations none was otherwise: as many as Wilson allows may be, at either end of the unit interval.
        low, _ = wilson(k, k) or (0.0, 1.0)
        return _clip(mean * low, 1 - (1 - mean) * low)
    if k > BOOTSTRAP_CLUSTERS:
        half = Z95 * math.sqrt(k / (k - 1) * float(residual @ residual)) / float(sizes.sum())
        return _clip(mean - half, mean + half)
    rng = np.random.default_rng(seed)
    means = np.empty(BOOTSTRAP_REPLICATES)
    for start in range(0, BOOTSTRAP_REPLICATES, _CHUNK):
        draws = rng.multinomial(k, np.full(k, 1.0 / k), size=min(_CHUNK, BOOTSTRAP_REPLICATES - start))
        means[start : start + len(draws)] = (draws @ sums) / (draws @ sizes)
    low, high = np.quantile(means, [0.025, 0.975])
    return _clip(float(low), float(high))


def stable_seed(*parts: str) -> int:
    """A seed that depends on names only, so that the same figure gets the same interval on every machine."""
    return int.from_bytes(hashlib.sha256("\x1f".join(parts).encode()).digest()[:8], "big")


def cohen_kappa(first: list[int], second: list[int]) -> float | None:
    """Agreement of two raters beyond chance; None when chance agreement is total or there is nothing to compare."""
    n = len(first)
    if n != len(second):
        raise ValueError("both raters must rate the same items")
    if n == 0:
        return None
    labels = sorted(set(first) | set(second))
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    expected = sum((first.count(x) / n) * (second.count(x) / n) for x in labels)
    return None if expected >= 1 else (observed - expected) / (1 - expected)


def _clip(low: float, high: float) -> tuple[float, float]:
    # every metric of the pipeline lives in the unit interval
    return max(0.0, low), min(1.0, high)
