"""Pages of a Langfuse server brought to the form in which a read keeps them.

Observation rows are decoded once, straight into the fields that are used, and kept packed in segments by trace; a page
with a row of an unusual shape takes the slow way through `core.langfuse_rows`, with the same result. Metadata keeps the
keys that are used, as the server wrote them: half of a row's cost was to decode what most rows are never asked for.
Score pages keep their JSON. A row that cannot be used is kept as its reason, to be counted.
"""

from __future__ import annotations

import itertools
import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from compliance_pipelines.adapters.langfuse_api_journal import Page
from compliance_pipelines.adapters.langfuse_api_objects import KeptObject, json_bytes, kept, kept_mapping
from compliance_pipelines.core.extraction import METADATA_KEYS, PARAMETER_KEYS
from compliance_pipelines.core.langfuse_rows import MAX_TEXT, Observation, RowError, clean_text, parse_row

SEGMENTS = 256
_ABSENT = msgspec.Raw()


class _Metadata(msgspec.Struct, omit_defaults=True, gc=False, rename={"attributes_metadata": "attributes.metadata"}):
    """METADATA_KEYS; other keys are passed over."""

    requester_metadata: msgspec.Raw = _ABSENT
    contexts: msgspec.Raw = _ABSENT
    hidden_params: msgspec.Raw = _ABSENT
    attributes_metadata: msgspec.Raw = _ABSENT
    compliance_department: msgspec.Raw = _ABSENT
    compliance_policy_digest: msgspec.Raw = _ABSENT
    compliance_delivered: msgspec.Raw = _ABSENT
    bias_review_required: msgspec.Raw = _ABSENT
    user_api_key_alias: msgspec.Raw = _ABSENT
    user_api_key_team_alias: msgspec.Raw = _ABSENT
    user_api_key_team_id: msgspec.Raw = _ABSENT
    litellm_call_id: msgspec.Raw = _ABSENT
    model_group: msgspec.Raw = _ABSENT
    retrieval_score: msgspec.Raw = _ABSENT
    department: msgspec.Raw = _ABSENT


class _Parameters(msgspec.Struct, omit_defaults=True, gc=False):
    """PARAMETER_KEYS; other keys are passed over."""

    system: msgspec.Raw = _ABSENT
    instructions: msgspec.Raw = _ABSENT


class _Row(msgspec.Struct, gc=False):
    """An observation of v4 or v3, or a v3 trace, as the server names its fields."""

    id: str
    traceId: str | None = None  # noqa: N815  as the server writes it
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
    modelParameters: _Parameters | None = None  # noqa: N815


class _Kept(msgspec.Struct, gc=False):
    """An observation as it is packed: the fields of `Observation`, which is what it is unpacked to."""

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
    tags: Sequence[str]
    input: str | None
    output: str | None
    metadata: bytes
    model_parameters: bytes


@dataclass(frozen=True, slots=True, eq=False)
class _Unpacked(Observation):
    """An observation whose objects are read when they are asked for."""

    metadata: KeptObject
    model_parameters: KeptObject


class _Refused(NamedTuple):
    """Why a row cannot be used, and the time it gives, so that it counts on its day."""

    reason: str
    at: datetime | None = None


class _Meta(msgspec.Struct, frozen=True):
    cursor: str | None = None
    page: int | None = None
    limit: int | None = None
    totalItems: int | None = None  # noqa: N815
    totalPages: int | None = None  # noqa: N815


class _Body(msgspec.Struct):
    data: list[_Row]
    meta: _Meta = _Meta()


class _RawBody(msgspec.Struct):
    data: list[msgspec.Raw]
    meta: _Meta = _Meta()


_fast = msgspec.json.Decoder(_Body).decode
_items = msgspec.json.Decoder(_RawBody).decode
_generic = msgspec.json.Decoder().decode
_pack_into = msgspec.msgpack.Encoder().encode_into
_EMPTY = KeptObject(b"")


