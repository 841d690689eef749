"""The gate's stages without texts: power of one harmed pair among many, false alarms of whole runs.

Every answer is one number (0 accepts, 1 refuses) and one of three tones; comparison, spends, Holm and the limits are
those of the gate (`statistics`, rules/counterfactual.yaml). Hundreds of runs cost seconds, so that the intervals are
narrow where `bench_gate` with its texts has few runs. Deterministic by seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from compliance_guardrails.counterfactual import statistics
from compliance_guardrails.counterfactual.rules import GateRules

if TYPE_CHECKING:
    import numpy as np

_TONES: Final = (0.0, 0.1, 0.25)
_PERMUTATIONS: Final = 20_260_101
_MIN_NAMES: Final = 12


@dataclass
class _Arm:
    """One pair: what all its answers will be, and how far it has come."""

    refuses: tuple[np.ndarray, np.ndarray]
    tones: tuple[np.ndarray, np.ndarray]
    names: int
    p: float = 1.0
    decision_p: float = 1.0
    open: bool = True
    biased: bool = False
    calls: int = 0

    def look(self, rules: GateRules, n: int, level: float) -> None:
        """Compare the first `n` answers a side."""
        import numpy as np

        refuses = np.concatenate([side[:n] for side in self.refuses]).astype(float)
        tones = np.concatenate([side[:n] for side in self.tones])
        units = [k % self.names if self.names >= _MIN_NAMES else k for k in range(n)]
        distances = {
            "decision": np.abs(refuses[:, None] - refuses),
            "figures": np.zeros((2 * n, 2 * n)),
            "tone": np.abs(tones[:, None] - tones),
        }
        weights = {name: getattr(rules.error_shares, name) for name in distances}
        found = statistics.compare(distances, units, units, _PERMUTATIONS, level, weights)
        self.p, self.decision_p, self.calls = found.p, found.dimensions["decision"].p_adjusted, 2 * n

    def shift(self) -> float:
        """Difference of the shares that refuse."""
        n = self.calls // 2
        return abs(float(self.refuses[0][:n].mean() - self.refuses[1][:n].mean()))

    def clear(self, rules: GateRules, number: int) -> bool:
        """Whether no more answers are worth asking for."""
        if number:
            return self.p > rules.futility_p
        n = self.calls // 2
        told = {bool(answer) for side in self.refuses for answer in side[:n]}
        return len(told) == 1 and self.p > rules.screen_p


@dataclass(frozen=True, slots=True)
class Outcome:
    """Runs of one row: how many called the harmed pair (or any pair) biased, and the mean calls of a run."""

    hits: int
    runs: int
    calls: float

    def told(self) -> str:
        """Share with its 95 % interval, and calls."""
        low, high = statistics.wilson(self.hits, self.runs)
        share = f"{self.hits}/{self.runs} = {self.hits / self.runs:.1%} [{low:.1%}, {high:.1%}]"
        return f"{share}, {self.calls:.0f} calls"


def _arm(rng: np.random.Generator, rules: GateRules, names: int, effect: float, noise: float) -> _Arm:
    total = sum(stage.samples for stage in rules.stages)
    base, swap = (rng.random(total) < noise for _ in range(2))
    harmed = rng.random(total) < effect
    tones = (rng.choice(_TONES, total), rng.choice(_TONES, total))
    return _Arm((base, swap | harmed), tones, names)


def lone_pair(rules: GateRules, family: int, runs: int, *, effect: float, noise: float, names: int) -> Outcome:
    """One harmed pair in a file of `family` pairs whose others are fair: it has to pass the whole correction."""
    import numpy as np

    hits, calls = 0, 0
    for seed in range(runs):
        arm = _arm(np.random.default_rng([1, seed]), rules, names, effect, noise)
        hits += _judged([arm], rules, family)
        calls += arm.calls
    return Outcome(hits, runs, calls / runs)


def honest_runs(rules: GateRules, names: Sequence[int], runs: int, *, noise: float) -> Outcome:
    """Whole runs of an honest assistant over pairs with `names` names each: how many block, and calls of a run."""
    import numpy as np

    hits, calls = 0, 0
    for seed in range(runs):
        rng = np.random.default_rng([2, seed])
        arms = [_arm(rng, rules, count, 0.0, noise) for count in names]
        hits += _judged(arms, rules, len(arms)) > 0
        calls += sum(arm.calls for arm in arms)
    return Outcome(hits, runs, calls / runs)


def _judged(arms: Sequence[_Arm], rules: GateRules, family: int) -> int:
    """Run the rules' stages over `arms`; the number of pairs called biased by their decisions."""
    n = 0
    for number, stage in enumerate(rules.stages):
        n += stage.samples
        looked = [arm for arm in arms if arm.open]
        for arm in looked:
            arm.look(rules, n, stage.spend / family)
        left = family - sum(arm.biased for arm in arms)
        adjusted = statistics.holm([arm.p for arm in looked], left)
        for arm, p in zip(looked, adjusted, strict=True):
            factor = p / arm.p if arm.p > 0 else left
            found = stage.spend > 0 and p <= stage.spend and arm.decision_p * factor <= stage.spend
            arm.biased = found and arm.shift() >= rules.minimum_effect.decision
            arm.open = not (arm.biased or arm.clear(rules, number))
    return sum(arm.biased for arm in arms)
