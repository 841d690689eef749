"""Rows as a Langfuse 4.16 server returns them: one stored form, rendered as v4 and as legacy (v3) rows.

The stored form is the full v4 observation (`v2/observations` with every field group) and the full `v3/scores` row; the
legacy shapes are derived from them. Key order and empty values follow recordings of a real server. No HTTP here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

PROJECT = "projstandin"
METADATA_CUT = 200

GROUPS: dict[str, tuple[str, ...]] = {
    "core": ("id", "traceId", "startTime", "endTime", "projectId", "parentObservationId", "type"),
    "basic": ("name", "level", "statusMessage", "version", "environment"),
    "time": ("completionStartTime", "createdAt", "updatedAt"),
    "io": ("input", "output"),
    "metadata": ("metadata",),
    "model": ("model", "internalModelId", "modelParameters"),
    "usage": (
        "usageDetails", "inputUsage", "outputUsage", "totalUsage", "costDetails", "inputCost", "outputCost",
        "totalCost", "usagePricingTierId", "usagePricingTierName",
    ),
    "prompt": ("promptId", "promptName", "promptVersion"),
    "metrics": ("latency", "timeToFirstToken"),
    "trace_context": ("traceName", "release", "tags"),
}  # fmt: skip
_BASIC_TAIL = ("userId", "sessionId", "isRootObservation", "bookmarked", "public")
_ORDER = (
    *(field for group in ("core", "basic", "time", "io", "metadata", "model") for field in GROUPS[group]),
    *GROUPS["usage"][:-2], *GROUPS["prompt"], *GROUPS["usage"][-2:], *GROUPS["metrics"],
    "userId", "sessionId", "isRootObservation", "traceName", "release", "tags", "bookmarked", "public",
    "modelId", "inputPrice", "outputPrice", "totalPrice",
)  # fmt: skip
SCORE_GROUPS: dict[str, tuple[str, ...]] = {
    "core": (),
    "details": ("comment", "configId", "metadata"),
    "subject": ("subject",),
    "annotation": ("authorUserId", "queueId"),
}
# the server lists the groups in one order and writes them in another
_SCORE_ORDER = ("details", "annotation", "subject")
_SCORE_CORE = ("id", "projectId", "name", "source", "timestamp", "environment", "createdAt", "updatedAt")


def instant(moment: datetime) -> str:
    """ISO text with milliseconds and Z, cut (never rounded) as the server does."""
    text = moment.astimezone(UTC)
    return f"{text:%Y-%m-%dT%H:%M:%S}.{text.microsecond // 1000:03d}Z"


def observation(**given: Any) -> dict[str, Any]:
    """A full v4 observation row; `given` overrides defaults. `id`, `traceId` and `startTime` are needed."""
    start = given["startTime"]
    row: dict[str, Any] = {
        "endTime": start, "projectId": PROJECT, "parentObservationId": None, "type": "SPAN", "name": "",
        "level": "DEFAULT", "statusMessage": "", "version": "", "environment": "default",
        "completionStartTime": None, "createdAt": start, "updatedAt": start, "input": None, "output": None,
        "metadata": {}, "model": "", "internalModelId": "", "modelParameters": {}, "usageDetails": {},
        "inputUsage": 0, "outputUsage": 0, "totalUsage": 0, "costDetails": {}, "inputCost": None, "outputCost": None,
        "totalCost": 0, "promptId": "", "promptName": "", "promptVersion": None, "usagePricingTierId": None,
        "usagePricingTierName": None, "latency": None, "timeToFirstToken": None, "userId": "", "sessionId": "",
        "isRootObservation": given.get("parentObservationId") is None, "traceName": None, "release": "", "tags": [],
        "bookmarked": False, "public": False, "modelId": None, "inputPrice": None, "outputPrice": None,
        "totalPrice": None,
    }  # fmt: skip
    return row | given


def v4_observation(
    row: Mapping[str, Any], groups: Iterable[str], expand: Iterable[str], *, cut: bool | None = None
) -> dict[str, Any]:
    """The row with the asked groups. Metadata is cut at 200 characters when `io` is not asked, or always with `cut`."""
    asked = set(groups)
    fields = {field for group in asked | {"core"} for field in GROUPS[group]}
    if "basic" in asked:
        fields.update(_BASIC_TAIL)
    if "model" in asked:
        fields.update(("modelId", "inputPrice", "outputPrice", "totalPrice"))
    picked = {field: row[field] for field in _ORDER if field in fields}
    if "metadata" in asked and (cut or (cut is None and "io" not in asked)):
        kept = set(expand)
        picked["metadata"] = {key: value if key in kept else _cut(value) for key, value in row["metadata"].items()}
    return picked


def v3_score(row: Mapping[str, Any], groups: Iterable[str]) -> dict[str, Any]:
    """The v3 score row with the asked groups."""
    fields = (*_SCORE_CORE, *(field for group in _SCORE_ORDER if group in groups for field in SCORE_GROUPS[group]))
    return {field: row[field] for field in fields} | {"dataType": row["dataType"], "value": row["value"]}


def legacy_observation(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row of `/api/public/observations`: parsed input and output, nested metadata, no session, no tags."""
    usage = dict(
        zip(("input", "output", "total"), (row["inputUsage"], row["outputUsage"], row["totalUsage"]), strict=True)
    )
    fields = (
        "id",
        "traceId",
        "startTime",
        "endTime",
        "projectId",
        "parentObservationId",
        "type",
        "environment",
        "name",
        "level",
    )
    legacy = {field: row[field] for field in fields}
    if row["type"] == "EVENT":
        legacy["endTime"] = None
    return legacy | {
        "statusMessage": row["statusMessage"] or None, "version": row["version"] or None,
        "createdAt": row["createdAt"], "updatedAt": row["updatedAt"], "input": parsed(row["input"]),
        "output": parsed(row["output"]), "metadata": nested(row["metadata"]), "model": row["model"] or None,
        "modelParameters": row["modelParameters"] if row["model"] else None,
        "completionStartTime": row["completionStartTime"], "promptId": row["promptId"] or None,
        "promptName": row["promptName"] or None, "promptVersion": row["promptVersion"], "latency": row["latency"],
        "timeToFirstToken": row["timeToFirstToken"], "usageDetails": row["usageDetails"],
        "costDetails": row["costDetails"], "usagePricingTierId": row["usagePricingTierId"],
        "usagePricingTierName": row["usagePricingTierName"], "modelId": row["modelId"],
        "inputPrice": None, "outputPrice": None, "totalPrice": None, "calculatedInputCost": row["inputCost"],
        "calculatedOutputCost": row["outputCost"], "calculatedTotalCost": row["totalCost"], "unit": "TOKENS",
        "promptTokens": usage["input"], "completionTokens": usage["output"], "totalTokens": usage["total"],
        "usage": {"unit": "TOKENS"} | usage,
    }  # fmt: skip


