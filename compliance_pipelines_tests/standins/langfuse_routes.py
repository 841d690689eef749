"""The public API of the Langfuse stand-in: which path answers what, in which mode, with which errors.

`events_only` answers 404 on the old reads, `v3` on the new ones, `dual` answers both. Limits, cursors and error bodies
follow the OpenAPI document of 4.16.0 and recordings. Transport and faults live elsewhere.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from compliance_pipelines_tests.standins import langfuse_rows as shapes
from compliance_pipelines_tests.standins.langfuse_otlp import read_request, rows
from compliance_pipelines_tests.standins.langfuse_query import (
    Answer,
    ApiError,
    Query,
    bad,
    cursor,
    observation_filter,
    page_limit,
    pages,
    read_cursor,
    score_filter,
    trace_of,
    window,
)
from compliance_pipelines_tests.standins.langfuse_store import InvalidError, Row, Store

MODES = ("events_only", "dual", "v3")
_GONE = (
    "This endpoint is not available on deployments running in Langfuse v4 events_only mode. "
    "Learn more about Langfuse v4 at: https://langfuse.com/docs/v4"
)


def _metric_limit(item: Mapping[str, Any], time_field: str) -> str:
    """The exclusive end that a filter on the view's own time column sets."""
    column = {"startTime": "start_time"}.get(time_field, time_field)
    if (item["column"], item["type"], item["operator"]) != (column, "datetime", "<"):
        raise InvalidError(f"the stand-in filters by {column} alone")
    return window(item, "none", "value")[1]


