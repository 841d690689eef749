"""What the pipeline writes back to Langfuse: scores, review-queue items, golden dataset items. All can be repeated.

A score has an id made of its name and trace, and the trace's own timestamp, because Langfuse's identity of a score is
id, name and day. Queue items are not deduplicated by the server: existing ones are listed first, and a post of unknown
outcome is looked up, never blindly repeated. 207 bodies are read. No text of a conversation enters an error.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import msgspec

from compliance_pipelines.adapters.langfuse_api_http import LangfuseError, LangfuseHttp, NotThereError
from compliance_pipelines.adapters.langfuse_api_sources import moment
from compliance_pipelines.adapters.langfuse_reviews import (
    OUTCOME,
    QUEUE_PREFIX,
    QUEUES,
    item_times,
    items_path,
    listed,
    queue_id,
    unreadable,
)

_BATCH_ROWS = 100
_BATCH_BYTES = 3_000_000
_TRIES = 4
_MOST_REVISIONS = 49
_STEP = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class ScoreToWrite:
    """A score on a trace (`trace_id` as in `records.Trace`: "trace" or "trace/observation" for a further call).

    `value` is a finite number, or text for categorical scores. `observed_at` is the trace's own time. `metadata` holds
    identifiers such as the evaluator's fingerprint, never text of a conversation. `revision` is raised when a trace is
    judged anew: the server puts the events of one score in order by their time, where the same time decides nothing.
    """

    trace_id: str
    name: str
    value: float | str
    observed_at: datetime
    environment: str | None = None
    metadata: Mapping[str, str] | None = None
    revision: int = 0

    @property
    def score_id(self) -> str:
        """The same for the same name on the same trace, whatever the value: a new judgement replaces the old one."""
        return _digest("score", self.name, self.trace_id)

    @property
    def envelope_id(self) -> str:
        """The server takes an envelope once: the same content repeated is ignored, a new value is not."""
        meta = sorted((self.metadata or {}).items())
        return _digest(
            "envelope", self.score_id, repr(self.value), self.observed_at.isoformat(), repr(meta), str(self.revision)
        )


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What became of scores: how many the server took, and (score id, status) of those it refused."""

    accepted: int
    rejected: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class QueueItem:
    """An object in a review queue. `object_type` is TRACE or OBSERVATION, `status` PENDING or COMPLETED."""

    item_id: str
    object_id: str
    object_type: str
    status: str
    created_at: datetime
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class GoldenItem:
    """A corrected exchange for the dataset `golden-<department>`; `trace_id` as in `records.Trace`."""

    trace_id: str
    question: str
    expected: str
    contexts: Sequence[str] = ()
    metadata: Mapping[str, str] | None = None


