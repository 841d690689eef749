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
from typing import TYPE_CHECKING, Any

from compliance_pipelines.core.evidence import EvidenceError
from compliance_pipelines.core.verify_revision import PdfFacts

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader
    from pypdf.generic import ContentStream

MAX_PAGES = 400
MAX_EMBEDDED = 50
# Paths, colours and tags, alone on their line, show no text: without them a page is read in two thirds of the time.
_DRAWING = re.compile(
    rb"^(?:(?:n )?(?:(?:[-\d.]+ )+(?:m|l|c|re|h) )+(?:S|B\*?|f\*?)"
    rb"|[-\d. ]+ (?:m|l|c|re|w|rg|RG|J|j)|\[[-\d. ]*\] \d+ d"
    rb"|[SnhfB]\*?|EMC|/\w+ (?:<<[^<>\n]*>> BDC|BMC)) *\n",
    re.MULTILINE,
)
# A group that moves and draws nothing: it is restored before anything is shown.
_NOTHING = re.compile(rb"^q *\n(?:1 0 0 1 [-\d.]+ [-\d.]+ cm *\n)?Q *\n", re.MULTILINE)
# What the writer's pages consist of, in one scan; anything else, seen as `other`, is left to pypdf's own parser.
_MAX_SCANNED = 2_000_000
_NUMBER = rb"(-?\d+(?:\.\d+)?)"
_STRING = rb"\(((?:[^()\\]|\\[^\r\n])*+)\)"
_TOKENS = re.compile(
    rb"(?P<line>BT 1 0 0 1 N N Tm (/[\w+]+) N Tf N TL S Tj T\* ET)(?=\s)|(?P<move>1 0 0 1 N N cm)(?=\s)|(?P<string>S)"
    rb"|(?P<operator>[A-Za-z][A-Za-z\d]*\*?)|(?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+))"
    rb"|(?P<name>/[^\s\0()<>\[\]{}/%#]+)|[ \t\n]+|(?P<other>.)".replace(b"N", _NUMBER).replace(b"S", _STRING),
    re.DOTALL,
)
_ESCAPE = re.compile(rb"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"(": b"(", b")": b")", b"\\": b"\\"}


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
    if contents is None:
        return
    data = _NOTHING.sub(b"", _DRAWING.sub(b"", contents.get_data()))
    kept: ContentStream | DecodedStreamObject = DecodedStreamObject()
    kept.set_data(data)
    operations = _operations(data)
    if operations is not None:
        kept = _scanned(data, operations)
    page[NameObject("/Contents")] = kept


def _scanned(data: bytes, found: list[tuple[list[Any], bytes]]) -> ContentStream:
    """A content stream whose operations are known, so that pypdf does not parse it object by object."""
    from pypdf.generic import ContentStream

    class Scanned(ContentStream):
        @property
        def operations(self) -> list[tuple[Any, bytes]]:  # ty: ignore[incompatible-property-override]
            return found

    kept = Scanned(None, None)
    kept.set_data(data)
    return kept


def _operations(data: bytes) -> list[tuple[list[Any], bytes]] | None:
    """Operands and operator of each operation, as pypdf would parse them; None for what this scan does not know."""
    from pypdf.generic import ByteStringObject, NameObject

    if len(data) > _MAX_SCANNED:
        return None
    found: list[tuple[list[Any], bytes]] = []
    operands: list[Any] = []
    for match in _TOKENS.finditer(data):
        kind = match.lastgroup
        if kind in {"line", "move"}:
            if operands:
                return None
            x, y, font, size, leading, text = match.group(2, 3, 4, 5, 6, 7)
            if kind == "move":
                x, y = match.group(9, 10)
                found.append(([1.0, 0.0, 0.0, 1.0, float(x), float(y)], b"cm"))
                continue
            found += (
                ([], b"BT"),
                ([1.0, 0.0, 0.0, 1.0, float(x), float(y)], b"Tm"),
                ([NameObject(font.decode("latin-1")), float(size)], b"Tf"),
                ([float(leading)], b"TL"),
                ([ByteStringObject(_ESCAPE.sub(_unescaped, text))], b"Tj"),
                ([], b"T*"),
                ([], b"ET"),
            )
        elif kind == "operator":
            if match["operator"] == b"BI":
                return None
            found.append((operands, match["operator"]))
            operands = []
        elif kind == "number":
            operands.append(float(match["number"]))
        elif kind == "string":
            operands.append(ByteStringObject(_ESCAPE.sub(_unescaped, match["string"][1:-1])))
        elif kind == "name":
            operands.append(NameObject(match["name"].decode("latin-1")))
        elif kind == "other":
            return None
    return found


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return _ESCAPED.get(code, code) if not code.isdigit() else bytes([int(code, 8)])


def page_count(content: bytes) -> int:
    """How many pages a PDF has."""
    from pypdf import PdfReader

    with _one_line():
        return len(PdfReader(io.BytesIO(content)).pages)
