"""Sending what the hook reports to Langfuse, off the request path: events by OTLP/HTTP, scores by the ingestion API,
review-queue items one by one.

`Reporter.offer` puts a report into a bounded queue and returns at once; one daemon thread sends in batches, waits as a
429 asks, and gives up after a few attempts. What is lost is counted, never raised. Only the standard library is used.
Keys and texts never reach a log line. What the rows look like is `langfuse_wire`.
"""

from __future__ import annotations

import atexit
import base64
import enum
import http.client
import json
import logging
import os
import queue
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .events import QUEUE_PREFIX, Event, Score
from .langfuse_wire import Report, envelope_of, otlp_of, span_of

MAX_WAITING: Final = 10_000
"""Reports that may wait; beyond, new ones are dropped and counted."""

BATCH: Final = 100
LINGER_SECONDS: Final = 0.25
ATTEMPTS: Final = 4
TIMEOUT_SECONDS: Final = 10.0
MAX_WAIT_SECONDS: Final = 30.0
QUEUES_KEPT_SECONDS: Final = 600.0
MAX_REMEMBERED: Final = 20_000

_LOG: Final = logging.getLogger("compliance_guardrails.transport")
_DIRECT: Final = {"x-langfuse-ingestion-version": "4"}
"""Without it a v4 server takes OTLP spans by its old path, where they are read some ten minutes later."""

_FAILURES: Final = (OSError, ValueError, http.client.HTTPException)
_RETRIED: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 524})


class Loss(enum.StrEnum):
    """Why a report was not delivered; each is counted."""

    QUEUE_FULL = "queue_full"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    NO_QUEUE = "no_queue"
    ERROR = "error"


class TransportError(ValueError):
    """The settings of Langfuse are set but wrong; one French line."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where Langfuse is. `secret_key` is never printed."""

    base_url: str
    public_key: str
    secret_key: str
    environment: str | None = None

    def __repr__(self) -> str:
        return f"Settings(base_url={self.base_url!r})"


def settings_from(environment: Mapping[str, str]) -> Settings | None:
    """The settings in `environment`, None when no LANGFUSE key is set. Raises TransportError when only some are."""
    public, secret = environment.get("LANGFUSE_PUBLIC_KEY", ""), environment.get("LANGFUSE_SECRET_KEY", "")
    if not public and not secret:
        return None
    if not public or not secret:
        raise TransportError("LANGFUSE_PUBLIC_KEY et LANGFUSE_SECRET_KEY : attendu les deux, ou aucune")
    url = environment.get("LANGFUSE_BASE_URL") or environment.get("LANGFUSE_HOST") or ""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None:
        raise TransportError("LANGFUSE_BASE_URL (ou LANGFUSE_HOST) : attendu une adresse http(s) sans identifiants")
    return Settings(url.rstrip("/"), public, secret, environment.get("LANGFUSE_TRACING_ENVIRONMENT") or None)


