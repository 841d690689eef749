"""The rows of one export file, whatever its form: JSON, JSONL, CSV or Parquet, gzipped or not, API pages included.

Files come from elsewhere and may be damaged, half written or made to fill memory: what can be read at all is read in
bounded memory, one row that cannot be used is counted alone, a file that cannot be read to its end refuses the whole
read, with one French line. What the rows mean, and where files lie, is not known here.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from compliance_pipelines.core.langfuse_rows import RowError, known_columns

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")
_PACKED = (".7z", ".br", ".bz2", ".lz4", ".rar", ".snappy", ".xz", ".z", ".zip", ".zst", ".zstd")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MAX_LINE = 64 * 1024 * 1024
_MAX_JSON = 256 * 1024 * 1024
# decoding makes up to a hundred times the bytes of "{},{},{}": real rows have one such sign in thirty bytes
_MAX_SIGNS, _FREE_SIGNS, _BYTES_A_SIGN = 12_000_000, 1_000_000, 16
_PARQUET_ROWS = 500
_PARQUET_BYTES = 64 * 1024 * 1024
Raw = Mapping[str, Any] | RowError


class ExportError(RuntimeError):
    """An export that cannot be read: one French line with the file and what was expected."""


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file to read, and the name that errors give it."""

    path: Path
    shown: str


def form_of(path: PurePath) -> str:
    """The suffix that says the form, in lower case, without that of gzip."""
    return (path.with_suffix("") if is_gzip(path) else path).suffix.lower()


def is_gzip(path: PurePath) -> bool:
    """Whether the name says gzip."""
    return path.suffix.lower() == ".gz"


def is_packed_otherwise(path: PurePath) -> bool:
    """Whether this is an export in a packing that is not read: passing over it in silence would lose its rows."""
    return path.suffix.lower() in _PACKED and form_of(path.with_suffix("")) in SUFFIXES


def raw_rows(file: ExportFile) -> Iterator[Raw]:
    """The rows of a file as they stand there, or why one cannot be used; raises ExportError."""
    path, shown = file.path, file.shown
    try:
        if form_of(path) == ".parquet":
            yield from _parquet_rows(file)
            return
        with _open(path) as handle:
            if handle.peek(2)[:2] in _UTF16:
                raise ExportError(f"{shown} : texte en UTF-16, attendu UTF-8 (à réexporter)")
            if form_of(path) == ".csv":
                yield from _csv_rows(shown, handle)
            elif form_of(path) == ".json":
                yield from _json_rows(shown, handle)
            else:
                yield from _jsonl_rows(shown, handle)
    except (EOFError, zlib.error, gzip.BadGzipFile) as damaged:
        raise ExportError(f"{shown} : archive gzip tronquée ou abîmée, lecture refusée (à réexporter)") from damaged
    except PermissionError as denied:
        raise ExportError(f"{shown} : lecture refusée par le système (droits du fichier)") from denied
    except OSError as failed:
        raise ExportError(f"{shown} : lecture impossible ({type(failed).__name__}), fichier retiré ou disque ?") from (
            failed
        )


def _open(path: Path) -> io.BufferedReader:
    if not is_gzip(path):
        return io.BufferedReader(io.FileIO(path), 1 << 18)
    if path.stat().st_size == 0:
        # a file that is being written: gzip would read it as an archive of nothing
        raise EOFError
    return io.BufferedReader(gzip.open(path, "rb"), 1 << 18)  # type: ignore[arg-type]


def _jsonl_rows(shown: str, handle: BinaryIO) -> Iterator[Raw]:
    decode = msgspec.json.Decoder().decode
    while line := handle.readline(_MAX_LINE + 1):
        if len(line) > _MAX_LINE:
            yield RowError("line_too_long")
            while line and not line.endswith(b"\n"):
                line = handle.readline(_MAX_LINE)
            continue
        if not line.strip():
            continue
        if _too_dense(line):
            yield RowError("line_too_dense")
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


