"""`department/daily` and `department/monthly`: the figures by department, with N, interval and verdict.

The monthly table is computed from the month's judgements, not from daily means; it counts what was created by the data
cut-off and is judged by the policy in force at the month's end.
"""

from collections.abc import Sequence
from datetime import date, datetime

import dagster as dg
import pandas as pd
from compliance_guardrails.policy import Policy

from compliance_pipelines.adapters.table_store import StoreError, TableStore
from compliance_pipelines.adapters.ui_plot import department_plot
from compliance_pipelines.core import departments, langfuse_links
from compliance_pipelines.core.langfuse_links import LangfuseLinks
from compliance_pipelines.core.periods import Month, day_window, month_of
from compliance_pipelines.core.records import Aggregate, Judgement, Score, Trace
from compliance_pipelines.core.tables import frame, records
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.operations import freshness
from compliance_pipelines.defs.partitions import daily, month_key, monthly, nights_of_month
from compliance_pipelines.io_manager import Days, Partitions, made_from, once, table_metadata
from compliance_pipelines.resources import JudgeResource, PolicyResource, TraceSourceResource

INS = {
    "traces": dg.AssetIn(keys.TRACES),
    "scores": dg.AssetIn(keys.SCORES),
    "neutrality": dg.AssetIn(keys.NEUTRALITY),
    "citations": dg.AssetIn(keys.CITATIONS),
    "figure_grounding": dg.AssetIn(keys.FIGURE_GROUNDING),
    "ragas": dg.AssetIn(keys.RAGAS),
}
MONTH_INS = {name: dg.AssetIn(one.key, partition_mapping=nights_of_month) for name, one in INS.items()}
POLICY_FILES = ("departments", "thresholds")


class MonthConfig(dg.Config):
    """`cutoff` (ISO, with zone) moves the data cut-off of an explicit revision; empty means the scheduled time."""

    cutoff: str = ""


@dg.asset(
    key=keys.DEPARTMENT_DAILY,
    ins=INS,
    partitions_def=daily,
    backfill_policy=dg.BackfillPolicy.single_run(),
    freshness_policy=freshness.NIGHTLY,
    group_name="department",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-9"},
    code_version=keys.code_version(*POLICY_FILES),
    description="Mesures du jour par direction.",
)
def department_daily(
    traces: Days,
    scores: Days,
    neutrality: Days,
    citations: Days,
    figure_grounding: Days,
    ragas: Days,
    policy: PolicyResource,
    judge: JudgeResource,
    source: TraceSourceResource,
) -> dg.MaterializeResult:
    """One table a day; the day's policy is that of its month's end. A night run alone shows its figures."""

    rated = _scores(scores)
    judged, calibrated = (neutrality, citations, figure_grounding, ragas), judge.calibrated()

    def days() -> Partitions:
        for day in traces.present():
            when = date.fromisoformat(day)
            in_force = policy.of(month_of(when))

            def measured(day: str = day, when: date = when, in_force: Policy = in_force) -> pd.DataFrame:
                table = traces.get(day)
                parts = [source.get(day) for source in judged if day in source.present()]
                parts.append(frame(departments.oversight(records(table, Trace), rated), Judgement))
                return frame(departments.aggregate(table, parts, in_force, day_window(when), calibrated), Aggregate)

            inputs = (source.identity(day) for source in (traces, *judged))
            identity = made_from(
                in_force.digest, *sorted(calibrated), *inputs, *map(scores.identity, scores.partitions)
            )
            yield day, once(traces, keys.DEPARTMENT_DAILY, day, identity, measured)

    if len(traces.partitions) > 1:
        return dg.MaterializeResult(value=days())
    made = list(days())
    return dg.MaterializeResult(value=made, metadata=_night_shown(traces.store, made, source.links))


