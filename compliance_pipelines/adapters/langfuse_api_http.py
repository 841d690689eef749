"""HTTP to a Langfuse server: authentication, patience, and errors that a person can act on.

Retries 429 (Retry-After in seconds or as a date), 5xx, resets, timeouts and truncated JSON; says `TooWideError` where
only a narrower question helps. Error lines are French, name the host alone and carry neither keys nor a server's text.
What the answers mean is not known here. The transport is urllib3: it costs half of what httpx does on pages of 3 MB.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx
import msgspec
import urllib3
from urllib3.exceptions import HTTPError, NewConnectionError
from urllib3.exceptions import TimeoutError as HttpTimeoutError

T = TypeVar("T")
MAX_PAGE_BYTES = 32 * 1024 * 1024
_CHUNK = 128 * 1024
_MAX_ROW_BYTES = 512 * 1024 * 1024
_TOO_WIDE = frozenset({422, 524})
_SLOW = frozenset({408, 504})
_NOT_THERE = frozenset({404, 405, 501})


class LangfuseError(RuntimeError):
    """Langfuse could not be read or written: one French line (exit code 2)."""


class NotThereError(LangfuseError):
    """The server does not know this path: another version of Langfuse answers."""


class TooWideError(LangfuseError):
    """The server gave up on this question; a narrower window or a smaller page may pass."""


class PageTooLargeError(TooWideError):
    """The page is larger than memory should hold; fewer rows a page are needed."""


class RefusedError(LangfuseError):
    """The server refused the request (400): the question itself is wrong, for instance an outdated cursor."""


class StoppedError(LangfuseError):
    """Another window of the same read failed."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where Langfuse is and the key pair. The keys never appear in its text."""

    base_url: str
    public_key: str = field(repr=False)
    secret_key: str = field(repr=False)

    def __post_init__(self) -> None:
        wrong = LangfuseError("LANGFUSE_BASE_URL : adresse illisible, attendu http(s)://hôte[:port]")
        try:
            parts = urlsplit(self.base_url)
            # both read the address, and each refuses what the other lets pass
            readable = parts.port != 0 and bool(httpx.URL(self.base_url).raw_host)
            readable = readable and bool((parts.hostname or "").encode("idna"))
        except (ValueError, httpx.InvalidURL):
            raise wrong from None
        if not readable or parts.scheme not in {"http", "https"} or parts.query or parts.fragment:
            raise wrong
        if parts.username or parts.password:
            raise LangfuseError("LANGFUSE_BASE_URL : clés dans l’adresse, attendu LANGFUSE_PUBLIC_KEY et _SECRET_KEY")
        for name, key in (("LANGFUSE_PUBLIC_KEY", self.public_key), ("LANGFUSE_SECRET_KEY", self.secret_key)):
            if not key or not key.isascii() or not key.isprintable():
                raise LangfuseError(f"{name} : absente ou illisible, attendu la clé du projet Langfuse")

    @property
    def host(self) -> str:
        """Host and port, as errors name it."""
        parts = urlsplit(self.base_url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.hostname}{port}"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to insist. `attempts` for failures; `waiting` seconds in all for one request that is asked to wait."""

    timeout: float = 60.0
    attempts: int = 6
    waiting: float = 900.0
    first_pause: float = 0.5
    longest_pause: float = 30.0


