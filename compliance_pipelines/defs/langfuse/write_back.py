"""`langfuse/written_scores` and `langfuse/queued_traces`: what the pipeline writes to the Langfuse it reads.

Both run only with a server and where LANGFUSE_WRITE_BACK admits it. Everything can be repeated: a score has an id of
its own and is sent again only when it changed, a trace stands in its queue once. Tables hold ids and the server's
answers, never text.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import date, timedelta

import dagster as dg
import pandas as pd

from compliance_pipelines.adapters.langfuse_write import LangfuseWriter, ScoreToWrite
from compliance_pipelines.core import review_queue, write_back
from compliance_pipelines.core.judge_samples import METRIC
from compliance_pipelines.core.periods import month_of
from compliance_pipelines.core.records import Judgement, Score
from compliance_pipelines.core.review_queue import QueuedTrace
from compliance_pipelines.core.tables import frame, records
from compliance_pipelines.core.write_back import DueScore, SentScore
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.check_factory import partition_check
from compliance_pipelines.defs.langfuse.reviews import not_computed
from compliance_pipelines.defs.partitions import daily
from compliance_pipelines.io_manager import Days, Partitions, made_from, once
from compliance_pipelines.resources import PolicyResource, TraceSourceResource

WRITTEN_SCORES = dg.AssetKey(["langfuse", "written_scores"])
QUEUED_TRACES = dg.AssetKey(["langfuse", "queued_traces"])
QUEUE_POOL = "review_queue"
Say = Callable[[str], None]


@dg.asset(
    key=WRITTEN_SCORES,
    ins={
        "traces": dg.AssetIn(keys.TRACES),
        "neutrality": dg.AssetIn(keys.NEUTRALITY),
        "ragas": dg.AssetIn(keys.RAGAS),
    },
    partitions_def=daily,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name="langfuse",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-14"},
    code_version=keys.code_version(),
    description="Notes de la nuit rendues à Langfuse (API, si LANGFUSE_WRITE_BACK comprend scores).",
)
def written_scores(
    context: dg.AssetExecutionContext, traces: Days, neutrality: Days, ragas: Days, source: TraceSourceResource
) -> dg.MaterializeResult:
    """Every score of each night as it stands at the server; those new or changed are sent."""
    why = source.why_not("scores")
    if why is not None:
        return not_computed(context, why)
    return dg.MaterializeResult(value=_score_days(traces, (neutrality, ragas), source, context.log.info))


@dg.asset(
    key=QUEUED_TRACES,
    ins={
        "traces": dg.AssetIn(keys.TRACES),
        "scores": dg.AssetIn(keys.SCORES),
        "neutrality": dg.AssetIn(keys.NEUTRALITY),
    },
    partitions_def=daily,
    # a queue takes the same trace twice from two writers that list it at once
    pool=QUEUE_POOL,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name="langfuse",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-14"},
    code_version=keys.code_version("thresholds"),
    description="Échanges à relire, mis une fois dans la file de leur direction "
    "(API, si LANGFUSE_WRITE_BACK comprend queues).",
)
def queued_traces(
    context: dg.AssetExecutionContext,
    traces: Days,
    scores: Days,
    neutrality: Days,
    source: TraceSourceResource,
    policy: PolicyResource,
) -> dg.MaterializeResult:
    """Exchanges of each night that a guardrail event or a low note of the judge puts before a person."""
    why = source.why_not("queues")
    if why is not None:
        return not_computed(context, why)
    days = _queue_days(traces, scores, neutrality, source, policy, context.log.info)
    return dg.MaterializeResult(value=days)


def _score_days(traces: Days, judged: Sequence[Days], source: TraceSourceResource, say: Say) -> Partitions:
    with closing(source.http()) as http:
        writer = LangfuseWriter(http)
        for day in traces.present():
            rows = [row for days in judged if day in days.present() for row in records(days.get(day), Judgement)]
            stored = traces.store.has(WRITTEN_SCORES.path, day)
            before = records(traces.store.read(WRITTEN_SCORES.path, day), SentScore) if stored else []
            standing, due = write_back.plan(rows, before)
            if stored and not due and len(standing) == len(before):
                yield day, None
                continue
            sent = _send(writer, due, _environments(traces.get(day)))
            refused = sum(row.http_status != write_back.ACCEPTED for row in sent)
            say(f"{day} : {len(sent) - refused} notes prises, {refused} refusées, {len(standing)} inchangées")
            yield day, frame(sorted([*standing, *sent], key=lambda row: (row.trace_id, row.name)), SentScore)


def _send(writer: LangfuseWriter, due: Sequence[DueScore], environments: Mapping[str, str]) -> list[SentScore]:
    scores = [
        ScoreToWrite(
            trace_id=one.trace_id,
            name=one.name,
            value=one.value,
            observed_at=one.observed_at,
            environment=environments.get(one.trace_id),
            metadata={"evaluator": one.evaluator},
            revision=one.revision,
        )
        for one in due
    ]
    refused = dict(writer.write_scores(scores).rejected)
    return write_back.outcome(due, [refused.get(score.score_id) for score in scores])


def _environments(table: pd.DataFrame) -> dict[str, str]:
    known = table[table["environment"].notna()]
    return dict(zip(known["trace_id"], known["environment"], strict=True))


def _queue_days(
    traces: Days, scores: Days, neutrality: Days, source: TraceSourceResource, policy: PolicyResource, say: Say
) -> Partitions:
    with closing(source.http()) as http:
        writer = LangfuseWriter(http)
        for day in traces.present():
            in_force = policy.of(month_of(date.fromisoformat(day)))

            def queued(day: str = day, below: float = in_force.thresholds.queue_below) -> pd.DataFrame:
                judged = records(neutrality.get(day), Judgement) if day in neutrality.present() else []
                rated = records(scores.get(day), Score) if day in scores.present() else []
                found = review_queue.to_queue(judged, rated, _departments(traces, day), METRIC, below)
                new = _enqueue(writer, found)
                say(f"{day} : {len(found)} échanges à relire, dont {new} mis en file")
                return frame(found, QueuedTrace)

            inputs = (days.identity(day) for days in (traces, scores, neutrality))
            yield day, once(traces, QUEUED_TRACES, day, made_from(in_force.digest, *inputs), queued)


def _departments(traces: Days, day: str) -> dict[str, str]:
    # an event just after midnight belongs to an exchange of the day before
    eve = (date.fromisoformat(day) - timedelta(days=1)).isoformat()
    tables = [table for _, table in traces.store.read_many(keys.TRACES.path, (eve, day))]
    return {
        trace: department
        for table in tables
        for trace, department in zip(table["trace_id"], table["department"], strict=True)
    }


def _enqueue(writer: LangfuseWriter, found: Sequence[QueuedTrace]) -> int:
    by_department: dict[str, list[str]] = {}
    for one in found:
        by_department.setdefault(one.department, []).append(one.trace_id)
    return sum(writer.enqueue(department, traces) for department, traces in sorted(by_department.items()))


def _refused(_: str, table: pd.DataFrame) -> str | None:
    statuses = Counter(int(status) for status in table["http_status"] if status != write_back.ACCEPTED)
    return ", ".join(f"{n} avec le code {code}" for code, n in sorted(statuses.items())) or None


every_written_score_was_taken = partition_check(
    WRITTEN_SCORES,
    "every_written_score_was_taken",
    "Notes que Langfuse a refusées ou laissées sans réponse (code 0).",
    _refused,
    blocking=False,
)
