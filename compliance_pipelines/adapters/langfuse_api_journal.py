"""The resumable state of a read: one append-only journal for each window, in a folder for each read.

A record holds a page and the cursor that follows it, so rows and cursor can never disagree: a kill at any moment leaves
at most a torn last record, which is cut off when the journal is opened again. Knows no HTTP and no Langfuse row.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

_HEAD = struct.Struct("<4sBIII")
_MAGIC = b"LFJ1"
_PAGE, _RESET, _SPLIT, _DONE = 1, 2, 3, 4
_MAX_LEFTOVERS = 16


class Page(msgspec.Struct, frozen=True):
    """What is kept beside the rows of a page. `cursor` asks for the next page, None after the last."""

    cursor: str | None
    rows: int
    total: int | None = None
    server_time: datetime | None = None


@dataclass
class State:
    """Where a window stands. `total_changed`: the server counted differently from one page to another."""

    cursor: str | None = None
    pages: int = 0
    rows: int = 0
    total: int | None = None
    total_changed: bool = False
    server_time: datetime | None = None
    split: bool = False
    done: bool = False
    seen: set[str] = field(default_factory=set)

    def take(self, page: Page) -> None:
        """Follow one page."""
        self.total_changed = self.total_changed or (self.pages > 0 and page.total != self.total)
        self.cursor, self.total = page.cursor, page.total
        self.pages += 1
        self.rows += page.rows
        # the oldest time: what was not there when the window's first page was made may be missing
        self.server_time = self.server_time or page.server_time
        if page.cursor is not None:
            self.seen.add(page.cursor)


class Journal:
    """One window's journal. Open it, append, read its pages; a damaged or torn tail is dropped on opening."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state = State()
        self._first_page = 0
        self._size = 0
        self._handle: BinaryIO | None = None
        if path.exists():
            self._load()

    def page(self, page: Page, rows: bytes) -> None:
        """Append one page: its rows as a JSON array, and what belongs to it, in one record."""
        self._append(_PAGE, msgspec.json.encode(page), rows)
        self.state.take(page)

    def reset(self) -> None:
        """Forget everything read so far."""
        self._append(_RESET)
        self._first_page, self.state = self._size, State()

    def split(self) -> None:
        """Forget everything: the window is read as two halves from here on."""
        self._append(_RESET)
        self._append(_SPLIT)
        self._first_page, self.state = self._size, State(split=True)

    def finish(self) -> None:
        """Mark the window as read to its end, on the disk."""
        self._append(_DONE)
        self.state.done = True
        if self._handle is not None:
            os.fsync(self._handle.fileno())
        self.close()

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def pages(self) -> Iterator[bytes]:
        """The rows of each page, as JSON arrays, in the order they came."""
        if not self.path.exists():
            return
        with self.path.open("rb") as handle:
            handle.seek(self._first_page)
            for kind, _, rows in _records(handle):
                if kind == _PAGE:
                    yield rows

    @property
    def size(self) -> int:
        """Bytes that `pages` will go through."""
        return self._size - self._first_page

    def _append(self, kind: int, meta: bytes = b"", rows: bytes = b"") -> None:
        if self._handle is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = self.path.open("ab", buffering=0)
        record = b"".join((_HEAD.pack(_MAGIC, kind, len(meta), len(rows), _checksum(meta, rows)), meta, rows))
        # one write: a kill leaves a whole record or a torn one that is recognised
        written = memoryview(record)
        while written:
            written = written[self._handle.write(written) :]
        self._size += len(record)

    def _load(self) -> None:
        with self.path.open("rb") as handle:
            for kind, meta, _ in _records(handle):
                self._size = handle.tell()
                if kind == _PAGE:
                    self.state.take(msgspec.json.decode(meta, type=Page))
                elif kind == _RESET:
                    self._first_page, self.state = self._size, State()
                elif kind == _SPLIT:
                    self._first_page, self.state = self._size, State(split=True)
                else:
                    self.state.done = True
        if self._size < self.path.stat().st_size:
            os.truncate(self.path, self._size)


class StateFolder:
    """The folder of one read under `root`, held by one process at a time.

    A second process that reads the same days gets a folder of its own that is not resumed. Folders of other reads that
    nobody holds are kept for their resumption, the oldest beyond 16 are removed.
    """

    def __init__(self, root: Path, key: str) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.path = root / f"read-{key}"
        held = _hold(self.path)
        if held is None:
            self.path = root / f"read-{key}-{os.getpid()}"
            held = _hold(self.path)
        if held is None:
            raise BlockingIOError(f"{self.path.name} is held by this very process")
        self._held = held
        _sweep(root, self.path)

    def journal(self, name: str) -> Journal:
        """The journal of one window."""
        return Journal(self.path / f"{name}.journal")

    def remove(self) -> None:
        """Forget the read: it was used to its end."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.release()

    def release(self) -> None:
        """Let another process resume."""
        self._held.close()


def _hold(folder: Path) -> BinaryIO | None:
    folder.mkdir(parents=True, exist_ok=True)
    handle = (folder / "lock").open("ab")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        return None
    return handle


def _sweep(root: Path, mine: Path) -> None:
    others = sorted((path for path in root.glob("read-*") if path != mine), key=lambda path: path.stat().st_mtime)
    for folder in others[:-_MAX_LEFTOVERS]:
        held = _hold(folder)
        if held is not None:
            shutil.rmtree(folder, ignore_errors=True)
            held.close()


def _records(handle: BinaryIO) -> Iterator[tuple[int, bytes, bytes]]:
    while len(head := handle.read(_HEAD.size)) == _HEAD.size:
        magic, kind, meta_size, rows_size, checksum = _HEAD.unpack(head)
        if magic != _MAGIC or kind not in {_PAGE, _RESET, _SPLIT, _DONE}:
            return
        meta, rows = handle.read(meta_size), handle.read(rows_size)
        if len(meta) < meta_size or len(rows) < rows_size or _checksum(meta, rows) != checksum:
            return
        yield kind, meta, rows


def _checksum(meta: bytes, rows: bytes) -> int:
    return zlib.crc32(rows, zlib.crc32(meta))
