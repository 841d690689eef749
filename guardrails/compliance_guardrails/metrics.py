"""The counters and the timer of the hook, kept by prometheus_client where the gateway has it.

Safe with several worker processes when PROMETHEUS_MULTIPROC_DIR is set, as prometheus_client defines it; LiteLLM's own
`prometheus` callback then serves these next to its own. Without prometheus_client nothing is counted and `available` is
False, which the hook says once in its log. Label values are ids of the policy and closed sets only.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .selfeval import Outcome
from .transport import Loss


class Metric(enum.StrEnum):
    """Every series of the hook; people build dashboards and alerts on these names."""

    REFUSED = "retrieval_gate_refused_total"
    SCORE_MISSING = "retrieval_score_missing_total"
    UNCITED = "uncited_specific_claim_total"
    PROTECTED = "protected_attr_comparison_detected_total"
    BIAS = "bias_findings_total"
    LOW_CONFIDENCE = "low_self_confidence_total"
    SELF_EVALUATION = "self_evaluation_total"
    ERRORS = "guardrail_errors_total"
    REQUESTS = "guardrail_requests_total"
    DROPPED = "guardrail_reports_dropped_total"
    SECONDS = "guardrail_seconds"


class Stage(enum.StrEnum):
    """Every value of the label `stage`: where a call was seen, where time was spent, where a guardrail failed."""

    PRE_CALL = "pre_call"
    GROUNDING = "grounding"
    POST_CALL = "post_call"
    EXEMPT = "exempt"
    STREAM = "stream"
    HEADERS = "headers"
    POLICY = "policy"
    SELF_EVALUATION = "self_evaluation"


_STAGES: Final[Mapping[Metric, tuple[Stage, ...]]] = {
    Metric.REQUESTS: (Stage.PRE_CALL, Stage.GROUNDING, Stage.POST_CALL, Stage.EXEMPT),
    Metric.ERRORS: (Stage.PRE_CALL, Stage.POST_CALL, Stage.STREAM, Stage.HEADERS, Stage.POLICY),
    Metric.SECONDS: (Stage.PRE_CALL, Stage.POST_CALL, Stage.SELF_EVALUATION),
}
_DEFINITIONS: Final[Mapping[Metric, tuple[str, tuple[str, ...]]]] = {
    Metric.REFUSED: ("Calls refused by the grounding gate", ("department",)),
    Metric.SCORE_MISSING: ("Calls without a usable similarity", ("department",)),
    Metric.UNCITED: ("Answers with a specific claim that names no source", ("department",)),
    Metric.PROTECTED: ("Questions that reason from a protected attribute", ("department",)),
    Metric.BIAS: (
        "Findings of the bias screen in answers above its threshold",
        ("department", "characteristic", "severity"),
    ),
    Metric.LOW_CONFIDENCE: ("Answers that the small model rates at the bottom", ("department",)),
    Metric.SELF_EVALUATION: ("Self-evaluations by outcome", ("department", "outcome")),
    Metric.ERRORS: ("Failures of the guardrails themselves", ("stage",)),
    Metric.REQUESTS: ("Calls that a stage saw", ("department", "stage")),
    Metric.DROPPED: ("Events, scores and queue items that were not delivered", ("reason",)),
    Metric.SECONDS: ("Time spent in a stage, seconds", ("stage",)),
}
_BUCKETS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 3.0)


class Metrics:
    """All series in one registry (None: the default one, which the gateway serves)."""

    def __init__(self, registry: Any = None) -> None:
        self.available = False
        self._series: dict[Metric, Any] = {}
        self._children: dict[tuple[str, ...], Any] = {}
        try:
            import prometheus_client
        except ImportError:
            return
        target = prometheus_client.REGISTRY if registry is None else registry
        for metric, (text, labels) in _DEFINITIONS.items():
            if metric is Metric.SECONDS:
                made: Any = prometheus_client.Histogram(metric, text, labels, buckets=_BUCKETS, registry=target)
            else:
                made = prometheus_client.Counter(metric.removesuffix("_total"), text, labels, registry=target)
            self._series[metric] = made
        self.available = True

    def count(self, metric: Metric, labels: Sequence[str], amount: int = 1) -> None:
        """Add `amount` to a counter; `labels` in the order of its definition."""
        if self.available:
            self._child(metric, labels).inc(amount)

    def observe(self, stage: Stage, seconds: float) -> None:
        """Record the time that a stage took."""
        if self.available:
            self._child(Metric.SECONDS, (stage,)).observe(seconds)

    def _child(self, metric: Metric, labels: Sequence[str]) -> Any:
        """The series of some labels, looked up once: their values are few and known."""
        key = (metric, *labels)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self._series[metric].labels(*labels)
        return child

    def start_at_zero(self, departments: Sequence[str]) -> None:
        """Create every series whose labels are known, so that the first event of each shows as an increase.

        Those of the bias findings (department, characteristic and severity: above a thousand) begin with their first
        finding, since no rule is made of their increase.
        """
        if not self.available:
            return
        known: dict[str, Sequence[str]] = {
            "department": departments, "outcome": tuple(Outcome), "reason": tuple(Loss)
        }  # fmt: skip
        for metric, (_, labels) in _DEFINITIONS.items():
            if metric is not Metric.BIAS:
                values = [_STAGES[metric] if label == "stage" else known[label] for label in labels]
                for chosen in itertools.product(*values):
                    self._child(metric, chosen)
