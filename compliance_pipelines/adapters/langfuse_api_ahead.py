"""The page that follows, asked for while a page is brought to its form: hides the server's latency behind our CPU.

The cursor stands at the end of a page and is read before the page is decoded. A guess costs nothing but a request: a
page is used only for the very question it answers, and one that cannot be decoded is asked for again in the usual way.
One request of a window is on its way at a time. Nothing here touches the state of a read.
"""

from __future__ import annotations

import time
from concurrent.futures import Executor, Future

import msgspec

from compliance_pipelines.adapters.langfuse_api_http import Answer, LangfuseHttp
from compliance_pipelines.adapters.langfuse_api_journal import Page
from compliance_pipelines.adapters.langfuse_api_sources import Source
from compliance_pipelines.core.extraction import Window

_TAIL = 4096
_DEPARTURE = 0.001
_Asked = tuple[str | None, int]


class _Cursor(msgspec.Struct):
    cursor: str | None = None


class _Tail(msgspec.Struct):
    meta: _Cursor


_tail = msgspec.json.Decoder(_Tail).decode


class Ahead:
    """Pages of one window of one source, the next one fetched on `pool` meanwhile. Not for two threads at once."""

    def __init__(self, http: LangfuseHttp, pool: Executor, source: Source, window: Window) -> None:
        self._http, self._pool, self._source, self._window = http, pool, source, window
        self._asked: _Asked | None = None
        self._coming: Future[Answer[bytes]] | None = None

    def page(self, cursor: str | None, limit: int) -> tuple[Page, bytes | bytearray]:
        """The page after `cursor` of at most `limit` rows, packed; raises as `LangfuseHttp.get` does."""
        answer = self._fetched(cursor, limit) or self._get(cursor, limit)
        page, rows = answer.value
        return msgspec.structs.replace(page, server_time=answer.server_time), rows

    def _fetched(self, cursor: str | None, limit: int) -> Answer[tuple[Page, bytes | bytearray]] | None:
        coming, self._coming = self._coming, None
        if coming is None or self._asked != (cursor, limit):
            return None
        raw = coming.result()
        try:
            return Answer(self._packed(raw.value, limit), raw.server_time, raw.size)
        except msgspec.DecodeError:
            return None

    def _get(self, cursor: str | None, limit: int) -> Answer[tuple[Page, bytes | bytearray]]:
        query = self._source.query(self._window, cursor, limit)
        return self._http.get(self._source.path, query, lambda content: self._packed(content, limit), whole=limit == 1)

    def _packed(self, content: bytes, limit: int) -> tuple[Page, bytes | bytearray]:
        following = None if self._source.numbered else next_cursor(content)
        if following is not None:
            self._asked = (following, limit)
            self._coming = self._pool.submit(self._raw, following, limit)
            # decoding holds the interpreter's lock for longer than a request takes to leave: let it leave first
            time.sleep(_DEPARTURE)
        return self._source.pack(content)

    def _raw(self, cursor: str, limit: int) -> Answer[bytes]:
        query = self._source.query(self._window, cursor, limit)
        return self._http.get(self._source.path, query, bytes, whole=limit == 1)


def next_cursor(content: bytes) -> str | None:
    """The cursor at the end of a page, without decoding it; None when it is not plainly there."""
    place = content.rfind(b'"meta"', max(0, len(content) - _TAIL))
    if place < 0:
        return None
    try:
        return _tail(b"{" + content[place:]).meta.cursor
    except msgspec.DecodeError:
        return None
