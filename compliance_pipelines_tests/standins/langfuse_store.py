"""What the Langfuse stand-in remembers: observations, scores, queues, datasets, with the server's identities.

A score is one per id, name and day; a dataset item is upserted by id; queue items are never deduplicated; an ingestion
envelope id counts once. Thread-safe. Reading is by keyset over (time, trace, id), newest first, as the server reads.
"""

from __future__ import annotations

import bisect
import itertools
import math
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from compliance_pipelines_tests.standins.langfuse_rows import PROJECT, instant

Row = dict[str, Any]


class InvalidError(ValueError):
    """A request body that the server would refuse with 400."""


class Store:
    """All state of one project. `clock` gives the server's time."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.lock = threading.RLock()
        self.version = 0
        self.queues: dict[str, Row] = {}
        self.items: dict[str, Row] = {}
        self.configs: dict[str, Row] = {}
        self.datasets: dict[str, Row] = {}
        self.dataset_items: dict[str, Row] = {}
        # ids of observations that only the tables of v3 hold: a server that was changed over and not filled yet
        self.old_only: set[str] = set()
        # and those that only the tables of v4 hold: written since the change
        self.new_only: set[str] = set()
        self._observations: dict[str, Row] = {}
        self._scores: dict[tuple[str, str, str], Row] = {}
        self._envelopes: set[str] = set()
        self._sorted: tuple[int, list[tuple[str, str, str]]] = (-1, [])
        self._sorted_scores: tuple[int, list[Row]] = (-1, [])
        self._count = itertools.count(1)

    def now(self) -> str:
        """The server's time as text."""
        return instant(self.clock())

    def new_id(self, prefix: str = "cmstandin") -> str:
        """A fresh id, the same in every run."""
        return f"{prefix}{next(self._count):016d}"

    # observations
    def put_observations(self, rows: Iterable[Row]) -> None:
        """Insert or replace rows by id."""
        with self.lock:
            for row in rows:
                self._observations[row["id"]] = row
            self.version += 1

    def delete_observation(self, row_id: str) -> None:
        """Forget one row (retention, tests of shrinking pages)."""
        with self.lock:
            self._observations.pop(row_id)
            self.version += 1

    def observations(self) -> list[Row]:
        """Every row, newest first."""
        with self.lock:
            return [self._observations[key[2]] for key in reversed(self._order())]

    def _order(self) -> list[tuple[str, str, str]]:
        if self._sorted[0] != self.version:
            keys = sorted((r["startTime"], r["traceId"], r["id"]) for r in self._observations.values())
            self._sorted = (self.version, keys)
        return self._sorted[1]

    def observation_page(
        self, low: str, high: str, after: tuple[str, str, str] | None, keep: Callable[[Row], bool], limit: int
    ) -> tuple[list[Row], tuple[str, str, str] | None]:
        """At most `limit` rows in [low, high) below `after`, newest first, and the key to go on from."""
        with self.lock:
            keys = self._order()
            end = bisect.bisect_left(keys, after) if after else bisect.bisect_left(keys, (high, "", ""))
            first = bisect.bisect_left(keys, (low, "", ""))
            found: list[Row] = []
            for position in range(end - 1, first - 1, -1):
                row = self._observations[keys[position][2]]
                if not keep(row):
                    continue
                if len(found) == limit:
                    last = found[-1]
                    return found, (last["startTime"], last["traceId"], last["id"])
                found.append(row)
            return found, None

    # scores
    def put_score(self, body: Mapping[str, Any], timestamp: str | None = None) -> str:
        """Store one score body; returns its id, raises InvalidError."""
        row = self._score_row(body, timestamp or self.now())
        with self.lock:
            key = (row["id"], row["name"], row["timestamp"][:10])
            if key in self._scores:
                # the first version's times stand, its value does not
                row |= {field: self._scores[key][field] for field in ("createdAt", "timestamp")}
            self._scores[key] = row
            self.version += 1
        return row["id"]

    def scores(self) -> list[Row]:
        """Every score row (v3 shape, all groups), newest first."""
        with self.lock:
            if self._sorted_scores[0] != self.version:
                rows = sorted(self._scores.values(), key=lambda r: (r["timestamp"], r["id"]), reverse=True)
                self._sorted_scores = (self.version, rows)
            return self._sorted_scores[1]

    def score_page(
        self, low: str, high: str, after: tuple[str, str] | None, keep: Callable[[Row], bool], limit: int
    ) -> tuple[list[Row], tuple[str, str] | None]:
        """Like `observation_page`, for scores."""
        found: list[Row] = []
        for row in self.scores():
            key = (row["timestamp"], row["id"])
            if not low <= key[0] < high or (after and key >= after) or not keep(row):
                continue
            if len(found) == limit:
                return found, (found[-1]["timestamp"], found[-1]["id"])
            found.append(row)
        return found, None

    def _score_row(self, body: Mapping[str, Any], timestamp: str) -> Row:
        name, value = body.get("name"), body.get("value")
        if not isinstance(name, str) or not name or not isinstance(value, (int, float, str)):
            raise InvalidError("name and value are needed")
        kind = body.get("dataType") or ("CATEGORICAL" if isinstance(value, str) else "NUMERIC")
        if kind in {"NUMERIC", "BOOLEAN"}:
            # NaN leaves the SDK as the string "NaN"
            if isinstance(value, str) or math.isnan(value):
                raise InvalidError(f"{kind} needs a number")
            value = bool(value) if kind == "BOOLEAN" else value
        elif not isinstance(value, str):
            raise InvalidError(f"{kind} needs text")
        now = self.now()
        return {
            "id": body.get("id") or self.new_id("score"), "projectId": PROJECT, "name": name,
            "source": body.get("source") or "API", "timestamp": _milliseconds(timestamp),
            "environment": body.get("environment") or "default",
            # second precision, as recorded
            "createdAt": now[:19] + ".000Z", "updatedAt": now, "comment": body.get("comment"),
            "configId": body.get("configId"), "metadata": body.get("metadata") or {}, "authorUserId": None,
            "queueId": body.get("queueId"), "subject": _subject(body), "dataType": kind, "value": value,
        }  # fmt: skip

    def first_time(self, envelope: str) -> bool:
        """Whether this ingestion envelope id is new."""
        with self.lock:
            if envelope in self._envelopes:
                return False
            self._envelopes.add(envelope)
            return True

    # review queues, configurations, datasets
    def add_queue(self, name: str, config_ids: list[str] | None = None, description: str | None = None) -> Row:
        """A new annotation queue."""
        now = self.now()
        row = {
            "id": self.new_id(), "name": name, "description": description, "scoreConfigIds": config_ids or [],
            "createdAt": now, "updatedAt": now,
        }  # fmt: skip
        self.queues[row["id"]] = row
        return row

    def add_item(self, queue_id: str, object_id: str, object_type: str, status: str = "PENDING") -> Row:
        """A new queue item, also when the object already stands in the queue."""
        if object_type not in {"TRACE", "OBSERVATION", "SESSION"} or not object_id:
            raise InvalidError("objectId and objectType are needed")
        now = self.now()
        row = {
            "id": self.new_id(), "queueId": queue_id, "objectId": object_id, "objectType": object_type,
            "status": status, "completedAt": now if status == "COMPLETED" else None, "createdAt": now, "updatedAt": now,
        }  # fmt: skip
        self.items[row["id"]] = row
        return row

    def complete_item(self, item_id: str, status: str = "COMPLETED") -> Row:
        """Change the status of a queue item."""
        row = self.items[item_id]
        row |= {"status": status, "completedAt": self.now() if status == "COMPLETED" else None, "updatedAt": self.now()}
        return row

    def put_dataset(self, body: Mapping[str, Any]) -> Row:
        """Create or update a dataset by name."""
        now = self.now()
        row = self.datasets.get(body["name"]) or {
            "id": self.new_id(), "name": body["name"], "description": None, "metadata": None, "inputSchema": None,
            "expectedOutputSchema": None, "projectId": PROJECT, "createdAt": now, "updatedAt": now,
        }  # fmt: skip
        row |= {key: body[key] for key in ("description", "metadata") if body.get(key) is not None} | {"updatedAt": now}
        self.datasets[row["name"]] = row
        return row

    def put_dataset_item(self, body: Mapping[str, Any]) -> Row:
        """Create or update a dataset item by id; raises KeyError for an unknown dataset."""
        dataset = self.datasets[body["datasetName"]]
        item_id = body.get("id") or self.new_id()
        before = self.dataset_items.get(item_id)
        if before and before["datasetName"] != dataset["name"]:
            raise InvalidError("id already used in another dataset")
        now = self.now()
        row = {
            "id": item_id, "status": body.get("status") or "ACTIVE", "input": body.get("input"),
            "expectedOutput": body.get("expectedOutput"), "metadata": body.get("metadata"),
            "sourceTraceId": body.get("sourceTraceId"), "sourceObservationId": body.get("sourceObservationId"),
            "datasetId": dataset["id"], "datasetName": dataset["name"],
            "createdAt": before["createdAt"] if before else now, "updatedAt": now, "mediaReferences": [],
        }  # fmt: skip
        self.dataset_items[item_id] = row
        return row

    def add_config(self, body: Mapping[str, Any]) -> Row:
        """A new score configuration."""
        now = self.now()
        row = {
            "id": self.new_id(), "name": body["name"], "createdAt": now, "updatedAt": now, "projectId": PROJECT,
            "dataType": body["dataType"], "isArchived": False, "minValue": body.get("minValue"),
            "maxValue": body.get("maxValue"), "categories": body.get("categories"),
            "description": body.get("description"),
        }  # fmt: skip
        self.configs[row["id"]] = row
        return row


def _milliseconds(text: str) -> str:
    return instant(datetime.fromisoformat(text).astimezone(UTC))


def _subject(body: Mapping[str, Any]) -> Row:
    if body.get("observationId"):
        return {"kind": "observation", "id": body["observationId"], "traceId": body.get("traceId")}
    if body.get("traceId"):
        return {"kind": "trace", "id": body["traceId"]}
    if body.get("sessionId"):
        return {"kind": "session", "id": body["sessionId"]}
    raise InvalidError("traceId, observationId or sessionId is needed")
