"""Durable file operations of the directory archive: create once, flush to the disk, lock, name an error.

Nothing here knows what a report is. Serves "a kill at any moment, two builds at once or a full disk leave
nothing half visible".
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import IO

from compliance_pipelines.core.ports import ArchiveUnavailableError


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
        handle = (root / ".lock").open("ab")
    except OSError as error:
        raise unavailable(error) from error
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
