"""The Parquet tables between assets: columns, types and what must hold of them (docs/interfaces.md).

One pandera schema per asset; frames are built from records here and nowhere else, so that an empty day has the same
columns and types as a full one. Text columns exist in the trace table alone.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import pandera.pandas as pa

from compliance_pipelines.core.records import Aggregate, DepartmentSource, Judgement, Score, Status, Trace, Verdict
from compliance_pipelines.core.review_queue import GoldenEntry, QueuedTrace, ReviewItem
from compliance_pipelines.core.write_back import SentScore

TIME = pd.DatetimeTZDtype(unit="us", tz="UTC")
_TEXT, _NUMBER, _COUNT, _FLAG = "string", "float64", "int64", "bool"


def _text(*, nullable: bool = False, **checks: Any) -> pa.Column:
    return pa.Column(_TEXT, nullable=nullable, **checks)


def _unit(*, nullable: bool = True) -> pa.Column:
    return pa.Column(_NUMBER, pa.Check.in_range(0, 1), nullable=nullable)


def _time() -> pa.Column:
    return pa.Column(TIME)


def _count() -> pa.Column:
    return pa.Column(_COUNT, pa.Check.ge(0))


def _closed(members: type[enum.StrEnum]) -> pa.Column:
    return pa.Column(_TEXT, pa.Check.isin([m.value for m in members]))


TRACES = pa.DataFrameSchema(
    {
        "trace_id": _text(unique=True),
        "observed_at": _time(),
        "created_at": _time(),
        "session_hash": _text(nullable=True),
        "department": _text(),
        "department_source": _closed(DepartmentSource),
        "model": _text(nullable=True),
        "alias": _text(nullable=True),
        "question": _text(nullable=True),
        "answer": _text(nullable=True),
        "contexts": pa.Column("object"),
        "retrieval_score": _unit(),
        "flagged": pa.Column(_FLAG),
        "delivered": _text(nullable=True),
        "environment": _text(nullable=True),
        "source": _text(),
        "row_digest": _text(),
    },
    strict=True,
    name="langfuse/traces",
)

SCORES = pa.DataFrameSchema(
    {
        "score_id": _text(),
        "trace_id": _text(nullable=True),
        "name": _text(),
        "value": pa.Column(_NUMBER, nullable=True),
        "string_value": _text(nullable=True),
        "source": _text(),
        "observed_at": _time(),
        "created_at": _time(),
    },
    strict=True,
    name="langfuse/scores",
)

JUDGEMENTS = pa.DataFrameSchema(
    {
        "trace_id": _text(),
        "department": _text(),
        "observed_at": _time(),
        "metric": _text(),
        "value": _unit(),
        "status": _closed(Status),
        "reason": _text(nullable=True),
        "evaluator": _text(),
        "weight": pa.Column(_NUMBER, pa.Check.gt(0)),
    },
    checks=pa.Check(
        lambda frame: (frame["status"] == Status.SCORED.value) == frame["value"].notna(),
        error="a value exactly where the status is scored",
    ),
    unique=["trace_id", "metric"],
    strict=True,
    name="evaluation",
)

AGGREGATES = pa.DataFrameSchema(
    {
        "department": _text(),
        "period_start": _time(),
        "period_end": _time(),
        "metric": _text(),
        "n_traces": _count(),
        "n_eligible": _count(),
        "n_sampled": _count(),
        "n_scored": _count(),
        "n_unscored": _count(),
        "mean": _unit(),
        "weighted_mean": _unit(),
        "p5": _unit(),
        "min": _unit(),
        "share_below": _unit(),
        "ci_low": _unit(),
        "ci_high": _unit(),
        "threshold": _unit(),
        "verdict": _closed(Verdict),
        "margin_established": pa.Column("boolean", nullable=True),
        "policy_digest": _text(),
    },
    unique=["department", "metric", "period_start"],
    strict=True,
    name="department",
)

REVIEW_ITEMS = pa.DataFrameSchema(
    {
        "item_id": _text(unique=True),
        "department": _text(),
        "object_id": _text(),
        "object_type": _text(),
        "queued_at": _time(),
        "completed_at": pa.Column(TIME, nullable=True),
    },
    strict=True,
    name="langfuse/review_items",
)

QUEUED_TRACES = pa.DataFrameSchema(
    {"trace_id": _text(), "department": _text(), "reason": _text()},
    unique=["trace_id", "department"],
    strict=True,
    name="langfuse/queued_traces",
)

WRITTEN_SCORES = pa.DataFrameSchema(
    {
        "trace_id": _text(),
        "name": _text(),
        "value": _unit(nullable=False),
        "evaluator": _text(),
        "revision": _count(),
        "http_status": _count(),
    },
    unique=["trace_id", "name"],
    strict=True,
    name="langfuse/written_scores",
)

GOLDEN_ITEMS = pa.DataFrameSchema(
    {"item_id": _text(unique=True), "department": _text(), "trace_id": _text(nullable=True), "outcome": _text()},
    strict=True,
    name="langfuse/golden_items",
)

_RECORDS: dict[type, pa.DataFrameSchema] = {
    Trace: TRACES,
    Score: SCORES,
    Judgement: JUDGEMENTS,
    Aggregate: AGGREGATES,
    ReviewItem: REVIEW_ITEMS,
    QueuedTrace: QUEUED_TRACES,
    SentScore: WRITTEN_SCORES,
    GoldenEntry: GOLDEN_ITEMS,
}
_TIMES = frozenset({"observed_at", "created_at", "period_start", "period_end", "queued_at", "completed_at"})


def frame(records: Sequence[Any], kind: type) -> pd.DataFrame:
    """A validated frame of `records`, all of class `kind`; an empty sequence gives an empty frame of the same shape."""
    schema = _RECORDS[kind]
    columns = {name: [getattr(r, name) for r in records] for name in schema.columns}
    data = {name: _column(values, schema.columns[name]) for name, values in columns.items()}
    return schema.validate(pd.DataFrame(data, columns=list(columns)))


def records(table: pd.DataFrame, kind: type) -> list[Any]:
    """The rows of a frame as records of class `kind`, missing values as None."""
    columns = [_values(table[name], name) for name in _RECORDS[kind].columns]
    return [kind(*row) for row in zip(*columns, strict=True)]


def _column(values: list[Any], column: pa.Column) -> pd.Series | list[Any]:
    dtype = str(column.dtype)
    if dtype == "object":
        out = pd.Series([None] * len(values), dtype="object")
        for k, value in enumerate(values):
            out[k] = list(value)
        return out
    plain = [v.value if isinstance(v, enum.Enum) else v for v in values]
    return pd.Series(plain, dtype=TIME if dtype.startswith("datetime64") else dtype)  # type: ignore[arg-type]


def _values(column: pd.Series, name: str) -> Iterable[Any]:
    if name in _TIMES:
        return [None if moment is pd.NaT else moment.to_pydatetime() for moment in column]
    if name == "contexts":
        return [tuple(value) for value in column]
    if name == "verdict":
        return [Verdict(value) for value in column]
    if name == "status":
        return [Status(value) for value in column]
    return [None if missing else value for value, missing in zip(column.tolist(), column.isna(), strict=True)]
