"""Numbered JSONL.gz files of one kind of row, written as a stream and the same to the byte every time.

One part holds as many rows as one page of the API. The last rows of the first part can be repeated, as
happens when pages shift under a reader.
"""

from __future__ import annotations

import gzip
import json
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from compliance_pipelines.sample.stamps import Row

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Parts:
    """Writer of `<name>-0001.jsonl.gz`, `-0002`, …, or of one `<name>.jsonl.gz` when `rows` is None."""

    def __init__(self, folder: Path, name: str, *, rows: int | None = None, repeat: int = 0) -> None:
        self.rows_written = 0
        self._folder, self._name, self._limit = folder, name, rows
        self._last: deque[bytes] | None = deque(maxlen=repeat) if repeat else None
        self._files: list[Path] = []
        self._in_part = 0
        self._raw: IO[bytes] | None = None
        self._zip: gzip.GzipFile | None = None

    def write(self, rows: Iterable[Row]) -> None:
        """Append rows, opening the next part when the current one is full."""
        for row in rows:
            line = _ENCODER.encode(row).encode() + b"\n"
            if self._zip is None or (self._limit is not None and self._in_part >= self._limit):
                self._open()
            self._put(line)
            if self._last is not None:
                self._last.append(line)

    def close(self) -> list[Path]:
        """Finish and return the files. A single part repeats at most a quarter of its rows, at its end."""
        if self._zip is not None and self._last:
            count = min(len(self._last), max(1, self.rows_written // 4))
            self._repeat(list(self._last)[-count:])
        self._shut()
        return list(self._files)

    def _open(self) -> None:
        self._shut()
        suffix = "" if self._limit is None else f"-{len(self._files) + 1:04d}"
        path = self._folder / f"{self._name}{suffix}.jsonl.gz"
        self._raw = path.open("wb")
        self._zip = gzip.GzipFile(filename="", fileobj=self._raw, mode="wb", mtime=0, compresslevel=9)
        self._files.append(path)
        self._in_part = 0
        if len(self._files) == 2 and self._last:
            self._repeat(list(self._last))

    def _repeat(self, lines: list[bytes]) -> None:
        for line in lines:
            self._put(line)
        self._last = None

    def _put(self, line: bytes) -> None:
        if self._zip is None:
            msg = "no part is open"
            raise RuntimeError(msg)
        self._zip.write(line)
        self._in_part += 1
        self.rows_written += 1

    def _shut(self) -> None:
        if self._zip is not None:
            self._zip.close()
        if self._raw is not None:
            self._raw.close()
        self._zip = self._raw = None