class Api:
    """Answers (status, JSON body) for method, path, query and body."""

    def __init__(self, store: Store, mode: str, faults: Any) -> None:
        self.store, self.mode, self.faults = store, mode, faults

    def answer(self, method: str, path: str, query: Query, body: bytes, content_type: str) -> Answer:
        """Dispatch one request; never raises."""
        for wanted, pattern, generation, handler in ROUTES:
            found = re.fullmatch(pattern, path) if wanted == method else None
            if found is None:
                continue
            if generation == "old" and self.mode == "events_only":
                return 404, {"message": _GONE}
            if generation == "new" and self.mode == "v3":
                break
            try:
                return handler(self, query, body, content_type, *found.groups())
            except ApiError as error:
                return error.status, error.body
            except InvalidError as error:
                return 400, {"message": "Invalid request data", "error": [{"code": "custom", "message": str(error)}]}
            except (ValueError, KeyError, TypeError):
                return 400, {"message": "Invalid request data", "error": "InvalidRequestError"}
        return 404, {"message": "Not found", "error": "LangfuseNotFoundError"}

    # v4 reads
    def v2_observations(self, query: Query, *_: Any) -> Answer:
        limit = page_limit(query, 50, 1000)
        if query.get("parseIoAsJson") == "true":
            raise bad(
                "parseIoAsJson", "custom", "parseIoAsJson=true is no longer supported on the v2 observations endpoint."
            )
        groups = [part for part in query.get("fields", "core,basic").split(",") if part in shapes.GROUPS]
        after = read_cursor(query, ("lastStartTimeTo", "lastTraceId", "lastId"))
        low, high = window(query, "fromStartTime", "toStartTime")
        wanted = observation_filter(query)
        found, key = self.store.observation_page(
            low, high, after, lambda row: row["id"] not in self.store.old_only and wanted(row), limit
        )
        expand = (query.get("expandMetadata") or "").split(",")
        cut = True if self.faults.cut_metadata else None
        data = [shapes.v4_observation(row, groups, expand, cut=cut) for row in found]
        meta = {} if key is None else {"cursor": cursor(lastStartTimeTo=key[0], lastTraceId=key[1], lastId=key[2])}
        return 200, {"data": data, "meta": meta}

    def v3_scores(self, query: Query, *_: Any) -> Answer:
        limit = page_limit(query, 50, 100)
        groups = [part for part in (query.get("fields") or "").split(",") if part]
        for position, group in enumerate(groups):
            if group not in shapes.SCORE_GROUPS:
                options = "|".join(f'"{name}"' for name in shapes.SCORE_GROUPS)
                raise ApiError(400, {"message": "Invalid request data", "error": [{
                    "code": "invalid_value", "values": list(shapes.SCORE_GROUPS), "path": ["fields", position],
                    "message": f"Invalid option: expected one of {options}",
                }]})  # fmt: skip
        after = read_cursor(query, ("lastTimestamp", "lastId"))
        low, high = window(query, "fromTimestamp", "toTimestamp")
        found, key = self.store.score_page(low, high, after, score_filter(query), limit)
        meta: Row = {"limit": limit}
        if key is not None:
            meta["cursor"] = cursor(v=1, lastTimestamp=key[0], lastId=key[1])
        return 200, {"data": [shapes.v3_score(row, groups) for row in found], "meta": meta}

    def v2_metrics(self, query: Query, *_: Any) -> Answer:
        asked = json.loads(query["query"])
        low, high = window(asked, "fromTimestamp", "toTimestamp")
        fields = [item["field"] for item in asked.get("dimensions") or []]
        unit = (asked.get("timeDimension") or {}).get("granularity")
        if asked["view"] == "observations":
            source = [row for row in self.store.observations() if row["id"] not in self.store.old_only]
            time_field = "startTime"
        else:
            kind = asked["view"].removeprefix("scores-").upper()
            source, time_field = [row for row in self.store.scores() if row["dataType"] == kind], "timestamp"
        limits = [_metric_limit(item, time_field) for item in asked.get("filters") or []]
        length = {"minute": 16, "hour": 13, "day": 10, "month": 7, None: 0}[unit]
        counts: Counter[tuple[Any, ...]] = Counter(
            (row[time_field][:length], *(row.get(field) for field in fields))
            for row in source
            # the end of a metrics query is inclusive, unlike that of every listing
            if low <= row[time_field] <= high and all(row[time_field] < limit for limit in limits)
        )
        head = ["time_dimension"] if unit else []
        names = [f"{item['aggregation']}_{item['measure']}" for item in asked["metrics"]]
        if any(name != "count_count" for name in names):
            raise InvalidError("the stand-in only counts")
        if not counts and not fields and not unit:
            counts[("",)] = 0
        data = [
            dict(zip([*head, *fields], group if unit else group[1:], strict=True)) | dict.fromkeys(names, number)
            for group, number in sorted(counts.items(), key=str)
        ]
        return 200, {"data": data}

    # v3 reads
    def traces(self, query: Query, *_: Any) -> Answer:
        low, high = window(query, "fromTimestamp", "toTimestamp")
        groups = {part for part in (query.get("fields") or "").split(",") if part}
        found = [rows for rows in self._by_trace() if low <= rows[0]["startTime"] < high]
        if query.get("orderBy") == "timestamp.asc":
            found.reverse()
        return pages(query, found, lambda rows: self._trace(rows, groups))

    def trace(self, _query: Query, _body: bytes, _type: str, trace_id: str) -> Answer:
        found = [row for row in reversed(self.store.observations()) if row["traceId"] == trace_id]
        if not found:
            raise ApiError(404, {
                "message": f"Trace {trace_id} not found within authorized project", "error": "LangfuseNotFoundError",
            })  # fmt: skip
        scores = [shapes.legacy_score(row) for row in self.store.scores() if trace_of(row) == trace_id]
        return 200, self._trace(found, set()) | {
            "observations": [shapes.legacy_observation(row) for row in found], "scores": scores,
        }  # fmt: skip

    def observations(self, query: Query, *_: Any) -> Answer:
        low, high = window(query, "fromStartTime", "toStartTime")
        keep = observation_filter(query)
        found = [row for row in self._old_rows() if low <= row["startTime"] < high and keep(row)]
        return pages(query, found, shapes.legacy_observation)

    def v2_scores(self, query: Query, *_: Any) -> Answer:
        low, high = window(query, "fromTimestamp", "toTimestamp")
        keep = score_filter(query)
        found = [row for row in self.store.scores() if low <= row["timestamp"] < high and keep(row)]
        return pages(query, found, shapes.legacy_score)

    def _old_rows(self) -> list[Row]:
        return [row for row in self.store.observations() if row["id"] not in self.store.new_only]

    def _by_trace(self) -> list[list[Row]]:
        groups: dict[str, list[Row]] = {}
        for row in reversed(self._old_rows()):
            groups.setdefault(row["traceId"], []).append(row)
        return sorted(groups.values(), key=lambda rows: (rows[0]["startTime"], rows[0]["traceId"]), reverse=True)

    def _trace(self, found: list[Row], groups: set[str]) -> Row:
        scores = [row["id"] for row in self.store.scores() if trace_of(row) == found[0]["traceId"]]
        return shapes.legacy_trace(found, scores, groups)

    # writes
    def otel(self, _query: Query, body: bytes, content_type: str) -> Answer:
        self.store.put_observations(list(rows(read_request(body, content_type), self.store.clock())))
        return 200, {}

    def ingestion(self, _query: Query, body: bytes, *_: Any) -> Answer:
        successes, errors = [], []
        for event in json.loads(body)["batch"]:
            status = self._ingest(event)
            if status < 300:
                successes.append({"id": event["id"], "status": status})
            else:
                errors.append(
                    {"id": event["id"], "status": status, "message": "Invalid request data", "error": "planned"}
                )
        return 207, {"successes": successes, "errors": errors}

    def _ingest(self, event: Mapping[str, Any]) -> int:
        if event["type"] != "score-create":
            return 201
        refused = self.faults.rejected_scores.get(event["body"].get("name"))
        if refused:
            return refused
        try:
            if self.store.first_time(event["id"]):
                self.store.put_score(event["body"], event["timestamp"])
        except InvalidError:
            return 400
        return 201

    def post_score(self, _query: Query, body: bytes, *_: Any) -> Answer:
        return 200, {"id": self.store.put_score(json.loads(body))}

    # review queues
    def queues(self, query: Query, *_: Any) -> Answer:
        return pages(query, list(self.store.queues.values()), dict)

    def post_queue(self, _query: Query, body: bytes, *_: Any) -> Answer:
        given = json.loads(body)
        unknown = [item for item in given["scoreConfigIds"] if item not in self.store.configs]
        if unknown or not given["scoreConfigIds"]:
            raise InvalidError("scoreConfigIds must name existing configurations")
        return 200, self.store.add_queue(given["name"], given["scoreConfigIds"], given.get("description"))

    def queue(self, _query: Query, _body: bytes, _type: str, queue_id: str) -> Answer:
        return 200, self._known(self.store.queues, queue_id)

    def items(self, query: Query, _body: bytes, _type: str, queue_id: str) -> Answer:
        self._known(self.store.queues, queue_id)
        found = [row for row in reversed(self.store.items.values()) if row["queueId"] == queue_id]
        if query.get("status"):
            found = [row for row in found if row["status"] == query["status"]]
        return pages(query, found, dict)

    def post_item(self, _query: Query, body: bytes, _type: str, queue_id: str) -> Answer:
        self._known(self.store.queues, queue_id)
        given = json.loads(body)
        return 200, self.store.add_item(
            queue_id, given["objectId"], given["objectType"], given.get("status") or "PENDING"
        )

    def patch_item(self, _query: Query, body: bytes, _type: str, _queue_id: str, item_id: str) -> Answer:
        self._known(self.store.items, item_id)
        return 200, self.store.complete_item(item_id, json.loads(body)["status"])

    def configs(self, query: Query, *_: Any) -> Answer:
        return pages(query, list(self.store.configs.values()), dict)

    def post_config(self, _query: Query, body: bytes, *_: Any) -> Answer:
        return 200, self.store.add_config(json.loads(body))

    # datasets
    def datasets(self, query: Query, *_: Any) -> Answer:
        return pages(query, list(self.store.datasets.values()), dict)

    def post_dataset(self, _query: Query, body: bytes, *_: Any) -> Answer:
        return 200, self.store.put_dataset(json.loads(body))

    def dataset(self, _query: Query, _body: bytes, _type: str, name: str) -> Answer:
        return 200, self._known(self.store.datasets, name)

    def dataset_items(self, query: Query, *_: Any) -> Answer:
        wanted = query.get("datasetName")
        found = [row for row in reversed(self.store.dataset_items.values()) if wanted in (None, row["datasetName"])]
        return pages(query, found, dict)

    def post_dataset_item(self, _query: Query, body: bytes, *_: Any) -> Answer:
        given = json.loads(body)
        self._known(self.store.datasets, given.get("datasetName"))
        return 200, self.store.put_dataset_item(given)

    def dataset_item(self, _query: Query, _body: bytes, _type: str, item_id: str) -> Answer:
        return 200, self._known(self.store.dataset_items, item_id)

    # about the server
    def projects(self, *_: Any) -> Answer:
        organization = {"id": "orgstandin", "name": "Stand-in"}
        return 200, {"data": [{"id": shapes.PROJECT, "name": "Stand-in", "organization": organization, "metadata": {}}]}

    def health(self, *_: Any) -> Answer:
        return 200, {"status": "OK", "version": "3.140.0" if self.mode == "v3" else "4.16.0"}

    @staticmethod
    def _known(table: Mapping[str, Row], key: str) -> Row:
        if key not in table:
            raise ApiError(404, {"message": "Not found within authorized project", "error": "LangfuseNotFoundError"})
        return table[key]


