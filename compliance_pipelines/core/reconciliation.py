"""Rows the server counts against rows that were read, by Paris day: proof that a read lost and doubled nothing.

The server is asked before the first page and after the last: rows that arrive meanwhile may or may not be read, so any
number between the two counts is in order. What is kept is the server's number nearest to the rows read, so that the
same rows give the same counts again. Exports have no server to ask: for them there is nothing to compare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from compliance_pipelines.core.extraction import READ, ReadReport

SERVER = "server_rows"
_REJECTED = "rejected_"


@dataclass(frozen=True, slots=True)
class DayCount:
    """One day. `server` is None when nobody counted; `read` are distinct rows, the refused ones among them."""

    day: date
    server: int | None
    read: int

    @property
    def difference(self) -> int | None:
        """Rows the server has and the read has not (negative: the other way round); None when nobody counted."""
        return None if self.server is None else self.server - self.read


def note(report: ReadReport, before: Mapping[date, int], after: Mapping[date, int]) -> None:
    """Keep the server's count of each day that was counted, once every row is in `report`."""
    for day in sorted({*before, *after}):
        low, high = sorted((before.get(day, after.get(day, 0)), after.get(day, before.get(day, 0))))
        read = _read(report.days.get(day, {}))
        # set, not added: a count of zero is a count
        report.days.setdefault(day, Counter())[SERVER] = min(max(read, low), high)


def note_gone(report: ReadReport, before: Mapping[date, int], now: Mapping[date, int]) -> None:
    """Keep the days of which the server counts fewer rows than when they were last read: (then, now).

    Rows erased on purpose, or a server changed over without its past: what is read now replaces what was read then.
    """
    report.gone |= {day: (before[day], number) for day, number in now.items() if number < before.get(day, 0)}


def uncounted(counts: Mapping[str, int]) -> bool:
    """Whether rows of a day were read from a server that gave no count of them: nothing was proven."""
    return SERVER not in counts and bool(_read(counts)) and READ in counts


def day_count(day: date, counts: Mapping[str, int]) -> DayCount:
    """What the counts of one day (as stored with its table) say."""
    return DayCount(day, counts.get(SERVER), _read(counts))


def day_counts(report: ReadReport, days: Iterable[date]) -> list[DayCount]:
    """One line a day, in the order given."""
    return [day_count(day, report.days.get(day, {})) for day in days]


def finding(found: DayCount) -> str | None:
    """What is wrong with a day, in French; None when it is in order or nobody counted."""
    if not found.difference:
        return None
    what = "manquante(s)" if found.difference > 0 else "en trop"
    return f"{found.server} ligne(s) au serveur, {found.read} lue(s) : {abs(found.difference)} {what}"


def _read(counts: Mapping[str, int]) -> int:
    refused = sum(n for name, n in counts.items() if name.startswith(_REJECTED))
    return counts.get(READ, 0) + refused - counts.get("duplicates", 0)
