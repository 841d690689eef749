"""`langfuse/traces` and `langfuse/scores`: what users asked and were told, and how it was rated.

Text lives in these tables alone. Metadata shows counts and reasons, never content.
"""

import itertools
from collections.abc import Iterator, Sequence
from datetime import date

import dagster as dg
import pandas as pd

from compliance_pipelines.adapters.langfuse_export import ReadReport
from compliance_pipelines.core import reconciliation, write_back
from compliance_pipelines.core.periods import month_of
from compliance_pipelines.core.records import Score, Trace
from compliance_pipelines.core.tables import frame
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.partitions import daily
from compliance_pipelines.io_manager import table_metadata
from compliance_pipelines.resources import PolicyResource, TraceSourceResource

SINGLE_RUN = dg.BackfillPolicy.single_run()


@dg.asset(
    key=keys.TRACES,
    partitions_def=daily,
    backfill_policy=SINGLE_RUN,
    group_name="langfuse",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-12"},
    code_version=keys.code_version("departments"),
    description="Échanges lus dans Langfuse, un par appel, attribués à une direction.",
)
def traces(
    context: dg.AssetExecutionContext, source: TraceSourceResource, policy: PolicyResource
) -> dg.MaterializeResult:
    """Exchanges by Paris day; days without any are written empty, so that a silent night is seen."""
    report = ReadReport()
    tables: list[Iterator[tuple[date, list[Trace]]]] = []
    for month, days in itertools.groupby(map(date.fromisoformat, context.partition_keys), month_of):
        with source.reader(policy.of(month)) as reader:
            # the whole month is on the disk before its first day is handed over
            tables.append(reader.trace_days(list(days), report))
    frames = (
        (day.isoformat(), _counted(frame(rows, Trace), report, day))
        for day, rows in itertools.chain.from_iterable(tables)
    )
    metadata = _counts(report, context.partition_keys) | _reconciled(report, context.partition_keys)
    if report.gone:
        context.log.warning(
            f"le serveur compte moins de lignes qu'à la lecture précédente : {len(report.gone)} jour(s)"
        )
        metadata["lignes disparues du serveur"] = _gone(report)
    return dg.MaterializeResult(value=frames, metadata=metadata)


@dg.asset(
    key=keys.SCORES,
    partitions_def=daily,
    backfill_policy=SINGLE_RUN,
    group_name="langfuse",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-14"},
    code_version=keys.code_version(),
    description="Scores lus dans Langfuse : avis humains, contrôles du garde-fou, relectures.",
)
def scores(
    context: dg.AssetExecutionContext, source: TraceSourceResource, policy: PolicyResource
) -> dg.MaterializeResult:
    """Scores by the Paris day of their own timestamp."""
    report, days = ReadReport(), [date.fromisoformat(key) for key in context.partition_keys]
    with source.reader(policy.of(month_of(days[-1]))) as reader:
        # all of them are on the disk before the first day is handed over
        found = reader.score_days(days, report)
    frames = ((day.isoformat(), frame(list(filter(None, map(write_back.foreign, rows))), Score)) for day, rows in found)
    return dg.MaterializeResult(value=frames, metadata=_counts(report, context.partition_keys))


def _counted(table: pd.DataFrame, report: ReadReport, day: date) -> pd.DataFrame:
    table.attrs["counts"] = report.totals(day, day)
    return table


def _counts(report: ReadReport, days: Sequence[str]) -> dict[str, dg.MetadataValue]:
    totals = report.totals(date.fromisoformat(days[0]), date.fromisoformat(days[-1]))
    metadata: dict[str, dg.MetadataValue] = {"lecture": table_metadata(("compte", "valeur"), list(totals.items()))}
    if report.sources:
        metadata["attribution"] = table_metadata(("source", "traces"), sorted(report.sources.items()))
    return metadata


def _gone(report: ReadReport) -> dg.MetadataValue:
    rows = [(day.isoformat(), then, now) for day, (then, now) in sorted(report.gone.items())]
    return table_metadata(("jour", "lignes à la lecture précédente", "lignes aujourd'hui"), rows)


def _reconciled(report: ReadReport, days: Sequence[str]) -> dict[str, dg.MetadataValue]:
    found = reconciliation.day_counts(report, map(date.fromisoformat, days))
    if all(one.server is None for one in found):
        return {"rapprochement": dg.MetadataValue.text("sans objet : aucun serveur n'a compté les lignes")}
    rows = [(one.day.isoformat(), one.server, one.read, one.difference) for one in found]
    return {"rapprochement": table_metadata(("jour", "lignes au serveur", "lignes lues", "écart"), rows)}
