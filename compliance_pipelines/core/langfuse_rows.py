"""Langfuse rows of every known shape, brought to one: API v4 and v3 pages, batch exports, blob storage exports.

A row is an observation, a trace (v3 only) or a score. Field names come in camelCase (API, batch) and snake_case (blob);
input, output and metadata come as JSON text or as objects. Zoneless times are accepted in Langfuse's own exports alone,
where they are UTC; anywhere else they are refused. Nothing here reads a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

MAX_TEXT = 2_000_000
MAX_DEPTH = 40
_NAIVE_EXPORT = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?", re.ASCII)


class RowError(ValueError):
    """A row that cannot be used; `reason` is a short code that is counted, never the row's text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Observation:
    """A Langfuse observation, or (kind "TRACE") a v3 trace row that stands for one."""

    row_id: str
    trace_id: str
    kind: str
    name: str
    level: str
    status_message: str
    started_at: datetime
    created_at: datetime
    session_id: str | None
    environment: str | None
    model: str | None
    tags: tuple[str, ...]
    input: str | None
    output: str | None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    model_parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A Langfuse score. `value` is None for categorical and text scores; `subject` is trace, observation or session."""

    score_id: str
    trace_id: str | None
    subject: str
    name: str
    value: float | None
    string_value: str | None
    source: str
    observed_at: datetime
    created_at: datetime
    updated_at: datetime


def parse_row(row: Mapping[str, Any]) -> Observation | ScoreRow:
    """Recognise the shape of `row` and normalise it; raises RowError with a reason code, and nothing else."""
    try:
        return _parsed(row)
    except RowError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # a field of a type or depth that no Langfuse writes
        raise RowError("unusable_field") from None


def _parsed(row: Mapping[str, Any]) -> Observation | ScoreRow:
    if "dataType" in row or "data_type" in row or ("subject" in row and "value" in row):
        return _score(row)
    if "type" in row and ("startTime" in row or "start_time" in row):
        return _observation(row)
    if "timestamp" in row and ("input" in row or "output" in row) and "type" not in row:
        return _trace(row)
    raise RowError("unknown_shape")


def known_columns(columns: list[str]) -> bool:
    """Whether a table with these columns can hold rows that `parse_row` recognises."""
    have = set(columns)
    observation = "type" in have and bool(have & {"startTime", "start_time"}) and bool(have & {"traceId", "trace_id"})
    score = bool(have & {"dataType", "data_type"}) and "name" in have
    trace = {"id", "timestamp", "input", "output"} <= have
    return observation or score or trace


def parse_time(value: Any, *, naive_is_utc: bool) -> datetime:
    """An aware UTC datetime from Langfuse's text; raises RowError("missing_time" | "naive_time" | "bad_time")."""
    if isinstance(value, datetime):
        moment = value
    else:
        if not value:
            raise RowError("missing_time")
        # batch CSV exports put the quotes of a JSON string into the cell
        text = str(value).strip('"')
        if not text or len(text) > 40:
            raise RowError("bad_time")
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise RowError("bad_time") from None
        naive_is_utc = naive_is_utc and _NAIVE_EXPORT.fullmatch(text) is not None
    if moment.tzinfo is None:
        if not naive_is_utc:
            raise RowError("naive_time")
        return _plausible(moment.replace(tzinfo=UTC))
    try:
        moment = moment.astimezone(UTC)
    except (OverflowError, ValueError):
        raise RowError("bad_time") from None
    return _plausible(moment)


def _plausible(moment: datetime) -> datetime:
    # calendar arithmetic at the ends of time overflows, and no assistant answered there
    if not 2000 <= moment.year <= 2200:
        raise RowError("bad_time")
    return moment


def clean_text(value: Any) -> str | None:
    """Text as it can be stored: lone surrogates become U+FFFD, objects their JSON, and it is cut at MAX_TEXT."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT]
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def as_mapping(value: Any) -> Mapping[str, Any]:
    """A JSON object given as text or as a mapping, without what lies deeper than MAX_DEPTH; anything else is empty.

    What is too deep goes alone: a caller's nesting must not take the guardrails' stamps beside it away.
    """
    if isinstance(value, Mapping):
        return value if _shallow(value) else _pruned(value, MAX_DEPTH)
    if isinstance(value, str) and value.startswith("{"):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return {}
        if isinstance(parsed, dict):
            return parsed if _shallow(parsed) else _pruned(parsed, MAX_DEPTH)
    return {}


def _pruned(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {key: _pruned(item, depth - 1) for key, item in value.items()} if depth else None
    if isinstance(value, list):
        return [_pruned(item, depth - 1) for item in value] if depth else None
    return value


def _shallow(value: object) -> bool:
    """Whether a structure is at most MAX_DEPTH deep; walked level by level, so that depth costs no stack."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return True
    return not any(isinstance(item, (dict, list)) for item in level)