def _too_dense(data: bytes) -> bool:
    """Whether the JSON would become far more objects than rows of its size hold."""
    if len(data) <= _FREE_SIGNS:
        return False
    signs = data.count(b"{") + data.count(b"[") + data.count(b",")
    return signs > min(_MAX_SIGNS, max(_FREE_SIGNS, len(data) // _BYTES_A_SIGN))


def _lenient(data: bytes) -> Any:
    # msgspec refuses lone surrogates and invalid UTF-8, which real traces hold
    try:
        return json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None


def _json_rows(shown: str, handle: BinaryIO) -> Iterator[Raw]:
    data = handle.read(_MAX_JSON + 1)
    if len(data) > _MAX_JSON:
        raise ExportError(f"{shown} : plus de {_MAX_JSON >> 20} Mo de JSON en un seul document, à exporter en JSONL")
    if _too_dense(data):
        raise ExportError(f"{shown} : trop de valeurs pour un seul document JSON, à exporter en JSONL")
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


def _unwrap(row: Mapping[str, Any]) -> Iterator[Raw]:
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


def _objects(items: Sequence[Any]) -> Iterator[Raw]:
    yield from (item if isinstance(item, Mapping) else RowError("not_json") for item in items)


class _Lines:
    """Lines of a CSV file. csv gathers the lines of a row without a bound: `taken` is what the row took so far."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._text.readline(_MAX_LINE + 1):
            self.taken += len(line)
            if self.taken > _MAX_LINE:
                raise csv.Error("row too long")
            # NUL bytes stop the csv module; they carry nothing
            yield line.replace("\x00", "") if "\x00" in line else line


def _csv_rows(shown: str, handle: BinaryIO) -> Iterator[Raw]:
    csv.field_size_limit(min(sys.maxsize, _MAX_LINE))
    text = io.TextIOWrapper(handle, "utf-8-sig", errors="replace", newline="")
    lines = _Lines(text)
    reader = csv.reader(iter(lines), strict=True)
    try:
        columns = next(reader, [])
        if columns and not known_columns(columns):
            raise ExportError(
                f"{shown} : colonnes inconnues ({', '.join(columns[:6])[:120]}…), "
                "attendu un export Langfuse d'observations, de traces ou de scores"
            )
        lines.taken = 0
        for cells in reader if columns else ():
            lines.taken = 0
            if cells:
                # cells too few or too many: nobody can say which column is which
                fits = len(cells) == len(columns)
                yield dict(zip(columns, cells, strict=True)) if fits else RowError("wrong_cells")
    except csv.Error as damaged:
        # what follows a quote without its end, or a cell without end, is lost
        raise ExportError(
            f"{shown} : CSV abîmé ou tronqué vers la ligne {reader.line_num}, lecture refusée (à réexporter)"
        ) from damaged
    finally:
        # the file belongs to the caller, who closes it
        text.detach()


def _parquet_rows(file: ExportFile) -> Iterator[Raw]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file.path) as table:
            if not known_columns(table.schema_arrow.names):
                raise ExportError(f"{file.shown} : colonnes inconnues, attendu un export Langfuse")
            # the storage engine writes metadata as a map, and text as bytes where it is set so
            encoded = "binary" in str(table.schema_arrow)
            for group in range(table.num_row_groups):
                size = _batch_rows(file.path, table.metadata.row_group(group))
                for batch in table.iter_batches(batch_size=size, row_groups=[group]):
                    yield from map(_decoded, _cells(batch)) if encoded else _cells(batch)
    except PermissionError:
        raise
    except (pa.ArrowException, OSError, ValueError) as damaged:
        # a page that is damaged inside comes as an error of the system or of UTF-8
        raise ExportError(f"{file.shown} : fichier Parquet illisible ou tronqué") from damaged


def _batch_rows(path: Path, group: Any) -> int:
    """How many rows of a group to hold at once: a value of its dictionaries may stand in every one of them."""
    places = [group.column(k).dictionary_page_offset for k in range(group.num_columns)]
    with path.open("rb") as handle:
        heaviest = sum(_page_bytes(handle, place) for place in places if place)
    return max(1, min(_PARQUET_ROWS, _PARQUET_BYTES // max(1, heaviest)))


def _page_bytes(handle: BinaryIO, place: int) -> int:
    """Bytes of a dictionary page once unpacked, from its header: (type, unpacked size, …) as Thrift varints."""
    handle.seek(place)
    head = handle.read(16)
    # field 1 of type i32 (the page's type, one byte), then field 2 of type i32
    if len(head) < 4 or head[0] != 0x15 or head[2] != 0x15:
        return _PARQUET_BYTES
    number = shift = 0
    for byte in head[3:]:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return number >> 1


def _cells(batch: pa.RecordBatch) -> Iterator[Raw]:
    try:
        rows = batch.to_pylist(maps_as_pydicts="lossy")
    except (ArithmeticError, LookupError, TypeError, ValueError):
        yield from _cells_one_by_one(batch)
    else:
        yield from rows


def _cells_one_by_one(batch: pa.RecordBatch) -> Iterator[Raw]:
    for number in range(batch.num_rows):
        try:
            (row,) = batch.slice(number, 1).to_pylist(maps_as_pydicts="lossy")
        except (ArithmeticError, LookupError, TypeError, ValueError):
            # a time that no calendar holds, bytes that are no text
            yield RowError("unusable_field")
        else:
            yield row


def _decoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_decoded(key): _decoded(item) for key, item in value.items()}
    return [_decoded(item) for item in value] if isinstance(value, list) else value
