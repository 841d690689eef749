"""Which rows of two kinds of tables belong together: v3 trace rows to their calls, old tables to new ones.

v3 keeps session, tags and the guardrails' stamps on the trace alone. A chat that goes on over midnight began on a day
that is not read: its trace row is asked for by id, or the night would lose the department that the month finds. Rows
that the tables of v4 hold already are not taken from those of v3 again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from urllib.parse import quote

from compliance_pipelines.adapters.langfuse_api_http import LangfuseHttp, NotThereError
from compliance_pipelines.adapters.langfuse_api_journal import Journal
from compliance_pipelines.adapters.langfuse_api_rows import read_trace
from compliance_pipelines.adapters.langfuse_api_sources import V3_OBSERVATIONS, V3_TRACES
from compliance_pipelines.core.langfuse_rows import Observation
from compliance_pipelines.core.periods import day_start


class TraceRows:
    """Notes the rows of v3 tables as they stream past; gives the trace rows that their calls lack."""

    def __init__(self, first: date, last: date, created_before: datetime | None) -> None:
        self._low, self._high = day_start(first), day_start(last + timedelta(days=1))
        self._before = created_before
        self._there: set[str] = set()
        self._wanted: set[str] = set()

    def noted(self, journal: Journal, rows: Sequence[Observation]) -> Sequence[Observation]:
        """The rows, which are of `journal`."""
        name = journal.path.name
        if name.startswith(V3_TRACES.name):
            self._there.update(row.trace_id for row in rows)
        elif name.startswith(V3_OBSERVATIONS.name):
            self._wanted.update(
                row.trace_id for row in rows if row.kind == "GENERATION" and self._low <= row.started_at < self._high
            )
        return rows

    def missing(self, http: LangfuseHttp, at_once: int) -> Iterator[Observation]:
        """The trace rows that were not among those noted; raises LangfuseError. Not counted: their day counts them."""
        wanted = sorted(self._wanted - self._there)
        if not wanted:
            return
        with ThreadPoolExecutor(at_once, thread_name_prefix="langfuse-traces") as pool:
            for row in pool.map(lambda trace_id: _trace(http, trace_id), wanted):
                if row is not None and (self._before is None or row.created_at < self._before):
                    yield row


class Seen:
    """Lets a row of the old tables pass only where the new ones, which are read before, did not hold it."""

    def __init__(self, journals: Sequence[Journal]) -> None:
        names = {journal.path.name.partition("-")[0] for journal in journals}
        self._ids: set[str] | None = set() if len(names) > 1 else None

    def first_time(self, journal: Journal, rows: Sequence[Observation]) -> Sequence[Observation]:
        """The rows of a segment of `journal` to use."""
        if self._ids is None:
            return rows
        if journal.path.name.startswith("v4-"):
            self._ids.update(row.row_id for row in rows)
            return rows
        # a trace shares its id with no observation
        return [row for row in rows if row.row_id not in self._ids]


def _trace(http: LangfuseHttp, trace_id: str) -> Observation | None:
    path = f"{V3_TRACES.path}/{quote(trace_id, safe='')}"
    try:
        return http.get(path, V3_TRACES.params, read_trace, whole=True).value
    except NotThereError:
        return None
