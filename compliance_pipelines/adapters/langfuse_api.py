"""Traces and scores read from a Langfuse server: v4 (`events_only`, `dual`) and v3, found out by asking it.

Same interface as the export reader. Windows of time are read several at once into journals under
`COMPLIANCE_HOME/state/langfuse`, so that a killed read goes on where it stood; then rows go to buckets by trace, which
bounds memory. Nothing is judged here, and no row's text enters an error, a log or a count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path

import msgspec

from compliance_pipelines.adapters.langfuse_api_http import (
    LangfuseError,
    LangfuseHttp,
    NotThereError,
    Patience,
    RefusedError,
    Server,
)
from compliance_pipelines.adapters.langfuse_api_journal import StateFolder
from compliance_pipelines.adapters.langfuse_api_sources import (
    V3_EVENTS,
    V3_OBSERVATIONS,
    V3_SCORES,
    V3_TRACES,
    V4_EVENTS,
    V4_OBSERVATIONS,
    V4_SCORES,
    Generation,
    Source,
    read_page,
    read_row,
    split_rows,
)
from compliance_pipelines.adapters.langfuse_api_windows import Progress, WindowReader
from compliance_pipelines.adapters.langfuse_spill import Spill, bucket_count, bucket_of, by_day
from compliance_pipelines.core import assembly
from compliance_pipelines.core.extraction import (
    ReadReport,
    Scores,
    Window,
    count_row,
    event_score,
    exchanges,
    windows,
)
from compliance_pipelines.core.langfuse_rows import Observation, RowError, ScoreRow, parse_row
from compliance_pipelines.core.periods import paris_day
from compliance_pipelines.core.records import Score, Trace

MARGIN = timedelta(minutes=15)
WIDTH = timedelta(hours=2)


class ApiReader:
    """Reads one Langfuse project.

    `state` keeps interrupted reads; `windows_at_once` connections are used. `created_before` leaves out rows that the
    server created later (the data cut-off of a month), counted as `late`. `log` is told (source, rows) for each page.
    Methods raise LangfuseError, one French line.
    """

    def __init__(
        self,
        server: Server,
        state: Path,
        resolve: assembly.Resolver,
        hmac_key: bytes,
        *,
        windows_at_once: int = 4,
        width: timedelta = WIDTH,
        created_before: datetime | None = None,
        patience: Patience | None = None,
        pause: Callable[[float], None] | None = None,
        log: Callable[[str, int], None] | None = None,
    ) -> None:
        self.http = LangfuseHttp(server, patience, pause=pause)
        self.state = state
        self.resolve = resolve
        self.hmac_key = hmac_key
        self.windows_at_once = windows_at_once
        self.width = width
        self.created_before = created_before
        self.progress = Progress()
        self._log = log
        self._generation: Generation | None = None

    def __enter__(self) -> ApiReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def generation(self) -> Generation:
        """Which endpoints this server answers, asked once. A `dual` server is read as v4."""
        if self._generation is None:
            new_traces = self._answers(V4_OBSERVATIONS)
            new_scores = self._answers(V4_SCORES)
            if not (new_traces or self._answers(V3_TRACES)) or not (new_scores or self._answers(V3_SCORES)):
                host = self.http.server.host
                raise LangfuseError(
                    f"Langfuse ({host}) : ni l’API v4 ni l’API v3 n’y répondent, est-ce bien Langfuse ?"
                )
            events = V4_EVENTS if new_traces else V3_EVENTS
            self._generation = Generation(
                name="v4" if new_traces and new_scores else "v3" if not (new_traces or new_scores) else "v4/v3",
                traces=(V4_OBSERVATIONS,) if new_traces else (V3_OBSERVATIONS, V3_TRACES),
                scores=(V4_SCORES if new_scores else V3_SCORES, events),
            )
        return self._generation

    def trace_days(self, days: list[date], report: ReadReport) -> Iterator[tuple[date, list[Trace]]]:
        """Exchanges of each of `days` (consecutive, ascending), in order of time, one day in memory at a time.

        The whole read happens before this returns, so `report` is complete; the days are loaded lazily.
        """
        return by_day(self.trace_chunks(days[0], days[-1], report), days, self.state, report)

    def trace_chunks(self, first: date, last: date, report: ReadReport) -> Iterator[list[Trace]]:
        """Exchanges in chunks of bounded size, in no particular order; fills `report` while it runs.

        The state of the read is forgotten when every chunk was taken, so an interrupted use starts over from the disk.
        """
        sources, folder = self.generation().traces, self._folder("traces", first, last)
        done = False
        try:
            parts = windows(first, last, self.width, MARGIN)
            reader = self._download(folder, sources, parts)
            with self._spilled(reader, sources, parts) as spill:
                for number in range(len(spill.pending)):
                    rows = self._observations(spill.bucket(number), first, last, report)
                    yield list(exchanges(rows, first, last, report, self.resolve, self.hmac_key, "api"))
            done = True
        finally:
            folder.remove() if done else folder.release()

    def read_scores(self, first: date, last: date) -> tuple[list[Score], ReadReport]:
        """Scores and guardrail events dated first..last (Paris days), in order of time.

        One score per id, name and day, the latest version. Events have source "EVENT", value 1 and their level.
        """
        report = ReadReport()
        scores = Scores(first, last, report)
        sources, folder = self.generation().scores, self._folder("scores", first, last)
        done = False
        try:
            parts = windows(first, last, self.width, timedelta())
            reader = self._download(folder, sources, parts)
            for journal in reader.journals(sources, parts):
                for rows in journal.pages():
                    for _, raw in split_rows(rows):
                        row = self._row(raw, first, last, report)
                        found = event_score(row) if isinstance(row, Observation) else row
                        if found is not None:
                            scores.add(found)
            done = True
        finally:
            folder.remove() if done else folder.release()
        return scores.result(), report

    def _answers(self, source: Source) -> bool:
        query = {**source.params, "limit": "1"} | ({"page": "1"} if source.numbered else {})
        # far in the past: an empty answer is enough
        query |= {source.low: "2000-01-01T00:00:00.000Z", source.high: "2000-01-01T00:00:01.000Z"}
        try:
            self.http.get(source.path, query, read_page)
        except (NotThereError, RefusedError):
            return False
        return True

    def _folder(self, what: str, first: date, last: date) -> StateFolder:
        generation = self.generation()
        sources = generation.traces if what == "traces" else generation.scores
        server = self.http.server
        content = msgspec.json.encode(
            [what, server.base_url, server.public_key, first, last, self.width.total_seconds(), MARGIN.total_seconds()]
            + [[source.name, source.path, dict(source.params)] for source in sources]
        )
        try:
            return StateFolder(self.state, hashlib.sha256(content).hexdigest()[:16])
        except OSError as failed:
            raise LangfuseError(f"COMPLIANCE_HOME/state : dossier inutilisable ({type(failed).__name__})") from failed

    def _download(self, folder: StateFolder, sources: Sequence[Source], parts: Sequence[Window]) -> WindowReader:
        reader = WindowReader(self.http, folder, at_once=self.windows_at_once, log=self._log)
        self.progress = reader.progress
        reader.read(sources, parts)
        return reader

    def _spilled(self, reader: WindowReader, sources: Sequence[Source], parts: Sequence[Window]) -> Spill:
        size = sum(journal.size for journal in reader.journals(sources, parts))
        spill = Spill(self.state, bucket_count(size))
        try:
            for journal in reader.journals(sources, parts):
                for rows in journal.pages():
                    for trace_id, raw in split_rows(rows):
                        spill.add_to(bucket_of(trace_id or "", len(spill.pending)), bytes(raw))
        except BaseException:
            spill.close()
            raise
        return spill

    def _observations(self, raws: list[bytes], first: date, last: date, report: ReadReport) -> Iterator[Observation]:
        for raw in raws:
            row = self._row(raw, first, last, report)
            if isinstance(row, Observation):
                day = paris_day(row.started_at)
                if first <= day <= last:
                    report.count(day, "observations")
                yield row

    def _row(
        self, raw: msgspec.Raw | bytes, first: date, last: date, report: ReadReport
    ) -> Observation | ScoreRow | None:
        try:
            row = parse_row(read_row(raw))
        except RowError as refused:
            report.count(first, "rows")
            report.count(first, f"rejected_{refused.reason}")
            return None
        if self.created_before is not None and row.created_at >= self.created_before:
            report.count(paris_day(row.started_at if isinstance(row, Observation) else row.observed_at), "late")
            return None
        # rows of the margins belong to other days and are counted when those are read
        day = paris_day(row.started_at if isinstance(row, Observation) else row.observed_at)
        if first <= day <= last:
            count_row(report, row)
        return row
