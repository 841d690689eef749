"""What a reader sees of the pages: no quarter page left blank, nothing cut, charts that go on say so.

Pages are looked at as pixels; words are read back from the file.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pypdfium2
import pytest
from pypdf import PdfReader

from compliance_pipelines.adapters.charts import IntervalDrawing
from compliance_pipelines.adapters.charts_base import FOOTROOM, HEADROOM, LEAST_ROW, ROW
from compliance_pipelines.adapters.charts_grids import MatrixDrawing
from compliance_pipelines.adapters.pdf import render
from compliance_pipelines.adapters.pdf_tags import Node
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.report_inputs import GroundFacts, ReportInputs
from compliance_pipelines.core.report_tree import IntervalChart, IntervalRow, Mark, MatrixCell, MatrixChart
from compliance_pipelines_tests import report_samples as samples
from compliance_pipelines_tests.golden.months import MONTHS, may

# The two rules of running header and footer, as shares of the height of the page.
TOP, FOOT = 0.06, 0.948
LONG = "Particulière vulnérabilité résultant de la situation économique, apparente ou connue de l’auteur des faits"


def made(inputs: ReportInputs) -> bytes:
    report = build_report(inputs)
    return render(report, attachments(report))


def blanks(content: bytes) -> list[float]:
    """For each page, the share of its text area that is empty at the bottom."""
    found = []
    document = pypdfium2.PdfDocument(content)
    for page in document:
        pixels = page.render(scale=0.5).to_numpy()
        height = pixels.shape[0]
        body = pixels[int(height * TOP) : int(height * FOOT)].min(axis=(1, 2))
        inked = np.flatnonzero(body < 200)
        found.append(1 - (int(inked[-1]) + 1) / len(body) if len(inked) else 1.0)
        page.close()
    document.close()
    return found


CASES: dict[str, Callable[[], ReportInputs]] = {
    **MONTHS,
    "without May": samples.inputs,
    "lexical": samples.lexical_inputs,
    "broken": lambda: samples.lexical_inputs(previous=may(-0.1, (None, "la politique a changé"))),
}


@pytest.mark.parametrize("name", CASES)
def test_no_quarter_page_is_left_blank_between_first_and_last(name: str) -> None:
    found = blanks(made(CASES[name]()))
    assert [round(share, 2) for share in found[1:-1] if share > 0.25] == []
    assert found[0] < 0.4


def test_long_grounds_wrap_and_are_printed_whole() -> None:
    grounds = tuple(GroundFacts(g.id, f"{LONG} {number}", g.detected) for number, g in enumerate(samples.grounds()))
    text = "".join(page.extract_text() for page in PdfReader(io.BytesIO(made(samples.inputs(grounds=grounds)))).pages)
    plain = "".join(text.split())
    for ground in grounds:
        assert "".join(ground.label.split()) in plain
    assert "…" not in text


def test_a_chart_that_goes_on_repeats_its_title() -> None:
    texts = [page.extract_text() for page in PdfReader(io.BytesIO(made(samples.inputs(previous=may(-0.06))))).pages]
    (number,) = [n for n, text in enumerate(texts) if "Couverture des critères ce mois-ci (suite)" in text]
    assert "Couverture des critères ce mois-ci" in texts[number - 1]
    labels = [ground.label for ground in samples.grounds()]
    both = texts[number - 1] + texts[number]
    assert all(label in both for label in labels)
    assert any(label in texts[number - 1] for label in labels)
    assert any(label in texts[number] for label in labels)


def matrix(count: int) -> MatrixDrawing:
    cells = tuple(MatrixCell(f"critère {number}", "testé", Mark.CHECK) for number in range(count))
    drawing = MatrixDrawing(MatrixChart("t", "d", cells), Node("Figure"))
    drawing.wrap(480, 0)
    return drawing


@pytest.mark.parametrize(("count", "room", "cut"), [(24, 1000, True), (24, 70, True), (24, 40, False), (12, 70, False)])
def test_a_matrix_is_cut_in_order_and_never_into_crumbs(count: int, room: float, cut: bool) -> None:
    whole = matrix(count)
    parts = whole.cut(room)
    assert bool(parts) == cut
    if parts:
        first, rest = parts
        assert isinstance(first, MatrixDrawing)
        assert isinstance(rest, MatrixDrawing)
        assert (*first.chart.cells, *rest.chart.cells) == whole.chart.cells
        assert min(len(first.chart.cells), len(rest.chart.cells)) >= 8
        assert first.height <= room


def interval(count: int) -> IntervalDrawing:
    row = IntervalRow("a", 0.8, 0.7, 0.9, 0.5, 0.7, Mark.CHECK, "0,80")
    rows = tuple(replace(row, label=f"direction {number}") for number in range(count))
    return IntervalDrawing(IntervalChart("t", "d", rows, ()), rows, Node("Figure"))


def test_lines_come_closer_only_as_far_as_they_stay_readable() -> None:
    drawing, natural = interval(12), HEADROOM + 12 * ROW + FOOTROOM
    assert drawing.wrap(480, 0)[1] == pytest.approx(natural)
    drawing.close_up(natural - 20)
    assert drawing.wrap(480, 0)[1] == pytest.approx(natural - 20)
    drawing.close_up(HEADROOM + 12 * LEAST_ROW + FOOTROOM - 1)  # less than it can: as before
    assert drawing.wrap(480, 0)[1] == pytest.approx(natural)
    drawing.close_up(natural + 500)
    assert drawing.wrap(480, 0)[1] == pytest.approx(natural)
    drawing.close_up(None)
    assert drawing.row == ROW
