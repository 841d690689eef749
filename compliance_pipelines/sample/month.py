"""When the traces of a month happen: working days, office hours, one silent day, rows that arrive late.

Everything is counted in Europe/Paris and returned in UTC. No clock is read: the month is an argument.
"""

from __future__ import annotations

import random
import re
from calendar import THURSDAY, monthrange
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

PARIS = ZoneInfo("Europe/Paris")
_MONTH = re.compile(r"20[0-9]{2}-(0[1-9]|1[0-2])", re.ASCII)
_DAY_WEIGHT = (1.05, 1.1, 1.0, 1.05, 0.9, 0.25, 0.12)
_HOUR_WEIGHT = (1, 1, 0, 0, 0, 1, 3, 10, 40, 80, 95, 85, 35, 50, 85, 90, 80, 60, 30, 12, 8, 6, 4, 3)


def parse_month(month: str) -> date:
    """First day of `YYYY-MM`. Raises ValueError with a French line for anything else."""
    if not _MONTH.fullmatch(month):
        msg = f"mois: attendu AAAA-MM, reçu « {month[:20]} »"
        raise ValueError(msg)
    return date(int(month[:4]), int(month[5:]), 1)


def days(first: date) -> list[date]:
    """Every day of the month of `first`."""
    return [first + timedelta(days=offset) for offset in range(monthrange(first.year, first.month)[1])]


def silent_day(first: date) -> date:
    """The third Thursday: an outage on a working day, which nobody can take for a weekend."""
    return [day for day in days(first) if day.weekday() == THURSDAY][2]


def cut_off(first: date) -> datetime:
    """Scheduled time of the month's report: the 1st of the next month, 04:00 UTC."""
    following = days(first)[-1] + timedelta(days=1)
    return datetime(following.year, following.month, following.day, 4, tzinfo=UTC)


def day_counts(first: date, traces: int) -> dict[date, int]:
    """Share `traces` out over the days by largest remainder; the silent day gets none."""
    silent = silent_day(first)
    weights = {day: 0.0 if day == silent else _DAY_WEIGHT[day.weekday()] for day in days(first)}
    return dict(zip(weights, shares(list(weights.values()), traces), strict=True))


def shares(weights: list[float], total: int) -> list[int]:
    """Integers in proportion to `weights` that add up to `total` (largest remainder, ties by position)."""
    whole = sum(weights)
    exact = [weight * total / whole for weight in weights]
    counts = [int(value) for value in exact]
    order = sorted(range(len(exact)), key=lambda position: (counts[position] - exact[position], position))
    for position in order[: total - sum(counts)]:
        counts[position] += 1
    return counts


def moment(day: date, rng: random.Random) -> datetime:
    """A time of `day` (Paris), mostly office hours; UTC counts some to the day before."""
    hour = rng.choices(range(24), _HOUR_WEIGHT)[0]
    local = datetime(
        day.year, day.month, day.day, hour, rng.randrange(60), rng.randrange(60), tzinfo=PARIS
    ) + timedelta(milliseconds=rng.randrange(1000))
    return local.astimezone(UTC)


def iso(at: datetime, *, seconds: bool = False) -> str:
    """The way the v4 API prints times: ISO, milliseconds, `Z`; score creation times have `.000`."""
    at = at.astimezone(UTC)
    if seconds:
        at = at.replace(microsecond=0)
    return at.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
