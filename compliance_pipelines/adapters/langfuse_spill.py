"""Records on disk in numbered buckets, so that a read of any size stays in bounded memory.

Rows go to the bucket of their trace id and each bucket is used by itself; traces go to the bucket of their day. The
folder disappears with the read, what a killed read left disappears with the next one.
"""

from __future__ import annotations

import itertools
import os
import pickle
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from compliance_pipelines.core.extraction import ReadReport
from compliance_pipelines.core.langfuse_rows import Observation
from compliance_pipelines.core.periods import month_of, paris_day
from compliance_pipelines.core.records import Score, Trace

BUCKET_BYTES = 8_000_000
MAX_BUCKETS = 512
_PENDING_CHARS = 24_000_000
_OPEN: set[str] = set()


def bucket_count(size: int) -> int:
    """How many buckets keep each near BUCKET_BYTES for `size` bytes in all."""
    return max(1, min(MAX_BUCKETS, size // BUCKET_BYTES))


def bucket_of(trace_id: str, count: int) -> int:
    """The bucket of a trace."""
    return zlib.crc32(trace_id.encode()) % count


class Spill:
    """`count` buckets in a folder of its own under `scratch`. Close it, or use it as a context manager."""

    def __init__(self, scratch: Path, count: int) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        for leftover in scratch.glob("spill-*"):
            if not _alive(leftover):
                shutil.rmtree(leftover, ignore_errors=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"spill-{os.getpid()}-", dir=scratch))
        _OPEN.add(self.folder.name)
        self.pending: list[list[Any]] = [[] for _ in range(count)]
        self.pending_chars = 0

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        _OPEN.discard(self.folder.name)

    def add(self, trace_id: str, row: Observation) -> None:
        """Put a row into the bucket of its trace."""
        self.add_to(bucket_of(trace_id, len(self.pending)), row)

    def add_to(self, number: int, record: Observation | Trace | Score | bytes) -> None:
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


def by_day(
    chunks: Iterable[list[Trace]], days: list[date], scratch: Path, report: ReadReport
) -> Iterator[tuple[date, list[Trace]]]:
    """Exchanges of each of `days` (consecutive, ascending), in order of time, one day in memory at a time.

    All chunks are taken before this returns, so `report` is complete; the days are loaded lazily.
    """
    spill = Spill(scratch, len(days))
    try:
        for chunk in chunks:
            for trace in chunk:
                report.sources[trace.department_source] += 1
                spill.add_to((paris_day(trace.observed_at) - days[0]).days, trace)
    except BaseException:
        spill.close()
        raise
    return _days(spill, days)


def scores_by_day(
    read: Callable[[date, date], tuple[list[Score], ReadReport]], days: list[date], scratch: Path, report: ReadReport
) -> Iterator[tuple[date, list[Score]]]:
    """Scores of each of `days` (consecutive, ascending), in order of time, at most one month in memory at a time.

    `read` gives those of a span. All are read before this returns, so `report` is complete; days are loaded lazily.
    """
    spill = Spill(scratch, len(days))
    try:
        for _, month in itertools.groupby(days, month_of):
            span = list(month)
            found, part = read(span[0], span[-1])
            for score in found:
                spill.add_to((paris_day(score.observed_at) - days[0]).days, score)
            for day, counts in part.days.items():
                for name, number in counts.items():
                    report.count(day, name, number)
    except BaseException:
        spill.close()
        raise
    return _score_days(spill, days)


def _score_days(spill: Spill, days: list[date]) -> Iterator[tuple[date, list[Score]]]:
    with spill:
        for number, day in enumerate(days):
            yield day, spill.bucket(number)


def _days(spill: Spill, days: list[date]) -> Iterator[tuple[date, list[Trace]]]:
    with spill:
        for number, day in enumerate(days):
            yield day, sorted(spill.bucket(number), key=lambda trace: (trace.observed_at, trace.trace_id))


def _chars(record: Observation | Trace | Score | bytes) -> int:
    if isinstance(record, bytes):
        return len(record)
    if isinstance(record, Score):
        return 500
    if isinstance(record, Trace):
        return 500 + len(record.answer or "") + sum(map(len, record.contexts))
    return 2000 + len(record.input or "") + len(record.output or "")


def _alive(folder: Path) -> bool:
    # in a container every run may have the same process id, so our own folders are known by name
    pid = folder.name.split("-")[1]
    return folder.name in _OPEN or (int(pid) != os.getpid() and Path(f"/proc/{pid}").exists())
