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
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from compliance_pipelines.core import alerting_delivery as delivery
from compliance_pipelines.core.alerting import Book, Episode, Key, Level, Observation, Phase, Watch
from compliance_pipelines.core.alerting_delivery import Timing
from compliance_pipelines.core.report_inputs import AlertFacts

_SCHEMA = """
CREATE TABLE IF NOT EXISTS watches (
  rule TEXT, department TEXT, subject TEXT, phase TEXT NOT NULL, since TEXT, last_at TEXT, counted TEXT NOT NULL,
  PRIMARY KEY (rule, department, subject));
CREATE TABLE IF NOT EXISTS episodes (
  id TEXT PRIMARY KEY, rule TEXT NOT NULL, department TEXT NOT NULL, severity TEXT NOT NULL, started_at TEXT NOT NULL,
  ended_at TEXT, details TEXT NOT NULL, subjects TEXT NOT NULL, silent INTEGER NOT NULL,
  announced_at TEXT, last_sent_at TEXT, closed_at TEXT, retold INTEGER NOT NULL DEFAULT 0,
  told TEXT NOT NULL DEFAULT '[]', refused_at TEXT, reason TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS looked (at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS undelivered ON episodes (closed_at) WHERE closed_at IS NULL;
"""
# columns that files of earlier versions lack
_ADDED = {"told": "TEXT NOT NULL DEFAULT '[]'", "refused_at": "TEXT", "reason": "TEXT NOT NULL DEFAULT ''"}
_BODY = ("id", "rule", "department", "severity", "started_at", "ended_at", "details", "subjects", "silent", "reason")
_DELIVERY = ("announced_at", "last_sent_at", "closed_at", "retold", "told", "refused_at")
_COLUMNS = ", ".join(_BODY + _DELIVERY)
_BATCH = 200
_BUSY_SECONDS = 20.0
_MOMENT = timedelta(microseconds=1)


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


@dataclass(frozen=True, slots=True)
class Undelivered:
    """What the receiver was not told: how many alerts wait, and which ones it refuses (set aside, or given up)."""

    waiting: int
    refused: tuple[Episode, ...]


