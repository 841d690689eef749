"""A Langfuse server for tests, on the loopback: the real `langfuse` client, LiteLLM and our own adapter talk to it.

`with LangfuseStandIn(mode="events_only") as server:` gives `.url`, `.public_key`, `.secret_key`, the rows it holds
(`.observations`, `.scores`), the requests it saw (`.requests`) and `.faults` to misbehave on demand. By hand:
`python -m compliance_pipelines_tests.standins.langfuse --mode dual --port 3000`. It is no Langfuse: no UI, no limits of
storage, no evaluation; its answers follow recordings of a 4.16.0 server and its OpenAPI document.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import itertools
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from compliance_pipelines_tests.standins.langfuse_faults import Fault, Faults
from compliance_pipelines_tests.standins.langfuse_routes import MODES, Api
from compliance_pipelines_tests.standins.langfuse_rows import observation
from compliance_pipelines_tests.standins.langfuse_store import Row, Store

_PAGED = ("observations", "scores", "traces")
_SERVERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Request:
    """One request that reached the server; `body` is as sent, after gzip."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    status: int

    def json(self) -> Any:
        """The body read as JSON."""
        return json.loads(self.body)


def wall_clock() -> datetime:
    """The machine's time, for runs where the rows come from real clients."""
    return datetime.fromtimestamp(time.time(), UTC)


class LangfuseStandIn:
    """One project behind one key pair. `clock` sets createdAt and the Date header; `port` 0 takes a free one."""

    def __init__(
        self,
        mode: str = "events_only",
        *,
        clock: Callable[[], datetime] = wall_clock,
        port: int = 0,
        keep_requests: int = 10_000,
        cache_pages: bool = False,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"mode must be one of {MODES}")
        self.mode = mode
        # the SDK keeps one client a public key and process: two servers with one key would share the first's address
        self.public_key = f"pk-lf-standin-{next(_SERVERS)}"
        self.secret_key = "sk-lf-standin-secret"  # noqa: S105  a key of this test server only
        self.clock = clock
        self.faults = Faults()
        self.store = Store(clock)
        self.api = Api(self.store, mode, self.faults)
        self.requests: deque[Request] = deque(maxlen=keep_requests)
        self.cache: dict[tuple[int, str], tuple[int, bytes]] | None = {} if cache_pages else None
        self.stopping = threading.Event()
        self._port = port
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Base address, without a slash at its end."""
        if self._server is None:
            raise RuntimeError("the stand-in is not started")
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def observations(self) -> list[Row]:
        """Stored observation rows in v4 shape with all groups, newest first."""
        return self.store.observations()

    @property
    def scores(self) -> list[Row]:
        """Stored scores in v3 shape with all groups, newest first."""
        return self.store.scores()

    def add(self, *rows: Row, **row: Any) -> None:
        """Put observation rows: given whole, or one by its fields (defaults as the server's)."""
        self.store.put_observations([*rows, *([observation(**row)] if row else [])])

    def add_score(self, timestamp: str | None = None, **body: Any) -> str:
        """Put one score by its request body; returns its id."""
        return self.store.put_score(body, timestamp)

    def wait_for(self, condition: Callable[[LangfuseStandIn], bool], seconds: float = 10.0) -> None:
        """Wait until a client that sends in the background has sent; AssertionError after `seconds`."""
        deadline = time.monotonic() + seconds
        while not condition(self):
            if time.monotonic() > deadline:
                raise AssertionError("the stand-in did not receive what was expected in time")
            time.sleep(0.01)

    def __enter__(self) -> LangfuseStandIn:
        handler = type("BoundHandler", (_Handler,), {"stand_in": self})
        self._server = _Server(("127.0.0.1", self._port), handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    stand_in: LangfuseStandIn

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class's name
        """Nothing on the terminal."""

    def _serve(self) -> None:
        server = self.stand_in
        parts = urlsplit(self.path)
        path, query = unquote(parts.path), dict(parse_qsl(parts.query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        fault = server.faults.take(path)
        if fault is not None and fault.kind == "hang":
            server.stopping.wait(fault.seconds)
        if fault is not None and fault.kind == "reset":
            self._log(path, query, body, 0)
            self._reset()
            return
        status, content = self._answer(path, query, body, fault)
        paged = self.command == "GET" and path.rsplit("/", 1)[-1] in _PAGED
        if paged and server.faults.latency:
            server.stopping.wait(server.faults.latency)
        self._log(path, query, body, status)
        if paged:
            # before sending: the reader may ask for the next page at once
            server.faults.page_served(path)
        self._send(status, content, fault.headers if fault else {})

    def _answer(self, path: str, query: dict[str, str], body: bytes, fault: Fault | None) -> tuple[int, bytes]:
        server = self.stand_in
        if fault is not None and fault.kind == "status":
            return fault.status, fault.body
        if not self._authorized() and path != "/api/public/health":
            message = "Invalid credentials. Confirm that you've configured the correct host."
            return 401, msgspec.json.encode({"error": "UnauthorizedError", "message": message})
        if self.command == "GET" and path.rsplit("/", 1)[-1] in _PAGED and server.faults.is_too_wide(query):
            return server.faults.wide_status, b'{"message":"The query took too long. Please narrow the time range."}'
        key = (server.store.version, self.path)
        if server.cache is not None and key in server.cache:
            return server.cache[key]
        status, answer = server.api.answer(self.command, path, query, body, self.headers.get("Content-Type") or "")
        if fault is not None and fault.kind == "repeat_cursor" and query.get("cursor"):
            answer["meta"]["cursor"] = query["cursor"]
        content = msgspec.json.encode(answer)
        if fault is not None and fault.kind == "truncate":
            return status, content[: len(content) // 2]
        if server.cache is not None and self.command == "GET":
            server.cache[key] = (status, content)
        return status, content

    def _authorized(self) -> bool:
        pair = f"{self.stand_in.public_key}:{self.stand_in.secret_key}".encode()
        return self.headers.get("Authorization") == "Basic " + base64.b64encode(pair).decode()

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        self.send_header("Date", format_datetime(self.stand_in.clock(), usegmt=True))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True

    def _log(self, path: str, query: dict[str, str], body: bytes, status: int) -> None:
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower() != "authorization"}
        self.stand_in.requests.append(Request(self.command, path, query, headers, body, status))


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Langfuse stand-in on the loopback, empty at start")
    parser.add_argument("--mode", choices=MODES, default="events_only")
    parser.add_argument("--port", type=int, default=3000)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds a page")
    given = parser.parse_args()
    with LangfuseStandIn(given.mode, port=given.port) as server:
        server.faults.latency = given.latency
        print(f"LANGFUSE_BASE_URL={server.url}")
        print(f"LANGFUSE_PUBLIC_KEY={server.public_key}")
        print(f"LANGFUSE_SECRET_KEY={server.secret_key}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
