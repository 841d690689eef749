"""Read an archived PDF back with pypdf: pages, text, embedded files.

Another library than the ones that wrote it, so that a fault of the writer shows. Only reading; what it
means is `core.verify_revision`. A PDF from outside may break any parser: every failure is one French
EvidenceError.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from compliance_pipelines.core.evidence import EvidenceError
from compliance_pipelines.core.verify_revision import PdfFacts

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

MAX_PAGES = 400
MAX_EMBEDDED = 50
# Paths, colours and tags, alone on their line, show no text: without them a page is read in two thirds of the time.
_DRAWING = re.compile(
    rb"^(?:(?:n )?(?:(?:[-\d.]+ )+(?:m|l|c|re|h) )+(?:S|B\*?|f\*?)"
    rb"|[-\d. ]+ (?:m|l|c|re|w|rg|RG|J|j)|\[[-\d. ]*\] \d+ d"
    rb"|[SnhfB]\*?|EMC|/\w+ (?:<<[^<>\n]*>> BDC|BMC)) *\n",
    re.MULTILINE,
)


def read_pdf(content: bytes) -> PdfFacts:
    """Number of pages, text of each page (read as it is asked for) and embedded files; else EvidenceError."""
    from pypdf import PdfReader

    with _one_line():
        return _facts(PdfReader(io.BytesIO(content), strict=False))


@contextlib.contextmanager
def _one_line() -> Generator[None]:
    """Any error of the parser is one French line; its log, which repeats bytes of the file, stays quiet."""
    log = logging.getLogger("pypdf")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    except EvidenceError:
        raise
    except Exception as error:  # noqa: BLE001 - see the module's first lines
        raise EvidenceError(f"PDF : illisible ({type(error).__name__})") from None
    finally:
        log.setLevel(level)


def _facts(reader: PdfReader) -> PdfFacts:
    pages = len(reader.pages)
    if pages > MAX_PAGES:
        raise EvidenceError(f"PDF : attendu au plus {MAX_PAGES} pages")
    embedded: dict[str, bytes] = {}
    for attachment in reader.attachment_list:
        if len(embedded) >= MAX_EMBEDDED or attachment.name in embedded:
            raise EvidenceError(f"PDF : attendu au plus {MAX_EMBEDDED} pièces de noms distincts")
        embedded[attachment.name] = bytes(attachment.content)
    return PdfFacts(pages, _texts(reader), embedded)


def _texts(reader: PdfReader) -> Iterator[str]:
    """One page at a time: whoever has seen enough does not pay for the rest."""
    for page in reader.pages:
        with _one_line():
            _drop_drawing(page)
            text = page.extract_text()
        yield text


def _drop_drawing(page: PageObject) -> None:
    from pypdf.generic import DecodedStreamObject, NameObject

    contents = page.get_contents()
    if contents is not None:
        kept = DecodedStreamObject()
        kept.set_data(_DRAWING.sub(b"", contents.get_data()))
        page[NameObject("/Contents")] = kept


def page_count(content: bytes) -> int:
    """How many pages a PDF has."""
    from pypdf import PdfReader

    with _one_line():
        return len(PdfReader(io.BytesIO(content)).pages)
