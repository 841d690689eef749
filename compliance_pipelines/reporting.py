"""One month's report from the stored tables: read them, count the facts, decide against the archive, render.

The shell between store, policy, archive and the pure core; no Dagster, so that it can be called and tested by itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path

import pandas as pd
from compliance_guardrails.detect import bias, rulebook
from compliance_guardrails.policy import Policy, PolicyError, load_policy

from compliance_pipelines.adapters import judge_report, lexical_judge, pdf, policy_texts, signing, verify_pdf
from compliance_pipelines.adapters.outbox import Outbox
from compliance_pipelines.adapters.signing import SigningConfig
from compliance_pipelines.adapters.table_store import StoreError, TableStore
from compliance_pipelines.code_identity import code_identity
from compliance_pipelines.core import (
    departments,
    report_build,
    report_facts,
    report_previous,
    report_revision,
    review_queue,
)
from compliance_pipelines.core.counterfactual_rows import to_facts
from compliance_pipelines.core.evidence import (
    DataDigest,
    DecisionKind,
    Inputs,
    Manifest,
    Window,
    archived_manifests,
)
from compliance_pipelines.core.periods import Month
from compliance_pipelines.core.ports import Archive
from compliance_pipelines.core.records import Aggregate, Judgement, Score, Trace
from compliance_pipelines.core.report_changes import policy_changes
from compliance_pipelines.core.report_inputs import AlertFacts, ChangeFacts, CounterfactualFacts, ReportInputs
from compliance_pipelines.core.report_suppress import build_mask
from compliance_pipelines.core.review_queue import ReviewItem
from compliance_pipelines.core.tables import frame, records

DAILY_TABLES = (
    ("langfuse", "traces"),
    ("langfuse", "scores"),
    ("evaluation", "neutrality"),
    ("evaluation", "citations"),
    ("evaluation", "figure_grounding"),
    ("evaluation", "ragas"),
    ("evaluation", "sycophancy_probes"),
    ("department", "daily"),
)
MONTHLY_TABLE = ("department", "monthly")
COUNTERFACTUAL_TABLE = ("counterfactual", "results")
REVIEWS_TABLE = ("langfuse", "review_items")
FEEDBACK_LIMIT = (
    "Un avis ou une relecture compte le jour où il est donné : ceux du mois suivant sur un échange de ce mois-ci "
    "n'entrent pas dans ce rapport."
)
CHARTED = frozenset({"judge_neutrality", "lexical_neutrality", "citation_compliance"})


@dataclass(frozen=True, slots=True)
class MonthRequest:
    """Which month, and how: data cut-off (None: the scheduled time), reason of a revision, where the tables lie."""

    month: Month
    home: Path
    policy_dir: Path | None
    namespace: str
    synthetic: bool
    built_at: datetime
    signing: SigningConfig | None = None
    cutoff: datetime | None = None
    reason: str = ""


def bundle_folder(home: Path, month: Month) -> Path:
    """Where a built report waits for the archive."""
    return home / "data" / "audit" / "bias_report" / str(month)


def build_month(request: MonthRequest, archive: Archive) -> report_build.Built:
    """Build the month's report; identical inputs return the archived files unchanged."""
    store, month = TableStore(request.home / "data"), request.month
    policy = load_policy(request.policy_dir, at=month.days()[-1])
    cutoff = request.cutoff or month.scheduled_at
    archived = archived_manifests(archive)
    before = _month_before(month)
    manifest_before = report_previous.newest_manifest(archived, str(before))
    facts = _facts(request, store, policy, cutoff)
    inputs = Inputs(
        data=_data(store, month, before, manifest_before, facts),
        policy_digest=policy.digest,
        code_version=code_identity(),
        judge=_judge(request, store, policy).recorded,
        window=Window(start=_utc(month.start), end=_utc(month.end), timezone="Europe/Paris"),
        scheduled_at=cutoff,
    )
    policy_before = _policy_before(request, month)
    previous = report_previous.previous_month(
        str(before),
        _monthly(store, before),
        manifest_before,
        inputs,
        _policy_facts(policy),
        None if policy_before is None else _policy_facts(policy_before),
    )
    # As for the comparison, the month before counts only where its figures are an input of this report.
    made = report_revision.since_month(manifest_before if previous is not None else None, inputs)
    built = report_build.build(
        replace(facts, previous=previous, changes=(*facts.changes, *made)),
        inputs,
        archived,
        render=pdf.render,
        summarise=pdf.render_summary,
        sign=lambda content: signing.sign(content, request.signing),
        pages=verify_pdf.page_count,
        file_of=lambda revision, name: archive.read(str(month), revision).get(name, b""),
        policy_texts=policy_texts.texts_in_force(request.policy_dir, month.days()[-1]),
        reason=request.reason,
        built_at=request.built_at,
    )
    if built.decision.kind is DecisionKind.IDENTICAL:
        files = archive.read(str(month), built.decision.revision)
        return report_build.Built(built.decision, built.manifest, files)
    return built


