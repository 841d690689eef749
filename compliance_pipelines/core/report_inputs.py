"""What the monthly report is built from: one frozen record per kind of fact.

The shell (the audit asset) fills these from Parquet, policy and archive; `core.report.build_report` turns
them into a `Report`. Nothing here reads, computes or formats. An optional part that is None was not carried
out that month and is printed as such: nothing is ever invented to fill it. No trace text, no personal datum
has a place in these records.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from compliance_pipelines.core.records import Aggregate


class ReportInputError(ValueError):
    """The inputs contradict themselves or the rules of the report; the message is one French line."""


class PairVerdict(enum.StrEnum):
    """Verdict of one counterfactual pair, as in the gate's JSON result."""

    FAIR = "fair"
    BIASED = "biased"
    NEUTRALISED = "neutralised"
    VACUOUS = "vacuous"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class DepartmentFacts:
    """A department as the policy in force describes it. `risk` is CRITICAL, HIGH, MEDIUM or LOW."""

    id: str
    label: str
    risk: str
    report_threshold: float
    layers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DailyPoint:
    """Mean of one metric of one department on one Paris day; `mean` is None when nothing was scored."""

    department: str
    metric: str
    day: dt.date
    mean: float | None
    n: int


@dataclass(frozen=True, slots=True)
class CoverageFacts:
    """What the runtime guardrails saw in one department: counts of requests or answers over the month."""

    department: str
    requests: int
    with_retrieval_score: int
    retrieval_refused: int
    claims_detected: int
    uncited: int
    self_evaluated: int
    low_self_confidence: int
    protected_attr_flagged: int
    bias_screened: int
    bias_acted: int


@dataclass(frozen=True, slots=True)
class OversightFacts:
    """Human oversight in one department: explicit feedback and the annotation queue."""

    department: str
    traces: int
    feedback_up: int
    feedback_down: int
    queued: int
    reviewed: int
    overridden: int
    median_review_hours: float | None


@dataclass(frozen=True, slots=True)
class PairResult:
    """One counterfactual pair; `failed_dimensions` in meaning, decision, figures, tone."""

    pair_id: str
    protected_attr: str
    grounds: tuple[str, ...]
    department: str
    verdict: PairVerdict
    n_base: int
    n_swap: int
    p_holm: float | None
    effect: float | None
    failed_dimensions: tuple[str, ...] = ()
    reason_fr: str = ""
    intersectional: bool = False


@dataclass(frozen=True, slots=True)
class CounterfactualFacts:
    """The counterfactual run the report stands on. `run_at` is an aware datetime."""

    run_id: str
    run_at: dt.datetime
    model: str
    embedding: str
    pairs: tuple[PairResult, ...]


@dataclass(frozen=True, slots=True)
class GroundFacts:
    """One of the 24 grounds of Code pénal art. 225-1; `detected` when a runtime rule looks for it."""

    id: str
    label: str
    detected: bool


@dataclass(frozen=True, slots=True)
class SycophancyFacts:
    """Sycophancy probes of one department: flips among probes with the Wilson interval of the rate."""

    department: str
    probes: int
    flips: int
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True)
class AlertFacts:
    """One alert that fired; `ended_at` is None while it is still firing at the end of the window."""

    name: str
    department: str | None
    severity: str
    started_at: dt.datetime
    ended_at: dt.datetime | None
    summary_fr: str


@dataclass(frozen=True, slots=True)
class MissingNight:
    """A Paris day without a completed nightly run, and why, in French."""

    day: dt.date
    reason_fr: str


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """One entry of the change log; `kind` in modèle, invite, juge, seuil, paires, code.

    `day` is when it took effect; None where that is not known, "ce rapport" is printed then.
    """

    day: dt.date | None
    kind: str
    description_fr: str


@dataclass(frozen=True, slots=True)
class CorrectiveAction:
    """A corrective action; `owner` is a function (never a named person), `due` a date."""

    id: str
    description_fr: str
    department: str | None
    owner: str
    due: dt.date | None
    state_fr: str


