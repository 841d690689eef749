"""The measures reported by department: which metric, which threshold, where it applies, whether it only informs.

Also the counts that are not judgements: requests, retrieval scores, flags, refusals, feedback. Thresholds come from the
policy of the month; nothing here loads it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from compliance_guardrails.policy import Policy

from compliance_pipelines.core import aggregates, judge_metrics, judging
from compliance_pipelines.core.conformity import VerdictRules
from compliance_pipelines.core.records import Aggregate, Judgement, Score, Status, Trace
from compliance_pipelines.core.tables import frame

INFORMS_ONLY = ("citation_marker", "figure_grounding", "human_oversight")
TRACE_COLUMNS = ["trace_id", "department", "session_hash", "created_at", "observed_at"]


def metric_rules(
    policy: Policy, judgements: pd.DataFrame, calibrated: Collection[str] = ()
) -> list[aggregates.MetricRules]:
    """Every reported metric that the period has, in the order of the report."""
    citation = policy.thresholds.citation_compliance

    def neutrality_threshold(department: str) -> float:
        return policy.department(department).report_threshold

    def always(_: str) -> bool:
        return True

    def cited(department: str) -> bool:
        return policy.department(department).layers.citation_check

    return [
        *judge_metrics.neutrality_rules(judgements, neutrality_threshold, calibrated),
        aggregates.MetricRules("citation_compliance", lambda _: citation, cited, indicative=False),
        aggregates.MetricRules("citation_marker", lambda _: None, cited, indicative=True),
        aggregates.MetricRules("figure_grounding", lambda _: None, always, indicative=True),
        aggregates.MetricRules("human_oversight", lambda _: None, always, indicative=True),
        *judge_metrics.ragas_rules(judgements),
    ]


def oversight(traces: Sequence[Trace], scores: Sequence[Score]) -> list[Judgement]:
    """One `human_oversight` judgement per answer: 1 when a person rated or reviewed it."""
    return judging.judge(traces, "human_oversight", "oversight/1", judging.oversight_scorer(scores), 1.0, None)


def before(table: pd.DataFrame, cutoff: datetime) -> pd.DataFrame:
    """Rows created by the data cut-off; later ones belong to an explicit revision."""
    return table[table["created_at"] <= pd.Timestamp(cutoff)]


def aggregate(
    traces: pd.DataFrame,
    judgements: Iterable[pd.DataFrame],
    policy: Policy,
    period: tuple[datetime, datetime],
    calibrated: Collection[str] = (),
) -> list[Aggregate]:
    """Aggregates of a period. `traces` (at least TRACE_COLUMNS) decide which judgements count.

    calibrated: fingerprints of the judges whose verdicts may conclude.
    """
    parts = [part for part in judgements if len(part)]
    together = pd.concat(parts, ignore_index=True) if parts else frame([], Judgement)
    where = _places(together["trace_id"], traces["trace_id"])
    if (where < 0).any():
        together, where = together[where >= 0], where[where >= 0]
    counts = traces["department"].value_counts()
    limits = policy.thresholds
    return aggregates.gather(
        together,
        _conversations(traces)[where],
        {str(name): int(n) for name, n in counts.items()},
        [d.id for d in (*policy.departments, policy.unattributed)],
        metric_rules(policy, together, calibrated),
        period,
        VerdictRules(limits.min_n, limits.max_unscored_rate),
        policy.digest,
    )


def _places(asked: pd.Series, known: pd.Series) -> np.ndarray:
    """Row of each asked text in `known` (the last one of equals), -1 where it is not there; shape (len(asked),)."""
    # pyarrow's hash table takes the strings as they lie; pandas would first make a Python object of each
    backwards = pa.array(known[::-1], pa.large_string(), from_pandas=True)
    texts = pa.array(asked, pa.large_string(), from_pandas=True)
    # by its name: the module makes its functions at import, which a type checker cannot see
    found = pc.call_function("index_in", [texts], pc.SetLookupOptions(value_set=backwards, skip_nulls=True))
    at = found.to_numpy(zero_copy_only=False) if isinstance(found, pa.Array) else found.to_numpy()
    return np.where(np.isnan(at), -1, len(known) - 1 - at).astype(np.int64)


def _conversations(traces: pd.DataFrame) -> np.ndarray:
    """Code of the conversation of each trace; a trace without one is a conversation of its own."""
    sessions = traces["session_hash"]
    alone = (sessions.isna() | (sessions == "")).to_numpy(dtype=bool, na_value=True)
    codes, _ = pd.factorize(sessions)
    return np.where(alone, len(traces) + np.arange(len(traces)), codes)


def reasons(
    judgements: Iterable[pd.DataFrame], traces: Collection[str], counted: Callable[[str, str], bool]
) -> dict[str, int]:
    """How often each reason kept a trace from being scored (unscored and withheld only).

    traces: the ids that count, as in the aggregates. counted: (department, metric) → whether its row is published; what
    is not would follow from these totals less the published counts.
    """
    out: dict[str, int] = {}
    kept_out = {Status.UNSCORED.value, Status.WITHHELD.value}
    for whole in judgements:
        part = whole[whole["status"].isin(kept_out)]
        part = part[part["trace_id"].map(traces.__contains__).astype(bool)]
        told = {pair: counted(*pair) for pair in set(zip(part["department"], part["metric"], strict=True))}
        keep = np.array([told[pair] for pair in zip(part["department"], part["metric"], strict=True)], dtype=bool)
        for reason, n in part.loc[keep, "reason"].value_counts().items():
            out[str(reason)] = out.get(str(reason), 0) + int(n)
    return out
