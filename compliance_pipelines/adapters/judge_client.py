"""One chat call to an OpenAI-compatible server, and what became of it.

httpx, not a vendor's client: one dependency less and half the CPU of a call. No retry here (judge_pool decides), no
meaning (core.judge_reply reads). Whatever the server does, a call ends within its time and in an `Answer`. Errors never
carry a server's text, a key or a trace.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from compliance_pipelines.adapters.judge_config import JudgeConfigError, JudgeSettings
from compliance_pipelines.core.judge_prompt import Messages
from compliance_pipelines.core.judge_reply import CUT, EMPTY, PROMPT_CUT

MAX_BODY = 2_000_000
MAX_RETRY_AFTER = 300.0
# below one token for eight characters of French a server has cut the prompt (small default context windows do)
_CHARS_PER_TOKEN = 8
_CUT_FROM = 4_000

TIMEOUT = "timeout"
UNREACHABLE = "unreachable"
RATE_LIMITED = "rate_limited"
SERVER_ERROR = "server_error"
REFUSED = "request_refused"
NOT_A_COMPLETION = "not_a_completion"


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply's text, or why there is none. `retry` tells what may pass later; `retry_after` seconds asked for.

    fatal: what is wrong with the settings, if the server refuses everything (key refused, model unknown). A server that
    answers other calls refuses this one alone, as a filter before it does.
    """

    content: str | None = None
    reason: str | None = None
    retry: bool = False
    retry_after: float | None = None
    fatal: JudgeConfigError | None = None


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class ChatClient:
    """Calls to one model. Use as an async context manager; `parameters` go into every request.

    timeout: seconds a call may take in all, so that a server that sends a byte now and then holds nobody up.
    """

    def __init__(self, settings: JudgeSettings, parameters: Mapping[str, Any], timeout: float) -> None:
        self._settings = settings
        self._parameters = dict(parameters)
        self._url = httpx.URL(f"{settings.base_url}/chat/completions")
        self._decoder = msgspec.json.Decoder(_Completion)
        self._encoder = msgspec.json.Encoder()
        self._headers = {**headers(settings), "Accept": "application/json", "Accept-Encoding": "gzip, deflate"}
        self._timeout = timeout
        self._extensions = {"timeout": httpx.Timeout(timeout).as_dict()}
        # a transport alone: redirects, cookies and merged settings are not wanted and cost a quarter of a call's CPU;
        # one pool of connections for all costs a scan over them at each step of each call: one a call in flight
        self._free: list[httpx.AsyncHTTPTransport] = []
        self._all: list[httpx.AsyncHTTPTransport] = []
        # without certificates to trust it could verify nothing: made in full only where TLS is spoken
        secure = settings.base_url.startswith("https:")
        self._tls = httpx.create_ssl_context(trust_env=False) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    async def __aenter__(self) -> ChatClient:
        return self

    async def __aexit__(self, *_: Any) -> None:
        for http in self._all:
            await http.aclose()

    @contextmanager
    def _lent(self) -> Generator[httpx.AsyncHTTPTransport]:
        if not self._free:
            one = httpx.Limits(max_connections=1, max_keepalive_connections=1)
            made = httpx.AsyncHTTPTransport(verify=self._tls, trust_env=False, limits=one)
            self._free.append(made)
            self._all.append(made)
        http = self._free.pop()
        try:
            yield http
        finally:
            self._free.append(http)

    async def ask(
        self, messages: Messages, schema: Mapping[str, object] | None, wall: Callable[[], datetime]
    ) -> Answer:
        """The answer to `messages`, as JSON under `schema` when one is given."""
        body: dict[str, object] = {"model": self._settings.model, "messages": messages, **self._parameters}
        if schema is not None:
            asked = {"name": "reponse", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": asked}
        request = httpx.Request(
            "POST",
            self._url,
            headers=self._headers,
            content=self._encoder.encode(body),
            extensions=self._extensions,
        )
        try:
            async with asyncio.timeout(self._timeout):
                with self._lent() as http:
                    response = await http.handle_async_request(request)
                    try:
                        raw = await bounded(response)
                    finally:
                        await response.aclose()
        except (httpx.TimeoutException, TimeoutError):
            return Answer(reason=TIMEOUT, retry=True)
        except (httpx.TransportError, httpx.DecodingError):
            return Answer(reason=UNREACHABLE, retry=True)
        if response.status_code != 200:
            return failed(response, self._settings, wall)
        return self._read(raw, sum(len(m["content"]) for m in messages))

    def _read(self, raw: bytes | None, sent: int) -> Answer:
        try:
            found = self._decoder.decode(raw) if raw is not None else None
        except (msgspec.MsgspecError, RecursionError):
            found = None
        if found is None:
            return Answer(reason=NOT_A_COMPLETION, retry=True)
        if len(found.choices) != 1:
            return Answer(reason=EMPTY)
        tokens = found.usage.prompt_tokens if found.usage else None
        if tokens and sent > _CUT_FROM and tokens * _CHARS_PER_TOKEN < sent:
            return Answer(reason=PROMPT_CUT)
        choice = found.choices[0]
        if choice.finish_reason == "length":
            return Answer(reason=CUT)
        return Answer(content=choice.message.content or "")


def failed(response: httpx.Response, settings: JudgeSettings, wall: Callable[[], datetime]) -> Answer:
    """What a status other than 200 means."""
    status, where = response.status_code, host(settings)
    if status in {401, 403}:
        wrong = JudgeConfigError(f"JUDGE_API_KEY refusée par {where} (HTTP {status})")
        return Answer(reason=REFUSED, retry=True, fatal=wrong)
    if status == 404:
        wrong = JudgeConfigError(f"JUDGE_BASE_URL ou JUDGE_MODEL : {where} ne connaît pas ce modèle (HTTP 404)")
        return Answer(reason=REFUSED, retry=True, fatal=wrong)
    if status == 429:
        return Answer(reason=RATE_LIMITED, retry=True, retry_after=_retry_after(response, wall))
    if status >= 500 or status in {408, 409, 425}:
        return Answer(reason=SERVER_ERROR, retry=True, retry_after=_retry_after(response, wall))
    return Answer(reason=REFUSED)


def _retry_after(response: httpx.Response, wall: Callable[[], datetime]) -> float | None:
    given = response.headers.get("Retry-After", "").strip()
    if given.isascii() and given.isdigit():
        return min(float(given[:6]), MAX_RETRY_AFTER)
    try:
        until = parsedate_to_datetime(given)
    except (TypeError, ValueError):
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return min(max(0.0, (aware - wall()).total_seconds()), MAX_RETRY_AFTER)


async def bounded(response: httpx.Response) -> bytes | None:
    """The body, None when it is larger than MAX_BODY."""
    parts, size = [], 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > MAX_BODY:
            return None
        parts.append(part)
    return b"".join(parts)


def headers(settings: JudgeSettings) -> dict[str, str]:
    """What every request carries."""
    key = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
    return {"Content-Type": "application/json", "User-Agent": "compliance-pipelines", **key}


def host(settings: JudgeSettings) -> str:
    """The server, as messages name it."""
    return urlsplit(settings.base_url).netloc
