"""The alert outbox: conditions, episodes and how far each was delivered, in one SQLite file under `outbox/`.

Every change is one transaction, so a kill leaves the state before or after it; several sensors may write at once. A
sender that fails leaves everything to be sent again, for hours or days. The journal of past episodes feeds the monthly
report. Which alerts there are is decided by core.alerting, when they go out by core.alerting_delivery.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from compliance_pipelines.core import alerting_delivery as delivery
from compliance_pipelines.core.alerting import Book, Episode, Key, Observation, Phase, Watch
from compliance_pipelines.core.alerting_delivery import Timing
from compliance_pipelines.core.report_inputs import AlertFacts

_SCHEMA = """
CREATE TABLE IF NOT EXISTS watches (
  rule TEXT, department TEXT, subject TEXT, phase TEXT NOT NULL, since TEXT, last_at TEXT, counted TEXT NOT NULL,
  PRIMARY KEY (rule, department, subject));
CREATE TABLE IF NOT EXISTS episodes (
  id TEXT PRIMARY KEY, rule TEXT NOT NULL, department TEXT NOT NULL, severity TEXT NOT NULL, started_at TEXT NOT NULL,
  ended_at TEXT, details TEXT NOT NULL, subjects TEXT NOT NULL, silent INTEGER NOT NULL,
  announced_at TEXT, last_sent_at TEXT, closed_at TEXT, retold INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS undelivered ON episodes (closed_at) WHERE closed_at IS NULL;
"""
_BODY = ("id", "rule", "department", "severity", "started_at", "ended_at", "details", "subjects", "silent")
_DELIVERY = ("announced_at", "last_sent_at", "closed_at", "retold")
_COLUMNS = ", ".join(_BODY + _DELIVERY)
_BATCH = 200
_BUSY_SECONDS = 20.0


class OutboxError(RuntimeError):
    """The file cannot be read or written; the message is one French line that names it."""


class SenderUnavailableError(RuntimeError):
    """The receiver does not answer: one French line. Nothing of the batch counts as sent."""


class Sender(Protocol):
    """Where alerts go."""

    def send(self, posts: Sequence[delivery.Post], now: datetime, timing: Timing) -> Sequence[bool]:
        """Post them; True for each that was taken. Raises SenderUnavailableError when nothing can be said."""
        ...


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one delivery did: posts taken, refused by the receiver, and waiting because it does not answer (why)."""

    sent: int
    refused: int
    waiting: int
    problem_fr: str = ""


class Outbox:
    """The outbox in `folder`; created when first written."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "alerts.sqlite"

    def observe(self, observations: Iterable[Observation], now: datetime) -> list[Episode]:
        """Take observations in, all or none; the episodes that changed. Taking them twice changes nothing."""
        with self._transaction() as db:
            book = Book(_watches(db), {e.labels: e for e in _episodes(db, "ended_at IS NULL")})
            book.apply(observations, now)
            rows = [_watch_row(key, book.watches[key]) for key in sorted(book.changed_watches)]
            db.executemany("INSERT OR REPLACE INTO watches VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            changed = list(book.changed.values())
            marks = ", ".join("?" * len(_BODY))
            # delivery columns belong to `sweep` and are never touched here; what has ended is not opened again
            updates = ", ".join(f"{name} = excluded.{name}" for name in _BODY[1:])
            db.executemany(
                f"INSERT INTO episodes ({', '.join(_BODY)}) VALUES ({marks}) "  # noqa: S608  our own column names
                f"ON CONFLICT (id) DO UPDATE SET {updates} WHERE episodes.ended_at IS NULL",
                [_body_row(episode) for episode in changed],
            )
        return changed

    def watched(self) -> list[Key]:
        """The conditions that are pending or firing."""
        with self._transaction() as db:
            return [key for key, watch in _watches(db).items() if watch.phase is not Phase.IDLE]

    def sweep(self, sender: Sender, now: datetime, timing: Timing) -> Sweep:
        """Send what is due; what the receiver takes is noted at once, what it does not answer to stays due."""
        with self._transaction() as db:
            posts = delivery.due(_episodes(db, "closed_at IS NULL AND silent = 0"), now, timing)
        sent = refused = 0
        for start in range(0, len(posts), _BATCH):
            batch = posts[start : start + _BATCH]
            try:
                taken = sender.send(batch, now, timing)
            except SenderUnavailableError as away:
                self._lost_contact()
                return Sweep(sent, refused, len(posts) - start, str(away))
            done = [delivery.accepted(post, now) for post, ok in zip(batch, taken, strict=True) if ok]
            self._mark(done)
            sent, refused = sent + len(done), refused + len(batch) - len(done)
        return Sweep(sent, refused, 0)

    def _lost_contact(self) -> None:
        # a receiver that comes back may have forgotten everything: what it was told is told again, at once
        with self._transaction() as db:
            db.execute("UPDATE episodes SET last_sent_at = NULL, retold = 0 WHERE closed_at IS NULL")

    def _mark(self, episodes: Iterable[Episode]) -> None:
        rows = [
            (_text(e.announced_at), _text(e.last_sent_at), _text(e.closed_at), int(e.retold), e.id) for e in episodes
        ]
        with self._transaction() as db:
            marks = ", ".join(f"{name} = ?" for name in _DELIVERY)
            db.executemany(f"UPDATE episodes SET {marks} WHERE id = ?", rows)  # noqa: S608  our own column names

    def episodes(self) -> list[Episode]:
        """Every episode of the journal, oldest first."""
        with self._transaction() as db:
            return _episodes(db, "1 = 1")

    def facts(self, start: datetime, end: datetime) -> tuple[AlertFacts, ...]:
        """The alerts of a period, for the monthly report; none when no alert was ever noted."""
        return delivery.facts(self.episodes(), start, end) if self.path.exists() else ()

    def purge(self, before: datetime) -> int:
        """Forget episodes that ended before `before` and were delivered (or silent); how many."""
        with self._transaction() as db:
            done = "ended_at < ? AND (closed_at IS NOT NULL OR silent = 1)"
            return db.execute(f"DELETE FROM episodes WHERE {done}", (_text(before),)).rowcount  # noqa: S608

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                db.executescript(_SCHEMA)
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield db
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
                db.execute("COMMIT")
            finally:
                db.close()
        except (sqlite3.Error, OSError) as failed:
            raise OutboxError(f"{self.path} : file des alertes inutilisable ({failed})") from failed


def _watches(db: sqlite3.Connection) -> dict[Key, Watch]:
    rows = db.execute("SELECT rule, department, subject, phase, since, last_at, counted FROM watches")
    return {
        Key(rule, department, subject): Watch(Phase(phase), _time(since), _time(last_at), tuple(json.loads(counted)))
        for rule, department, subject, phase, since, last_at, counted in rows
    }


def _watch_row(key: Key, watch: Watch) -> tuple[str | None, ...]:
    counted = json.dumps(list(watch.counted))
    return key.rule, key.department, key.subject, watch.phase.value, _text(watch.since), _text(watch.last_at), counted


def _episodes(db: sqlite3.Connection, where: str) -> list[Episode]:
    query = f"SELECT {_COLUMNS} FROM episodes WHERE {where} ORDER BY started_at, id"  # noqa: S608  our own words
    return [_episode(row) for row in db.execute(query)]


def _episode(row: Sequence[Any]) -> Episode:
    number, rule, department, severity, started, ended, details, subjects, silent, announced, sent, closed, retold = row
    return Episode(
        id=number,
        rule=rule,
        department=department,
        severity=severity,
        started_at=datetime.fromisoformat(started),
        ended_at=_time(ended),
        details=json.loads(details),
        subjects=tuple(json.loads(subjects)),
        silent=bool(silent),
        announced_at=_time(announced),
        last_sent_at=_time(sent),
        closed_at=_time(closed),
        retold=bool(retold),
    )


def _body_row(episode: Episode) -> tuple[str | int | None, ...]:
    return (
        episode.id,
        episode.rule,
        episode.department,
        episode.severity,
        _text(episode.started_at),
        _text(episode.ended_at),
        json.dumps({s: dict(d) for s, d in episode.details.items()}, ensure_ascii=False, sort_keys=True),
        json.dumps(list(episode.subjects), ensure_ascii=False),
        int(episode.silent),
    )


def _text(moment: datetime | None) -> str | None:
    # fixed width, so that text order is time order
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="microseconds")


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
