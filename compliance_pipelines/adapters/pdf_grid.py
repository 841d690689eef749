"""Tables: ruled grids of paragraphs that break between rows and repeat their header.

The caption stands above the first part, the note under the last row, never alone on a page; on the next
pages the caption comes back with "(suite)", an artifact like the
repeated header, so that a reader of the structure meets them once. Used for tables and for name-value lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportlab.platypus.flowables import Flowable

from compliance_pipelines.adapters.pdf_style import ACCENT, CAPTION, HEAD_CELL, NOTE, RULE
from compliance_pipelines.adapters.pdf_tags import Node, TaggedCanvas
from compliance_pipelines.adapters.pdf_text import Para
from compliance_pipelines.core.report_tree import Align

PAD_X = 3.5
# A table lower than this (points, about four rows) goes to the next page whole rather than in two parts. More would
# leave a quarter of a page blank.
WHOLE = 100.0
# A list of names and values has no header to repeat: half a page of it stays together.
WHOLE_FACTS = 330.0


@dataclass(frozen=True, slots=True)
class HeadCell:
    """One header cell."""

    text: str
    align: Align
    node: Node | None


@dataclass(frozen=True, slots=True)
class GridSpec:
    """What the parts of one table share; `widths` in points. A table not higher than `whole` is never split."""

    widths: tuple[float, ...]
    header: tuple[HeadCell, ...] = ()
    caption: str | None = None
    caption_node: Node | None = None
    note: str | None = None
    note_node: Node | None = None
    ruled: bool = True
    pad_y: float = 2.9
    whole: float = WHOLE


class Grid(Flowable):
    """One table, or the part of it that stands on one page."""

    def __init__(
        self,
        spec: GridSpec,
        rows: Sequence[Sequence[Para]],
        *,
        continued: bool = False,
        complete: bool = True,
    ) -> None:
        super().__init__()
        self.spec = spec
        self.rows = [list(row) for row in rows]
        self.continued = continued
        self.spaceBefore, self.spaceAfter = 2.0, 7.0
        self._caption = self._make_caption()
        self._header = [
            Para(cell.text, HEAD_CELL, None if continued else cell.node, align=cell.align) for cell in spec.header
        ]
        self._note = Para(spec.note, NOTE, spec.note_node) if spec.note and complete else None
        self.complete = complete
        self._heights: list[float] = []
        self._head_height = 0.0

    def _make_caption(self) -> Para | None:
        if self.spec.caption is None:
            return None
        text = self.spec.caption + (" (suite)" if self.continued else "")
        return Para(text, CAPTION, None if self.continued else self.spec.caption_node)

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803, ARG002
        """Measure every row; return the size taken."""
        self.width = sum(self.spec.widths)
        head = self._measure(self._header) if self._header else 0.0
        if self._caption:
            head += self._caption.wrap(self.width, 0)[1] + CAPTION.after
        self._head_height = head
        self._heights = [self._measure(row) for row in self.rows]
        foot = NOTE.before + self._note.wrap(self.width, 0)[1] if self._note else 0.0
        self.height = head + sum(self._heights) + foot
        return self.width, self.height

    @property
    def needed(self) -> float:
        """Height that must be left for the table to start on a page: all of it where it does not split.

        Otherwise its head and the two rows that a first part has at least.
        """
        height = self.wrap(0, 0)[1]
        return height if height <= self.spec.whole else max(70.0, self._head_height + sum(self._heights[:2]))

    def _measure(self, cells: Sequence[Para]) -> float:
        widths = self.spec.widths
        tallest = max(cell.wrap(w - 2 * PAD_X, 0)[1] for cell, w in zip(cells, widths, strict=True))
        return tallest + 2 * self.spec.pad_y

    def split(self, availWidth: float, availheight: float) -> list[Flowable]:  # noqa: N803
        """Split between rows: at least two under the header, never a single one left over; a low table not at all."""
        if self.wrap(availWidth, availheight)[1] <= self.spec.whole and not self.continued:
            return []
        used, count = self._head_height, 0
        for height in self._heights:
            if used + height > availheight:
                break
            used += height
            count += 1
        if count == len(self.rows) - 1 and count > 2:
            count -= 1
        if count < min(2, len(self.rows)):
            return []
        # Where all rows fit but the note does not, the last two go with it.
        if count == len(self.rows):
            count -= min(2, count - 1)
        if count < 1:
            return []
        first = Grid(self.spec, self.rows[:count], continued=self.continued, complete=False)
        rest = Grid(self.spec, self.rows[count:], continued=True, complete=self.complete)
        first.spaceAfter = 0
        return [first, rest]

    def draw(self) -> None:
        """Draw caption, header, rules and cells from the top."""
        canvas: TaggedCanvas = self.canv
        y = self.height
        if self._caption:
            y -= self._caption.height
            self._caption.drawOn(canvas, 0, y)
            y -= CAPTION.after
        if self._header:
            if self.spec.ruled:
                self._rule(canvas, y, 0.9, ACCENT)
            y = self._draw_row(canvas, self._header, y, self._measure(self._header), bottom=True)
            self._rule(canvas, y, 0.5, ACCENT)
        for index, (row, height) in enumerate(zip(self.rows, self._heights, strict=True)):
            y = self._draw_row(canvas, row, y, height)
            if self.spec.ruled:
                last = index == len(self.rows) - 1
                self._rule(canvas, y, 0.6 if last else 0.35, ACCENT if last else RULE)
        if self._note:
            self._note.drawOn(canvas, 0, y - NOTE.before - self._note.height)

    def _rule(self, canvas: TaggedCanvas, y: float, weight: float, color: object) -> None:
        with canvas.tagged(None):
            canvas.setLineWidth(weight)
            canvas.setStrokeColor(color)
            canvas.line(0, y, self.width, y)

    def _draw_row(
        self, canvas: TaggedCanvas, cells: Sequence[Para], top: float, height: float, *, bottom: bool = False
    ) -> float:
        x = 0.0
        for cell, width in zip(cells, self.spec.widths, strict=True):
            # Header cells stand on the rule, body cells hang from the line above.
            y = top - height + self.spec.pad_y if bottom else top - self.spec.pad_y - cell.height
            cell.drawOn(canvas, x + PAD_X, y)
            x += width
        return top - height
