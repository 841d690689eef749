"""What reading Langfuse rows has in common, whether they come from an export or from the API.

Windows of time and how they are cut, counts by Paris day, one version of a row or a score, exchanges by trace. Pure:
the readers do the I/O and hand rows over. Serves "loses and doubles nothing" and "counts, never content".
"""

from __future__ import annotations

import dataclasses
import functools
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from compliance_pipelines.core import assembly
from compliance_pipelines.core.langfuse_rows import MAX_TEXT, Observation, ScoreRow
from compliance_pipelines.core.periods import day_start, paris_day
from compliance_pipelines.core.records import Score, Trace

EVENTS = frozenset(
    {
        "retrieval_gate_blocked",
        "retrieval_score_missing",
        "uncited-specific-claim",
        "low_self_confidence",
        "protected-attr-comparison-detected",
        "bias-screen-finding",
    }
)
# What of a row's metadata is used at all (by `assembly`): nothing else is asked for at length or kept while reading,
# since the rest names people, addresses and machines
METADATA_KEYS = (
    "requester_metadata", "contexts", "hidden_params", "attributes.metadata", "compliance_department",
    "compliance_policy_digest", "compliance_delivered", "bias_review_required", "user_api_key_alias",
    "user_api_key_team_alias", "user_api_key_team_id", "litellm_call_id", "model_group", "retrieval_score",
    "department",
)  # fmt: skip
PARAMETER_KEYS = ("system", "instructions")
# rows that a server which counts would count; compared with its number by `reconciliation`
READ = "read_rows"
NARROWEST = timedelta(seconds=1)
# how far beyond its ends the rows of a day's exchanges are looked for
MARGIN = timedelta(minutes=15)


