"""The nights of a month are taken as they are only when nothing they are made from, and nothing stored, has changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import compliance_guardrails.policy as policy_package
import pandas as pd
import pytest

from compliance_pipelines import code_identity, nights
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.periods import Month
from compliance_pipelines.resources import PolicyResource, TraceSourceResource
from compliance_pipelines_tests.small_month import damage

MONTH = Month.parse("2026-06")
TABLES = ("langfuse/traces", "department/daily")


class Place:
    """An installation with two stored tables, an export and a policy folder of its own."""

    def __init__(self, root: Path) -> None:
        self.home, self.export, self.policy = root / "home", root / "export", root / "policy"
        (self.home / "state").mkdir(parents=True)
        self.export.mkdir()
        (self.export / "rows.jsonl").write_text('{"id": "a"}\n', encoding="utf-8")
        shutil.copytree(Path(policy_package.__file__).parent / "data", self.policy)
        self.store = TableStore(self.home / "data")
        for table in TABLES:
            for day in MONTH.days():
                self.write(table, day.isoformat(), 1.0)

    def write(self, table: str, day: str, value: float) -> None:
        self.store.write(table.split("/"), day, pd.DataFrame({"value": [value]}))

    @property
    def inputs(self) -> tuple[TraceSourceResource, PolicyResource]:
        source = TraceSourceResource(export=str(self.export), home=str(self.home))
        return source, PolicyResource(policy_dir=str(self.policy))

    def unchanged(self, month: Month = MONTH) -> bool:
        return nights.unchanged(month, TABLES, self.inputs[0], nights.inputs(month, *self.inputs))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    nights.remember(MONTH, TABLES, made.inputs[0], nights.inputs(MONTH, *made.inputs))
    return made


def test_nights_never_run_are_not_unchanged(tmp_path: Path) -> None:
    assert not Place(tmp_path).unchanged()


def test_the_same_inputs_and_tables_are_unchanged(place: Place) -> None:
    assert place.unchanged()
    assert not place.unchanged(Month.parse("2026-07"))


def _more_rows(place: Place) -> None:
    with (place.export / "rows.jsonl").open("a", encoding="utf-8") as rows:
        rows.write("\n")


def _another_file(place: Place) -> None:
    (place.export / "late.jsonl").write_text("", encoding="utf-8")


def _threshold(place: Place) -> None:
    path = place.policy / "thresholds.yaml"
    text = path.read_text(encoding="utf-8")
    assert "min_n: 30" in text
    path.write_text(text.replace("min_n: 30", "min_n: 31"), encoding="utf-8")


def _value(place: Place) -> None:
    place.write("department/daily", "2026-06-15", 2.0)


def _removed(place: Place) -> None:
    place.store.path(("langfuse", "traces"), "2026-06-30").unlink()


def _damaged(place: Place) -> None:
    path = place.store.path(("langfuse", "traces"), "2026-06-30")
    path.write_bytes(path.read_bytes()[:-20])


def _one_byte(place: Place) -> None:
    path = place.store.path(("langfuse", "traces"), "2026-06-30")
    damage(path)
    assert "values" in place.store.notes(("langfuse", "traces"), "2026-06-30")


def _later_policy(place: Place) -> None:
    """A threshold of October, as experts write it; June keeps its policy, Dagster's code versions do not."""
    path, before = place.policy / "departments.yaml", place.inputs[1].of(MONTH).digest
    kept = place.policy / "history" / "departments" / "2026-01-01.yaml"
    kept.parent.mkdir(parents=True)
    shutil.copy(path, kept)
    text = path.read_text(encoding="utf-8").replace("effective_from: 2026-01-01", "effective_from: 2026-10-01")
    path.write_text(text.replace("report_threshold: 0.60", "report_threshold: 0.65", 1), encoding="utf-8")
    assert place.inputs[1].of(MONTH).digest == before


def _note_unreadable(place: Place) -> None:
    (place.home / "state" / "nights-2026-06.sha256").write_bytes(b"\xff\xfe")


def _note_a_folder(place: Place) -> None:
    note = place.home / "state" / "nights-2026-06.sha256"
    note.unlink()
    note.mkdir()


CHANGES = [_more_rows, _another_file, _threshold, _value, _removed, _damaged, _one_byte, _later_policy]


@pytest.mark.parametrize("change", [*CHANGES, _note_unreadable, _note_a_folder])
def test_any_change_makes_them_run_again(place: Place, change: Callable[[Place], None]) -> None:
    change(place)
    assert not place.unchanged()


def test_other_code_or_another_key_makes_them_run_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPLIANCE_HMAC_KEY", "another key")
    assert not place.unchanged()
    monkeypatch.delenv("COMPLIANCE_HMAC_KEY")
    assert place.unchanged()
    monkeypatch.setattr(nights, "code_identity", lambda: code_identity.code_identity() + "x")
    assert not place.unchanged()


def test_rows_that_arrive_during_the_run_make_them_run_again(place: Place) -> None:
    made_from = nights.inputs(MONTH, *place.inputs)
    _more_rows(place)
    nights.remember(MONTH, TABLES, place.inputs[0], made_from)
    assert not place.unchanged()
