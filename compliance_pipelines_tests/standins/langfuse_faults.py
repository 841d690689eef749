"""Faults on demand for the Langfuse stand-in: what real servers and the networks before them do on bad days.

A fault applies to requests whose path contains its text, skips the first `after` of them and is used up after `times`.
`latency` slows every page; `between_pages` runs a callback after a page was made, so that rows move under the reader.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime


@dataclass
class Fault:
    """One planned misbehaviour."""

    path: str
    kind: str
    times: int
    after: int = 0
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0


@dataclass
class Faults:
    """The plan. `latency` in seconds; `cut_metadata` cuts long values unless they are named in expandMetadata."""

    latency: float = 0.0
    cut_metadata: bool = False
    widest: timedelta | None = None
    wide_status: int = 422
    rejected_scores: dict[str, int] = field(default_factory=dict)
    _plan: list[Fault] = field(default_factory=list)
    _between: list[tuple[str, Callable[[int], None]]] = field(default_factory=list)
    _pages: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fail(
        self,
        path: str,
        status: int,
        *,
        times: int = 1,
        after: int = 0,
        retry_after: int | str | datetime | None = None,
        body: bytes = b'{"message":"planned failure","error":"Planned"}',
    ) -> None:
        """Answer with `status`. `retry_after`: seconds, a literal header, or an aware datetime sent as HTTP date."""
        headers = {}
        if isinstance(retry_after, datetime):
            headers["Retry-After"] = format_datetime(retry_after, usegmt=True)
        elif retry_after is not None:
            headers["Retry-After"] = str(retry_after)
        self._add(Fault(path, "status", times, after, status, headers, body))

    def hang(self, path: str, seconds: float, *, times: int = 1, after: int = 0) -> None:
        """Answer only after `seconds`."""
        self._add(Fault(path, "hang", times, after, seconds=seconds))

    def reset(self, path: str, *, times: int = 1, after: int = 0) -> None:
        """Cut the connection instead of answering."""
        self._add(Fault(path, "reset", times, after))

    def truncate(self, path: str, *, times: int = 1, after: int = 0) -> None:
        """Send half of the JSON as if it were all."""
        self._add(Fault(path, "truncate", times, after))

    def repeat_cursor(self, path: str, *, times: int = 1, after: int = 0) -> None:
        """Send the cursor of the request back as the next one."""
        self._add(Fault(path, "repeat_cursor", times, after))

    def too_wide(self, widest: timedelta, status: int = 422) -> None:
        """Refuse reads of windows wider than `widest` (422 as the server, 524 as the proxy before it)."""
        self.widest, self.wide_status = widest, status

    def reject_scores(self, name: str, status: int = 400) -> None:
        """Put scores of this name under `errors` of the 207 answer."""
        self.rejected_scores[name] = status

    def between_pages(self, path: str, action: Callable[[int], None]) -> None:
        """Call `action(number of pages served so far)` after each page of `path`."""
        self._between.append((path, action))

    def take(self, path: str) -> Fault | None:
        """The fault due for this request, used up by the call."""
        with self._lock:
            for fault in self._plan:
                if fault.path not in path or fault.times <= 0:
                    continue
                if fault.after > 0:
                    fault.after -= 1
                    continue
                fault.times -= 1
                return fault
        return None

    def page_served(self, path: str) -> None:
        """Told by the server after each page."""
        for wanted, action in self._between:
            if wanted in path:
                self._pages += 1
                action(self._pages)

    def is_too_wide(self, query: Mapping[str, str]) -> bool:
        """Whether the window of the query is wider than allowed, or has no beginning or no end."""
        if self.widest is None:
            return False
        low = query.get("fromStartTime") or query.get("fromTimestamp")
        high = query.get("toStartTime") or query.get("toTimestamp")
        if not low or not high:
            return True
        return datetime.fromisoformat(high) - datetime.fromisoformat(low) > self.widest

    def _add(self, fault: Fault) -> None:
        with self._lock:
            self._plan.append(fault)