def _night_shown(store: TableStore, made: Partitions, links: LangfuseLinks) -> dict[str, dg.MetadataValue]:
    # the page that an alert on a night links to: without figures it would send a person there for nothing
    shown: dict[str, dg.MetadataValue] = {}
    for day, table in made:
        found = records(store.read(keys.DEPARTMENT_DAILY.path, day) if table is None else table, Aggregate)
        start, end = day_window(date.fromisoformat(day))
        present = [a.department for a in found if a.n_traces]
        written = langfuse_links.departments_markdown(present, start, end, links)
        shown |= {"mesures": _figures(found), "Langfuse": dg.MetadataValue.md(written)}
    return shown


@dg.asset(
    key=keys.DEPARTMENT_MONTHLY,
    ins=MONTH_INS,
    partitions_def=monthly,
    group_name="department",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-9"},
    code_version=keys.code_version(*POLICY_FILES),
    description="Mesures du mois par direction, avec effectif, intervalle et verdict.",
)
def department_monthly(
    context: dg.AssetExecutionContext,
    config: MonthConfig,
    traces: Days,
    scores: Days,
    neutrality: Days,
    citations: Days,
    figure_grounding: Days,
    ragas: Days,
    policy: PolicyResource,
    judge: JudgeResource,
    source: TraceSourceResource,
) -> dg.MaterializeResult:
    """The month's aggregates, one row per department and metric."""
    month = Month.parse(month_key(context.partition_key))
    if len(traces.missing()) == len(traces.partitions):
        raise StoreError(f"aucune nuit de {month} n'a encore été calculée (compliance report build {month} --nights)")
    cutoff = datetime.fromisoformat(config.cutoff) if config.cutoff else month.scheduled_at
    rated = _scores(scores, cutoff)
    tables, parts = [], [found for source in (neutrality, citations, figure_grounding, ragas) for _, found in source]
    flagged = []
    for _, table in traces:
        kept = departments.before(table, cutoff)
        parts.append(frame(departments.oversight(records(kept, Trace), rated), Judgement))
        tables.append(kept[departments.TRACE_COLUMNS])
        flagged.append(langfuse_links.flagged(kept))
    together = pd.concat(tables, ignore_index=True) if tables else frame([], Trace)
    found = departments.aggregate(together, parts, policy.of(month), (month.start, month.end), judge.calibrated())
    shown = _shown(found) | {
        "Langfuse": dg.MetadataValue.md(
            langfuse_links.departments_markdown(
                [a.department for a in found if a.n_traces], month.start, month.end, source.links
            )
        ),
        "traces signalées": dg.MetadataValue.md(langfuse_links.flagged_markdown(flagged, source.links)),
    }
    return dg.MaterializeResult(value=[(context.partition_key, frame(found, Aggregate))], metadata=shown)


def _scores(scores: Days, cutoff: datetime | None = None) -> list[Score]:
    tables = (table for _, table in scores)
    return [row for t in tables for row in records(t if cutoff is None else departments.before(t, cutoff), Score)]


def _figures(found: Sequence[Aggregate]) -> dg.TableMetadataValue:
    def text(value: float | None) -> str | None:
        return None if value is None else f"{value:.3f}"

    rows = [
        (a.department, a.metric, a.n_traces, a.n_scored, a.n_unscored, text(a.mean), text(a.threshold), a.verdict.value)
        for a in found
        if a.n_traces
    ]
    header = ("direction", "mesure", "traces", "évaluées", "non évaluées", "moyenne", "seuil", "verdict")
    return table_metadata(header, rows)


def _shown(found: Sequence[Aggregate]) -> dict[str, dg.MetadataValue]:
    names = (
        ("judge_neutrality", "neutralité"),
        ("lexical_neutrality", "neutralité lexicale"),
        ("citation_compliance", "citations"),
    )
    measured = {a.metric for a in found if a.mean is not None}
    plots = {
        label: dg.MetadataValue.md(department_plot([a for a in found if a.metric == metric], label))
        for metric, label in names
        if metric in measured
    }
    return {"mesures": _figures(found), **plots}
