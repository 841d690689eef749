"""What reviewers did in Langfuse: items of the queues `review-<department>`, and the corrections they wrote.

Listings are read to their end, and again when they moved meanwhile. A correction is the text score `correction`, or the
comment of a `review_outcome` that overrode: somebody's words about a conversation, which enter no error, log or count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec

from compliance_pipelines.adapters.langfuse_api_http import LangfuseError, LangfuseHttp, NotThereError
from compliance_pipelines.core.langfuse_rows import RowError, ScoreRow, parse_row
from compliance_pipelines.core.review_queue import ReviewItem
from compliance_pipelines.core.write_back import CORRECTION

QUEUES = "/api/public/annotation-queues"
QUEUE_PREFIX = "review-"
OUTCOME = "review_outcome"
_LISTED = 100
_TRIES = 4
_TRACES_A_PAGE = 20


class _ListMeta(msgspec.Struct):
    totalItems: int  # noqa: N815  as the server writes it
    totalPages: int  # noqa: N815


class _Listing(msgspec.Struct):
    data: list[dict[str, Any]]
    meta: _ListMeta


class _CursorMeta(msgspec.Struct):
    cursor: str | None = None


class _Scores(msgspec.Struct):
    data: list[dict[str, Any]]
    meta: _CursorMeta


_read_listing = msgspec.json.Decoder(_Listing).decode
_read_scores = msgspec.json.Decoder(_Scores).decode


def listed(http: LangfuseHttp, path: str, params: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Every row of a numbered listing; read again when the server's count moved between its pages."""
    for _ in range(_TRIES):
        rows: dict[str, dict[str, Any]] = {}
        totals, number, last = set(), 1, 1
        while number <= last:
            page = http.get(path, {**(params or {}), "page": str(number), "limit": str(_LISTED)}, _read_listing).value
            rows.update((str(row.get("id")), row) for row in page.data)
            totals.add(page.meta.totalItems)
            if not page.data:
                # fewer pages than were announced: it moved, or the server miscounts them
                break
            number, last = number + 1, page.meta.totalPages
        if totals == {len(rows)} or last <= 1:
            return list(rows.values())
    raise LangfuseError(f"Langfuse ({http.server.host}) : liste mouvante sur {path}, réessayez plus tard")


def items_path(queue_id: str) -> str:
    """Where the items of a queue are listed and posted."""
    return f"{QUEUES}/{quote(queue_id, safe='')}/items"


def queue_id(http: LangfuseHttp, queue: Mapping[str, Any]) -> str:
    """The id of a listed queue; raises LangfuseError."""
    if not queue.get("id"):
        raise unreadable(http)
    return str(queue["id"])


def item_times(row: Mapping[str, Any]) -> tuple[datetime, datetime | None]:
    """When an item was queued and completed, aware; raises KeyError, TypeError or ValueError."""
    done = row.get("completedAt")
    times = datetime.fromisoformat(row["createdAt"]), datetime.fromisoformat(done) if done else None
    if any(time is not None and time.tzinfo is None for time in times):
        raise ValueError("naive")
    return times


def unreadable(http: LangfuseHttp) -> LangfuseError:
    """What to say of a queue or an item that lacks what is needed of it."""
    return LangfuseError(f"Langfuse ({http.server.host}) : élément de file illisible sur {QUEUES}")


def review_items(http: LangfuseHttp) -> list[ReviewItem]:
    """The items of every queue `review-<department>`, in order of queueing; raises LangfuseError.

    NotThereError on a server that has no annotation queues.
    """
    found = []
    for queue in listed(http, QUEUES):
        name = str(queue.get("name") or "")
        if name.startswith(QUEUE_PREFIX):
            department = name.removeprefix(QUEUE_PREFIX)
            try:
                rows = listed(http, items_path(queue_id(http, queue)))
            except NotThereError:
                # removed since the queues were listed
                continue
            found += [_item(http, department, row) for row in rows]
    return sorted(found, key=lambda item: (item.queued_at, item.item_id))


def corrections(http: LangfuseHttp, trace_ids: Sequence[str]) -> dict[str, str]:
    """The correction of each trace that has one; keys are "trace" or "trace/observation".

    A `correction` stands before a comment, the newest before older ones.
    """
    best: dict[str, tuple[tuple[bool, datetime], str]] = {}
    whole = sorted({trace_id.partition("/")[0] for trace_id in trace_ids})
    for content in _scores(http, whole):
        try:
            row = parse_row(content)
        except RowError:
            continue
        text = _text(row, content) if isinstance(row, ScoreRow) else None
        if text is None or not isinstance(row, ScoreRow) or row.trace_id is None:
            continue
        key = _key(row.trace_id, content)
        rank = (row.name == CORRECTION, row.updated_at)
        if key not in best or rank >= best[key][0]:
            best[key] = (rank, text)
    return {key: text for key, (_, text) in best.items()}


def _scores(http: LangfuseHttp, traces: Sequence[str]) -> Iterator[dict[str, Any]]:
    try:
        for start in range(0, len(traces), _TRACES_A_PAGE):
            yield from _scores_by_cursor(http, traces[start : start + _TRACES_A_PAGE])
    except NotThereError:
        # v3 servers take one trace at a time
        for trace_id in traces:
            yield from listed(http, "/api/public/v2/scores", {"traceId": trace_id})


def _scores_by_cursor(http: LangfuseHttp, traces: Iterable[str]) -> Iterator[dict[str, Any]]:
    query = {"traceId": ",".join(traces), "fields": "details,subject", "limit": str(_LISTED)}
    query["name"] = f"{CORRECTION},{OUTCOME}"
    seen: set[str] = set()
    while True:
        page = http.get("/api/public/v3/scores", query, _read_scores).value
        yield from page.data
        cursor = page.meta.cursor
        if cursor is None:
            return
        if cursor in seen:
            raise LangfuseError(f"Langfuse ({http.server.host}) : curseur répété sur /api/public/v3/scores")
        seen.add(cursor)
        query |= {"cursor": cursor}


def _text(row: ScoreRow, content: Mapping[str, Any]) -> str | None:
    # the normalised row is cut where tables need it short; a correction is wanted whole
    if row.name == CORRECTION:
        given = [content.get("stringValue"), content.get("value")]
    elif row.name == OUTCOME and row.string_value == "overridden":
        given = [content.get("comment")]
    else:
        return None
    return next((text for text in given if isinstance(text, str) and text.strip()), None)


def _key(trace_id: str, content: Mapping[str, Any]) -> str:
    subject = content.get("subject")
    if isinstance(subject, Mapping):
        observation = subject.get("id") if subject.get("kind") == "observation" else None
    else:
        observation = content.get("observationId")
    return f"{trace_id}/{observation}" if observation else trace_id


def _item(http: LangfuseHttp, department: str, row: Mapping[str, Any]) -> ReviewItem:
    try:
        queued, done = item_times(row)
        done = done if row["status"] == "COMPLETED" else None
        return ReviewItem(str(row["id"]), department, str(row["objectId"]), str(row["objectType"]), queued, done)
    except (KeyError, TypeError, ValueError):
        raise unreadable(http) from None
