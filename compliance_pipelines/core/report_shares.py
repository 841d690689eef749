"""Shares whose numerator would be a small group: printed as a bound, never as a value.

A rate and its N give the numerator back by one multiplication, so "2,1 %" of 95 names two traces although 95 is a
large base. Where the numerator, or what is left of the base, is 1 to `limit - 1`, a share is published as "< 5,3 %"
or "> 94,7 %": the bound follows from the base alone and says no more than "fewer than `limit`". Totals over such
shares are bounds made of published numbers only, so that no subtraction undoes the masking. Pure.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from compliance_pipelines.core import report_format as fmt


class Hidden(enum.StrEnum):
    """Which side of a share is too small to be published: the numerator, the rest of the base, or both."""

    LOW = "low"
    HIGH = "high"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Share:
    """`part` of `base` under the publication limit `limit` (groups of 1 to `limit - 1` are small)."""

    part: int
    base: int
    limit: int

    @property
    def hidden(self) -> Hidden | None:
        """Which side may not be published; None when the exact share may."""
        low, high = 0 < self.part < self.limit, 0 < self.base - self.part < self.limit
        if low and high:
            return Hidden.BOTH
        return Hidden.LOW if low else Hidden.HIGH if high else None

    @property
    def exact(self) -> bool:
        """Tell whether there is a share and it may be published as it is."""
        return self.base > 0 and self.hidden is None

    @property
    def least(self) -> int:
        """The smallest numerator that a reader of the published figures has to reckon with."""
        if self.hidden is None:
            return self.part
        floor = 1 if self.hidden is not Hidden.HIGH else 0
        return max(floor, self.base - self.limit + 1) if self.hidden is not Hidden.LOW else floor

    @property
    def bound(self) -> float | None:
        """The bound that is printed for a hidden share, in 0..1 (LOW: above, HIGH: below); None otherwise."""
        if self.hidden is None or self.hidden is Hidden.BOTH or not self.base:
            return None
        share = Decimal(self.limit) / Decimal(self.base)
        # Rounded away from the value: a printed bound is always true.
        up = share.quantize(Decimal("0.001"), rounding=ROUND_CEILING)
        return float(up if self.hidden is Hidden.LOW else (1 - share).quantize(Decimal("0.001"), ROUND_FLOOR))

    @property
    def text(self) -> str:
        """The share as printed: "2,1 %", "< 5,3 %", "> 94,7 %", "n. c." or the absence sign."""
        if not self.base:
            return fmt.ABSENT
        if self.hidden is None:
            return fmt.percent(self.part / self.base)
        if self.bound is None:
            return fmt.MASKED
        return f"{'<' if self.hidden is Hidden.LOW else '>'}{fmt.NNBSP}{fmt.percent(self.bound)}"


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of shares: `least` of `base`; `exact` False when some part of it is hidden."""

    least: int
    base: int
    exact: bool
    limit: int

    @property
    def share(self) -> float | None:
        """`least` of `base` in 0..1, exact or a lower bound; None without a base, or an exact one that is small."""
        if not self.base or (self.exact and self.small):
            return None
        return self.least / self.base

    @property
    def floor(self) -> float:
        """The share rounded down to a tenth of a percent: the bound that is printed."""
        low = Decimal(self.least) / Decimal(self.base or 1)
        return float(low.quantize(Decimal("0.001"), rounding=ROUND_FLOOR))

    @property
    def small(self) -> bool:
        """Tell whether the sum is itself a small group, or leaves one."""
        return Share(self.least, self.base, self.limit).hidden is not None

    @property
    def count_text(self) -> str:
        """The sum as printed: "82", "≥ 82", or "n. c." where it is itself too small."""
        if not self.exact:
            return f"≥{fmt.NNBSP}{fmt.integer(self.least)}"
        return fmt.MASKED if self.small else fmt.integer(self.least)

    @property
    def share_text(self) -> str:
        """The share as printed; the absence sign without a base."""
        if not self.base:
            return fmt.ABSENT
        if self.exact:
            return Share(self.least, self.base, self.limit).text
        return f"≥{fmt.NNBSP}{fmt.percent(self.floor)}"


def total(shares: Iterable[Share], limit: int, *, detailed: bool = True) -> Total:
    """Sum shares over departments.

    `detailed` False: the single shares are published nowhere, so the exact sum gives none of them back.
    """
    found = list(shares)
    base = sum(one.base for one in found)
    if not detailed or all(one.hidden is None for one in found):
        return Total(sum(one.part for one in found), base, True, limit)
    return Total(sum(one.least for one in found), base, False, limit)
