"""`langfuse/review_items` and `langfuse/golden_items`: what reviewers did, and the examples that came of it.

Both need the Langfuse API; with an export they compute nothing and say so. Items are kept by the Paris day they were
queued or completed; a correction goes from Langfuse into the dataset `golden-<department>` and into no table.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import date, timedelta

import dagster as dg
import pandas as pd

from compliance_pipelines.adapters import langfuse_reviews
from compliance_pipelines.adapters.langfuse_api_http import LangfuseHttp, NotThereError, RefusedError
from compliance_pipelines.adapters.langfuse_write import GoldenItem, LangfuseWriter
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core import review_queue
from compliance_pipelines.core.records import Trace
from compliance_pipelines.core.review_queue import GoldenEntry, ReviewItem
from compliance_pipelines.core.tables import frame, records
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.partitions import daily
from compliance_pipelines.io_manager import Days, Partitions, table_metadata
from compliance_pipelines.resources import TraceSourceResource

REVIEW_ITEMS = keys.REVIEW_ITEMS
GOLDEN_ITEMS = dg.AssetKey(["langfuse", "golden_items"])
# how long before its review an exchange may have taken place
_LOOK_BACK = timedelta(days=92)


@dg.asset(
    key=REVIEW_ITEMS,
    partitions_def=daily,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name="langfuse",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-14"},
    code_version=keys.code_version(),
    description="Files de relecture : mises en file et relectures du jour (API Langfuse seulement).",
)
def review_items(context: dg.AssetExecutionContext, source: TraceSourceResource) -> dg.MaterializeResult:
    """Items of every review queue, read once a run; each day gets those that were queued or completed on it."""
    if not source.langfuse_url:
        return not_computed(context, "aucun serveur Langfuse configuré")
    try:
        with closing(source.http()) as http:
            found = langfuse_reviews.review_items(http)
    except (NotThereError, RefusedError):
        return not_computed(context, "ce serveur n'a pas de files de relecture")
    frames = (
        (day, frame(review_queue.of_day(found, date.fromisoformat(day)), ReviewItem)) for day in context.partition_keys
    )
    waiting = Counter(item.department for item in found if item.completed_at is None)
    done = Counter(item.department for item in found if item.completed_at is not None)
    rows = [(name, waiting[name], done[name]) for name in sorted({*waiting, *done})]
    metadata = {"files de relecture": table_metadata(("direction", "en attente", "relus"), rows)}
    return dg.MaterializeResult(value=frames, metadata=metadata)


@dg.asset(
    key=GOLDEN_ITEMS,
    ins={"review_items": dg.AssetIn(REVIEW_ITEMS)},
    deps=[keys.TRACES],
    partitions_def=daily,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name="langfuse",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-14"},
    code_version=keys.code_version(),
    description="Relectures corrigées du jour, versées dans les jeux golden-<direction> de Langfuse.",
)
def golden_items(
    context: dg.AssetExecutionContext, review_items: Days, source: TraceSourceResource
) -> dg.MaterializeResult:
    """Items completed on each day; one with a correction becomes (or stays) an item of its department's dataset."""
    why = source.why_not("golden")
    if why is not None:
        return not_computed(context, why)
    return dg.MaterializeResult(value=_golden_days(review_items, source, context.log.info))


def not_computed(context: dg.AssetExecutionContext, why: str) -> dg.MaterializeResult:
    """No partition, and the reason in log and metadata."""
    context.log.info(f"non calculé : {why}")
    return dg.MaterializeResult(value=(), metadata={"non calculé": why})


def _golden_days(items: Days, source: TraceSourceResource, say: Callable[[str], None]) -> Partitions:
    with closing(source.http()) as http:
        for day, table in items:
            done = review_queue.completed_on(records(table, ReviewItem), date.fromisoformat(day))
            entries = _golden(http, items.store, date.fromisoformat(day), done)
            counts = Counter(entry.outcome for entry in entries)
            say(f"{day} : {', '.join(f'{name} {n}' for name, n in sorted(counts.items())) or 'aucune relecture'}")
            yield day, frame(entries, GoldenEntry)


def _golden(http: LangfuseHttp, store: TableStore, day: date, done: Sequence[ReviewItem]) -> list[GoldenEntry]:
    traces, calls = _exchanges(store, day, {(item.object_type, item.object_id) for item in done})
    texts = langfuse_reviews.corrections(http, [trace.trace_id for trace in traces.values()]) if traces else {}
    entries, ready = [], dict[str, list[GoldenItem]]()
    for item in done:
        trace = traces.get((item.object_type, item.object_id))
        text = None if trace is None else review_queue.correction_of(trace.trace_id, texts, calls)
        if trace is None or trace.question is None:
            outcome = review_queue.WITHOUT_EXCHANGE
        elif text is None:
            outcome = review_queue.WITHOUT_CORRECTION
        else:
            outcome = review_queue.CREATED
            golden = GoldenItem(trace.trace_id, trace.question, text, trace.contexts, {"item_id": item.item_id})
            ready.setdefault(item.department, []).append(golden)
        entries.append(GoldenEntry(item.item_id, item.department, trace.trace_id if trace else None, outcome))
    for department, golden_set in sorted(ready.items()):
        LangfuseWriter(http).write_golden(department, golden_set)
    return entries


def _exchanges(
    store: TableStore, day: date, wanted: set[tuple[str, str]]
) -> tuple[dict[tuple[str, str], Trace], set[str]]:
    """The exchanges that queue items stand for, from the stored days up to `day`, the latest first.

    Also the further calls ("trace/observation") that were seen on the way.
    """
    found: dict[tuple[str, str], Trace] = {}
    calls: set[str] = set()
    for _, table in store.read_many(keys.TRACES.path, _days_back(day)):
        missing = wanted - found.keys()
        if not missing:
            break
        calls.update(trace_id for trace_id in table["trace_id"] if "/" in trace_id)
        known = review_queue.objects(table["trace_id"])
        hits = {known[key]: key for key in missing & known.keys()}
        rows: pd.DataFrame = table[table["trace_id"].isin(list(hits))]
        found |= {hits[trace.trace_id]: trace for trace in records(rows, Trace)}
    return found, calls


def _days_back(day: date) -> Iterator[str]:
    return ((day - timedelta(days=k)).isoformat() for k in range(_LOOK_BACK.days + 1))
