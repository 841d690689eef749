"""The charts of the report, drawn straight onto the page as vectors in the report's own fonts.

Intervals against thresholds, small multiples of daily means, stacked bars of shares, a matrix of states.
Direct labels, no colour that carries meaning alone, no rasters. Data and sentences come with the report
tree; nothing is computed here but positions. Drawing directly keeps the fonts embedded once, the bytes
repeatable and the build fast.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from reportlab.lib.colors import Color
from reportlab.platypus.flowables import Flowable

from compliance_pipelines.adapters import fonts
from compliance_pipelines.adapters.pdf_marks import draw_mark
from compliance_pipelines.adapters.pdf_style import (
    ACCENT,
    BAR,
    CHART_LABEL,
    CHART_SMALL,
    INK,
    MUTED,
    RULE,
    TINT,
    WHITE,
)
from compliance_pipelines.adapters.pdf_tags import Node, TaggedCanvas
from compliance_pipelines.core.report_format import NNBSP, decimal, typeset
from compliance_pipelines.core.report_tree import (
    Align,
    BarRow,
    BarsChart,
    IntervalChart,
    IntervalRow,
    LegendKey,
    Mark,
    MatrixChart,
    Panel,
    PanelsChart,
)

LABEL_WIDTH, NOTE_WIDTH = 118.0, 106.0
ROW, HEADROOM, FOOTROOM = 16.5, 17.0, 15.0


class Drawing(Flowable):
    """A chart of fixed height; subclasses draw inside (0, 0, width, height), tagged as one figure."""

    def __init__(self, node: Node, height: float) -> None:
        super().__init__()
        self.node = node
        self.height = height
        self.spaceAfter = 9.0

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803, ARG002
        """Take the full width."""
        self.width = availWidth
        return availWidth, self.height

    def draw(self) -> None:
        """Draw the chart as the content of its figure node."""
        with self.canv.tagged(self.node):
            self.paint(self.canv)

    def paint(self, canvas: TaggedCanvas) -> None:
        """Draw; subclasses only."""
        raise NotImplementedError


def _text(  # noqa: PLR0913 - a text is where, what and how
    canvas: TaggedCanvas,
    x: float,
    y: float,
    text: str,
    *,
    font: str = fonts.REGULAR,
    size: float = CHART_LABEL,
    color: Color = INK,
    align: Align = "left",
) -> None:
    canvas.setFillColor(color)
    canvas.setFont(font, size)
    text = fonts.printable(text, font)
    x -= fonts.width(text, font, size) * {"left": 0.0, "center": 0.5, "right": 1.0}[align]
    canvas.drawString(x, y, text)


def _line(
    canvas: TaggedCanvas, points: tuple[float, float, float, float], weight: float, color: Color
) -> None:
    canvas.setLineWidth(weight)
    canvas.setStrokeColor(color)
    canvas.line(*points)


class IntervalDrawing(Drawing):
    """Mean (mark), interval (bar), minimum (small ring), threshold (upright) of each department."""

    def __init__(self, chart: IntervalChart, rows: Sequence[IntervalRow], node: Node) -> None:
        super().__init__(node, HEADROOM + ROW * len(rows) + FOOTROOM)
        self.chart = chart
        self.rows = rows
        values = [
            value
            for row in chart.rows
            for value in (row.mean, row.low, row.minimum, row.threshold, row.second)
            if value is not None
        ]
        lowest = min(values, default=0.0)
        self.low = max(0.0, math.floor((lowest - 0.03) * 10) / 10)
        self.high = 1.0

    def paint(self, canvas: TaggedCanvas) -> None:
        """Draw axis, legend and one line a department."""
        left, right = LABEL_WIDTH, self.width - NOTE_WIDTH
        top, bottom = self.height - HEADROOM, FOOTROOM

        def at(value: float) -> float:
            return left + (min(max(value, self.low), self.high) - self.low) / (self.high - self.low) * (
                right - left
            )

        steps = round((self.high - self.low) * 10)
        stride = 1 if steps <= 6 else 2
        for step in range(0, steps + 1, stride):
            value = self.low + step / 10
            _line(canvas, (at(value), bottom, at(value), top), 0.35, RULE)
            label = decimal(value * 100, 0) + NNBSP + "%" if self.chart.percent else decimal(value, 1)
            _text(canvas, at(value), 4, label, size=CHART_SMALL, color=MUTED, align="center")
        self._legend(canvas, left)
        for index, row in enumerate(self.rows):
            y = top - ROW * (index + 0.5)
            self._row(canvas, row, y, at)

    def _row(
        self, canvas: TaggedCanvas, row: IntervalRow, y: float, position: Callable[[float], float]
    ) -> None:
        label = fonts.fit(row.label, fonts.REGULAR, CHART_LABEL, LABEL_WIDTH - 8)
        _text(canvas, 0, y - 2.6, label)
        _text(canvas, self.width, y - 2.6, row.note, align="right", size=CHART_SMALL + 0.4)
        if row.minimum is not None and row.mean is not None:
            canvas.setDash(1, 1.6)
            _line(canvas, (position(row.minimum), y, position(row.mean), y), 0.6, MUTED)
            canvas.setDash()
            _ring(canvas, position(row.minimum), y, 1.7)
        if row.low is not None and row.high is not None:
            _line(canvas, (position(row.low), y, position(row.high), y), 4.2, BAR)
        if row.threshold is not None:
            _line(canvas, (position(row.threshold), y - 6.2, position(row.threshold), y + 6.2), 1.5, INK)
        if row.second is not None:
            _square(canvas, position(row.second), y, 2.4)
        if row.mean is not None:
            draw_mark(canvas, row.mark, position(row.mean), y, 3.7)

    def _legend(self, canvas: TaggedCanvas, x: float) -> None:
        y = self.height - 8
        drawers: dict[LegendKey, Callable[[float], None]] = {
            "mean": lambda at: draw_mark(canvas, Mark.CHECK, at + 4, y + 2.4, 3.2),
            "interval": lambda at: _line(canvas, (at, y + 2.4, at + 9, y + 2.4), 4, BAR),
            "minimum": lambda at: _ring(canvas, at + 4, y + 2.4, 1.7),
            "second": lambda at: _square(canvas, at + 4, y + 2.4, 2.4),
            "threshold": lambda at: _line(canvas, (at + 4, y - 1.5, at + 4, y + 6.5), 1.5, INK),
        }
        for key, label in self.chart.legend:
            drawers[key](x)
            words = typeset(label)
            _text(canvas, x + 12, y, words, size=CHART_SMALL, color=MUTED)
            x += 12 + fonts.width(words, fonts.REGULAR, CHART_SMALL) + 14


def _ring(canvas: TaggedCanvas, x: float, y: float, radius: float) -> None:
    canvas.setLineWidth(0.9)
    canvas.setStrokeColor(INK)
    canvas.setFillColor(WHITE)
    canvas.circle(x, y, radius, stroke=1, fill=1)


def _square(canvas: TaggedCanvas, x: float, y: float, half: float) -> None:
    canvas.setLineWidth(0.9)
    canvas.setStrokeColor(INK)
    canvas.setFillColor(WHITE)
    canvas.rect(x - half, y - half, 2 * half, 2 * half, stroke=1, fill=1)


class BarsDrawing(Drawing):
    """Stacked shares, dark then light, with the value and its base at the end of the row."""

    def __init__(self, chart: BarsChart, rows: Sequence[BarRow], node: Node) -> None:
        super().__init__(node, HEADROOM + ROW * len(rows) + FOOTROOM)
        self.chart = chart
        self.rows = rows

    def paint(self, canvas: TaggedCanvas) -> None:
        """Draw axis, legend and one bar a department."""
        left, right = LABEL_WIDTH, self.width - NOTE_WIDTH
        top, bottom = self.height - HEADROOM, FOOTROOM
        scale = (right - left) / self.chart.maximum
        step = _step(self.chart.maximum)
        for index in range(int(self.chart.maximum / step + 1e-9) + 1):
            x = left + index * step * scale
            _line(canvas, (x, bottom, x, top), 0.35, RULE)
            label = decimal(index * step * 100, 0 if step >= 0.01 else 1) + NNBSP + "%"
            _text(canvas, x, 4, label, size=CHART_SMALL, color=MUTED, align="center")
        x, y = left, self.height - 8
        for color, label in zip((ACCENT, TINT), self.chart.legend, strict=False):
            self._box(canvas, (x, y - 0.5, 9, 6), color)
            _text(canvas, x + 13, y, label, size=CHART_SMALL, color=MUTED)
            x += 13 + fonts.width(label, fonts.REGULAR, CHART_SMALL) + 14
        for index, row in enumerate(self.rows):
            middle = top - ROW * (index + 0.5)
            _text(canvas, 0, middle - 2.6, fonts.fit(row.label, fonts.REGULAR, CHART_LABEL, LABEL_WIDTH - 8))
            _text(canvas, self.width, middle - 2.6, row.note, align="right", size=CHART_SMALL + 0.4)
            start = left
            for color, value in zip((ACCENT, TINT), row.values, strict=False):
                length = min(value, self.chart.maximum) * scale
                if length > 0:
                    self._box(canvas, (start, middle - 4, length, 8), color)
                start += length

    @staticmethod
    def _box(canvas: TaggedCanvas, box: tuple[float, float, float, float], color: Color) -> None:
        canvas.setLineWidth(0.6)
        canvas.setStrokeColor(ACCENT)
        canvas.setFillColor(color)
        canvas.rect(*box, stroke=1, fill=1)


def _step(maximum: float) -> float:
    for step in (0.005, 0.01, 0.02, 0.05, 0.1):
        if maximum / step <= 6:
            return step
    return 0.2


PANEL_COLUMNS, PANEL_HEIGHT, PANEL_GAP = 3, 66.0, 14.0


class PanelsDrawing(Drawing):
    """Small multiples on one scale: daily means, threshold dashed, gaps left open."""

    def __init__(self, chart: PanelsChart, panels: Sequence[Panel], node: Node) -> None:
        lines = math.ceil(len(panels) / PANEL_COLUMNS)
        super().__init__(node, lines * PANEL_HEIGHT)
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
        _text(canvas, x, y + PANEL_HEIGHT - 9, label, font=fonts.BOLD)

        def height(value: float) -> float:
            return bottom + (min(max(value, self.low), 1.0) - self.low) / (1.0 - self.low) * (top - bottom)

        for value in (self.low, 1.0):
            _line(canvas, (left, height(value), right, height(value)), 0.35, RULE)
            _text(
                canvas, left - 3, height(value) - 2, decimal(value, 1), size=5.6, color=MUTED, align="right"
            )
        _text(canvas, left, y + 6, self.chart.first_label, size=5.6, color=MUTED)
        _text(canvas, right, y + 6, self.chart.last_label, size=5.6, color=MUTED, align="right")
        step = (right - left) / max(1, len(panel.values) - 1)
        points = [
            None if value is None else (left + index * step, height(value))
            for index, value in enumerate(panel.values)
        ]
        canvas.setLineCap(1)
        for before, after in itertools.pairwise(points):
            if before and after:
                _line(canvas, (*before, *after), 1.0, ACCENT)
        for index, point in enumerate(points):
            self._point(canvas, panel, index, point, points)
        if panel.threshold is not None:
            canvas.setDash(2, 1.8)
            _line(canvas, (left, height(panel.threshold), right, height(panel.threshold)), 0.9, INK)
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
            _ring(canvas, *point, 1.5)
        elif alone:
            canvas.setFillColor(ACCENT)
            canvas.circle(*point, 1.1, stroke=0, fill=1)


MATRIX_ROW = 15.0


class MatrixDrawing(Drawing):
    """States in a grid filled column by column: mark, label, word."""

    def __init__(self, chart: MatrixChart, node: Node) -> None:
        self.lines = math.ceil(len(chart.cells) / chart.columns)
        super().__init__(node, self.lines * MATRIX_ROW + 2)
        self.chart = chart

    def paint(self, canvas: TaggedCanvas) -> None:
        """Draw every cell."""
        gap = 16.0
        width = (self.width - gap * (self.chart.columns - 1)) / self.chart.columns
        for index, cell in enumerate(self.chart.cells):
            column, line = divmod(index, self.lines)
            x, y = column * (width + gap), self.height - MATRIX_ROW * (line + 1)
            if line == 0:
                _line(canvas, (x, y + MATRIX_ROW, x + width, y + MATRIX_ROW), 0.6, ACCENT)
            _line(canvas, (x, y, x + width, y), 0.35, RULE)
            font = fonts.BOLD if cell.mark is Mark.CROSS else fonts.REGULAR
            draw_mark(canvas, cell.mark, x + 5, y + MATRIX_ROW / 2, 3.4)
            _text(canvas, x + width, y + 4.8, cell.word, font=font, align="right", size=CHART_SMALL)
            room = width - 18 - fonts.width(cell.word, font, CHART_SMALL)
            _text(canvas, x + 13, y + 4.8, fonts.fit(cell.label, fonts.REGULAR, CHART_LABEL, room))
