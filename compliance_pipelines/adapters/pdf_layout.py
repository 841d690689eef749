"""Pages: masthead, running header and footer, table of contents, bookmarks, and the two passes that number
them.

The first pass finds the page of each section and the number of pages, the second prints them. The only time
on a page is the scheduled one, so that the same report is the same pages on every day.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace

from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate
from reportlab.platypus.flowables import CondPageBreak, Flowable, PageBreak

from compliance_pipelines.adapters import fonts
from compliance_pipelines.adapters import pdf_style as style
from compliance_pipelines.adapters.pdf_blocks import room, section_flowables
from compliance_pipelines.adapters.pdf_tags import Node, TaggedCanvas
from compliance_pipelines.adapters.pdf_text import Para
from compliance_pipelines.core.report_format import instant_fr, typeset
from compliance_pipelines.core.report_summary import first_rows
from compliance_pipelines.core.report_tree import Callout, Mark, Report, Section

SYNTHETIC = "Données synthétiques de démonstration"
_MOST_SUMMARY_ROWS = 30


@dataclass(slots=True)
class Pages:
    """What a pass learns: the page of each section (by key) and how many pages there are."""

    sections: dict[str, int] = field(default_factory=dict)
    count: int = 0


@dataclass(frozen=True, slots=True)
class Drawn:
    """The file as reportlab leaves it, its structure tree, and its pages."""

    data: bytes
    root: Node
    pages: Pages


class SectionTitle(Flowable):
    """A section heading with its rule and bookmark; notes on which page it landed."""

    def __init__(self, section: Section, node: Node, pages: Pages) -> None:
        super().__init__()
        self.section = section
        self.pages = pages
        self.para = Para(f"{section.number}.  {section.title}", style.SECTION, node)
        self.spaceBefore, self.spaceAfter = 14.0, style.SECTION.after

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803
        """Measure the title and its rule."""
        self.width = availWidth
        self.height = self.para.wrap(availWidth, availHeight)[1] + 5
        return availWidth, self.height

    def draw(self) -> None:
        """Draw the rule, the title, the bookmark."""
        canvas: TaggedCanvas = self.canv
        with canvas.tagged(None):
            canvas.setStrokeColor(style.ACCENT)
            canvas.setLineWidth(1.4)
            canvas.line(0, self.height, 34, self.height)
        self.para.drawOn(canvas, 0, 0)
        key = self.section.key
        canvas.bookmarkHorizontal(key, 0, self.height + 12)
        canvas.addOutlineEntry(f"{self.section.number}. {self.section.title}", key, level=0)
        self.pages.sections[key] = canvas.getPageNumber()


class Contents(Flowable):
    """The table of contents in two columns, each entry a link."""

    def __init__(self, report: Report, parent: Node, pages: Pages) -> None:
        super().__init__()
        self.pages = pages
        listing = parent.add("TOC")
        self.entries = [(section, listing.add("TOCI").add("Link")) for section in report.sections]
        self.lines = (len(self.entries) + 1) // 2
        self.spaceAfter = 4.0

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803, ARG002
        """Take two columns of lines."""
        self.width = availWidth
        self.height = self.lines * style.TOC.leading
        return availWidth, self.height

    def draw(self) -> None:
        """Draw number, title, leader and page of each section."""
        canvas: TaggedCanvas = self.canv
        gap = 22.0
        width = (self.width - gap) / 2
        size = style.TOC.size
        for index, (section, node) in enumerate(self.entries):
            column, line = divmod(index, self.lines)
            x, y = column * (width + gap), self.height - (line + 1) * style.TOC.leading + 4
            page = str(self.pages.sections.get(section.key, 0))
            number = fonts.width(page, fonts.REGULAR, size)
            title = fonts.fit(section.title, fonts.REGULAR, size, width - 24 - number)
            with canvas.tagged(node):
                canvas.setFillColor(style.INK)
                canvas.setFont(fonts.REGULAR, size)
                canvas.drawRightString(x + 12, y, str(section.number))
                canvas.drawString(x + 18, y, title)
                canvas.drawRightString(x + width, y, page)
            end = x + 22 + fonts.width(title, fonts.REGULAR, size)
            with canvas.tagged(None):
                canvas.setStrokeColor(style.RULE)
                canvas.setLineWidth(0.6)
                canvas.setDash(0.6, 2.4)
                canvas.line(end, y + 1, x + width - number - 4, y + 1)
                canvas.setDash()
            canvas.link(node, f"{section.number}. {section.title}", section.key, (x, y - 3, x + width, y + 9))


def draw(report: Report) -> Drawn:
    """Draw the whole report in two passes."""
    first = _build(report, Pages())
    return _build(report, first.pages)


def draw_summary(report: Report) -> Drawn:
    """Draw the first page alone: masthead, verdict, key figures, scope, and as many departments as it holds."""
    table = report.summary
    most = min(len(table.rows), _MOST_SUMMARY_ROWS) if table else 0
    for count in range(most, -1, -1):
        shown = replace(report, summary=first_rows(table, count) if table and count else None)
        first = _build(shown, Pages(), only_first=True)
        if first.pages.count == 1:
            return _build(shown, first.pages, only_first=True)
    return first


def _build(report: Report, known: Pages, *, only_first: bool = False) -> Drawn:
    fonts.register()
    root = Node("Document")
    found = Pages()
    story = _masthead(report, root, summary=only_first)
    for section in report.sections[: 1 if only_first else None]:
        part = root.add("Sect")
        title = SectionTitle(section, part.add("H2"), found)
        blocks = section.blocks
        if only_first:
            # The masthead of the summary says what the callouts of the whole report say at length.
            blocks = tuple(block for block in blocks if not isinstance(block, Callout))
            blocks += (report.summary,) if report.summary else ()
        content = section_flowables(blocks, part)
        if section.number > 1:
            # Where the section begins with a heading, its title needs what that heading needs.
            first = content[0] if content else None
            least = first.height if isinstance(first, CondPageBreak) else room(content)
            story.append(CondPageBreak(min(170, max(130, 60 + least))))
        story.append(title)
        story.extend(content)
        if section.number == 1 and not only_first:
            story.append(CondPageBreak(110))
            story.append(Para("Sommaire", style.HEADING, part.add("H3")))
            story.append(Contents(report, part, known))
            story.append(PageBreak())
    buffer = io.BytesIO()
    template = _template(buffer, report, known)
    template.build(story, canvasmaker=TaggedCanvas)
    found.count = template.page
    return Drawn(buffer.getvalue(), root, found)


def _masthead(report: Report, root: Node, *, summary: bool) -> list[Flowable]:
    head = root.add("Sect")
    month = report.month_label
    signature = "signature électronique prévue" if report.signed else "non signé"
    if summary:
        signature = "synthèse non signée du rapport"
    story: list[Flowable] = [
        Para(report.title, style.TITLE, head.add("H1")),
        Para(f"{month[:1].upper()}{month[1:]} – {report.subtitle}", style.SUBTITLE, head.add("P")),
        *(Para(line, style.SUBTITLE, head.add("P")) for line in _identity(report, signature)),
    ]
    if report.synthetic:
        story.append(Banner(SYNTHETIC, head.add("P")))
    return story


def _identity(report: Report, signature: str) -> tuple[str, ...]:
    label = f"{report.revision_label[:1].upper()}{report.revision_label[1:]}"
    when = f"généré pour le {instant_fr(report.created)} ; {signature}"
    if not report.replaces:
        return (f"{label} ; {when}",)
    return (f"{label}, {report.replaces}", f"{when[:1].upper()}{when[1:]}")


class Banner(Flowable):
    """A full-width band with a sentence in white: what nobody may overlook."""

    def __init__(self, text: str, node: Node) -> None:
        super().__init__()
        self.text = text
        self.node = node
        self.spaceBefore, self.spaceAfter = 5.0, 2.0

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803, ARG002
        """Take one band."""
        self.width, self.height = availWidth, 17.0
        return availWidth, self.height

    def draw(self) -> None:
        """Draw the band and its sentence."""
        canvas: TaggedCanvas = self.canv
        with canvas.tagged(None):
            canvas.setFillColor(style.ACCENT)
            canvas.rect(0, 0, self.width, self.height, stroke=0, fill=1)
        with canvas.tagged(self.node):
            canvas.setFillColor(style.WHITE)
            canvas.setFont(fonts.BOLD, 8)
            canvas.drawString(9, 5.6, self.text)


def _template(buffer: io.BytesIO, report: Report, known: Pages) -> BaseDocTemplate:
    frame = Frame(
        style.LEFT,
        style.BOTTOM,
        style.CONTENT,
        style.PAGE_HEIGHT - style.TOP - style.BOTTOM,
        leftPadding=0,
        rightPadding=0,
        topPadding=0,
        bottomPadding=0,
    )

    def furniture(canvas: TaggedCanvas, _document: object) -> None:
        with canvas.tagged(None):
            _running(canvas, report, known.count)

    template = BaseDocTemplate(
        buffer, pagesize=(style.PAGE_WIDTH, style.PAGE_HEIGHT), title=report.title, author="", subject=""
    )
    template.addPageTemplates([PageTemplate(id="page", frames=[frame], onPage=furniture)])
    return template


def _running(canvas: TaggedCanvas, report: Report, count: int) -> None:
    left, right = style.LEFT, style.PAGE_WIDTH - style.RIGHT
    top, bottom = style.PAGE_HEIGHT - 44, 40
    canvas.setStrokeColor(style.RULE)
    canvas.setLineWidth(0.5)
    canvas.line(left, top, right, top)
    canvas.line(left, bottom, right, bottom)
    canvas.setFillColor(style.MUTED)
    canvas.setFont(fonts.REGULAR, style.RUNNING)
    policy = typeset(f"Politique : {report.policy_digest[:12]}")
    which = f" – {report.month_label} – {report.revision_label}"
    # A long title gives way: month, revision and digest stand on every page.
    taken = fonts.width(which, fonts.REGULAR, style.RUNNING) + fonts.width(policy, fonts.REGULAR, style.RUNNING) + 12
    title = fonts.fit(report.title, fonts.REGULAR, style.RUNNING, right - left - taken)
    canvas.drawString(left, top + 6, title + which)
    canvas.drawRightString(right, top + 6, policy)
    state = "signature électronique prévue" if report.signed else "non signé"
    parts = [typeset(f"Données : {report.input_digest[:12]}"), f"code {report.code_version[:24]}", state]
    canvas.drawString(left, bottom - 12, fonts.fit(" – ".join(parts), fonts.REGULAR, style.RUNNING, 250))
    canvas.drawRightString(right, bottom - 12, f"page {canvas.getPageNumber()} / {count}")
    if report.synthetic:
        canvas.setFont(fonts.BOLD, style.RUNNING)
        canvas.setFillColor(style.MARK_COLORS[Mark.CROSS])
        canvas.drawCentredString((left + right) / 2 + 60, bottom - 12, SYNTHETIC)
