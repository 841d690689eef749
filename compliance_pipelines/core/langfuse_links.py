"""Addresses in Langfuse's interface for what Dagster shows: a trace, the traces of a department over a period.

Made of the server's address and the project's id, both settings; without them there is no link. The list's filter is
written as Langfuse's interface writes its own (column;type;key;operator;value). Ids alone, never text of a trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

import pandas as pd

STAMP = "compliance_department"
SHOWN = 20


@dataclass(frozen=True, slots=True)
class LangfuseLinks:
    """`project`: address of the project in the interface (https://host/project/ID); empty gives no links."""

    project: str = ""

    def trace(self, trace_id: str) -> str:
        """One trace."""
        return f"{self.project}/traces/{quote(trace_id, safe='')}" if self.project else ""

    def department(self, department: str, start: datetime, end: datetime) -> str:
        """The traces that the guardrails stamped with a department, in [start, end)."""
        if not self.project:
            return ""
        filters = (
            ("metadata", "stringObject", STAMP, "=", department),
            ("timestamp", "datetime", "", ">=", _utc(start)),
            ("timestamp", "datetime", "", "<", _utc(end)),
        )
        written = ",".join(f"{c};{kind};{key};{sign};{quote(value, safe='')}" for c, kind, key, sign, value in filters)
        return f"{self.project}/traces?filter={quote(written, safe='')}"


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.000Z}"


def flagged(table: pd.DataFrame) -> pd.DataFrame:
    """The newest `SHOWN` flagged rows of a table of traces: trace_id, department, observed_at."""
    rows = table[table["flagged"].astype(bool)].sort_values(["observed_at", "trace_id"], ascending=False)
    return rows[["trace_id", "department", "observed_at"]].head(SHOWN)


def flagged_markdown(tables: Iterable[pd.DataFrame], links: LangfuseLinks) -> str:
    """The newest flagged traces of several tables, by id, as Markdown with a link each."""
    found = [table for table in tables if len(table)]
    if not found:
        return "Aucune trace signalée."
    rows = pd.concat(found, ignore_index=True).sort_values(["observed_at", "trace_id"], ascending=False).head(SHOWN)
    lines = ["| vue le (UTC) | direction | trace |", "|---|---|---|"]
    for seen, department, trace_id in zip(rows["observed_at"], rows["department"], rows["trace_id"], strict=True):
        shown, address = _cell(str(trace_id)[:64]), links.trace(str(trace_id))
        linked = f"[{shown}]({address})" if address else shown
        lines.append(f"| {seen:%Y-%m-%d %H:%M} | {_cell(str(department))} | {linked} |")
    return "\n".join(lines)


def departments_markdown(departments: Iterable[str], start: datetime, end: datetime, links: LangfuseLinks) -> str:
    """A link for each department to its traces of a period, as Markdown; says what is missing when there are none."""
    if not links.project:
        return "Sans lien : renseignez LANGFUSE_BASE_URL et LANGFUSE_PROJECT_ID."
    return "\n".join(f"- [{_cell(d)}]({links.department(d, start, end)})" for d in dict.fromkeys(departments))


def _cell(text: str) -> str:
    # ids come from traces: what is not plain would break the table, or draw something else
    return "".join(c if c.isalnum() or c in "-_." else "?" for c in text)
