"""What `compliance report explain` reads: the archived figure, then the month's tables behind it.

The archive says what was printed, the tables say from which traces; whether they are still the tables of the manifest
is part of the answer. Text columns are never read, except for human oversight, which needs to know that there was an
answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from compliance_guardrails.policy import load_policy

from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core import departments, report_explain
from compliance_pipelines.core.evidence import MANIFEST_NAME, EvidenceError, Manifest, read_manifest, sha256
from compliance_pipelines.core.periods import Month, paris_day
from compliance_pipelines.core.ports import Archive
from compliance_pipelines.core.records import Score, Trace
from compliance_pipelines.core.report_context import OVERSIGHT
from compliance_pipelines.core.report_explain import Explanation, Judged, Value
from compliance_pipelines.core.tables import records
from compliance_pipelines.core.verify import checked_files

_TABLES = {
    "judge_neutrality": ("evaluation", "neutrality"),
    "lexical_neutrality": ("evaluation", "neutrality"),
    "citation_compliance": ("evaluation", "citations"),
    "citation_marker": ("evaluation", "citations"),
    "figure_grounding": ("evaluation", "figure_grounding"),
    "ragas_faithfulness": ("evaluation", "ragas"),
    "ragas_answer_relevancy": ("evaluation", "ragas"),
    "ragas_context_precision": ("evaluation", "ragas"),
}


@dataclass(frozen=True, slots=True)
class HmacKey:
    """The key of the pseudonyms, and whether it is the embedded default, which is no secret."""

    value: bytes = field(repr=False)
    is_default: bool


_TRACES, _SCORES = ("langfuse", "traces"), ("langfuse", "scores")


def explain(
    archive: Archive, home: Path, policy_dir: Path | None, month: Month, words: tuple[str, str], key: HmacKey
) -> Explanation:
    """Explain one figure of the newest archived revision. `words` are (department, metric) as typed.

    EvidenceError when the month is not archived, or the words name nothing in it.
    """
    # compared with the index first: a manifest and figures that were altered together agree with each other
    _, files = checked_files(archive, str(month))
    manifest = read_manifest(files.get(MANIFEST_NAME, b""))
    document = _figures(files, manifest)
    policy = load_policy(policy_dir, at=month.days()[-1])
    labels = {one.id: one.label for one in (*policy.departments, policy.unattributed)}
    printed = {str(item["department"]) for item in document}
    department = report_explain.department_of(words[0], {name: labels.get(name, name) for name in sorted(printed)})
    mine = [item for item in document if item["department"] == department]
    metric = report_explain.metric_of(words[1], sorted({str(item["metric"]) for item in mine}))
    rows = [item for item in mine if item["metric"] == metric]
    masked = any(item["state"] == "non communiqué" and item["name"] == "n_scored" for item in rows)
    figures: dict[str, Value] = {str(item["name"]): item["value"] for item in rows if item["value"] is not None}
    store = TableStore(home / "data")
    return Explanation(
        manifest=manifest,
        department=department,
        label=labels.get(department, department),
        metric=metric,
        figures=figures,
        masked=masked,
        bounded=any(item["state"] == "non communiqué" and item["name"] == "mean" for item in rows),
        judged=None if masked else _judged(store, month, department, metric, manifest),
        tables_match=_tables_match(store, month, metric, manifest),
        key=key.value,
        key_is_default=key.is_default,
    )


def _figures(files: dict[str, bytes], manifest: Manifest) -> list[dict]:
    content = files.get("figures.json", b"")
    expected = {item.name: item.sha256 for item in manifest.attachments}
    if sha256(content) != expected.get("figures.json"):
        raise EvidenceError("figures.json n’est pas celui du manifeste (compliance report verify)")
    return json.loads(content)["figures"]


def _judged(
    store: TableStore, month: Month, department: str, metric: str, manifest: Manifest
) -> tuple[Judged, ...] | None:
    days = [day.isoformat() for day in month.days()]
    if not any(store.has(_TRACES, day) for day in days):
        return None
    kept = _kept(store, days, department, manifest.scheduled_at)
    if metric == OVERSIGHT:
        return tuple(_oversight(store, days, department, kept))
    key = _TABLES.get(metric)
    if key is None:
        return None
    out = []
    columns = ["trace_id", "department", "observed_at", "metric", "value", "status", "reason", "evaluator"]
    for _, rows in _read(store, key, days, columns):
        out += [
            Judged(
                row["trace_id"],
                paris_day(row["observed_at"]).isoformat(),
                row["status"],
                row["value"],
                row["reason"],
                row["evaluator"],
            )
            for row in rows
            if row["department"] == department and row["metric"] == metric and row["trace_id"] in kept
        ]
    return tuple(out)


def _kept(store: TableStore, days: Sequence[str], department: str, cutoff: str) -> set[str]:
    limit = datetime.fromisoformat(cutoff)
    columns = ["trace_id", "department", "created_at"]
    return {
        row["trace_id"]
        for _, rows in _read(store, _TRACES, days, columns)
        for row in rows
        if row["department"] == department and row["created_at"] <= limit
    }


def _read(
    store: TableStore, key: tuple[str, str], days: Sequence[str], columns: list[str]
) -> Iterator[tuple[str, list[dict]]]:
    for day in days:
        if store.has(key, day):
            yield day, store.read_columns(key, day, columns)


def _oversight(store: TableStore, days: Sequence[str], department: str, kept: set[str]) -> Iterator[Judged]:
    scores = [row for _, table in store.read_many(_SCORES, days) for row in records(table, Score)]
    for _, table in store.read_many(_TRACES, days):
        mine = table[(table["department"] == department) & table["trace_id"].isin(kept)]
        for one in departments.oversight(records(mine, Trace), scores):
            day = paris_day(one.observed_at).isoformat()
            yield Judged(one.trace_id, day, one.status.value, one.value, one.reason, one.evaluator)


def _tables_match(store: TableStore, month: Month, metric: str, manifest: Manifest) -> bool:
    """Whether the tables this figure rests on are those that the manifest lists."""
    days = [day.isoformat() for day in month.days()]
    expected = {item.asset: item.sha256 for item in manifest.data}
    keys = [_TRACES, _SCORES] if metric == OVERSIGHT else [_TRACES, *([_TABLES[metric]] if metric in _TABLES else [])]
    return all(store.digest(key, days)[2] == expected.get("/".join(key)) for key in keys)