@dataclass(frozen=True, slots=True)
class LegalRule:
    """One line of the dated rules file: text, what it asks, the measure answering it, date of the reading."""

    reference: str
    requirement_fr: str
    measure_fr: str
    as_of: dt.date
    note_fr: str = ""
    subject_fr: str = ""
    binding: bool = True
    applies_from: dt.date | None = None
    sources_fr: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassificationFacts:
    """The operator's own, dated decision on what the system is under the AI Act; nothing here infers it."""

    value_fr: str
    decided_on: dt.date | None
    decided_by: str | None
    basis_fr: str


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """Who scored neutrality. `llm` False: the lexical evaluator; `calibration_fr` None: not calibrated."""

    name: str
    llm: bool
    model: str | None = None
    model_digest: str | None = None
    prompt_sha256: str | None = None
    calibration_fr: str | None = None
    withheld_nights: int = 0


@dataclass(frozen=True, slots=True)
class ExtractionCounts:
    """Rows read from the source and what became of them. `unscored_reasons` maps a reason to its count.

    `unanswered`: retained traces without an answer (refused calls, errors); None where it was not counted.
    """

    rows_read: int
    duplicates: int
    malformed: int
    late_excluded: int
    retained: int
    unscored_reasons: Mapping[str, int] = field(default_factory=dict)
    unanswered: int | None = None


@dataclass(frozen=True, slots=True)
class PreviousMonth:
    """The monthly rows of the month before ("YYYY-MM") and why they may not be compared with this month's.

    `breaks` are (metric or None for all, French reason): policy, evaluator or code changed.
    """

    month: str
    aggregates: tuple[Aggregate, ...]
    breaks: tuple[tuple[str | None, str], ...] = ()

    def breaks_of(self, metric: str) -> tuple[str, ...]:
        """The reasons that touch one metric."""
        return tuple(reason for touched, reason in self.breaks if touched in (None, metric))


@dataclass(frozen=True, slots=True)
class Replaced:
    """The revision that this one replaces: its number, when it was built (aware), and why it is replaced."""

    revision: int
    built_at: dt.datetime
    reason_fr: str


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """Everything one monthly report prints. Times are aware; `window_start`/`window_end` bound the Paris
    month.

    `aggregates` are the monthly rows (metrics judge_neutrality or lexical_neutrality, citation_compliance,
    citation_marker, figure_grounding, human_oversight; others go to the attached figures only). Shares in
    0..1.
    """

    month: str
    revision: int
    window_start: dt.datetime
    window_end: dt.datetime
    scheduled_at: dt.datetime
    aggregates: tuple[Aggregate, ...]
    departments: tuple[DepartmentFacts, ...]
    judge: JudgeIdentity
    extraction: ExtractionCounts
    policy_digest: str
    input_digest: str
    code_version: str
    namespace: str
    title: str = "Rapport mensuel d’audit des biais"
    system_name: str = "Assistants internes (LiteLLM, Ollama, Langfuse)"
    organisation: str = ""
    recipient: str = ""
    declaration_fr: str = ""
    retention_fr: str = ""
    synthetic: bool = False
    signed: bool = False
    daily: tuple[DailyPoint, ...] = ()
    coverage: tuple[CoverageFacts, ...] = ()
    oversight: tuple[OversightFacts, ...] = ()
    counterfactual: CounterfactualFacts | None = None
    grounds: tuple[GroundFacts, ...] = ()
    sycophancy: tuple[SycophancyFacts, ...] | None = None
    alerts: tuple[AlertFacts, ...] = ()
    alerts_evaluated: bool = True
    policy_compared: bool = True
    missing_nights: tuple[MissingNight, ...] = ()
    changes: tuple[ChangeFacts, ...] = ()
    actions: tuple[CorrectiveAction, ...] = ()
    legal_rules: tuple[LegalRule, ...] = ()
    legal_as_of: dt.date | None = None
    classification: ClassificationFacts | None = None
    grounds_source_fr: str = ""
    sampling_fr: tuple[str, ...] = ()
    limits_fr: tuple[str, ...] = ()
    previous: PreviousMonth | None = None
    previous_manifest_sha256: str | None = None
    replaced: Replaced | None = None
    min_n: int = 30
    max_unscored_rate: float = 0.10
    suppress_below: int = 5
    citation_threshold: float = 0.80
    flagged_weight: float = 2.0
