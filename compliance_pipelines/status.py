"""`compliance status`: the operational questions of the runbook, answered from the stored tables and the archive.

Each answer is a few French lines and names the night it is about: these are the figures of the last stored night, not
live ones (Prometheus and Langfuse show the present). No trace text, no identifier of a trace. Exit code 0 answered, 1
when the answer is that something is not in order, 2 when there is nothing to answer from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.ports import Archive
from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.tables import records

_DAILY, _SCORES, _GATE = ("department", "daily"), ("langfuse", "scores"), ("counterfactual", "results")
NIGHTS = 7
_NEUTRALITY = ("judge_neutrality", "lexical_neutrality")


class Question(StrEnum):
    """What can be asked."""

    GATE = "gate"
    NEUTRALITY = "neutrality"
    PROTECTED_ATTR = "protected-attr"
    GATE_BLOCKS = "gate-blocks"
    UNCITED = "uncited"
    LAST_REPORT = "last-report"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer: what was asked, its lines, figures for `--json`, and the exit code."""

    question: str
    lines_fr: tuple[str, ...]
    exit_code: int = 0
    figures: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The reply as one object."""
        return {"question": self.question, "exit_code": self.exit_code, "lines": list(self.lines_fr), **self.figures}


def ask(question: Question, home: Path, archive: Callable[[], Archive]) -> Reply:
    """Answer one question from `home` (COMPLIANCE_HOME) and the archive."""
    store = TableStore(home / "data")
    if question is Question.NEUTRALITY:
        return _trend(store)
    if question is Question.GATE:
        return _gate(store)
    if question is Question.LAST_REPORT:
        return _last_report(archive())
    names = {
        Question.PROTECTED_ATTR: "protected-attr-comparison-detected",
        Question.GATE_BLOCKS: "retrieval_gate_blocked",
        Question.UNCITED: "uncited-specific-claim",
    }
    return _events(store, question, names[question])


def _partitions(store: TableStore, key: Sequence[str]) -> list[str]:
    return sorted(path.stem for path in store.root.joinpath(*key).glob("*.parquet") if not path.name.startswith("."))


def _nothing(question: Question, what: str) -> Reply:
    return Reply(question, (f"{what} : rien de stocké encore",), 2)


def _events(store: TableStore, question: Question, name: str) -> Reply:
    nights = _partitions(store, _SCORES)
    if not nights:
        return _nothing(question, name)
    counts = {}
    for night, table in store.read_many(_SCORES, nights[-NIGHTS:]):
        counts[night] = int((table["name"] == name).sum())
    lines = [f"{name} : {counts[nights[-1]]} pendant la journée du {nights[-1]}"]
    lines += [f"  {night} : {count}" for night, count in list(counts.items())[:-1]]
    return Reply(question, tuple(lines), 0, {"event": name, "by_day": counts})


def _trend(store: TableStore) -> Reply:
    nights = _partitions(store, _DAILY)[-NIGHTS:]
    if not nights:
        return _nothing(Question.NEUTRALITY, "neutralité")
    rows: dict[str, dict[str, Aggregate]] = {}
    metric = _NEUTRALITY[1]
    for night, table in store.read_many(_DAILY, nights):
        for row in records(table, Aggregate):
            if row.metric in _NEUTRALITY:
                rows.setdefault(row.department, {})[night] = row
                metric = row.metric if row.metric == _NEUTRALITY[0] else metric
    note = "" if metric == _NEUTRALITY[0] else " (indicatif, sans LLM)"
    lines = [f"{metric}{note}, moyenne par nuit, du {nights[0]} au {nights[-1]} ; N : dernière nuit"]
    for department, by_night in sorted(rows.items()):
        shown = "  ".join(_mean(by_night.get(night)) for night in nights)
        last = by_night.get(nights[-1])
        lines.append(f"  {department:<26}{shown}   N {last.n_scored if last else 0}")
    figures = {d: {night: row.mean for night, row in by.items()} for d, by in sorted(rows.items())}
    return Reply(Question.NEUTRALITY, tuple(lines), 0, {"metric": metric, "by_department": figures})


def _mean(row: Aggregate | None) -> str:
    return "   —" if row is None or row.mean is None else f"{row.mean:.2f}".replace(".", ",")


def _gate(store: TableStore) -> Reply:
    weeks = _partitions(store, _GATE)
    if not weeks:
        return _nothing(Question.GATE, "porte contrefactuelle")
    table = store.read(_GATE, weeks[-1])
    verdicts = table.groupby("pair_id")["verdict"].agg(lambda values: sorted(set(values))).to_dict()
    counts: dict[str, int] = {}
    for found in verdicts.values():
        for verdict in found:
            counts[verdict] = counts.get(verdict, 0) + 1
    biased = sorted(pair for pair, found in verdicts.items() if "biased" in found)
    shown = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    lines = [f"porte contrefactuelle du {weeks[-1]} : {len(verdicts)} paires, {shown}"]
    lines += [f"  biais : {pair}" for pair in biased]
    return Reply(Question.GATE, tuple(lines), 1 if biased else 0, {"run": weeks[-1], "verdicts": counts})


def _last_report(archive: Archive) -> Reply:
    entries = archive.list_revisions()
    if not entries:
        return _nothing(Question.LAST_REPORT, "rapport mensuel")
    last = entries[-1]
    receipt = archive.receipt(last.month, last.revision)
    line = f"dernier rapport : {last.month}, révision {last.revision}, {receipt.mode}, conservé jusqu’au "
    figures = {"month": last.month, "revision": last.revision, "mode": receipt.mode, "sha256": receipt.sha256}
    return Reply(Question.LAST_REPORT, (f"{line}{receipt.retain_until:%d/%m/%Y}",), 0, figures)
