"""OTLP spans, as the Langfuse SDK and LiteLLM send them, turned into stored observation rows.

Follows what a real 4.16 server made of recorded spans: JSON text in metadata attributes becomes its value, trace
metadata lands in the row's metadata, times are cut to milliseconds, an event has no latency. Protobuf or OTLP JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from compliance_pipelines_tests.standins.langfuse_rows import instant, observation

_META = ("langfuse.observation.metadata.", "langfuse.trace.metadata.")
_TYPES = {"generation", "span", "event", "agent", "tool", "chain", "retriever", "evaluator", "embedding", "guardrail"}


def read_request(body: bytes, content_type: str) -> ExportTraceServiceRequest:
    """Decode an export request; raises ValueError when it is neither protobuf nor OTLP JSON."""
    request = ExportTraceServiceRequest()
    if "json" in content_type:
        return ParseDict(_hex_ids(json.loads(body)), request, ignore_unknown_fields=True)
    try:
        request.ParseFromString(body)
    except Exception as damaged:
        raise ValueError("not an OTLP protobuf") from damaged
    return request


def rows(request: ExportTraceServiceRequest, now: datetime) -> Iterator[dict[str, Any]]:
    """One stored row a span; `now` becomes createdAt."""
    for resource in request.resource_spans:
        resource_attributes = {item.key: _value(item.value) for item in resource.resource.attributes}
        for scoped in resource.scope_spans:
            tail = {f"scope.attributes.{item.key}": _value(item.value) for item in scoped.scope.attributes}
            if scoped.scope.version:
                tail["scope.version"] = scoped.scope.version
            tail["scope.name"] = scoped.scope.name
            tail |= {f"resourceAttributes.{key}": value for key, value in resource_attributes.items()}
            for span in scoped.spans:
                yield _row(span, resource_attributes, tail, now)


def _row(span: Any, resource: Mapping[str, Any], tail: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    given = {item.key: _value(item.value) for item in span.attributes}
    start, end = _time(span.start_time_unix_nano), _time(span.end_time_unix_nano)
    kind = str(given.get("langfuse.observation.type", "span")).lower()
    kind = kind if kind in _TYPES else "span"
    model = given.get("langfuse.observation.model.name") or given.get("gen_ai.request.model") or ""
    if "langfuse.observation.type" not in given and any(key.startswith("gen_ai.") for key in given):
        kind = "generation"
    metadata = {
        key.removeprefix(prefix): _json(value)
        for prefix in _META
        for key, value in given.items()
        if key.startswith(prefix)
    }
    if tail.get("scope.name") != "langfuse-sdk":
        metadata |= {f"attributes.{key}": _json(value) for key, value in given.items() if not key.startswith(_META)}
    parent = span.parent_span_id.hex() or None
    root = parent is None or bool(given.get("langfuse.internal.is_app_root") or given.get("langfuse.internal.as_root"))
    usage = _json(given.get("langfuse.observation.usage_details", "{}"))
    cost = _json(given.get("langfuse.observation.cost_details", "{}"))
    completion = _completion(given.get("langfuse.observation.completion_start_time"))
    return observation(
        id=span.span_id.hex(),
        traceId=span.trace_id.hex(),
        startTime=instant(start),
        endTime=instant(end),
        parentObservationId=parent,
        type=kind.upper(),
        name=span.name,
        level=given.get("langfuse.observation.level") or ("ERROR" if span.status.code == 2 else "DEFAULT"),
        statusMessage=given.get("langfuse.observation.status_message") or span.status.message or "",
        version=given.get("langfuse.version") or given.get("langfuse.observation.version") or "",
        environment=given.get("langfuse.environment") or resource.get("langfuse.environment") or "default",
        completionStartTime=completion and instant(completion),
        createdAt=instant(now),
        updatedAt=instant(now),
        input=_text(given.get("langfuse.observation.input", given.get("langfuse.trace.input"))),
        output=_text(given.get("langfuse.observation.output", given.get("langfuse.trace.output"))),
        metadata=metadata | dict(tail),
        model=str(model),
        modelParameters=_parameters(given.get("langfuse.observation.model.parameters")),
        usageDetails=usage,
        inputUsage=usage.get("input", 0),
        outputUsage=usage.get("output", 0),
        totalUsage=usage.get("total", usage.get("input", 0) + usage.get("output", 0)),
        costDetails=cost,
        totalCost=cost.get("total", 0),
        latency=None if kind == "event" else round((end - start).total_seconds(), 3),
        timeToFirstToken=completion and round((completion - start).total_seconds(), 3),
        userId=str(given.get("user.id") or given.get("langfuse.user.id") or ""),
        sessionId=str(given.get("session.id") or given.get("langfuse.session.id") or ""),
        isRootObservation=root,
        traceName=given.get("langfuse.trace.name") or (span.name if root else None),
        release=str(given.get("langfuse.release") or ""),
        tags=list(given.get("langfuse.trace.tags") or []),
        public=bool(given.get("langfuse.trace.public", False)),
    )


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {item.key: _value(item.value) for item in value.kvlist_value.values}
    if kind == "bytes_value":
        return value.bytes_value.hex()
    return getattr(value, kind) if kind else None


def _json(value: Any) -> Any:
    """JSON text as its value; plain words stay words. The server is JavaScript: 0.0 comes back as 0."""
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value, parse_float=lambda text: int(float(text)) if float(text).is_integer() else float(text))
    except (ValueError, OverflowError):
        return value
    return value if read is None or isinstance(read, str) else read


def _parameters(text: Any) -> dict[str, Any]:
    read = _json(text) if text else {}
    if not isinstance(read, dict):
        return {}
    return {key: str(value).lower() if isinstance(value, bool) else value for key, value in read.items()}


def _completion(text: Any) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(str(text).strip('"')).astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _time(nanoseconds: int) -> datetime:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1_000_000 * 1000)


def _hex_ids(value: Any) -> Any:
    """OTLP JSON writes ids in hex, protobuf's own JSON in base64."""
    import base64

    if isinstance(value, list):
        return [_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode()
        if key in {"traceId", "spanId", "parentSpanId"} and isinstance(item, str)
        else _hex_ids(item)
        for key, item in value.items()
    }
