"""The one-page summary: its table of departments, and `summary.json`, the same page for a program to read.

Verdict, key figures, departments and scope, with the digests that lead back to the whole report. Archived beside the
report, under the same manifest. Pure; canonical JSON, so that bytes repeat.
"""

from __future__ import annotations

import json
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
from compliance_pipelines.core.report_tree import Cell, Column, FactList, Report, Table

SCHEMA = "compliance-pipelines/summary/1"
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
        masked_cell() if hidden else Cell(fmt.against(row.mean, row.threshold), strong=True),
        Cell(fmt.decimal(row.threshold)),
        verdict_cell(row),
        *_cited(context, cited),
    )


def _cited(context: Context, row: Aggregate | None) -> tuple[Cell, Cell]:
    if row is None:
        return Cell(fmt.ABSENT, muted=True), Cell(fmt.ABSENT, muted=True)
    value = fmt.against(row.mean, row.threshold, 1, as_percent=True)
    return (masked_cell() if context.hides(row) else Cell(value, strong=True)), verdict_cell(row)


def summary_pdf_name(month: str) -> str:
    """The archived file name of the one-page PDF of a month."""
    return f"bias-summary-{month}.pdf"


def summary_json(report: Report) -> bytes:
    """Return the first page as canonical JSON: verdict, reason, key figures, scope, identity."""
    first = report.sections[0]
    scope = [pair for block in first.blocks if isinstance(block, FactList) for pair in block.items]
    document = {
        "schema": SCHEMA,
        "month": report.month,
        "revision": report.revision,
        "verdict": report.verdict.value,
        "reason": report.verdict_reason,
        "synthetic": report.synthetic,
        "indicative": report.lexical,
        "signed": report.signed,
        "policy_digest": report.policy_digest,
        "input_digest": report.input_digest,
        "code_version": report.code_version,
        "scope": dict(scope),
        "figures": [
            {"metric": item.metric, "name": item.name, "value": item.value, "state": item.state}
            for item in report.figures
            if item.section == first.number
        ],
        "departments": {"columns": _columns(report.summary), "rows": _cells(report.summary)},
    }
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return (text + "\n").encode("utf-8")


def _columns(table: Table | None) -> list[str]:
    return (
        []
        if table is None
        else ["department", "n", "neutrality", "threshold", "neutrality_verdict", "citations", "citations_verdict"]
    )


def _cells(table: Table | None) -> list[list[str]]:
    return [] if table is None else [[cell.text for cell in row] for row in table.rows]
