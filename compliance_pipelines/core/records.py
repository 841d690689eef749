"""The records that travel between the stages of the pipeline.

A trace is read (`Trace`), its scores are read (`Score`), it is judged (`Judgement`), judgements are gathered by
department and period (`Aggregate`). The column names are those of docs/interfaces.md; nothing here reads, writes or
computes. Times are aware datetimes in UTC; `None` means "not known", never zero.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime


class Status(enum.StrEnum):
    """What became of one metric on one trace. Only `SCORED` carries a value."""

    SCORED = "scored"
    UNSCORED = "unscored"
    NOT_APPLICABLE = "not_applicable"
    NOT_SAMPLED = "not_sampled"
    WITHHELD = "withheld"


class Verdict(enum.StrEnum):
    """The French verdict printed for a department, a metric and a period."""

    CONFORME = "Conforme"
    NON_CONFORME = "Non conforme"
    INDICATIF = "Indicatif"
    INSUFFISANT = "Données insuffisantes"
    SANS_OBJET = "Sans objet"


class DepartmentSource(enum.StrEnum):
    """Where the department of a trace was read; `DECLARED` is the caller's own word."""

    STAMP = "stamp"
    KEY_ALIAS = "key_alias"
    TEAM_ALIAS = "team_alias"
    TEAM_ID = "team_id"
    TAG = "tag"
    DECLARED = "declared"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Trace:
    """One exchange with an assistant, as it was delivered to its user."""

    trace_id: str
    observed_at: datetime
    created_at: datetime
    session_hash: str | None
    department: str
    department_source: str
    model: str | None
    alias: str | None
    question: str | None
    answer: str | None
    contexts: tuple[str, ...]
    retrieval_score: float | None
    flagged: bool
    delivered: str | None
    environment: str | None
    source: str
    row_digest: str


@dataclass(frozen=True, slots=True)
class Score:
    """One Langfuse score, joined to its trace. `value` is None for categorical and text scores."""

    score_id: str
    trace_id: str | None
    name: str
    value: float | None
    string_value: str | None
    source: str
    observed_at: datetime
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Judgement:
    """One metric on one trace. `value` is a finite number exactly when `status` is `scored`."""

    trace_id: str
    department: str
    observed_at: datetime
    metric: str
    value: float | None
    status: Status
    reason: str | None
    evaluator: str
    weight: float


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One metric of one department over one period: the row from which a printed figure is read.

    `mean`, `weighted_mean`, `p5`, `min`, `share_below`, `ci_low`, `ci_high` are None when nothing was scored.
    `ci_*` is a 95 % interval; `margin_established` is False when it contains the threshold.
    """

    department: str
    period_start: datetime
    period_end: datetime
    metric: str
    n_traces: int
    n_eligible: int
    n_sampled: int
    n_scored: int
    n_unscored: int
    mean: float | None
    weighted_mean: float | None
    p5: float | None
    min: float | None
    share_below: float | None
    ci_low: float | None
    ci_high: float | None
    threshold: float | None
    verdict: Verdict
    margin_established: bool | None
    policy_digest: str
