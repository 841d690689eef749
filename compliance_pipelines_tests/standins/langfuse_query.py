"""How the Langfuse stand-in reads a query: limits, pages, cursors, windows and filters, with the server's error bodies.

Limits and messages follow the OpenAPI document of 4.16.0 and recordings. Nothing here knows a path.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from compliance_pipelines_tests.standins.langfuse_rows import instant
from compliance_pipelines_tests.standins.langfuse_store import Row

_FIRST, _LAST = "0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"
Query = dict[str, str]
Answer = tuple[int, Any]


class ApiError(Exception):
    """An error answer."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status)
        self.status, self.body = status, body


def bad(field: str, code: str, message: str, **more: Any) -> ApiError:
    return ApiError(
        400, {"message": "Invalid request data", "error": [more | {"code": code, "path": [field], "message": message}]}
    )


def page_limit(query: Query, default: int, most: int) -> int:
    text = query.get("limit", str(default))
    try:
        number = int(text)
    except ValueError:
        raise bad(
            "limit", "invalid_type", "Invalid input: expected number, received NaN", expected="number", received="NaN"
        ) from None
    if number < 1:
        raise bad(
            "limit", "too_small", "Too small: expected number to be >=1", origin="number", minimum=1, inclusive=True
        )
    if number > most:
        message = f"Too big: expected number to be <={most}"
        raise bad("limit", "too_big", message, origin="number", maximum=most, inclusive=True)
    return number


def pages(query: Query, found: list[Any], render: Callable[[Any], Row]) -> Answer:
    limit, page = page_limit(query, 50, 100), max(1, int(query.get("page", "1")))
    data = [render(item) for item in found[(page - 1) * limit : page * limit]]
    meta = {"page": page, "limit": limit, "totalItems": len(found), "totalPages": math.ceil(len(found) / limit)}
    return 200, {"data": data, "meta": meta}


def window(query: Mapping[str, Any], low: str, high: str) -> tuple[str, str]:
    def bound(name: str, default: str) -> str:
        text = query.get(name)
        return instant(datetime.fromisoformat(text).astimezone(UTC)) if text else default

    return bound(low, _FIRST), bound(high, _LAST)


def cursor(**content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content, separators=(",", ":")).encode()).decode()


def read_cursor(query: Query, names: tuple[str, ...]) -> Any:
    text = query.get("cursor")
    if not text:
        return None
    try:
        content = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return tuple(str(content[name]) for name in names)
    except (ValueError, KeyError, TypeError):
        raise ApiError(400, {"message": "Invalid cursor format", "error": "InvalidRequestError"}) from None


def observation_filter(query: Query) -> Callable[[Row], bool]:
    wanted: dict[str, Any] = {
        field: query[field]
        for field in ("type", "traceId", "name", "level", "sessionId", "environment")
        if query.get(field)
    }
    if "isRootObservation" in query:
        wanted["isRootObservation"] = query["isRootObservation"] == "true"
    return lambda row: all(row[field] == value for field, value in wanted.items())


def score_filter(query: Query) -> Callable[[Row], bool]:
    lists = {
        field: set(query[field].split(","))
        for field in ("id", "name", "source", "queueId", "dataType")
        if query.get(field)
    }
    traces = set(query["traceId"].split(",")) if query.get("traceId") else None
    return lambda row: (
        all(row[field] in allowed for field, allowed in lists.items()) and (traces is None or trace_of(row) in traces)
    )


def trace_of(row: Row) -> str | None:
    subject = row["subject"]
    return subject["id"] if subject["kind"] == "trace" else subject.get("traceId")
