"""From the month's tables and its policy to the inputs of the report. Pure: tables and policies in,
`ReportInputs` out.

Every count printed is counted here from rows; what was not carried out that month stays None, and the report
says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import pandas as pd
from compliance_guardrails.policy import Policy
from compliance_guardrails.policy.references import PendingChange

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core import review_queue
from compliance_pipelines.core.periods import Month, paris_day
from compliance_pipelines.core.records import Aggregate, Status
from compliance_pipelines.core.report_inputs import (
    ClassificationFacts,
    CorrectiveAction,
    CoverageFacts,
    DailyPoint,
    DepartmentFacts,
    ExtractionCounts,
    GroundFacts,
    LegalRule,
    MissingNight,
    OversightFacts,
)
from compliance_pipelines.core.review_queue import ReviewItem

QUEUE_NAMES = ("uncited-specific-claim", "protected-attr-comparison-detected", "review_outcome")
_STRATA = {"department": "direction", "day": "jour"}
SCORED = Status.SCORED.value


@dataclass(frozen=True, slots=True)
class MonthTables:
    """The month's tables by day (trace text columns are not needed). `missing` are days that never ran.

    reviews: the items of the review queues as they stood at the data cut-off, empty where no queue can be read.
    """

    traces: pd.DataFrame
    scores: pd.DataFrame
    citations: pd.DataFrame
    daily: Sequence[Aggregate]
    read_counts: Mapping[date, Mapping[str, int]]
    missing: Sequence[date]
    reviews: Sequence[ReviewItem] = ()


def departments(policy: Policy) -> tuple[DepartmentFacts, ...]:
    """Every department of the policy, the unattributed one last."""
    return tuple(
        DepartmentFacts(
            id=d.id,
            label=d.label,
            risk=d.risk.value,
            report_threshold=d.report_threshold,
            layers=tuple(name for name, on in d.layers.model_dump().items() if on),
        )
        for d in (*policy.departments, policy.unattributed)
    )


def coverage(tables: MonthTables, policy: Policy) -> tuple[CoverageFacts, ...]:
    """What the runtime guardrails saw, by department; events are counted once per trace and name.

    A guardrail saw a request when the hook stamped it and the policy switches the guardrail on for its
    department.
    """
    traces = tables.traces
    events = _events(tables)
    checked = tables.citations[
        (tables.citations["metric"] == "citation_compliance") & (tables.citations["status"] == SCORED)
    ]
    out = []
    for department in (*policy.departments, policy.unattributed):
        mine = traces[traces["department"] == department.id]
        claims = checked[checked["department"] == department.id]
        stamped = mine.loc[mine["answered"] & (mine["department_source"] == "stamp"), "trace_id"]
        seen_claims = int(claims["trace_id"].isin(stamped).sum())
        out.append(
            CoverageFacts(
                department=department.id,
                requests=len(mine),
                with_retrieval_score=int(mine["retrieval_score"].notna().sum()),
                retrieval_refused=events[department.id, "retrieval_gate_blocked"],
                claims_detected=len(claims),
                uncited=int((claims["value"] == 0).sum()),
                self_evaluated=seen_claims if department.layers.self_evaluation else 0,
                low_self_confidence=events[department.id, "low_self_confidence"],
                protected_attr_flagged=int(mine["flagged"].sum()),
                bias_screened=len(stamped),
                bias_acted=events[department.id, "bias-screen-finding"],
            )
        )
    return tuple(out)


def oversight(tables: MonthTables, policy: Policy) -> tuple[OversightFacts, ...]:
    """Explicit feedback and reviews by department.

    Queued are the traces that a guardrail event or a review puts there, and those that the queues hold where
    they can be read; the median time to review needs the queues.
    """
    department_of = dict(zip(tables.traces["trace_id"], tables.traces["department"], strict=True))
    counts: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, str]] = set()
    outcomes: list[tuple[str, str]] = []
    columns = (tables.scores[name] for name in ("trace_id", "name", "value", "string_value"))
    for trace_id, name, value, text in zip(*columns, strict=True):
        department, kind = department_of.get(trace_id), _oversight_kind(name, value, text)
        if department is None or kind is None:
            continue
        if name == "review_outcome":
            outcomes.append((trace_id, kind))
        elif (trace_id, kind) not in seen:
            seen.add((trace_id, kind))
            counts[department, kind] += 1
    reviews = review_queue.measure(tables.reviews, _queued(tables), outcomes, department_of)
    answered = tables.traces[tables.traces["answered"]]["department"].value_counts()
    return tuple(
        OversightFacts(
            department=d.id,
            traces=int(answered.get(d.id, 0)),
            feedback_up=counts[d.id, "up"],
            feedback_down=counts[d.id, "down"],
            queued=(found := reviews.get(d.id, review_queue.Reviews())).queued,
            reviewed=found.reviewed,
            overridden=found.overridden,
            median_review_hours=found.median_hours,
        )
        for d in (*policy.departments, policy.unattributed)
    )


def daily_points(tables: MonthTables, metrics: frozenset[str]) -> tuple[DailyPoint, ...]:
    """The daily means of the charted metrics."""
    return tuple(
        DailyPoint(a.department, a.metric, paris_day(a.period_start), a.mean, a.n_scored)
        for a in tables.daily
        if a.metric in metrics
    )


def missing_nights(tables: MonthTables) -> tuple[MissingNight, ...]:
    """Days that never ran, and days that ran without a single exchange."""
    ran_empty = [day for day, counts in sorted(tables.read_counts.items()) if not counts.get("traces")]
    return tuple(
        sorted(
            [MissingNight(day, "exécution absente : aucune donnée lue pour ce jour") for day in tables.missing]
            + [MissingNight(day, "exécution faite, aucun échange enregistré ce jour") for day in ran_empty],
            key=lambda night: night.day,
        )
    )


def extraction(tables: MonthTables, late: int, reasons: Mapping[str, int]) -> ExtractionCounts:
    """Rows read in the month and what became of them."""
    totals: Counter[str] = Counter()
    for counts in tables.read_counts.values():
        totals.update(counts)
    return ExtractionCounts(
        rows_read=totals["rows"],
        duplicates=totals["duplicates"],
        malformed=sum(n for name, n in totals.items() if name.startswith("rejected_")),
        late_excluded=late,
        retained=len(tables.traces),
        unanswered=int((~tables.traces["answered"].astype(bool)).sum()),
        unscored_reasons=dict(reasons),
    )


def grounds(policy: Policy, detected: frozenset[str]) -> tuple[GroundFacts, ...]:
    """The grounds of article 225-1; `detected` are those that a runtime rule looks for."""
    return tuple(GroundFacts(g.id, g.label, g.id in detected) for g in policy.grounds.grounds)


def legal_rules(policy: Policy) -> tuple[LegalRule, ...]:
    """The dated legal rules, each with the date of its reading."""
    return tuple(
        LegalRule(
            reference=f"{rule.instrument}, {rule.article}",
            requirement_fr=rule.obligation,
            measure_fr=rule.answered_by,
            as_of=rule.as_of,
            note_fr=""
            if rule.pending is None
            else f"Report au {fmt.date_fr(rule.pending.applies_from)} : {rule.pending.status}.",
            subject_fr=rule.subject,
            binding=rule.binding,
            applies_from=rule.applies_from,
            sources_fr=(rule.source, *_pending_source(rule.pending)),
        )
        for rule in policy.legal.rules
    )


def _pending_source(pending: PendingChange | None) -> tuple[str, ...]:
    return () if pending is None else (f"{pending.source} (lu le {fmt.date_fr(pending.as_of)})",)


def classification(policy: Policy) -> ClassificationFacts:
    """What the operator decided that the system is under the AI Act."""
    decided = policy.legal.classification
    return ClassificationFacts(decided.value.value, decided.decided_on, decided.decided_by, decided.basis)


def grounds_source(policy: Policy) -> str:
    """The text that lists the grounds and the day it was read."""
    return f"{policy.grounds.source}, lu le {fmt.date_fr(policy.grounds.as_of)}"


def actions(policy: Policy) -> tuple[CorrectiveAction, ...]:
    """Corrective actions as they stood at the month's end."""
    return tuple(
        CorrectiveAction(
            id=action.id,
            description_fr=f"{action.finding} — {action.action}",
            department=action.departments[0] if len(action.departments) == 1 else None,
            owner=action.owner,
            due=action.due_on,
            state_fr="ouverte" if action.closed_on is None else f"close le {fmt.date_fr(action.closed_on)}",
        )
        for action in policy.corrective_actions
    )


