"""The one IO manager: tables by day or month between assets, one partition in memory at a time.

An asset hands over an iterable of (partition key, frame); a downstream asset gets a `Days`, which reads its partitions
one by one. A backfill of a month in a single run therefore holds one day, not thirty. Metadata shown in the UI (rows
by partition) is counted here while the partitions pass.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pandas as pd

from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.code_identity import code_identity

progress = logging.getLogger("compliance_pipelines.progress")
_LOG_EVERY = 10

# None stands for a partition that is already there, made from the same inputs
Partitions = Iterable[tuple[str, pd.DataFrame | None]]


@dataclass(frozen=True)
class Days:
    """The partitions of an upstream table that a run needs, read lazily and in order; absent ones are skipped."""

    store: TableStore
    key: tuple[str, ...]
    partitions: tuple[str, ...]

    def __iter__(self) -> Iterator[tuple[str, pd.DataFrame]]:
        return self.store.read_many(self.key, self.partitions)

    def present(self) -> list[str]:
        """Partitions of the period that are stored, in order."""
        return [partition for partition in self.partitions if self.store.has(self.key, partition)]

    def missing(self) -> list[str]:
        """Partitions of the period that were never written: nights that did not run."""
        return [partition for partition in self.partitions if not self.store.has(self.key, partition)]

    def identity(self, partition: str) -> str:
        """Digest of a partition's values, noted when it was written; "absent" when it was not."""
        return str(self.store.notes(self.key, partition).get("values", "absent"))

    def get(self, partition: str) -> pd.DataFrame:
        """One partition; StoreError when it was never written."""
        return self.store.read(self.key, partition)

    def digest(self) -> tuple[tuple[str, ...], int, str]:
        """(partitions that exist, rows, sha256 over their values)."""
        return self.store.digest(self.key, self.partitions)


def made_from(*parts: str) -> str:
    """One digest over what a partition is made from: code, policy, identities of its inputs."""
    return hashlib.sha256("\x1f".join((code_identity(), *parts)).encode()).hexdigest()


def once(
    days: Days, key: dg.AssetKey, day: str, identity: str, make: Callable[[], pd.DataFrame]
) -> pd.DataFrame | None:
    """`make()` noted as made from `identity`, or None when that very partition is already stored, undamaged."""
    if days.store.notes(key.path, day).get("made_from") == identity and days.store.sound(key.path, day):
        return None
    table = make()
    table.attrs["made_from"] = identity
    return table


class ParquetIOManager(dg.ConfigurableIOManager):
    """Parquet under `<home>/data`, by asset key and partition."""

    home: str

    @property
    def store(self) -> TableStore:
        """The plain table store behind this manager."""
        return TableStore(Path(self.home) / "data")

    def handle_output(self, context: dg.OutputContext, obj: Partitions) -> None:
        """Write every partition that the asset yields, as it yields it."""
        rows: list[tuple[str, int]] = []
        reused = 0
        for partition, table in obj:
            if table is not None:
                self.store.write(context.asset_key.path, partition, table)
            rows.append((partition, self.store.rows(context.asset_key.path, partition)))
            reused += table is None
            progress.info("%s %s", context.asset_key.to_user_string(), partition)
            if len(rows) % _LOG_EVERY == 0:
                context.log.info("%d partitions écrites, jusqu'au %s", len(rows), partition)
        context.add_output_metadata(
            {
                "dagster/row_count": sum(n for _, n in rows),
                "partitions reprises sans recalcul": reused,
                "partitions": dg.MetadataValue.table(
                    [dg.TableRecord({"partition": name, "lignes": n}) for name, n in rows],
                    schema=_schema(("partition", "string"), ("lignes", "int")),
                ),
            }
        )

    def load_input(self, context: dg.InputContext) -> Days:
        """The upstream partitions of this run as a lazy `Days`."""
        return Days(self.store, tuple(context.asset_key.path), tuple(context.asset_partition_keys))


def _schema(*columns: tuple[str, str]) -> dg.TableSchema:
    return dg.TableSchema([dg.TableColumn(name, kind) for name, kind in columns])


def table_metadata(header: Sequence[str], rows: Sequence[Sequence[str | float | None]]) -> dg.TableMetadataValue:
    """A table for the UI; cells are numbers or short text, None is shown as an em dash."""
    return dg.MetadataValue.table(
        [dg.TableRecord({h: "—" if c is None else c for h, c in zip(header, row, strict=True)}) for row in rows],
        schema=_schema(*((h, "string") for h in header)),
    )
