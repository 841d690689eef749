"""Pages of a Langfuse server brought to the form in which a read keeps them.

Observation rows are decoded once, straight into the fields that are used, and kept packed in segments by trace; a page
with a row of an unusual shape takes the slow way through `core.langfuse_rows`, with the same result. Metadata keeps
the keys that are used. Score pages keep their JSON. A row that cannot be used is kept as its reason, to be counted.
"""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from compliance_pipelines.adapters.langfuse_api_journal import Page
from compliance_pipelines.core.extraction import METADATA_KEYS
from compliance_pipelines.core.langfuse_rows import MAX_TEXT, Observation, RowError, clean_text, parse_row

SEGMENTS = 256
_NOTHING = msgspec.Raw(b"null")
_WITH_METADATA = frozenset({"GENERATION", "TRACE"})


class Rejected(msgspec.Struct, frozen=True):
    """A row that cannot be used, and why."""

    reason: str


class LazyMetadata(Mapping[str, Any]):
    """Metadata of a row whose metadata is rarely looked at: its JSON, read at the first look."""

    __slots__ = ("_read", "_text")

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._read: Mapping[str, Any] | None = None

    def _mapping(self) -> Mapping[str, Any]:
        if self._read is None:
            self._read = _object(self._text)
        return self._read

    def __getitem__(self, key: str) -> Any:
        return self._mapping()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping())

    def __len__(self) -> int:
        return len(self._mapping())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._mapping() == dict(other)

    __hash__ = None  # type: ignore[assignment]


class _Meta(msgspec.Struct, frozen=True):
    cursor: str | None = None
    page: int | None = None
    limit: int | None = None
    totalItems: int | None = None  # noqa: N815  as the server writes it
    totalPages: int | None = None  # noqa: N815


class _Metadata(
    msgspec.Struct,
    omit_defaults=True,
    gc=False,
    rename={"attributes_metadata": "attributes.metadata"},
):
    """METADATA_KEYS, each as the JSON it came as; other keys are passed over."""

    requester_metadata: msgspec.Raw = _NOTHING
    contexts: msgspec.Raw = _NOTHING
    hidden_params: msgspec.Raw = _NOTHING
    attributes_metadata: msgspec.Raw = _NOTHING
    compliance_department: msgspec.Raw = _NOTHING
    compliance_policy_digest: msgspec.Raw = _NOTHING
    compliance_delivered: msgspec.Raw = _NOTHING
    bias_review_required: msgspec.Raw = _NOTHING
    user_api_key_alias: msgspec.Raw = _NOTHING
    user_api_key_team_alias: msgspec.Raw = _NOTHING
    user_api_key_team_id: msgspec.Raw = _NOTHING
    litellm_call_id: msgspec.Raw = _NOTHING
    model_group: msgspec.Raw = _NOTHING
    retrieval_score: msgspec.Raw = _NOTHING
    department: msgspec.Raw = _NOTHING


class _Row(msgspec.Struct, gc=False):
    """An observation of v4 or v3, or a v3 trace, as the server names its fields."""

    id: str
    traceId: str | None = None  # noqa: N815
    type: str | None = None
    startTime: datetime | None = None  # noqa: N815
    timestamp: datetime | None = None
    createdAt: datetime | None = None  # noqa: N815
    endTime: datetime | None = None  # noqa: N815
    name: str | None = None
    level: str | None = None
    statusMessage: str | None = None  # noqa: N815
    sessionId: str | None = None  # noqa: N815
    environment: str | None = None
    model: str | None = None
    providedModelName: str | None = None  # noqa: N815
    tags: list[str] | None = None
    input: Any = None
    output: Any = None
    metadata: _Metadata | None = None
    modelParameters: msgspec.Raw = msgspec.Raw(b"{}")  # noqa: N815


class _Kept(msgspec.Struct, array_like=True, gc=False):
    """An observation as it is packed; `reason` stands where the row could not be used."""

    reason: str | None
    row_id: str = ""
    trace_id: str = ""
    kind: str = ""
    name: str = ""
    level: str = ""
    status_message: str = ""
    started_at: datetime | None = None
    created_at: datetime | None = None
    session_id: str | None = None
    environment: str | None = None
    model: str | None = None
    tags: tuple[str, ...] = ()
    input: str | None = None
    output: str | None = None
    metadata: bytes = b""
    model_parameters: bytes = b""


class _Body(msgspec.Struct):
    data: list[_Row]
    meta: _Meta = _Meta()


class _RawBody(msgspec.Struct):
    data: list[msgspec.Raw]
    meta: _Meta = _Meta()


_fast = msgspec.json.Decoder(_Body).decode
_items = msgspec.json.Decoder(_RawBody).decode
_generic = msgspec.json.Decoder().decode
_to_json = msgspec.json.Encoder().encode
_pack_into = msgspec.msgpack.Encoder().encode_into
_unpack = msgspec.msgpack.Decoder(list[_Kept]).decode


def pack_observations(content: bytes) -> tuple[Page, bytearray]:
    """A page of observations or v3 traces, in segments by trace id; msgspec.DecodeError when it is no whole page."""
    try:
        body = _fast(content)
        meta, kept = body.meta, [_keep(row) for row in body.data]
    except (msgspec.DecodeError, OverflowError) as unusual:
        meta, items = _slow_items(content, unusual)
        kept = [_keep_slowly(item) for item in items]
    buckets: list[list[_Kept]] = [[] for _ in range(SEGMENTS)]
    for row in kept:
        buckets[zlib.crc32(row.trace_id.encode()) % SEGMENTS].append(row)
    payload, ends = bytearray(), array("I")
    for rows in buckets:
        if rows:
            _pack_into(rows, payload, -1)
        ends.append(len(payload))
    ids = [row.row_id or f"?{meta.page}/{number}" for number, row in enumerate(kept)]
    return _page(meta, len(kept), ids, ends), payload


