"""A night's traces through Ragas: which are sampled, what is asked, one row per trace and metric.

The shell between the pure selection and the evaluator. Nothing here knows Dagster.
"""

from __future__ import annotations

from collections.abc import Sequence

from compliance_guardrails.policy import Policy

from compliance_pipelines.adapters.judge_pool import Ended
from compliance_pipelines.adapters.ragas_eval import RagasEvaluator
from compliance_pipelines.core.judge_samples import Sample
from compliance_pipelines.core.judge_sampling import Strata, chosen
from compliance_pipelines.core.ragas_samples import RagasMetric, ragas_judgements, ragas_sample
from compliance_pipelines.core.records import Judgement, Trace


def ragas_night_of(
    evaluator: RagasEvaluator, traces: Sequence[Trace], policy: Policy, label: str
) -> tuple[list[Judgement], Ended]:
    """The rows of one night and why it ended; `label` names the batch, so that a killed one resumes."""
    sampling = policy.sampling
    strata = Strata(lambda d: policy.department(d).sampling_rate, sampling.salt, sampling.min_per_stratum)
    found = [(t, metric, ragas_sample(t, metric)) for t in traces for metric in RagasMetric]
    eligible = {t.trace_id: t for t, _, sample in found if isinstance(sample, Sample)}
    taken = chosen(eligible.values(), strata)
    asked = [(metric, sample) for t, metric, sample in found if isinstance(sample, Sample) and t.trace_id in taken]
    readings, ended = evaluator.evaluate(label, asked)
    weight = policy.thresholds.flagged_weight
    rows = ragas_judgements(traces, lambda t: t.trace_id in taken, readings, evaluator.evaluator, weight)
    return rows, ended
