"""The reader of archived PDFs scans pages itself for speed: it must read what pypdf's own parser reads."""

import io

import pytest
from pypdf import PdfReader
from pypdf.generic import ContentStream, DecodedStreamObject

from compliance_pipelines.adapters.pdf import render
from compliance_pipelines.adapters.verify_pdf import _operations, read_pdf
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines_tests.golden.months import MONTHS


@pytest.mark.parametrize("name", ["problems", "unscored"])
def test_every_page_reads_as_it_does_without_the_scan(name: str) -> None:
    report = build_report(MONTHS[name]())
    content = render(report, attachments(report))
    assert list(read_pdf(content).texts) == [page.extract_text() for page in PdfReader(io.BytesIO(content)).pages]


def parsed(data: bytes) -> list[tuple[list[object], bytes]]:
    stream = DecodedStreamObject()
    stream.set_data(data)
    return [(list(operands), operator) for operands, operator in ContentStream(stream, None, "bytes").operations]


@pytest.mark.parametrize(
    "data",
    [
        b"q\n1 0 0 1 56 -28.5 cm\nQ\n",
        b"BT 1 0 0 1 0 2.62 Tm /F3+0 8 Tf 9.6 TL (Neutralit\\001) Tj T* ET\n",
        rb"(a\(b\)c\\d\n\t\101\7) Tj" + b"\n",
        b"21 0 0 1 3 4 cm\n1 0 0 1 3 4 cms\n",
        b".5 -3. +2 w\n/Name1 gs\n",
        b"(two\nlines) Tj\n",
        b"BT 1 0 0 1 0 2 Tm /F1 8 Tf 9 TL (a) Tj T* ETX\n",
    ],
)
def test_the_scan_gives_the_operations_of_the_parser(data: bytes) -> None:
    assert _operations(data) == parsed(data)


@pytest.mark.parametrize(
    "data",
    [
        b"[(a) -120 (b)] TJ\n",
        b"<0041> Tj\n",
        b"BI /W 1 /H 1 ID x EI\n",
        b"(a (nested) one) Tj\n",
        b"% a comment\nq\n",
        b"/A#20B gs\n",
        b"5 1 0 0 1 3 4 cm\n",
        b"(" * 200_000,
        b"(a\\" * 100_000,
        b"q\n" * 1_000_001,
    ],
)
def test_what_the_scan_does_not_know_is_left_to_the_parser(data: bytes) -> None:
    assert _operations(data) is None
