"""Charts with one line a department: intervals against thresholds, and stacked bars of shares.

Direct labels, marks that differ by shape, no meaning on colour alone. Data and sentences come with the
report tree; only positions are computed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from reportlab.lib.colors import Color

from compliance_pipelines.adapters import fonts
from compliance_pipelines.adapters.charts_base import FOOTROOM, HEADROOM, RowsDrawing, put_line, put_ring, put_text
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
    BarRow,
    BarsChart,
    IntervalChart,
    IntervalRow,
    LegendKey,
    Mark,
)

LABEL_WIDTH, NOTE_WIDTH = 118.0, 106.0


class IntervalDrawing(RowsDrawing):
    """Mean (mark), interval (bar), minimum (small ring), threshold (upright) of each department."""

    def __init__(self, chart: IntervalChart, rows: Sequence[IntervalRow], node: Node) -> None:
        super().__init__(node, len(rows))
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
            return left + (min(max(value, self.low), self.high) - self.low) / (self.high - self.low) * (right - left)

        steps = round((self.high - self.low) * 10)
        stride = 1 if steps <= 6 else 2
        for step in range(0, steps + 1, stride):
            value = self.low + step / 10
            put_line(canvas, (at(value), bottom, at(value), top), 0.35, RULE)
            label = decimal(value * 100, 0) + NNBSP + "%" if self.chart.percent else decimal(value, 1)
            put_text(canvas, at(value), 4, label, size=CHART_SMALL, color=MUTED, align="center")
        self._legend(canvas, left)
        for index, row in enumerate(self.rows):
            y = top - self.row * (index + 0.5)
            self._row(canvas, row, y, at)

    def _row(self, canvas: TaggedCanvas, row: IntervalRow, y: float, position: Callable[[float], float]) -> None:
        label = fonts.fit(row.label, fonts.REGULAR, CHART_LABEL, LABEL_WIDTH - 8)
        put_text(canvas, 0, y - 2.6, label)
        put_text(canvas, self.width, y - 2.6, row.note, align="right", size=CHART_SMALL + 0.4)
        if row.minimum is not None and row.mean is not None:
            canvas.setDash(1, 1.6)
            put_line(canvas, (position(row.minimum), y, position(row.mean), y), 0.6, MUTED)
            canvas.setDash()
            put_ring(canvas, position(row.minimum), y, 1.7)
        if row.low is not None and row.high is not None:
            put_line(canvas, (position(row.low), y, position(row.high), y), 3.8, BAR)
        if row.threshold is not None:
            put_line(canvas, (position(row.threshold), y - 5.2, position(row.threshold), y + 5.2), 1.5, INK)
        if row.second is not None:
            _square(canvas, position(row.second), y, 2.4)
        if row.mean is not None:
            draw_mark(canvas, row.mark, position(row.mean), y, 3.7)

    def _legend(self, canvas: TaggedCanvas, x: float) -> None:
        y = self.height - 8
        drawers: dict[LegendKey, Callable[[float], None]] = {
            "mean": lambda at: draw_mark(canvas, Mark.CHECK, at + 4, y + 2.4, 3.2),
            "interval": lambda at: put_line(canvas, (at, y + 2.4, at + 9, y + 2.4), 4, BAR),
            "minimum": lambda at: put_ring(canvas, at + 4, y + 2.4, 1.7),
            "second": lambda at: _square(canvas, at + 4, y + 2.4, 2.4),
            "threshold": lambda at: put_line(canvas, (at + 4, y - 1.5, at + 4, y + 6.5), 1.5, INK),
        }
        for key, label in self.chart.legend:
            drawers[key](x)
            words = typeset(label)
            put_text(canvas, x + 12, y, words, size=CHART_SMALL, color=MUTED)
            x += 12 + fonts.width(words, fonts.REGULAR, CHART_SMALL) + 14


def _square(canvas: TaggedCanvas, x: float, y: float, half: float) -> None:
    canvas.setLineWidth(0.9)
    canvas.setStrokeColor(INK)
    canvas.setFillColor(WHITE)
    canvas.rect(x - half, y - half, 2 * half, 2 * half, stroke=1, fill=1)


class BarsDrawing(RowsDrawing):
    """Stacked shares, dark then light (grey when not split), value and base at the end of the row."""

    def __init__(self, chart: BarsChart, rows: Sequence[BarRow], node: Node) -> None:
        super().__init__(node, len(rows))
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
            put_line(canvas, (x, bottom, x, top), 0.35, RULE)
            label = decimal(index * step * 100, 0 if step >= 0.01 else 1) + NNBSP + "%"
            put_text(canvas, x, 4, label, size=CHART_SMALL, color=MUTED, align="center")
        x, y = left, self.height - 8
        for color, label in zip((ACCENT, TINT, BAR), self.chart.legend, strict=False):
            self._box(canvas, (x, y - 0.5, 9, 6), color)
            put_text(canvas, x + 13, y, label, size=CHART_SMALL, color=MUTED)
            x += 13 + fonts.width(label, fonts.REGULAR, CHART_SMALL) + 14
        for index, row in enumerate(self.rows):
            middle = top - self.row * (index + 0.5)
            put_text(canvas, 0, middle - 2.6, fonts.fit(row.label, fonts.REGULAR, CHART_LABEL, LABEL_WIDTH - 8))
            put_text(canvas, self.width, middle - 2.6, row.note, align="right", size=CHART_SMALL + 0.4)
            start = left
            whole = len(row.values) == 1 and len(self.chart.legend) > 1
            for color, value in zip((BAR,) if whole else (ACCENT, TINT), row.values, strict=False):
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
