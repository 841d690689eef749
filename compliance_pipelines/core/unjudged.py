"""Which nights the judge owes: those it left unfinished, once it has judged another one well.

A night whose anchors failed, that met an outage or the end of its budget is stored with reasons instead of scores.
Trying it again before the judge is seen to be well would only find the same. Pure; who starts runs is not known here.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping
from datetime import date

from compliance_pipelines.core.judge_night import ANCHORS_FAILED
from compliance_pipelines.core.judge_samples import METRIC
from compliance_pipelines.core.records import Status


class Judged(enum.StrEnum):
    """What became of a night at the judge. `SILENT`: it had nothing to judge, or no judge."""

    WELL = "well"
    UNFINISHED = "unfinished"
    SILENT = "silent"


def judged(rows: Iterable[Mapping[str, object]], passing: Collection[str]) -> Judged:
    """Of a night's rows (metric, status, reason). `passing`: reasons that stand for the batch, not for an exchange."""
    scored = False
    for row in rows:
        if row["metric"] != METRIC:
            continue
        if row["reason"] == ANCHORS_FAILED or (row["status"] == Status.UNSCORED and row["reason"] in passing):
            return Judged.UNFINISHED
        scored = scored or row["status"] == Status.SCORED
    return Judged.WELL if scored else Judged.SILENT


def owed(nights: Mapping[date, Judged]) -> list[tuple[date, date]]:
    """(night to judge again, the later night that shows the judge is well), oldest first."""
    well = max((day for day, found in nights.items() if found is Judged.WELL), default=date.min)
    return [(day, well) for day in sorted(nights) if nights[day] is Judged.UNFINISHED and day < well]
