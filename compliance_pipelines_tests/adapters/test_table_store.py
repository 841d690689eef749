"""Tables on disk: round trips, empty days, atomic writes, damaged files, digests over values."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pandera.errors
import pytest

from compliance_pipelines.adapters.table_store import StoreError, TableStore
from compliance_pipelines.core.records import Aggregate, Judgement, Score, Status, Trace, Verdict
from compliance_pipelines.core.tables import TRACES, frame, records
from compliance_pipelines_tests.small_month import damage

WHEN = datetime(2026, 6, 2, 10, 30, 0, 123456, tzinfo=UTC)
ROWS = {
    Trace: Trace(
        "t", WHEN, WHEN, None, "d", "stamp", None, None, "q", None, ("a", "b"), None, True, None, None, "export", "x"
    ),
    Score: Score("s", None, "human_feedback", -1.0, None, "API", WHEN, WHEN),
    Judgement: Judgement("t", "d", WHEN, "m", None, Status.UNSCORED, "timeout", "e", 2.0),
    Aggregate: Aggregate(
        "d", WHEN, WHEN, "m", 1, 1, 1, 1, 0, 0.5, None, 0.1, 0.1, None, None, None, None, Verdict.INDICATIF, None, "p"
    ),
}
KEY = ("langfuse", "traces")


@pytest.mark.parametrize("kind", list(ROWS))
@pytest.mark.parametrize("count", [0, 1])
def test_round_trip(kind: type, count: int, tmp_path: Path) -> None:
    store, rows = TableStore(tmp_path), [ROWS[kind]] * count
    store.write(KEY, "2026-06-02", frame(rows, kind))
    assert records(store.read(KEY, "2026-06-02"), kind) == rows


def test_a_table_is_on_the_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power cut a renamed file without its bytes would be an empty night."""
    done: list[str] = []
    fsync, replaced = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("flushed"), fsync(file))[1])
    monkeypatch.setattr(Path, "replace", lambda old, new: (done.append("placed"), replaced(old, new))[1])
    TableStore(tmp_path).write(KEY, "a", frame([ROWS[Trace]], Trace))
    assert done == ["flushed", "placed"]


def test_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    first = store.write(KEY, "a", frame([ROWS[Trace]], Trace)).read_bytes()
    assert store.write(KEY, "a", frame([ROWS[Trace]], Trace)).read_bytes() == first


def test_counts_travel_with_the_table_and_with_its_digest(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    table = frame([ROWS[Trace]], Trace)
    table.attrs["counts"] = {"rows": 3}
    store.write(KEY, "a", table)
    assert store.read(KEY, "a").attrs["counts"] == {"rows": 3}
    before = store.digest(KEY, ["a", "absent"])
    assert before[:2] == (("a",), 1)
    table.attrs["counts"] = {"rows": 4}
    store.write(KEY, "a", table)
    assert store.digest(KEY, ["a"])[2] != before[2]


def test_rows_of_departments_left_out_are_digested_and_not_counted(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    rows = [replace(ROWS[Trace], trace_id=str(number), department="ab"[number % 2]) for number in range(5)]
    store.write(KEY, "a", frame(rows, Trace))
    store.write(("langfuse", "scores"), "a", frame([ROWS[Score]], Score))
    whole = store.digest(KEY, ["a"])
    assert whole[1] == 5
    assert store.digest(KEY, ["a"], {"b", "absent"}) == (whole[0], 3, whole[2])
    assert store.digest(("langfuse", "scores"), ["a"], {"b"})[1] == 1  # no department to leave out


def test_a_failed_write_leaves_the_old_table_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = TableStore(tmp_path)
    store.write(KEY, "a", frame([ROWS[Trace]], Trace))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("compliance_pipelines.adapters.table_store.pq.write_table", full)
    with pytest.raises(StoreError, match="No space left") as refused:
        store.write(KEY, "a", frame([], Trace))
    assert "\n" not in str(refused.value)
    monkeypatch.undo()
    assert len(store.read(KEY, "a")) == 1
    assert [p.name for p in (tmp_path / "langfuse" / "traces").iterdir()] == ["a.parquet"]


def test_missing_and_damaged_tables_are_one_line(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    with pytest.raises(StoreError, match="2026-06-02 n'a pas encore été calculée"):
        store.read(KEY, "2026-06-02")
    store.write(KEY, "a", frame([], Trace)).write_bytes(b"PAR1 nonsense")
    with pytest.raises(StoreError, match="illisible"):
        store.read(KEY, "a")


def test_the_schema_refuses_what_must_not_be_stored() -> None:
    for bad in (float("nan"), 1.2):
        row = Judgement("t", "d", WHEN, "m", bad, Status.SCORED, None, "e", 1.0)
        with pytest.raises(pandera.errors.SchemaError):
            frame([row], Judgement)
    with pytest.raises(pandera.errors.SchemaError):
        frame([Judgement("t", "d", WHEN, "m", 0.5, Status.UNSCORED, "r", "e", 1.0)], Judgement)
    with pytest.raises(pandera.errors.SchemaError):
        frame([ROWS[Trace], ROWS[Trace]], Trace)
    with pytest.raises(pandera.errors.SchemaError):
        TRACES.validate(pd.DataFrame({"trace_id": ["t"]}))


def test_one_flipped_byte_never_changes_what_is_read(tmp_path: Path) -> None:
    store, rows = TableStore(tmp_path), [replace(ROWS[Trace], trace_id=f"t{n}", row_digest=f"x{n}") for n in range(40)]
    path = store.write(KEY, "2026-06-02", frame(rows, Trace))
    content, whole, found, wrong = path.read_bytes(), store.read(KEY, "2026-06-02"), 0, []
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    assert store.sound(KEY, "2026-06-02")
    for at in range(4, len(content) - 8, 7):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        store.notes(KEY, "2026-06-02")
        try:
            same = store.read(KEY, "2026-06-02").equals(whole)
        except StoreError:
            found += 1
        else:
            # the footer has no checksum: there it is enough that nothing but a StoreError comes out
            wrong += [] if same or at >= footer else [at]
    assert wrong == []
    assert found > 100


def test_damage_in_the_rows_alone_is_found_and_the_message_says_what_makes_the_table_again(tmp_path: Path) -> None:
    store = TableStore(tmp_path)
    path = store.write(KEY, "2026-06-02", frame([ROWS[Trace]], Trace))
    damage(path)
    assert "values" in store.notes(KEY, "2026-06-02")
    assert not store.sound(KEY, "2026-06-02")
    for read in (lambda: store.read(KEY, "2026-06-02"), lambda: store.read_columns(KEY, "2026-06-02", ["trace_id"])):
        with pytest.raises(StoreError, match="compliance report build 2026-06 --nights") as refused:
            read()
        assert "\n" not in str(refused.value)
