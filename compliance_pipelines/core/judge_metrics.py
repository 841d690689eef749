"""How neutrality, Ragas and probe figures are ruled: which metric names a period has, and which verdicts may conclude.

A period has judge_neutrality, lexical_neutrality or both (a judge set up in mid-month), each on its own rows: never
mixed. The judge's verdict concludes only when every judge of the period has an adequate calibration; otherwise it reads
"Indicatif", as the lexical one always does. Ragas informs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import pandas as pd

from compliance_pipelines.core import judge_samples, neutrality
from compliance_pipelines.core.aggregates import MetricRules
from compliance_pipelines.core.ragas_samples import RagasMetric
from compliance_pipelines.core.records import Status


def judged_by(judgements: pd.DataFrame, metric: str) -> frozenset[str]:
    """Fingerprints that judged `metric`, scored or withheld.

    Who was away, or not known yet, while rows stayed unscored has judged nothing that a calibration could vouch for.
    """
    rows = judgements[judgements["status"].isin([Status.SCORED.value, Status.WITHHELD.value])]
    return _of(rows, metric)


def evaluators(judgements: pd.DataFrame, metric: str) -> frozenset[str]:
    """Fingerprints that judged `metric`; where nobody judged a row of it, those that were to."""
    return judged_by(judgements, metric) or _of(judgements, metric)


def _of(judgements: pd.DataFrame, metric: str) -> frozenset[str]:
    return frozenset(judgements.loc[judgements["metric"] == metric, "evaluator"].unique())


def neutrality_rules(
    judgements: pd.DataFrame, threshold: Callable[[str], float], calibrated: Collection[str]
) -> list[MetricRules]:
    """Rules of the neutrality metrics that the period has; the lexical one when it has none."""
    judges = evaluators(judgements, judge_samples.METRIC)
    lexical = evaluators(judgements, neutrality.METRIC)
    out = []
    if judges:
        indicative = not judges <= set(calibrated)
        out.append(MetricRules(judge_samples.METRIC, threshold, _always, indicative=indicative))
    if lexical or not judges:
        out.append(MetricRules(neutrality.METRIC, threshold, _always, indicative=True))
    return out


def ragas_rules(judgements: pd.DataFrame) -> list[MetricRules]:
    """Rules of the Ragas metrics that the period has, without thresholds."""
    return [
        MetricRules(metric.value, lambda _: None, _always, indicative=True)
        for metric in RagasMetric
        if evaluators(judgements, metric.value)
    ]


def _always(_: str) -> bool:
    return True
