"""Partitions: by time only, Paris days and months. Department is a column, never a partition."""

import dagster as dg

from compliance_pipelines.settings import settings

FIRST_DAY = settings().first_day
TIMEZONE = "Europe/Paris"

daily = dg.DailyPartitionsDefinition(start_date=FIRST_DAY.isoformat(), timezone=TIMEZONE)
monthly = dg.MonthlyPartitionsDefinition(start_date=FIRST_DAY.replace(day=1).isoformat(), timezone=TIMEZONE)


def month_key(partition: str) -> str:
    """ "2026-06-01" (Dagster's monthly key) as "2026-06"."""
    return partition[:7]
