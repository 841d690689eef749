"""The resumable state of a read: one append-only journal for each window, in a folder for each read.

A record holds a page and the cursor that follows it, so rows and cursor can never disagree: a kill at any moment leaves
at most a torn last record, which is cut off when the journal is opened again. The rows of a page lie in segments, one
for each bucket of trace ids, so that traces can be gathered without another copy. Knows no HTTP and no Langfuse row.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

_HEAD = struct.Struct("<4sBIII")
_MAGIC = b"LFJ4"
_PAGE, _RESET, _SPLIT, _DONE = 1, 2, 3, 4
_MAX_LEFTOVERS = 16


class Page(msgspec.Struct, frozen=True):
    """What is kept beside the rows of a page. `cursor` asks for the next page, None after the last.

    `total` is the server's count of the whole window and `ids` the rows' own, where pages are numbered. `rejected`
    says why rows could not be used, `rejected_at` gives their own times where they can be read. `ends` is where each
    segment ends in the page's rows, as unsigned 32-bit integers.
    """

    cursor: str | None
    rows: int
    total: int | None = None
    ids: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    rejected_at: tuple[datetime | None, ...] = ()
    server_time: datetime | None = None
    ends: bytes = b""


@dataclass
class State:
    """Where a window stands. `steady`: the server counted the same on every page."""

    cursor: str | None = None
    pages: int = 0
    rows: int = 0
    total: int | None = None
    steady: bool = True
    ids: set[str] = field(default_factory=set)
    server_time: datetime | None = None
    split: bool = False
    done: bool = False
    seen: set[str] = field(default_factory=set)
    rejected: list[tuple[str, datetime | None]] = field(default_factory=list)

    def take(self, page: Page) -> None:
        """Follow one page."""
        self.steady = self.steady and (self.pages == 0 or page.total == self.total)
        self.cursor, self.total = page.cursor, page.total
        self.pages += 1
        self.rows += page.rows
        self.ids.update(page.ids)
        self.rejected += zip(page.rejected, page.rejected_at or [None] * len(page.rejected), strict=True)
        # the oldest time: what was not there when the window's first page was made may be missing
        self.server_time = self.server_time or page.server_time
        if page.cursor is not None:
            self.seen.add(page.cursor)

    @property
    def whole(self) -> bool:
        """Whether numbered pages held each row once: the count stood still and equals the distinct ids.

        One page alone cannot have moved under the reader.
        """
        return self.pages == 1 or (self.steady and self.total == self.rows == len(self.ids))


class Journal:
    """One window's journal. Open it, append, read its segments; a torn or damaged tail is dropped on opening."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state = State()
        self._pages: list[tuple[int, array[int]]] = []
        self._size = 0
        self._handle: BinaryIO | None = None
        if path.exists():
            self._load()

    def page(self, page: Page, rows: bytes | bytearray) -> None:
        """Append one page and its rows, in one record."""
        offset = self._append(_PAGE, msgspec.msgpack.encode(page), rows)
        self._pages.append((offset, array("I", page.ends)))
        self.state.take(page)

    def reset(self) -> None:
        """Forget everything read so far."""
        self._append(_RESET)
        self._forget(State())

    def split(self) -> None:
        """Forget everything: the window is read as two halves from here on."""
        self._append(_SPLIT)
        self._forget(State(split=True))

    def finish(self) -> None:
        """Mark the window as read to its end.

        Not forced onto the disk: what a power cut takes away is a torn tail like any other, and is read again.
        """
        self._append(_DONE)
        self.state.done = True

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def segments(self, first: int, last: int) -> Iterator[memoryview]:
        """The segments first..last-1 of every page that are not empty, in the order the pages came."""
        if not self._pages:
            return
        with self.path.open("rb") as handle:
            for offset, ends in self._pages:
                stop = min(last, len(ends))
                start = ends[first - 1] if first else 0
                if first >= stop or ends[stop - 1] == start:
                    continue
                handle.seek(offset + start)
                block, position = memoryview(handle.read(ends[stop - 1] - start)), 0
                for number in range(first, stop):
                    end = ends[number] - start
                    if end > position:
                        yield block[position:end]
                    position = end

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(ends[-1] for _, ends in self._pages if ends)

    def _append(self, kind: int, meta: bytes = b"", rows: bytes | bytearray = b"") -> int:
        """Append a record; returns where its rows begin."""
        if self._handle is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = self.path.open("ab", buffering=0)
        head = _HEAD.pack(_MAGIC, kind, len(meta), len(rows), _checksum(meta, rows)) + meta
        for part in (head, rows):
            # a kill leaves a whole record or a torn one that is recognised
            rest = memoryview(part)
            while rest:
                rest = rest[self._handle.write(rest) :]
        self._size += len(head) + len(rows)
        return self._size - len(rows)

    def _load(self) -> None:
        with self.path.open("rb") as handle:
            for kind, meta, offset in _records(handle):
                self._size = handle.tell()
                if kind == _PAGE:
                    page = msgspec.msgpack.decode(meta, type=Page)
                    self._pages.append((offset, array("I", page.ends)))
                    self.state.take(page)
                elif kind == _DONE:
                    self.state.done = True
                else:
                    self._forget(State(split=kind == _SPLIT))
        if self._size < self.path.stat().st_size:
            os.truncate(self.path, self._size)

    def _forget(self, state: State) -> None:
        self.state = state
        self._pages = []


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


def purge(root: Path, before: datetime) -> int:
    """Remove interrupted reads untouched since `before` (they hold trace text); returns how many. Held ones stay."""
    old = [path for path in root.glob("read-*") if path.stat().st_mtime < before.timestamp()]
    return sum(_drop(path) for path in old)


def _hold(folder: Path) -> BinaryIO | None:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = (folder / "lock").open("ab")
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            return None
        # its last holder may have removed the folder between the opening and the lock
        if (folder / "lock").exists() and (folder / "lock").stat().st_ino == os.fstat(handle.fileno()).st_ino:
            return handle
        handle.close()


def _drop(folder: Path) -> bool:
    held = _hold(folder)
    if held is None:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    held.close()
    return True


def _sweep(root: Path, mine: Path) -> None:
    others = sorted((path for path in root.glob("read-*") if path != mine), key=lambda path: path.stat().st_mtime)
    for folder in others[:-_MAX_LEFTOVERS]:
        _drop(folder)


def _records(handle: BinaryIO) -> Iterator[tuple[int, bytes, int]]:
    while len(head := handle.read(_HEAD.size)) == _HEAD.size:
        magic, kind, meta_size, rows_size, checksum = _HEAD.unpack(head)
        if magic != _MAGIC or kind not in {_PAGE, _RESET, _SPLIT, _DONE}:
            return
        meta, offset = handle.read(meta_size), handle.tell()
        rows = handle.read(rows_size)
        if len(meta) < meta_size or len(rows) < rows_size or _checksum(meta, rows) != checksum:
            return
        yield kind, meta, offset


def _checksum(meta: bytes, rows: bytes | bytearray) -> int:
    return zlib.crc32(rows, zlib.crc32(meta))
