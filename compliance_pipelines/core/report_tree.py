"""The report as a tree of plain values: sections, blocks, tables, charts, figures.

`core.report` builds it, `adapters.pdf` draws it. Texts are plain French (never markup): the adapter escapes
them. A chart carries the data to draw and the sentence that says the same thing in words. Nothing here knows
about pages, fonts or bytes.
"""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from typing import Literal

from compliance_pipelines.core.records import Verdict


class Mark(enum.StrEnum):
    """A status mark, drawn as a shape that stays distinct in greyscale; always beside its word."""

    CHECK = "check"
    CROSS = "cross"
    INFO = "info"
    HALF = "half"
    DASH = "dash"


VERDICT_MARKS: dict[Verdict, Mark] = {
    Verdict.CONFORME: Mark.CHECK,
    Verdict.NON_CONFORME: Mark.CROSS,
    Verdict.INDICATIF: Mark.INFO,
    Verdict.INSUFFISANT: Mark.HALF,
    Verdict.SANS_OBJET: Mark.DASH,
}

Align = Literal["left", "right", "center"]
LegendKey = Literal["mean", "interval", "minimum", "second", "threshold"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One table cell."""

    text: str
    mark: Mark | None = None
    strong: bool = False
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One table column; `weight` is its share of the width."""

    title: str
    weight: float
    align: Align = "left"


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a caption; every row has as many cells as there are columns."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; `lead` is set in bold before it, `note` makes it small print."""

    text: str
    lead: str | None = None
    note: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A sub-heading inside a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of short sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Callout:
    """A boxed statement with a mark: a verdict, a warning, something not carried out."""

    title: str
    text: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class VerdictBox:
    """The verdict of the month, set large, with the reason in one or two sentences."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Tile:
    """One key figure: value, what it is, and its base."""

    value: str
    label: str
    detail: str


@dataclass(frozen=True, slots=True)
class Tiles:
    """A row of key figures."""

    items: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class FactList:
    """Name-value pairs set in two columns (identity of the document, of the judge…)."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One line of an interval chart; None is drawn as absent, `second` as a hollow mark."""

    label: str
    mean: float | None
    low: float | None
    high: float | None
    minimum: float | None
    threshold: float | None
    mark: Mark
    note: str
    second: float | None = None


@dataclass(frozen=True, slots=True)
class IntervalChart:
    """Means with intervals against thresholds, one line a department; values in 0..1."""

    title: str
    description: str
    rows: tuple[IntervalRow, ...]
    legend: tuple[tuple[LegendKey, str], ...]
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One small multiple: a value for each day of the month (None where nothing may be shown)."""

    label: str
    values: tuple[float | None, ...]
    threshold: float | None


@dataclass(frozen=True, slots=True)
class PanelsChart:
    """Small multiples of daily means over one month; `first_label`/`last_label` name the ends of the axis."""

    title: str
    description: str
    panels: tuple[Panel, ...]
    first_label: str
    last_label: str


@dataclass(frozen=True, slots=True)
class BarRow:
    """One bar of one share, or of two stacked ones; `note` is printed at its end."""

    label: str
    values: tuple[float, ...]
    note: str


@dataclass(frozen=True, slots=True)
class BarsChart:
    """Horizontal bars of shares in 0..1; the axis runs to `maximum`."""

    title: str
    description: str
    rows: tuple[BarRow, ...]
    legend: tuple[str, ...]
    maximum: float = 1.0


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One cell of a matrix: what it is about, its state in a word, and the mark of that state."""

    label: str
    word: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class MatrixChart:
    """A grid of labelled cells, each with a mark and a word, filled column by column."""

    title: str
    description: str
    cells: tuple[MatrixCell, ...]
    columns: int = 2


Block = (
    Table
    | Text
    | Heading
    | Bullets
    | Callout
    | VerdictBox
    | Tiles
    | FactList
    | IntervalChart
    | PanelsChart
    | BarsChart
    | MatrixChart
)


@dataclass(frozen=True, slots=True)
class Section:
    """One numbered section; `key` is its bookmark."""

    number: int
    key: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """One printed figure, as attached. `value` is None unless `state` is publié."""

    section: int
    department: str
    metric: str
    name: str
    value: float | int | str | None
    state: Literal["publié", "non communiqué", "non mesuré"] = "publié"


@dataclass(frozen=True, slots=True)
class Report:
    """The whole report. `sections` holds the ten sections in order, the verdict and scope first.

    `figures` and `labels` (department id and the name it is printed under) are what the attachments hold.
    `summary` is the table of departments of the one-page summary; the whole report does not print it.
    `replaces` says which revision this one replaces ("" for a first version), on the cover of report and summary.
    `created` is the scheduled time (aware): the only time the file carries. `digests` are the values of the
    running header and of the metadata: policy, inputs, code.
    """

    month: str
    month_label: str
    title: str
    subtitle: str
    revision: int
    revision_label: str
    created: dt.datetime
    verdict: Verdict
    verdict_reason: str
    sections: tuple[Section, ...]
    policy_digest: str
    input_digest: str
    code_version: str
    signed: bool
    synthetic: bool
    lexical: bool
    figures: tuple[Figure, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    summary: Table | None = None
    replaces: str = ""
