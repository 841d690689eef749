"""Where alerts go: Alertmanager's API v2, or a file of notifications when no Alertmanager is configured.

Both are senders of the outbox. An Alertmanager that does not answer is an exception (everything is sent again); an
alert that it refuses is a False, so that one bad alert never holds up the others. No alert text in error messages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from compliance_pipelines.adapters.outbox import SenderUnavailableError
from compliance_pipelines.core.alerting_delivery import NOTICE, Post, Timing, payload

_HTTP_OK = 200
# what is wrong with this alert, and not with the receiver: malformed, too large, not processable
_REFUSALS = (400, 413, 422)


class Alertmanager:
    """A client of the Alertmanager at `url` (without /api/v2). Seconds."""

    def __init__(self, url: str, timeout: float = 10.0) -> None:
        self._url = url.rstrip("/")
        self._client = httpx.Client(timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()

    def send(self, posts: Sequence[Post], now: datetime, timing: Timing) -> Sequence[bool]:
        """Post all in one request; when that is refused, one by one."""
        if self._post(posts, now, timing):
            return [True] * len(posts)
        return [False] if len(posts) == 1 else [self._post([post], now, timing) for post in posts]

    def _post(self, posts: Sequence[Post], now: datetime, timing: Timing) -> bool:
        body = [payload(post, now, timing) for post in posts]
        try:
            status = self._client.post(f"{self._url}/api/v2/alerts", json=body).status_code
        except (httpx.HTTPError, httpx.InvalidURL) as failed:
            raise SenderUnavailableError(f"Alertmanager ne répond pas ({type(failed).__name__})") from failed
        if status not in (_HTTP_OK, *_REFUSALS):
            raise SenderUnavailableError(f"Alertmanager répond {status}")
        return status == _HTTP_OK


class NotificationFile:
    """The embedded default: a line of JSON for each alert that begins and for each that ends, in `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send(self, posts: Sequence[Post], now: datetime, timing: Timing) -> Sequence[bool]:
        """Append what is new; re-sent alerts add nothing, and a notice has no end."""
        ends = [post for post in posts if not post.firing and post.episode.severity != NOTICE]
        news = [post for post in posts if post.firing and post.episode.announced_at is None] + ends
        lines = [{"status": "firing" if post.firing else "resolved", **payload(post, now, timing)} for post in news]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as handle:
                handle.writelines(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in lines)
        except OSError as failed:
            raise SenderUnavailableError(f"{self._path} : écriture impossible ({failed.strerror})") from failed
        return [True] * len(posts)
