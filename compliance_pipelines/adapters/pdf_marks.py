"""Status marks, drawn: five shapes that differ in outline and filling, so that they survive greyscale and
bad eyesight.

Disc with a tick, diamond with a cross, ring with an i, half-filled ring, ring with a bar. No font has to
know them.
"""

from __future__ import annotations

from reportlab.pdfgen.canvas import Canvas

from compliance_pipelines.adapters.pdf_style import MARK_COLORS, WHITE
from compliance_pipelines.core.report_tree import Mark


def draw_mark(canvas: Canvas, mark: Mark, x: float, y: float, radius: float) -> None:
    """Draw a mark centred on (x, y)."""
    color = MARK_COLORS[mark]
    canvas.saveState()
    canvas.setFillColor(color)
    canvas.setStrokeColor(color)
    canvas.setLineWidth(radius * 0.24)
    canvas.setLineCap(1)
    canvas.setLineJoin(1)
    if mark is Mark.CHECK:
        canvas.circle(x, y, radius, stroke=0, fill=1)
        _polyline(canvas, radius, x, y, ((-0.48, 0.0), (-0.12, -0.4), (0.5, 0.4)))
    elif mark is Mark.CROSS:
        _diamond(canvas, x, y, radius * 1.22)
        _polyline(canvas, radius, x, y, ((-0.34, -0.34), (0.34, 0.34)))
        _polyline(canvas, radius, x, y, ((-0.34, 0.34), (0.34, -0.34)))
    else:
        inner = radius * 0.88
        canvas.setFillColor(WHITE)
        canvas.circle(x, y, inner, stroke=1, fill=1)
        canvas.setFillColor(color)
        if mark is Mark.INFO:
            canvas.line(x, y - radius * 0.42, x, y + radius * 0.05)
            canvas.circle(x, y + radius * 0.42, radius * 0.13, stroke=0, fill=1)
        elif mark is Mark.HALF:
            canvas.wedge(x - inner, y - inner, x + inner, y + inner, 90, 180, stroke=0, fill=1)
        else:
            canvas.line(x - radius * 0.42, y, x + radius * 0.42, y)
    canvas.restoreState()


def _polyline(canvas: Canvas, radius: float, x: float, y: float, points: tuple[tuple[float, float], ...]) -> None:
    canvas.setStrokeColor(WHITE)
    canvas.setLineWidth(radius * 0.3)
    path = canvas.beginPath()
    for index, (dx, dy) in enumerate(points):
        move = path.lineTo if index else path.moveTo
        move(x + dx * radius, y + dy * radius)
    canvas.drawPath(path, stroke=1, fill=0)


def _diamond(canvas: Canvas, x: float, y: float, reach: float) -> None:
    path = canvas.beginPath()
    path.moveTo(x - reach, y)
    path.lineTo(x, y + reach)
    path.lineTo(x + reach, y)
    path.lineTo(x, y - reach)
    path.close()
    canvas.drawPath(path, stroke=0, fill=1)
