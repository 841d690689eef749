"""What every chart of the report is made of: a flowable tagged as one figure, and a few strokes.

Charts are drawn straight onto the page as vectors in the report's own fonts: fonts embedded once, bytes that
repeat, no raster. The charts themselves are in `charts` and `charts_grids`.
"""

from __future__ import annotations

from reportlab.lib.colors import Color
from reportlab.platypus.flowables import Flowable

from compliance_pipelines.adapters import fonts
from compliance_pipelines.adapters.pdf_style import (
    CHART_LABEL,
    INK,
    WHITE,
)
from compliance_pipelines.adapters.pdf_tags import Node, TaggedCanvas
from compliance_pipelines.core.report_tree import (
    Align,
)

ROW, LEAST_ROW, HEADROOM, FOOTROOM = 13.4, 10.4, 15.0, 14.0


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

    def close_up(self, room: float | None) -> None:
        """Take less height to fit `room` where the chart can and stays readable; None: its natural height."""

    def cut(self, room: float) -> list[Drawing]:  # noqa: ARG002 - most charts are not cut
        """Return two drawings of which the first fits `room`, or nothing where that cannot be."""
        return []

    def draw(self) -> None:
        """Draw the chart as the content of its figure node."""
        with self.canv.tagged(self.node):
            self.paint(self.canv)

    def paint(self, canvas: TaggedCanvas) -> None:
        """Draw; subclasses only."""
        raise NotImplementedError


class RowsDrawing(Drawing):
    """A chart with one line a department, whose lines can come closer."""

    row: float = ROW

    def __init__(self, node: Node, count: int) -> None:
        super().__init__(node, HEADROOM + ROW * count + FOOTROOM)
        self.count = count

    def close_up(self, room: float | None) -> None:
        """See `Drawing.close_up`: lines no closer than `LEAST_ROW`."""
        fitting = ROW if room is None else (room - HEADROOM - FOOTROOM) / max(1, self.count)
        self.row = min(ROW, fitting) if fitting >= LEAST_ROW else ROW
        self.height = HEADROOM + self.row * self.count + FOOTROOM


def put_text(
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
    """Draw a text at (x, y), aligned on x, in the fonts and sizes of the report."""
    canvas.setFillColor(color)
    canvas.setFont(font, size)
    text = fonts.printable(text, font)
    x -= fonts.width(text, font, size) * {"left": 0.0, "center": 0.5, "right": 1.0}[align]
    canvas.drawString(x, y, text)


def put_line(canvas: TaggedCanvas, points: tuple[float, float, float, float], weight: float, color: Color) -> None:
    """Draw a straight line (x1, y1, x2, y2)."""
    canvas.setLineWidth(weight)
    canvas.setStrokeColor(color)
    canvas.line(*points)


def put_ring(canvas: TaggedCanvas, x: float, y: float, radius: float) -> None:
    """Draw a small white disc with a dark outline."""
    canvas.setLineWidth(0.9)
    canvas.setStrokeColor(INK)
    canvas.setFillColor(WHITE)
    canvas.circle(x, y, radius, stroke=1, fill=1)
