"""Checks on judgements: each a value in the unit interval exactly when scored, and few left unscored."""

import numpy as np
import pandas as pd

from compliance_pipelines.core.records import Status
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.check_factory import partition_check

_ASSETS = {"neutrality": keys.NEUTRALITY, "citations": keys.CITATIONS, "figure_grounding": keys.FIGURE_GROUNDING}


def _in_unit_interval(_: str, table: pd.DataFrame) -> str | None:
    scored = table["status"] == Status.SCORED.value
    values = table.loc[scored, "value"]
    wrong = int((~np.isfinite(values) | (values < 0) | (values > 1)).sum()) + int(
        table.loc[~scored, "value"].notna().sum()
    )
    return f"{wrong} valeur(s)" if wrong else None


def _reasons(_: str, table: pd.DataFrame) -> str | None:
    bare = int(
        (table["status"] != Status.SCORED.value).sum()
        - table.loc[table["status"] != Status.SCORED.value, "reason"].notna().sum()
    )
    return f"{bare} jugement(s) sans motif" if bare else None


checks = [
    partition_check(
        key,
        "scores_in_unit_interval",
        "Une valeur entre 0 et 1 là, et là seulement, où le statut est scored.",
        _in_unit_interval,
        blocking=True,
    )
    for key in _ASSETS.values()
] + [
    partition_check(key, "what_is_unscored_says_why", "Aucun jugement manquant sans motif.", _reasons, blocking=True)
    for key in _ASSETS.values()
]
neutrality_values, citations_values, grounding_values, neutrality_reasons, citations_reasons, grounding_reasons = checks