class Outbox:
    """The outbox in `folder`; created when first written."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "alerts.sqlite"

    def observe(self, observations: Iterable[Observation], now: datetime) -> list[Episode]:
        """Take observations in, all or none; the episodes that changed. Taking them twice changes nothing."""
        with self._transaction() as db:
            db.execute("DELETE FROM looked")
            db.execute("INSERT INTO looked VALUES (?)", (_text(now),))
            return self._take(db, observations, now)

    @staticmethod
    def _take(db: sqlite3.Connection, observations: Iterable[Observation], now: datetime) -> list[Episode]:
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

    def resolve(self, rule: str, department: str, subject: str | None, reason: str, now: datetime) -> int:
        """End by hand what is pending or firing of a rule (one `subject`, or all); how many conditions. Journalled."""
        with self._transaction() as db:
            found = {
                key: watch
                for key, watch in _watches(db).items()
                if (key.rule, key.department) == (rule, department) and subject in (None, key.subject)
            }
            active = {key: watch for key, watch in found.items() if watch.phase is not Phase.IDLE}
            ends = [
                Observation(key, max(now, watch.last_at or now) + _MOMENT, Level.CLEAR, reason=reason)
                for key, watch in active.items()
            ]
            self._take(db, ends, now)
            return len(active)

    def watched(self) -> list[Key]:
        """The conditions that are pending or firing."""
        with self._transaction() as db:
            return [key for key, watch in _watches(db).items() if watch.phase is not Phase.IDLE]

    def known(self, rule: str) -> set[Key]:
        """Every condition of a rule that was ever noted, whatever its phase."""
        with self._transaction() as db:
            return {key for key in _watches(db) if key.rule == rule}

    def looked_at(self) -> datetime | None:
        """When something was last observed; None when never, or by an earlier version."""
        with self._transaction() as db:
            found = db.execute("SELECT at FROM looked").fetchone()
            return _time(found[0]) if found else None

    def undelivered(self) -> Undelivered:
        """What waits and what is refused."""
        with self._transaction() as db:
            waiting = _episodes(db, "closed_at IS NULL AND silent = 0 AND announced_at IS NULL AND refused_at IS NULL")
            return Undelivered(len(waiting), tuple(_episodes(db, "refused_at IS NOT NULL")))

    def sweep(self, sender: Sender, now: datetime, timing: Timing) -> Sweep:
        """Send what is due; what the receiver takes is noted at once, what it does not answer to stays due."""
        with self._transaction() as db:
            recent = (_text(now - timing.hold),)
            open_or_recent = "silent = 0 AND (closed_at IS NULL OR closed_at > ?)"
            posts = delivery.due(_episodes(db, open_or_recent, recent), now, timing)
        sent = refused = 0
        for start in range(0, len(posts), _BATCH):
            batch = posts[start : start + _BATCH]
            try:
                taken = sender.send(batch, now, timing)
            except SenderUnavailableError as away:
                self._lost_contact()
                return Sweep(sent, refused, len(posts) - start, str(away))
            answered = zip(batch, taken, strict=True)
            self._mark(
                episode
                for post, ok in answered
                for episode in (delivery.settled(post, now) if ok else [delivery.refused(post, now)])
            )
            sent, refused = sent + sum(taken), refused + len(batch) - sum(taken)
        return Sweep(sent, refused, 0)

    def _lost_contact(self) -> None:
        # a receiver that comes back may have forgotten everything: what it was told is told again, at once
        with self._transaction() as db:
            db.execute("UPDATE episodes SET last_sent_at = NULL, retold = 0 WHERE closed_at IS NULL")

    def _mark(self, episodes: Iterable[Episode]) -> None:
        rows = [
            (
                *(_text(at) for at in (e.announced_at, e.last_sent_at, e.closed_at)),
                int(e.retold),
                json.dumps(list(e.told), ensure_ascii=False),
                _text(e.refused_at),
                e.id,
            )
            for e in episodes
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
                    _upgrade(db)
                    yield db
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
                db.execute("COMMIT")
            finally:
                db.close()
        except (sqlite3.Error, OSError) as failed:
            raise OutboxError(f"{self.path} : file des alertes inutilisable ({failed})") from failed


def _upgrade(db: sqlite3.Connection) -> None:
    present = {row[1] for row in db.execute("PRAGMA table_info(episodes)")}
    for name, kind in _ADDED.items():
        if name not in present:
            db.execute(f"ALTER TABLE episodes ADD COLUMN {name} {kind}")


def _watches(db: sqlite3.Connection) -> dict[Key, Watch]:
    rows = db.execute("SELECT rule, department, subject, phase, since, last_at, counted FROM watches")
    return {
        Key(rule, department, subject): Watch(Phase(phase), _time(since), _time(last_at), tuple(json.loads(counted)))
        for rule, department, subject, phase, since, last_at, counted in rows
    }


def _watch_row(key: Key, watch: Watch) -> tuple[str | None, ...]:
    counted = json.dumps(list(watch.counted))
    return key.rule, key.department, key.subject, watch.phase.value, _text(watch.since), _text(watch.last_at), counted


def _episodes(db: sqlite3.Connection, where: str, given: Sequence[str | None] = ()) -> list[Episode]:
    query = f"SELECT {_COLUMNS} FROM episodes WHERE {where} ORDER BY started_at, id"  # noqa: S608  our own words
    return [_episode(row) for row in db.execute(query, given)]


def _episode(row: Sequence[Any]) -> Episode:
    found = dict(zip(_BODY + _DELIVERY, row, strict=True))
    times = ("ended_at", "announced_at", "last_sent_at", "closed_at", "refused_at")
    return Episode(
        **{name: found[name] for name in ("id", "rule", "department", "severity", "reason")},
        **{name: _time(found[name]) for name in times},
        **{name: bool(found[name]) for name in ("silent", "retold")},
        **{name: tuple(json.loads(found[name])) for name in ("subjects", "told")},
        started_at=datetime.fromisoformat(found["started_at"]),
        details=json.loads(found["details"]),
    )


def _body_row(episode: Episode) -> tuple[str | int | None, ...]:
    return (
        episode.id,
        episode.rule,
        episode.department,
        episode.severity,
        _text(episode.started_at),
        _text(episode.ended_at),
        # in their order: the newest subject is the last
        json.dumps({s: dict(d) for s, d in episode.details.items()}, ensure_ascii=False),
        json.dumps(list(episode.subjects), ensure_ascii=False),
        int(episode.silent),
        episode.reason,
    )


def _text(moment: datetime | None) -> str | None:
    # fixed width, so that text order is time order
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="microseconds")


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
