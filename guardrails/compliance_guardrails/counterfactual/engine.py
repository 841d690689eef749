"""The group-sequential run: a few answers for every pair, more for those not yet clear, then a verdict for each.

At each stage the open pairs get fresh answers, all answers so far are compared, and Holm over all pairs of the file
(those closed as fair count as p = 1) is held against the error that this stage may spend. The spends add up to the
error of the whole run. Pure but for the assistant, encoder and second reader that are handed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from . import statistics
from .dimensions import decision_distances, figure_distances, meaning_distances, tone_distances
from .extract import Said
from .judgement import MASKED, judge, masking
from .pairs import Dimension, Side, prompts
from .plan import Arm, Plan, new_arm
from .ports import Ask, Assistant, Progress
from .result import PairResult

if TYPE_CHECKING:
    import numpy as np

SEED: Final = 20_260_101
_NO_DIFFERENCE: Final = 1e-6
_MIN_NAMES: Final = 12
"""With at least this many names a side, names are what is permuted; with fewer, answers are."""


@dataclass
class _Budget:
    left: int | None

    def takes(self, calls: int) -> bool:
        """Whether `calls` more are allowed; if so they are spent."""
        if self.left is None:
            return True
        if calls > self.left:
            return False
        self.left -= calls
        return True


def run(plan: Plan, assistant: Assistant, progress: Progress | None = None) -> tuple[PairResult, ...]:
    """Run every stage and judge every pair, in the order of the file. Raises GateUnavailableError."""
    arms = [new_arm(pair, plan.rules) for pair in plan.pairs]
    vectors = _Vectors(plan)
    budget = _Budget(plan.max_calls)
    for number, stage in enumerate(plan.stages):
        # the pairs that look worst come first when calls are short
        chosen = sorted((arm for arm in arms if arm.open), key=lambda arm: arm.comparison.p if arm.comparison else 1.0)
        funded = []
        for arm in chosen:
            if budget.takes(2 * stage.samples):
                funded.append(arm)
            else:
                arm.open, arm.out_of_budget = False, True
        _gather(plan, funded, stage.samples, assistant, progress)
        for arm in funded:
            arm.stage = number
            _compare(plan, arm, vectors, stage.spend)
        _decide(plan, arms, funded, number)
    return tuple(judge(plan, arm) for arm in arms)


def _gather(plan: Plan, arms: Sequence[Arm], samples: int, assistant: Assistant, progress: Progress | None) -> None:
    """Ask for `samples` fresh answers a side of every arm, sides taking turns, and read them."""
    asks: list[Ask] = []
    owners: list[tuple[Arm, Side]] = []
    for arm in arms:
        pair = arm.pair
        fresh = {side: prompts(pair, side, plan.rules, len(arm.prompts[side]), samples) for side in Side}
        for k in range(samples):
            for side in Side:
                prompt = fresh[side][k]
                arm.prompts[side].append(prompt)
                document = plan.documents[pair.context_doc]
                asks.append(Ask(prompt, plan.models[pair.department], pair.department, pair.context_doc, document))
                owners.append((arm, side))
    replies = assistant.answer(asks, progress) if asks else []
    fresh_texts: list[_Fresh] = []
    for (arm, side), ask, reply in zip(owners, asks, replies, strict=True):
        arm.replies[side].append(reply)
        if reply.text is not None:
            fresh_texts.append(_Fresh(arm, side, reply.text, ask.prompt.subject, ask.prompt.index))
    _read(plan, fresh_texts)


class _Fresh(NamedTuple):
    """An answer that has just come in."""

    arm: Arm
    side: Side
    text: str
    subject: str
    index: int


def _read(plan: Plan, fresh: Sequence[_Fresh]) -> None:
    second = plan.second_reader.read([answer.text for answer in fresh]) if plan.second_reader else None
    for place, answer in enumerate(fresh):
        arm, side = answer.arm, answer.side
        reading = plan.extractor.read(answer.text)
        if second is not None:
            more: tuple[Said, ...] | None = second[place]
            if more is None:
                arm.unread += 1
                continue
            reading = replace(reading, decisions=reading.decisions + more)
        arm.readings[side].append(reading)
        if plan.encoder is not None:
            arm.plain[side].append(arm.plain_of(answer.text))
        arm.subjects[side].append(answer.subject)
        names = len(arm.pair.fillings(side, plan.rules))
        arm.units[side].append(answer.index % names if names >= _MIN_NAMES else answer.index)


class _Vectors:
    """Vectors of neutralised answers, each text encoded once."""

    def __init__(self, plan: Plan) -> None:
        self._encoder = plan.encoder
        self._known: dict[str, np.ndarray] = {}

    def of(self, texts: Sequence[str]) -> np.ndarray | None:
        """(n, dim), or None without an encoder."""
        import numpy as np

        if self._encoder is None:
            return None
        new = sorted(set(texts) - self._known.keys())
        if new:
            self._known.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._known[text] for text in texts])


def _compare(plan: Plan, arm: Arm, vectors: _Vectors, spend: float) -> None:
    n_base, n_swap = arm.count(Side.BASE), arm.count(Side.SWAP)
    if n_base < 2 or n_swap < 2:
        return
    readings = arm.readings[Side.BASE] + arm.readings[Side.SWAP]
    found = {
        Dimension.DECISION: decision_distances(
            readings, plan.extractor.aspects * (2 if plan.second_reader else 1), plan.extractor.polarity
        ),
        Dimension.FIGURES: figure_distances(readings, arm.varied_numbers),
        Dimension.TONE: tone_distances(readings),
    }
    encoded = vectors.of(arm.plain[Side.BASE] + arm.plain[Side.SWAP])
    if encoded is not None:
        found[Dimension.MEANING] = meaning_distances(encoded)
    arm.distances = found
    tested = {name.value: d for name, d in found.items() if name in tested_dimensions(plan, arm)}
    level = spend / max(1, len(plan.pairs))
    weights = {name.value: getattr(plan.rules.error_shares, name.value) for name in Dimension}
    arm.comparison = statistics.compare(tested, arm.units[Side.BASE], arm.units[Side.SWAP], SEED, level, weights)


def tested_dimensions(plan: Plan, arm: Arm) -> frozenset[Dimension]:
    """The dimensions that can fail this pair: all but those declared expected and a meaning without a floor."""
    unproven = frozenset() if plan.floors.get(arm.pair.id) is not None else frozenset({Dimension.MEANING})
    return frozenset(arm.distances) - arm.pair.expected_on(plan.today) - unproven


def _decide(plan: Plan, arms: Sequence[Arm], funded: Sequence[Arm], number: int) -> None:
    """Holm over the whole file at this stage's error; close what is clear either way.

    Pairs that an earlier stage found biased leave the family: a stage errs only if its first false alarm comes among
    the pairs still to be judged, so Holm goes on from there. Pairs closed as fair stay, with p = 1.
    """
    spend, last = plan.stages[number].spend, number == len(plan.stages) - 1
    compared = [arm for arm in funded if arm.comparison is not None]
    for arm in funded:
        if arm.comparison is None:
            arm.open = arm.open and number == 0 and not last  # asked twice, and hardly an answer
    if not compared:
        return
    p_values = [arm.comparison.p if arm.comparison else 1.0 for arm in compared]
    family = len(arms) - sum(arm.rejected and arm not in compared for arm in arms)
    adjusted = statistics.holm(p_values, family)
    for arm, p, p_adjusted in zip(compared, p_values, adjusted, strict=True):
        arm.factor = min(float(len(arms)), p_adjusted / p) if p > 0 else float(len(arms))
        # as an error of the whole run, so that the printed p is held against one number
        arm.p_holm = min(1.0, p_adjusted * plan.alpha / spend) if spend > 0 else 1.0
        arm.rejected = spend > 0 and p_adjusted <= spend
        arm.open = not (arm.rejected or last or _clear(plan, arm, number))


def _clear(plan: Plan, arm: Arm, number: int) -> bool:
    """Whether more answers are not worth asking for: one and the same decision in the screen, no sign later."""
    comparison = arm.comparison
    if comparison is None:
        return False
    if masking(arm) == MASKED:
        return True
    if number == 0:
        if arm.lacks(plan.rules.max_failed):
            return False
        alike = not arm.distances[Dimension.DECISION].any()
        figures = comparison.dimensions.get(Dimension.FIGURES.value)
        even = figures is None or figures.statistic <= _NO_DIFFERENCE
        return alike and even and comparison.p > plan.rules.screen_p
    return comparison.p > plan.rules.futility_p
