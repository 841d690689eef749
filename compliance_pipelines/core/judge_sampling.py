"""Which traces a judge is paid for: stratified by department and day, deterministic by trace id.

A department's rate draws each trace on its own; where a stratum would get fewer than the minimum, the traces with the
lowest draws are added. The same night gives the same sample on every machine. Rates, salt and minimum are policy.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from compliance_pipelines.core.periods import paris_day
from compliance_pipelines.core.records import Trace


@dataclass(frozen=True, slots=True)
class Strata:
    """`rate` in [0, 1] by department id; `minimum` traces a stratum where it has as many."""

    rate: Callable[[str], float]
    salt: str
    minimum: int

    def draw(self, trace_id: str) -> float:
        """A number in [0, 1) that depends on the id and the salt alone."""
        digest = hashlib.sha256(f"{self.salt}\x1f{trace_id}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64


def chosen(eligible: Iterable[Trace], strata: Strata) -> frozenset[str]:
    """Ids of the traces to judge among `eligible`."""
    groups: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for trace in eligible:
        key = (trace.department, paris_day(trace.observed_at).isoformat())
        groups[key].append((strata.draw(trace.trace_id), trace.trace_id))
    taken: set[str] = set()
    for (department, _), drawn in groups.items():
        rate = strata.rate(department)
        drawn.sort()
        taken.update(trace_id for n, (draw, trace_id) in enumerate(drawn) if draw < rate or n < strata.minimum)
    return frozenset(taken)
