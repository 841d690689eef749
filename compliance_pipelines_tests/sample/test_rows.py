"""Generated rows against the fields, and kinds of value, of rows recorded from a real gateway and server."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from compliance_pipelines.sample.generate import generate

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("recorded_fields.json").read_text("utf-8"))
KINDS = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    dict: "object",
    list: "array",
}
# a retriever is a span of another type; no gateway records one, an application does
AS = {"GENERATION": "GENERATION", "EVENT": "EVENT", "RETRIEVER": "SPAN"}
OURS = {"compliance_department", "compliance_policy_digest", "compliance_delivered", "bias_review_required"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("rows")
    generate(folder, "2026-06", 600, 3)
    lines = [
        json.loads(line)
        for path in sorted(folder.glob("*-0*.jsonl.gz"))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    assert len(lines) > 1000
    return lines


def test_observations_have_the_recorded_fields(rows: list[dict[str, Any]]) -> None:
    seen = set()
    for row in rows:
        if "type" not in row:
            continue
        seen.add(row["type"])
        recorded = RECORDED[AS[row["type"]]]
        assert list(row) == list(recorded)
        for field, value in row.items():
            allowed = set(recorded[field])
            if row["type"] == "RETRIEVER":
                allowed |= {"string"}  # the recorded span had no output and no parent
            assert KINDS[type(value)] in allowed, (row["type"], field, value)
    assert seen == set(AS)


def test_generation_metadata_has_what_was_always_recorded(rows: list[dict[str, Any]]) -> None:
    always, sometimes = RECORDED["GENERATION.metadata"], RECORDED["GENERATION.metadata optional"]
    for row in rows:
        if row.get("type") == "GENERATION":
            meta = row["metadata"]
            assert set(always) <= set(meta)
            assert set(meta) <= set(always) | set(sometimes) | OURS
            assert all(KINDS[type(meta[key])] in kinds for key, kinds in always.items())
            assert meta["litellm_call_id"].replace("-", "") == row["traceId"]


def test_input_and_output_are_escaped_json_strings(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row.get("type") == "GENERATION":
            assert row["input"].isascii()
            messages = json.loads(row["input"])["messages"]
            assert messages[0]["role"] == "system"
            assert messages[-1]["role"] == "user"
            assert row["level"] == "ERROR" or row["output"].isascii()


def test_scores_have_the_recorded_fields(rows: list[dict[str, Any]]) -> None:
    count = 0
    for row in rows:
        if "dataType" not in row:
            continue
        count += 1
        assert list(row) == list(RECORDED["score"])
        assert row["createdAt"].endswith(".000Z")
        assert isinstance(row["value"], str) == (row["dataType"] in {"CATEGORICAL", "TEXT"})
        assert row["subject"]["kind"] in {"trace", "observation"}
        if row["subject"]["kind"] == "observation":
            assert len(row["subject"]["traceId"]) == 32
    assert count > 300


def test_ids_have_the_recorded_form(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert len(row["id"]) == 16
        int(row["id"], 16)
        if "traceId" in row:
            int(row["traceId"], 16)
