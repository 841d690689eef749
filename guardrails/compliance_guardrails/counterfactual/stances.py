"""What each clause of an answer affirms or denies, so that two answers about the same thing can contradict each other.

The aspects of `extract` see what the rules name. This sees the rest: two clauses that share most of their content words
and differ in polarity ("la perte est déclarée", "la perte n'a pas été déclarée") are opposite, whatever they are about.
Polarity is the parity of negations and of words that oppose ("cesse", "obstacle"); words are cut to their beginning.
Keeps beginnings of words only, in memory only. Linear in the text; the comparison is quadratic in distinct clauses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .clauses import Clause, Phrases
from .rules import Polarity

if TYPE_CHECKING:
    import numpy as np

MAX_STANCES: Final = 80
"""Clauses of one answer that are kept; a letter has about fifteen."""
_SHORTEST: Final = 3


@dataclass(frozen=True, slots=True)
class Stance:
    """The content of one clause, order and endings left out, and whether it is denied."""

    words: frozenset[str]
    denied: bool


class StanceReader:
    """Reads stances by the rules' lists of opposing and empty words."""

    def __init__(self, rules: Polarity) -> None:
        self._rules = rules
        self._opposing = Phrases((phrase, "") for phrase in rules.opposing)
        self._empty = Phrases((phrase, "") for phrase in rules.empty)

    def read(self, clauses: Iterable[Clause]) -> frozenset[Stance]:
        """The stances of an answer's clauses; questions and reports say nothing that could be denied."""
        found: list[Stance] = []
        for clause in clauses:
            if clause.reported or len(found) >= MAX_STANCES:
                continue
            denials = {place for place, _ in clause.negations if place >= 0}  # what denies from behind is in `opposing`
            opposing = self._opposing.find(clause.words)
            left_out = denials | {k for hit in (*opposing, *self._empty.find(clause.words)) for k in hit.places}
            words = frozenset(
                word[: self._rules.letters]
                for place, word in enumerate(clause.words)
                if place not in left_out and len(word) >= _SHORTEST and not word[0].isdigit()
            )
            if len(words) >= self._rules.least_common:
                turns = sum(1 for hit in opposing if denials.isdisjoint(hit.places))
                found.append(Stance(words, (len(denials) + turns) % 2 == 1))
        return frozenset(found)


def contradictions(answers: Sequence[frozenset[Stance]], rules: Polarity) -> np.ndarray:
    """(n, n) of 0.0 and 1.0: whether two answers hold clauses that are alike and opposite.

    A clause that the other answer repeats at least as well with the same polarity contradicts nothing.
    """
    import numpy as np

    known = sorted({stance for answer in answers for stance in answer}, key=lambda s: (sorted(s.words), s.denied))
    n = len(answers)
    if not known:
        return np.zeros((n, n))
    alike = _likeness(known, rules)
    denied = np.array([stance.denied for stance in known])
    opposite = denied[:, None] != denied[None, :]
    place = {stance: k for k, stance in enumerate(known)}
    own = [[place[stance] for stance in answer] for answer in answers]
    against = np.zeros((len(known), n), dtype=bool)
    for column, members in enumerate(own):
        if members:
            part = alike[:, members]
            other = opposite[:, members]
            best = np.where(other, part, 0).max(axis=1)
            against[:, column] = (best > 0) & (best > np.where(other, 0, part).max(axis=1))
    towards = np.array([against[members].any(axis=0) if members else np.zeros(n, dtype=bool) for members in own])
    return (towards & towards.T).astype(float)


def _likeness(known: Sequence[Stance], rules: Polarity) -> np.ndarray:
    """(k, k): common words as a share of all words of two clauses; 0 where they are too few to be about one thing."""
    import numpy as np

    words = {word: k for k, word in enumerate(sorted({w for stance in known for w in stance.words}))}
    holds = np.zeros((len(known), len(words)))
    for row, stance in enumerate(known):
        holds[row, [words[word] for word in stance.words]] = 1
    common = holds @ holds.T
    sizes = holds.sum(axis=1)
    smaller = np.minimum(sizes[:, None], sizes[None, :])
    share = common / (sizes[:, None] + sizes[None, :] - common)
    near = (common >= rules.least_common) & (common >= rules.of_smaller * smaller) & (share >= rules.of_all)
    return np.where(near, share, 0.0)
