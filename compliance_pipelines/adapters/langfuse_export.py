"""Langfuse exports on disk, read as a stream: JSON, JSONL, CSV or Parquet, gzipped or not, API pages included.

Memory is bounded by spilling: rows go to buckets by trace id, each bucket is assembled by itself, so a trace may lie
anywhere in the folder. A row that cannot be used is counted with its reason; a file that cannot be read to its end
(truncated gzip, CSV or JSONL) refuses the whole read: nobody could say what was lost. No Dagster, no judgement here.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Protocol

import msgspec

from compliance_pipelines.adapters.langfuse_spill import Spill, bucket_count, by_day
from compliance_pipelines.core import assembly
from compliance_pipelines.core.extraction import ReadReport, Scores, count_row, event_score, exchanges, row_day
from compliance_pipelines.core.langfuse_rows import Observation, RowError, ScoreRow, known_columns, parse_row
from compliance_pipelines.core.records import Score, Trace

SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")
_MAX_LINE = 64 * 1024 * 1024
_MAX_JSON = 256 * 1024 * 1024
_GZIP_RATIO = 12


class ExportError(RuntimeError):
    """An export that cannot be read: one French line with the file and what was expected."""


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file to read, and the name that errors give it."""

    path: Path
    shown: str


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
        found = [path for path in sorted(self.source.rglob("*")) if path.is_file() and is_export(path)]
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
            for row in self._rows(files, report, first):
                if isinstance(row, Observation):
                    report.count(row_day(row), "observations")
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
            for found in self._rows(files, report, first):
                row = event_score(found) if isinstance(found, Observation) else found
                if row is not None:
                    scores.add(row)
        return scores.result(), report

    def _rows(self, files: Sequence[ExportFile], report: ReadReport, first: date) -> Iterator[Observation | ScoreRow]:
        for file in files:
            report.files += 1
            day = first
            for raw in _raw_rows(file):
                try:
                    if isinstance(raw, RowError):
                        raise raw
                    row = parse_row(raw)
                except RowError as refused:
                    report.count(day, "rows")
                    report.count(day, f"rejected_{refused.reason}")
                    continue
                day = row_day(row)
                count_row(report, row, day)
                yield row


def is_export(path: PurePath) -> bool:
    """Whether a file of this name holds rows; truth.* and manifests lie beside exports without being such."""
    return _suffix(path) in SUFFIXES and not _is_side_file(path)


def none_found(shown: str) -> ExportError:
    """What to say of a place without export files."""
    return ExportError(f"{shown} : aucun fichier d'export ({', '.join(SUFFIXES)}, avec ou sans .gz)")


def _buckets(files: Sequence[ExportFile]) -> int:
    size = sum(file.path.stat().st_size * (_GZIP_RATIO if file.path.suffix == ".gz" else 1) for file in files)
    return bucket_count(size)


def _raw_rows(file: ExportFile) -> Iterator[Mapping[str, Any] | RowError]:
    path, shown = file.path, file.shown
    try:
        if _suffix(path) == ".parquet":
            yield from _parquet_rows(file)
            return
        with _open(path) as handle:
            if _suffix(path) == ".csv":
                yield from _csv_rows(shown, handle)
            elif _suffix(path) == ".json":
                yield from _json_rows(shown, handle)
            else:
                yield from _jsonl_rows(shown, handle)
    except (EOFError, zlib.error, gzip.BadGzipFile) as damaged:
        raise ExportError(f"{shown} : archive gzip tronquée ou abîmée, lecture refusée (à réexporter)") from damaged
    except PermissionError as denied:
        raise ExportError(f"{shown} : lecture refusée par le système (droits du fichier)") from denied


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return io.BufferedReader(gzip.open(path, "rb"), 1 << 18)  # type: ignore[arg-type]
    return path.open("rb", buffering=1 << 18)


def _jsonl_rows(shown: str, handle: BinaryIO) -> Iterator[Mapping[str, Any] | RowError]:
    decode = msgspec.json.Decoder().decode
    while line := handle.readline(_MAX_LINE + 1):
        if len(line) > _MAX_LINE:
            yield RowError("line_too_long")
            while line and not line.endswith(b"\n"):
                line = handle.readline(_MAX_LINE)
            continue
        if not line.strip():
            continue
        try:
            row = decode(line)
        except (msgspec.DecodeError, RecursionError):
            row = _lenient(line)
        if isinstance(row, dict):
            yield from _unwrap(row)
        elif not line.endswith(b"\n"):
            # half a line at the end: nobody can say how many should have followed it
            raise ExportError(f"{shown} : JSONL tronqué (dernière ligne incomplète), lecture refusée (à réexporter)")
        else:
            yield RowError("not_json")


