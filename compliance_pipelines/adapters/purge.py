"""Deletes what has been kept long enough: tables, caches, alert outbox and reading states; never the archive.

A table goes by its partition's date, kept judgements and alerts by their own, leftovers of a killed run and reading
states by their last change. Looking comes first (`find`), deleting is a call of its own (`apply`), so that a command
can show what it would do. Folders are named one by one: nothing outside them is ever touched. When it was last carried
out is noted beside the reading states (`note`), and the watch publishes it: a purge that stopped running is seen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.outbox import Outbox
from compliance_pipelines.adapters.whole_file import replace_file

_QUERIES = (
    ("cache", "SELECT count(*) FROM judgements WHERE saved_at < ?"),
    ("cache", "SELECT count(*) FROM queued WHERE saved_at < ?"),
)
_OUTBOX_QUERY = "SELECT count(*) FROM episodes WHERE ended_at < ? AND (closed_at IS NOT NULL OR silent = 1)"

_NOTE = Path("state") / "purge.txt"


class PurgeError(RuntimeError):
    """Something could not be read or deleted: one French line that names it."""


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to delete: what it is called, how many pieces, how many bytes (0 for rows inside a file)."""

    name: str
    pieces: int
    size: int
    delete: Callable[[], None]


def find(home: Path, keep_from: date) -> tuple[Target, ...]:
    """Everything under `home` that is older than `keep_from` (Paris days for tables, UTC for the rest)."""
    limit = datetime(keep_from.year, keep_from.month, keep_from.day, tzinfo=UTC)
    try:
        targets = [*_tables(home / "data", keep_from, limit), *_states(home / "state", limit)]
        targets += [*_caches(home / "cache", limit), *_outbox(home / "outbox", limit)]
    except (OSError, sqlite3.Error) as failed:
        raise PurgeError(f"purge : lecture impossible ({type(failed).__name__}), rien n'a été supprimé") from failed
    return tuple(target for target in targets if target.pieces)


def apply(targets: Sequence[Target]) -> None:
    """Delete every target; PurgeError names the first that resists. Running again goes on."""
    for target in targets:
        try:
            target.delete()
        except (OSError, sqlite3.Error) as failed:
            reason = getattr(failed, "strerror", None) or type(failed).__name__
            raise PurgeError(f"{target.name} : suppression impossible ({reason})") from failed


def note(home: Path, at: datetime) -> None:
    """Remember that a purge was carried out `at`, which is aware. PurgeError when it cannot be written."""
    try:
        replace_file(home / _NOTE, at.astimezone(UTC).isoformat().encode())
    except OSError as failed:
        raise PurgeError(f"purge : date de passage impossible à noter ({type(failed).__name__})") from failed


def last(home: Path) -> datetime | None:
    """When a purge was last carried out; None when never, or when the note cannot be read."""
    try:
        at = datetime.fromisoformat((home / _NOTE).read_bytes()[:64].decode("ascii"))
    except (OSError, ValueError):
        return None
    return at if at.tzinfo is not None else None


def _tables(data: Path, keep_from: date, limit: datetime) -> Iterator[Target]:
    for folder in sorted(path for path in data.glob("*/*") if path.is_dir() and not path.is_symlink()):
        old = [path for path in sorted(folder.glob("*.parquet")) if _partition_before(path, keep_from)]
        # a killed write leaves its temporary file; the next write of that partition takes another name
        old += [path for path in sorted(folder.glob(".*.parquet.*.tmp")) if _changed_before(path, limit)]
        yield _files(f"data/{folder.parent.name}/{folder.name}", old)


def _states(state: Path, limit: datetime) -> Iterator[Target]:
    old = [path for path in sorted(state.rglob("*")) if path.is_file() and _changed_before(path, limit)]
    yield _files("state", old)


def _caches(cache: Path, limit: datetime) -> Iterator[Target]:
    before = limit.timestamp()
    for path in sorted(cache.glob("*.sqlite")):

        def delete(path: Path = path) -> None:
            with SqliteCache(path) as kept:
                kept.purge(before)

        rows = sum(_count(path, query, int(before)) for _, query in _QUERIES)
        yield Target(f"cache/{path.name}", rows, 0, delete)


def _outbox(folder: Path, limit: datetime) -> Iterator[Target]:
    box = Outbox(folder)
    if box.path.is_file():
        rows = _count(box.path, _OUTBOX_QUERY, limit.isoformat(timespec="microseconds"))
        yield Target(f"outbox/{box.path.name}", rows, 0, lambda: _ignore(box.purge(limit)))


def _files(name: str, paths: Sequence[Path]) -> Target:
    def delete() -> None:
        for path in paths:
            path.unlink(missing_ok=True)

    return Target(name, len(paths), sum(path.lstat().st_size for path in paths), delete)


def _partition_before(path: Path, keep_from: date) -> bool:
    try:
        return date.fromisoformat(path.stem) < keep_from
    except ValueError:
        # not a partition of ours: left alone
        return False


def _changed_before(path: Path, limit: datetime) -> bool:
    return path.lstat().st_mtime < limit.timestamp()


def _count(path: Path, query: str, limit: float | str) -> int:
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        return int(db.execute(query, (limit,)).fetchone()[0])
    except sqlite3.OperationalError:
        # a file without that table keeps nothing of the kind
        return 0
    finally:
        db.close()


def _ignore(_: object) -> None:
    """The count that a purge returns was shown beforehand."""