def _kept_object(_: type, content: bytes) -> KeptObject:
    return KeptObject(content) if content else _EMPTY


_unpack = msgspec.msgpack.Decoder(list[_Unpacked], dec_hook=_kept_object).decode


def pack_observations(content: bytes) -> tuple[Page, bytearray]:
    """A page of observations or v3 traces, in segments by trace id; msgspec.DecodeError when it is no whole page."""
    try:
        body = _fast(content)
        return _packed(body.meta, [_keep(row) for row in body.data])
    except (msgspec.DecodeError, OverflowError, RecursionError) as unusual:
        meta, items = _slow_items(content, unusual)
        return _packed(meta, [_keep_slowly(item) for item in items])


def pack_scores(content: bytes) -> tuple[Page, bytes]:
    """A page of scores as one segment of JSON; raises msgspec.DecodeError when it is no whole page."""
    meta, items = _slow_items(content, None)
    rows, ids = [], list[str]()
    rejected: list[_Refused] = []
    for item in items:
        row = _object(item)
        if row is None:
            rejected.append(_Refused("not_json"))
        else:
            rows.append(item)
        ids.append(str((row or {}).get("id") or f"?{meta.page}/{len(ids)}"))
    payload = b"[" + b",".join(rows) + b"]"
    return _page(meta, len(ids), ids, rejected, array("I", [len(payload)])), payload


def unpack_observations(segment: memoryview) -> Sequence[Observation]:
    """The rows of a segment made by `pack_observations`."""
    return _unpack(segment)


def read_trace(content: bytes) -> Observation | None:
    """One v3 trace as `traces/{id}` gives it, None when it cannot be used; msgspec.DecodeError when it is no JSON."""
    _, payload = pack_observations(b'{"data":[' + content + b"]}")
    rows = unpack_observations(memoryview(payload)) if payload else ()
    return rows[0] if rows else None


def unpack_rows(segment: memoryview) -> Iterator[Mapping[str, Any]]:
    """The rows of a segment made by `pack_scores`."""
    for item in msgspec.json.decode(segment, type=list[msgspec.Raw]):
        yield _object(item) or {}


def _packed(meta: _Meta, kept_rows: list[_Kept | _Refused]) -> tuple[Page, bytearray]:
    buckets: list[list[_Kept]] = [[] for _ in range(SEGMENTS)]
    rejected = list[_Refused]()
    for row in kept_rows:
        if isinstance(row, _Refused):
            rejected.append(row)
        else:
            buckets[crc32(row.trace_id.encode()) % SEGMENTS].append(row)
    payload, ends = bytearray(), array("I")
    for rows in buckets:
        if rows:
            _pack_into(rows, payload, -1)
        ends.append(len(payload))
    if meta.totalPages is None:
        return _page(meta, len(kept_rows), (), rejected, ends), payload
    refused = itertools.count()
    ids = [f"?{meta.page}/{next(refused)}" if isinstance(row, _Refused) else row.row_id for row in kept_rows]
    return _page(meta, len(ids), ids, rejected, ends), payload


def _page(meta: _Meta, rows: int, ids: Sequence[str], rejected: list[_Refused], ends: array[int]) -> Page:
    reasons, times = tuple(one.reason for one in rejected), tuple(one.at for one in rejected)
    places = ends.tobytes()
    if meta.totalPages is None:
        return Page(meta.cursor, rows, rejected=reasons, rejected_at=times, ends=places)
    number, limit = meta.page or 1, meta.limit or rows
    cursor = f"{number + 1}/{limit}" if number < meta.totalPages else None
    return Page(cursor, rows, meta.totalItems, tuple(ids), rejected=reasons, rejected_at=times, ends=places)


