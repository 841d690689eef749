"""Partitions: by time only, Paris days and months. Department is a column, never a partition."""

import dagster as dg

from compliance_pipelines.settings import settings

FIRST_DAY = settings().first_day
TIMEZONE = "Europe/Paris"

daily = dg.DailyPartitionsDefinition(start_date=FIRST_DAY.isoformat(), timezone=TIMEZONE)
monthly = dg.MonthlyPartitionsDefinition(start_date=FIRST_DAY.replace(day=1).isoformat(), timezone=TIMEZONE)

# A month in which the follow-up begins has the nights from the first followed day on, which Dagster must be told by a
# parameter that it calls beta; every other installation keeps the plain mapping.
nights_of_month = (
    dg.TimeWindowPartitionMapping(allow_nonexistent_upstream_partitions=True) if FIRST_DAY.day > 1 else None
)


def month_key(partition: str) -> str:
    """ "2026-06-01" (Dagster's monthly key) as "2026-06"."""
    return partition[:7]
