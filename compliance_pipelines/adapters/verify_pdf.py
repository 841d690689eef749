"""Read an archived PDF back with pypdf: pages, text, embedded files.

Another library than the ones that wrote it, so that a fault of the writer shows. Only reading; what it
means is `core.verify_revision`. A PDF from outside may break any parser: every failure is one French
EvidenceError.
"""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

from compliance_pipelines.core.evidence import EvidenceError
from compliance_pipelines.core.verify_revision import PdfFacts

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_PAGES = 400
MAX_EMBEDDED = 50


def read_pdf(content: bytes) -> PdfFacts:
    """Number of pages, text of each page and embedded files; EvidenceError when the PDF cannot be read."""
    from pypdf import PdfReader

    log = logging.getLogger("pypdf")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)  # its warnings repeat bytes of the file
    try:
        return _facts(PdfReader(io.BytesIO(content), strict=False))
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
    texts = tuple(page.extract_text() for page in reader.pages)
    embedded: dict[str, bytes] = {}
    for attachment in reader.attachment_list:
        if len(embedded) >= MAX_EMBEDDED or attachment.name in embedded:
            raise EvidenceError(f"PDF : attendu au plus {MAX_EMBEDDED} pièces de noms distincts")
        embedded[attachment.name] = bytes(attachment.content)
    return PdfFacts(pages, texts, embedded)


def page_count(content: bytes) -> int:
    """How many pages a PDF has."""
    from pypdf import PdfReader

    return len(PdfReader(io.BytesIO(content)).pages)