def _first(row: Mapping[str, Any], *names: str) -> Any:
    for name in names:
        value = row.get(name)
        if value not in (None, ""):
            return value
    return None


def _identifier(row: Mapping[str, Any], *names: str) -> str:
    value = _first(row, *names)
    if not isinstance(value, str) or not value or len(value) > 200:
        raise RowError("missing_id")
    return value.encode("utf-8", "replace").decode()


def _short(value: Any) -> str | None:
    return None if value in (None, "") else (clean_text(value) or "")[:500]


def _tags(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.startswith("[") else [value] if value else []
        except ValueError:
            value = []
    return tuple(str(tag)[:200] for tag in value[:50]) if isinstance(value, list) else ()


def _observation(row: Mapping[str, Any]) -> Observation:
    own_export = "start_time" in row or "latencyMs" in row
    started = parse_time(_first(row, "startTime", "start_time"), naive_is_utc=own_export)
    ended = _first(row, "createdAt", "created_at", "endTime", "end_time")
    return Observation(
        row_id=_identifier(row, "id"),
        trace_id=_identifier(row, "traceId", "trace_id"),
        kind=str(row.get("type") or ""),
        name=_short(row.get("name")) or "",
        level=str(row.get("level") or "DEFAULT"),
        status_message=_short(_first(row, "statusMessage", "status_message")) or "",
        started_at=started,
        created_at=started if ended is None else parse_time(ended, naive_is_utc=own_export),
        session_id=_short(_first(row, "sessionId", "session_id")),
        environment=_short(row.get("environment")),
        model=_short(_first(row, "model", "providedModelName", "provided_model_name")),
        tags=_tags(_first(row, "tags", "traceTags")),
        input=clean_text(row.get("input")),
        output=clean_text(row.get("output")),
        metadata=as_mapping(row.get("metadata")),
        model_parameters=as_mapping(_first(row, "modelParameters", "model_parameters")),
    )


def _trace(row: Mapping[str, Any]) -> Observation:
    own_export = "project_id" in row or "bookmarked" in row
    at = parse_time(row.get("timestamp"), naive_is_utc=own_export)
    created = _first(row, "createdAt", "created_at")
    trace_id = _identifier(row, "id")
    return Observation(
        row_id=trace_id,
        trace_id=trace_id,
        kind="TRACE",
        name=_short(row.get("name")) or "",
        level="DEFAULT",
        status_message="",
        started_at=at,
        created_at=at if created is None else parse_time(created, naive_is_utc=own_export),
        session_id=_short(_first(row, "sessionId", "session_id")),
        environment=_short(row.get("environment")),
        model=None,
        tags=_tags(row.get("tags")),
        input=clean_text(row.get("input")),
        output=clean_text(row.get("output")),
        metadata=as_mapping(row.get("metadata")),
    )


def _score(row: Mapping[str, Any]) -> ScoreRow:
    own_export = "data_type" in row
    at = parse_time(row.get("timestamp"), naive_is_utc=own_export)
    created = _first(row, "createdAt", "created_at")
    created_at = at if created is None else parse_time(created, naive_is_utc=own_export)
    updated = _first(row, "updatedAt", "updated_at")
    kind, trace_id = _subject(row)
    data_type = str(_first(row, "dataType", "data_type") or "NUMERIC")
    value, text = _score_value(row, data_type)
    return ScoreRow(
        score_id=_identifier(row, "id"),
        trace_id=trace_id,
        subject=kind,
        name=_identifier(row, "name"),
        value=value,
        string_value=text,
        source=_short(row.get("source")) or "",
        observed_at=at,
        created_at=created_at,
        updated_at=created_at if updated is None else parse_time(updated, naive_is_utc=own_export),
    )


def _subject(row: Mapping[str, Any]) -> tuple[str, str | None]:
    subject = row.get("subject")
    if isinstance(subject, Mapping):
        kind = str(subject.get("kind"))
        return kind, _short(subject.get("id") if kind == "trace" else subject.get("traceId"))
    trace_id = _short(_first(row, "traceId", "trace_id"))
    if trace_id is None:
        return "session", None
    return ("observation" if _first(row, "observationId", "observation_id") else "trace"), trace_id


def _score_value(row: Mapping[str, Any], data_type: str) -> tuple[float | None, str | None]:
    value, text = row.get("value"), _first(row, "stringValue", "string_value")
    if data_type in {"CATEGORICAL", "TEXT", "CORRECTION"}:
        if text is None and isinstance(value, str):
            text = value
        return None, _short(text)
    if isinstance(value, bool):
        return float(value), _short(text)
    if value in (None, ""):
        return None, _short(text)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise RowError("bad_score_value") from None
    if not -1e300 < number < 1e300:
        raise RowError("bad_score_value")
    return number, _short(text)
