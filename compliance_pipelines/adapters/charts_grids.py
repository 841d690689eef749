"""Charts in a grid: small multiples of daily means, and the matrix of states.

Panels share one scale so that they can be compared; gaps stay open where nothing may be shown. Data and
sentences come with the report tree; only positions are computed here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from compliance_pipelines.adapters import fonts
from compliance_pipelines.adapters.charts_base import Drawing, put_line, put_ring, put_text
from compliance_pipelines.adapters.pdf_marks import draw_mark
from compliance_pipelines.adapters.pdf_style import (
    ACCENT,
    CHART_LABEL,
    CHART_SMALL,
    INK,
    MUTED,
    RULE,
)
from compliance_pipelines.adapters.pdf_tags import Node, TaggedCanvas
from compliance_pipelines.adapters.pdf_text import break_lines
from compliance_pipelines.core.report_format import decimal, typeset
from compliance_pipelines.core.report_tree import (
    Mark,
    MatrixCell,
    MatrixChart,
    Panel,
    PanelsChart,
)

PANEL_COLUMNS, PANEL_HEIGHT, PANEL_GAP = 3, 60.0, 14.0


class PanelsDrawing(Drawing):
    """Small multiples on one scale: daily means, threshold dashed, gaps left open."""

    def __init__(self, chart: PanelsChart, panels: Sequence[Panel], node: Node) -> None:
        lines = math.ceil(len(panels) / PANEL_COLUMNS)
        super().__init__(node, lines * PANEL_HEIGHT)
        self.spaceAfter = 4.0
        self.chart = chart
        self.panels = panels
        values = [v for panel in chart.panels for v in (*panel.values, panel.threshold) if v is not None]
        self.low = max(0.0, math.floor((min(values, default=0.0) - 0.02) * 10) / 10)

    def paint(self, canvas: TaggedCanvas) -> None:
        """Draw every panel in its cell."""
        width = (self.width - PANEL_GAP * (PANEL_COLUMNS - 1)) / PANEL_COLUMNS
        for index, panel in enumerate(self.panels):
            x = (index % PANEL_COLUMNS) * (width + PANEL_GAP)
            y = self.height - (index // PANEL_COLUMNS + 1) * PANEL_HEIGHT
            self._panel(canvas, panel, (x, y, width))

    def _panel(self, canvas: TaggedCanvas, panel: Panel, place: tuple[float, float, float]) -> None:
        x, y, width = place
        left, right, bottom, top = x + 17, x + width, y + 14, y + PANEL_HEIGHT - 15
        label = fonts.fit(panel.label, fonts.BOLD, CHART_LABEL, width)
        put_text(canvas, x, y + PANEL_HEIGHT - 9, label, font=fonts.BOLD)

        def height(value: float) -> float:
            return bottom + (min(max(value, self.low), 1.0) - self.low) / (1.0 - self.low) * (top - bottom)

        for value in (self.low, 1.0):
            put_line(canvas, (left, height(value), right, height(value)), 0.35, RULE)
            put_text(canvas, left - 3, height(value) - 2, decimal(value, 1), size=5.6, color=MUTED, align="right")
        put_text(canvas, left, y + 6, self.chart.first_label, size=5.6, color=MUTED)
        put_text(canvas, right, y + 6, self.chart.last_label, size=5.6, color=MUTED, align="right")
        step = (right - left) / max(1, len(panel.values) - 1)
        points = [
            None if value is None else (left + index * step, height(value)) for index, value in enumerate(panel.values)
        ]
        canvas.setLineCap(1)
        for before, after in itertools.pairwise(points):
            if before and after:
                put_line(canvas, (*before, *after), 1.0, ACCENT)
        for index, point in enumerate(points):
            self._point(canvas, panel, index, point, points)
        if panel.threshold is not None:
            canvas.setDash(2, 1.8)
            put_line(canvas, (left, height(panel.threshold), right, height(panel.threshold)), 0.9, INK)
            canvas.setDash()

    @staticmethod
    def _point(
        canvas: TaggedCanvas,
        panel: Panel,
        index: int,
        point: tuple[float, float] | None,
        points: list[tuple[float, float] | None],
    ) -> None:
        value = panel.values[index]
        if point is None or value is None:
            return
        alone = not any(0 <= near < len(points) and points[near] for near in (index - 1, index + 1))
        if panel.threshold is not None and value < panel.threshold:
            put_ring(canvas, *point, 1.5)
        elif alone:
            canvas.setFillColor(ACCENT)
            canvas.circle(*point, 1.1, stroke=0, fill=1)


MATRIX_LEADING, MATRIX_PAD, MATRIX_GAP = 8.6, 6.4, 16.0


class MatrixDrawing(Drawing):
    """States in a grid filled column by column: mark, label on as many lines as it needs, word."""

    def __init__(self, chart: MatrixChart, node: Node, least: int = 8) -> None:
        super().__init__(node, 0.0)
        self.chart = chart
        self.least = least
        self.lines = math.ceil(len(chart.cells) / chart.columns)

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803, ARG002
        """Break the labels; a row is as high as its highest cell."""
        self.width = availWidth
        gaps = MATRIX_GAP * (self.chart.columns - 1)
        self.column = (availWidth - gaps) / self.chart.columns
        self.labels = [self._label(cell) for cell in self.chart.cells]
        self.heights = [
            max(len(label) for label in self.labels[row :: self.lines]) * MATRIX_LEADING + MATRIX_PAD
            for row in range(self.lines)
        ]
        self.height = sum(self.heights) + 2
        return availWidth, self.height

    def cut(self, room: float) -> list[Drawing]:
        """See `Drawing.cut`: the cells go on in their order, at least `least` of them on each page."""
        cells, step = self.chart.cells, self.chart.columns
        for count in range(len(cells) - self.least, self.least - 1, -1):
            if count % step:
                continue
            head, tail = (
                MatrixDrawing(replace(self.chart, cells=part), self.node, self.least)
                for part in (cells[:count], cells[count:])
            )
            if head.wrap(self.width, 0)[1] <= room:
                return [head, tail]
        return []

    def _label(self, cell: MatrixCell) -> list[str]:
        room = self.column - 22 - fonts.width(cell.word, fonts.BOLD, CHART_SMALL)
        text = fonts.printable(typeset(cell.label), fonts.REGULAR)
        lines = break_lines([(fonts.REGULAR, text)], CHART_LABEL, room)
        return ["".join(piece for _, piece in line) for line in lines] or [""]

    def paint(self, canvas: TaggedCanvas) -> None:
        """Draw every cell."""
        for index, (cell, label) in enumerate(zip(self.chart.cells, self.labels, strict=True)):
            column, row = divmod(index, self.lines)
            x = column * (self.column + MATRIX_GAP)
            top = self.height - sum(self.heights[:row])
            bottom = top - self.heights[row]
            if row == 0:
                put_line(canvas, (x, top, x + self.column, top), 0.6, ACCENT)
            put_line(canvas, (x, bottom, x + self.column, bottom), 0.35, RULE)
            y = top - MATRIX_PAD / 2 - 6.4
            font = fonts.BOLD if cell.mark is Mark.CROSS else fonts.REGULAR
            draw_mark(canvas, cell.mark, x + 5, y + 2.4, 3.4)
            put_text(canvas, x + self.column, y, cell.word, font=font, align="right", size=CHART_SMALL)
            for line in label:
                put_text(canvas, x + 13, y, line)
                y -= MATRIX_LEADING
