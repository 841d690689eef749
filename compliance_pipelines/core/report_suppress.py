"""Small groups: which rows must not be published, and totals that cannot give them back.

A row whose base is 1 to `limit - 1` is masked whole, in every table, chart and attachment. Totals are then
taken over the published rows only, so that no subtraction recovers a masked base (complementary suppression
by removing the marginal: no large department loses its figures to protect a small one). A base of 0 is not a
group and is shown. Shares of a large base give their numerator back as well: those are `report_shares`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.report_inputs import CoverageFacts, OversightFacts

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Mask:
    """What is masked: departments altogether, and single (department, metric) rows."""

    limit: int
    departments: frozenset[str]
    rows: frozenset[tuple[str, str]]

    def hides(self, department: str, metric: str | None = None) -> bool:
        """Tell whether a department (or one metric of it) may not be published."""
        return department in self.departments or (metric is not None and (department, metric) in self.rows)

    def small(self, base: int) -> bool:
        """Tell whether a base is too small for a statistic to be published on it."""
        return 0 < base < self.limit

    @property
    def any(self) -> bool:
        """Tell whether anything at all is masked."""
        return bool(self.departments or self.rows)


def build_mask(
    aggregates: Iterable[Aggregate],
    coverage: Iterable[CoverageFacts],
    oversight: Iterable[OversightFacts],
    limit: int,
) -> Mask:
    """Derive the mask of a month: a department small by any count of its traces is masked everywhere."""
    departments: set[str] = set()
    rows: set[tuple[str, str]] = set()
    for row in aggregates:
        if 0 < row.n_traces < limit:
            departments.add(row.department)
        # Eligible, sampled and scored differ by small numbers as well: each is a base someone could subtract.
        if any(0 < base < limit for base in (row.n_eligible, row.n_sampled, row.n_scored)):
            rows.add((row.department, row.metric))
    departments.update(facts.department for facts in coverage if 0 < facts.requests < limit)
    departments.update(facts.department for facts in oversight if 0 < facts.traces < limit)
    return Mask(limit, frozenset(departments), frozenset(rows))


def published(items: Sequence[T], mask: Mask, department: Callable[[T], str]) -> tuple[T, ...]:
    """Keep the items of departments that may be published."""
    return tuple(item for item in items if not mask.hides(department(item)))


def safe_total(items: Iterable[T], mask: Mask, base: Callable[[T], int]) -> int:
    """Sum a base over the items where that base itself is not small."""
    return sum(base(item) for item in items if not mask.small(base(item)))
