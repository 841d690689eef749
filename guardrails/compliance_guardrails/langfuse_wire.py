"""Events and scores as Langfuse reads them: OTLP/JSON spans and ingestion envelopes, as plain values.

Spans claim no root: an event of the Langfuse SDK does, and then takes over the name of its trace. Ids follow from trace
and name, so that sending again changes nothing. Sending is `transport`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .events import Event, Score


@dataclass(frozen=True, slots=True)
class Report:
    """One event or score of a trace (32 hex digits), at a time in nanoseconds since 1970."""

    trace_id: str
    at_ns: int
    content: Event | Score


def span_of(report: Report, event: Event, environment: str | None) -> dict[str, Any]:
    """An event as an OTLP span. Its id follows from trace and name, so that a repeated sending adds nothing."""
    attributes: dict[str, str] = {
        "langfuse.observation.type": "event",
        "langfuse.observation.level": event.level.value,
        **{
            f"langfuse.observation.metadata.{key}": value if isinstance(value, str) else json.dumps(value)
            for key, value in event.metadata.items()
            if value is not None
        },
    }
    if environment:
        attributes["langfuse.environment"] = environment
    return {
        "traceId": report.trace_id,
        "spanId": _digest(report.trace_id, event.name, 16),
        # A parent that need not exist keeps the event from standing as a root of the trace.
        "parentSpanId": _digest(report.trace_id, "parent", 16),
        "name": event.name.value,
        "kind": 1,
        "startTimeUnixNano": str(report.at_ns),
        "endTimeUnixNano": str(report.at_ns),
        # Text only: Langfuse reads JSON out of it, whereas OTLP's JSON integers come in two spellings.
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }


def otlp_of(spans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """An OTLP/JSON export request."""
    scope = {"name": "langfuse-sdk"}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": scope, "spans": spans}]}]}


def envelope_of(report: Report, score: Score, environment: str | None) -> dict[str, Any]:
    """A score as an envelope of the ingestion API. Its id follows from trace and name: sent twice, it stands once."""
    seconds, rest = divmod(report.at_ns, 1_000_000_000)
    instant = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 1_000_000:03d}Z"
    body: dict[str, Any] = {
        "id": _digest(report.trace_id, score.name, 32),
        "traceId": report.trace_id,
        "name": score.name.value,
        "value": score.value,
        "dataType": "NUMERIC",
        "metadata": {"policy_digest": score.policy_digest, "department": score.department},
    }
    if environment:
        body["environment"] = environment
    envelope = _digest(report.trace_id, f"{score.name}/{report.at_ns}", 32)
    return {"id": envelope, "type": "score-create", "timestamp": instant, "body": body}


def _digest(trace_id: str, name: str, digits: int) -> str:
    return hashlib.sha256(f"{trace_id}/{name}".encode()).hexdigest()[:digits]