@dataclass
class Traffic:
    """What the transport did, for logs and the doctor: counts only."""

    requests: int = 0
    bytes: int = 0
    retries: int = 0
    waited_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A decoded answer. `server_time` is its Date header, None when absent."""

    value: T
    server_time: datetime | None
    size: int


class LangfuseHttp:
    """One connection pool. Thread-safe. `pause` replaces waiting in tests; `stop` ends every waiting at once."""

    def __init__(
        self, server: Server, patience: Patience | None = None, *, pause: Callable[[float], None] | None = None
    ) -> None:
        self.server = server
        self.patience = patience or Patience()
        self.traffic = Traffic()
        self.stop = threading.Event()
        self._pause = pause or self._wait
        self._lock = threading.Lock()
        self._base = server.base_url.rstrip("/")
        self._client = _pool(server, self.patience.timeout)
        self._headers = {
            "Accept": "application/json",
            **urllib3.make_headers(
                accept_encoding="gzip, deflate", basic_auth=f"{server.public_key}:{server.secret_key}"
            ),
        }

    def close(self) -> None:
        """Close the connections."""
        self._client.clear()

    def get(
        self, path: str, params: Mapping[str, str], decode: Callable[[bytes], T], *, whole: bool = False
    ) -> Answer[T]:
        """GET and decode; an answer that `decode` refuses (msgspec.DecodeError) is asked for again.

        PageTooLargeError beyond MAX_PAGE_BYTES, unless the page cannot be made smaller (`whole`).
        """
        return self._insist("GET", path, params, None, decode, most=_MAX_ROW_BYTES if whole else MAX_PAGE_BYTES)

    def send(
        self, method: str, path: str, body: Any, decode: Callable[[bytes], T], *, repeat: bool = True
    ) -> Answer[T]:
        """POST or PATCH a JSON body. `repeat` False where a repetition would double something: fails at the first."""
        content = msgspec.json.encode(body)
        return self._insist(method, path, {}, content, decode, repeat=repeat)

    def _insist(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        content: bytes | None,
        decode: Callable[[bytes], T],
        *,
        repeat: bool = True,
        most: int = MAX_PAGE_BYTES,
    ) -> Answer[T]:
        failures, asked, slow, waited = 0, 0, 0, 0.0
        while True:
            if self.stop.is_set():
                raise StoppedError(f"Langfuse ({self.server.host}) : lecture arrêtée")
            try:
                status, headers, received = self._once(method, path, params, content, most)
                if status == 200 or 200 < status < 300:
                    return Answer(decode(received), _date(headers.get("date")), len(received))
                reason = f"HTTP {status}"
                self._raise_for(status, path)
                wait = _retry_after(headers)
                slow += status in _SLOW
            except HTTPError as broken:
                # nobody there at all is a time-out to urllib3 as well
                absent = isinstance(broken, NewConnectionError)
                late = isinstance(broken, HttpTimeoutError) and not absent
                cause = "ConnectError" if absent else type(broken).__name__
                reason, wait, status = "délai dépassé" if late else f"connexion ({cause})", None, 0
                slow += late
            except msgspec.DecodeError:
                reason, wait, status = "réponse tronquée ou illisible", None, 0
            # a server that is too slow twice for the same question will be so a third time
            if slow >= 2 and method == "GET":
                raise TooWideError(f"Langfuse ({self.server.host}) : {reason} sur {path}, fenêtre trop large")
            failures, asked = failures + (status != 429), asked + (status == 429)
            # a proxy that says "again, at once" for ever would be asked for ever
            if wait is None or (wait == 0 and asked > 1):
                wait = self._backoff(failures + asked, path, params)
            safe = repeat or status in {429, 503}
            if not safe or failures >= self.patience.attempts or waited + wait > self.patience.waiting:
                tries = (
                    f"après {failures + asked} échec(s) et {waited:.0f} s d’attente" if safe else "sans nouvel essai"
                )
                more = f" ; le serveur demande encore {wait:.0f} s, à relancer plus tard" if asked and safe else ""
                raise LangfuseError(f"Langfuse ({self.server.host}) : {reason} sur {path}, {tries}{more}")
            waited += wait
            with self._lock:
                self.traffic.retries += 1
                self.traffic.waited_seconds += wait
            self._pause(wait)

    def _once(
        self, method: str, path: str, params: Mapping[str, str], content: bytes | None, most: int
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = self._headers | ({"Content-Type": "application/json"} if content is not None else {})
        url = f"{self._base}{path}?{urlencode(params)}" if params else f"{self._base}{path}"
        deadline = time.monotonic() + 10 * self.patience.timeout
        chunks, received = [], 0
        with self._client.urlopen(
            method, url, body=content, headers=headers, retries=False, redirect=False, preload_content=False
        ) as response:
            while chunk := response.read1(_CHUNK):
                chunks.append(chunk)
                received += len(chunk)
                if received > most:
                    raise PageTooLargeError(f"Langfuse ({self.server.host}) : page trop volumineuse sur {path}")
                # each chunk may come in time while the whole never ends
                if time.monotonic() > deadline:
                    raise HttpTimeoutError("too slow in all")
        with self._lock:
            self.traffic.requests += 1
            self.traffic.bytes += received
        return response.status, response.headers, b"".join(chunks)

    def _raise_for(self, status: int, path: str) -> None:
        where = f"Langfuse ({self.server.host})"
        if status in {401, 403}:
            raise LangfuseError(
                f"{where} : clés refusées ({status}), vérifiez LANGFUSE_PUBLIC_KEY et LANGFUSE_SECRET_KEY"
            )
        if status in _NOT_THERE:
            raise NotThereError(f"{where} : {path} absent de ce serveur ({status})")
        if status in _TOO_WIDE:
            raise TooWideError(f"{where} : le serveur abandonne sur {path} ({status}), fenêtre trop large")
        if status == 400:
            raise RefusedError(f"{where} : demande refusée sur {path} (400)")
        if 300 <= status < 400:
            raise LangfuseError(f"{where} : redirection ({status}), attendu l’adresse finale dans LANGFUSE_BASE_URL")
        if status not in _SLOW and status != 429 and status < 500:
            raise LangfuseError(f"{where} : réponse inattendue sur {path} ({status})")

    def _backoff(self, failures: int, path: str, params: Mapping[str, str]) -> float:
        # spread without randomness: windows that fail together do not come back together
        spread = zlib.crc32(f"{path}{sorted(params.items())}{failures}".encode()) / 2**32
        pause = self.patience.first_pause * 2 ** min(max(0, failures - 1), 30)
        return min(pause, self.patience.longest_pause) * (0.75 + spread / 2)

    def _wait(self, seconds: float) -> None:
        self.stop.wait(seconds)


def _pool(server: Server, timeout: float) -> urllib3.PoolManager:
    """Connections to the server, through the proxy that the environment names for it."""
    parts = urlsplit(server.base_url)
    given: dict[str, Any] = {
        "maxsize": 20,
        "timeout": urllib3.Timeout(connect=min(10.0, timeout), read=timeout),
    }
    if parts.scheme == "https":
        # loading the certificates to trust takes longer than reading a thousand rows: only where TLS is spoken
        given["ssl_context"] = httpx.create_ssl_context()
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return urllib3.PoolManager(**given)
    login = urllib3.util.parse_url(proxy).auth
    return urllib3.ProxyManager(
        proxy, proxy_headers=urllib3.make_headers(proxy_basic_auth=login) if login else None, **given
    )


def _date(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, TypeError):
        return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait; a date counts from the answer's own Date, so that two clocks need not agree."""
    text = (headers.get("retry-after") or "").strip()
    if text.isdigit() and len(text) < 7:
        return float(text)
    until, now = _date(text), _date(headers.get("date"))
    if until is None or now is None:
        return None
    return max(0.0, (until - now).total_seconds())
