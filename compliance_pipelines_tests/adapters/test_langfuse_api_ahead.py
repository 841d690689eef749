"""The page asked for ahead: used for its own question alone, never two requests of a window at once, never decoded."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
import pytest

from compliance_pipelines.adapters.langfuse_api_ahead import Ahead, next_cursor
from compliance_pipelines.adapters.langfuse_api_http import Answer, LangfuseHttp, TooWideError
from compliance_pipelines.adapters.langfuse_api_sources import V3_OBSERVATIONS, V4_OBSERVATIONS, Source
from compliance_pipelines.core.extraction import Window

START = datetime(2026, 6, 2, tzinfo=UTC)
WINDOW = Window(START, START + timedelta(hours=1))


def body(cursor: str | None, **more: Any) -> bytes:
    return json.dumps({"data": [], "meta": ({} if cursor is None else {"cursor": cursor}) | more}).encode()


class Pages:
    """Answers by cursor; notes what was asked for, and refuses two requests at once."""

    def __init__(self, answers: Mapping[str | None, bytes | Exception]) -> None:
        self.answers = dict(answers)
        self.asked: list[tuple[str | None, str]] = []
        self._busy = threading.Lock()

    def get(
        self, path: str, params: Mapping[str, str], decode: Callable[[bytes], Any], *, whole: bool = False
    ) -> Answer[Any]:
        del path, whole
        assert self._busy.acquire(blocking=False), "two requests of one window at once"
        try:
            self.asked.append((params.get("cursor"), params["limit"]))
            found = self.answers[params.get("cursor")]
        finally:
            self._busy.release()
        if isinstance(found, Exception):
            raise found
        return Answer(decode(found), START, len(found))


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as running:
        yield running


def ahead(pages: Pages, pool: ThreadPoolExecutor, source: Source = V4_OBSERVATIONS) -> Ahead:
    return Ahead(cast(LangfuseHttp, pages), pool, source, WINDOW)


def test_each_page_is_asked_for_once_and_in_order(pool: ThreadPoolExecutor) -> None:
    pages = Pages({None: body("a"), "a": body("b"), "b": body(None)})
    reader = ahead(pages, pool)
    found = [reader.page(cursor, 1000)[0] for cursor in (None, "a", "b")]
    assert [page.cursor for page in found] == ["a", "b", None]
    assert [page.server_time for page in found] == [START] * 3
    assert pages.asked == [(None, "1000"), ("a", "1000"), ("b", "1000")]


def test_a_page_is_used_for_its_own_question_alone(pool: ThreadPoolExecutor) -> None:
    pages = Pages({None: body("a"), "a": body("b"), "b": body(None), "z": body(None)})
    reader = ahead(pages, pool)
    reader.page(None, 1000)
    pool.submit(int).result()
    assert reader.page("z", 1000)[0].cursor is None
    # fewer rows are another question
    reader.page(None, 1000)
    pool.submit(int).result()
    assert reader.page("a", 250)[0].cursor == "b"
    pool.submit(int).result()
    assert ("a", "250") in pages.asked


def test_a_failure_ahead_is_raised_where_the_page_is_wanted(pool: ThreadPoolExecutor) -> None:
    pages = Pages({None: body("a"), "a": TooWideError("trop large")})
    reader = ahead(pages, pool)
    assert reader.page(None, 1000)[0].cursor == "a"
    with pytest.raises(TooWideError):
        reader.page("a", 1000)


def test_a_page_cut_on_its_way_is_asked_for_again(pool: ThreadPoolExecutor) -> None:
    pages = Pages({None: body("a"), "a": body("b")[:-9]})
    reader = ahead(pages, pool)
    reader.page(None, 1000)
    pool.submit(int).result()
    pages.answers |= {"a": body("b"), "b": body(None)}
    assert reader.page("a", 1000)[0].cursor == "b"
    pool.submit(int).result()
    assert pages.asked == [(None, "1000"), ("a", "1000"), ("a", "1000"), ("b", "1000")]


def test_numbered_pages_are_not_guessed(pool: ThreadPoolExecutor) -> None:
    pages = Pages({None: body(None, page=1, limit=100, totalItems=300, totalPages=3)})
    assert ahead(pages, pool, V3_OBSERVATIONS).page(None, 100)[0].cursor == "2/100"
    pool.submit(int).result()
    assert len(pages.asked) == 1


@pytest.mark.parametrize(
    ("content", "cursor"),
    [
        (body("abc"), "abc"),
        (body(None), None),
        (body("abc") + b" \n", "abc"),
        (b'{"meta": {"cursor": "x"}, "data": []}', "x"),
        (b'{"data": [{"meta": {"cursor": "of a row"}}], "meta": {"cursor": "own"}}', "own"),
        (b'{"data": ["\\"meta\\": {\\"cursor\\": \\"of a text\\"}"], "meta": {}}', None),
        (b'{"data": [{"meta": {"cursor": "of a row"}}]}', None),
        (b'{"data": [], "meta": {"cursor": "cut', None),
        (b'{"data": [], "meta": {"cursor": 7}}', None),
        (b"", None),
        (b'"meta"' * 5000, None),
    ],
)
def test_the_cursor_is_read_from_the_end_of_a_page(content: bytes, cursor: str | None) -> None:
    assert next_cursor(content) == cursor


def test_a_damaged_first_page_is_the_caller_s_to_ask_again(pool: ThreadPoolExecutor) -> None:
    # LangfuseHttp asks again for what its decoder refuses
    with pytest.raises(msgspec.DecodeError):
        ahead(Pages({None: b'{"data": ['}), pool).page(None, 1000)
