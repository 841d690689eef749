"""The cache of judgements, content-addressed: fingerprint of the evaluator × hash of the sample → score or reason.

One SQLite file under `cache/`. A paid reply is committed before the next call, so a killed night resumes where it was;
it is served only once its batch's anchors have passed. No text is kept: hashes, numbers, codes. The file is no
evidence, it can be deleted at the price of judging again; what it holds that no judge can have said is judged again.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from compliance_pipelines.core.judge_samples import Reading

_SCHEMA = """
CREATE TABLE IF NOT EXISTS judgements (
  evaluator TEXT NOT NULL, key TEXT NOT NULL, value REAL, label TEXT, reason TEXT, batch TEXT NOT NULL,
  good INTEGER NOT NULL, saved_at INTEGER NOT NULL, PRIMARY KEY (evaluator, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS judgements_batch ON judgements (evaluator, batch) WHERE good = 0;
CREATE TABLE IF NOT EXISTS anchors (
  evaluator TEXT NOT NULL, batch TEXT NOT NULL, name TEXT NOT NULL, value REAL, label TEXT, reason TEXT,
  saved_at INTEGER NOT NULL, PRIMARY KEY (evaluator, batch, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS identities (
  endpoint TEXT NOT NULL, model TEXT NOT NULL, digest TEXT, PRIMARY KEY (endpoint, model)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS queued (
  queue TEXT NOT NULL, trace_id TEXT NOT NULL, saved_at INTEGER NOT NULL, PRIMARY KEY (queue, trace_id)) WITHOUT ROWID;
"""
_CHUNK = 500


class CacheError(RuntimeError):
    """The cache cannot be read or written; one French line with the file and what to do."""


class SqliteCache:
    """A cache in the file `path`; use as a context manager, from one thread. `clock` gives seconds since 1970."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        with self._errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=30, isolation_level=None)
            # survives a kill of the process; a power cut may cost the last replies, never the file
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def good(self, evaluator: str, keys: Sequence[str]) -> dict[str, Reading]:
        """Readings served for `keys`: scored, and vouched for by the anchors of their batch."""
        found: dict[str, Reading] = {}
        for start in range(0, len(keys), _CHUNK):
            part = list(keys[start : start + _CHUNK])
            marks = ",".join("?" * len(part))
            query = f"SELECT key, value, label FROM judgements WHERE evaluator=? AND good=1 AND key IN ({marks})"  # noqa: S608  marks are question marks
            found.update(self._sound(evaluator, self._all(query, (evaluator, *part))))
        return found

    def served(self, evaluator: str) -> dict[str, Reading]:
        """Every reading of `evaluator` that is vouched for."""
        query = "SELECT key, value, label FROM judgements WHERE evaluator=? AND good=1"
        return self._sound(evaluator, self._all(query, (evaluator,)))

    def _sound(self, evaluator: str, rows: Sequence[tuple]) -> dict[str, Reading]:
        """Served rows as readings; one that no judge can have said is dropped, so that it is judged again."""
        for key, value, label in rows:
            if not _possible(value, label):
                self._all("DELETE FROM judgements WHERE evaluator=? AND key=?", (evaluator, key))
        return {key: Reading(value, label) for key, value, label in rows if _possible(value, label)}

    def evaluators(self) -> list[str]:
        """Evaluators of which something is vouched for."""
        return [name for (name,) in self._all("SELECT DISTINCT evaluator FROM judgements WHERE good=1 ORDER BY 1", ())]

    def accept(self, evaluator: str, label: str, readings: Mapping[str, Reading]) -> int:
        """Serve readings that another file's anchors vouched for; what is served already stays. How many were new."""
        with self._transaction():
            new = [
                self._all(
                    "INSERT INTO judgements VALUES (?,?,?,?,?,?,1,?) ON CONFLICT (evaluator, key) DO UPDATE SET "
                    "value=excluded.value, label=excluded.label, reason=NULL, batch=excluded.batch, good=1, "
                    "saved_at=excluded.saved_at WHERE good=0 RETURNING 1",
                    (evaluator, key, reading.value, reading.label, None, label, int(self._clock())),
                )
                for key, reading in readings.items()
            ]
        return sum(map(bool, new))

    def resume(self, evaluator: str, label: str) -> tuple[dict[str, Reading], dict[str, Reading]]:
        """(readings, anchor readings) paid in the open batch called `label`; empty when there is none."""
        query = "SELECT key, value, label, reason FROM judgements WHERE evaluator=? AND batch=? AND good=0"
        readings = _kept(self._all(query, (evaluator, label)))
        query = "SELECT name, value, label, reason FROM anchors WHERE evaluator=? AND batch=?"
        return readings, _kept(self._all(query, (evaluator, label)))

    def put(self, evaluator: str, label: str, key: str, reading: Reading) -> None:
        """Keep a paid reply in the open batch; a reading that is already served stays as it is."""
        self._all(
            "INSERT INTO judgements VALUES (?,?,?,?,?,?,0,?) ON CONFLICT (evaluator, key) DO UPDATE SET "
            "value=excluded.value, label=excluded.label, reason=excluded.reason, batch=excluded.batch, "
            "saved_at=excluded.saved_at WHERE good=0",
            (evaluator, key, reading.value, reading.label, reading.reason, label, int(self._clock())),
        )

    def put_anchor(self, evaluator: str, label: str, name: str, reading: Reading) -> None:
        """Keep an anchor's reply in the open batch."""
        row = (evaluator, label, name, reading.value, reading.label, reading.reason, int(self._clock()))
        self._all("INSERT OR REPLACE INTO anchors VALUES (?,?,?,?,?,?,?)", row)

    def close(self, evaluator: str, label: str, *, good: bool) -> None:
        """End the open batch. Good: its scores are served. Bad: forgotten, the next run judges them again.

        Replies without a score are forgotten either way: their cause may be mended before the next run.
        """
        with self._transaction():
            kept = "AND reason IS NOT NULL" if good else ""
            self._all(
                f"DELETE FROM judgements WHERE evaluator=? AND batch=? AND good=0 {kept}",  # noqa: S608  two constants
                (evaluator, label),
            )
            self._all("UPDATE judgements SET good=1 WHERE evaluator=? AND batch=? AND good=0", (evaluator, label))
            self._all("DELETE FROM anchors WHERE evaluator=? AND batch=?", (evaluator, label))

    def digest(self, endpoint: str, model: str) -> tuple[bool, str | None]:
        """(whether this model was met before, the digest it had)."""
        rows = self._all("SELECT digest FROM identities WHERE endpoint=? AND model=?", (endpoint, model))
        return (True, rows[0][0]) if rows else (False, None)

    def remember(self, endpoint: str, model: str, digest: str | None) -> None:
        """Keep the digest of a model, for the nights when its server cannot tell it."""
        self._all("INSERT OR REPLACE INTO identities VALUES (?,?,?)", (endpoint, model, digest))

    def is_queued(self, queue: str, trace_id: str) -> bool:
        """Whether that trace was put into `queue` before."""
        return bool(self._all("SELECT 1 FROM queued WHERE queue=? AND trace_id=?", (queue, trace_id)))

    def mark_queued(self, queue: str, trace_id: str) -> None:
        """Remember that a trace is in `queue`: to be called once the queue has it, so that a failure loses none."""
        self._all("INSERT OR IGNORE INTO queued VALUES (?,?,?)", (queue, trace_id, int(self._clock())))

    def purge(self, before: float) -> int:
        """Forget what was kept before that instant (seconds since 1970); returns how many judgements that was."""
        with self._transaction():
            gone = self._all("DELETE FROM judgements WHERE saved_at < ? RETURNING 1", (int(before),))
            self._all("DELETE FROM anchors WHERE saved_at < ?", (int(before),))
            self._all("DELETE FROM queued WHERE saved_at < ?", (int(before),))
        return len(gone)

    def _all(self, statement: str, values: Sequence[object]) -> list[tuple]:
        if self._db is None:
            raise CacheError(f"{self.path} : cache fermé")
        with self._errors():
            return self._db.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._all("BEGIN IMMEDIATE", ())
        try:
            yield
        except BaseException:
            self._all("ROLLBACK", ())
            raise
        self._all("COMMIT", ())

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as failed:
            raise CacheError(f"{self.path.name} : cache des jugements {_what_fr(failed)}") from failed


def _what_fr(failed: sqlite3.Error | OSError) -> str:
    """What is wrong and what to do; only a file that is damaged is worth deleting."""
    code = getattr(failed, "sqlite_errorcode", None)
    primary = sqlite3.SQLITE_CANTOPEN if isinstance(failed, OSError) else code & 0xFF if code is not None else None
    if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return f"occupé par une autre exécution ({failed}) ; attendre sa fin"
    if primary == sqlite3.SQLITE_FULL:
        return f"inutilisable, disque plein ({failed}) ; libérer de la place, ce qui est payé y reste"
    if primary in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR}:
        return f"inaccessible ({failed}) ; vérifier le volume et ses droits"
    return f"illisible ({failed}) ; le supprimer fait tout juger à nouveau"


def _possible(value: object, label: object, reason: object = None) -> bool:
    """Whether a kept reply is one that can have been put: a score in [0, 1] or a code."""
    if value is not None:
        return isinstance(value, float) and 0 <= value <= 1
    return isinstance(label if label is not None else reason, str)


def _kept(rows: Sequence[tuple]) -> dict[str, Reading]:
    return {name: Reading(*rest) for name, *rest in rows if _possible(*rest)}
