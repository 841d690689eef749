"""Boxes: a tinted panel with a bar at its left (verdicts, warnings), and the key figures of the first page.

They stay whole on one page. Tints, bars and rules are artifacts; the words inside are tagged paragraphs.
"""

from __future__ import annotations

from collections.abc import Sequence

from reportlab.lib.colors import Color
from reportlab.platypus.flowables import Flowable

from compliance_pipelines.adapters.pdf_style import (
    ACCENT,
    TILE_DETAIL,
    TILE_LABEL,
    TILE_VALUE,
    TINT,
)
from compliance_pipelines.adapters.pdf_tags import Node, TaggedCanvas
from compliance_pipelines.adapters.pdf_text import Para
from compliance_pipelines.core.report_tree import Tiles

_PAD = 9.0


class Box(Flowable):
    """Paragraphs on a tint, a coloured bar at the left; it stays on one page."""

    def __init__(self, paragraphs: Sequence[Para], color: Color, *, weight: float = 2.4) -> None:
        super().__init__()
        self.paragraphs = list(paragraphs)
        self.color = color
        self.weight = weight
        self.spaceBefore, self.spaceAfter = 3.0, 9.0

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803, ARG002
        """Stack the paragraphs."""
        self.width = availWidth
        inner = availWidth - 2 * _PAD - self.weight
        self.height = sum(para.wrap(inner, 0)[1] for para in self.paragraphs) + 1.4 * _PAD
        return availWidth, self.height

    def draw(self) -> None:
        """Draw panel, bar and text."""
        canvas: TaggedCanvas = self.canv
        with canvas.tagged(None):
            canvas.setFillColor(TINT)
            canvas.rect(0, 0, self.width, self.height, stroke=0, fill=1)
            canvas.setFillColor(self.color)
            canvas.rect(0, 0, self.weight, self.height, stroke=0, fill=1)
        y = self.height - 0.7 * _PAD
        for para in self.paragraphs:
            y -= para.height
            para.drawOn(canvas, self.weight + _PAD, y)


class TileRow(Flowable):
    """Key figures side by side: value, what it is, its base."""

    def __init__(self, tiles: Tiles, parent: Node) -> None:
        super().__init__()
        self.cells = []
        for tile in tiles.items:
            group = parent.add("Div")
            self.cells.append(
                [
                    Para(tile.value, TILE_VALUE, group.add("P")),
                    Para(tile.label, TILE_LABEL, group.add("P")),
                    Para(tile.detail, TILE_DETAIL, group.add("P")),
                ]
            )
        self.spaceBefore, self.spaceAfter = 2.0, 10.0

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803, ARG002
        """Give each figure the same width."""
        self.width = availWidth
        self.step = availWidth / len(self.cells)
        self.height = max(sum(para.wrap(self.step - 14, 0)[1] for para in cell) + 6 for cell in self.cells)
        return availWidth, self.height

    def draw(self) -> None:
        """Draw each figure under a short rule."""
        canvas: TaggedCanvas = self.canv
        for index, cell in enumerate(self.cells):
            x = index * self.step
            with canvas.tagged(None):
                canvas.setStrokeColor(ACCENT)
                canvas.setLineWidth(1.2)
                canvas.line(x, self.height, x + self.step - 14, self.height)
            y = self.height - 4
            for para in cell:
                y -= para.height
                para.drawOn(canvas, x, y)