def sampling(policy: Policy) -> tuple[str, ...]:
    """One line per sampling rate."""
    rates: dict[float, list[str]] = {}
    for department in policy.departments:
        rates.setdefault(department.sampling_rate, []).append(department.label)
    return (
        *(
            f"{rate:.0%} des échanges : {', '.join(labels)}".replace("%", " %")
            for rate, labels in sorted(rates.items(), reverse=True)
        ),
        (
            f"Strates : {' × '.join(_STRATA[name] for name in policy.sampling.strata)} ; au moins "
            f"{policy.sampling.min_per_stratum} échanges par strate, quand elle en compte autant"
        ),
    )


def month_policies(month: Month) -> tuple[date, date]:
    """The days whose policies judge this month and the one before it: their last days."""
    last = month.days()[-1]
    return last, date(month.year, month.number, 1) - (last - last.replace(day=last.day - 1))


def _events(tables: MonthTables) -> Counter[tuple[str, str]]:
    department_of = dict(zip(tables.traces["trace_id"], tables.traces["department"], strict=True))
    found = tables.scores[tables.scores["source"] == "EVENT"][["trace_id", "name"]].drop_duplicates()
    return Counter(
        (department_of[trace], name) for trace, name in found.itertuples(index=False) if trace in department_of
    )


def _queued(tables: MonthTables) -> set[str]:
    scores = tables.scores
    return set(scores.loc[scores["name"].isin(QUEUE_NAMES), "trace_id"].dropna())


def _oversight_kind(name: str, value: float, text: object) -> str | None:
    if name == "human_feedback" and value in (1.0, -1.0):
        return "up" if value > 0 else "down"
    return str(text) if name == "review_outcome" and text in ("confirmed", "overridden") else None


def late_rows(counts: Iterable[int]) -> int:
    """Sum of the rows left out by the data cut-off."""
    return sum(counts)
