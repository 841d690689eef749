"""Paragraphs: plain runs of text broken into lines, with an optional status mark before the first one.

Text is never markup, so nothing in a label can change the page. Lines break at U+0020 only: reportlab's own
paragraph turns U+202F into a breakable space, and "12 500" must neither lose its space nor be torn. A word
wider than the line is cut, after a hyphen where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence

from reportlab.platypus.flowables import Flowable

from compliance_pipelines.adapters import fonts
from compliance_pipelines.adapters.pdf_marks import draw_mark
from compliance_pipelines.adapters.pdf_style import TextStyle
from compliance_pipelines.adapters.pdf_tags import Node, TaggedCanvas
from compliance_pipelines.core.report_format import typeset
from compliance_pipelines.core.report_tree import Align, Mark

Run = tuple[str, str]  # font, text
Line = list[Run]
_MARK_GAP = 1.35  # room for a mark, in type sizes


class Para(Flowable):
    """One paragraph of runs in one style. `node` None draws an artifact."""

    def __init__(
        self,
        runs: Sequence[Run] | str,
        style: TextStyle,
        node: Node | None = None,
        *,
        mark: Mark | None = None,
        align: Align | None = None,
        lines: list[Line] | None = None,
    ) -> None:
        super().__init__()
        pieces = [(style.font, runs)] if isinstance(runs, str) else list(runs)
        self.runs: list[Run] = [(font, fonts.printable(typeset(text), font)) for font, text in pieces]
        self.style = style
        self.node = node
        self.mark = mark
        self.align = align or style.align
        self._lines = lines
        self._fixed = lines is not None
        self.spaceBefore = style.before
        self.spaceAfter = style.after

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803, ARG002
        """Break the runs into lines for a width; return the size taken, in points."""
        self.width = availWidth
        if not self._fixed:
            self._lines = break_lines(self.runs, self.style.size, availWidth - self._inset)
        self.height = max(1, len(self.lines)) * self.style.leading
        return availWidth, self.height

    @property
    def lines(self) -> list[Line]:
        """The broken lines (after `wrap`)."""
        return self._lines or []

    @property
    def _inset(self) -> float:
        return self.style.indent + (self.style.size * _MARK_GAP if self.mark else 0.0)

    def split(self, availWidth: float, availheight: float) -> list[Flowable]:  # noqa: N803
        """Split between lines, leaving at least two on each side."""
        self.wrap(availWidth, availheight)
        count = int(availheight // self.style.leading)
        count = min(count, len(self.lines) - 2)
        if count < 2:
            return []
        first = Para("", self.style, self.node, mark=self.mark, align=self.align, lines=self.lines[:count])
        rest = Para("", self.style, self.node, align=self.align, lines=self.lines[count:])
        return [first, rest]

    def draw(self) -> None:
        """Draw the lines from the top."""
        canvas: TaggedCanvas = self.canv
        style = self.style
        with canvas.tagged(self.node):
            canvas.setFillColor(style.color)
            # The baseline leaves the ascent above and centres the line in its leading.
            y = self.height - style.leading / 2 - style.size * 0.36
            if self.mark:
                radius = style.size * 0.43
                draw_mark(canvas, self.mark, style.indent + radius, y + style.size * 0.36, radius)
                canvas.setFillColor(style.color)
            for line in self.lines:
                self._draw_line(canvas, line, y)
                y -= style.leading

    def _draw_line(self, canvas: TaggedCanvas, line: Line, y: float) -> None:
        size = self.style.size
        total = sum(fonts.width(text, font, size) for font, text in line)
        room = self.width - self._inset
        shift = {"left": 0.0, "right": room - total, "center": (room - total) / 2}[self.align]
        x = self._inset + shift
        for font, text in line:
            canvas.setFont(font, size)
            canvas.drawString(x, y, text)
            x += fonts.width(text, font, size)


def break_lines(runs: Sequence[Run], size: float, room: float) -> list[Line]:
    """Break runs into lines no wider than `room`, greedily, at U+0020; over-wide words are cut."""
    lines: list[Line] = []
    line: Line = []
    used = 0.0
    for font, text in runs:
        space = fonts.width(" ", font, size)
        for word in (part for part in text.split(" ") if part):
            for piece in _pieces(word, font, size, room):
                needed = fonts.width(piece, font, size)
                gap = space if line else 0.0
                if line and used + gap + needed > room + 0.01:
                    lines.append(line)
                    line, used, gap = [], 0.0, 0.0
                _extend(line, font, (" " if gap else "") + piece)
                used += gap + needed
    if line:
        lines.append(line)
    return lines


def _extend(line: Line, font: str, text: str) -> None:
    # Runs of one font are joined, so that a line is few drawing operations and reads as text when copied.
    if line and line[-1][0] == font:
        line[-1] = (font, line[-1][1] + text)
    else:
        line.append((font, text))


def _pieces(word: str, font: str, size: float, room: float) -> list[str]:
    if fonts.width(word, font, size) <= room:
        return [word]
    out: list[str] = []
    while word:
        used, cut = 0.0, 0
        for char in word:
            used += fonts.width(char, font, size)
            if used > room and cut:
                break
            cut += 1
        if cut < len(word):
            hyphen = max(word.rfind(sign, 0, cut) for sign in "-_/.")
            cut = hyphen + 1 if hyphen > 0 else cut
        out.append(word[:cut])
        word = word[cut:]
    return out
