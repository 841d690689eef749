"""Paris days and months: clock changes, leap years, cut-off, refusals."""

from datetime import UTC, date, datetime

import pytest

from compliance_pipelines.core.periods import Month, PeriodError, day_window, month_of, paris_day


def hours(day: date) -> float:
    start, end = day_window(day)
    return (end - start).total_seconds() / 3600


def test_days_have_23_24_or_25_hours() -> None:
    assert (hours(date(2026, 3, 29)), hours(date(2026, 6, 15)), hours(date(2026, 10, 25))) == (23, 24, 25)


def test_month_bounds_are_paris_midnights_in_utc() -> None:
    month = Month.parse("2026-06")
    assert month.start == datetime(2026, 5, 31, 22, tzinfo=UTC)
    assert month.end == datetime(2026, 6, 30, 22, tzinfo=UTC)
    assert month.scheduled_at == datetime(2026, 7, 1, 4, tzinfo=UTC)
    assert len(month.days()) == 30
    assert len(Month.parse("2028-02").days()) == 29


def test_december_is_followed_by_january() -> None:
    assert str(Month(2026, 12).next()) == "2027-01"
    assert Month(2026, 12).scheduled_at == datetime(2027, 1, 1, 4, tzinfo=UTC)


def test_an_instant_belongs_to_its_paris_day() -> None:
    assert paris_day(datetime(2026, 6, 30, 22, 0, tzinfo=UTC)) == date(2026, 7, 1)
    assert paris_day(datetime(2026, 1, 31, 22, 59, tzinfo=UTC)) == date(2026, 1, 31)
    assert month_of(date(2026, 2, 28)) == Month(2026, 2)


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-13", "2026-00", "26-06", "2026-6", "juin 2026", "2026-06-01", "٢٠٢٦-٠٦", "9999-12"]
)
def test_unreadable_month_is_one_french_line(text: str) -> None:
    with pytest.raises(PeriodError, match="attendu AAAA-MM") as refused:
        Month.parse(text)
    assert "\n" not in str(refused.value)
