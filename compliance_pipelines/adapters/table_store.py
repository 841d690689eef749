"""Parquet tables by asset and partition, in a folder: `data/<concept>/<noun>/<partition>.parquet`.

A table is written to a temporary file beside its place and renamed, so a reader sees the old one or the new one and a
kill leaves neither half. Same rows, same bytes. Notes in `frame.attrs` travel with a table: counts, and what it was
made from, so that unchanged inputs need not be computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.util import hash_pandas_object

_NOTE = b"compliance.notes"
_NOTES = ("counts", "made_from", "values")


class StoreError(RuntimeError):
    """The store could not write or read; the message says which table and why, in one line."""


class TableStore:
    """Tables under `root`. Keys are asset paths such as ("langfuse", "traces"); partitions are their keys."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, key: Sequence[str], partition: str) -> Path:
        """Where a partition lies, whether or not it exists."""
        return self.root.joinpath(*key) / f"{partition}.parquet"

    def write(self, key: Sequence[str], partition: str, table: pd.DataFrame) -> Path:
        """Write one partition atomically; raises StoreError (disk full, no permission) with nothing half-written."""
        path = self.path(key, partition)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            arrow = pa.Table.from_pandas(table, preserve_index=False)
            notes = table.attrs | {"values": values_digest(table)}
            note = json.dumps({name: notes[name] for name in _NOTES if name in notes}, sort_keys=True).encode()
            arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), _NOTE: note})
            with temporary.open("wb") as handle:
                # zstd finds few of the flipped bits by itself: with checksums every read finds them
                pq.write_table(arrow, handle, compression="zstd", write_page_checksum=True)
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(path)
        except OSError as failed:
            temporary.unlink(missing_ok=True)
            raise StoreError(f"{path} : écriture impossible ({failed.strerror or type(failed).__name__})") from failed
        return path

    def read(self, key: Sequence[str], partition: str) -> pd.DataFrame:
        """Read one partition; raises StoreError naming it when it is missing or damaged."""
        arrow = self._arrow(key, partition, None)
        try:
            table = arrow.to_pandas(types_mapper=_pandas_type)
            table.attrs |= {"counts": {}} | _notes(arrow.schema.metadata)
        except (KeyError, TypeError, ValueError, pa.ArrowException) as damaged:  # the footer has no checksum
            raise StoreError(damaged_fr(self.path(key, partition), damaged)) from damaged
        return table

    def read_columns(self, key: Sequence[str], partition: str, columns: list[str]) -> list[dict[str, Any]]:
        """Rows of one partition, these columns alone; raises StoreError as `read` does."""
        return self._arrow(key, partition, columns).to_pylist()

    def _arrow(self, key: Sequence[str], partition: str, columns: list[str] | None) -> pa.Table:
        path = self.path(key, partition)
        try:
            return pq.read_table(path, columns=columns, page_checksum_verification=True)
        except FileNotFoundError:
            raise StoreError(f"{'/'.join(key)} : la partition {partition} n'a pas encore été calculée") from None
        except (OSError, pa.ArrowException) as damaged:
            raise StoreError(damaged_fr(path, damaged)) from damaged

    def notes(self, key: Sequence[str], partition: str) -> dict[str, object]:
        """What was noted when the partition was written (counts, made_from, values), or nothing; reads no rows."""
        try:
            return _notes(pq.read_schema(self.path(key, partition)).metadata)
        except (OSError, ValueError, pa.ArrowException):
            return {}

    def sound(self, key: Sequence[str], partition: str) -> bool:
        """Whether every page of a written partition reads and has its checksum; one batch in memory at a time."""
        try:
            with pq.ParquetFile(self.path(key, partition), page_checksum_verification=True) as file:
                for _ in file.iter_batches():
                    pass
        except (OSError, pa.ArrowException):
            return False
        return True

    def rows(self, key: Sequence[str], partition: str) -> int:
        """How many rows a written partition has; reads none of them."""
        return pq.read_metadata(self.path(key, partition)).num_rows

    def has(self, key: Sequence[str], partition: str) -> bool:
        """Whether the partition was written."""
        return self.path(key, partition).exists()

    def read_many(self, key: Sequence[str], partitions: Iterable[str]) -> Iterator[tuple[str, pd.DataFrame]]:
        """The partitions that exist, in the given order, one at a time."""
        for partition in partitions:
            if self.has(key, partition):
                yield partition, self.read(key, partition)

    def digest(
        self, key: Sequence[str], partitions: Iterable[str], uncounted: Collection[str] = ()
    ) -> tuple[tuple[str, ...], int, str]:
        """(partitions that exist, rows, sha256 over names and values): what a report was built from.

        Rows of the `uncounted` departments are in the digest but not in the number of rows.
        Over values, not file bytes: another Parquet library must not make another month.
        """
        whole, names, rows = hashlib.sha256(), [], 0
        for partition, table in self.read_many(key, partitions):
            whole.update(f"{partition} {values_digest(table)}\n".encode())
            names.append(partition)
            known = bool(uncounted) and "department" in table
            rows += len(table) - (int(table["department"].isin(list(uncounted)).sum()) if known else 0)
        return tuple(names), rows, whole.hexdigest()


def damaged_fr(path: Path, damaged: Exception) -> str:
    """The line for a table that does not read: which one, and what makes it again."""
    return (
        f"{path} : fichier Parquet illisible ou altéré ({type(damaged).__name__}), partition à recalculer "
        f"(les nuits : compliance report build {path.stem[:7]} --nights)"
    )


def _notes(metadata: dict[bytes, bytes] | None) -> dict[str, object]:
    return json.loads((metadata or {}).get(_NOTE, b"{}"))


def values_digest(table: pd.DataFrame) -> str:
    """sha256 over a table's values and counts; lists are left out (row_digest stands for them)."""
    plain = table.drop(columns=[c for c in table.columns if table[c].dtype == object])
    row_hashes = hash_pandas_object(plain, index=False)  # ty: ignore[not-callable]
    values = hashlib.sha256(row_hashes.to_numpy().tobytes())
    values.update(json.dumps([list(table.columns), table.attrs.get("counts", {})], sort_keys=True).encode())
    return values.hexdigest()


def _pandas_type(kind: pa.DataType) -> pd.StringDtype | None:
    return pd.StringDtype() if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None
