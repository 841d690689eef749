"""How long evidence is kept, and when working tables are deleted: the one place that adds months or years to a date.

Pure calendar arithmetic in UTC. The number of years is policy data, enforcing it is the archive's work.
Serves the retention rule: never a day less than the promised number of years, a start on 29 February
included.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from compliance_pipelines.core.evidence_manifest import EvidenceError

MAX_YEARS = 100


def retain_until(start: date | datetime, years: int) -> datetime:
    """First instant (UTC midnight) at which evidence of `start` may be deleted.

    The whole anniversary day is still covered, whatever the time of day of `start`. 29 February moves to 1
    March in a year that has none, since 28 February would fall short. A datetime must be aware; its UTC
    date counts.
    """
    if not 1 <= years <= MAX_YEARS:
        raise EvidenceError(f"conservation : attendu de 1 à {MAX_YEARS} ans")
    if isinstance(start, datetime):
        if start.utcoffset() is None:
            raise EvidenceError("conservation : attendu une date avec fuseau horaire")
        start = start.astimezone(UTC).date()
    year = start.year + years
    try:
        anniversary = start.replace(year=year)
    except ValueError:
        if start.month != 2 or year > date.max.year:
            raise EvidenceError("conservation : attendu une échéance avant l’an 10000") from None
        anniversary = date(year, 3, 1)
    return datetime(anniversary.year, anniversary.month, anniversary.day, tzinfo=UTC) + timedelta(days=1)


def purge_before(today: date, months: int) -> date:
    """First day still kept when working data (tables, caches, outbox) is kept for `months` whole months.

    The current month does not count: on 30 November 2026, 13 months keep everything since 1 October 2025.
    """
    if not 1 <= months <= MAX_YEARS * 12:
        raise EvidenceError(f"purge : attendu de 1 à {MAX_YEARS * 12} mois")
    count = today.year * 12 + today.month - 1 - months
    if count < 12:
        raise EvidenceError("purge : attendu une date postérieure à l’an 1")
    return date(count // 12, count % 12 + 1, 1)
