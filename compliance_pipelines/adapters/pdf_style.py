"""The look of the report: page grid, type scale, palette. Values only.

One scale of sizes, one grid, few colours; every colour is dark enough on white to be read in greyscale, and
no meaning rests on colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from reportlab.lib.colors import Color, HexColor

from compliance_pipelines.adapters import fonts
from compliance_pipelines.core.report_tree import Align, Mark

PAGE_WIDTH, PAGE_HEIGHT = 595.2756, 841.8898  # A4
LEFT, RIGHT, TOP, BOTTOM = 56.0, 51.0, 66.0, 60.0
CONTENT = PAGE_WIDTH - LEFT - RIGHT

INK = HexColor(0x18212B)
MUTED = HexColor(0x55606C)
RULE = HexColor(0xC3CAD2)
TINT = HexColor(0xF1F3F6)
ACCENT = HexColor(0x1B3A5C)
WHITE = HexColor(0xFFFFFF)
BAR = HexColor(0x9FB0C3)
MARK_COLORS: dict[Mark, Color] = {
    Mark.CHECK: HexColor(0x1B6A4C),
    Mark.CROSS: HexColor(0xA32128),
    Mark.INFO: HexColor(0x24548F),
    Mark.HALF: HexColor(0x7A5200),
    Mark.DASH: MUTED,
}


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How a paragraph is set; sizes and spaces in points."""

    size: float
    leading: float
    font: str = fonts.REGULAR
    color: Color = INK
    before: float = 0.0
    after: float = 0.0
    indent: float = 0.0
    align: Align = "left"


TITLE = TextStyle(21, 26, fonts.SERIF, ACCENT)
SUBTITLE = TextStyle(9, 13, fonts.REGULAR, MUTED, after=2)
SECTION = TextStyle(14, 18, fonts.SERIF, ACCENT, before=0, after=7)
HEADING = TextStyle(9.6, 13, fonts.BOLD, ACCENT, before=9, after=4)
BODY = TextStyle(8.3, 12.4, after=6)
NOTE = TextStyle(6.9, 9.8, fonts.REGULAR, MUTED, after=8, before=3)
CAPTION = TextStyle(8, 11, fonts.BOLD, INK, before=3, after=3)
DESCRIPTION = TextStyle(7.6, 11, after=4)
HEAD_CELL = TextStyle(6.8, 8.8, fonts.BOLD, ACCENT)
CELL = TextStyle(7.2, 9.6)
FACT_NAME = TextStyle(7.4, 10.4, fonts.REGULAR, MUTED)
FACT_VALUE = TextStyle(7.4, 10.4)
VERDICT = TextStyle(19, 24, fonts.SERIF)
TILE_VALUE = TextStyle(15, 19, fonts.SERIF, ACCENT)
TILE_LABEL = TextStyle(7, 9.4)
TILE_DETAIL = TextStyle(6.6, 9, fonts.REGULAR, MUTED)
CALLOUT_TITLE = TextStyle(8.3, 11.6, fonts.BOLD)
CALLOUT_TEXT = TextStyle(7.8, 11.2)
TOC = TextStyle(8, 13)
RUNNING = 6.6
CHART_LABEL = 7.2
CHART_SMALL = 6.4
