"""Langfuse exports on disk, read as a stream: JSON, JSONL, CSV or Parquet, gzipped or not, API pages included.

Memory is bounded by spilling: rows go to buckets by trace id, each bucket is assembled by itself, so a trace may lie
anywhere in the folder. A row that cannot be used is counted with its reason; a file that cannot be read to its end
(truncated gzip) refuses the whole read, because nobody could say what was lost. No Dagster, no judgement here.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pickle
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from compliance_pipelines.core import assembly
from compliance_pipelines.core.langfuse_rows import (
    MAX_TEXT,
    Observation,
    RowError,
    ScoreRow,
    known_columns,
    parse_row,
)
from compliance_pipelines.core.periods import paris_day
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
SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")
_BUCKET_BYTES = 8_000_000
_PENDING_CHARS = 24_000_000
_MAX_LINE = 64 * 1024 * 1024
_GZIP_RATIO = 12
_OPEN: set[str] = set()


class ExportError(RuntimeError):
    """An export that cannot be read: one French line with the file and what was expected."""


@dataclass
class ReadReport:
    """What was read, and what was not used and why: counts by Paris day, never content.

    A row without a readable time counts on the day of the row before it in its file, so that reading an export again
    for another day does not count it twice.
    """

    days: dict[date, Counter[str]] = field(default_factory=dict)
    sources: Counter[str] = field(default_factory=Counter)
    files: int = 0

    def count(self, day: date, name: str, n: int = 1) -> None:
        """Add `n` to the count `name` of `day`."""
        if n:
            self.days.setdefault(day, Counter())[name] += n

    def totals(self, first: date, last: date) -> dict[str, int]:
        """Counts of the days first..last together, in name order."""
        whole: Counter[str] = Counter()
        for day, counts in self.days.items():
            if first <= day <= last:
                whole.update(counts)
        return dict(sorted(whole.items()))


class ExportReader:
    """Reads one export folder (or file). `scratch` holds the spill files of a read and is swept by the next one."""

    def __init__(self, source: Path, scratch: Path, resolve: assembly.Resolver, hmac_key: bytes) -> None:
        self.source = source
        self.scratch = scratch
        self.resolve = resolve
        self.hmac_key = hmac_key

    def files(self) -> list[Path]:
        """The export files, in name order; raises ExportError when there are none."""
        if self.source.is_file():
            return [self.source]
        if not self.source.is_dir():
            raise ExportError(f"{self.source} : dossier d'export introuvable (LANGFUSE_EXPORT)")
        # truth.* and manifests lie beside exports without being rows of Langfuse
        found = [
            path
            for path in sorted(self.source.rglob("*"))
            if path.is_file() and _suffix(path) in SUFFIXES and not _is_side_file(path)
        ]
        if not found:
            raise ExportError(f"{self.source} : aucun fichier d'export ({', '.join(SUFFIXES)}, avec ou sans .gz)")
        return found

    def trace_days(self, days: list[date], report: ReadReport) -> Iterator[tuple[date, list[Trace]]]:
        """Exchanges of each of `days` (consecutive, ascending), in order of time, one day in memory at a time.

        The whole read happens before this returns, so `report` is complete; the days are loaded lazily.
        """
        spill = _Spill(self.scratch, len(days))
        try:
            for chunk in self.trace_chunks(days[0], days[-1], report):
                for trace in chunk:
                    report.sources[trace.department_source] += 1
                    spill.add_to((paris_day(trace.observed_at) - days[0]).days, trace)
        except BaseException:
            spill.close()
            raise
        return _days(spill, days)

    def trace_chunks(self, first: date, last: date, report: ReadReport) -> Iterator[list[Trace]]:
        """Exchanges in chunks of bounded size, in no particular order; fills `report` while it runs."""
        with _Spill(self.scratch, self._buckets()) as spill:
            for row in self._rows(report, first):
                if isinstance(row, Observation):
                    report.count(paris_day(row.started_at), "observations")
                    spill.add(row.trace_id, row)
            for number in range(len(spill.pending)):
                yield list(self._assemble(spill.bucket(number), first, last, report))

    def read_scores(self, first: date, last: date) -> tuple[list[Score], ReadReport]:
        """Scores and guardrail events dated first..last (Paris days), in order of time.

        One score per id, name and day, the latest version. Events have source "EVENT", value 1 and their level.
        """
        report = ReadReport()
        kept: dict[tuple[str, str, date], ScoreRow] = {}
        for found in self._rows(report, first):
            row = _event(found) if isinstance(found, Observation) else found
            day = None if row is None else paris_day(row.observed_at)
            if row is None or day is None or not first <= day <= last:
                continue
            report.count(day, "scores")
            key = (row.score_id, row.name, day)
            if key in kept:
                report.count(day, "duplicates")
                report.count(day, "conflicting_duplicates", kept[key].value != row.value)
            if key not in kept or row.updated_at > kept[key].updated_at:
                kept[key] = row
        ordered = sorted(kept.values(), key=lambda r: (r.observed_at, r.score_id, r.name))
        return [
            Score(r.score_id, r.trace_id, r.name, r.value, r.string_value, r.source, r.observed_at, r.created_at)
            for r in ordered
        ], report

    def _buckets(self) -> int:
        size = sum(path.stat().st_size * (_GZIP_RATIO if path.suffix == ".gz" else 1) for path in self.files())
        return max(1, min(512, size // _BUCKET_BYTES))

    def _assemble(
        self, rows: list[Observation], first: date, last: date, report: ReadReport
    ) -> Iterator[Trace]:
        groups: dict[str, list[Observation]] = {}
        for row in rows:
            groups.setdefault(row.trace_id, []).append(row)
        for _, group in sorted(groups.items()):
            unique: dict[str, Observation] = {}
            for row in group:
                before = unique.get(row.row_id)
                if before is not None:
                    day = paris_day(row.started_at)
                    report.count(day, "duplicates")
                    report.count(day, "conflicting_duplicates", before != row)
                if before is None or row.created_at > before.created_at:
                    unique[row.row_id] = row
            traces = assembly.assemble(unique.values(), self.resolve, self.hmac_key, "export")
            if not traces:
                report.count(paris_day(group[0].started_at), "without_exchange")
            yield from (trace for trace in traces if first <= paris_day(trace.observed_at) <= last)

    def _rows(self, report: ReadReport, first: date) -> Iterator[Observation | ScoreRow]:
        for path in self.files():
            report.files += 1
            day = first
            for raw in _raw_rows(path):
                try:
                    if isinstance(raw, RowError):
                        raise raw
                    row = parse_row(raw)
                except RowError as refused:
                    report.count(day, "rows")
                    report.count(day, f"rejected_{refused.reason}")
                    continue
                if isinstance(row, Observation):
                    day = paris_day(row.started_at)
                    report.count(day, "truncated_texts", MAX_TEXT in (len(row.input or ""), len(row.output or "")))
                else:
                    day = paris_day(row.observed_at)
                report.count(day, "rows")
                yield row


def _event(row: Observation) -> ScoreRow | None:
    if row.kind != "EVENT" or row.name not in EVENTS:
        return None
    return ScoreRow(
        row.row_id, row.trace_id, "trace", row.name, 1.0, row.level, "EVENT", row.started_at, row.created_at, row.created_at
    )


class _Spill:
    """Records on disk in numbered buckets; the folder goes when the read ends, leftovers of a killed read with the next."""

    def __init__(self, scratch: Path, count: int) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        for leftover in scratch.glob("spill-*"):
            if not _alive(leftover):
                shutil.rmtree(leftover, ignore_errors=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"spill-{os.getpid()}-", dir=scratch))
        _OPEN.add(self.folder.name)
        self.pending: list[list[Any]] = [[] for _ in range(count)]
        self.pending_chars = 0

    def __enter__(self) -> _Spill:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        _OPEN.discard(self.folder.name)

    def add(self, trace_id: str, row: Observation) -> None:
        """Put a row into the bucket of its trace."""
        self.add_to(zlib.crc32(trace_id.encode()) % len(self.pending), row)

    def add_to(self, number: int, record: Observation | Trace) -> None:
        """Put a record into bucket `number`; memory is bounded over all buckets together."""
        self.pending[number].append(record)
        self.pending_chars += _chars(record)
        if self.pending_chars > _PENDING_CHARS:
            for k in range(len(self.pending)):
                self._flush(k)
            self.pending_chars = 0

    def bucket(self, number: int) -> list[Any]:
        """The records of one bucket, in the order they came; the bucket is emptied."""
        self._flush(number)
        path = self.folder / str(number)
        found: list[Any] = []
        if path.exists():
            with path.open("rb") as handle:
                while handle.peek(1):
                    found += pickle.load(handle)  # noqa: S301  our own file of this very read
            path.unlink()
        return found

    def _flush(self, number: int) -> None:
        if self.pending[number]:
            with (self.folder / str(number)).open("ab") as handle:
                pickle.dump(self.pending[number], handle, protocol=pickle.HIGHEST_PROTOCOL)
            self.pending[number] = []


def _chars(record: Observation | Trace) -> int:
    if isinstance(record, Trace):
        return 500 + len(record.answer or "") + sum(map(len, record.contexts))
    return 2000 + len(record.input or "") + len(record.output or "")


def _days(spill: _Spill, days: list[date]) -> Iterator[tuple[date, list[Trace]]]:
    with spill:
        for number, day in enumerate(days):
            yield day, sorted(spill.bucket(number), key=lambda trace: (trace.observed_at, trace.trace_id))


def _raw_rows(path: Path) -> Iterator[Mapping[str, Any] | RowError]:
    try:
        if _suffix(path) == ".parquet":
            yield from _parquet_rows(path)
            return
        with _open(path) as handle:
            if _suffix(path) == ".csv":
                yield from _csv_rows(path, handle)
            elif _suffix(path) == ".json":
                yield from _json_rows(path, handle)
            else:
                yield from _jsonl_rows(handle)
    except (EOFError, zlib.error, gzip.BadGzipFile) as damaged:
        raise ExportError(f"{path} : archive gzip tronquée ou abîmée, lecture refusée (à réexporter)") from damaged
    except PermissionError as denied:
        raise ExportError(f"{path} : lecture refusée par le système (droits du fichier)") from denied


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return io.BufferedReader(gzip.open(path, "rb"), 1 << 18)  # type: ignore[arg-type]
    return path.open("rb", buffering=1 << 18)


def _jsonl_rows(handle: BinaryIO) -> Iterator[Mapping[str, Any] | RowError]:
    decode = msgspec.json.Decoder().decode
    while line := handle.readline(_MAX_LINE + 1):
        if len(line) > _MAX_LINE:
            yield RowError("line_too_long")
            while line and not line.endswith(b"\n"):
                line = handle.readline(_MAX_LINE)  # noqa: PLW2901  skip to the end of that line
            continue
        if not line.strip():
            continue
        try:
            row = decode(line)
        except msgspec.DecodeError:
            row = _lenient(line)
        if isinstance(row, dict):
            yield from _unwrap(row)
        else:
            yield RowError("not_json")


def _lenient(data: bytes) -> Any:
    # msgspec refuses lone surrogates and invalid UTF-8, which real traces hold
    try:
        return json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None


def _json_rows(path: Path, handle: BinaryIO) -> Iterator[Mapping[str, Any]]:
    data = handle.read()
    try:
        parsed = msgspec.json.decode(data)
    except msgspec.DecodeError:
        parsed = _lenient(data)
    del data
    if isinstance(parsed, dict):
        yield from _unwrap(parsed)
    elif isinstance(parsed, list):
        for row in parsed:
            if isinstance(row, dict):
                yield row
    else:
        raise ExportError(f"{path} : JSON illisible, attendu un tableau de lignes ou une page de l'API Langfuse")


def _unwrap(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    # a saved API page holds its rows in "data", a recording of one in "response"
    inner = row.get("response", row)
    if isinstance(inner, Mapping) and isinstance(inner.get("data"), list):
        yield from (item for item in inner["data"] if isinstance(item, Mapping))
    elif isinstance(inner, Mapping) and isinstance(inner.get("observations"), list) and "timestamp" in inner:
        yield from (item for item in inner["observations"] if isinstance(item, Mapping))
        yield from (item for item in inner.get("scores") or [] if isinstance(item, Mapping))
    else:
        yield row


def _csv_rows(path: Path, handle: BinaryIO) -> Iterator[Mapping[str, Any] | RowError]:
    csv.field_size_limit(min(sys.maxsize, _MAX_LINE))
    text = io.TextIOWrapper(handle, "utf-8-sig", errors="replace", newline="")
    # NUL bytes stop the csv module; they carry nothing
    lines = (line.replace("\x00", "") for line in text)
    reader = csv.DictReader(lines)
    columns = list(reader.fieldnames or [])
    if not columns:
        return
    if not known_columns(columns):
        raise ExportError(
            f"{path} : colonnes inconnues ({', '.join(columns[:6])[:120]}…), "
            "attendu un export Langfuse d'observations, de traces ou de scores"
        )
    try:
        for row in reader:
            yield {k: v for k, v in row.items() if k is not None}
    except csv.Error:
        yield RowError("bad_csv")


def _parquet_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as table:
            if not known_columns(table.schema_arrow.names):
                raise ExportError(f"{path} : colonnes inconnues, attendu un export Langfuse")
            for batch in table.iter_batches(batch_size=500):
                yield from batch.to_pylist()
    except pa.ArrowException as damaged:
        raise ExportError(f"{path} : fichier Parquet illisible ou tronqué") from damaged


def _suffix(path: Path) -> str:
    name = path.with_suffix("") if path.suffix == ".gz" else path
    return name.suffix.lower()


def _is_side_file(path: Path) -> bool:
    return path.name.startswith(("truth.", ".", "_")) or "manifests" in path.parts


def _alive(folder: Path) -> bool:
    # in a container every run may have the same process id, so our own folders are known by name
    pid = folder.name.split("-")[1]
    return folder.name in _OPEN or (int(pid) != os.getpid() and Path(f"/proc/{pid}").exists())
