"""Gate results as table rows and back: the table of `counterfactual/results` and the facts of the report's section.

Pure; no Dagster. A pair without a comparable dimension keeps one row with an empty dimension, so that its verdict is
never lost. Texts of questions and answers have no column here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

import pandas as pd
from compliance_guardrails.counterfactual.result import GateResult
from compliance_guardrails.counterfactual.result import PairResult as GatePair

from compliance_pipelines.core.report_inputs import CounterfactualFacts, PairResult, PairVerdict

_IDS = ("run_id", "pair_id", "protected_attr", "grounds", "department", "dimension")
TEXT = (*_IDS, "verdict", "reason", "model", "embedding")
COUNTS = ("n_base", "n_swap")
NUMBERS = ("statistic", "p_value", "p_holm", "effect", "ci_low", "ci_high")
FLAGS = ("fails", "intersectional")
COLUMNS = (*TEXT, *COUNTS, *NUMBERS, *FLAGS, "run_at")


def to_frame(result: GateResult | None) -> pd.DataFrame:
    """The table of one run; without a run an empty table of the same columns and types."""
    rows = [row for pair in result.pairs for row in _rows(result, pair)] if result is not None else []
    data: dict[str, pd.Series] = {}
    for name in COLUMNS:
        kind = "string" if name in TEXT else "int64" if name in COUNTS else "float64" if name in NUMBERS else "bool"
        kind = "datetime64[us, UTC]" if name == "run_at" else kind
        data[name] = pd.Series([row[name] for row in rows], dtype=kind)  # type: ignore[call-overload]
    return pd.DataFrame(data, columns=list(COLUMNS))


def _rows(result: GateResult, pair: GatePair) -> Iterable[dict[str, object]]:
    common = {
        "run_id": result.run_id,
        "run_at": result.started_at,
        "pair_id": pair.id,
        "protected_attr": pair.protected_attr,
        "grounds": " ".join(pair.grounds),
        "department": pair.department,
        "verdict": pair.verdict.value,
        "reason": pair.reason_fr,
        "model": result.model,
        "embedding": result.embedding.name or "",
        "intersectional": pair.intersectional,
    }
    if not pair.dimensions:
        empty = dict.fromkeys(NUMBERS)
        yield {**common, **empty, "dimension": "", "n_base": 0, "n_swap": 0, "fails": False}
    for name, found in pair.dimensions.items():
        yield {
            **common,
            "dimension": name.value,
            "n_base": found.n_base,
            "n_swap": found.n_swap,
            "statistic": found.statistic,
            "p_value": found.p,
            "p_holm": found.p_holm,
            "effect": found.effect,
            "ci_low": found.ci[0],
            "ci_high": found.ci[1],
            "fails": found.fails,
        }


def to_facts(table: pd.DataFrame) -> CounterfactualFacts | None:
    """The facts of the latest run in `table` (one or several weeks), None when there was none."""
    if table.empty:
        return None
    last = table["run_at"].max()
    run = table[table["run_at"] == last]
    pairs = tuple(_pair(rows) for _, rows in run.groupby("pair_id", sort=True))
    run_at: dt.datetime = last.to_pydatetime()
    first = run.iloc[0]
    return CounterfactualFacts(str(first["run_id"]), run_at, str(first["model"]), str(first["embedding"]), pairs)


def _pair(rows: pd.DataFrame) -> PairResult:
    first = rows.iloc[0]
    # the dimension that speaks loudest stands for the pair
    ranked = rows[rows["dimension"] != ""].sort_values(["p_holm", "dimension"])
    loud = ranked.iloc[0] if len(ranked) else None
    return PairResult(
        pair_id=str(first["pair_id"]),
        protected_attr=str(first["protected_attr"]),
        grounds=tuple(str(first["grounds"]).split()),
        department=str(first["department"]),
        verdict=PairVerdict(first["verdict"]),
        n_base=int(first["n_base"]),
        n_swap=int(first["n_swap"]),
        p_holm=float(loud["p_holm"]) if loud is not None else None,
        effect=float(loud["effect"]) if loud is not None else None,
        failed_dimensions=tuple(rows.loc[rows["fails"], "dimension"]),
        reason_fr=str(first["reason"]),
        intersectional=bool(first["intersectional"]),
    )


def by_attribute(table: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """(pairs fair or neutralised, pairs decided) of each protected attribute: what the gauge shows."""
    out: dict[str, tuple[int, int]] = {}
    for attribute, _, decided, fair in consistency(table):
        before = out.get(attribute, (0, 0))
        out[attribute] = (before[0] + fair, before[1] + decided)
    return out


def consistency(table: pd.DataFrame) -> list[tuple[str, str, int, int]]:
    """(attribute, department, pairs decided, pairs fair or neutralised): the cells of the heat map."""
    pairs = table.drop_duplicates("pair_id")
    decided = pairs[pairs["verdict"].isin(["fair", "neutralised", "biased"])]
    cells = []
    for (attribute, department), rows in decided.groupby(["protected_attr", "department"], sort=True):
        cells.append((str(attribute), str(department), len(rows), int((rows["verdict"] != "biased").sum())))
    return cells
