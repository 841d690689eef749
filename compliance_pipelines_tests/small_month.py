"""Small invented months, stored and archived as the pipeline would, for tests of the commands around the report.

`run_months` writes the tables of each month (seeded judgements, no evaluator, no Dagster) and archives its report.
`small_export` makes an export for the tests that run the whole thing in a process of its own.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
from compliance_guardrails.policy import Policy, load_policy

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core import departments
from compliance_pipelines.core.periods import Month, day_window
from compliance_pipelines.core.records import Aggregate, Judgement, Score, Status, Trace
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines.core.tables import frame
from compliance_pipelines.reporting import MonthRequest, build_month
from compliance_pipelines.sample.generate import generate

BUILT_AT = datetime(2026, 7, 1, 4, 5, tzinfo=UTC)
# department and how many traces it has a day; the last is too small to be published
SHARES = (("direction-sinistres", 3), ("direction-finance", 2), ("direction-it", 2))
SMALL = "direction-rh"
METRICS = (
    ("neutrality", "lexical_neutrality"),
    ("citations", "citation_compliance"),
    ("citations", "citation_marker"),
    ("figure_grounding", "figure_grounding"),
)


def small_export(folder: Path, months: Sequence[str], traces: int) -> Path:
    """An export of `traces` exchanges a month."""
    for number, month in enumerate(months):
        generate(folder / month, month, traces, 11 + number)
    return folder


def run_months(home: Path, months: Sequence[str]) -> None:
    """Tables and archived report of each month."""
    archive = DirectoryArchive(home / "archive")
    for name in months:
        month = Month.parse(name)
        _tables(TableStore(home / "data"), month, load_policy(None, at=month.days()[-1]))
        request = MonthRequest(month, home, None, "local", synthetic=True, built_at=BUILT_AT)
        built = build_month(request, archive)
        archive.put_revision(name, built.decision.revision, built.files, retain_until(BUILT_AT, 7))


def revise_month(home: Path, name: str, policy_dir: Path) -> None:
    """The month's tables and report again under another policy, archived as the next revision."""
    archive, month = DirectoryArchive(home / "archive"), Month.parse(name)
    _tables(TableStore(home / "data"), month, load_policy(policy_dir, at=month.days()[-1]))
    request = MonthRequest(month, home, policy_dir, "local", synthetic=True, built_at=BUILT_AT)
    built = build_month(request, archive)
    archive.put_revision(name, built.decision.revision, built.files, retain_until(BUILT_AT, 7))


def damage(table: Path) -> None:
    """Flip one bit in the values of a stored table's first column; the notes at the end of the file still read."""
    with pq.ParquetFile(table) as file:
        column = file.metadata.row_group(0).column(0)
    start = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
    content = bytearray(table.read_bytes())
    content[start + column.total_compressed_size - 1] ^= 1
    table.write_bytes(content)


def _tables(store: TableStore, month: Month, policy: Policy) -> None:
    rng = random.Random(str(month))  # noqa: S311 - invented figures, no secret
    traces_of_month: list[Trace] = []
    parts_of_month: list[pd.DataFrame] = []
    for day in month.days():
        start, _ = day_window(day)
        owners = [name for name, count in SHARES for _ in range(count)]
        owners += [SMALL] if day.day <= 3 else []
        traces = [_trace(f"{day}:{number}", owner, start, number) for number, owner in enumerate(owners)]
        rated = [_feedback(trace) for trace in traces if rng.random() < 0.2]
        judged = {name: [j for t in traces for j in _judgements(t, name, rng)] for name in dict(METRICS)}
        table = frame(traces, Trace)
        table.attrs["counts"] = {"rows": len(traces), "duplicates": 0}
        store.write(("langfuse", "traces"), day.isoformat(), table)
        store.write(("langfuse", "scores"), day.isoformat(), frame(rated, Score))
        for name, found in judged.items():
            store.write(("evaluation", name), day.isoformat(), frame(found, Judgement))
        parts = [frame(found, Judgement) for found in judged.values()]
        parts.append(frame(departments.oversight(traces, rated), Judgement))
        aggregates = departments.aggregate(table, parts, policy, day_window(day))
        store.write(("department", "daily"), day.isoformat(), frame(aggregates, Aggregate))
        traces_of_month += traces
        parts_of_month += parts
    whole = departments.aggregate(frame(traces_of_month, Trace), parts_of_month, policy, (month.start, month.end))
    store.write(("department", "monthly"), month.first_day.isoformat(), frame(whole, Aggregate))


def _trace(name: str, department: str, start: datetime, number: int) -> Trace:
    digest = hashlib.sha256(name.encode()).hexdigest()
    known = {
        "trace_id": digest[:32],
        "observed_at": start + timedelta(hours=9, minutes=number),
        "created_at": start + timedelta(hours=9, minutes=number, seconds=2),
        "department": department,
        "department_source": "stamp",
        "question": "Quelle franchise ?",
        "answer": "Selon les Conditions générales, p. 12, elle est de 150 €.",
        "contexts": ("Franchise : 150 €.",),
        "retrieval_score": 0.8,
        "flagged": False,
        "source": "export",
        "row_digest": digest,
    }
    return Trace(**{field.name: known.get(field.name) for field in fields(Trace)})


def _feedback(trace: Trace) -> Score:
    moment = trace.observed_at
    return Score(f"s{trace.trace_id}", trace.trace_id, "human_feedback", 1.0, None, "API", moment, moment)


def _judgements(trace: Trace, table: str, rng: random.Random) -> list[Judgement]:
    out = []
    for name, metric in METRICS:
        if name != table:
            continue
        value = round(rng.uniform(0.4, 1.0), 4) if name != "citations" else float(rng.random() < 0.85)
        judged = rng.random() < 0.95
        status = Status.SCORED if judged else Status.NOT_APPLICABLE
        out.append(
            Judgement(
                trace.trace_id,
                trace.department,
                trace.observed_at,
                metric,
                value if judged else None,
                status,
                None if judged else "no_claim",
                f"{name}/1",
                1.0,
            )
        )
    return out
