"""Checks on the month's figures: findings warn and name the departments; they never stop the report."""

from collections.abc import Callable

import pandas as pd

from compliance_pipelines.core.conformity import ROUNDING
from compliance_pipelines.core.records import Verdict
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.check_factory import partition_check


def _below(*metrics: str) -> Callable[[str, pd.DataFrame], str | None]:
    def finding(_: str, table: pd.DataFrame) -> str | None:
        rows = table[(table["metric"].isin(metrics)) & (table["mean"] < table["threshold"] - ROUNDING)]
        return (
            ", ".join(f"{r.department} (N {r.n_scored}) : {r.mean:.3f} < {r.threshold:.2f}" for r in rows.itertuples())
            or None
        )

    return finding


def _insufficient(_: str, table: pd.DataFrame) -> str | None:
    rows = table[(table["verdict"] == Verdict.INSUFFISANT.value) & (table["n_traces"] > 0)]
    return ", ".join(f"{r.department} {r.metric} (N {r.n_scored})" for r in rows.itertuples()) or None


neutrality_meets_threshold = partition_check(
    keys.DEPARTMENT_MONTHLY,
    "neutrality_meets_its_threshold",
    "Moyenne du mois au moins égale au seuil (évaluateur lexical : indicatif).",
    _below("judge_neutrality", "lexical_neutrality"),
    blocking=False,
)
citations_meet_threshold = partition_check(
    keys.DEPARTMENT_MONTHLY,
    "citations_meet_their_threshold",
    "Part des réponses à affirmations précises entièrement sourcées.",
    _below("citation_compliance"),
    blocking=False,
)
enough_data = partition_check(
    keys.DEPARTMENT_MONTHLY,
    "every_verdict_has_enough_data",
    "Effectif et part non évaluée permettent de conclure.",
    _insufficient,
    blocking=False,
)
