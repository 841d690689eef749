"""Judgements gathered by department and period: N, means, p5, minimum, share below threshold, 95 % interval, verdict.

The input is a frame of judgements (core.tables.JUDGEMENTS) plus the number of traces by department; the output is one
`Aggregate` per department and metric, also for departments with no trace, so that silence is visible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from compliance_pipelines.core import conformity, statistics
from compliance_pipelines.core.records import Aggregate, Status

BINARY_METRICS = frozenset({"citation_compliance", "citation_marker", "human_oversight", "sycophancy_flip"})


@dataclass(frozen=True, slots=True)
class MetricRules:
    """How one metric is judged. Functions take a department id.

    threshold: None where the metric has none. applies: False where policy switches it off. indicative: the evaluator
    is lexical or uncalibrated, or the metric informs only.
    """

    metric: str
    threshold: Callable[[str], float | None]
    applies: Callable[[str], bool]
    indicative: bool


def gather(
    judgements: pd.DataFrame,
    clusters: Mapping[str, str],
    traces_by_department: Mapping[str, int],
    departments: Sequence[str],
    metrics: Sequence[MetricRules],
    period: tuple[datetime, datetime],
    rules: conformity.VerdictRules,
    policy_digest: str,
) -> list[Aggregate]:
    """Aggregates for every department and metric, in the order given.

    clusters: conversation of each trace id; traces without one are conversations of their own.
    """
    columns = {name: judgements[name].to_numpy() for name in ("trace_id", "department", "metric", "status")}
    values = judgements["value"].to_numpy(dtype=np.float64)
    weights = judgements["weight"].to_numpy(dtype=np.float64)
    members = judgements.groupby(["department", "metric"], sort=False).indices
    out = []
    for metric in metrics:
        for department in departments:
            rows = np.asarray(members.get((department, metric.metric), ()), dtype=np.int64)
            group = _Group(columns["trace_id"][rows], columns["status"][rows], values[rows], weights[rows])
            n_traces = traces_by_department.get(department, 0)
            out.append(_one(group, clusters, n_traces, department, metric, period, rules, policy_digest))
    return out


@dataclass(frozen=True, slots=True)
class _Group:
    """The judgements of one department and metric, as parallel arrays."""

    trace_ids: np.ndarray
    statuses: np.ndarray
    values: np.ndarray
    weights: np.ndarray


def _one(
    group: _Group,
    clusters: Mapping[str, str],
    n_traces: int,
    department: str,
    metric: MetricRules,
    period: tuple[datetime, datetime],
    rules: conformity.VerdictRules,
    policy_digest: str,
) -> Aggregate:
    counts = Counter(group.statuses.tolist())
    n_unscored = counts[Status.UNSCORED.value] + counts[Status.WITHHELD.value]
    n_sampled = counts[Status.SCORED.value] + n_unscored
    kept = group.statuses == Status.SCORED.value
    values, weights = group.values[kept], group.weights[kept]
    threshold = metric.threshold(department)
    mean = float(values.mean()) if len(values) else None
    interval = _interval(group.trace_ids[kept], values, clusters, department, metric.metric, period)
    low, high = interval or (None, None)
    return Aggregate(
        department=department,
        period_start=period[0],
        period_end=period[1],
        metric=metric.metric,
        n_traces=n_traces,
        n_eligible=n_sampled + counts[Status.NOT_SAMPLED.value],
        n_sampled=n_sampled,
        n_scored=len(values),
        n_unscored=n_unscored,
        mean=mean,
        weighted_mean=statistics.weighted_mean(values, weights) if len(values) else None,
        p5=float(np.quantile(values, 0.05)) if len(values) else None,
        min=float(values.min()) if len(values) else None,
        share_below=float((values < threshold).mean()) if len(values) and threshold is not None else None,
        ci_low=low,
        ci_high=high,
        threshold=threshold,
        verdict=conformity.decide(
            applies=metric.applies(department),
            n_sampled=n_sampled,
            n_scored=len(values),
            n_unscored=n_unscored,
            mean=mean,
            threshold=threshold,
            indicative=metric.indicative,
            rules=rules,
        ),
        margin_established=conformity.margin_established(low, high, threshold),
        policy_digest=policy_digest,
    )


def _interval(
    trace_ids: np.ndarray,
    values: np.ndarray,
    clusters: Mapping[str, str],
    department: str,
    metric: str,
    period: tuple[datetime, datetime],
) -> tuple[float, float] | None:
    if not len(values):
        return None
    if metric in BINARY_METRICS:
        return statistics.wilson(round(float(values.sum())), len(values))
    conversations, _ = pd.factorize(
        np.array([clusters.get(trace_id) or trace_id for trace_id in trace_ids], dtype=object)
    )
    seed = statistics.stable_seed(department, metric, period[0].isoformat(), period[1].isoformat())
    return statistics.mean_interval(values, conversations.astype(np.int64), seed)
