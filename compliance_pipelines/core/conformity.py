"""The verdict on one figure, in the order in which its conditions are asked. Numbers are policy, passed in.

A verdict never stands without its N: too few or too many unscored traces give "Données insuffisantes" before anything
else is looked at; an indicative evaluator or a metric without a threshold never reads "Conforme".
"""

from __future__ import annotations

from dataclasses import dataclass

from compliance_pipelines.core.records import Verdict

ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class VerdictRules:
    """`min_n` traces scored at least; `max_unscored_rate` of the sampled at most (share in [0, 1])."""

    min_n: int
    max_unscored_rate: float


def decide(
    *,
    applies: bool,
    n_sampled: int,
    n_scored: int,
    n_unscored: int,
    mean: float | None,
    threshold: float | None,
    indicative: bool,
    rules: VerdictRules,
) -> Verdict:
    """The verdict of one aggregate. `applies` is False where policy switches the layer off for the department."""
    if not applies:
        return Verdict.SANS_OBJET
    unscored = n_unscored / n_sampled if n_sampled else 0.0
    if n_scored < rules.min_n or mean is None or unscored > rules.max_unscored_rate:
        return Verdict.INSUFFISANT
    if indicative or threshold is None:
        return Verdict.INDICATIF
    return Verdict.NON_CONFORME if below(mean, threshold) else Verdict.CONFORME


def below(mean: float, threshold: float) -> bool:
    """Whether a mean lies below its threshold; rounding errors of the sum (thirty times 0.7 is not 21) do not count."""
    return mean < threshold - ROUNDING


def margin_established(low: float | None, high: float | None, threshold: float | None) -> bool | None:
    """False when the 95 % interval contains the threshold ("marge non établie"); None when there is no interval."""
    if low is None or high is None or threshold is None:
        return None
    return not low <= threshold <= high
