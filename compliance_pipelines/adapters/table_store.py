"""Parquet tables by asset and partition, in a folder: `data/<concept>/<noun>/<partition>.parquet`.

A table is written to a temporary file beside its place and renamed, so a reader sees the old one or the new one and a
kill leaves neither half. Same rows, same bytes. Notes in `frame.attrs` travel with a table: counts, and what it was
made from, so that unchanged inputs need not be computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

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
                pq.write_table(arrow, handle, compression="zstd")
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(path)
        except OSError as failed:
            temporary.unlink(missing_ok=True)
            raise StoreError(f"{path} : écriture impossible ({failed.strerror or type(failed).__name__})") from failed
        return path

    def read(self, key: Sequence[str], partition: str) -> pd.DataFrame:
        """Read one partition; raises StoreError naming it when it is missing or damaged."""
        path = self.path(key, partition)
        try:
            arrow = pq.read_table(path)
            table = arrow.to_pandas(types_mapper=_pandas_type)
            table.attrs |= {"counts": {}} | json.loads((arrow.schema.metadata or {}).get(_NOTE, b"{}"))
            return table  # noqa: TRY300  the whole block is the attempt
        except FileNotFoundError:
            raise StoreError(f"{'/'.join(key)} : la partition {partition} n'a pas encore été calculée") from None
        except (OSError, pa.ArrowException) as damaged:
            raise StoreError(f"{path} : fichier Parquet illisible ({type(damaged).__name__})") from damaged

    def notes(self, key: Sequence[str], partition: str) -> dict[str, object]:
        """What was noted when the partition was written (counts, made_from, values), or nothing; reads no rows."""
        try:
            metadata = pq.read_schema(self.path(key, partition)).metadata or {}
        except (OSError, pa.ArrowException):
            return {}
        return json.loads(metadata.get(_NOTE, b"{}"))

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

    def digest(self, key: Sequence[str], partitions: Iterable[str]) -> tuple[tuple[str, ...], int, str]:
        """(partitions that exist, rows, sha256 over names and values): what a report was built from.

        Over values, not file bytes: another Parquet library must not make another month.
        """
        whole, names, rows = hashlib.sha256(), [], 0
        for partition, table in self.read_many(key, partitions):
            whole.update(f"{partition} {values_digest(table)}\n".encode())
            names.append(partition)
            rows += len(table)
        return tuple(names), rows, whole.hexdigest()


def values_digest(table: pd.DataFrame) -> str:
    """sha256 over a table's values and counts; lists are left out (row_digest stands for them)."""
    plain = table.drop(columns=[c for c in table.columns if table[c].dtype == object])
    row_hashes = hash_pandas_object(plain, index=False)  # ty: ignore[not-callable]
    values = hashlib.sha256(row_hashes.to_numpy().tobytes())
    values.update(json.dumps([list(table.columns), table.attrs.get("counts", {})], sort_keys=True).encode())
    return values.hexdigest()


def _pandas_type(kind: pa.DataType) -> pd.StringDtype | None:
    return pd.StringDtype() if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None
