"""The structure tree of a tagged file: nodes to StructElem objects, and the parent tree that leads back to
them.

Every marked-content number of every page belongs to one element; link annotations belong to their Link
element. Empty nodes are left out.
"""

from __future__ import annotations

import pikepdf
from pikepdf import Array, Dictionary, Name, String

from compliance_pipelines.adapters.pdf_tags import Node


def write_structure(pdf: pikepdf.Pdf, root: Node) -> None:
    """Write the tree under the catalog and mark the file as tagged."""
    _Writer(pdf).write(root)


class _Writer:
    """One pass over the tree; collects which element owns which marked content and which link."""

    def __init__(self, pdf: pikepdf.Pdf) -> None:
        self.pdf = pdf
        self.pages: list[pikepdf.Object] = [page.obj for page in pdf.pages]
        self.owners: list[dict[int, pikepdf.Object]] = [{} for _ in self.pages]
        self.links: list[pikepdf.Object] = []

    def write(self, root: Node) -> None:
        """Build the elements, then the parent tree."""
        tree = self.pdf.make_indirect(Dictionary(Type=Name.StructTreeRoot))
        tree.K = Array([self.element(root, tree)])
        numbers: list[object] = []
        for index, (page, owners) in enumerate(zip(self.pages, self.owners, strict=True)):
            page.StructParents = index
            page.Tabs = Name.S
            numbers.extend((index, self.pdf.make_indirect(Array([owners[mcid] for mcid in sorted(owners)]))))
        for offset, element in enumerate(self.links):
            numbers.extend((len(self.pages) + offset, element))
        tree.ParentTree = self.pdf.make_indirect(Dictionary(Nums=Array(numbers)))
        tree.ParentTreeNextKey = len(self.pages) + len(self.links)
        self.pdf.Root.StructTreeRoot = tree
        self.pdf.Root.MarkInfo = Dictionary(Marked=True)

    def element(self, node: Node, parent: pikepdf.Object) -> pikepdf.Object:
        """Return the element of a node and, below it, those of its children that have content."""
        element = self.pdf.make_indirect(Dictionary(Type=Name.StructElem, S=Name("/" + node.role), P=parent))
        kids: list[object] = []
        for page_index, mcid in node.content:
            kids.append(Dictionary(Type=Name.MCR, Pg=self.pages[page_index], MCID=mcid))
            self.owners[page_index][mcid] = element
        if node.link is not None:
            kids.append(self._link(node.link, element))
        kids.extend(self.element(child, element) for child in node.children if _has_content(child))
        element.K = Array(kids)
        if node.alt is not None:
            element.Alt = String(node.alt)
        if node.scope is not None:
            element.A = Dictionary(O=Name.Table, Scope=Name("/" + node.scope))
        return element

    def _link(self, place: tuple[int, int], element: pikepdf.Object) -> pikepdf.Object:
        page_index, number = place
        page = self.pages[page_index]
        annotation = _links(page)[number]
        annotation.StructParent = len(self.pages) + len(self.links)
        annotation.F = 4  # printed with the page, as PDF/A asks of every annotation
        self.links.append(element)
        return Dictionary(Type=Name.OBJR, Pg=page, Obj=annotation)


def _has_content(node: Node) -> bool:
    return bool(node.content) or any(_has_content(child) for child in node.children)


def _links(page: pikepdf.Object) -> list[pikepdf.Object]:
    return [item for item in page.get("/Annots", Array([])) if item.get("/Subtype") == Name.Link]
