"""A model server for the gateway tests: the chat endpoints of OpenAI and of Ollama, answering what the test says.

`with ModelStub() as model:` then `model.answer = lambda request: Reply(...)`. Requests are kept in `model.requests`
as they arrived. It has no language in it: what it says shows how the gateway behaves, nothing of quality.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
SMALL_MODEL = "llama3.2:1b"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `choices` are texts (None: no content); `piece` is the size of a streamed piece in characters.

    `extra` are fields beside the text, in the message or in a delta of their own (OpenAI's protocol only).
    """

    choices: tuple[str | None, ...] = ("Bonjour.",)
    tool_calls: tuple[Json, ...] = ()
    reasoning: str | None = None
    piece: int = 12
    pause: float = 0.0
    first: float = 0.0
    status: int = 200
    break_after: int | None = None
    extra: Json = field(default_factory=dict)


def say(*texts: str | None, **options: Any) -> Reply:
    """A reply with these choices."""
    return Reply(choices=texts, **options)


@dataclass
class ModelStub:
    """The server. `rating` is what the small model says when it is asked for a digit."""

    answer: Callable[[Json], Reply] = field(default=lambda _request: Reply())
    rating: Callable[[Json], Reply] = field(default=lambda _request: say("3"))
    requests: list[Json] = field(default_factory=list)
    hung_up: int = 0

    def __enter__(self) -> ModelStub:
        stub = self
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Bound", (_Handler,), {"stub": stub, "protocol_version": "HTTP/1.1"})
        )
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def reset(self) -> None:
        """Forget requests and answers."""
        self.requests.clear()
        self.answer = lambda _request: Reply()
        self.rating = lambda _request: say("3")

    def asked(self) -> list[Json]:
        """The requests for answers, those for a rating left out."""
        return [request for request in self.requests if not _is_rating(request)]

    def rated(self) -> list[Json]:
        """The requests for a rating."""
        return [request for request in self.requests if _is_rating(request)]

    def reply_to(self, request: Json) -> Reply:
        """What is said to `request`."""
        self.requests.append(request)
        return self.rating(request) if _is_rating(request) else self.answer(request)


def _is_rating(request: Json) -> bool:
    messages = request.get("messages")
    return isinstance(messages, list) and "[[ANSWER]]" in json.dumps(messages)


def _pieces(text: str, size: int) -> Iterator[str]:
    for at in range(0, len(text), size):
        yield text[at : at + size]


class _Handler(BaseHTTPRequestHandler):
    stub: ModelStub

    def log_message(self, *_: object) -> None:
        """Stay silent."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = self.stub.reply_to(body)
        ollama = self.path.endswith("/api/chat")
        time.sleep(reply.first)
        try:
            if reply.status != 200:
                self._send(reply.status, json.dumps({"error": {"message": "the model refuses"}}).encode())
            elif body.get("stream", ollama):
                self._stream(_ollama_lines(body, reply) if ollama else _openai_lines(body, reply), reply, ollama=ollama)
            else:
                self._send(200, json.dumps(_ollama(body, reply) if ollama else _openai(body, reply)).encode())
        except (BrokenPipeError, ConnectionResetError):
            self.stub.hung_up += 1
            self.close_connection = True

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, lines: Iterator[bytes], reply: Reply, *, ollama: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson" if ollama else "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, line in enumerate(lines):
            if reply.break_after is not None and number >= reply.break_after:
                self.close_connection = True
                with contextlib.suppress(OSError):
                    self.connection.close()
                return
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self.wfile.flush()
            time.sleep(reply.pause)
        self.wfile.write(b"0\r\n\r\n")


def _openai(body: Json, reply: Reply) -> Json:
    choices = []
    for at, text in enumerate(reply.choices):
        message: Json = {"role": "assistant", "content": text, **reply.extra}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.tool_calls:
            message["tool_calls"] = list(reply.tool_calls)
        choices.append({"index": at, "message": message, "finish_reason": "tool_calls" if reply.tool_calls else "stop"})
    usage = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
    return {
        "id": "chatcmpl-stub", "object": "chat.completion", "created": 1, "model": body.get("model"),
        "choices": choices, "usage": usage,
    }  # fmt: skip


def _openai_lines(body: Json, reply: Reply) -> Iterator[bytes]:
    def line(at: int, delta: Json, finish: str | None = None) -> bytes:
        chunk = {
            "id": "chatcmpl-stub", "object": "chat.completion.chunk", "created": 1, "model": body.get("model"),
            "choices": [{"index": at, "delta": delta, "finish_reason": finish}],
        }  # fmt: skip
        return f"data: {json.dumps(chunk)}\n\n".encode()

    for at, text in enumerate(reply.choices):
        yield line(at, {"role": "assistant", "content": ""})
        for piece in _pieces(reply.reasoning or "", reply.piece):
            yield line(at, {"reasoning_content": piece})
        for piece in _pieces(text or "", reply.piece):
            yield line(at, {"content": piece})
        if reply.extra:
            yield line(at, reply.extra)
        for number, call in enumerate(reply.tool_calls):
            yield line(at, {"tool_calls": [{"index": number, **call}]})
    for at in range(len(reply.choices)):
        yield line(at, {}, "tool_calls" if reply.tool_calls else "stop")
    yield b"data: [DONE]\n\n"


def _ollama(body: Json, reply: Reply) -> Json:
    message = {"role": "assistant", "content": reply.choices[0] or ""}
    if reply.reasoning:
        message["thinking"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            {"function": {"name": c["function"]["name"], "arguments": {}}} for c in reply.tool_calls
        ]
    return {
        "model": body.get("model"), "created_at": "2026-06-01T00:00:00Z", "message": message, "done": True,
        "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 20,
    }  # fmt: skip


def _ollama_lines(body: Json, reply: Reply) -> Iterator[bytes]:
    head = {"model": body.get("model"), "created_at": "2026-06-01T00:00:00Z"}
    for piece in _pieces(reply.reasoning or "", reply.piece):
        line = {**head, "message": {"role": "assistant", "content": "", "thinking": piece}, "done": False}
        yield json.dumps(line).encode() + b"\n"
    for piece in _pieces(reply.choices[0] or "", reply.piece):
        line = {**head, "message": {"role": "assistant", "content": piece}, "done": False}
        yield json.dumps(line).encode() + b"\n"
    if reply.tool_calls:
        yield json.dumps({**head, "message": _ollama(body, reply)["message"], "done": False}).encode() + b"\n"
    last = {**head, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    yield json.dumps({**last, "prompt_eval_count": 10, "eval_count": 20}).encode() + b"\n"
