"""A chart on the page: heading, title, sentence and drawing that stand together.

Where the drawing does not quite fit, its lines come closer, down to a readable floor; a matrix goes on with the next
page. What fits neither way moves to the next page whole. Drawing is `charts`; this is only about room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from reportlab.platypus.flowables import Flowable

from compliance_pipelines.adapters import pdf_style as style
from compliance_pipelines.adapters.charts import BarsDrawing, IntervalDrawing
from compliance_pipelines.adapters.charts_base import Drawing
from compliance_pipelines.adapters.charts_grids import PANEL_COLUMNS, MatrixDrawing, PanelsDrawing
from compliance_pipelines.adapters.pdf_tags import Node, TaggedCanvas
from compliance_pipelines.adapters.pdf_text import Para
from compliance_pipelines.core.report_tree import BarsChart, IntervalChart, MatrixChart, PanelsChart

T = TypeVar("T")
Chart = IntervalChart | PanelsChart | BarsChart | MatrixChart
_ROWS_A_CHART = 28
_CELLS_A_CHART = 60
_LEAST_CELLS = 8


class ChartGroup(Flowable):
    """The words above a chart and the chart itself, on one page."""

    def __init__(self, words: Sequence[Para], drawing: Drawing, title: str = "") -> None:
        super().__init__()
        self.words = list(words)
        self.drawing = drawing
        self.title = title
        self.spaceBefore = words[0].spaceBefore if words else 0.0
        self.spaceAfter = drawing.spaceAfter

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803
        """Stack words and drawing; the drawing closes up when that is what it takes to fit."""
        self.width = availWidth
        self._tops: list[float] = []
        used = 0.0
        for index, para in enumerate(self.words):
            used += max(para.spaceBefore, self.words[index - 1].spaceAfter) if index else 0.0
            self._tops.append(used)
            used += para.wrap(availWidth, 0)[1]
        used += self.words[-1].spaceAfter if self.words else 0.0
        self.drawing.close_up(None)
        natural = self.drawing.wrap(availWidth, availHeight)[1]
        if used + natural > availHeight:
            self.drawing.close_up(availHeight - used)
            natural = self.drawing.wrap(availWidth, availHeight)[1]
        self._words_height = used
        self.height = used + natural
        return availWidth, self.height

    def split(self, availWidth: float, availheight: float) -> list[Flowable]:  # noqa: N803
        """A matrix goes on with the next page; any other chart is not cut."""
        self.wrap(availWidth, availheight)
        parts = self.drawing.cut(availheight - self._words_height)
        if not parts:
            return []
        return [
            ChartGroup(self.words, parts[0], self.title),
            *(Continuation(self.title, part) for part in parts[1:]),
        ]

    def draw(self) -> None:
        """Draw from the top."""
        canvas: TaggedCanvas = self.canv
        for para, top in zip(self.words, self._tops, strict=True):
            para.drawOn(canvas, 0, self.height - top - para.height)
        self.drawing.drawOn(canvas, 0, 0)


class Continuation(ChartGroup):
    """The next part of a chart; its title comes back, as an artifact, only at the head of a page."""

    def __init__(self, title: str, drawing: Drawing) -> None:
        super().__init__((), drawing, title)
        self._repeated = Para(f"{title} (suite)", style.CAPTION)

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803
        """Measure with the title where nothing stands above on this page."""
        frame = getattr(self, "_frame", None)
        self.words = [self._repeated] if frame is not None and frame._atTop else []
        return super().wrap(availWidth, availHeight)


def chart_flowables(block: Chart, parent: Node, heading: Para | None) -> list[Flowable]:
    """Return the chart with its words; charts longer than a page come in several parts."""
    title = Para(block.title, style.CAPTION, parent.add("P"))
    text = Para(block.description, style.DESCRIPTION, parent.add("P"))
    first, *others = _drawings(block, parent)
    above = [heading] if heading is not None else []
    return [
        ChartGroup([*above, title, text], first, block.title),
        *(Continuation(block.title, other) for other in others),
    ]


def _drawings(block: Chart, parent: Node) -> list[Drawing]:
    # One figure of the structure, however many parts it is drawn in.
    node = parent.add("Figure", alt=f"{block.title}. {block.description}")
    match block:
        case IntervalChart():
            return [IntervalDrawing(block, part, node) for part in _parts(block.rows, _ROWS_A_CHART)]
        case BarsChart():
            return [BarsDrawing(block, part, node) for part in _parts(block.rows, _ROWS_A_CHART)]
        case PanelsChart():
            return [PanelsDrawing(block, part, node) for part in _parts(block.panels, PANEL_COLUMNS)]
        case MatrixChart():
            cells = _parts(block.cells, _CELLS_A_CHART)
            return [MatrixDrawing(replace(block, cells=tuple(part)), node, _LEAST_CELLS) for part in cells]


def _parts(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]
