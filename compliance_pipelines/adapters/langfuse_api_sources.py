"""What to ask a Langfuse server for, by generation of its API, and how to take its pages apart.

v4 servers answer `v2/observations` and `v3/scores` by cursor; v3 servers answer `observations`, `traces` and
`v2/scores` by page number. Rows are not looked into here: a page keeps them as the bytes that came.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from compliance_pipelines.adapters.langfuse_api_journal import Page
from compliance_pipelines.core.extraction import Window
from compliance_pipelines.core.langfuse_rows import RowError

# values that may be long: without their names here a server cuts them at 200 characters
_EXPANDED = (
    "requester_metadata", "contexts", "hidden_params", "attributes.metadata", "compliance_department",
    "compliance_policy_digest", "compliance_delivered", "bias_review_required", "user_api_key_alias",
    "user_api_key_team_alias", "user_api_key_team_id", "litellm_call_id", "model_group", "retrieval_score",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """One listing endpoint. `low` and `high` name its window parameters; `numbered` pages are asked for by number."""

    name: str
    path: str
    low: str
    high: str
    limit: int
    numbered: bool = False
    params: Mapping[str, str] = field(default_factory=dict)

    def query(self, window: Window, cursor: str | None, limit: int) -> dict[str, str]:
        """The parameters of one page; a numbered cursor is "page/limit"."""
        query = {**self.params, self.low: moment(window.start), self.high: moment(window.end), "limit": str(limit)}
        if not self.numbered:
            return query if cursor is None else query | {"cursor": cursor}
        page, _, asked = (cursor or f"1/{limit}").partition("/")
        return query | {"page": page, "limit": asked}


V4_OBSERVATIONS = Source(
    "v4-observations",
    "/api/public/v2/observations",
    "fromStartTime",
    "toStartTime",
    1000,
    params={
        "fields": "core,basic,time,io,metadata,model,trace_context",
        "expandMetadata": ",".join(_EXPANDED),
    },
)
V4_EVENTS = Source(
    "v4-events",
    "/api/public/v2/observations",
    "fromStartTime",
    "toStartTime",
    1000,
    params={"fields": "core,basic,time", "type": "EVENT"},
)
V4_SCORES = Source(
    "v4-scores", "/api/public/v3/scores", "fromTimestamp", "toTimestamp", 100, params={"fields": "core,subject"}
)
V3_OBSERVATIONS = Source(
    "v3-observations", "/api/public/observations", "fromStartTime", "toStartTime", 100, numbered=True
)
V3_EVENTS = Source(
    "v3-events",
    "/api/public/observations",
    "fromStartTime",
    "toStartTime",
    100,
    numbered=True,
    params={"type": "EVENT"},
)
V3_TRACES = Source(
    "v3-traces",
    "/api/public/traces",
    "fromTimestamp",
    "toTimestamp",
    100,
    numbered=True,
    params={"fields": "core,io"},
)
V3_SCORES = Source(
    "v3-scores",
    "/api/public/v2/scores",
    "fromTimestamp",
    "toTimestamp",
    100,
    numbered=True,
    params={"fields": "score"},
)


@dataclass(frozen=True, slots=True)
class Generation:
    """The endpoints a server answers: what traces are read from, what scores are read from."""

    name: str
    traces: tuple[Source, ...]
    scores: tuple[Source, ...]


class _Meta(msgspec.Struct, frozen=True):
    cursor: str | None = None
    page: int | None = None
    limit: int | None = None
    totalItems: int | None = None  # noqa: N815  as the server writes it
    totalPages: int | None = None  # noqa: N815


class _Body(msgspec.Struct, frozen=True):
    data: msgspec.Raw
    meta: _Meta


class _Head(msgspec.Struct, frozen=True):
    id: str | None = None
    traceId: str | None = None  # noqa: N815


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_heads = msgspec.json.Decoder(list[_Head]).decode
_decode_row = msgspec.json.Decoder().decode


def read_page(content: bytes) -> tuple[Page, bytes]:
    """A page's bookkeeping and its rows as a JSON array; raises msgspec.DecodeError when it is not a whole page."""
    try:
        body = _decode_body(content)
        rows, meta = bytes(body.data), body.meta
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as refused:
        # msgspec refuses lone surrogates, which real traces hold; a truncated page fails here too
        rows, meta = _lenient_page(content, refused)
    count = len(_decode_items(rows))
    if meta.totalPages is None:
        return Page(meta.cursor, count), rows
    number, limit = meta.page or 1, meta.limit or count
    cursor = f"{number + 1}/{limit}" if number < meta.totalPages else None
    return Page(cursor, count, meta.totalItems), rows


def _lenient_page(content: bytes, refused: msgspec.DecodeError) -> tuple[bytes, _Meta]:
    try:
        whole = json.loads(content.decode("utf-8", "replace"))
        text = json.dumps(whole["data"], ensure_ascii=False)
        meta = msgspec.convert(whole.get("meta", {}), _Meta)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise refused from None
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode(), meta


def split_rows(rows: bytes) -> list[tuple[str | None, msgspec.Raw]]:
    """Trace id (None where there is none) and bytes of each row of a page."""
    try:
        heads = _decode_heads(rows)
    except msgspec.DecodeError:
        heads = [_head(item) for item in _decode_items(rows)]
    # a v3 trace row has no traceId: its own id is the trace's
    return [(head.traceId or head.id, item) for head, item in zip(heads, _decode_items(rows), strict=True)]


def row_ids(rows: bytes) -> list[str | None]:
    """The ids of a page's rows."""
    try:
        return [head.id for head in _decode_heads(rows)]
    except msgspec.DecodeError:
        return [_head(item).id for item in _decode_items(rows)]


def read_row(raw: msgspec.Raw | bytes) -> Mapping[str, Any]:
    """A row as a mapping; raises RowError("not_json") when it is no JSON object."""
    try:
        row = _decode_row(raw)
    except msgspec.DecodeError:
        try:
            row = json.loads(bytes(raw).decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            row = None
    if not isinstance(row, dict):
        raise RowError("not_json")
    return row


def moment(instant: datetime) -> str:
    """An instant as the API reads it, to the millisecond."""
    text = instant.astimezone(UTC)
    return f"{text:%Y-%m-%dT%H:%M:%S}.{text.microsecond // 1000:03d}Z"


def _head(item: msgspec.Raw) -> _Head:
    try:
        row = read_row(item)
    except RowError:
        return _Head()
    identifier, trace_id = row.get("id"), row.get("traceId")
    return _Head(
        identifier if isinstance(identifier, str) else None,
        trace_id if isinstance(trace_id, str) else None,
    )
