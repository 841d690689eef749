"""What the server counts, by day. Rows that came after their day was read are found by it: no filter on createdAt.

After a read the server's row count of each day is kept in `COMPLIANCE_HOME/state/langfuse`; a day whose count grew
since holds late rows and is worth reading again. Counts are compared with counts alone, never with the rows read.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from compliance_pipelines.adapters.langfuse_api_http import (
    LangfuseError,
    LangfuseHttp,
    NotThereError,
    RefusedError,
    TooWideError,
)
from compliance_pipelines.adapters.langfuse_api_sources import V3_OBSERVATIONS, Generation, moment
from compliance_pipelines.adapters.whole_file import replace_file
from compliance_pipelines.core.extraction import Window
from compliance_pipelines.core.periods import day_window

_METRICS = "/api/public/v2/metrics"
# a day is asked for in halves down to this
_NARROWEST = timedelta(hours=1)


class _Meta(msgspec.Struct):
    totalItems: int  # noqa: N815  as the server writes it


class _ListedBody(msgspec.Struct):
    meta: _Meta


class _Metrics(msgspec.Struct):
    data: list[dict[str, Any]]


class _NoCountError(LangfuseError):
    """The answer is no count."""


class _Counter:
    """Counts the observations of a window by the metrics endpoint.

    The end of a metrics query is inclusive, so that a row of midnight would count on two days: a filter on the time
    column ends it. A server that refuses the filter (400) is asked without, up to the millisecond before.
    """

    def __init__(self, http: LangfuseHttp) -> None:
        self._http = http
        self._filters = True

    def __call__(self, window: Window) -> int:
        """Rows in `window`, which is asked for in halves where the server gives up on it; raises LangfuseError."""
        try:
            return self._ask(window)
        except TooWideError:
            halves = window.halves() if window.end - window.start > _NARROWEST else None
            if halves is None:
                raise
            return sum(map(self, halves))

    def _ask(self, window: Window) -> int:
        if self._filters:
            try:
                return self._get(window, [_before(window.end)], window.end)
            except RefusedError:
                self._filters = False
        return self._get(window, [], window.end - timedelta(milliseconds=1))

    def _get(self, window: Window, filters: list[dict[str, str]], end: datetime) -> int:
        query = {
            "view": "observations",
            "dimensions": [],
            "metrics": [{"measure": "count", "aggregation": "count"}],
            "filters": filters,
            "fromTimestamp": moment(window.start),
            "toTimestamp": moment(end),
        }
        found = self._http.get(_METRICS, {"query": json.dumps(query)}, _read_metrics).value.data
        return sum(_number(row.get("count_count")) for row in found)


def _before(end: datetime) -> dict[str, str]:
    return {"column": "start_time", "type": "datetime", "operator": "<", "value": moment(end)}


def _number(value: object) -> int:
    """A count as the server writes it: a number or its digits; anything else is no count, and not zero."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()):
        raise _NoCountError("Langfuse : le serveur a répondu autre chose qu’un nombre de lignes")
    return int(text)


def _listed(http: LangfuseHttp, window: Window) -> int:
    """Rows in `window` as a listing of v3 counts them; raises LangfuseError."""
    query = V3_OBSERVATIONS.query(window, None, 1)
    return _number(http.get(V3_OBSERVATIONS.path, query, _read_listed).value.meta.totalItems)


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows by day as the server counts them: in the tables of v4 and in those of v3, empty where there is no number."""

    new: Mapping[date, int] = field(default_factory=dict)
    old: Mapping[date, int] = field(default_factory=dict)

    @property
    def least(self) -> dict[date, int]:
        """How many distinct rows there are at least."""
        return {day: max(self.new.get(day, 0), self.old.get(day, 0)) for day in sorted({*self.new, *self.old})}

    @property
    def together(self) -> dict[date, int]:
        """How many distinct rows there are at most."""
        return {day: self.new.get(day, 0) + self.old.get(day, 0) for day in self.least}

    @property
    def old_tables_needed(self) -> bool:
        """Whether the tables of v3 hold rows that those of v4 lack: a server changed over and not yet filled."""
        return any(number > self.new.get(day, 0) for day, number in self.old.items())


def count_days(http: LangfuseHttp, first: date, last: date, generation: Generation) -> RowCounts:
    """Rows of the Paris days first..last; raises LangfuseError, but not for a server that does not count."""
    days = [first + timedelta(days=k) for k in range((last - first).days + 1)]
    new = _count_all(_Counter(http), days) if generation.by_metrics else {}
    old = _count_all(partial(_listed, http), days) if generation.dual or not generation.by_metrics else {}
    return RowCounts(new, old)


def _count_all(count: Callable[[Window], int], days: list[date]) -> dict[date, int]:
    """Rows of each day, up to the first that the server does not count: it is still one that can be read."""
    found: dict[date, int] = {}
    for day in days:
        try:
            found[day] = count(Window(*day_window(day)))
        except (NotThereError, RefusedError, TooWideError, _NoCountError):
            break
    return found


class Ledger:
    """Row counts by day, as they were when each day was read. One file, replaced as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def counts(self) -> dict[date, int]:
        """What was kept; empty when nothing was or the file is damaged (the days then count as not read)."""
        try:
            content = json.loads(self.path.read_bytes())
            return {date.fromisoformat(day): int(number) for day, number in content.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def keep(self, counts: Mapping[date, int]) -> None:
        """Add or replace the counts of some days."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("ab") as lock:
            # two reads that end together must not forget each other's days
            fcntl.flock(lock, fcntl.LOCK_EX)
            whole = self.counts() | dict(counts)
            replace_file(self.path, json.dumps({day.isoformat(): whole[day] for day in sorted(whole)}).encode())

    def grown(self, now: Iterable[tuple[date, int]]) -> list[date]:
        """The days that were read when their count was lower; rows erased since are no reason to read again."""
        before = self.counts()
        return [day for day, number in now if day in before and number > before[day]]


_read_metrics = msgspec.json.Decoder(_Metrics).decode
_read_listed = msgspec.json.Decoder(_ListedBody).decode
