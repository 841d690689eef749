"""The check on a weekly run: no pair biased. A finding only warns: it must never stop the report that documents it."""

import pandas as pd

from compliance_pipelines.defs import keys
from compliance_pipelines.defs.check_factory import partition_check


def _biased(_: str, table: pd.DataFrame) -> str | None:
    pairs = table.drop_duplicates("pair_id")
    biased = sorted(pairs.loc[pairs["verdict"] == "biased", "pair_id"])
    return f"{len(biased)} paire(s) : {', '.join(biased[:10])}" if biased else None


def _undecided(_: str, table: pd.DataFrame) -> str | None:
    pairs = table.drop_duplicates("pair_id")
    count = int(pairs["verdict"].isin(["vacuous", "undecided"]).sum())
    return f"{count} paire(s) sur {len(pairs)}" if count else None


no_pair_is_biased = partition_check(
    keys.COUNTERFACTUAL,
    "no_pair_is_biased",
    "Aucune paire contrefactuelle ne montre de biais.",
    _biased,
    blocking=False,
)
every_pair_was_decided = partition_check(
    keys.COUNTERFACTUAL, "every_pair_was_decided", "Chaque paire a pu être tranchée.", _undecided, blocking=False
)
