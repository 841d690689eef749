"""Heavy nights: the judge's work of one night in shards, each a step of its own and, on Kubernetes, a pod of its own.

`judge_by_shards` fills the cache of judgements and writes no table; the night that follows (`nightly`, same partition)
finds every reply there and sends no call. The sample is the one that the whole night would draw. Partitions stay by
day: shards are dynamic outputs of a run. Nothing passes between steps but their order, so nothing of a trace does.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import dagster as dg
from pydantic import Field

from compliance_pipelines.adapters.judge_config import JudgeUnavailableError
from compliance_pipelines.adapters.judge_files import judge_files
from compliance_pipelines.adapters.judge_pool import Ended
from compliance_pipelines.adapters.judge_shards import MOST, Shard, gather, judge_shard, open_shards
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.periods import month_of
from compliance_pipelines.core.records import Trace
from compliance_pipelines.core.tables import records
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.operations.execution import STEPS_AT_ONCE, by_pod
from compliance_pipelines.defs.partitions import daily
from compliance_pipelines.resources import InstallationResource, JudgeResource, PolicyResource

# a step loads what a run loads (docs/performance.md); the instance lets it ask for resources and for nothing else
_SIZE = {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
_POD = {"dagster-k8s/config": {"container_config": {"resources": _SIZE}}}
# an outage that outlasts the judge's own patience; replies that were paid for are not asked for again
_AGAIN = dg.RetryPolicy(max_retries=2, delay=60, backoff=dg.Backoff.EXPONENTIAL)


class NightShards(dg.Config):
    """How many shards a night is cut into."""

    shards: int = Field(default=4, ge=1, le=MOST)


class ShardLoad(dg.Config):
    """Calls that one shard keeps in flight; 0: its share of the judge's bound, so that the sum stays within it."""

    in_flight: int = Field(default=0, ge=0, le=256)


@dg.op(out=dg.DynamicOut(dg.Nothing), pool="judge", tags=_POD, description="Prépare les parts de la nuit.")
def night_shards(
    context: dg.OpExecutionContext, config: NightShards, judge: JudgeResource
) -> Iterator[dg.DynamicOutput]:
    """One dynamic output a shard; none without a judge."""
    if not judge.configured:
        context.log.info("aucun juge configuré : rien à répartir, la nuit est lexicale")
        return
    for shard in open_shards(judge.cache_path, context.partition_key, config.shards, judge.session(), judge_files()):
        yield dg.DynamicOutput(None, mapping_key=f"{shard.index}_of_{shard.count}")


@dg.op(
    ins={"shard": dg.In(dg.Nothing)},
    out=dg.Out(dg.Nothing),
    pool="judge",
    tags=_POD,
    retry_policy=_AGAIN,
    description="Juge une part de la nuit.",
)
def judged_shard(
    context: dg.OpExecutionContext,
    config: ShardLoad,
    judge: JudgeResource,
    policy: PolicyResource,
    installation: InstallationResource,
) -> None:
    """Judge the shard that the step's mapping key names; a lasting outage fails the step, paid replies are kept."""
    day = context.partition_key
    index, _, count = (context.get_mapping_key() or "0_of_1").partition("_of_")
    shard = Shard(day, int(index), int(count))
    traces = records(TableStore(installation.path / "data").read(keys.TRACES.path, day), Trace)
    session = judge.session()
    bound = config.in_flight or max(1, session.limits.concurrency // min(shard.count, STEPS_AT_ONCE))
    session = replace(session, limits=replace(session.limits, concurrency=bound))
    in_force = policy.of(month_of(date.fromisoformat(day)))
    batch = judge_shard(judge.cache_path.parent, shard, session, judge_files(), traces, in_force)
    scored = sum(reading.value is not None for reading in batch.readings.values())
    context.log.info(
        f"part {shard.index + 1} sur {shard.count} : {len(batch.readings)} réponses, {scored} notées, "
        f"{len(batch.withheld)} retenues, {batch.cached} en cache, {batch.sent} appels, fin : {batch.ended.value}"
    )
    if batch.ended is Ended.UNAVAILABLE:
        raise JudgeUnavailableError(f"part {shard.index + 1} de {day} : le juge ne répond pas")


@dg.op(ins={"done": dg.In(dg.Nothing)}, out=dg.Out(dg.Nothing), pool="judge", description="Réunit les parts.")
def gathered_shards(context: dg.OpExecutionContext, judge: JudgeResource) -> None:
    """Bring the shards' replies into the cache that nights read."""
    if judge.configured:
        context.log.info(f"{gather(judge.cache_path, context.partition_key)} jugements réunis")


@dg.graph(description="Les jugements d'une nuit, en parts jugées côte à côte ; la nuit les trouve en cache.")
def judge_by_shards() -> None:
    """Cut, judge, gather."""
    gathered_shards(done=night_shards().map(lambda shard: judged_shard(shard=shard)).collect())


@dg.definitions
def shards() -> dg.Definitions:
    """The job, one pod a shard where `dagster-k8s` is installed."""
    return dg.Definitions(
        jobs=[
            judge_by_shards.to_job(
                name="judge_by_shards",
                partitions_def=daily,
                executor_def=by_pod() or dg.in_process_executor,
                # counts as a night where the queue bounds them
                tags={"job": "nightly"},
            )
        ]
    )
