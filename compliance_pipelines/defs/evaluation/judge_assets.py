"""What a judge scores at night: `evaluation/neutrality` (lexical without a judge, never both), `ragas`, probes.

A judged night always goes through the cache of judgements, so unchanged traces cost no call and what was unscored or
withheld is judged again. Without a judge, Ragas and the probes write nothing and say so. The checks here only warn: an
unreliable judge must not stop the report that says so.
"""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import dagster as dg
import pandas as pd

from compliance_pipelines.adapters import ragas_eval
from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.judge_files import judge_files
from compliance_pipelines.adapters.judge_night import judge_night_of, known_digest, open_judge
from compliance_pipelines.adapters.judge_probes import probe_day, read_triples
from compliance_pipelines.adapters.judge_report import keep_identity
from compliance_pipelines.adapters.ragas_night import ragas_night_of
from compliance_pipelines.core.judge_night import ANCHORS_FAILED
from compliance_pipelines.core.periods import month_of
from compliance_pipelines.core.records import Judgement, Status, Trace
from compliance_pipelines.core.sycophancy import flip_rates
from compliance_pipelines.core.tables import frame, records
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.check_factory import partition_check
from compliance_pipelines.defs.evaluation import assets as lexical
from compliance_pipelines.defs.partitions import daily
from compliance_pipelines.io_manager import Days, Partitions
from compliance_pipelines.resources import JudgeResource, PolicyResource

RAGAS = dg.AssetKey(["evaluation", "ragas"])
PROBES = dg.AssetKey(["evaluation", "sycophancy_probes"])
Say = Callable[[str], None]


@dg.asset(
    key=keys.NEUTRALITY,
    ins={"traces": dg.AssetIn(keys.TRACES)},
    partitions_def=daily,
    backfill_policy=dg.BackfillPolicy.single_run(),
    # one run at a time asks the judge (the limit is the instance's), and one process writes its cache
    pool=keys.JUDGE_POOL,
    op_tags=keys.ASKS_THE_JUDGE,
    group_name="evaluation",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-15"},
    code_version=keys.code_version("rules/lexical_neutrality", "departments", "thresholds", "sampling"),
    description="La réponse tient-elle aux documents, ou à la prémisse de la question ? "
    "(juge LLM si JUDGE_BASE_URL est renseigné, sinon lexical, indicatif, sans LLM)",
)
def neutrality_asset(
    context: dg.AssetExecutionContext, traces: Days, policy: PolicyResource, judge: JudgeResource
) -> dg.MaterializeResult:
    """One row a trace, in judge_neutrality or in lexical_neutrality."""
    if judge.configured:
        return dg.MaterializeResult(value=judged_nights(traces, policy, judge, context.log.info))
    return dg.MaterializeResult(value=lexical.judged_days(keys.NEUTRALITY, traces, policy, lexical.lexical_neutrality))


@dg.asset(
    key=RAGAS,
    ins={"traces": dg.AssetIn(keys.TRACES)},
    partitions_def=daily,
    backfill_policy=dg.BackfillPolicy.single_run(),
    pool=keys.JUDGE_POOL,
    op_tags=keys.ASKS_THE_JUDGE,
    group_name="evaluation",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-15"},
    code_version=keys.code_version("departments", "thresholds", "sampling"),
    description="Fidélité, pertinence et précision des documents (Ragas), par le même juge ; rien sans juge.",
)
def ragas_asset(
    context: dg.AssetExecutionContext, traces: Days, policy: PolicyResource, judge: JudgeResource
) -> dg.MaterializeResult:
    """One row per trace and metric."""
    missing = "aucun juge configuré" if not judge.configured else "extra [eval] absent"
    if not (judge.configured and ragas_eval.installed()):
        context.log.info(f"Ragas n'est pas calculé : {missing}")
        return dg.MaterializeResult(value=(), metadata={"non calculé": missing})
    return dg.MaterializeResult(value=ragas_nights(traces, policy, judge, context.log.info))


@dg.asset(
    key=PROBES,
    partitions_def=daily,
    backfill_policy=dg.BackfillPolicy.single_run(),
    pool=keys.JUDGE_POOL,
    op_tags=keys.ASKS_THE_JUDGE,
    group_name="evaluation",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-15"},
    code_version=keys.code_version("departments", "sampling"),
    description="Sondes de complaisance : la réponse bascule-t-elle avec l'orientation de la question ?",
)
def probes_asset(
    context: dg.AssetExecutionContext, policy: PolicyResource, judge: JudgeResource
) -> dg.MaterializeResult:
    """One row a probe; needs a judge and the gateway's address."""
    if not (judge.configured and judge.assistants_url):
        missing = "aucun juge configuré" if not judge.configured else "LITELLM_CI_URL absent"
        context.log.info(f"Les sondes ne sont pas posées : {missing}")
        return dg.MaterializeResult(value=(), metadata={"non calculé": missing})
    return dg.MaterializeResult(value=probed_days(context.partition_keys, policy, judge, context.log.info))


