"""Traces and scores read from a Langfuse server: v4 (`events_only`, `dual`) and v3, found out by asking it.

Same interface as the export reader. Windows of time are read several at once into journals under
`COMPLIANCE_HOME/state/langfuse`, so that a killed read goes on where it stood; then rows go to buckets by trace, which
bounds memory. Nothing is judged here, and no row's text enters an error, a log or a count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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
    TooWideError,
)
from compliance_pipelines.adapters.langfuse_api_journal import Journal, StateFolder
from compliance_pipelines.adapters.langfuse_api_late import Ledger, RowCounts, count_days
from compliance_pipelines.adapters.langfuse_api_rows import SEGMENTS, row_time, unpack_observations, unpack_rows
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
)
from compliance_pipelines.adapters.langfuse_api_traces import Seen, TraceRows
from compliance_pipelines.adapters.langfuse_api_windows import Progress, WindowReader
from compliance_pipelines.adapters.langfuse_spill import bucket_count, by_day, scores_by_day
from compliance_pipelines.core import assembly, reconciliation
from compliance_pipelines.core.extraction import (
    MARGIN,
    READ,
    ReadReport,
    Scores,
    Tally,
    Window,
    count_row,
    event_score,
    exchanges,
    row_day,
    windows,
)
from compliance_pipelines.core.langfuse_rows import Observation, RowError, ScoreRow, parse_row
from compliance_pipelines.core.periods import paris_day
from compliance_pipelines.core.records import Score, Trace

# a day and its margins in twelve: as many windows for each of two, three, four or six connections
WIDTH = (timedelta(days=1) + 2 * MARGIN) / 12


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
        width: timedelta | None = None,
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
        # one connection gains nothing from many windows, whose last pages are half empty
        self.width = width or (WIDTH if windows_at_once > 1 else 12 * WIDTH)
        self.created_before = created_before
        self.progress = Progress()
        self._log = log
        self._asked: dict[str, bool] = {}

    def __enter__(self) -> ApiReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def generation(self) -> Generation:
        """Which endpoints this server answers, asked once. A `dual` server is read as v4, see `_sources`."""
        self._ask(V4_OBSERVATIONS, V4_SCORES, V3_OBSERVATIONS)
        if not self._asked[V4_SCORES.name]:
            self._ask(V3_SCORES)
            if not self._asked[V3_SCORES.name]:
                raise self._unknown()
        return self._generation()

    def _generation(self) -> Generation:
        """The same when only traces are read: a question that nobody needs answered costs as much as a page."""
        self._ask(V4_OBSERVATIONS, V3_OBSERVATIONS)
        new_traces, old_traces = self._asked[V4_OBSERVATIONS.name], self._asked[V3_OBSERVATIONS.name]
        new_scores = self._asked.get(V4_SCORES.name, new_traces)
        if not (new_traces or old_traces):
            raise self._unknown()
        return Generation(
            name="v4" if new_traces and new_scores else "v3" if not (new_traces or new_scores) else "v4/v3",
            traces=(V4_OBSERVATIONS,) if new_traces else (V3_OBSERVATIONS, V3_TRACES),
            scores=(V4_SCORES if new_scores else V3_SCORES, V4_EVENTS if new_traces else V3_EVENTS),
            dual=new_traces and old_traces,
        )

    def _ask(self, *sources: Source) -> None:
        unknown = [source for source in sources if source.name not in self._asked]
        if unknown:
            with ThreadPoolExecutor(min(3, self.windows_at_once), thread_name_prefix="langfuse-asks") as pool:
                answers = pool.map(self._answers, unknown)
                self._asked |= {source.name: answer for source, answer in zip(unknown, answers, strict=True)}

    def _unknown(self) -> LangfuseError:
        return LangfuseError(
            f"Langfuse ({self.http.server.host}) : ni l’API v4 ni l’API v3 n’y répondent, est-ce bien Langfuse ?"
        )

    def trace_days(self, days: list[date], report: ReadReport) -> Iterator[tuple[date, list[Trace]]]:
        """Exchanges of each of `days` (consecutive, ascending), in order of time, one day in memory at a time.

        The whole read happens before this returns, so `report` is complete; the days are loaded lazily.
        """
        return by_day(self.trace_chunks(days[0], days[-1], report), days, self.state, report)

    def trace_chunks(self, first: date, last: date, report: ReadReport) -> Iterator[list[Trace]]:
        """Exchanges in chunks of bounded size, in no particular order; fills `report` while it runs.

        The state of the read is forgotten when every chunk was taken, so an interrupted use starts over from the disk.
        """
        counts = self._row_counts(first, last)
        sources = self._sources(counts).traces
        folder = self._folder(sources, first, last)
        done = False
        try:
            at_start = _counts_at_start(folder, counts)
            reconciliation.note_gone(report, self._ledger().counts(), at_start)
            parts = windows(first, last, self.width, MARGIN)
            journals = self._download(folder, sources, parts)
            _count_rejected(journals, first, last, report)
            chunks = min(SEGMENTS, bucket_count(sum(journal.size for journal in journals)))
            for number in range(chunks):
                span = (number * SEGMENTS // chunks, (number + 1) * SEGMENTS // chunks)
                rows = self._observations(journals, span, first, last, report)
                yield list(exchanges(rows, first, last, report, self.resolve, self.hmac_key, "api"))
            self._ledger().keep(at_start)
            at_end = self._row_counts(first, last)
            # read from both kinds of tables, nobody knows how many of their rows are the same
            reconciliation.note(report, at_start, at_end.least if len(sources) < 3 else at_end.together)
            done = True
        finally:
            folder.remove() if done else folder.release()

    def read_scores(self, first: date, last: date) -> tuple[list[Score], ReadReport]:
        """Scores and guardrail events dated first..last (Paris days), in order of time.

        One score per id, name and day, the latest version. Events have source "EVENT", value 1 and their level.
        """
        report = ReadReport()
        scores = Scores(first, last, report)
        generation = self.generation()
        sources = self._sources(self._row_counts(first, last)).scores if generation.dual else generation.scores
        folder = self._folder(sources, first, last)
        done = False
        try:
            parts = windows(first, last, self.width, timedelta())
            journals = self._download(folder, sources, parts)
            for row in self._scores(journals, first, last, report):
                scores.add(row)
            done = True
        finally:
            folder.remove() if done else folder.release()
        return scores.result(), report

    def score_days(self, days: list[date], report: ReadReport) -> Iterator[tuple[date, list[Score]]]:
        """The same for each of `days` (consecutive, ascending), a month in memory at a time."""
        return scores_by_day(self.read_scores, days, self.state, report)

    def late_days(self, first: date, last: date) -> list[date]:
        """The days first..last that received rows after they were read here, in order; worth reading again.

        Days that were never read are not in it, nor is any day on a server that does not count.
        """
        return list(self.late_counts(first, last))

    def late_counts(self, first: date, last: date) -> dict[date, int]:
        """The same days, each with what the server counts on it now."""
        counts = self._row_counts(first, last).least
        return {day: counts[day] for day in self._ledger().grown(sorted(counts.items()))}

    def _ledger(self) -> Ledger:
        server = self.http.server
        key = hashlib.sha256(f"{server.base_url} {server.public_key}".encode()).hexdigest()[:16]
        return Ledger(self.state / f"counts-{key}.json")

    def _row_counts(self, first: date, last: date) -> RowCounts:
        return count_days(self.http, first, last, self._generation())

    def _sources(self, counts: RowCounts) -> Generation:
        """What to read. A `dual` server whose new tables lack rows is read from both, the new ones first."""
        generation = self._generation()
        wanted = generation.dual and counts.old_tables_needed
        return generation.with_old_tables() if wanted else generation

    def _answers(self, source: Source) -> bool:
        query = {**source.params, "limit": "1"} | ({"page": "1"} if source.numbered else {})
        # far in the past: an empty answer is enough
        query |= {source.low: "2000-01-01T00:00:00.000Z", source.high: "2000-01-01T00:00:01.000Z"}
        try:
            self.http.get(source.path, query, source.pack)
        except TooWideError:
            return True
        except (NotThereError, RefusedError):
            return False
        return True

    def _folder(self, sources: Sequence[Source], first: date, last: date) -> StateFolder:
        server = self.http.server
        content = msgspec.json.encode(
            [server.base_url, server.public_key, first, last, self.width.total_seconds(), MARGIN.total_seconds()]
            + [[source.name, source.path, dict(source.params)] for source in sources]
        )
        try:
            return StateFolder(self.state, hashlib.sha256(content).hexdigest()[:16])
        except OSError as failed:
            raise LangfuseError(f"COMPLIANCE_HOME/state : dossier inutilisable ({type(failed).__name__})") from failed

    def _download(self, folder: StateFolder, sources: Sequence[Source], parts: Sequence[Window]) -> list[Journal]:
        reader = WindowReader(self.http, folder, at_once=self.windows_at_once, log=self._log)
        self.progress = reader.progress
        reader.read(sources, parts)
        return list(reader.journals(sources, parts))

    def _observations(
        self, journals: Sequence[Journal], span: tuple[int, int], first: date, last: date, report: ReadReport
    ) -> Iterator[Observation]:
        tally, seen = Tally(first, last, self.created_before), Seen(journals)
        roots = TraceRows(first, last, self.created_before)
        for journal in journals:
            for segment in journal.segments(*span):
                rows = tally.kept(seen.first_time(journal, unpack_observations(segment)))
                yield from roots.noted(journal, rows)
        tally.add_to(report)
        yield from roots.missing(self.http, self.windows_at_once)

    def _scores(self, journals: Sequence[Journal], first: date, last: date, report: ReadReport) -> Iterator[ScoreRow]:
        _count_rejected(journals, first, last, report)
        seen = Seen(journals)
        for journal in journals:
            events = journal.path.name.startswith((V4_EVENTS.name, V3_EVENTS.name))
            for segment in journal.segments(0, SEGMENTS):
                found: Iterable[ScoreRow | None]
                if events:
                    found = map(event_score, seen.first_time(journal, unpack_observations(segment)))
                else:
                    found = _parsed(segment, first, last, report)
                for row in found:
                    if row is not None and self._counts(row, first, last, report):
                        yield row

    def _counts(self, row: ScoreRow, first: date, last: date, report: ReadReport) -> bool:
        """Count the row where its day was asked for; False when it came after the cut-off."""
        day = row_day(row)
        late = self.created_before is not None and row.created_at >= self.created_before
        if first <= day <= last:
            count_row(report, row, day)
            report.count(day, "late", late)
        return not late


def _counts_at_start(folder: StateFolder, counts: RowCounts) -> dict[date, int]:
    """Counted before the first page, also when resumed: what arrives since makes a day one with late rows."""
    kept = Ledger(folder.path / "counts.json")
    if not kept.path.exists():
        kept.keep(counts.least)
    return kept.counts()


def _parsed(segment: memoryview, first: date, last: date, report: ReadReport) -> Iterator[ScoreRow]:
    for content in unpack_rows(segment):
        reason = "unknown_shape"
        try:
            row = parse_row(content)
            if isinstance(row, ScoreRow):
                yield row
                continue
        except RowError as refused:
            reason = refused.reason
        _reject(report, first, last, reason, row_time(content))


def _count_rejected(journals: Sequence[Journal], first: date, last: date, report: ReadReport) -> None:
    for journal in journals:
        for reason, at in journal.state.rejected:
            day = _reject(report, first, last, reason, at)
            if day is not None and journal.path.name.startswith(V3_TRACES.name):
                # a v3 trace is no row that the server counts
                report.count(day, READ, -1)


def _reject(report: ReadReport, first: date, last: date, reason: str, at: datetime | None) -> date | None:
    """Count a refused row on its own day, one without a time on the first; None when it was on neither of them."""
    day = first if at is None else paris_day(at)
    if not first <= day <= last:
        return None
    report.count(day, "rows")
    report.count(day, f"rejected_{reason}")
    return day
