"""The one IO manager: tables by day or month between assets, one partition in memory at a time.

An asset hands over an iterable of (partition key, frame); a downstream asset gets a `Days`, which reads its partitions
one by one. A backfill of a month in a single run therefore holds one day, not thirty. Metadata shown in the UI (rows
by partition) is counted here while the partitions pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pandas as pd

from compliance_pipelines.adapters.table_store import TableStore

Partitions = Iterable[tuple[str, pd.DataFrame]]


@dataclass(frozen=True)
class Days:
    """The partitions of an upstream table that a run needs, read lazily and in order; absent ones are skipped."""

    store: TableStore
    key: tuple[str, ...]
    partitions: tuple[str, ...]

    def __iter__(self) -> Iterator[tuple[str, pd.DataFrame]]:
        return self.store.read_many(self.key, self.partitions)

    def missing(self) -> list[str]:
        """Partitions of the period that were never written: nights that did not run."""
        return [partition for partition in self.partitions if not self.store.has(self.key, partition)]

    def get(self, partition: str) -> pd.DataFrame:
        """One partition; StoreError when it was never written."""
        return self.store.read(self.key, partition)

    def digest(self) -> tuple[tuple[str, ...], int, str]:
        """(partitions that exist, rows, sha256 over their values)."""
        return self.store.digest(self.key, self.partitions)


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
        for partition, table in obj:
            self.store.write(context.asset_key.path, partition, table)
            rows.append((partition, len(table)))
            context.log.info("%s %s : %d lignes", context.asset_key.to_user_string(), partition, len(table))
        context.add_output_metadata(
            {
                "dagster/row_count": sum(n for _, n in rows),
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
