"""From the blocks of the report tree to things that can be drawn, each tied to its structure node.

One function a kind of block; order and words are those of the tree. Charts are `pdf_charts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reportlab.platypus.flowables import CondPageBreak, Flowable, Spacer

from compliance_pipelines.adapters import fonts
from compliance_pipelines.adapters import pdf_style as style
from compliance_pipelines.adapters.pdf_boxes import Box, TileRow
from compliance_pipelines.adapters.pdf_charts import Chart, chart_flowables
from compliance_pipelines.adapters.pdf_grid import WHOLE_FACTS, Grid, GridSpec, HeadCell
from compliance_pipelines.adapters.pdf_tags import Node
from compliance_pipelines.adapters.pdf_text import Para
from compliance_pipelines.core.report_tree import (
    VERDICT_MARKS,
    Align,
    Block,
    Bullets,
    Callout,
    Cell,
    FactList,
    Heading,
    Table,
    Text,
    Tiles,
    VerdictBox,
)

# Least height (points) kept free under a heading.
_LEAST = 110.0


def section_flowables(blocks: Sequence[Block], parent: Node) -> list[Flowable]:
    """Return what draws the blocks of a section; a heading never stands alone at the foot of a page."""
    out: list[Flowable] = []
    heading: Para | None = None
    headings: list[int] = []
    for block in blocks:
        if isinstance(block, Heading):
            heading = Para(block.text, style.HEADING, parent.add("H3"))
            continue
        if isinstance(block, Chart):
            out.extend(chart_flowables(block, parent, heading))
        else:
            found = _words(block, parent)
            if heading is not None:
                headings.append(len(out))
                out.extend((CondPageBreak(_LEAST), heading))
            out.extend(found)
        heading = None
    for index in headings:
        out[index] = CondPageBreak(max(_LEAST, room(out[index + 1 :])))
    return out


def room(found: Sequence[Flowable]) -> float:
    """Height that must be left for `found` to start on a page: up to its first table, when a few lines lead to it.

    Otherwise a heading and its sentence would stay behind when the table moves on.
    """
    height = 0.0
    for one in found[:5]:
        if isinstance(one, Grid):
            return height + one.needed
        if isinstance(one, Para):
            height += one.wrap(style.CONTENT, 0)[1] + 12.0
        elif not isinstance(one, CondPageBreak):
            break
    return _LEAST


def _words(  # noqa: PLR0911 - one return a kind of block
    block: Text | Bullets | Table | FactList | Tiles | Callout | VerdictBox, parent: Node
) -> list[Flowable]:
    match block:
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
    header = tuple(HeadCell(column.title, column.align, head.add("TH", scope="Column")) for column in block.columns)
    body = table.add("TBody")
    rows = []
    for cells in block.rows:
        line = body.add("TR")
        rows.append(
            [_cell(cell, column.align, line.add("TD")) for cell, column in zip(cells, block.columns, strict=True)]
        )
    note = parent.add("P") if block.note else None
    spec = GridSpec(widths, header, block.caption, caption, note=block.note, note_node=note)
    grid = Grid(spec, rows)
    return [CondPageBreak(grid.needed), grid]


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
    return Grid(GridSpec((112.0, style.CONTENT - 112.0), pad_y=1.9, whole=WHOLE_FACTS), rows)


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