def _keep(row: _Row) -> _Kept | _Refused:
    """The same as `parse_row` makes of the row, for rows whose fields have the usual types; a reason when refused.

    Runs for every row of every read: what is usual is tested in place, without a call.
    """
    kind, row_id, trace_id, started = row.type, row.id, row.traceId, row.startTime
    trace = kind is None and row.timestamp is not None
    if trace:
        trace_id, started = row_id, row.timestamp
    if started is None:
        return _Refused("missing_time" if kind is not None else "unknown_shape")
    if not row_id or len(row_id) > 200 or not trace_id or len(trace_id) > 200:
        return _Refused("missing_id", utc(started))
    created = row.createdAt or (None if trace else row.endTime) or started
    if started.tzinfo is None or created.tzinfo is None:
        return _Refused("naive_time", utc(started))
    name, session_id, environment, tags = row.name, row.sessionId, row.environment, row.tags
    if tags and (len(tags) > 50 or len("".join(tags)) > 200):
        tags = [tag[:200] for tag in tags[:50]]
    text, answer, metadata = row.input, row.output, row.metadata
    if not (text.__class__ is str and len(text) <= MAX_TEXT):
        text = None if text is None else _text(text)
    if not (answer.__class__ is str and len(answer) <= MAX_TEXT):
        answer = None if answer is None else _text(answer)
    if trace:
        level, message, model, parameters = "DEFAULT", "", None, None
    else:
        level, message, model = row.level or "DEFAULT", row.statusMessage, row.model or row.providedModelName
        parameters = row.modelParameters
    return _Kept(
        row_id,
        trace_id,
        "TRACE" if trace else kind or "",
        name if name and len(name) <= 500 else _cut(name) or "",
        level,
        message if message and len(message) <= 500 else _cut(message) or "",
        started,
        created,
        session_id if session_id and len(session_id) <= 500 else _cut(session_id),
        environment if environment and len(environment) <= 500 else _cut(environment),
        model if model and len(model) <= 500 else _cut(model),
        tags or (),
        text,
        answer,
        b"" if metadata is None else kept(metadata),
        b"" if parameters is None else kept(parameters),
    )


def _keep_slowly(item: bytes) -> _Kept | _Refused:
    row = _object(item)
    if row is None:
        return _Refused("not_json")
    try:
        found = parse_row(row)
    except RowError as refused:
        return _Refused(refused.reason, row_time(row))
    if not isinstance(found, Observation):
        return _Refused("unknown_shape", row_time(row))
    fields = {name: getattr(found, name) for name in Observation.__dataclass_fields__}
    metadata, given = found.metadata, found.model_parameters
    fields["metadata"] = kept_mapping({key: metadata[key] for key in METADATA_KEYS if key in metadata})
    fields["model_parameters"] = kept_mapping({key: given[key] for key in PARAMETER_KEYS if key in given})
    return _Kept(**fields)


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
        return meta, [json_bytes(item) for item in whole["data"]]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, msgspec.ValidationError):
        raise unusual from None


def row_time(row: Mapping[str, Any]) -> datetime | None:
    """The time that a row gives, for a row that cannot be used otherwise; None when it gives none."""
    try:
        return utc(datetime.fromisoformat(str(row.get("startTime") or row.get("timestamp"))))
    except ValueError:
        return None


def utc(moment: datetime) -> datetime | None:
    """An aware UTC time, good for finding the row's day alone; None outside the years in which rows are."""
    if not 2000 <= moment.year <= 2200:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _object(text: bytes | msgspec.Raw) -> dict[str, Any] | None:
    """A JSON object, None for anything else."""
    try:
        found = _generic(text)
    except (msgspec.DecodeError, RecursionError):
        try:
            found = json.loads(bytes(text).decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            found = None
    return found if isinstance(found, dict) else None


def _text(value: Any) -> str | None:
    # decoded JSON holds no lone surrogate, so strings only need cutting
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT]
    return clean_text(value)


def _cut(value: str | None) -> str | None:
    return value[:500] if value else None
