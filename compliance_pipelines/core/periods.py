"""Days and months as a French insurer counts them: calendar days and months of Europe/Paris, stored as UTC.

A Paris day has 23, 24 or 25 hours. A month's data cut-off is the scheduled time of its report, 04:00 UTC on the 1st of
the following month: rows created later belong to an explicit revision only. No clock is read here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

PARIS = ZoneInfo("Europe/Paris")
_MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
_REPORT_HOUR_UTC = 4
_LAST_YEAR = 9999  # a month needs the first day of the next, and `date` ends with that year


class PeriodError(ValueError):
    """A month or day that cannot be read; its text is one French line for the person who typed it."""


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """A calendar month in Europe/Paris."""

    year: int
    number: int

    @classmethod
    def parse(cls, text: str) -> Month:
        """Read "YYYY-MM"; raises PeriodError with a French line otherwise."""
        found = _MONTH.fullmatch(text)
        if found is None or not 1 <= int(found[2]) <= 12 or not 2000 <= int(found[1]) < _LAST_YEAR:
            raise PeriodError(f"mois « {text[:40]} » illisible : attendu AAAA-MM, par exemple 2026-06")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.year:04d}-{self.number:02d}"

    @property
    def first_day(self) -> date:
        """The 1st of the month."""
        return date(self.year, self.number, 1)

    def next(self) -> Month:
        """The month that follows."""
        return Month(self.year + self.number // 12, self.number % 12 + 1)

    def days(self) -> list[date]:
        """Every day of the month, in order."""
        first, after = self.first_day, self.next().first_day
        return [first + timedelta(days=k) for k in range((after - first).days)]

    @property
    def start(self) -> datetime:
        """The month's first instant, UTC."""
        return day_start(self.first_day)

    @property
    def end(self) -> datetime:
        """The first instant after the month, UTC."""
        return day_start(self.next().first_day)

    @property
    def scheduled_at(self) -> datetime:
        """When the month's report is due, UTC: also the data cut-off."""
        return datetime.combine(self.next().first_day, time(_REPORT_HOUR_UTC), UTC)


def day_start(day: date) -> datetime:
    """The first instant of a Paris day, UTC."""
    return datetime.combine(day, time(0), PARIS).astimezone(UTC)


def day_window(day: date) -> tuple[datetime, datetime]:
    """First instant of a Paris day and of the next, UTC (23, 24 or 25 hours apart)."""
    return day_start(day), day_start(day + timedelta(days=1))


def paris_day(moment: datetime) -> date:
    """The Paris calendar day of an aware instant."""
    return moment.astimezone(PARIS).date()


def month_of(day: date) -> Month:
    """The month a day belongs to."""
    return Month(day.year, day.month)
