"""Judgements gathered by department and period: N, means, p5, minimum, share below threshold, 95 % interval, verdict.

The input is a frame of judgements (core.tables.JUDGEMENTS) plus the number of traces by department; the output is one
`Aggregate` per department and metric, also for departments with no trace, so that silence is visible.
"""

from __future__ import annotations

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
    conversations: np.ndarray,
    traces_by_department: Mapping[str, int],
    departments: Sequence[str],
    metrics: Sequence[MetricRules],
    period: tuple[datetime, datetime],
    rules: conformity.VerdictRules,
    policy_digest: str,
) -> list[Aggregate]:
    """Aggregates for every department and metric, in the order given.

    conversations: integer code of the conversation of each judgement's trace, shape (len(judgements),); a trace without
    one has a code of its own.
    """
    groups = _groups(judgements, conversations)
    out = []
    for metric in metrics:
        for department in departments:
            group = groups.get((department, metric.metric), _NOTHING)
            n_traces = traces_by_department.get(department, 0)
            out.append(_one(group, n_traces, department, metric, period, rules, policy_digest))
    return out


@dataclass(frozen=True, slots=True)
class _Group:
    """One department and metric: how many judgements of each status; conversation, value and weight of the scored."""

    counts: Mapping[str, int]
    conversations: np.ndarray
    values: np.ndarray
    weights: np.ndarray


_NOTHING = _Group({}, np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))


def _groups(judgements: pd.DataFrame, conversations: np.ndarray) -> dict[tuple[str, str], _Group]:
    """Rows by department and metric in the order they came; texts are looked at once each, as codes."""
    department, departments = pd.factorize(judgements["department"])
    metric, metrics = pd.factorize(judgements["metric"])
    status, statuses = pd.factorize(judgements["status"])
    code = department * len(metrics) + metric
    size = len(departments) * len(metrics)
    named = (department >= 0) & (metric >= 0) & (status >= 0)
    counts = np.bincount(code[named] * len(statuses) + status[named], minlength=size * len(statuses))
    counts = counts.reshape(size, len(statuses))
    kept = np.flatnonzero(named & (status == _code_of(list(statuses), Status.SCORED)))
    # small integers are sorted by radix, which keeps the order of the rows within a group
    narrow = code[kept].astype(np.uint16) if size <= np.iinfo(np.uint16).max else code[kept]
    kept = kept[np.argsort(narrow, kind="stable")]
    ends = np.cumsum(np.bincount(code[kept], minlength=size))
    values = judgements["value"].to_numpy(dtype=np.float64)[kept]
    weights = judgements["weight"].to_numpy(dtype=np.float64)[kept]
    talks = conversations[kept]
    out = {}
    for group in np.flatnonzero(counts.sum(axis=1)):
        which = slice(int(ends[group - 1]) if group else 0, int(ends[group]))
        of = dict(zip(map(str, statuses), counts[group].tolist(), strict=True))
        key = str(departments[group // len(metrics)]), str(metrics[group % len(metrics)])
        out[key] = _Group(of, talks[which], values[which], weights[which])
    return out


def _code_of(texts: list[str], text: str) -> int:
    return texts.index(text) if text in texts else -1


def _one(
    group: _Group,
    n_traces: int,
    department: str,
    metric: MetricRules,
    period: tuple[datetime, datetime],
    rules: conformity.VerdictRules,
    policy_digest: str,
) -> Aggregate:
    counts, values, weights = group.counts, group.values, group.weights
    n_unscored = counts.get(Status.UNSCORED, 0) + counts.get(Status.WITHHELD, 0)
    n_sampled = counts.get(Status.SCORED, 0) + n_unscored
    threshold = metric.threshold(department)
    mean = float(values.mean()) if len(values) else None
    interval = _interval(group, department, metric.metric, period)
    low, high = interval or (None, None)
    return Aggregate(
        department=department,
        period_start=period[0],
        period_end=period[1],
        metric=metric.metric,
        n_traces=n_traces,
        n_eligible=n_sampled + counts.get(Status.NOT_SAMPLED, 0),
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
    group: _Group, department: str, metric: str, period: tuple[datetime, datetime]
) -> tuple[float, float] | None:
    values = group.values
    if not len(values):
        return None
    if metric in BINARY_METRICS:
        return statistics.wilson(round(float(values.sum())), len(values))
    # numbered as they appear within the group: the bootstrap draws the same whatever else the period holds
    conversations, _ = pd.factorize(group.conversations)
    seed = statistics.stable_seed(department, metric, period[0].isoformat(), period[1].isoformat())
    return statistics.mean_interval(values, conversations, seed)