def legacy_trace(rows: Sequence[Mapping[str, Any]], score_ids: list[str], groups: set[str]) -> dict[str, Any]:
    """The row of `/api/public/traces` for one trace id; `rows` are its observations in order of time."""
    root = next((row for row in rows if row["isRootObservation"]), rows[0])
    full = not groups
    io = full or "io" in groups
    tags = sorted({tag for row in rows for tag in row["tags"]})
    return {
        "id": root["traceId"], "projectId": PROJECT, "name": root["traceName"] or root["name"],
        "timestamp": rows[0]["startTime"], "environment": root["environment"], "tags": tags, "bookmarked": False,
        "release": root["release"] or None, "version": root["version"] or None,
        "userId": _any(rows, "userId"), "sessionId": _any(rows, "sessionId"), "public": False,
        "input": parsed(root["input"]) if io else None, "output": parsed(root["output"]) if io else None,
        "metadata": nested(root["metadata"]) if io else {},
        # second precision, as recorded
        "createdAt": min(row["createdAt"] for row in rows)[:19] + ".000Z",
        "updatedAt": max(row["updatedAt"] for row in rows),
        "observations": [row["id"] for row in rows] if full or "observations" in groups else [],
        "scores": score_ids if full or "scores" in groups else [],
        "totalCost": sum(row["totalCost"] or 0 for row in rows) if full or "metrics" in groups else -1,
        "latency": (rows[0]["latency"] or 0) if full or "metrics" in groups else -1,
        "htmlPath": f"/project/{PROJECT}/traces/{root['traceId']}", "externalId": None,
    }  # fmt: skip


def legacy_score(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row of `/api/public/v2/scores`: numbers in `value`, words in `stringValue`."""
    subject = row["subject"]
    kind = subject["kind"]
    legacy: dict[str, Any] = {
        "id": row["id"], "projectId": row["projectId"], "environment": row["environment"], "name": row["name"],
        "value": None, "source": row["source"], "authorUserId": row["authorUserId"], "comment": row["comment"],
        "metadata": row["metadata"], "configId": row["configId"], "queueId": row["queueId"],
        "executionTraceId": None, "createdAt": row["createdAt"], "updatedAt": row["updatedAt"],
        "timestamp": row["timestamp"],
        "traceId": subject["id"] if kind == "trace" else subject.get("traceId"),
        "observationId": subject["id"] if kind == "observation" else None,
        "sessionId": subject["id"] if kind == "session" else None, "datasetRunId": None, "stringValue": None,
        "dataType": row["dataType"], "trace": None,
    }  # fmt: skip
    value, kind = row["value"], row["dataType"]
    if kind == "NUMERIC":
        legacy["value"] = value
    elif kind == "BOOLEAN":
        legacy |= {"value": int(value), "stringValue": str(bool(value))}
    elif kind == "CATEGORICAL":
        legacy |= {"value": 0, "stringValue": value}
    else:
        del legacy["value"]
        legacy["stringValue"] = value
    return legacy


def parsed(text: Any) -> Any:
    """JSON text as its value, anything else unchanged."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def nested(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """v4's flat `scope.*` and `resourceAttributes.*` keys as the nested objects of legacy rows."""
    flat: dict[str, Any] = {}
    resource: dict[str, Any] = {}
    scope: dict[str, Any] = {"attributes": {}}
    for key, value in metadata.items():
        if key.startswith("resourceAttributes."):
            resource[key.removeprefix("resourceAttributes.")] = value
        elif key.startswith("scope.attributes."):
            scope["attributes"][key.removeprefix("scope.attributes.")] = value
        elif key.startswith("scope."):
            scope[key.removeprefix("scope.")] = value
        else:
            flat[key] = value
    return flat | {"resourceAttributes": resource, "scope": scope}


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:METADATA_CUT] if len(text) > METADATA_CUT else value


def _any(rows: Iterable[Mapping[str, Any]], field: str) -> Any:
    return next((row[field] for row in rows if row[field]), None)
