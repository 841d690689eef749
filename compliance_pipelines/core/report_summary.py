"""The one-page summary: its table of departments, and `summary.json`, the same page for a program to read.

Verdict, key figures, departments and scope, with the digests that lead back to the whole report. Archived beside the
report, under the same manifest. Pure; canonical JSON, so that bytes repeat.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.report_context import (
    CITATION,
    JUDGE,
    LEXICAL,
    LEXICAL_TAG,
    Context,
    masked_cell,
    verdict_cell,
)
from compliance_pipelines.core.report_tree import Cell, Column, FactList, Figure, Report, Table

SCHEMA = "compliance-pipelines/summary/2"
JSON_NAME = "summary.json"


_NOTE = "Les plus éloignées de leur seuil de neutralité d’abord."


def first_rows(table: Table, count: int) -> Table:
    """The table cut to its first rows, saying how many are left to the whole report and to `summary.json`."""
    left = len(table.rows) - count
    if left <= 0:
        return table
    note = f"{_NOTE} {fmt.plural(left, 'autre direction', 'autres directions')} dans le rapport complet."
    return replace(table, rows=table.rows[:count], note=note)


def summary_table(context: Context) -> Table | None:
    """Neutrality and citations of each department, worst first, as they are printed in sections 2 and 3."""
    metric = JUDGE if JUDGE in context.neutrality_metrics else LEXICAL
    rows = context.rows(metric)
    if not rows:
        return None
    cited = {row.department: row for row in context.rows(CITATION)}
    tag = f" ({LEXICAL_TAG})" if metric == LEXICAL else ""
    return Table(
        caption=f"Directions : neutralité{tag} et citation des sources",
        columns=(
            Column("Direction", 30),
            Column("N", 12, "right"),
            Column("Neutralité", 16, "right"),
            Column("Seuil", 12, "right"),
            Column("Statut", 36),
            Column("Citations", 18, "right"),
            Column("Statut", 36),
        ),
        rows=tuple(_row(context, row, cited.get(row.department)) for row in rows),
        note=_NOTE,
    )


def _row(context: Context, row: Aggregate, cited: Aggregate | None) -> tuple[Cell, ...]:
    hidden = context.hides(row)
    return (
        Cell(context.label(row.department), strong=True),
        masked_cell() if hidden else Cell(fmt.integer(row.n_scored)),
        masked_cell() if hidden else Cell(context.value(row), strong=True),
        Cell(fmt.decimal(row.threshold)),
        verdict_cell(context, row),
        *_cited(context, cited),
    )


def _cited(context: Context, row: Aggregate | None) -> tuple[Cell, Cell]:
    if row is None:
        return Cell(fmt.ABSENT, muted=True), Cell(fmt.ABSENT, muted=True)
    value = context.value(row, as_percent=True)
    return (masked_cell() if context.hides(row) else Cell(value, strong=True)), verdict_cell(context, row)


def summary_pdf_name(month: str) -> str:
    """The archived file name of the one-page PDF of a month."""
    return f"bias-summary-{month}.pdf"


def summary_json(report: Report) -> bytes:
    """Return the first page as canonical JSON: verdict, reason, key figures, departments, scope, identity.

    Values are numbers: shares and scores in 0..1, never display strings. What the page masks is null with its `state`;
    where the page prints a bound, `below`, `above` or `at_least` holds it.
    """
    first = report.sections[0]
    scope = [pair for block in first.blocks if isinstance(block, FactList) for pair in block.items]
    document = {
        "schema": SCHEMA,
        "month": report.month,
        "revision": report.revision,
        "replaces": report.replaces or None,
        "verdict": report.verdict.value,
        "reason": report.verdict_reason,
        "synthetic": report.synthetic,
        "indicative": report.lexical,
        "signed": report.signed,
        "policy_digest": report.policy_digest,
        "input_digest": report.input_digest,
        "code_version": report.code_version,
        "scope": dict(scope),
        "figures": _key_figures([item for item in report.figures if item.section == first.number]),
        "departments": _departments(report),
    }
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return (text + "\n").encode("utf-8")


def _key_figures(found: list[Figure]) -> list[dict[str, object]]:
    """The tiles and counts of the first page; a share stands with its `n`, which is no figure of its own."""
    values = {(item.metric, item.name): item for item in found}
    out: list[dict[str, object]] = []
    for item in found:
        share = values.get((item.metric, f"n_{item.name}"))
        if item.name.startswith("n_share") or item.name.endswith("_at_least"):
            continue
        line: dict[str, object] = {"metric": item.metric, "name": item.name, "value": item.value, "state": item.state}
        line["unit"] = _unit(item.name)
        line["n"] = None if share is None else share.value
        bound = values.get((item.metric, f"{item.name}_at_least"))
        out.append(line if bound is None else {**line, "at_least": bound.value})
    return out


def _unit(name: str) -> str:
    if name == "verdict":
        return "verdict"
    if name.startswith("share_"):
        return "ratio"
    return "departments" if name.startswith("departments_") else "traces"


def _departments(report: Report) -> list[dict[str, object]]:
    """One object a department, worst first: its neutrality and its citations."""
    found: dict[str, dict[str, dict[str, Figure]]] = {}
    for item in report.figures:
        if item.metric in (JUDGE, LEXICAL, CITATION) and item.section in (2, 3):
            found.setdefault(item.department, {}).setdefault(item.metric, {})[item.name] = item
    labels = dict(report.labels)
    return [
        {
            "id": department,
            "label": labels.get(department, department),
            "neutrality": _measure(metrics, JUDGE if JUDGE in metrics else LEXICAL, "score"),
            "citations": _measure(metrics, CITATION, "ratio"),
        }
        for department, metrics in found.items()
    ]


def _measure(metrics: Mapping[str, Mapping[str, Figure]], metric: str, unit: str) -> dict[str, object] | None:
    figures = metrics.get(metric)
    if figures is None:
        return None
    values = {name: item.value for name, item in figures.items()}
    interval = [values.get("ci_low"), values.get("ci_high")]
    mean = figures.get("mean", figures.get("n_scored"))
    line: dict[str, object] = {
        "metric": metric,
        "unit": unit,
        "n": values.get("n_scored"),
        "value": values.get("mean"),
        "interval_95": None if None in interval else interval,
        "threshold": values.get("threshold"),
        "verdict": values.get("verdict"),
        "state": mean.state if mean else "non mesuré",
    }
    bounds = {name: values[f"mean_{name}"] for name in ("below", "above") if f"mean_{name}" in values}
    return {**line, **bounds}
