"""The alert state machine: from observations of conditions to alert episodes, pure and idempotent.

An observation says what was seen of one condition at one time of the data. Waiting ("sustained") has the meaning of
Prometheus' `for:`, counted between observations and never over a hole longer than `max_gap`; a nightly figure raises at
most one alert per night and does not wait. Observations may come again, late or after a clock was set back: nothing is
lost and nothing doubled. Several subjects (jobs, months) share one alert, because labels stay the same. Sending is
`alerting_delivery`; what to observe is `alerting_rules`.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import groupby
from operator import attrgetter

ALL_DEPARTMENTS = "toutes"
CLOCK_TOLERANCE = timedelta(minutes=5)
# two years of nights below the threshold can be told from new ones
_COUNTED = 800


class Level(enum.StrEnum):
    """What was seen of a condition; UNKNOWN when there is too little to say."""

    BREACH = "breach"
    CLEAR = "clear"
    UNKNOWN = "unknown"


class Phase(enum.StrEnum):
    """Where a condition stands."""

    IDLE = "idle"
    PENDING = "pending"
    FIRING = "firing"


class Change(enum.StrEnum):
    """What an observation did to its condition. PASSED: told and already over (a late bad night, a notice)."""

    RAISED = "raised"
    CONTINUED = "continued"
    RESOLVED = "resolved"
    PASSED = "passed"


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """One condition. `subject` tells conditions of one alert apart (a job, a month, "nuit", "journée")."""

    rule: str
    department: str
    subject: str


@dataclass(frozen=True, slots=True)
class Observation:
    """A condition seen `at` an aware time of the data.

    since: when the condition is known to have begun, where that is known. night: set for nightly figures, of which `at`
    is the end. silent: too old to wake anybody, noted in the journal alone. once: no condition but a notice, told one
    time for its key. reason: why a CLEAR ends the alert when it was not measured. Annotations hold no trace text.
    """

    key: Key
    at: datetime
    level: Level
    severity: str = "warning"
    sustain: timedelta = timedelta(0)
    max_gap: timedelta = timedelta(minutes=30)
    since: datetime | None = None
    night: date | None = None
    silent: bool = False
    once: bool = False
    reason: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Watch:
    """What is remembered of a condition. counted: nights (ISO) already accounted for as below."""

    phase: Phase = Phase.IDLE
    since: datetime | None = None
    last_at: datetime | None = None
    counted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """One alert from firing to resolution, and how far it was delivered.

    details: annotations by active subject, the newest last. reason: why it ended, when that was not measured.
    retold: whether the receiver was shown it as firing after it had ended, which a break in contact asks for.
    told: the subjects that the receiver was told of. refused_at: when the receiver last refused it.
    """

    id: str
    rule: str
    department: str
    severity: str
    started_at: datetime
    ended_at: datetime | None
    details: Mapping[str, Mapping[str, str]]
    subjects: tuple[str, ...]
    silent: bool = False
    announced_at: datetime | None = None
    last_sent_at: datetime | None = None
    closed_at: datetime | None = None
    retold: bool = False
    told: tuple[str, ...] = ()
    refused_at: datetime | None = None
    reason: str = ""

    @property
    def labels(self) -> tuple[str, str]:
        """What tells this alert from others: rule and department; its severity is part of the rule."""
        return self.rule, self.department


def step(watch: Watch, seen: Observation, now: datetime) -> tuple[Watch, Change | None]:
    """The condition after one observation, and what changed. `now` serves only to notice a clock set back."""
    if seen.once:
        return (watch, None) if watch.last_at is not None else (replace(watch, last_at=seen.at), Change.PASSED)
    if seen.night is not None:
        return _night(watch, seen, seen.night.isoformat())
    if watch.last_at is not None and watch.last_at > now + CLOCK_TOLERANCE:
        # the last observation lies in the future: the clock was set back; what was waited for is counted anew
        watch = replace(watch, last_at=None, since=None, phase=_kept(watch.phase))
    if watch.last_at is not None and seen.at <= watch.last_at:
        return watch, None
    if seen.level is Level.BREACH:
        return _breach(watch, seen)
    firing = watch.phase is Phase.FIRING
    if firing and seen.level is Level.UNKNOWN:
        # silence is no recovery: an alert ends when something good was measured
        return replace(watch, last_at=seen.at), None
    return replace(watch, phase=Phase.IDLE, since=None, last_at=seen.at), Change.RESOLVED if firing else None


def _kept(phase: Phase) -> Phase:
    return Phase.FIRING if phase is Phase.FIRING else Phase.IDLE


def _breach(watch: Watch, seen: Observation) -> tuple[Watch, Change | None]:
    if watch.phase is Phase.FIRING:
        return replace(watch, last_at=seen.at), Change.CONTINUED
    unbroken = watch.phase is Phase.PENDING and watch.last_at is not None and seen.at - watch.last_at <= seen.max_gap
    began = seen.since or (watch.since if unbroken and watch.since is not None else seen.at)
    if seen.at - began >= seen.sustain:
        return replace(watch, phase=Phase.FIRING, since=began, last_at=seen.at), Change.RAISED
    return replace(watch, phase=Phase.PENDING, since=began, last_at=seen.at), None


def _night(watch: Watch, seen: Observation, night: str) -> tuple[Watch, Change | None]:
    firing, breach = watch.phase is Phase.FIRING, seen.level is Level.BREACH
    if breach:
        fresh = night not in watch.counted
        counted = (*watch.counted, night)[-_COUNTED:] if fresh else watch.counted
        if watch.last_at is not None and seen.at < watch.last_at:
            return replace(watch, counted=counted), Change.PASSED if fresh else None
        if firing:
            return replace(watch, counted=counted, last_at=seen.at), Change.CONTINUED
        if not fresh:
            return watch, None
        return replace(watch, phase=Phase.FIRING, since=seen.at, last_at=seen.at, counted=counted), Change.RAISED
    if seen.level is Level.UNKNOWN or (watch.last_at is not None and seen.at < watch.last_at):
        return watch, None
    return replace(watch, phase=Phase.IDLE, since=None, last_at=seen.at), Change.RESOLVED if firing else None


@dataclass(slots=True)
class Book:
    """Conditions and open episodes, as loaded; `apply` changes them in place and notes what to keep."""

    watches: dict[Key, Watch] = field(default_factory=dict)
    open: dict[tuple[str, str], Episode] = field(default_factory=dict)
    changed_watches: set[Key] = field(default_factory=set)
    changed: dict[str, Episode] = field(default_factory=dict)

    def apply(self, observations: Iterable[Observation], now: datetime) -> None:
        """Take observations in, in order of their time; those of one time count together."""
        for _, together in groupby(sorted(observations, key=attrgetter("at")), key=attrgetter("at")):
            for seen in together:
                self._take(seen, now)
            self._close()

    def _take(self, seen: Observation, now: datetime) -> None:
        before = self.watches.get(seen.key, Watch())
        if before.phase is Phase.IDLE and seen.level is not Level.BREACH and seen.night is None:
            # nothing to end; a condition that was never breached leaves no trace, so the book stays small
            return
        after, change = step(before, seen, now)
        if after != before:
            self.watches[seen.key] = after
            self.changed_watches.add(seen.key)
        if change is Change.RAISED or change is Change.CONTINUED:
            self._raise(seen)
        elif change is Change.RESOLVED:
            self._resolve(seen)
        elif change is Change.PASSED:
            past = _opened(seen)
            self.changed[past.id] = replace(past, ended_at=seen.at, subjects=())

    def _raise(self, seen: Observation) -> None:
        found = self.open.get((seen.key.rule, seen.key.department))
        if found is None:
            self._keep(_opened(seen))
            return
        # the closing of an episode is decided when all observations of one time are in: it may still go on
        self._keep(
            replace(
                found,
                ended_at=None,
                reason="",
                subjects=tuple(sorted({*found.subjects, seen.key.subject})),
                details=_newest_last(found.details, seen),
                silent=found.silent and seen.silent,
            )
        )

    def _resolve(self, seen: Observation) -> None:
        found = self.open.get((seen.key.rule, seen.key.department))
        if found is not None:
            subjects = tuple(subject for subject in found.subjects if subject != seen.key.subject)
            details = {s: d for s, d in found.details.items() if s in subjects} or found.details
            ended = max(seen.at, found.started_at)
            self._keep(
                replace(found, subjects=subjects, details=details, ended_at=ended, reason=seen.reason)
                if not subjects
                else replace(found, subjects=subjects, details=details)
            )

    def _keep(self, episode: Episode) -> None:
        self.open[episode.labels] = episode
        self.changed[episode.id] = episode

    def _close(self) -> None:
        for labels in [labels for labels, episode in self.open.items() if not episode.subjects]:
            del self.open[labels]


def _newest_last(details: Mapping[str, Mapping[str, str]], seen: Observation) -> dict[str, Mapping[str, str]]:
    others = {subject: notes for subject, notes in details.items() if subject != seen.key.subject}
    return {**others, seen.key.subject: dict(seen.annotations)}


def _opened(seen: Observation) -> Episode:
    parts = (*attrgetter("rule", "department", "subject")(seen.key), seen.at.isoformat())
    return Episode(
        id=hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:24],
        rule=seen.key.rule,
        department=seen.key.department,
        severity=seen.severity,
        started_at=seen.at,
        ended_at=None,
        details={seen.key.subject: dict(seen.annotations)},
        subjects=(seen.key.subject,),
        silent=seen.silent,
    )
