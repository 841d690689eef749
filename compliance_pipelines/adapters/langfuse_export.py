"""Langfuse exports on disk, read as a stream: JSON, JSONL, CSV or Parquet, gzipped or not, API pages included.

Memory is bounded by spilling: rows go to buckets by trace id, each bucket is assembled by itself, so a trace may lie
anywhere in the folder. A row that cannot be used is counted with its reason; a file that cannot be read to its end
(truncated gzip, CSV or JSONL) refuses the whole read: nobody could say what was lost. No Dagster, no judgement here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from pathlib import Path, PurePath
from typing import NoReturn, Protocol

from compliance_pipelines.adapters.langfuse_export_rows import (
    SUFFIXES,
    ExportError,
    ExportFile,
    form_of,
    is_gzip,
    is_packed_otherwise,
    raw_rows,
)
from compliance_pipelines.adapters.langfuse_spill import Spill, bucket_count, by_day, scores_by_day
from compliance_pipelines.core import assembly
from compliance_pipelines.core.extraction import ReadReport, Scores, count_row, event_score, exchanges, row_day
from compliance_pipelines.core.langfuse_rows import Observation, RowError, ScoreRow, parse_row
from compliance_pipelines.core.records import Score, Trace

_GZIP_RATIO = 12


class ExportSource(Protocol):
    """Export files that lie elsewhere; `opened` brings them to disk, below `scratch`, for the time of one read."""

    def opened(self, scratch: Path) -> AbstractContextManager[list[ExportFile]]:
        """The files, in name order; raises ExportError."""
        ...


class ExportReader:
    """Reads one export: a folder, a file, or an `ExportSource`.

    `scratch` holds the spill files of a read and is swept by the next one.
    """

    def __init__(self, source: Path | ExportSource, scratch: Path, resolve: assembly.Resolver, hmac_key: bytes) -> None:
        self.source = source
        self.scratch = scratch
        self.resolve = resolve
        self.hmac_key = hmac_key

    def __enter__(self) -> ExportReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held between two reads; the reader of a server closes its connections here."""

    def files(self) -> list[Path]:
        """The export files of a folder, in name order; raises ExportError when there are none."""
        if not isinstance(self.source, Path):
            raise ExportError(f"{self.source} : attendu un dossier d'export local")
        if self.source.is_file():
            return [self.source]
        if not self.source.is_dir():
            raise ExportError(f"{self.source} : dossier d'export introuvable (LANGFUSE_EXPORT)")
        # `rglob` passes over a folder that it may not open, and the rows in it
        walk = os.walk(self.source, onerror=_unopened)
        inside = sorted(Path(folder) / name for folder, _, names in walk for name in names)
        found = [path for path in inside if is_export(path.relative_to(self.source)) and path.is_file()]
        if not found:
            raise none_found(str(self.source))
        return found

    def _opened(self) -> AbstractContextManager[list[ExportFile]]:
        if isinstance(self.source, Path):
            return nullcontext([ExportFile(path, str(path)) for path in self.files()])
        return self.source.opened(self.scratch)

    def trace_days(self, days: list[date], report: ReadReport) -> Iterator[tuple[date, list[Trace]]]:
        """Exchanges of each of `days` (consecutive, ascending), in order of time, one day in memory at a time.

        The whole read happens before this returns, so `report` is complete; the days are loaded lazily.
        """
        return by_day(self.trace_chunks(days[0], days[-1], report), days, self.scratch, report)

    def trace_chunks(self, first: date, last: date, report: ReadReport) -> Iterator[list[Trace]]:
        """Exchanges in chunks of bounded size, in no particular order; fills `report` while it runs."""
        with self._opened() as files, Spill(self.scratch, _buckets(files)) as spill:
            for row in self._rows(files, report, first, last):
                if isinstance(row, Observation):
                    if first <= (day := row_day(row)) <= last:
                        report.count(day, "observations")
                    spill.add(row.trace_id, row)
            for number in range(len(spill.pending)):
                yield list(exchanges(spill.bucket(number), first, last, report, self.resolve, self.hmac_key, "export"))

    def read_scores(self, first: date, last: date) -> tuple[list[Score], ReadReport]:
        """Scores and guardrail events dated first..last (Paris days), in order of time.

        One score per id, name and day, the latest version. Events have source "EVENT", value 1 and their level.
        """
        report = ReadReport()
        scores = Scores(first, last, report)
        with self._opened() as files:
            for found in self._rows(files, report, first, last):
                row = event_score(found) if isinstance(found, Observation) else found
                if row is not None:
                    scores.add(row)
        return scores.result(), report

    def score_days(self, days: list[date], report: ReadReport) -> Iterator[tuple[date, list[Score]]]:
        """The same for each of `days` (consecutive, ascending), a month in memory at a time."""
        return scores_by_day(self.read_scores, days, self.scratch, report)

    def _rows(
        self, files: Sequence[ExportFile], report: ReadReport, first: date, last: date
    ) -> Iterator[Observation | ScoreRow]:
        """Every row of the files; those of first..last are counted, others when their own days are read."""
        for file in files:
            report.files += 1
            day: date | None = None
            refused = Counter[str]()
            for raw in raw_rows(file):
                try:
                    if isinstance(raw, RowError):
                        raise raw
                    row = parse_row(raw)
                except RowError as error:
                    refused[error.reason] += 1
                    continue
                here = row_day(row)
                # a row without time counts on the day of the row before it, at the head of a file of the one after it
                _count_refused(report, refused, here if day is None else day, first, last)
                day = here
                if first <= day <= last:
                    count_row(report, row, day)
                yield row
            _count_refused(report, refused, first if day is None else day, first, last)


def _count_refused(report: ReadReport, refused: Counter[str], day: date, first: date, last: date) -> None:
    if refused and first <= day <= last:
        report.count(day, "rows", refused.total())
        for reason, number in refused.items():
            report.count(day, f"rejected_{reason}", number)
    refused.clear()


def is_export(path: PurePath) -> bool:
    """Whether a file of this name holds rows; truth.* and manifests lie beside exports without being such.

    Raises ExportError for an export that is packed in a way that is not read.
    """
    if _is_side_file(path):
        return False
    if is_packed_otherwise(path):
        raise ExportError(f"{path} : compression non lue, attendu .gz ou un fichier non compressé")
    return form_of(path) in SUFFIXES


def none_found(shown: str) -> ExportError:
    """What to say of a place without export files."""
    return ExportError(f"{shown} : aucun fichier d'export ({', '.join(SUFFIXES)}, avec ou sans .gz)")


def _buckets(files: Sequence[ExportFile]) -> int:
    return bucket_count(sum(_size(file.path) * (_GZIP_RATIO if is_gzip(file.path) else 1) for file in files))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        # said when it is opened
        return 0


def _unopened(failed: OSError) -> NoReturn:
    raise ExportError(f"{failed.filename} : dossier illisible ({type(failed).__name__}), droits ?") from failed


def _is_side_file(path: PurePath) -> bool:
    return path.name.startswith(("truth.", ".", "_")) or "manifests" in path.parts
