"""A caller of the test gateway: the four ways to ask, streamed or not, and server-sent events read back.

Adds a similarity of 0.9 unless told otherwise, so that the grounding gate opens.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

OPEN = 0.9
Json = dict[str, Any]


@dataclass
class Answer:
    """What came back: status, headers, the JSON body or the events of a stream."""

    status: int
    headers: httpx.Headers
    body: Any = None
    events: list[Json] = field(default_factory=list)
    raw: str = ""

    @property
    def trace_id(self) -> str:
        """The trace that the hook reports to."""
        return self.headers["x-compliance-trace-id"]

    @property
    def message(self) -> str:
        """The error's message."""
        return self.body["error"]["message"]

    def text(self, choice: int = 0) -> str:
        """The text that the user sees, of any of the protocols."""
        if not self.events:
            return _whole_text(self.body, choice)
        parts = []
        for event in self.events:
            parts += [
                (found.get("delta") or {}).get("content") or found.get("text") or ""
                for found in event.get("choices", ())
                if found.get("index") == choice
            ]
            if event.get("type") == "content_block_delta":
                parts.append(event["delta"].get("text", ""))
            if event.get("type") == "response.output_text.delta":
                parts.append(event["delta"])
        return "".join(parts)


def _whole_text(body: Json, choice: int) -> str:
    if "choices" in body:
        found = body["choices"][choice]
        return (found["message"]["content"] if "message" in found else found["text"]) or ""
    if "output" in body:
        return "".join(p["text"] for i in body["output"] if i["type"] == "message" for p in i["content"])
    return "".join(block.get("text", "") for block in body["content"])


class Client:
    """One caller with a test key."""

    def __init__(self, http: httpx.Client, key: str = "sinistres") -> None:
        self.http = http
        self.key = key

    def as_key(self, key: str) -> Client:
        """The same gateway with another key."""
        return Client(self.http, key)

    def headers(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        """The authorization header and `extra`."""
        return {"Authorization": f"Bearer sk-test-{self.key}", **(extra or {})}

    def chat(self, text: Any, *, score: Any = OPEN, stream: bool = False, **body: Any) -> Answer:
        """POST /v1/chat/completions with one user message; `messages` and `metadata` may replace it."""
        body.setdefault("messages", [{"role": "user", "content": text}])
        return self.post("/v1/chat/completions", _with_score(body, score), stream=stream)

    def messages(self, text: Any, *, score: Any = OPEN, stream: bool = False, **body: Any) -> Answer:
        """POST /v1/messages."""
        body = {"max_tokens": 200, "messages": [{"role": "user", "content": text}], **body}
        return self.post("/v1/messages", _with_score(body, score), stream=stream)

    def responses(self, text: Any, *, score: Any = str(OPEN), stream: bool = False, **body: Any) -> Answer:
        """POST /v1/responses."""
        return self.post("/v1/responses", _with_score({"input": text, **body}, score), stream=stream)

    def post(self, path: str, body: Json, *, stream: bool = False, headers: dict[str, str] | None = None) -> Answer:
        """Any POST; the model asked for is `claims-assistant` unless the body says otherwise."""
        body = {"model": "claims-assistant", **body, **({"stream": True} if stream else {})}
        # json.dumps writes NaN as Python clients do; httpx would refuse it.
        content = json.dumps(body).encode()
        sent = self.headers({"Content-Type": "application/json", **(headers or {})})
        with self.http.stream("POST", path, content=content, headers=sent) as answer:
            raw = answer.read().decode()
            kind = answer.headers.get("content-type", "")
            if kind.startswith("text/event-stream"):
                events = read_events(raw)
                error = events[0] if answer.status_code >= 400 else None
                return Answer(answer.status_code, answer.headers, body=error, events=events, raw=raw)
            return Answer(answer.status_code, answer.headers, body=json.loads(raw) if raw else None, raw=raw)

    @contextlib.contextmanager
    def leaving_at(self, mark: bytes, text: str) -> Iterator[str]:
        """A streamed chat read until `mark` has come; what the body does happens before the client hangs up.

        Yields the trace id.
        """
        body = {
            "model": "claims-assistant", "messages": [{"role": "user", "content": text}], "stream": True,
            "metadata": {"retrieval_score": OPEN},
        }  # fmt: skip
        with self.http.stream("POST", "/v1/chat/completions", json=body, headers=self.headers()) as answer:
            seen = b""
            for chunk in answer.iter_raw():
                seen += chunk
                if mark in seen:
                    break
            yield answer.headers["x-compliance-trace-id"]


def read_events(raw: str) -> list[Json]:
    """The JSON events of an SSE body, the closing mark left out."""
    found = []
    for frame in raw.replace("\r\n", "\n").split("\n\n"):
        data = "\n".join(line[5:].strip() for line in frame.split("\n") if line.startswith("data:"))
        if data and data != "[DONE]":
            found.append(json.loads(data))
    return found


def _with_score(body: Json, score: Any) -> Json:
    if score is None:
        return body
    return {**body, "metadata": {**body.get("metadata", {}), "retrieval_score": score}}
