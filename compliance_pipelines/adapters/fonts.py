"""The fonts of the report: DejaVu, found in the data folder of the installed matplotlib, embedded as subsets.

Nothing else is ever used: the base-14 fonts of PDF are not embedded and lack U+202F. A character that the
fonts do not have is replaced by U+FFFD before it is drawn, because a missing glyph is forbidden in PDF/A and
unreadable anyway.
"""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont

REGULAR = "Report-Regular"
BOLD = "Report-Bold"
SERIF = "Report-Serif"
_FILES = {
    REGULAR: "DejaVuSans.ttf",
    BOLD: "DejaVuSans-Bold.ttf",
    SERIF: "DejaVuSerif.ttf",
}
_REPLACEMENT = "\ufffd"


class FontsMissingError(RuntimeError):
    """The DejaVu files are not where matplotlib ships them."""


def _folder() -> Path:
    # The folder is located without importing matplotlib, which would cost more than the whole report.
    spec = importlib.util.find_spec("matplotlib")
    if spec is None or not spec.submodule_search_locations:
        raise FontsMissingError("polices du rapport : matplotlib n’est pas installé")
    return Path(next(iter(spec.submodule_search_locations))) / "mpl-data" / "fonts" / "ttf"


@functools.cache
def register() -> None:
    """Register the fonts with reportlab, once a process. Raises FontsMissingError."""
    folder = _folder()
    for name, file in _FILES.items():
        path = folder / file
        if not path.is_file():
            raise FontsMissingError(f"polices du rapport : fichier {file} absent")
        pdfmetrics.registerFont(TTFont(name, str(path)))


@functools.cache
def _glyphs(font: str) -> frozenset[int]:
    register()
    return frozenset(pdfmetrics.getFont(font).face.charToGlyph)


def printable(text: str, font: str) -> str:
    """Return the text with every character that `font` cannot draw replaced by U+FFFD."""
    glyphs = _glyphs(font)
    return "".join(char if ord(char) in glyphs else _REPLACEMENT for char in text)


def width(text: str, font: str, size: float) -> float:
    """Return the width of a text, in points."""
    return pdfmetrics.stringWidth(text, font, size)


def fit(text: str, font: str, size: float, limit: float) -> str:
    """Return the text, cut with an ellipsis when it is wider than `limit` points."""
    text = printable(text, font)
    if width(text, font, size) <= limit:
        return text
    while text and width(text + "…", font, size) > limit:
        text = text[:-1]
    return text.rstrip() + "…"
