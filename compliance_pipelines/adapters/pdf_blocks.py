"""From the blocks of the report tree to things that can be drawn, each tied to its structure node.

One function a kind of block; order and words are those of the tree. Charts longer than a page are cut into
several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from reportlab.platypus.flowables import CondPageBreak, Flowable, KeepTogether, Spacer

from compliance_pipelines.adapters import fonts
from compliance_pipelines.adapters import pdf_style as style
from compliance_pipelines.adapters.charts import (
    PANEL_COLUMNS,
    BarsDrawing,
    Drawing,
    IntervalDrawing,
    MatrixDrawing,
    PanelsDrawing,
)
from compliance_pipelines.adapters.pdf_boxes import Box, TileRow
from compliance_pipelines.adapters.pdf_grid import Grid, GridSpec, HeadCell
from compliance_pipelines.adapters.pdf_tags import Node
from compliance_pipelines.adapters.pdf_text import Para
from compliance_pipelines.core.report_tree import (
    VERDICT_MARKS,
    Align,
    BarsChart,
    Block,
    Bullets,
    Callout,
    Cell,
    FactList,
    Heading,
    IntervalChart,
    MatrixChart,
    PanelsChart,
    Table,
    Text,
    Tiles,
    VerdictBox,
)

T = TypeVar("T")
_ROWS_A_CHART = 28
_PANELS_A_CHART = 9 * PANEL_COLUMNS
_CELLS_A_CHART = 60


def flowables(block: Block, parent: Node) -> list[Flowable]:  # noqa: PLR0911 - one return a kind of block
    """Return what draws a block; its nodes are appended to `parent`."""
    match block:
        case Heading():
            return [CondPageBreak(86), Para(block.text, style.HEADING, parent.add("H3"))]
        case Text():
            return [_text(block, parent)]
        case Bullets():
            return _bullets(block, parent)
        case Table():
            return _table(block, parent)
        case FactList():
            return [_facts(block, parent)]
        case Tiles():
            return [TileRow(block, parent)]
        case Callout():
            return [_callout(block, parent)]
        case VerdictBox():
            return [_verdict(block, parent)]
        case _:
            return _chart(block, parent)


def _text(block: Text, parent: Node) -> Para:
    look = style.NOTE if block.note else style.BODY
    runs = [(fonts.BOLD, block.lead)] if block.lead else []
    return Para([*runs, (look.font, block.text)], look, parent.add("P"))


def _bullets(block: Bullets, parent: Node) -> list[Flowable]:
    out: list[Flowable] = []
    listing = parent.add("L")
    width = style.CONTENT
    spec = GridSpec(widths=(12.0, width - 12.0), ruled=False, pad_y=1.2)
    for item in block.items:
        entry = listing.add("LI")
        label, body = entry.add("Lbl"), entry.add("LBody")
        look = replace(style.BODY, after=0)
        grid = Grid(spec, [[Para("–", look, label), Para(item, look, body)]])
        grid.spaceBefore = grid.spaceAfter = 0.5
        out.append(grid)
    return [*out, Spacer(0, 4)]


def _table(block: Table, parent: Node) -> list[Flowable]:
    total = sum(column.weight for column in block.columns)
    widths = tuple(style.CONTENT * column.weight / total for column in block.columns)
    table = parent.add("Table")
    caption = table.add("Caption")
    head = table.add("THead").add("TR")
    header = tuple(
        HeadCell(column.title, column.align, head.add("TH", scope="Column")) for column in block.columns
    )
    body = table.add("TBody")
    rows = []
    for cells in block.rows:
        line = body.add("TR")
        rows.append(
            [
                _cell(cell, column.align, line.add("TD"))
                for cell, column in zip(cells, block.columns, strict=True)
            ]
        )
    grid = Grid(GridSpec(widths, header, block.caption, caption), rows)
    if not block.note:
        return [CondPageBreak(70), grid]
    grid.spaceAfter = 1
    return [CondPageBreak(70), grid, Para(block.note, style.NOTE, parent.add("P"))]


def _cell(cell: Cell, align: Align, node: Node) -> Para:
    look = style.CELL
    if cell.strong:
        look = replace(look, font=fonts.BOLD)
    if cell.muted:
        look = replace(look, color=style.MUTED)
    return Para(cell.text, look, node, mark=cell.mark, align=align)


def _facts(block: FactList, parent: Node) -> Grid:
    table = parent.add("Table")
    rows = []
    for name, value in block.items:
        line = table.add("TR")
        rows.append(
            [
                Para(name, style.FACT_NAME, line.add("TH", scope="Row")),
                Para(value, style.FACT_VALUE, line.add("TD")),
            ]
        )
    return Grid(GridSpec((112.0, style.CONTENT - 112.0), pad_y=1.9), rows)


def _callout(block: Callout, parent: Node) -> Box:
    group = parent.add("Div")
    title = Para(block.title, style.CALLOUT_TITLE, group.add("P"), mark=block.mark)
    text = Para(block.text, style.CALLOUT_TEXT, group.add("P"))
    return Box([title, text], style.MARK_COLORS[block.mark])


def _verdict(block: VerdictBox, parent: Node) -> Box:
    mark = VERDICT_MARKS[block.verdict]
    color = style.MARK_COLORS[mark]
    group = parent.add("Div")
    word = Para(block.verdict.value, replace(style.VERDICT, color=color), group.add("P"), mark=mark)
    reason = Para(block.reason, style.BODY, group.add("P"))
    return Box([word, reason], color, weight=4.0)


def _chart(block: IntervalChart | PanelsChart | BarsChart | MatrixChart, parent: Node) -> list[Flowable]:
    title = Para(block.title, style.CAPTION, parent.add("P"))
    text = Para(block.description, style.DESCRIPTION, parent.add("P"))
    drawings = _drawings(block, parent)
    return [KeepTogether([title, text, drawings[0]]), *drawings[1:]]


def _drawings(block: IntervalChart | PanelsChart | BarsChart | MatrixChart, parent: Node) -> list[Drawing]:
    def node() -> Node:
        return parent.add("Figure", alt=f"{block.title}. {block.description}")

    match block:
        case IntervalChart():
            return [IntervalDrawing(block, part, node()) for part in _parts(block.rows, _ROWS_A_CHART)]
        case BarsChart():
            return [BarsDrawing(block, part, node()) for part in _parts(block.rows, _ROWS_A_CHART)]
        case PanelsChart():
            return [PanelsDrawing(block, part, node()) for part in _parts(block.panels, _PANELS_A_CHART)]
        case MatrixChart():
            cells = _parts(block.cells, _CELLS_A_CHART)
            return [MatrixDrawing(replace(block, cells=tuple(part)), node()) for part in cells]


def _parts(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]