def _lenient(data: bytes) -> Any:
    # msgspec refuses lone surrogates and invalid UTF-8, which real traces hold
    try:
        return json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None


def _json_rows(shown: str, handle: BinaryIO) -> Iterator[Mapping[str, Any] | RowError]:
    data = handle.read(_MAX_JSON + 1)
    if len(data) > _MAX_JSON:
        raise ExportError(f"{shown} : plus de {_MAX_JSON >> 20} Mo de JSON en un seul document, à exporter en JSONL")
    try:
        parsed = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        parsed = _lenient(data)
    del data
    if isinstance(parsed, dict):
        yield from _unwrap(parsed)
    elif isinstance(parsed, list):
        yield from _objects(parsed)
    else:
        raise ExportError(f"{shown} : JSON illisible, attendu un tableau de lignes ou une page de l'API Langfuse")


def _unwrap(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any] | RowError]:
    # a saved API page holds its rows in "data", a recording of one in "response"
    inner = row.get("response", row)
    if isinstance(inner, Mapping) and isinstance(inner.get("data"), list):
        yield from _objects(inner["data"])
    elif isinstance(inner, Mapping) and isinstance(inner.get("observations"), list) and "timestamp" in inner:
        yield from _objects(inner["observations"])
        scores = inner.get("scores")
        yield from _objects(scores if isinstance(scores, list) else [])
    else:
        yield row


def _objects(items: Sequence[Any]) -> Iterator[Mapping[str, Any] | RowError]:
    yield from (item if isinstance(item, Mapping) else RowError("not_json") for item in items)


def _csv_rows(shown: str, handle: BinaryIO) -> Iterator[Mapping[str, Any] | RowError]:
    csv.field_size_limit(min(sys.maxsize, _MAX_LINE))
    text = io.TextIOWrapper(handle, "utf-8-sig", errors="replace", newline="")
    # NUL bytes stop the csv module; they carry nothing
    reader = csv.DictReader((line.replace("\x00", "") for line in text), strict=True)
    try:
        columns = list(reader.fieldnames or [])
        if columns and not known_columns(columns):
            raise ExportError(
                f"{shown} : colonnes inconnues ({', '.join(columns[:6])[:120]}…), "
                "attendu un export Langfuse d'observations, de traces ou de scores"
            )
        for row in reader if columns else ():
            # cells too few or too many: nobody can say which column is which
            yield RowError("wrong_cells") if None in row or None in row.values() else row
    except csv.Error as damaged:
        # what follows a quote without its end, or a cell without end, is lost
        raise ExportError(
            f"{shown} : CSV abîmé ou tronqué vers la ligne {reader.line_num}, lecture refusée (à réexporter)"
        ) from damaged
    finally:
        # the file belongs to the caller, who closes it
        text.detach()


def _parquet_rows(file: ExportFile) -> Iterator[Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file.path) as table:
            if not known_columns(table.schema_arrow.names):
                raise ExportError(f"{file.shown} : colonnes inconnues, attendu un export Langfuse")
            # the storage engine writes metadata as a map, and text as bytes where it is set so
            encoded = "binary" in str(table.schema_arrow)
            for batch in table.iter_batches(batch_size=500):
                rows = batch.to_pylist(maps_as_pydicts="lossy")
                yield from map(_decoded, rows) if encoded else rows
    except pa.ArrowException as damaged:
        raise ExportError(f"{file.shown} : fichier Parquet illisible ou tronqué") from damaged


def _decoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_decoded(key): _decoded(item) for key, item in value.items()}
    return [_decoded(item) for item in value] if isinstance(value, list) else value


def _suffix(path: PurePath) -> str:
    name = path.with_suffix("") if path.suffix == ".gz" else path
    return name.suffix.lower()


def _is_side_file(path: PurePath) -> bool:
    return path.name.startswith(("truth.", ".", "_")) or "manifests" in path.parts
