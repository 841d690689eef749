"""Reading a Langfuse server on its bad days: windows too wide, repeated cursors, pages that move or are too large."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from compliance_pipelines.adapters.langfuse_api_http import LangfuseError
from compliance_pipelines.core.extraction import ReadReport
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.langfuse_fill import DAY, at, exchange, fill, numbers, reader_of, traces


def test_a_window_too_wide_for_the_server_is_narrowed(server: LangfuseStandIn, tmp_path: Path) -> None:
    fill(server, 300)
    for status in (422, 524):
        server.faults.too_wide(timedelta(minutes=20), status)
        with reader_of(server, tmp_path / str(status)) as reader:
            report = ReadReport()
            found = [t for chunk in reader.trace_chunks(DAY, DAY, report) for t in chunk]
            assert sorted(numbers(found)) == list(range(300))
            assert reader.progress.narrowed > 10
            assert "duplicates" not in report.totals(DAY, DAY)


def test_a_server_that_never_answers_is_given_up(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 4)
    v4.faults.too_wide(timedelta(0))
    reader = reader_of(v4, tmp_path)
    with reader, pytest.raises(LangfuseError, match="à la seconde près"):
        list(reader.trace_chunks(DAY, DAY, ReadReport()))


def test_a_repeated_cursor_neither_loops_nor_loses(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 3000)
    v4.faults.repeat_cursor("v2/observations", times=5, after=3)
    reader = reader_of(v4, tmp_path, at_once=1)
    found, _ = traces(reader)
    assert numbers(found) == list(range(3000))


def test_a_cursor_that_always_repeats_ends_in_an_error(v4: LangfuseStandIn, tmp_path: Path) -> None:
    for number in range(1500):
        v4.add(*exchange(2 * number + 1, at(DAY, 0.5)))
    v4.faults.repeat_cursor("v2/observations", times=10**6)
    reader = reader_of(v4, tmp_path)
    with reader, pytest.raises(LangfuseError, match="curseur répété"):
        list(reader.trace_chunks(DAY, DAY, ReadReport()))


def test_an_outdated_cursor_starts_the_window_again(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 2000)
    v4.faults.fail("v2/observations", 400, times=1, after=3)
    found, counts = traces(reader_of(v4, tmp_path, at_once=1))
    assert numbers(found) == list(range(2000))
    assert "duplicates" not in counts


def test_cursors_that_are_always_outdated_end_in_an_error(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 2000)
    answer, refused = v4.api.answer, []

    def forgetful(method: str, path: str, query: dict[str, str], *rest: Any) -> Any:
        if "cursor" in query and len(refused) < 50:
            refused.append(path)
            return 400, {"message": "unknown cursor", "error": "InvalidRequestError"}
        return answer(method, path, query, *rest)

    v4.api.answer = forgetful  # type: ignore[method-assign]
    reader = reader_of(v4, tmp_path, at_once=1)
    with reader, pytest.raises(LangfuseError, match="400"):
        list(reader.trace_chunks(DAY, DAY, ReadReport()))
    assert len(refused) < 10


def test_pages_that_move_under_the_reader_lose_nothing(v3: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v3, 400)
    late = iter(range(10_001, 10_011, 2))

    def insert(_: int) -> None:
        number = next(late, None)
        if number is not None:
            # newer than every page read so far: each later page shifts by one row
            v3.add(*exchange(number, at(DAY, 0.98)))

    v3.faults.between_pages("/api/public/observations", insert)
    reader = reader_of(v3, tmp_path, at_once=1)
    found, counts = traces(reader)
    assert sorted(numbers(found)) == [*range(400), *range(10_001, 10_011, 2)]
    assert reader.progress.read_again > 0
    assert "duplicates" not in counts


def test_pages_that_shrink_under_the_reader_lose_nothing(v3: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v3, 400)

    def delete(served: int) -> None:
        if served == 2:
            # the newest row goes: the row at the next page's start would be skipped
            v3.store.delete_observation(v3.observations[0]["id"])

    v3.faults.between_pages("/api/public/observations", delete)
    found, _ = traces(reader_of(v3, tmp_path, at_once=1))
    assert len(found) >= 399
    assert numbers(found)[:399] == list(range(399))


def test_a_row_inserted_between_cursor_pages_is_never_doubled(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 2500)
    extra = iter(range(20_001, 20_101, 2))
    v4.faults.between_pages("v2/observations", lambda _: v4.add(*exchange(next(extra), at(DAY, 0.3))))
    found, counts = traces(reader_of(v4, tmp_path, at_once=1))
    assert len(set(numbers(found))) == len(found)
    assert set(range(2500)) <= set(numbers(found))
    assert "duplicates" not in counts


def test_lone_surrogates_do_not_stop_a_page(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 3)
    content = v4.api.answer

    def with_surrogate(method: str, path: str, *rest: object) -> tuple[int, object]:
        status, answer = content(method, path, *rest)  # type: ignore[arg-type]
        if path.endswith("v2/observations"):
            for row in answer["data"]:
                row["name"] = "lone SURROGATE"
        return status, answer

    v4.api.answer = with_surrogate  # type: ignore[method-assign]
    from compliance_pipelines_tests.standins import langfuse

    original = langfuse.msgspec.json.encode
    langfuse.msgspec.json.encode = lambda value: original(value).replace(b"SURROGATE", b"\\ud83d")  # type: ignore[assignment]
    try:
        found, _ = traces(reader_of(v4, tmp_path))
    finally:
        langfuse.msgspec.json.encode = original  # type: ignore[assignment]
    assert len(found) == 3


def test_a_page_too_large_for_memory_is_read_in_smaller_ones(
    v4: LangfuseStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compliance_pipelines.adapters.langfuse_api_http.MAX_PAGE_BYTES", 60_000)
    for number in range(40):
        row = exchange(2 * number + 1, at(DAY, 0.5 + number / 1000))[0]
        v4.add(row | {"output": "x" * 20_000})
    v4.add(exchange(1001, at(DAY, 0.6))[0] | {"output": "y" * 90_000})
    found, _ = traces(reader_of(v4, tmp_path))
    assert len(found) == 41
    assert any(request.query.get("limit") == "1" for request in v4.requests)


def test_no_text_or_key_reaches_an_error(v4: LangfuseStandIn, tmp_path: Path) -> None:
    fill(v4, 4)
    v4.faults.fail("v2/observations", 500, times=99, after=1, body=b'{"message":"question 0 secret@exemple.fr"}')
    reader = reader_of(v4, tmp_path)
    with reader, pytest.raises(LangfuseError) as raised:
        list(reader.trace_chunks(DAY, DAY, ReadReport()))
    line = str(raised.value)
    assert "\n" not in line
    assert "HTTP 500" in line
    assert "exemple" not in line
    assert v4.secret_key not in line + repr(reader.http.server)
    assert v4.public_key not in line + repr(reader.http.server)
