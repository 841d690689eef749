"""Situation mark-up to text: slots, figure marks, French typography.

`{slot}` is replaced from the row of values; `<<150 €|c>>` is a figure, `c` = cited in its sentence, `x` =
absent from the documents and from the question. Typography (apostrophes, kinds of space, NFD, ways to write
an amount) varies without changing a value, so the marks stay true. Pure: text and a seeded `Random` in,
text and spans out.
"""

from __future__ import annotations

import enum
import random
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

_MARK = re.compile(r"<<([^<>|]{1,80})(?:\|([cx]{1,2}))?>>")
_SLOT = re.compile(r"\{([a-z0-9_]{1,20})\}")
_THOUSANDS = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")
_BEFORE_SIGN = re.compile(r" (?=[€%;:?!»])")
_AFTER_QUOTE = re.compile(r"(?<=«) ")
_ROUND_EURO = re.compile(r"^(\d{1,3}(?: \d{3})*) €$")
_PERCENT = re.compile(r"^(\d{1,3}(?:,\d{1,2})?) %$")
_ARTICLE = re.compile(r"^(?:[Aa]rt(?:icle|\.)|[LRAD]\.? ?\d)")
_MARKER = re.compile(
    r"\b(?:selon|d'après|sources?|documents?|articles?|clauses?|contrats?|polices?|avenants?|annexes?|références?"
    r"|voir|conformément)\b|\bcf\."
)
NBSP, NARROW = "\u00a0", "\u202f"


class FigureKind(enum.StrEnum):
    """The kinds of figure that carry a value; cover assertions carry none and are not marked."""

    MONEY = "money"
    PERCENT = "percent"
    LAW_ARTICLE = "law_article"
    CLAUSE = "clause"
    DELAY = "delay"


@dataclass(frozen=True, slots=True)
class MarkedFigure:
    """A figure of an answer as its author marked it; `text[start:end]` of the rendered answer is `text`."""

    kind: FigureKind
    text: str
    start: int
    end: int
    in_documents: bool
    cited: bool


@dataclass(frozen=True, slots=True)
class Typography:
    """How one user's keyboard and one model write French."""

    apostrophe: str
    sign_space: str
    thousands: str
    decomposed: bool

    @classmethod
    def draw(cls, rng: random.Random) -> Typography:
        """One of the styles seen in practice; 3 % of texts come in NFD."""
        return cls(
            apostrophe=rng.choice("’'"),
            sign_space=rng.choice((" ", " ", NBSP, NARROW)),
            thousands=rng.choice((" ", NBSP, NARROW)),
            decomposed=rng.random() < 0.03,
        )

    def apply(self, text: str) -> str:
        """The same words and values in this typography."""
        text = text.replace("’", self.apostrophe)
        text = _THOUSANDS.sub(self.thousands, text)
        text = _BEFORE_SIGN.sub(self.sign_space, text)
        text = _AFTER_QUOTE.sub(self.sign_space, text)
        return unicodedata.normalize("NFD", text) if self.decomposed else text


def fill(text: str, case: Mapping[str, str]) -> str:
    """Replace the slots. Raises KeyError for a slot that the row of values does not give."""
    return _SLOT.sub(lambda match: case[match[1]], text)


def kind_of(figure: str) -> FigureKind:
    """The kind of a marked figure, from its own words."""
    low = figure.lower()
    if "€" in low or "euro" in low or "eur" in low.split():
        return FigureKind.MONEY
    if "%" in low or "pour cent" in low:
        return FigureKind.PERCENT
    if "clause" in low:
        return FigureKind.CLAUSE
    return FigureKind.LAW_ARTICLE if _ARTICLE.match(figure) else FigureKind.DELAY


def render(
    marked: str, case: Mapping[str, str], style: Typography, rng: random.Random
) -> tuple[str, tuple[MarkedFigure, ...]]:
    """Write one answer: text without marks, and its figures in order with their offsets in that text."""
    filled = fill(marked, case)
    out: list[str] = []
    figures: list[MarkedFigure] = []
    length = at = 0
    for match in _MARK.finditer(filled):
        before = style.apply(filled[at : match.start()])
        shown = style.apply(_rewrite(match[1], rng))
        flags = match[2] or ""
        start = length + len(before)
        length = start + len(shown)
        out += [before, shown]
        figures.append(MarkedFigure(kind_of(match[1]), shown, start, length, "x" not in flags, "c" in flags))
        at = match.end()
    out.append(style.apply(filled[at:]))
    return "".join(out), tuple(figures)


def has_marker(text: str, figures: tuple[MarkedFigure, ...]) -> bool:
    """Whether a citation marker stands anywhere outside the figures (the looser of the two scores)."""
    outside, at = [], 0
    for figure in figures:
        outside.append(text[at : figure.start])
        at = figure.end
    words = unicodedata.normalize("NFC", " ".join([*outside, text[at:]])).lower().replace("’", "'")
    return _MARKER.search(words) is not None


def _rewrite(figure: str, rng: random.Random) -> str:
    """Another way to write the same value, now and then."""
    roll = rng.random()
    if amount := _ROUND_EURO.match(figure):
        if roll < 0.12:
            return f"{amount[1]} euros"
        if roll < 0.20:
            return f"{amount[1]},00 €"
        return f"{amount[1]} EUR" if roll < 0.24 else figure
    if share := _PERCENT.match(figure):
        if roll < 0.08:
            return f"{share[1]} pour cent"
        return f"{share[1]}%" if roll < 0.25 else figure
    return figure
