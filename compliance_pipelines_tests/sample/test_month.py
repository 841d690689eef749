"""The shipped month: it holds what it promises, and it is what the generator writes today."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from compliance_pipelines.sample.generate import generate
from compliance_pipelines.sample.profiles import Naming, profiles
from compliance_pipelines.sample.situations import HELD_OUT_FOLDER, HERE, AnswerKind, load_situations

SHIPPED = HERE / "2026-06"
CUT_OFF = datetime(2026, 7, 1, 4, tzinfo=UTC)
Row = dict[str, Any]


def read(folder: Path, pattern: str) -> list[Row]:
    return [
        json.loads(line)
        for path in sorted(folder.glob(pattern))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]


@pytest.fixture(scope="module")
def observations() -> list[Row]:
    return read(SHIPPED, "observations-*.jsonl.gz")


@pytest.fixture(scope="module")
def scores() -> list[Row]:
    return read(SHIPPED, "scores-*.jsonl.gz")


@pytest.fixture(scope="module")
def truth() -> dict[str, Row]:
    return {row["trace_id"]: row for row in read(SHIPPED, "truth.jsonl.gz")}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_it_is_what_the_generator_writes(tmp_path: Path) -> None:
    generate(tmp_path, "2026-06", 3300, 7)
    written = {path.name for path in SHIPPED.glob("*.gz")}
    assert {path.name for path in tmp_path.iterdir()} == written
    for name in written:
        # decompressed: another zlib may pack the same rows differently
        new, old = ((folder / name).read_bytes() for folder in (tmp_path, SHIPPED))
        assert gzip.decompress(new) == gzip.decompress(old), name


def test_it_is_small_enough_to_ship() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) <= 6_000_000


def test_traces_departments_and_names(observations: list[Row], truth: dict[str, Row]) -> None:
    assert len(truth) >= 3000
    assert {row["traceId"] for row in observations} == set(truth)
    counts = Counter(row["department"] for row in truth.values())
    assert set(counts) == {profile.id for profile in profiles().departments} | {"non-attribue"}
    assert counts["direction-reassurance"] < 30
    assert min(count for name, count in counts.items() if name != "direction-reassurance") >= 50
    assert {row["named_by"] for row in truth.values()} == {naming.value for naming in Naming}
    assert 0.01 < counts["non-attribue"] / len(truth) < 0.06


def test_department_names_stand_where_the_truth_says(observations: list[Row], truth: dict[str, Row]) -> None:
    places: defaultdict[str, Counter[str]] = defaultdict(Counter)
    own = {profile.key_alias for profile in profiles().departments}
    for row in observations:
        if row["type"] != "GENERATION":
            continue
        meta, named_by = row["metadata"], truth[row["traceId"]]["named_by"]
        said = {
            "stamp": "compliance_department" in meta,
            "key_alias": meta["user_api_key_alias"] in own,
            "team_alias": "user_api_key_team_alias" in meta,
            "team_id": "user_api_key_team_id" in meta,
            "tag": any(tag.startswith("department:") for tag in row["tags"]),
            "declared": "department" in meta["requester_metadata"],
        }
        first = next((name for name, here in said.items() if here), "none")
        places[named_by][first] += 1
    assert all(set(found) == {named_by} for named_by, found in places.items())


def test_the_silent_day_and_the_edges_of_the_month(truth: dict[str, Row]) -> None:
    paris = ZoneInfo("Europe/Paris")
    local = [at(row["observed_at"]).astimezone(paris) for row in truth.values()]
    days = {moment.date().isoformat() for moment in local}
    assert days == {f"2026-06-{day:02d}" for day in range(1, 31)} - {"2026-06-18"}
    # some belong to another day, or month, in UTC
    assert any(m.date() != m.astimezone(UTC).date() for m in local)
    assert Counter(m.weekday() < 5 for m in local)[True] > 0.85 * len(local)


def test_late_rows(observations: list[Row], scores: list[Row]) -> None:
    lag = [at(row["createdAt"]) - at(row["startTime"]) for row in observations]
    assert all(timedelta() < one < timedelta(days=5) for one in lag)
    assert sum(one > timedelta(hours=6) for one in lag) >= 30
    assert sum(at(row["createdAt"]) >= CUT_OFF for row in observations) >= 3
    assert sum(at(row["createdAt"]) >= CUT_OFF for row in scores) >= 3


def test_one_page_comes_twice(observations: list[Row]) -> None:
    twice = [row for row, count in Counter(row["id"] for row in observations).items() if count == 2]
    assert len(twice) == 100
    first = read(SHIPPED, "observations-0001.jsonl.gz")[-100:]
    assert first == read(SHIPPED, "observations-0002.jsonl.gz")[:100]
    assert max(Counter(row["id"] for row in observations).values()) == 2


def test_refusals_leave_two_generations_and_an_event(observations: list[Row], truth: dict[str, Row]) -> None:
    unique = {row["id"]: row for row in observations}.values()
    refused = {name for name, row in truth.items() if row["outcome"] == "gate_refused"}
    assert len(refused) >= 20
    for name in refused:
        rows = [row for row in unique if row["traceId"] == name]
        one, two = (row for row in rows if row["type"] == "GENERATION")
        assert one["id"] != two["id"]
        assert one | {"id": ""} == two | {"id": ""}
        assert one["level"] == "ERROR"
        assert one["statusMessage"] == one["output"]
        assert "0.35 < 0.35" not in one["output"]
        (event,) = (row for row in rows if row["name"] == "retrieval_gate_blocked")
        assert event["metadata"]["similarity"] < event["metadata"]["floor"] == 0.35


def test_events_carry_no_text(observations: list[Row], truth: dict[str, Row]) -> None:
    names = Counter(row["name"] for row in observations if row["type"] == "EVENT")
    assert set(names) == {
        "retrieval_gate_blocked", "retrieval_score_missing", "uncited-specific-claim", "low_self_confidence",
        "protected-attr-comparison-detected", "bias-screen-finding",
    }  # fmt: skip
    for row in observations:
        if row["type"] == "EVENT":
            assert row["input"] is None
            assert row["output"] is None
            shown = json.dumps(row["metadata"], ensure_ascii=False)
            assert truth[row["traceId"]]["question"] not in shown


def test_scores(scores: list[Row], truth: dict[str, Row]) -> None:
    names = Counter((row["name"], row["source"]) for row in scores)
    for name in ("human_feedback", "citation_compliance", "citation_marker"):
        assert names[name, "API"] > 100
    assert names["review_outcome", "ANNOTATION"] > 100
    thumbs = Counter(row["value"] for row in scores if row["name"] == "human_feedback")
    assert set(thumbs) == {1, -1}
    assert {row["value"] for row in scores if row["name"] == "review_outcome"} == {"confirmed", "overridden"}
    high = {profile.id for profile in profiles().departments if profile.high_risk}
    for row in scores:
        if row["name"] == "citation_compliance":
            fact = truth[row["subject"]["id"]]
            assert fact["department"] in high
            assert row["value"] == int(all(figure["cited"] for figure in fact["figures"]))
    pairs = defaultdict(dict)
    for row in scores:
        pairs[row["subject"]["id"]][row["name"]] = row["value"]
    both = Counter((p["citation_compliance"], p["citation_marker"]) for p in pairs.values() if "citation_marker" in p)
    assert set(both) == {(1, 1), (0, 0), (0, 1)}


def test_answers_and_offsets(observations: list[Row], truth: dict[str, Row]) -> None:
    for row in observations:
        fact = truth[row["traceId"]]
        if row["type"] == "GENERATION" and fact["figures"]:
            said = json.loads(row["output"])
            text = said["content"] if isinstance(said, dict) else said[0]["content"][0]["text"]
            assert all(text[f["start"] : f["end"]] == f["text"] for f in fact["figures"])


def test_every_kind_of_exchange_is_there(truth: dict[str, Row]) -> None:
    rows = truth.values()
    assert {row["answer_kind"] for row in rows} == {kind.value for kind in AnswerKind}
    assert {row["question_kind"] for row in rows} == {"neutral", "leading", "protected", "near_miss"}
    assert {row["channel"] for row in rows} == {"source_tags", "retriever", "metadata", "none"}
    assert {row["band"] for row in rows} == {"neutral", "mostly", "partial", "strong", None}
    assert sum(row["injection"] for row in rows) >= 3


def test_one_high_risk_department_gives_in_and_the_others_do_not(truth: dict[str, Row]) -> None:
    worth = {"neutral": 1.0, "mostly": 0.8, "partial": 0.5, "strong": 0.1}
    values: defaultdict[str, list[float]] = defaultdict(list)
    for row in truth.values():
        if row["band"]:
            values[row["department"]].append(worth[row["band"]])
    means = {department: sum(found) / len(found) for department, found in values.items()}
    assert means.pop("direction-souscription") < 0.65
    assert min(means.values()) > 0.75


def test_no_situation_kept_apart_made_a_trace(truth: dict[str, Row]) -> None:
    apart = {situation.id for situation in load_situations(HELD_OUT_FOLDER)}
    assert not apart & {row["situation"] for row in truth.values()}
    assert len({row["situation"] for row in truth.values()}) >= 60


def test_typography_is_mixed(observations: list[Row]) -> None:
    answers = "".join(json.loads(r["output"])["content"] for r in observations
                      if r["type"] == "GENERATION" and (r["output"] or "").startswith("{"))  # fmt: skip
    for sign in ("’", "'", "\u00a0", "\u202f", "e\u0301", "€", "EUR", " euros", " pour cent"):
        assert sign in answers
