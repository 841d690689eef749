"""The summary: one page whatever the month, the figures of the first page, nothing that the report masks."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from pypdf import PdfReader

from compliance_pipelines.adapters.pdf import render_summary
from compliance_pipelines.core.records import Verdict
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
    (cited,) = [f for f in found["figures"] if f["name"] == "share_cited"]
    # Some departments have fewer than five answers without a source: the total is a bound, on the page as well.
    assert (cited["value"], cited["state"], cited["unit"]) == (None, "non communiqué", "ratio")
    assert f"≥ {cited['at_least'] * 100:.1f}".replace(".", ",") in page.replace("\u202f", " ")
    assert cited["n"] > 1000
    for row in found["departments"]:
        assert row["label"] in " ".join(page.split())


def test_the_share_of_requests_with_a_score_is_of_all_published_requests() -> None:
    shown = [facts for facts in samples.inputs().coverage if facts.requests >= 5]
    requests, scored = (sum(getattr(f, name) for f in shown) for name in ("requests", "with_retrieval_score"))
    (gate,) = [figure for figure in document()["figures"] if figure["metric"] == "retrieval_gate"]
    assert (gate["n"], gate["value"]) == (requests, round(scored / requests, 6))


def test_a_department_with_too_few_traces_is_not_counted_as_measured() -> None:
    aggregates = [
        replace(row, verdict=Verdict.INSUFFISANT)
        if (row.department, row.metric) == ("direction-sinistres", "judge_neutrality")
        else row
        for row in samples.inputs().aggregates
    ]
    found = document(aggregates=tuple(aggregates))
    values = {(f["metric"], f["name"]): f["value"] for f in found["figures"]}
    assert values["judge_neutrality", "departments_measured"] == 7


def test_every_value_is_a_number_with_its_unit_n_and_interval() -> None:
    found = document()
    (finance,) = [row for row in found["departments"] if row["id"] == "direction-finance"]
    assert finance["neutrality"] == {
        "metric": "judge_neutrality",
        "unit": "score",
        "n": 312,
        "value": 0.6996,
        "interval_95": finance["neutrality"]["interval_95"],
        "threshold": 0.7,
        "verdict": "Non conforme",
        "state": "publié",
    }
    low, high = finance["neutrality"]["interval_95"]
    assert 0 < low < 0.6996 < high < 1
    assert finance["citations"]["unit"] == "ratio"
    (rare,) = [row["citations"] for row in found["departments"] if row["id"] == "direction-reassurance"]
    assert (rare["value"], rare["interval_95"], rare["state"]) == (None, None, "non communiqué")
    assert rare["above"] < 1
    assert {f["unit"] for f in found["figures"]} == {"verdict", "departments", "traces", "ratio"}
    assert all(isinstance(f["value"], int | float | None) for f in found["figures"] if f["unit"] != "verdict")


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
    (row,) = [row for row in document()["departments"] if row["label"] == "Transformation"]
    assert (row["neutrality"]["n"], row["neutrality"]["value"]) == (None, None)
    assert row["neutrality"]["state"] == "non communiqué"
    assert row["citations"] is None or row["citations"]["value"] is None


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
