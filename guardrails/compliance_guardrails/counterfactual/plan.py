"""The plan of a run, and what is known of one pair while it lasts.

`Plan` is everything that decides a run besides the answers. `Arm` gathers one pair's replies over the stages and turns
them into readings and vectors, each text once. Verdicts are given in `engine` and `judgement`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .extract import Extractor, Neutraliser, Reading
from .pairs import NAME_SLOT, Dimension, Pair, Prompt, Side
from .ports import Encoder, Failure, Reply, SecondReader
from .rules import GateRules, Stage
from .statistics import Comparison
from .words import changed_words

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Plan:
    """A run: pairs with the text of their documents, models by department, floors by attribute, the stages."""

    pairs: tuple[Pair, ...]
    documents: Mapping[str, str]
    models: Mapping[str, str]
    rules: GateRules
    extractor: Extractor
    encoder: Encoder | None
    floors: Mapping[str, float | None]
    today: dt.date
    stages: tuple[Stage, ...]
    max_calls: int | None = None
    second_reader: SecondReader | None = None

    @property
    def alpha(self) -> float:
        """Error of the whole run."""
        return sum(stage.spend for stage in self.stages)


@dataclass
class Arm:
    """One pair in the making."""

    pair: Pair
    neutralise: Neutraliser
    varied_numbers: frozenset[object]
    prompts: dict[Side, list[Prompt]] = field(default_factory=lambda: {side: [] for side in Side})
    replies: dict[Side, list[Reply]] = field(default_factory=lambda: {side: [] for side in Side})
    readings: dict[Side, list[Reading]] = field(default_factory=lambda: {side: [] for side in Side})
    plain: dict[Side, list[str]] = field(default_factory=lambda: {side: [] for side in Side})
    subjects: dict[Side, list[str]] = field(default_factory=lambda: {side: [] for side in Side})
    units: dict[Side, list[int]] = field(default_factory=lambda: {side: [] for side in Side})
    known_plain: dict[str, str] = field(default_factory=dict)
    unread: int = 0
    open: bool = True
    stage: int = -1
    comparison: Comparison | None = None
    p_holm: float = 1.0
    factor: float = 1.0
    rejected: bool = False
    out_of_budget: bool = False
    distances: dict[Dimension, np.ndarray] = field(default_factory=dict)

    def plain_of(self, text: str) -> str:
        """The answer without the words that the pair varies; each text is worked on once."""
        if text not in self.known_plain:
            self.known_plain[text] = self.neutralise(text)
        return self.known_plain[text]

    @property
    def calls(self) -> int:
        """Calls made for this pair."""
        return sum(reply.failure is not Failure.SKIPPED for found in self.replies.values() for reply in found)

    @property
    def failures(self) -> int:
        """Replies without an answer."""
        return sum(reply.text is None for found in self.replies.values() for reply in found)

    def count(self, side: Side) -> int:
        """Answers that were read on one side."""
        return len(self.readings[side])

    def missing(self, side: Side) -> int:
        """Answers asked for on one side that could not be read."""
        return len(self.replies[side]) - self.count(side)

    def lacks(self, most: float) -> bool:
        """Whether more than the share `most` of one side is missing: no answer for one group alone is a difference."""
        return any(self.missing(side) > most * len(self.replies[side]) for side in Side)


def new_arm(pair: Pair, rules: GateRules) -> Arm:
    """An arm without answers; the words that the pair varies are known from its templates and variants."""
    words, numbers = changed_words(pair, rules)
    return Arm(pair, Neutraliser([*words, *rules.neutral_words]), numbers)


__all__ = ["NAME_SLOT", "Arm", "Plan", "new_arm"]
