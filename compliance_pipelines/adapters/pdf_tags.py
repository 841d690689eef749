"""Logical structure: a tree of nodes made with the story, filled with marked content as the pages are drawn.

Each drawn thing belongs to one node or is an artifact (rules, tints, running header, repeated table
headers). The tree is written into the file by `pdfa`. Order of reading is the order of the tree, which is
the order of the report.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from reportlab.pdfgen.canvas import Canvas

from compliance_pipelines.adapters import fonts


@dataclass(slots=True)
class Node:
    """One structure element; `content` holds (page index, marked-content id) pairs."""

    role: str
    alt: str | None = None
    scope: str | None = None
    children: list[Node] = field(default_factory=list)
    content: list[tuple[int, int]] = field(default_factory=list)
    link: tuple[int, int] | None = None

    def add(self, role: str, *, alt: str | None = None, scope: str | None = None) -> Node:
        """Append and return a child."""
        child = Node(role, alt=alt, scope=scope)
        self.children.append(child)
        return child


class TaggedCanvas(Canvas):
    """A reportlab canvas that numbers marked content page by page."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        fonts.register()
        # Without a first font of ours the page would name Helvetica, which nothing embeds.
        kwargs.update(initialFontName=fonts.REGULAR, initialFontSize=8, invariant=1, pageCompression=1, lang="fr-FR")
        super().__init__(*args, **kwargs)
        self._next_mcid = 0
        self._page_index = 0
        self._links_on_page = 0

    def showPage(self) -> None:  # noqa: N802 - reportlab's name
        """Close the page and restart the numbering."""
        super().showPage()
        self._next_mcid = 0
        self._links_on_page = 0
        self._page_index += 1

    @contextmanager
    def tagged(self, node: Node | None) -> Generator[None]:
        """Mark what is drawn inside as content of `node`, or as an artifact when there is none."""
        if node is None:
            self._code.append("/Artifact BMC")
        else:
            self._code.append(f"/{node.role} <</MCID {self._next_mcid}>> BDC")
            node.content.append((self._page_index, self._next_mcid))
            self._next_mcid += 1
        yield
        self._code.append("EMC")

    def link(self, node: Node, text: str, target: str, rect: tuple[float, float, float, float]) -> None:
        """Put a link over `rect` (relative to the current origin) and tie it to its node."""
        self.linkRect(text, target, rect, relative=1, thickness=0)
        node.link = (self._page_index, self._links_on_page)
        self._links_on_page += 1
