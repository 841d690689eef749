"""The typed results of the attribute and bias detectors, and the error of `action: block`.

Plain frozen values without behaviour beyond their own invariants: no rule, no word list, no policy. `start` and `end`
are offsets into the text as it was given, so that `text[start:end]` is the evidence.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from decimal import Decimal


class Severity(enum.StrEnum):
    """How grave one finding is; the weights are policy data (rules/bias_domains.yaml)."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"

    @property
    def rank(self) -> int:
        """0 for LOW up to 3 for CRITICAL, to compare two severities."""
        return _RANKS[self]


_RANKS = {Severity.LOW: 0, Severity.MEDIUM: 1, Severity.HIGH: 2, Severity.CRITICAL: 3}


@dataclass(frozen=True, slots=True)
class AttributeFlag:
    """A query reasons from a protected attribute. `grounds` are ids of Code pénal 225-1 (policy/data/grounds.yaml)."""

    rule: str
    attribute: str
    grounds: tuple[str, ...]
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BiasEvidence:
    """One biased passage. `score` is the weight of the severity × the multiplier of the domain, exactly."""

    characteristic: str
    severity: Severity
    evidence: str
    score: Decimal
    start: int
    end: int
    rule: str


@dataclass(frozen=True, slots=True)
class BiasScreen:
    """The screen of one text under one domain profile. `acts` is `total > threshold`, strictly.

    `capped` says that the text held more findings than are reported (see `matcher.MAX_FINDINGS`).
    """

    domain: str
    findings: tuple[BiasEvidence, ...]
    total: Decimal
    threshold: Decimal
    acts: bool
    capped: bool = False


class BiasDetectedError(Exception):
    """Raised by whoever carries out `action: block`. The message holds codes and figures, never the text."""

    def __init__(self, findings: tuple[BiasEvidence, ...], total: Decimal, threshold: Decimal, domain: str) -> None:
        self.findings = findings
        self.total = total
        self.threshold = threshold
        self.domain = domain
        names = ", ".join(sorted({finding.characteristic for finding in findings}))
        super().__init__(f"bias total {total} > {threshold} (domain {domain}): {names}")

    def __reduce__(
        self,
    ) -> tuple[type[BiasDetectedError], tuple[tuple[BiasEvidence, ...], Decimal, Decimal, str]]:
        return (type(self), (self.findings, self.total, self.threshold, self.domain))
