"""What Ragas is given and what its scores mean here: metrics, eligibility, content keys, readings. Ragas itself is not
imported.

Unscored is not zero: Ragas answers NaN where a reply held no statement, and a cosine may leave the unit interval; both
get a reason. Judgements are addressed by metric and sample content.
"""

from __future__ import annotations

import enum
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence

from compliance_pipelines.core.judge_samples import MAX_CHARS, TOO_LONG, Ineligible, Reading, Sample
from compliance_pipelines.core.judging import NO_ANSWER, NO_CONTEXT, NO_QUESTION
from compliance_pipelines.core.records import Judgement, Status, Trace

NO_STATEMENT = "no_statement"
OUT_OF_RANGE = "score_out_of_range"
# a cosine of equal vectors may read 1.0000000002
_ROUNDING = 1e-6


class RagasMetric(enum.StrEnum):
    """The metric names that are stored."""

    FAITHFULNESS = "ragas_faithfulness"
    ANSWER_RELEVANCY = "ragas_answer_relevancy"
    CONTEXT_PRECISION = "ragas_context_precision"


NEEDS_CONTEXT = frozenset({RagasMetric.FAITHFULNESS, RagasMetric.CONTEXT_PRECISION})


def ragas_sample(trace: Trace, metric: RagasMetric) -> Sample | Ineligible:
    """The sample of a trace for one metric, or why there is none. Answer relevancy looks at no document."""
    if not trace.answer:
        return Ineligible(NO_ANSWER)
    if not trace.question:
        return Ineligible(NO_QUESTION)
    contexts = tuple(c for c in trace.contexts if c.strip()) if metric in NEEDS_CONTEXT else ()
    if metric in NEEDS_CONTEXT and not contexts:
        return Ineligible(NO_CONTEXT)
    sample = Sample(trace.question, trace.answer, contexts)
    return Ineligible(TOO_LONG, unscored=True) if sample.chars > MAX_CHARS else sample


def ragas_key(metric: RagasMetric, sample: Sample) -> str:
    """Content address of one metric on one sample."""
    return hashlib.sha256(f"{metric.value}\n{sample.key}".encode()).hexdigest()


def reading(value: float) -> Reading:
    """A Ragas value as a reading. "No statement" is what the model said of the answer, so it is kept as a label."""
    if math.isnan(value):
        return Reading(label=NO_STATEMENT)
    if not math.isfinite(value) or not -_ROUNDING <= value <= 1 + _ROUNDING:
        return Reading(reason=OUT_OF_RANGE)
    return Reading(value=round(min(1.0, max(0.0, value)), 6))


def ragas_judgements(
    traces: Sequence[Trace],
    sampled: Callable[[Trace], bool],
    readings: Mapping[str, Reading],
    evaluator: str,
    flagged_weight: float,
) -> list[Judgement]:
    """One row per trace and metric. `readings` by content key; a sampled trace must have its reading."""
    return [_row(t, metric, sampled, readings, evaluator, flagged_weight) for t in traces for metric in RagasMetric]


def _row(
    trace: Trace,
    metric: RagasMetric,
    sampled: Callable[[Trace], bool],
    readings: Mapping[str, Reading],
    evaluator: str,
    flagged_weight: float,
) -> Judgement:
    found = ragas_sample(trace, metric)
    value, reason = None, None
    if isinstance(found, Ineligible):
        status, reason = Status.UNSCORED if found.unscored else Status.NOT_APPLICABLE, found.reason
    elif not sampled(trace):
        status, reason = Status.NOT_SAMPLED, "sampling"
    else:
        read = readings[ragas_key(metric, found)]
        value, reason = read.value, None if read.value is not None else read.reason or read.label or "no_reading"
        status = Status.SCORED if value is not None else Status.UNSCORED
    weight = flagged_weight if trace.flagged else 1.0
    return Judgement(
        trace_id=trace.trace_id,
        department=trace.department,
        observed_at=trace.observed_at,
        metric=metric.value,
        value=value,
        status=status,
        reason=reason,
        evaluator=evaluator,
        weight=weight,
    )
