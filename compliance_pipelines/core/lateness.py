"""Which nights, weeks and reports are late, and which failures are worth trying again: pure, over an injected time.

A night is due some hours after its Paris day has ended, a report some hours after its scheduled time. Only what an
installation owes counts: the days since its first night, at most `LOOK_BACK` of them, so that an old gap is a decision
of a person (backfill) and not of a machine. Serves "a missed tick is caught up, a deliberate re-run is never blocked".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date, datetime, timedelta
from enum import StrEnum

from compliance_pipelines.core.periods import Month, day_start, month_of, paris_day

NIGHT_GRACE = timedelta(hours=4)
REPORT_GRACE = timedelta(hours=1)
WEEK_GRACE = timedelta(hours=9)
LOOK_BACK = timedelta(days=7)
MAX_ATTEMPTS = 2

# Root causes, by the name of their class, that another try may mend. Everything else needs a person: a policy that does
# not load, a setting that is wrong, evidence that does not agree.
PASSING = frozenset(
    {
        "LangfuseError",
        "TooWideError",
        "PageTooLargeError",
        "StoppedError",
        "JudgeUnavailableError",
        "EmbeddingError",
        "ArchiveUnavailableError",
        "ArchiveConflictError",
        "ConnectionError",
        "ConnectionResetError",
        "ConnectionRefusedError",
        "TimeoutError",
        "ConnectError",
        "ReadTimeout",
        "OperationalError",
        "ChildProcessCrashException",
        "DagsterExecutionInterruptedError",
    }
)


class Failure(StrEnum):
    """Kind of a failed run."""

    PASSING = "passagère"
    LASTING = "à corriger"


def late_nights(done: Collection[str], now: datetime) -> list[date]:
    """Days that ended at least NIGHT_GRACE ago, within LOOK_BACK, that have no night; oldest first.

    `done` are partition keys ("2026-06-30") of nights that are there. Without any, only the last due night is owed.
    """
    today = paris_day(now)
    last = today - timedelta(days=1)
    # the day after may not have started long enough ago, also on days of 23 and 25 hours
    if now < day_start(today) + NIGHT_GRACE:
        last -= timedelta(days=1)
    first = date.fromisoformat(min(done)) if done else last
    first = max(first, last - LOOK_BACK + timedelta(days=1))
    days = ((last - first).days + 1) if last >= first else 0
    return [day for day in (first + timedelta(days=k) for k in range(days)) if day.isoformat() not in done]


def late_week(done: Collection[str], now: datetime) -> date | None:
    """The Monday of the last week that ended at least WEEK_GRACE ago, when it has no run of the gate; else None.

    `done` are partition keys (Mondays). Older weeks are nobody's: the gate asks the assistant as it is today.
    """
    today = paris_day(now)
    monday = today - timedelta(days=today.weekday() + 7)
    if now < day_start(monday + timedelta(days=7)) + WEEK_GRACE:
        monday -= timedelta(days=7)
    return None if monday.isoformat() in done else monday


def open_days(now: datetime) -> list[date]:
    """The days that have ended within LOOK_BACK and whose month's report is not due yet, oldest first.

    Rows that come for one of them still belong into the month; later ones are a person's decision (a revision).
    """
    last = paris_day(now) - timedelta(days=1)
    days = [last - timedelta(days=k) for k in reversed(range(LOOK_BACK.days))]
    return [day for day in days if now < month_of(day).scheduled_at]


def late_reports(nights: Collection[str], reports: Collection[str], now: datetime) -> list[Month]:
    """The month before this one when its report is due, its last night is there and it has no report.

    `reports` are monthly partition keys ("2026-06-01"). Older months are a person's decision.
    """
    month = month_of(paris_day(now).replace(day=1) - timedelta(days=1))
    due = now >= month.scheduled_at + REPORT_GRACE
    ready = month.days()[-1].isoformat() in nights
    return [month] if due and ready and month.first_day.isoformat() not in reports else []


def kind_of(causes: Iterable[str]) -> Failure:
    """PASSING when every failed step failed for a reason that may pass; no known cause is LASTING."""
    names = list(causes)
    return Failure.PASSING if names and all(name in PASSING for name in names) else Failure.LASTING
