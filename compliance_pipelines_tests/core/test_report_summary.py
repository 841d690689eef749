"""The summary: one page whatever the month, the figures of the first page, nothing that the report masks."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from pypdf import PdfReader

from compliance_pipelines.adapters.pdf import render_summary
from compliance_pipelines.core.report import build_report
from compliance_pipelines.core.report_inputs import DepartmentFacts
from compliance_pipelines.core.report_summary import first_rows, summary_json
from compliance_pipelines_tests import report_samples as samples


def document(**changes) -> dict:
    return json.loads(summary_json(build_report(samples.inputs(**changes))))


def test_the_document_says_what_the_page_says() -> None:
    report = build_report(samples.inputs())
    found = json.loads(summary_json(report))
    assert (found["month"], found["revision"], found["verdict"]) == ("2026-06", 1, "Non conforme")
    assert found["policy_digest"] == samples.digest("policy")
    values = {(f["metric"], f["name"]): f["value"] for f in found["figures"]}
    assert values["judge_neutrality", "departments_at_threshold"] == 7
    assert values["judge_neutrality", "departments_measured"] == 8
    assert values["judge_neutrality", "departments_non_conforme"] == 1
    assert found["scope"]["Nuits manquantes"] == "2 sur la période"
    page = PdfReader(io.BytesIO(render_summary(report))).pages[0].extract_text()
    assert "7 / 8" in " ".join(page.split())
    share = values["citation_compliance", "share_cited"]
    assert f"{share * 100:.1f}".replace(".", ",") in page
    for row in found["departments"]["rows"]:
        assert row[0] in " ".join(page.split())


def test_bytes_repeat_and_are_canonical() -> None:
    report = build_report(samples.inputs())
    content = summary_json(report)
    assert content == summary_json(build_report(samples.inputs()))
    assert (
        content
        == (json.dumps(json.loads(content), ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n").encode()
    )
    assert render_summary(report) == render_summary(build_report(samples.inputs()))


def test_small_groups_stay_masked() -> None:
    (row,) = [row for row in document()["departments"]["rows"] if row[0] == "Transformation"]
    assert row[1:3] == ["n. c.", "n. c."]
    assert row[5] == "—"


@pytest.mark.parametrize("count", [0, 1, 40, 120])
def test_one_page_however_many_departments(count: int) -> None:
    ids = [f"direction-{number:03d}" for number in range(count)]
    rows = tuple(samples.aggregate(name, "judge_neutrality", 100, 0.5, 0.7) for name in ids)
    facts = tuple(DepartmentFacts(name, f"Direction {name} " * 4, "HIGH", 0.7) for name in ids)
    report = build_report(samples.inputs(aggregates=rows, departments=facts, daily=(), coverage=(), oversight=()))
    (page,) = PdfReader(io.BytesIO(render_summary(report))).pages
    text = " ".join(page.extract_text().split())
    assert report.verdict.value in text
    assert ("dans le rapport complet" in text) == (count > 20)


def test_a_cut_table_says_how_many_are_left() -> None:
    table = build_report(samples.inputs()).summary
    assert table is not None
    cut = first_rows(table, len(table.rows) - 1)
    assert cut.note is not None
    assert cut.note.replace("\u00a0", " ").endswith("1 autre direction dans le rapport complet.")
    assert first_rows(table, len(table.rows)) is table
    assert replace(cut, rows=table.rows, note=table.note) == table
