"""`evaluation/*`: a night's judgements, one asset per evaluator, each trace judged or with a reason why not.

Metadata shows how many were judged and why others were not; text stays in the trace table.
"""

from collections.abc import Callable, Sequence
from datetime import date

import dagster as dg
import pandas as pd
from compliance_guardrails.detect import in_use
from compliance_guardrails.policy import Policy

from compliance_pipelines.adapters import lexical_judge
from compliance_pipelines.core import judging, neutrality
from compliance_pipelines.core.judge_sampling import Strata
from compliance_pipelines.core.periods import month_of
from compliance_pipelines.core.records import Judgement, Trace
from compliance_pipelines.core.tables import frame, records
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.partitions import daily
from compliance_pipelines.io_manager import Days, Partitions, made_from, once
from compliance_pipelines.resources import PolicyResource

JudgeDay = Callable[[Sequence[Trace], Policy], list[Judgement]]


def _evaluation(
    key: dg.AssetKey, policy_files: tuple[str, ...], description: str, judge_day: JudgeDay
) -> dg.AssetsDefinition:
    @dg.asset(
        key=key,
        ins={"traces": dg.AssetIn(keys.TRACES)},
        partitions_def=daily,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name="evaluation",
        owners=keys.OWNERS,
        kinds={"python", "parquet"},
        tags={"regulation/ai-act": "art-15"},
        code_version=keys.code_version(*policy_files),
        description=description,
    )
    def evaluation(traces: Days, policy: PolicyResource) -> dg.MaterializeResult:
        return dg.MaterializeResult(value=judged_days(key, traces, policy, judge_day))

    return evaluation


def judged_days(key: dg.AssetKey, traces: Days, policy: PolicyResource, judge_day: JudgeDay) -> Partitions:
    """Every stored night through `judge_day`, under the policy of its month; unchanged nights are reused."""
    for day in traces.present():
        in_force = policy.of(month_of(date.fromisoformat(day)))

        def judged(day: str = day, in_force: Policy = in_force) -> pd.DataFrame:
            return frame(judge_day(records(traces.get(day), Trace), in_force), Judgement)

        yield day, once(traces, key, day, made_from(in_force.digest, traces.identity(day)), judged)


def _strata(policy: Policy) -> Strata:
    rates = {d.id: d.sampling_rate for d in (*policy.departments, policy.unattributed)}
    # a department that the policy no longer names is judged whole
    return Strata(lambda d: rates.get(d, 1.0), policy.sampling.salt, policy.sampling.min_per_stratum)


def lexical_neutrality(traces: Sequence[Trace], policy: Policy) -> list[Judgement]:
    """The lexical evaluator's judgements of one night (see judge_assets for when it serves)."""
    scorer = judging.lexical_scorer(lexical_judge.lexical_rules(policy))
    weight = policy.thresholds.flagged_weight
    evaluator = lexical_judge.fingerprint(policy)
    return judging.judge(traces, neutrality.METRIC, evaluator, scorer, weight, _strata(policy))


def _citations(traces: Sequence[Trace], policy: Policy) -> list[Judgement]:
    weight = policy.thresholds.flagged_weight
    evaluator = f"citations/{policy.digest_of('rules/citations', 'rules/claims')[:12]}"
    rules = in_use.of(policy)
    return [
        judgement
        for metric, marker in (("citation_compliance", False), ("citation_marker", True))
        for judgement in judging.judge(
            traces,
            metric,
            evaluator,
            judging.citation_scorer(lambda d: policy.department(d).layers.citation_check, rules, marker=marker),
            weight,
            None,
        )
    ]


def _figure_grounding(traces: Sequence[Trace], policy: Policy) -> list[Judgement]:
    evaluator = f"figures/{policy.digest_of('rules/claims')[:12]}"
    scorer = judging.grounding_scorer(in_use.of(policy))
    weight = policy.thresholds.flagged_weight
    return judging.judge(traces, "figure_grounding", evaluator, scorer, weight, None)


citations_asset = _evaluation(
    keys.CITATIONS,
    ("rules/claims", "rules/citations", "departments"),
    "Chaque affirmation précise cite-t-elle sa source ?",
    _citations,
)
figure_grounding_asset = _evaluation(
    keys.FIGURE_GROUNDING,
    ("rules/claims",),
    "Part des chiffres de la réponse retrouvés, par valeur, dans les documents ou la question.",
    _figure_grounding,
)
