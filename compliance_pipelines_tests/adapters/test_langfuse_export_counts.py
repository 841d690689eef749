"""What an export read counts, by day: each row once over the months of a run, versions of a row, lost characters."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from compliance_pipelines.adapters.langfuse_export import ExportReader, ReadReport
from compliance_pipelines.core.records import Score
from compliance_pipelines_tests.adapters.test_langfuse_export import export, read, reader, row


def test_months_read_one_after_the_other_count_each_row_once(tmp_path: Path) -> None:
    other = row(id="o2", traceId="t2", startTime="2026-07-01T10:00:00Z")
    # within the margin of the other month
    close = row(id="o3", traceId="t3", startTime="2026-06-30T22:05:00Z")
    event = row(id="o4", traceId="t4", type="EVENT", startTime="2026-06-30T22:06:00Z")
    export(tmp_path / "e", row(), row(), "{", other, other, close, close, event)
    report = ReadReport()
    for month, length in ((6, 30), (7, 31)):
        days = [date(2026, month, k + 1) for k in range(length)]
        list(reader(tmp_path / "e", tmp_path).trace_days(days, report))
    assert report.totals(date(2026, 6, 1), date(2026, 6, 30)) == {
        "duplicates": 1, "observations": 2, "rejected_not_json": 1, "rows": 3
    }  # fmt: skip
    assert report.totals(date(2026, 7, 1), date(2026, 7, 31)) == {
        "duplicates": 2, "observations": 5, "rows": 5, "without_exchange": 1
    }  # fmt: skip


def test_scores_come_by_day_a_month_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def score(number: int, at: str) -> dict[str, object]:
        return {
            "id": f"s{number}",
            "traceId": "t",
            "name": "n",
            "dataType": "NUMERIC",
            "value": number,
            "timestamp": at,
        }

    moments = ("2026-05-31T21:59:00Z", "2026-05-31T22:01:00Z", "2026-06-30T21:59:00Z", "2026-06-30T22:01:00Z")
    export(tmp_path / "e", *[score(number, at) for number, at in enumerate(moments)], score(2, moments[2]), "{")
    asked: list[tuple[date, date]] = []
    whole = ExportReader.read_scores

    def read_scores(self: ExportReader, first: date, last: date) -> tuple[list[Score], ReadReport]:
        asked.append((first, last))
        return whole(self, first, last)

    monkeypatch.setattr(ExportReader, "read_scores", read_scores)
    report, days = ReadReport(), [date.fromordinal(date(2026, 5, 31).toordinal() + k) for k in range(32)]
    found = list(reader(tmp_path / "e", tmp_path).score_days(days, report))
    assert asked == [(days[0], days[0]), (days[1], days[30]), (days[31], days[31])]
    assert [day for day, _ in found] == days
    assert {day.isoformat(): [s.value for s in rows] for day, rows in found if rows} == {
        "2026-05-31": [0.0], "2026-06-01": [1.0], "2026-06-30": [2.0], "2026-07-01": [3.0]
    }  # fmt: skip
    assert report.totals(days[0], days[-1]) == {"duplicates": 1, "rejected_not_json": 1, "rows": 6, "scores": 5}
    assert not list((tmp_path / "scratch").glob("spill-*"))


def test_of_two_versions_of_the_same_instant_the_later_file_stands(tmp_path: Path) -> None:
    unfinished = {**row(), "output": None}
    export(tmp_path / "e", unfinished, name="2026-06-02T11-00-00.jsonl")
    export(tmp_path / "e", row(), name="2026-06-02T12-00-00.jsonl.gz")
    traces, counts = read(tmp_path / "e", tmp_path)
    assert [t.answer for t in traces] == ["150 €"]
    assert counts["conflicting_duplicates"] == 1


def test_characters_lost_on_the_way_are_counted(tmp_path: Path) -> None:
    folder = export(tmp_path / "e", row())
    text = json.dumps(row(id="o2", traceId="t2", output="réponse"), ensure_ascii=False) + "\n"
    (folder / "p.jsonl").write_bytes(text.encode("latin-1"))
    traces, counts = read(folder, tmp_path)
    assert [t.answer for t in traces] == ["150 €", "r\ufffdponse"]
    assert counts["replaced_characters"] == 1


@pytest.mark.parametrize("place", [0, 1])
def test_a_malformed_row_counts_once_over_the_nights_of_a_month(place: int, tmp_path: Path) -> None:
    rows: list[object] = [row(), row(id="o2", traceId="t2", startTime="2026-06-03T10:00:00Z")]
    rows.insert(place, "{")
    export(tmp_path / "e", *rows)
    days = [
        read(tmp_path / "e", tmp_path, date(2026, 6, d), date(2026, 6, d))[1].get("rejected_not_json", 0)
        for d in (1, 2, 3, 4)
    ]
    assert days == [0, 1, 0, 0]
