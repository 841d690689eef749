"""A built report waiting to be archived: PDF, attachments and manifest in one folder, swapped in whole.

The folder is work in progress, not evidence; the archive is. A kill leaves the previous bundle or the new one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from compliance_pipelines.core.evidence_manifest import MANIFEST_NAME, read_manifest


class BundleError(RuntimeError):
    """The bundle could not be written or read, in one French line."""


def write_bundle(folder: Path, files: Mapping[str, bytes]) -> None:
    """Replace `folder` by one that holds exactly `files`."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        for name, content in files.items():
            with (fresh / name).open("wb") as handle:
                handle.write(content)
                handle.flush()
                os.fsync(handle.fileno())
        if folder.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent)) / "old"
            folder.rename(old)
            fresh.rename(folder)
            shutil.rmtree(old.parent)
        else:
            fresh.rename(folder)
    except OSError as failed:
        for leftover in folder.parent.glob(f".{folder.name}.*"):
            shutil.rmtree(leftover, ignore_errors=True)
        raise BundleError(f"{folder} : écriture impossible ({failed.strerror})") from failed


def read_bundle(folder: Path) -> dict[str, bytes]:
    """Every file of a bundle; BundleError when there is none."""
    try:
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    except OSError as failed:
        raise BundleError(f"{folder} : rapport absent, à construire d'abord") from failed


def revision(files: Mapping[str, bytes]) -> int:
    """The revision that a bundle's manifest announces."""
    return read_manifest(files[MANIFEST_NAME]).revision
