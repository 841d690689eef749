"""Objects kept as the server wrote them: read when asked, the unreadable goes alone, nothing of them in their repr."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance_pipelines.adapters.langfuse_api_objects import KeptObject, kept, kept_mapping
from compliance_pipelines.adapters.langfuse_api_rows import pack_observations, unpack_observations
from compliance_pipelines.core.langfuse_rows import MAX_DEPTH

ROW = b'{"id": "o1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-06-02T10:00:00Z", "metadata": %s}'


class Fields(msgspec.Struct, omit_defaults=True):
    a: msgspec.Raw = msgspec.Raw()
    b: msgspec.Raw = msgspec.Raw()


def through(text: bytes) -> KeptObject:
    return KeptObject(kept(msgspec.json.decode(text, type=Fields)))


def metadata(text: bytes) -> Any:
    """Metadata of a row that came as `text`."""
    page, payload = pack_observations(b'{"data": [' + ROW % text + b"]}")
    assert not page.rejected
    (row,) = unpack_observations(memoryview(payload))
    return row.metadata


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.floats(allow_nan=False, width=32),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(_json, _json)
def test_it_reads_as_what_was_written(a: Any, b: Any) -> None:
    written = json.dumps({"a": a, "b": b}).encode("utf-8", "surrogatepass")
    try:
        wanted = msgspec.json.decode(written)
    except msgspec.DecodeError:
        return
    assert dict(through(written)) == wanted
    assert dict(KeptObject(kept_mapping(wanted))) == wanted


def test_it_is_a_mapping() -> None:
    found = through(b'{"a": {"x": 1}, "c": 2}')
    assert found == {"a": {"x": 1}}
    assert (len(found), list(found), found["a"], found.get("b"), found.get("b", 7)) == (1, ["a"], {"x": 1}, None, 7)
    with pytest.raises(KeyError):
        found["b"]
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301  made on the line
    assert KeptObject(b"") == {} == KeptObject(kept(Fields()))
    assert kept_mapping({}) == b""


def test_its_repr_shows_none_of_it() -> None:
    assert repr(through(b'{"a":"Claire"}')) == "KeptObject(14 bytes)"


def test_numbers_that_no_float_holds_are_what_python_reads() -> None:
    assert metadata(b'{"contexts": 1e999, "department": "d"}') == {"contexts": math.inf, "department": "d"}
    assert metadata(b'{"contexts": 123456789012345678901, "model_group": 12345678901234567890}') == {
        "contexts": "123456789012345678901",
        "model_group": 12345678901234567890,
    }


def test_bytes_that_are_no_text_spoil_their_own_key_alone() -> None:
    assert metadata(b'{"contexts": ["a\xffb"], "compliance_department": "direction-it"}') == {
        "contexts": ["a\ufffdb"],
        "compliance_department": "direction-it",
    }
    assert metadata(b'{"contexts": ["\\ud800"], "compliance_department": "direction-it"}') == {
        "contexts": ["\ufffd"],
        "compliance_department": "direction-it",
    }


@pytest.mark.parametrize("depth", [MAX_DEPTH + 5, 150, 400, 900])
def test_what_lies_too_deep_goes_and_the_stamp_beside_it_stays(depth: int) -> None:
    nest = b"[" * depth + b"]" * depth
    found = metadata(b'{"contexts": %s, "compliance_department": "direction-it"}' % nest)
    assert found["compliance_department"] == "direction-it"

    def asked_deep(frames: int) -> object:
        # whoever asks may stand deep in the stack himself
        return asked_deep(frames - 1) if frames else found.get("contexts")

    assert json.dumps(asked_deep(100)).count("[") <= depth


def test_many_brackets_cost_no_content() -> None:
    texts = [f"[{n}] {{x}}" for n in range(300)]
    assert metadata(json.dumps({"contexts": texts, "department": "d"}).encode()) == {
        "contexts": texts,
        "department": "d",
    }