def _data(
    store: TableStore, month: Month, before: Month, manifest_before: Manifest | None, facts: ReportInputs
) -> tuple[DataDigest, ...]:
    """What the report was built from. Rows of masked departments are digested, not counted.

    The published rows, taken off a count of all, would give the masked ones back.
    """
    mask = build_mask(facts.aggregates, facts.coverage, facts.oversight, facts.suppress_below)
    masked = mask.departments
    queues = masked | {one.department for one in facts.oversight if mask.small(one.queued) or mask.small(one.reviewed)}
    days = [day.isoformat() for day in month.days()]
    months = [one.first_day.isoformat() for one in (before, month)]
    wanted = [(key, days) for key in DAILY_TABLES] + [(MONTHLY_TABLE, months)]
    out = []
    for key, partitions in wanted:
        names, rows, sha = store.digest(key, partitions, masked)
        out.append(DataDigest(asset="/".join(key), partitions=names, rows=rows, sha256=sha))
    for key, partitions, uncounted in ((COUNTERFACTUAL_TABLE, _weeks(month), ()), (REVIEWS_TABLE, days, queues)):
        names, rows, sha = store.digest(key, partitions, uncounted)
        if names:
            out.append(DataDigest(asset="/".join(key), partitions=names, rows=rows, sha256=sha))
    if alerts := _alerts(store, month):
        listed = hashlib.sha256("\n".join(map(repr, alerts)).encode()).hexdigest()
        out.append(DataDigest(asset="alerting/episodes", partitions=(str(month),), rows=len(alerts), sha256=listed))
    if store.has(MONTHLY_TABLE, months[0]):
        # What the comparison takes from the archived month before is an input like any other.
        taken = report_previous.facts_digest(manifest_before)
        known = int(manifest_before is not None)
        out.append(DataDigest(asset="audit/bias_report", partitions=(months[0],), rows=known, sha256=taken))
    return tuple(out)


def _alerts(store: TableStore, month: Month) -> tuple[AlertFacts, ...]:
    return Outbox(store.root.parent / "outbox").facts(month.start, month.end)


def _weeks(month: Month) -> list[str]:
    """The weeks (by their Monday) that begin in the month."""
    return [day.isoformat() for day in month.days() if day.weekday() == 0]


def _judge(request: MonthRequest, store: TableStore, policy: Policy) -> judge_report.MonthJudge:
    days = [day.isoformat() for day in request.month.days()]
    return judge_report.month_judge(store, request.home, days, lexical_judge.fingerprint(policy))


def _monthly(store: TableStore, month: Month) -> list[Aggregate]:
    partition = month.first_day.isoformat()
    return records(store.read(MONTHLY_TABLE, partition), Aggregate) if store.has(MONTHLY_TABLE, partition) else []


def _month_before(month: Month) -> Month:
    return Month(month.year - (month.number == 1), month.number - 1 or 12)


def _policy_facts(policy: Policy) -> report_previous.PolicyFacts:
    return report_previous.PolicyFacts(policy.digest, policy.file_digests)