class Reporter:
    """The queue and its thread. `dropped(reason, count)` is told of every loss."""

    def __init__(
        self,
        settings: Settings | None,
        dropped: Callable[[Loss, int], None] = lambda _reason, _count: None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._dropped = dropped
        self._sleep = sleep
        self._clock = clock
        self._waiting: queue.Queue[Report] = queue.Queue(MAX_WAITING)
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None
        self._pid = 0
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._queues: tuple[float, Mapping[str, str]] | None = None
        self._queued: dict[tuple[str, str], None] = {}
        self._told: set[str] = set()

    @property
    def active(self) -> bool:
        """Whether Langfuse is configured."""
        return self._settings is not None

    def offer(self, reports: Iterable[Report]) -> None:
        """Take reports to send; never blocks, never raises."""
        if self._settings is None:
            return
        lost = 0
        for report in reports:
            try:
                self._waiting.put_nowait(report)
            except queue.Full:
                lost += 1
        if lost:
            self._dropped(Loss.QUEUE_FULL, lost)
        if self._pid != os.getpid():
            self._start()

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until what was offered is sent or lost; False when `seconds` were not enough."""
        deadline = self._clock() + seconds
        while self._waiting.unfinished_tasks and self._clock() < deadline:
            self._sleep(0.01)
        return not self._waiting.unfinished_tasks

    def _start(self) -> None:
        # One thread for each process: a fork does not bring its parent's threads along.
        with self._lock:
            if self._pid == os.getpid():
                return
            self._pid = os.getpid()
            self._worker = threading.Thread(target=self._run, name="compliance-reports", daemon=True)
            self._worker.start()
            atexit.register(self.flush, 2.0)

    def _run(self) -> None:
        while True:
            batch = [self._waiting.get()]
            deadline = self._clock() + LINGER_SECONDS
            while len(batch) < BATCH and (left := deadline - self._clock()) > 0:
                try:
                    batch.append(self._waiting.get(timeout=left))
                except queue.Empty:
                    break
            try:
                self._send(batch)
            except Exception as error:  # noqa: BLE001 - the thread must live on; only the kind is told
                self._lose(Loss.ERROR, len(batch), type(error).__name__)
            finally:
                for _ in batch:
                    self._waiting.task_done()

    def _send(self, batch: Sequence[Report]) -> None:
        settings = self._settings
        if settings is None:
            return
        found = [(report, report.content) for report in batch if isinstance(report.content, Event)]
        scores = [(report, report.content) for report in batch if isinstance(report.content, Score)]
        if found:
            spans = [span_of(report, event, settings.environment) for report, event in found]
            self._post("/api/public/otel/v1/traces", otlp_of(spans), len(found))
        if scores:
            answer = self._post(
                "/api/public/ingestion",
                {"batch": [envelope_of(report, score, settings.environment) for report, score in scores]},
                len(scores),
            )
            refused = answer.get("errors") if isinstance(answer, dict) else None
            if isinstance(refused, list) and refused:
                self._lose(Loss.REFUSED, len(refused), "207")
        waiting = [(report.trace_id, event.department) for report, event in found if event.review]
        for number, (trace_id, department) in enumerate(waiting):
            try:
                self._queue(trace_id, department)
            except _FAILURES as error:
                reason, detail = _loss_of(error)
                if reason is Loss.UNAVAILABLE:
                    # Each of the others would wait as long, and the reports behind them with it.
                    self._lose(reason, len(waiting) - number, detail)
                    return
                self._lose(reason, 1, detail)

    def _queue(self, trace_id: str, department: str) -> None:
        """Put a trace into the department's review queue, once; raises what the request raised."""
        key = (department, trace_id)
        if key in self._queued:
            return
        queue_id = self._queue_ids().get(QUEUE_PREFIX + department)
        if queue_id is None:
            self._lose(Loss.NO_QUEUE, 1, QUEUE_PREFIX + department)
            return
        path = f"/api/public/annotation-queues/{urllib.parse.quote(queue_id, safe='')}/items"
        self._request("POST", path, {"objectId": trace_id, "objectType": "TRACE"})
        self._queued[key] = None
        if len(self._queued) > MAX_REMEMBERED:
            del self._queued[next(iter(self._queued))]

    def _queue_ids(self) -> Mapping[str, str]:
        """Queue name → id, asked for again after ten minutes."""
        if self._queues is not None and self._clock() - self._queues[0] < QUEUES_KEPT_SECONDS:
            return self._queues[1]
        found: dict[str, str] = {}
        for page in range(1, 21):
            answer = self._request("GET", f"/api/public/annotation-queues?limit=100&page={page}", None)
            rows = answer.get("data") if isinstance(answer, dict) else None
            if not isinstance(rows, list) or not rows:
                break
            found |= {row["name"]: row["id"] for row in rows if isinstance(row, dict) and "name" in row and "id" in row}
            if len(rows) < 100:
                break
        self._queues = (self._clock(), found)
        return found

    def _post(self, path: str, body: object, count: int) -> Any:
        """The answer of a POST, or None with `count` reports counted as lost."""
        try:
            return self._request("POST", path, body)
        except _FAILURES as error:
            reason, detail = _loss_of(error)
            self._lose(reason, count, detail)
        return None

    def _request(self, method: str, path: str, body: object) -> Any:
        """One exchange with retries; raises what the last attempt raised."""
        settings = self._settings
        if settings is None:
            return None
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        token = base64.b64encode(f"{settings.public_key}:{settings.secret_key}".encode()).decode()
        headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json", "Accept": "application/json"}
        headers |= _DIRECT
        for attempt in range(1, ATTEMPTS + 1):
            # The address is the operator's own setting, checked to be http(s).
            request = urllib.request.Request(settings.base_url + path, data, headers, method=method)  # noqa: S310
            try:
                with self._opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
                    content = answer.read()
                return json.loads(content) if content.strip() else {}
            except urllib.error.HTTPError as error:
                error.close()
                if error.code not in _RETRIED or attempt == ATTEMPTS:
                    raise
                pause = _retry_after(error.headers.get("Retry-After"))
            except (TimeoutError, urllib.error.URLError, ConnectionError, http.client.HTTPException):
                if attempt == ATTEMPTS:
                    raise
                pause = None
            self._sleep(min(MAX_WAIT_SECONDS, 0.5 * 2**attempt if pause is None else pause))
        return None

    def _lose(self, reason: Loss, count: int, detail: str) -> None:
        self._dropped(reason, count)
        if f"{reason}/{detail}" not in self._told:
            self._told.add(f"{reason}/{detail}")
            _LOG.warning("compliance reports not delivered: reason=%s detail=%s (said once)", reason, detail)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host: it is an error instead."""

    def redirect_request(self, *_args: object, **_kwargs: object) -> None:
        """Never follow."""


def _loss_of(error: Exception) -> tuple[Loss, str]:
    if isinstance(error, urllib.error.HTTPError):
        return (Loss.UNAVAILABLE if error.code in _RETRIED else Loss.REFUSED), str(error.code)
    return Loss.UNAVAILABLE, type(error).__name__


def _retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header; its date form is left to the usual pause."""
    return float(value) if value is not None and value.strip().isdigit() else None
