"""The fast way to read a page gives what the slow one gives, and says why a row cannot be used."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance_pipelines.adapters import langfuse_api_rows
from compliance_pipelines.adapters.langfuse_api_rows import (
    SEGMENTS,
    pack_observations,
    pack_scores,
    unpack_observations,
    unpack_rows,
)
from compliance_pipelines.core import assembly
from compliance_pipelines.core.extraction import METADATA_KEYS, PARAMETER_KEYS
from compliance_pipelines.core.langfuse_rows import MAX_TEXT, Observation, RowError, parse_row
from compliance_pipelines_tests.standins import langfuse_recorded as rec

BASE = {"id": "o1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-06-02T10:00:00.123Z"}


def unpacked(rows: list[Any], meta: Mapping[str, Any] | None = None) -> list[Observation | str]:
    """The usable rows, then the reasons of the others."""
    content = json.dumps({"data": rows, "meta": meta or {}}).encode()
    page, payload = pack_observations(content)
    ends = memoryview(page.ends).cast("I")
    assert len(ends) == SEGMENTS
    found: list[Observation | str] = []
    start = 0
    for end in ends:
        if end > start:
            found += unpack_observations(memoryview(payload)[start:end])
        start = end
    found += page.rejected
    assert page.rows == len(rows) == len(found)
    return found


def slow(row: Any) -> Observation | str:
    """What `parse_row` makes of the row, with the metadata that is used, or its reason."""
    try:
        found = parse_row(row)
    except RowError as refused:
        return refused.reason
    if not isinstance(found, Observation):
        return "unknown_shape"
    metadata = {key: found.metadata[key] for key in METADATA_KEYS if found.metadata.get(key) is not None}
    parameters = {
        key: found.model_parameters[key] for key in PARAMETER_KEYS if found.model_parameters.get(key) is not None
    }
    return dataclasses.replace(found, metadata=metadata, model_parameters=parameters)


def lean(row: Observation | str) -> Observation | str:
    """The row without metadata that is null, which says as much as none."""
    if isinstance(row, str):
        return row
    fields = {name: getattr(row, name) for name in Observation.__dataclass_fields__}
    for name in ("metadata", "model_parameters"):
        fields[name] = {key: value for key, value in fields[name].items() if value is not None}
    return Observation(**fields)


@pytest.mark.parametrize(
    "name", ["v2-observations-p01", "v2-observations-p02", "v2-observations-otel1", "observations-p01", "traces-p01"]
)
def test_recorded_rows_come_out_as_the_slow_way_makes_them(name: str) -> None:
    rows = rec.rows(name)
    found = {row.row_id: row for row in unpacked(rows) if isinstance(row, Observation)}
    assert len(found) == len(rows)
    for row in rows:
        assert lean(found[row["id"]]) == slow(row)


@pytest.mark.parametrize(
    "change",
    [
        {"startTime": "2026-06-02T10:00:00"},
        {"startTime": "2026-06-02 10:00:00.123456"},
        {"startTime": None},
        {"startTime": ""},
        {"startTime": "hier"},
        {"startTime": "2026-06-02T12:00:00+02:00", "createdAt": "2026-06-02T10:00:01Z"},
        {"createdAt": "2026-06-02T10:00:00"},
        {"endTime": "2026-06-02T10:00:09Z"},
        {"id": ""},
        {"id": "x" * 201},
        {"id": 7},
        {"traceId": None},
        {"traceId": ""},
        {"type": None},
        {"type": 3},
        {"name": None, "level": None, "statusMessage": None, "sessionId": "", "model": ""},
        {"name": "n" * 600, "sessionId": "s" * 600, "statusMessage": "m" * 600},
        {"model": "", "providedModelName": "mistral"},
        {"tags": ["a", "b" * 300]},
        {"tags": "seul"},
        {"tags": [1, 2]},
        {"tags": None},
        {"input": {"messages": [{"role": "user", "content": "é"}]}, "output": ["x", 1]},
        {"input": 3, "output": True},
        {"input": "a" * (MAX_TEXT + 5)},
        {"metadata": '{"a": 1}'},
        {"metadata": "no object"},
        {"metadata": None, "modelParameters": None},
        {"metadata": {"contexts": {"b": [1, 2.5, None]}, "x": 1}, "modelParameters": {"system": "s"}},
        {"metadata": {"retrieval_score": None, "attributes.metadata": "{}", "department": 3}},
        {"metadata": [1]},
        {"type": "EVENT", "metadata": {"k": "v"}},
        {"dataType": "NUMERIC", "value": 1},
    ],
)  # fmt: skip
def test_unusual_rows_come_out_as_the_slow_way_makes_them(change: Mapping[str, Any]) -> None:
    row = BASE | dict(change)
    (found,) = unpacked([row])
    expected = slow(row)
    if "dataType" in change:
        # an observations page holds no scores; a stray field does not make one of a row
        assert isinstance(found, Observation)
        return
    assert lean(found) == expected


_values = st.one_of(
    st.none(), st.text(max_size=5), st.integers(), st.booleans(), st.lists(st.text(max_size=3), max_size=3)
)


@given(
    st.dictionaries(
        st.sampled_from([*BASE, "name", "level", "tags", "input", "output", "metadata", "createdAt"]), _values
    )
)
def test_any_row_comes_out_as_the_slow_way_makes_it(change: dict[str, Any]) -> None:
    row = BASE | change
    (found,) = unpacked([row])
    expected = slow(row)
    if isinstance(found, str) and isinstance(expected, str):
        # a row with two faults may be refused for either
        return
    assert lean(found) == expected


def test_numbers_beyond_64_bits_stay_as_their_digits() -> None:
    (found,) = unpacked([BASE | {"metadata": {"contexts": [2**70, {"n": -(2**70)}], "retrieval_score": 7}}])
    assert isinstance(found, Observation)
    assert found.metadata == {"contexts": [str(2**70), {"n": str(-(2**70))}], "retrieval_score": 7}


def test_every_metadata_key_that_assembly_reads_is_kept() -> None:
    source = inspect.getsource(assembly)
    read = set(re.findall(r"metadata\.get\(\s*\"([^\"]+)\"", source))
    assert {"compliance_department", "requester_metadata", "litellm_call_id"} <= read
    assert read <= set(METADATA_KEYS)
    assert tuple(field.encode_name for field in msgspec.structs.fields(langfuse_api_rows._Metadata)) == METADATA_KEYS
    assert langfuse_api_rows._Parameters.__struct_fields__ == PARAMETER_KEYS
    assert f"for key in {PARAMETER_KEYS}".replace("'", '"') in source
    assert langfuse_api_rows._Kept.__struct_fields__ == tuple(Observation.__dataclass_fields__)
    # any other way of reading would escape this test
    assert not re.search(r"metadata\[|metadata\.(items|keys|values|pop)|in metadata", source)


def test_metadata_that_is_not_used_is_not_kept_on_the_disk() -> None:
    row = BASE | {"metadata": {"requester_ip_address": "203.0.113.7", "department": "direction-it"}}
    for variant in (row, row | {"tags": "unusual"}):
        _, payload = pack_observations(json.dumps({"data": [variant], "meta": {}}).encode())
        assert b"203.0.113.7" not in payload
        assert b"direction-it" in payload


@pytest.mark.parametrize("row", [None, 3, "text", [], {}])
def test_what_is_no_row_is_refused_alone(row: Any) -> None:
    found = unpacked([row, BASE])
    assert sum(isinstance(item, str) for item in found) == 1
    assert sum(isinstance(item, Observation) for item in found) == 1


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"data": 3}', b'{"data": [{"id": "a"', b"<html>", b"\xff\xfe"]
)
@pytest.mark.parametrize("pack", [pack_observations, pack_scores])
def test_what_is_no_page_is_refused_as_a_whole(pack: Any, content: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        pack(content)


def test_numbered_pages_carry_their_number_and_ids() -> None:
    meta = {"page": 2, "limit": 1, "totalItems": 3, "totalPages": 3}
    page, _ = pack_observations(json.dumps({"data": [BASE], "meta": meta}).encode())
    assert (page.cursor, page.total, page.ids) == ("3/1", 3, ("o1",))
    page, _ = pack_observations(json.dumps({"data": [BASE], "meta": meta | {"page": 3}}).encode())
    assert page.cursor is None
    page, payload = pack_scores(json.dumps({"data": [{"id": "s1"}, 5], "meta": meta}).encode())
    assert page.ids == ("s1", "?2/1")
    assert list(unpack_rows(memoryview(payload))) == [{"id": "s1"}]
    assert page.rejected == ("not_json",)


def test_rows_of_one_trace_lie_in_one_segment() -> None:
    rows = [BASE | {"id": f"o{k}", "traceId": f"t{k % 3}"} for k in range(30)]
    page, _ = pack_observations(json.dumps({"data": rows, "meta": {}}).encode())
    ends = [0, *memoryview(page.ends).cast("I")]
    assert sum(b > a for a, b in itertools.pairwise(ends)) <= 3
