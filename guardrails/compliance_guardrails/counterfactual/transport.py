"""One small JSON-over-HTTP caller for OpenAI-compatible endpoints, on the standard library.

Bounded retries, Retry-After honoured up to a cap, one kept-alive connection a thread, answers of bounded size. What is
wrong for every call (no such host, 401, 404) is a `GateUnavailableError`; what is wrong with one call is a `Failure`.
Neither ever quotes a key or a body. The official client would bring 20 MB into the gateway image for two POSTs.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import http.client
import json
import math
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .ports import Failure, GateUnavailableError

MAX_BODY: Final = 16_000_000
MAX_TRIES: Final = 5
MAX_WAIT: Final = 60.0
_FIRST_WAIT: Final = 0.5
_FATAL: Final[Mapping[int, str]] = {
    401: "clé refusée (401)",
    403: "accès interdit (403)",
    404: "adresse ou modèle inconnu (404)",
    405: "adresse qui n’accepte pas l’appel (405)",
}


class CallFailedError(Exception):
    """One call failed for good; `failure` says how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.value)
        self.failure = failure


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible base address, such as https://gateway/v1. `label` names it in messages."""

    base_url: str
    key: str = field(default="", repr=False)
    label: str = "LITELLM_CI_URL"
    timeout: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    _local: threading.local = field(default_factory=threading.local, repr=False, compare=False)
    _opened: list[http.client.HTTPConnection] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        # a secret pasted with its line end is common; http.client would quote the whole key in its complaint
        object.__setattr__(self, "key", self.key.strip())
        object.__setattr__(self, "base_url", self.base_url.strip())
        if not (self.key.isascii() and self.key.isprintable()):
            raise GateUnavailableError(
                f"{self.label} : sa clé contient un caractère impossible (accent, saut de ligne)"
            )
        if not _usable(self.base_url):
            raise GateUnavailableError(f"{self.label} : attendu une adresse http(s)://… sans accent ni espace")
        if not (math.isfinite(self.timeout) and self.timeout > 0):
            raise GateUnavailableError(f"{self.label} : attendu un délai en secondes, plus grand que 0")

    @property
    def shown(self) -> str:
        """The address without user, password or query."""
        parts = urllib.parse.urlsplit(self.base_url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"

    def post(self, path: str, body: Mapping[str, Any]) -> tuple[Any, Mapping[str, str]]:
        """(JSON answered, headers in lower case). Raises CallFailedError or GateUnavailableError."""
        payload = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        failure = Failure.SERVER
        for attempt in range(MAX_TRIES):
            wait = _FIRST_WAIT * 2**attempt
            try:
                status, headers, data = self._once(path, payload)
            except TimeoutError:
                failure = Failure.TIMEOUT
            except (OSError, http.client.HTTPException) as error:
                failure = self._broken(error, last=attempt == MAX_TRIES - 1)
            else:
                if status in _FATAL:
                    raise GateUnavailableError(f"{self.label} ({self.shown}) : {_FATAL[status]}")
                if status == 200:
                    try:
                        return json.loads(data), headers
                    except (ValueError, RecursionError):  # not JSON, cut off, or nested to no end
                        failure = Failure.UNREADABLE
                elif status == 429:
                    failure, wait = Failure.RATE, _retry_after(headers, wait)
                elif status >= 500 or status in {408, 409}:
                    failure, wait = Failure.SERVER, _retry_after(headers, wait)
                else:
                    raise CallFailedError(Failure.REFUSED)
            if attempt < MAX_TRIES - 1:
                self.sleep(min(wait, MAX_WAIT))
        raise CallFailedError(failure)

    def close(self) -> None:
        """Close what the threads of a batch left open; the endpoint can be used again."""
        while self._opened:
            self._opened.pop().close()
        self._drop()

    def _broken(self, error: Exception, *, last: bool) -> Failure:
        self._drop()
        unreachable = isinstance(error, ConnectionRefusedError) or type(error).__name__ in {
            "gaierror",
            "SSLCertVerificationError",
        }
        if unreachable and last:
            raise GateUnavailableError(f"{self.label} ({self.shown}) : injoignable ({type(error).__name__})")
        return Failure.SERVER

    def _once(self, path: str, payload: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = self._connection()
        base = urllib.parse.urlsplit(self.base_url).path.rstrip("/")
        headers = {"Content-Type": "application/json", "Cache-Control": "no-cache"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            connection.request("POST", f"{base}/{path}", payload, headers)
            response = connection.getresponse()
            data = response.read(MAX_BODY + 1)
        except TimeoutError:
            self._drop()
            raise
        if len(data) > MAX_BODY or response.will_close:
            self._drop()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, data[:MAX_BODY]

    def _connection(self) -> http.client.HTTPConnection:
        found = getattr(self._local, "connection", None)
        if found is None:
            parts = urllib.parse.urlsplit(self.base_url)
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            found = self._local.connection = kind(parts.hostname or "", parts.port, timeout=self.timeout)
            self._opened.append(found)
        return found

    def _drop(self) -> None:
        found = getattr(self._local, "connection", None)
        if found is not None:
            found.close()
            self._local.connection = None


def with_version(url: str) -> str:
    """The base address with its /v1, which people leave out."""
    bare = url.strip().rstrip("/")
    return bare if bare.rsplit("/", 1)[-1].startswith("v") and bare[-1].isdigit() else f"{bare}/v1"


def _usable(url: str) -> bool:
    """Whether `url` is an address that the standard library can call."""
    try:
        parts = urllib.parse.urlsplit(url)
        known = parts.scheme in {"http", "https"} and parts.port != 0
        (parts.hostname or "").encode("idna")  # a label that is empty or too long
    except ValueError:
        return False
    return known and bool(parts.hostname) and url.isascii() and url.isprintable() and " " not in url


def _retry_after(headers: Mapping[str, str], default: float) -> float:
    """Seconds the server asks for: a number, or a date beside the server's own Date. Nonsense gives `default`."""
    asked = headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        try:
            until, now = (email.utils.parsedate_to_datetime(text) for text in (asked, headers.get("date", "")))
            seconds = _utc(until).timestamp() - _utc(now).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            return default
    return default if math.isnan(seconds) else max(0.0, seconds)


def _utc(when: dt.datetime) -> dt.datetime:
    """`when`, in UTC if it names no zone: HTTP dates are GMT."""
    return when if when.tzinfo else when.replace(tzinfo=dt.UTC)