@dataclass
class ReadReport:
    """What was read, and what was not used and why: counts by Paris day, never content.

    A row without a readable time counts on the day of the row before it in its file (at the head, of the row after
    it), so that reading an export again for another day does not count it twice.
    """

    days: dict[date, Counter[str]] = field(default_factory=dict)
    sources: Counter[str] = field(default_factory=Counter)
    files: int = 0
    # rows that a server counted of a day when it was last read, and fewer now (by `reconciliation`)
    gone: dict[date, tuple[int, int]] = field(default_factory=dict)

    def count(self, day: date, name: str, n: int = 1) -> None:
        """Add `n` to the count `name` of `day`."""
        if n:
            counts = self.days.get(day)
            if counts is None:
                counts = self.days[day] = Counter()
            counts[name] += n

    def totals(self, first: date, last: date) -> dict[str, int]:
        """Counts of the days first..last together, in name order."""
        whole: Counter[str] = Counter()
        for day, counts in self.days.items():
            if first <= day <= last:
                whole.update(counts)
        return dict(sorted(whole.items()))


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """A span of time, UTC, its end excluded."""

    start: datetime
    end: datetime

    def halves(self) -> tuple[Window, Window] | None:
        """The two halves, cut at a whole millisecond; None when they would be narrower than NARROWEST."""
        half = (self.end - self.start) / 2
        if half < NARROWEST:
            return None
        middle = self.start + half
        middle = middle.replace(microsecond=middle.microsecond // 1000 * 1000)
        return Window(self.start, middle), Window(middle, self.end)


def windows(first: date, last: date, width: timedelta, margin: timedelta) -> list[Window]:
    """The Paris days first..last with `margin` on both sides, cut into windows of at most `width`, in order of time."""
    position, end = day_start(first) - margin, day_start(last + timedelta(days=1)) + margin
    found = []
    while position < end:
        found.append(Window(position, min(position + width, end)))
        position += width
    return found


def count_row(report: ReadReport, row: Observation | ScoreRow, day: date) -> None:
    """Count a row that was read, on its Paris day."""
    if isinstance(row, Observation):
        report.count(day, "truncated_texts", MAX_TEXT in (len(row.input or ""), len(row.output or "")))
        # bytes that were no UTF-8: the file went through another encoding on its way
        report.count(day, "replaced_characters", "\ufffd" in (row.input or "") or "\ufffd" in (row.output or ""))
    report.count(day, "rows")


def row_day(row: Observation | ScoreRow) -> date:
    """The Paris day a row belongs to."""
    moment = row.started_at if isinstance(row, Observation) else row.observed_at
    # no offset of Paris changes within an hour, and asking the time zone is the dearest step of counting
    return _day_of_hour(int(moment.timestamp()) // 3600)


@functools.lru_cache(maxsize=2048)
def _day_of_hour(hour: int) -> date:
    return paris_day(datetime.fromtimestamp(hour * 3600, UTC))


class Tally:
    """Counts observations of first..last (Paris days) as they stream past, and adds them to a report at the end.

    Counting each row by name and day took a third of a read's CPU. Rows created at `created_before` or later are
    counted as `late` and left out. Rows of other days pass uncounted: they count when those days are read.
    """

    def __init__(self, first: date, last: date, created_before: datetime | None) -> None:
        self._days = [first + timedelta(days=k) for k in range((last - first).days + 1)]
        self._starts = [day_start(day) for day in (*self._days, last + timedelta(days=1))]
        self._reach = self._starts[0] - MARGIN, self._starts[-1] + MARGIN
        self._before = created_before
        self._rows, self._late, self._traces, self._cut = ([0] * len(self._starts) for _ in range(4))

    def kept(self, rows: Sequence[Observation]) -> list[Observation]:
        """The rows to use, counted."""
        starts, before, counted, found = self._starts, self._before, self._rows, []
        for row in rows:
            # 0 before the first day, len(starts) after the last
            place = bisect_right(starts, row.started_at) % len(starts) - 1
            if place < 0 and not self._reach[0] <= row.started_at < self._reach[1]:
                # not what was asked for: of another day, or of a year that no calendar computes with
                continue
            late = before is not None and row.created_at >= before
            if not late:
                found.append(row)
            if place >= 0:
                counted[place] += 1
                self._late[place] += late
                # a v3 trace is no row that the server counts
                self._traces[place] += row.kind == "TRACE"
                self._cut[place] += len(row.input or "") == MAX_TEXT or len(row.output or "") == MAX_TEXT
        return found

    def add_to(self, report: ReadReport) -> None:
        """Add the counts to `report`; once."""
        for day, rows, late, traces, cut in zip(
            self._days, self._rows, self._late, self._traces, self._cut, strict=False
        ):
            report.count(day, "truncated_texts", cut)
            report.count(day, "rows", rows)
            report.count(day, READ, rows - traces)
            report.count(day, "late", late)
            report.count(day, "observations", rows - late)


def exchanges(
    rows: Iterable[Observation],
    first: date,
    last: date,
    report: ReadReport,
    resolve: assembly.Resolver,
    hmac_key: bytes,
    source: str,
) -> Iterator[Trace]:
    """The exchanges of whole traces, those of first..last (Paris days), one version a row, ordered by trace id.

    `rows` hold every row of first..last and MARGIN around of each trace id they hold. Of two versions of a row the one
    created later stands, of the same time the one that comes later. A trace that goes on over midnight (a chat under
    one id) is assembled day by day, from what lies within MARGIN of the day, so that a night read alone and a month
    read at once give the same exchanges.
    """
    groups: dict[str, list[Observation]] = {}
    for row in rows:
        groups.setdefault(row.trace_id, []).append(row)
    for _, group in sorted(groups.items()):
        unique: dict[str, Observation] = {}
        for row in group:
            before = unique.get(row.row_id)
            if before is not None:
                day = paris_day(row.started_at)
                if first <= day <= last:
                    report.count(day, "duplicates")
                    report.count(day, "conflicting_duplicates", before != row)
            # of the same instant the one read last: names of Langfuse's own exports stand in order of time
            if before is None or row.created_at >= before.created_at:
                unique[row.row_id] = row
        for day, part in _by_day(inherit(list(unique.values())), first, last):
            traces = assembly.assemble(part, resolve, hmac_key, source)
            seen = paris_day(min(row.started_at for row in part))
            if not traces and day in (None, seen) and first <= seen <= last:
                report.count(seen, "without_exchange")
            days = (first, last) if day is None else (day, day)
            yield from (trace for trace in traces if days[0] <= paris_day(trace.observed_at) <= days[1])


def _by_day(rows: list[Observation], first: date, last: date) -> Iterator[tuple[date | None, list[Observation]]]:
    """The rows of one trace for each of first..last; all at once (None) where every such day would see them all."""
    began, ended = min(row.started_at for row in rows), max(row.started_at for row in rows)
    if ended - began <= MARGIN or paris_day(began - MARGIN) == paris_day(ended + MARGIN):
        yield None, rows
        return
    for day in sorted({paris_day(row.started_at) for row in rows}):
        if first <= day <= last:
            low, high = day_start(day) - MARGIN, day_start(day + timedelta(days=1)) + MARGIN
            yield day, [row for row in rows if low <= row.started_at < high]


def inherit(rows: Sequence[Observation]) -> list[Observation]:
    """Give v3 generations what v3 keeps on the trace alone: session, tags and the guardrails' stamps.

    v4 rows carry them already and come back unchanged. Other trace metadata stays where it is: on v3 it may be a hook
    event's own.
    """
    parents = {row.trace_id: row for row in rows if row.kind == "TRACE"}
    if not parents:
        return list(rows)
    return [_inherited(row, parents.get(row.trace_id)) for row in rows]


def _inherited(row: Observation, trace: Observation | None) -> Observation:
    if trace is None or row.kind != "GENERATION":
        return row
    stamps: dict[str, Any] = {
        key: value
        for key, value in trace.metadata.items()
        if key.startswith("compliance_") or key == "bias_review_required"
    }
    return dataclasses.replace(
        row,
        session_id=row.session_id or trace.session_id,
        tags=row.tags or trace.tags,
        metadata=stamps | dict(row.metadata),
    )


def event_score(row: Observation) -> ScoreRow | None:
    """A guardrail event as a score: source "EVENT", value 1 and its level; None for any other row."""
    if row.kind != "EVENT" or row.name not in EVENTS:
        return None
    return ScoreRow(
        row.row_id,
        row.trace_id,
        "trace",
        row.name,
        1.0,
        row.level,
        "EVENT",
        row.started_at,
        row.created_at,
        row.created_at,
    )


class Scores:
    """Scores of first..last (Paris days): one per id, name and day, the latest version."""

    def __init__(self, first: date, last: date, report: ReadReport) -> None:
        self.first, self.last, self.report = first, last, report
        self._kept: dict[tuple[str, str, date], ScoreRow] = {}

    def add(self, row: ScoreRow) -> None:
        """Take a row in; rows of other days are ignored."""
        day = paris_day(row.observed_at)
        if not self.first <= day <= self.last:
            return
        self.report.count(day, "scores")
        key = (row.score_id, row.name, day)
        before = self._kept.get(key)
        if before is not None:
            self.report.count(day, "duplicates")
            self.report.count(day, "conflicting_duplicates", before.value != row.value)
        if before is None or row.updated_at >= before.updated_at:
            self._kept[key] = row

    def result(self) -> list[Score]:
        """The scores, in order of time."""
        ordered = sorted(self._kept.values(), key=lambda r: (r.observed_at, r.score_id, r.name))
        return [
            Score(r.score_id, r.trace_id, r.name, r.value, r.string_value, r.source, r.observed_at, r.created_at)
            for r in ordered
        ]