def _facts(request: MonthRequest, store: TableStore, policy: Policy, cutoff: datetime) -> ReportInputs:
    month = request.month
    policy_before = _policy_before(request, month)
    monthly = records(store.read(MONTHLY_TABLE, month.first_day.isoformat()), Aggregate)
    foreign = {row.policy_digest for row in monthly} - {policy.digest}
    if foreign:
        raise StoreError(
            f"department/monthly : les mesures de {month} viennent d'une autre politique que celle du rapport, "
            f"à recalculer (compliance report build {month} --nights)"
        )
    tables, late = _month_tables(store, month, cutoff)
    limits, legal = policy.thresholds, policy.legal
    coverage, oversight = report_facts.coverage(tables, policy), report_facts.oversight(tables, policy)
    mask = build_mask(monthly, coverage, oversight, limits.suppress_below)
    days = [day.isoformat() for day in month.days()]
    reasons = departments.reasons(
        (table for key in DAILY_TABLES[2:6] for _, table in store.read_many(key, days)),
        frozenset(tables.traces["trace_id"]),
        lambda department, metric: not mask.hides(department, metric),
    )
    return ReportInputs(
        month=str(month),
        revision=1,
        window_start=month.start,
        window_end=month.end,
        scheduled_at=cutoff,
        aggregates=tuple(monthly),
        departments=report_facts.departments(policy),
        judge=_judge(request, store, policy).shown,
        sycophancy=judge_report.sycophancy_facts(store, [day.isoformat() for day in month.days()]),
        extraction=report_facts.extraction(tables, late, reasons),
        policy_digest=policy.digest,
        input_digest="",
        code_version=code_identity(),
        namespace=request.namespace,
        title=policy.report.wording.title,
        system_name=policy.report.system_name,
        organisation=policy.report.organisation,
        recipient=policy.report.recipient,
        declaration_fr=policy.report.wording.declaration,
        retention_fr=policy.report.wording.retention.replace("{years}", str(limits.retention_years)),
        synthetic=request.synthetic,
        signed=request.signing is not None,
        daily=report_facts.daily_points(tables, CHARTED),
        coverage=coverage,
        oversight=oversight,
        alerts=_alerts(store, month),
        alerts_evaluated=Outbox(store.root.parent / "outbox").path.exists(),
        counterfactual=_counterfactual(store, month),
        grounds=report_facts.grounds(policy, frozenset(bias.coverage_by_ground(rulebook.of(policy)))),
        missing_nights=report_facts.missing_nights(tables),
        changes=_policy_changes(request, policy, policy_before),
        policy_compared=policy_before is not None,
        actions=report_facts.actions(policy),
        legal_rules=report_facts.legal_rules(policy),
        legal_as_of=legal.as_of,
        classification=report_facts.classification(policy),
        grounds_source_fr=report_facts.grounds_source(policy),
        sampling_fr=report_facts.sampling(policy),
        limits_fr=(*policy.report.wording.limits, FEEDBACK_LIMIT),
        min_n=limits.min_n,
        max_unscored_rate=limits.max_unscored_rate,
        suppress_below=limits.suppress_below,
        citation_threshold=limits.citation_compliance,
        flagged_weight=limits.flagged_weight,
    )


def _counterfactual(store: TableStore, month: Month) -> CounterfactualFacts | None:
    found = [table for _, table in store.read_many(COUNTERFACTUAL_TABLE, _weeks(month)) if len(table)]
    return to_facts(pd.concat(found, ignore_index=True)) if found else None


def _month_tables(store: TableStore, month: Month, cutoff: datetime) -> tuple[report_facts.MonthTables, int]:
    days = [day.isoformat() for day in month.days()]
    traces, scores, counts, late = [], [], {}, 0
    for day, table in store.read_many(("langfuse", "traces"), days):
        kept = departments.before(table, cutoff)
        late += len(table) - len(kept)
        counts[date.fromisoformat(day)] = {**table.attrs["counts"], "traces": len(table)}
        traces.append(kept.assign(answered=kept["answer"].notna()).drop(columns=["question", "answer", "contexts"]))
    scores = [departments.before(table, cutoff) for _, table in store.read_many(("langfuse", "scores"), days)]
    citations = [table for _, table in store.read_many(("evaluation", "citations"), days)]
    daily = [row for _, table in store.read_many(("department", "daily"), days) for row in records(table, Aggregate)]
    together = _concat(traces, frame([], Trace).assign(answered=pd.Series([], dtype=bool)))
    judged = _concat(citations, frame([], Judgement))
    return report_facts.MonthTables(
        traces=together,
        scores=_concat(scores, frame([], Score)),
        citations=judged[judged["trace_id"].isin(together["trace_id"])],
        daily=daily,
        read_counts=counts,
        missing=[day for day in month.days() if day not in counts],
        reviews=_reviews(store, days, cutoff),
    ), late


def _reviews(store: TableStore, days: list[str], cutoff: datetime) -> list[ReviewItem]:
    found = (row for _, table in store.read_many(REVIEWS_TABLE, days) for row in records(table, ReviewItem))
    return review_queue.latest(found, cutoff)


def _concat(parts: list[pd.DataFrame], empty: pd.DataFrame) -> pd.DataFrame:
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else empty


def _policy_changes(request: MonthRequest, policy: Policy, before: Policy | None) -> tuple[ChangeFacts, ...]:
    if before is None:
        return ()
    last, last_before = report_facts.month_policies(request.month)
    steps = policy_texts.versions_between(request.policy_dir, last_before, last)
    return policy_changes(steps, {one.id: one.label for one in (*policy.departments, policy.unattributed)})


def _policy_before(request: MonthRequest, month: Month) -> Policy | None:
    last_day_before = date.fromordinal(month.first_day.toordinal() - 1)
    try:
        return load_policy(request.policy_dir, at=last_day_before)
    except PolicyError:
        # no policy was in force yet: there is nothing to compare with
        return None


def _utc(moment: datetime) -> str:
    return moment.isoformat().removesuffix("+00:00") + "Z"