_QUEUES = r"/api/public/annotation-queues"
ROUTES: list[tuple[str, str, str, Callable[..., Answer]]] = [
    ("GET", r"/api/public/health", "any", Api.health),
    ("GET", r"/api/public/projects", "any", Api.projects),
    ("GET", r"/api/public/v2/observations", "new", Api.v2_observations),
    ("GET", r"/api/public/v3/scores", "new", Api.v3_scores),
    ("GET", r"/api/public/v2/metrics", "new", Api.v2_metrics),
    ("GET", r"/api/public/traces", "old", Api.traces),
    ("GET", r"/api/public/traces/([^/]+)", "old", Api.trace),
    ("GET", r"/api/public/observations", "old", Api.observations),
    ("GET", r"/api/public/v2/scores", "old", Api.v2_scores),
    ("GET", r"/api/public/scores", "old", Api.v2_scores),
    ("POST", r"/api/public/otel/v1/traces", "any", Api.otel),
    ("POST", r"/api/public/ingestion", "any", Api.ingestion),
    ("POST", r"/api/public/scores", "any", Api.post_score),
    ("GET", _QUEUES, "any", Api.queues),
    ("POST", _QUEUES, "any", Api.post_queue),
    ("GET", rf"{_QUEUES}/([^/]+)", "any", Api.queue),
    ("GET", rf"{_QUEUES}/([^/]+)/items", "any", Api.items),
    ("POST", rf"{_QUEUES}/([^/]+)/items", "any", Api.post_item),
    ("PATCH", rf"{_QUEUES}/([^/]+)/items/([^/]+)", "any", Api.patch_item),
    ("GET", r"/api/public/score-configs", "any", Api.configs),
    ("POST", r"/api/public/score-configs", "any", Api.post_config),
    ("GET", r"/api/public/v2/datasets", "any", Api.datasets),
    ("POST", r"/api/public/v2/datasets", "any", Api.post_dataset),
    ("GET", r"/api/public/v2/datasets/([^/]+)", "any", Api.dataset),
    ("GET", r"/api/public/dataset-items", "any", Api.dataset_items),
    ("POST", r"/api/public/dataset-items", "any", Api.post_dataset_item),
    ("GET", r"/api/public/dataset-items/([^/]+)", "any", Api.dataset_item),
]
