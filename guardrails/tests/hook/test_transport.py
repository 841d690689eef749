"""Sending to Langfuse, played by a loopback server: bodies, retries, counted losses, no redirect, keys not printed."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from compliance_guardrails import events, transport
from compliance_guardrails.events import Origin, Score, ScoreName
from compliance_guardrails.transport import Report, Reporter, Settings, TransportError, settings_from

ORIGIN = Origin("direction-sinistres", "d" * 64)
TRACE = "ab" * 16
UNCITED = Report(TRACE, 1_780_000_000_123_456_789, events.uncited_claim(ORIGIN, ["money", "delay"], 2))
BLOCKED = Report(TRACE, 1_780_000_000_123_456_789, events.gate_blocked(ORIGIN, 0.21, 0.35))
SCORE = Report(
    TRACE, 1_780_000_000_123_456_789, Score(ScoreName.CITATION_COMPLIANCE, 0, "direction-sinistres", "d" * 64)
)
KEYS = {"LANGFUSE_PUBLIC_KEY": "pk-lf-x", "LANGFUSE_SECRET_KEY": "sk-lf-secret"}


@dataclass
class Server:
    url: str = ""
    requests: list[tuple[str, str, Any, str]] = field(default_factory=list)
    versions: list[str | None] = field(default_factory=list)
    answer: Callable[[str, str], tuple[int, dict[str, str], Any]] = lambda _method, _path: (200, {}, {})

    def paths(self) -> list[str]:
        return [path for _, path, _, _ in self.requests]


@pytest.fixture
def server() -> Generator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

        def answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(raw) if raw else None
            state.requests.append((self.command, self.path, body, self.headers["Authorization"]))
            state.versions.append(self.headers["x-langfuse-ingestion-version"])
            status, headers, content = state.answer(self.command, self.path)
            data = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{running.server_address[1]}"
    yield state
    running.shutdown()
    running.server_close()
    thread.join()


class Sender:
    """A reporter that counts its losses and does not really wait."""

    def __init__(self, url: str) -> None:
        self.lost: dict[str, int] = {}
        self.pauses: list[float] = []
        self.reporter = Reporter(Settings(url, "pk-lf-x", "sk-lf-secret", "test"), self._lose, sleep=self._sleep)

    def _lose(self, reason: str, count: int) -> None:
        self.lost[reason] = self.lost.get(reason, 0) + count

    def _sleep(self, seconds: float) -> None:
        if seconds != 0.01:  # the poll of flush
            self.pauses.append(seconds)

    def send(self, *reports: Report) -> None:
        self.reporter.offer(reports)
        assert self.reporter.flush(20)


def queues(method: str, path: str) -> tuple[int, dict[str, str], Any]:
    if method == "GET":
        return 200, {}, {"data": [{"id": "q1", "name": "review-direction-sinistres"}]}
    return 200, {}, {"successes": [], "errors": []} if path.endswith("ingestion") else {}


def test_events_scores_and_queue_items(server: Server) -> None:
    server.answer = queues
    sender = Sender(server.url)
    sender.send(UNCITED, SCORE)
    assert sender.lost == {}
    bodies = {path: body for _, path, body, _ in server.requests}
    (span,) = bodies["/api/public/otel/v1/traces"]["resourceSpans"][0]["scopeSpans"][0]["spans"]
    attributes = {a["key"]: a["value"]["stringValue"] for a in span["attributes"]}
    assert span["traceId"] == TRACE
    assert span["name"] == "uncited-specific-claim"
    assert span["startTimeUnixNano"] == "1780000000123456789"
    assert attributes["langfuse.observation.level"] == "WARNING"
    assert attributes["langfuse.observation.type"] == "event"
    assert json.loads(attributes["langfuse.observation.metadata.kinds"]) == ["delay", "money"]
    assert attributes["langfuse.observation.metadata.department"] == "direction-sinistres"
    assert attributes["langfuse.environment"] == "test"
    assert not [key for key in attributes if "root" in key]
    (envelope,) = bodies["/api/public/ingestion"]["batch"]
    assert envelope["body"]["traceId"] == TRACE
    assert envelope["body"]["value"] == 0
    assert envelope["timestamp"] == "2026-05-28T20:26:40.123Z"
    assert bodies["/api/public/annotation-queues/q1/items"] == {"objectId": TRACE, "objectType": "TRACE"}
    assert server.requests[0][3].startswith("Basic ")
    assert set(server.versions) == {"4"}


def test_a_trace_is_queued_once(server: Server) -> None:
    server.answer = queues
    sender = Sender(server.url)
    flag = Report(TRACE, 1, events.protected_attribute(ORIGIN, ["r"], ["sexe"]))
    sender.send(UNCITED, flag)
    sender.send(UNCITED)
    assert [path for path in server.paths() if path.endswith("/items")] == ["/api/public/annotation-queues/q1/items"]


def test_a_missing_queue_is_counted_and_said_once(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.answer = lambda _m, _p: (200, {}, {"data": []})
    sender = Sender(server.url)
    with caplog.at_level(logging.WARNING):
        sender.send(UNCITED)
        sender.send(UNCITED)
    assert sender.lost == {"no_queue": 2}
    assert caplog.text.count("review-direction-sinistres") == 1


def test_the_same_event_sent_twice_is_the_same_row(server: Server) -> None:
    sender = Sender(server.url)
    sender.send(BLOCKED)
    sender.send(BLOCKED)
    spans = [body["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for _, _, body, _ in server.requests]
    assert spans[0]["spanId"] == spans[1]["spanId"]
    assert spans[0]["parentSpanId"] != spans[0]["spanId"]


def test_an_outage_counts_every_report_once(server: Server) -> None:
    """An event with its place in the queue, and a score: three things that were not delivered."""
    server.answer = lambda _method, _path: (503, {}, {})
    sender = Sender(server.url)
    sender.send(UNCITED, SCORE)
    assert sender.lost == {"unavailable": 3}


def test_queues_that_are_down_cost_one_wait_a_batch(server: Server) -> None:
    """Events and scores arrive all the same, and those behind them do not wait for each queue item in turn."""
    server.answer = lambda _method, path: (503, {}, {}) if "annotation" in path else (200, {}, {})
    sender = Sender(server.url)
    many = [Report(f"{at:032x}", UNCITED.at_ns, UNCITED.content) for at in range(20)]
    sender.send(*many, SCORE)
    assert sender.lost == {"unavailable": 20}
    assert len([path for path in server.paths() if "annotation" in path]) == transport.ATTEMPTS
    assert [path for path in server.paths() if "annotation" not in path] == [
        "/api/public/otel/v1/traces",
        "/api/public/ingestion",
    ]


def test_a_queue_item_that_is_refused_is_the_only_one_lost(server: Server) -> None:
    refused = iter([404, 200, 200])

    def answer(method: str, path: str) -> tuple[int, dict[str, str], Any]:
        if method == "GET":
            return 200, {}, {"data": [{"id": "q", "name": "review-direction-sinistres"}]}
        return (next(refused) if path.endswith("/items") else 200), {}, {}

    server.answer = answer
    sender = Sender(server.url)
    sender.send(*[Report(f"{at:032x}", UNCITED.at_ns, UNCITED.content) for at in range(3)])
    assert sender.lost == {"refused": 1}


@pytest.mark.parametrize(("header", "pause"), [({"Retry-After": "7"}, 7.0), ({}, 1.0), ({"Retry-After": "900"}, 30.0)])
def test_too_many_requests_are_waited_for(server: Server, header: dict[str, str], pause: float) -> None:
    answers = iter([(429, header, {}), (200, {}, {})])
    server.answer = lambda _m, _p: next(answers)
    sender = Sender(server.url)
    sender.send(BLOCKED)
    assert sender.lost == {}
    assert sender.pauses == [pause]


@pytest.mark.parametrize(
    ("status", "reason", "tries"), [(500, "unavailable", 4), (401, "refused", 1), (413, "refused", 1)]
)
def test_losses_are_counted(server: Server, status: int, reason: str, tries: int) -> None:
    server.answer = lambda _m, _p: (status, {}, {})
    sender = Sender(server.url)
    sender.send(BLOCKED, BLOCKED)
    assert sender.lost == {reason: 2}
    assert len(server.requests) == tries


def test_the_body_of_a_207_is_read(server: Server) -> None:
    server.answer = lambda _m, _p: (207, {}, {"successes": [], "errors": [{"id": "x", "status": 400}]})
    sender = Sender(server.url)
    sender.send(SCORE)
    assert sender.lost == {"refused": 1}


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.answer = lambda _m, _p: (302, {"Location": server.url + "/elsewhere"}, {})
    sender = Sender(server.url)
    sender.send(BLOCKED)
    assert sender.lost == {"refused": 1}
    assert server.paths() == ["/api/public/otel/v1/traces"]


def test_no_server_loses_reports_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    sender = Sender("http://127.0.0.1:9")
    sender.send(BLOCKED)
    assert sender.lost == {"unavailable": 1}
    assert "secret" not in caplog.text


def test_a_full_queue_drops_and_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_WAITING", 3)
    lost: list[int] = []
    reporter = Reporter(Settings("http://127.0.0.1:9", "p", "s"), lambda _reason, count: lost.append(count))
    monkeypatch.setattr(reporter, "_start", lambda: None)
    reporter.offer([BLOCKED] * 5)
    assert lost == [2]


def test_nothing_is_sent_without_settings() -> None:
    reporter = Reporter(None)
    reporter.offer([BLOCKED])
    assert not reporter.active
    assert reporter.flush(0.1)


def test_settings() -> None:
    assert settings_from({}) is None
    made = settings_from({**KEYS, "LANGFUSE_HOST": "https://langfuse.example/"})
    assert made is not None
    assert made.base_url == "https://langfuse.example"
    assert "secret" not in repr(made)


@pytest.mark.parametrize(
    "environment",
    [
        {"LANGFUSE_PUBLIC_KEY": "pk"},
        {"LANGFUSE_SECRET_KEY": "sk-lf-secret"},
        KEYS,
        {**KEYS, "LANGFUSE_BASE_URL": "langfuse.example"},
        {**KEYS, "LANGFUSE_BASE_URL": "file:///etc/passwd"},
        {**KEYS, "LANGFUSE_BASE_URL": "https://user:mot@langfuse.example"},
    ],
)
def test_wrong_settings_are_an_error_without_the_key(environment: dict[str, str]) -> None:
    with pytest.raises(TransportError, match="attendu") as wrong:
        settings_from(environment)
    assert "secret" not in str(wrong.value)
    assert "mot" not in str(wrong.value)