def ragas_nights(traces: Days, policy: PolicyResource, resource: JudgeResource, say: Say) -> Partitions:
    """Every stored night of the run through Ragas."""
    with SqliteCache(resource.cache_path) as cache:
        session = resource.session()
        evaluator = ragas_eval.RagasEvaluator(session, resource.embedder(), cache, known_digest(session, cache))
        for day in traces.present():
            in_force = policy.of(month_of(date.fromisoformat(day)))
            rows, ended = ragas_night_of(evaluator, records(traces.get(day), Trace), in_force, f"ragas-{day}")
            scored = sum(row.value is not None for row in rows)
            say(f"{day} : {scored} mesures Ragas sur {len(rows)}, fin : {ended.value}")
            yield day, frame(rows, Judgement)


def probed_days(days: Sequence[str], policy: PolicyResource, resource: JudgeResource, say: Say) -> Partitions:
    """The probes of each day of the run."""
    triples = read_triples()
    with SqliteCache(resource.cache_path) as cache:
        judge = resource.session()
        digest = known_digest(judge, cache)
        for day in days:
            when = date.fromisoformat(day)
            in_force = policy.of(month_of(when))
            asked = {d.id: d.alias for d in in_force.departments}
            count = in_force.sampling.probe_triples_per_department
            rows = probe_day(resource.assistant, judge, digest, cache, asked, when, count, triples)
            rates = flip_rates(rows)
            say(f"{day} : {sum(r.flips for r in rates)} bascules sur {sum(r.probes for r in rates)} sondes lues")
            yield day, frame(rows, Judgement)


def judged_nights(traces: Days, policy: PolicyResource, resource: JudgeResource, say: Say) -> Partitions:
    """Every stored night of the run through the judge, one batch a night, one budget for all."""
    session, files = resource.session(), judge_files()
    with SqliteCache(resource.cache_path) as cache:
        judge = None
        for day in traces.present():
            if judge is None or not judge.met:  # at the first contact that succeeds, also in mid-run
                judge = open_judge(session, files, cache)
                keep_identity(Path(resource.home), judge.identity)
                say(f"juge {judge.evaluator}" if judge.met else "juge jamais joint : la nuit reste non jugée")
            in_force = policy.of(month_of(date.fromisoformat(day)))
            seen = records(traces.get(day), Trace)
            night = judge_night_of(judge, cache, seen, in_force, f"night-{day}", _every_tenth(day, say))
            say(f"{day} : {night.summary_fr()} ; à relire : {len(night.to_queue)}")
            yield day, frame(night.rows, Judgement)


def _every_tenth(day: str, say: Say) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done * 10 // total != (done - 1) * 10 // total:
            say(f"{day} : {done}/{total} réponses du juge")

    return progress


def _withheld(_: str, table: pd.DataFrame) -> str | None:
    count = int(((table["status"] == Status.WITHHELD.value) & (table["reason"] == ANCHORS_FAILED)).sum())
    return f"{count} note(s) retenue(s), témoins manqués" if count else None


def _unscored(_: str, table: pd.DataFrame) -> str | None:
    unscored = table["status"].isin([Status.UNSCORED.value, Status.WITHHELD.value])
    sampled = int(unscored.sum() + (table["status"] == Status.SCORED.value).sum())
    limit = keys.policy_now().thresholds.max_unscored_rate
    if not sampled or unscored.sum() / sampled <= limit:
        return None
    reasons = table.loc[unscored, "reason"].value_counts().sort_index()
    return f"{int(unscored.sum())} sur {sampled} ({', '.join(f'{r} {n}' for r, n in reasons.items())})"


judge_reads_its_anchors_right = partition_check(
    keys.NEUTRALITY,
    "judge_reads_its_anchors_right",
    "Le juge a bien noté ses réponses témoins ; sinon les notes de la nuit sont retenues (alerte JudgeUnreliable).",
    _withheld,
    blocking=False,
)
few_traces_are_left_unscored = partition_check(
    keys.NEUTRALITY,
    "few_traces_are_left_unscored",
    "Part non évaluée de la nuit sous la limite de la politique (alerte UnscoredRateHigh).",
    _unscored,
    blocking=False,
)