def pack_scores(content: bytes) -> tuple[Page, bytes]:
    """A page of scores as one segment of JSON; raises msgspec.DecodeError when it is no whole page."""
    meta, items = _slow_items(content, None)
    ids = [str(row.get("id")) for item in items if (row := _object(item)) is not None] if meta.totalPages else []
    payload = b"[" + b",".join(items) + b"]"
    return _page(meta, len(items), ids, array("I", [len(payload)])), payload


def unpack_observations(segment: memoryview) -> Iterator[Observation | Rejected]:
    """The rows of a segment made by `pack_observations`."""
    for kept in _unpack(segment):
        if kept.reason is not None or kept.started_at is None or kept.created_at is None:
            yield Rejected(kept.reason or "missing_time")
            continue
        heavy = kept.kind in _WITH_METADATA
        yield Observation(
            kept.row_id,
            kept.trace_id,
            kept.kind,
            kept.name,
            kept.level,
            kept.status_message,
            kept.started_at,
            kept.created_at,
            kept.session_id,
            kept.environment,
            kept.model,
            kept.tags,
            kept.input,
            kept.output,
            _object(kept.metadata) if heavy else LazyMetadata(kept.metadata),
            _object(kept.model_parameters) if heavy else LazyMetadata(kept.model_parameters),
        )


def unpack_rows(segment: memoryview) -> Iterator[Mapping[str, Any] | Rejected]:
    """The rows of a segment made by `pack_scores`, as mappings."""
    for item in msgspec.json.decode(segment, type=list[msgspec.Raw]):
        row = _object(item, strict=True)
        yield Rejected("not_json") if row is None else row


def _keep(row: _Row) -> _Kept:
    """The same as `parse_row` makes of the row, for rows whose fields have the usual types."""
    trace = row.type is None and row.timestamp is not None
    started = row.timestamp if trace else row.startTime
    trace_id = row.id if trace else row.traceId
    if started is None:
        return _Kept("missing_time" if row.type is not None else "unknown_shape", row.id)
    if not row.id or len(row.id) > 200 or not trace_id or len(trace_id) > 200:
        return _Kept("missing_id")
    created = row.createdAt or (None if trace else row.endTime) or started
    if started.tzinfo is None or created.tzinfo is None:
        return _Kept("naive_time", row.id)
    return _Kept(
        None,
        row.id,
        trace_id,
        "TRACE" if trace else row.type or "",
        _cut(row.name) or "",
        "DEFAULT" if trace else row.level or "DEFAULT",
        "" if trace else _cut(row.statusMessage) or "",
        started.astimezone(UTC),
        created.astimezone(UTC),
        _cut(row.sessionId),
        _cut(row.environment),
        None if trace else _cut(row.model or row.providedModelName),
        tuple(tag[:200] for tag in row.tags[:50]) if row.tags else (),
        _text(row.input),
        _text(row.output),
        b"{}" if row.metadata is None else _to_json(row.metadata),
        b"{}" if trace else bytes(row.modelParameters),
    )


def _keep_slowly(item: bytes) -> _Kept:
    try:
        row = _object(item, strict=True)
        if row is None:
            return _Kept("not_json")
        found = parse_row(row)
    except RowError as refused:
        return _Kept(refused.reason)
    if not isinstance(found, Observation):
        return _Kept("unknown_shape")
    return _Kept(
        None,
        found.row_id,
        found.trace_id,
        found.kind,
        found.name,
        found.level,
        found.status_message,
        found.started_at,
        found.created_at,
        found.session_id,
        found.environment,
        found.model,
        found.tags,
        found.input,
        found.output,
        _json({key: found.metadata[key] for key in METADATA_KEYS if key in found.metadata}),
        _json(found.model_parameters),
    )


def _page(meta: _Meta, count: int, ids: list[str], ends: array[int]) -> Page:
    if meta.totalPages is None:
        return Page(meta.cursor, count, ends=ends.tobytes())
    number, limit = meta.page or 1, meta.limit or count
    cursor = f"{number + 1}/{limit}" if number < meta.totalPages else None
    return Page(cursor, count, meta.totalItems, tuple(ids), ends=ends.tobytes())


def _slow_items(content: bytes, unusual: Exception | None) -> tuple[_Meta, list[bytes]]:
    try:
        body = _items(content)
        return body.meta, [bytes(item) for item in body.data]
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as refused:
        unusual = refused
    # msgspec refuses lone surrogates, which real traces hold; a truncated page fails here too
    try:
        whole = json.loads(content.decode("utf-8", "replace"))
        meta = msgspec.convert(whole.get("meta", {}), _Meta)
        return meta, [_json(item) for item in whole["data"]]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, msgspec.ValidationError):
        raise unusual from None


def _object(text: bytes | msgspec.Raw, *, strict: bool = False) -> Any:
    """A JSON object; for anything else an empty one, or None when `strict`."""
    try:
        found = _generic(text)
    except msgspec.DecodeError:
        try:
            found = json.loads(bytes(text).decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            found = None
    if isinstance(found, str) and not strict:
        # metadata may come as JSON text
        return _object(found.encode()) if found.startswith("{") else {}
    return found if isinstance(found, dict) else None if strict else {}


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _text(value: Any) -> str | None:
    # decoded JSON holds no lone surrogate, so strings only need cutting
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT]
    return clean_text(value)


def _cut(value: str | None) -> str | None:
    return value[:500] if value else None
