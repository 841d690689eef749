"""An OpenAI-compatible server for tests: it judges by a visible rule, or misbehaves as it is told.

`with LlmStub() as stub:` listens on loopback; `stub.behave = ...` decides each reply. It speaks keep-alive HTTP/1.1 on
an event loop of its own, counts what is in flight and keeps every request. It has no language in it: what it says
shows how the pipeline behaves, nothing of a model's quality. `python -m compliance_pipelines_tests.standins.llm
--latency 0.2` serves it from a process of its own and prints its address.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from compliance_pipelines_tests.standins.llm_minds import honest

Json = dict[str, Any]
REASONS = {200: "OK", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply. `content` None: a message without content. `raw` replaces the whole body. `hang_up`: no reply.

    `wire` is written as it is, head included; with `drip`, one byte at a time and that many seconds apart.
    """

    content: str | None = "{}"
    status: int = 200
    latency: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"
    prompt_tokens: int | None = None
    raw: bytes | None = None
    hang_up: bool = False
    wire: bytes | None = None
    drip: float = 0.0


Behaviour = Callable[[Json], Reply]


def judging(mind: Callable[[Json], str | None] = honest, **options: Any) -> Behaviour:
    """Reply with what `mind` makes of the request."""
    return lambda request: Reply(content=mind(request), **options)


@dataclass
class LlmStub:
    """The server. `requests` are the bodies in the order of arrival; `most_in_flight` the highest count at once.

    `elsewhere`: replies to other paths than the chat's, by the path's end.
    """

    behave: Behaviour = field(default_factory=judging)
    model: str = "juge-test"
    digest: str | None = "sha256:" + "a" * 64
    key: str | None = None
    latency: float = 0.0
    requests: list[Json] = field(default_factory=list)
    most_in_flight: int = 0
    in_flight: int = 0
    keep: bool = True
    elsewhere: dict[str, Reply] = field(default_factory=dict)

    def __enter__(self) -> LlmStub:
        self._loop = asyncio.new_event_loop()
        started = threading.Event()

        def serve() -> None:
            asyncio.set_event_loop(self._loop)
            self._server = self._loop.run_until_complete(asyncio.start_server(self._connection, "127.0.0.1", 0))
            self._port = self._server.sockets[0].getsockname()[1]
            started.set()
            self._loop.run_forever()
            self._loop.run_until_complete(self._close())
            self._loop.close()

        self._thread = threading.Thread(target=serve, daemon=True)
        self._thread.start()
        started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _close(self) -> None:
        self._server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def root(self) -> str:
        """The address without /v1."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """The address a user would configure."""
        return f"{self.root}/v1"

    def reset(self) -> None:
        """Forget the requests."""
        self.requests.clear()
        self.most_in_flight = 0

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await _head(reader)) is not None:
                line, headers = head
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                if not await self._answer(line, headers, body, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # cancelled only when the server closes, and nothing is left to do
            pass
        finally:
            writer.close()

    async def _answer(self, line: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter) -> bool:
        path = line.split(" ")[1]
        if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
            return await _send(writer, Reply(status=401, raw=b'{"error":{"message":"bad key"}}'))
        if (other := self._elsewhere(path, body)) is not None:
            return await _send(writer, other)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            request = json.loads(body)
            if self.keep:
                self.requests.append(request)
            reply = self.behave(request)
            await asyncio.sleep(reply.latency or self.latency)
        finally:
            self.in_flight -= 1
        if reply.hang_up:
            return False
        return await _send(writer, reply, request)

    def _elsewhere(self, path: str, body: bytes) -> Reply | None:
        """The reply to a path that is not the chat's."""
        for end, reply in self.elsewhere.items():
            if path.endswith(end):
                return reply
        if path.endswith("/models"):
            return Reply(raw=json.dumps({"data": [{"id": self.model}]}).encode())
        if path.endswith("/api/tags"):
            found = [{"name": self.model, "digest": self.digest}] if self.digest else []
            return Reply(raw=json.dumps({"models": found}).encode())
        return Reply(raw=_embeddings(json.loads(body))) if path.endswith("/embeddings") else None


async def _head(reader: asyncio.StreamReader) -> tuple[str, dict[str, str]] | None:
    try:
        raw = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    line, *rest = raw.split("\r\n")
    return line, {k.lower(): v.strip() for k, _, v in (h.partition(":") for h in rest if h)}


async def _send(writer: asyncio.StreamWriter, reply: Reply, request: Json | None = None) -> bool:
    if reply.wire is not None:
        for part in [reply.wire[n : n + 1] for n in range(len(reply.wire))] if reply.drip else [reply.wire]:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(reply.drip)
        return True
    if reply.raw is not None:
        body = reply.raw
    elif reply.status != 200:
        body = b'{"error":{"message":"refused"}}'
    else:
        chars = sum(len(str(m.get("content"))) for m in (request or {}).get("messages", []))
        tokens = reply.prompt_tokens if reply.prompt_tokens is not None else chars // 4
        message = {"role": "assistant", "content": reply.content}
        body = json.dumps(
            {
                "id": "chatcmpl-stub", "object": "chat.completion", "created": 1, "model": (request or {}).get("model"),
                "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
                "usage": {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20},
            }
        ).encode()  # fmt: skip
    lines = [f"HTTP/1.1 {reply.status} {REASONS.get(reply.status, 'Status')}", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(body)}", *(f"{name}: {value}" for name, value in reply.headers)]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    await writer.drain()
    return True


def _embeddings(request: Json) -> bytes:
    texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
    # letters counted: deterministic, and equal texts are equal
    rows = [[1.0 + t.count(c) for c in "abcdefghijklmnop"] for t in map(str, texts)]
    data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return json.dumps({"object": "list", "model": request.get("model"), "data": data, "usage": usage}).encode()


def main() -> None:
    """Serve until the standard input closes; print the address, then "calls most_in_flight" at each line read."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--content", help="reply with this instead of judging")
    given = parser.parse_args()
    mind = judging() if given.content is None else judging(lambda _request: given.content)
    stub = LlmStub(latency=given.latency, keep=False)
    count = 0

    def behave(request: Json) -> Reply:
        nonlocal count
        count += 1
        return mind(request)

    stub.behave = behave
    with stub:
        sys.stdout.write(f"{stub.url}\n")
        sys.stdout.flush()
        for _ in sys.stdin:
            sys.stdout.write(f"{count} {stub.most_in_flight}\n")
            sys.stdout.flush()
            count = stub.most_in_flight = 0


if __name__ == "__main__":
    main()
