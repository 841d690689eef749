"""File operations of the directory archive: create once, flush to the disk, read what really lies there, lock.

Nothing here knows what a report is. Serves "a kill at any moment, two builds at once or a full disk leave
nothing half visible".
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Generator
from pathlib import Path
from typing import IO

from compliance_pipelines.core.ports import ArchiveUnavailableError

MAX_BYTES = 64 * 1024 * 1024
# What opening a place says when nothing, or no file, lies there: a link, a socket, a file in place of a folder.
_NO_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EISDIR})


def read_regular(path: Path, limit: int = MAX_BYTES) -> bytes | None:
    """The first `limit` bytes of the regular file at `path` itself; None when no such file lies there.

    A link is not followed, a pipe or a device is not waited for and a folder is not an error: none of them is an
    archived file, and whoever can put one there must not be able to stop a verification. OSError for anything else.
    """
    try:
        handle = _open(path, os.O_RDONLY)
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise
    if handle is None:
        return None
    with handle:
        # a longer file is no archived one: its digest will say so
        return handle.read(limit)


def is_regular(path: Path) -> bool:
    """Whether a regular file lies at `path` itself, not a link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder lies at `path` itself, not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _open(path: Path, flags: int) -> IO[bytes] | None:
    """Open `path` without following a link or waiting for a pipe; None when what opens is no regular file."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb" if flags == os.O_RDONLY else "ab")
    os.close(descriptor)
    return None


def write_new(path: Path, content: bytes) -> None:
    """Create `path` (an existing one is an error), on the disk before returning, read-only afterwards."""
    with path.open("xb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    path.chmod(0o444)


def sync_folder(folder: Path) -> None:
    """Flush a folder: a rename is only durable once its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unavailable(error: OSError) -> ArchiveUnavailableError:
    """The one French line for an operating-system error; it names no path."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return ArchiveUnavailableError("archive : disque plein, libérez de la place et relancez")
    reason = errno.errorcode.get(error.errno or 0, "erreur")
    return ArchiveUnavailableError(f"archive : répertoire inutilisable ({reason})")


@contextlib.contextmanager
def exclusive(root: Path, seconds: float) -> Generator[None]:
    """Be the only writer under `root`, across processes too; ArchiveUnavailableError after `seconds`.

    The lock belongs to the open file, so a killed process leaves none behind.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        handle = _open(root / ".lock", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    except OSError as error:
        raise unavailable(error) from error
    if handle is None:
        raise ArchiveUnavailableError("archive : .lock, attendu un fichier ordinaire, à retirer à la main")
    with handle:
        _lock(handle, seconds)
        yield


def _lock(handle: IO[bytes], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in {errno.EAGAIN, errno.EACCES, errno.EINTR}:
                raise unavailable(error) from error
        else:
            return
        if time.monotonic() > deadline:
            raise ArchiveUnavailableError("archive : une autre construction est en cours, relancez plus tard")
        time.sleep(0.02)