class LangfuseWriter:
    """Writes to one project through `http`, which belongs to the caller. Methods raise LangfuseError.

    What stands in a queue is read once for each writer: take a new one for each run.
    """

    def __init__(self, http: LangfuseHttp) -> None:
        self.http = http
        self._standing: dict[str, tuple[str, set[tuple[str, str]]]] = {}

    def write_scores(self, scores: Iterable[ScoreToWrite]) -> WriteReport:
        """Send scores in batches and read every 207 body; what failed on the server's side is sent again."""
        accepted, rejected = 0, []
        for batch in _batches(scores):
            waiting = {score.envelope_id: score for score in batch}
            for attempt in range(_TRIES):
                answer = self.http.send(
                    "POST", "/api/public/ingestion", {"batch": [_event(s) for s in waiting.values()]}, _read_outcome
                ).value
                taken = {item.id for item in answer.successes} & waiting.keys()
                accepted += len(taken)
                failed = {item.id: item.status for item in answer.errors if item.id in waiting.keys() - taken}
                silent = waiting.keys() - failed.keys() - taken
                again = {key for key, status in failed.items() if status >= 500 or status == 429} | silent
                rejected += [(waiting[key].score_id, status) for key, status in failed.items() if key not in again]
                waiting = {key: score for key, score in waiting.items() if key in again}
                if not waiting:
                    break
                if attempt == _TRIES - 1:
                    rejected += [(score.score_id, failed.get(key, 0)) for key, score in waiting.items()]
        return WriteReport(accepted, tuple(rejected))

    def ensure_queue(self, department: str) -> str:
        """The id of the queue `review-<department>`, made with its `review_outcome` configuration when missing."""
        name = f"{QUEUE_PREFIX}{department}"
        for queue in listed(self.http, QUEUES):
            if queue.get("name") == name:
                return queue_id(self.http, queue)
        body = {
            "name": name,
            "description": "Réponses à relire par un référent",
            "scoreConfigIds": [self._outcome_config()],
        }
        return str(self.http.send("POST", QUEUES, body, _read_row, repeat=False).value["id"])

    def queue_items(self, department: str) -> list[QueueItem]:
        """Every item of the department's queue, in order of creation; empty when there is no queue."""
        name = f"{QUEUE_PREFIX}{department}"
        found = [q for q in listed(self.http, QUEUES) if q.get("name") == name]
        return self._items(queue_id(self.http, found[0])) if found else []

    def enqueue(self, department: str, trace_ids: Iterable[str]) -> int:
        """Put traces into the department's queue, each once, also over repeated runs; returns how many were new.

        An item that a reviewer completed counts as standing there. Two processes that enqueue the same trace at once
        are not kept apart: one writer at a time is the caller's part.
        """
        if department not in self._standing:
            found = self.ensure_queue(department)
            self._standing[department] = found, {(item.object_type, item.object_id) for item in self._items(found)}
        queue, standing = self._standing[department]
        new = 0
        for trace_id in dict.fromkeys(trace_ids):
            key = _object(trace_id)
            if key in standing:
                continue
            self._put_item(queue, key)
            standing.add(key)
            new += 1
        return new

    def write_golden(self, department: str, items: Iterable[GoldenItem]) -> int:
        """Create or update items of the dataset `golden-<department>`; returns how many were sent."""
        name = f"golden-{department}"
        try:
            self.http.get(f"/api/public/v2/datasets/{quote(name, safe='')}", {}, _read_row)
        except NotThereError:
            self.http.send("POST", "/api/public/v2/datasets", {"name": name}, _read_row)
        sent = 0
        for item in items:
            trace_id, _, observation_id = item.trace_id.partition("/")
            body = {
                "datasetName": name,
                "id": _digest("golden", name, item.trace_id),
                "input": {"question": item.question, "contexts": list(item.contexts)},
                "expectedOutput": item.expected,
                "metadata": dict(item.metadata or {}),
                "sourceTraceId": trace_id,
                "sourceObservationId": observation_id or None,
            }
            self.http.send("POST", "/api/public/dataset-items", body, _read_row)
            sent += 1
        return sent

    def _put_item(self, queue: str, key: tuple[str, str]) -> None:
        path = items_path(queue)
        for attempt in range(_TRIES):
            try:
                self.http.send("POST", path, {"objectId": key[1], "objectType": key[0]}, _read_row, repeat=False)
            except LangfuseError:
                # it may have been stored all the same: only the list knows
                if key in {(item.object_type, item.object_id) for item in self._items(queue)}:
                    return
                if attempt == _TRIES - 1:
                    raise
            else:
                return

    def _items(self, queue: str) -> list[QueueItem]:
        found = [_item(self.http, row) for row in listed(self.http, items_path(queue))]
        return sorted(found, key=lambda item: (item.created_at, item.item_id))

    def _outcome_config(self) -> str:
        for config in listed(self.http, "/api/public/score-configs"):
            if config.get("name") == OUTCOME and not config.get("isArchived"):
                return str(config["id"])
        body = {
            "name": OUTCOME,
            "dataType": "CATEGORICAL",
            "categories": [{"label": "confirmed", "value": 0}, {"label": "overridden", "value": 1}],
        }
        return str(self.http.send("POST", "/api/public/score-configs", body, _read_row, repeat=False).value["id"])


class _Outcome(msgspec.Struct):
    id: str
    status: int


class _Outcomes(msgspec.Struct):
    successes: list[_Outcome]
    errors: list[_Outcome]


_read_outcome = msgspec.json.Decoder(_Outcomes).decode
_read_row = msgspec.json.Decoder(dict[str, Any]).decode


def _event(score: ScoreToWrite) -> dict[str, Any]:
    trace_id, _, observation_id = score.trace_id.partition("/")
    body: dict[str, Any] = {
        "id": score.score_id,
        "traceId": trace_id,
        "name": score.name,
        "value": score.value,
        "dataType": "CATEGORICAL" if isinstance(score.value, str) else "NUMERIC",
        "metadata": dict(score.metadata or {}),
    }
    if observation_id:
        body["observationId"] = observation_id
    if score.environment:
        body["environment"] = score.environment
    return {"id": score.envelope_id, "type": "score-create", "timestamp": moment(_instant(score)), "body": body}


def _instant(score: ScoreToWrite) -> datetime:
    """The trace's own time, a millisecond later for each revision.

    The UTC day is part of a score's identity: at its very end there is room for revisions, or the first of them past
    midnight would be a second score.
    """
    at = score.observed_at.astimezone(UTC)
    end = at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return min(at, end - (_MOST_REVISIONS + 1) * _STEP) + min(score.revision, _MOST_REVISIONS) * _STEP


def _batches(scores: Iterable[ScoreToWrite]) -> Iterable[list[ScoreToWrite]]:
    batch: list[ScoreToWrite] = []
    size = 0
    for score in scores:
        if isinstance(score.value, float | int) and not math.isfinite(score.value):
            raise LangfuseError(f"score {score.name} : valeur non finie, attendu un nombre")
        if score.observed_at.tzinfo is None:
            raise LangfuseError(f"score {score.name} : heure sans fuseau, attendu l’heure de la trace en UTC")
        weight = len(msgspec.json.encode(_event(score)))
        if batch and (len(batch) == _BATCH_ROWS or size + weight > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(score)
        size += weight
    if batch:
        yield batch


def _item(http: LangfuseHttp, row: Mapping[str, Any]) -> QueueItem:
    try:
        texts = (str(row[name]) for name in ("id", "objectId", "objectType", "status"))
        return QueueItem(*texts, *item_times(row))
    except (KeyError, TypeError, ValueError):
        raise unreadable(http) from None


def _object(trace_id: str) -> tuple[str, str]:
    whole, _, observation_id = trace_id.partition("/")
    return ("OBSERVATION", observation_id) if observation_id else ("TRACE", whole)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
