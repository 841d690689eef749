"""Figures by department and metric straight from Parquet, for months too large for a frame.

Row groups are read one at a time, names as dictionary codes; a row costs twelve bytes (value and conversation) until
its group is finished. Page checksums, which the table store writes, are verified as pages are read. N, mean, p5,
minimum and interval are, to the last bit, those that core.aggregates computes on the same rows in the same order:
intervals come from core.statistics with the same seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from compliance_pipelines.core import statistics
from compliance_pipelines.core.aggregates import BINARY_METRICS
from compliance_pipelines.core.records import Status

_NAMES = ("department", "metric", "status")


@dataclass(frozen=True, slots=True)
class Figures:
    """One department and metric over one period; `ci_*` are None where a single conversation shows no spread."""

    department: str
    metric: str
    n_scored: int
    mean: float
    p5: float
    min: float
    ci_low: float | None
    ci_high: float | None


class _Codes:
    """Texts to consecutive numbers, the same over all row groups."""

    def __init__(self) -> None:
        self.texts: dict[str | None, int] = {}

    def of(self, column: pa.DictionaryArray) -> np.ndarray:
        """Code of each row; a null is the text None."""
        known = [self.texts.setdefault(text, len(self.texts)) for text in column.dictionary.to_pylist()]
        if column.null_count:
            known.append(self.texts.setdefault(None, len(self.texts)))
        indices = column.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(known, dtype=np.int32)[indices]


class DamagedTableError(RuntimeError):
    """A file is not Parquet, lacks a column, or a page is not what was written: one French line that names it."""


def figures(files: Sequence[Path], period: tuple[datetime, datetime]) -> list[Figures]:
    """Figures over `files`: columns trace_id, cluster (conversation, nullable), department, metric, status, value.

    Raises DamagedTableError; no figure is given from a file that does not read whole.
    """
    groups: dict[tuple[str, str], list[tuple[np.ndarray, np.ndarray]]] = {}
    departments, metrics, statuses, clusters = (_Codes() for _ in range(4))
    for table in _row_groups(files):
        department, metric, status = (
            codes.of(_dictionary(table.column(name)))
            for codes, name in zip((departments, metrics, statuses), _NAMES, strict=True)
        )
        kept = status == statuses.texts.get(Status.SCORED.value, -1)
        values = table.column("value").to_numpy()[kept]
        talks = clusters.of(_dictionary(table.column("cluster")))[kept]
        # a radix sort by group keeps the order of the rows within it
        code = department[kept] * len(metrics.texts) + metric[kept]
        if not len(code):
            continue
        if len(departments.texts) * len(metrics.texts) <= np.iinfo(np.uint16).max:
            code = code.astype(np.uint16)
        order = np.argsort(code, kind="stable")
        code, values, talks = code[order], values[order], talks[order]
        starts = [0, *(np.flatnonzero(np.diff(code)) + 1)]
        names = list(departments.texts), list(metrics.texts)
        for start, end in zip(starts, [*starts[1:], len(code)], strict=True):
            which = divmod(int(code[start]), len(names[1]))
            key = str(names[0][which[0]]), str(names[1][which[1]])
            groups.setdefault(key, []).append((values[start:end].copy(), talks[start:end].copy()))
    return [_finished(key, groups.pop(key), period) for key in sorted(groups)]


def _finished(
    key: tuple[str, str], parts: list[tuple[np.ndarray, np.ndarray]], period: tuple[datetime, datetime]
) -> Figures:
    values = np.concatenate([part for part, _ in parts])
    if key[1] in BINARY_METRICS:
        interval = statistics.wilson(round(float(values.sum())), len(values))
    else:
        # conversations are numbered as they appear, as core.aggregates does: the bootstrap draws the same
        talks, _ = pd.factorize(np.concatenate([part for _, part in parts]))
        seed = statistics.stable_seed(*key, period[0].isoformat(), period[1].isoformat())
        interval = statistics.mean_interval(values, talks, seed)
    low, high = interval or (None, None)
    p5 = float(np.quantile(values, 0.05))
    return Figures(*key, len(values), float(values.mean()), p5, float(values.min()), low, high)


def _row_groups(files: Sequence[Path]) -> Iterator[pa.Table]:
    for path in files:
        groups = _groups_of(path)
        while True:
            # errors of the file alone: what the caller does between two groups is not the file's fault
            try:
                table = next(groups, None)
            except (OSError, KeyError, ValueError, pa.ArrowException) as damaged:
                line = f"{path.name} : fichier Parquet illisible ou altéré ({type(damaged).__name__})"
                raise DamagedTableError(f"{line}, partition à recalculer") from damaged
            if table is None:
                break
            yield table


def _groups_of(path: Path) -> Iterator[pa.Table]:
    # a column of nulls alone has no type that could be read as a dictionary
    named = [f.name for f in pq.read_schema(path) if not pa.types.is_null(f.type)]
    coded = [n for n in (*_NAMES, "cluster") if n in named]
    with pq.ParquetFile(path, read_dictionary=coded, page_checksum_verification=True) as file:
        for k in range(file.num_row_groups):
            table = file.read_row_group(k, columns=[*_NAMES, "cluster", "value"], use_threads=False)
            if not table.num_rows:
                continue
            if table.column("cluster").null_count:
                # a trace without a conversation is a conversation of its own
                alone = file.read_row_group(k, columns=["trace_id"], use_threads=False).column("trace_id")
                together = table.column("cluster").to_pandas().astype(object)
                together = together.where(together.notna(), alone.to_pandas())
                at = table.schema.get_field_index("cluster")
                table = table.set_column(at, "cluster", pa.array(together, pa.string()))
            yield table


def _dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    one = column.unify_dictionaries().combine_chunks()
    return one.chunk(0) if isinstance(one, pa.ChunkedArray) else one
