"""The report as a file: what a reader, a machine and an archivist find in it, read back with other libraries."""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import pikepdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader
from pypdf.generic import Destination

from compliance_pipelines.adapters import fonts
from compliance_pipelines.adapters import pdf_style as style
from compliance_pipelines.adapters.pdf import render, render_summary
from compliance_pipelines.adapters.pdf_grid import PAD_X
from compliance_pipelines.adapters.pdf_text import break_lines
from compliance_pipelines.adapters.pdfa import srgb_profile
from compliance_pipelines.core.evidence import Manifest
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.report_inputs import DepartmentFacts
from compliance_pipelines.core.report_tree import Table
from compliance_pipelines.core.verify_figures import figures_check
from compliance_pipelines_tests import report_samples as samples

ROOT = Path(__file__).parents[2]


def made(inputs) -> bytes:
    report = build_report(inputs)
    return render(report, attachments(report))


@pytest.fixture(scope="module")
def content() -> bytes:
    return made(samples.inputs())


@pytest.fixture(scope="module")
def lexical() -> bytes:
    return made(samples.lexical_inputs())


def text_of(data: bytes) -> str:
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages)


def test_figures_accents_and_narrow_spaces_are_in_the_text(content):
    text = text_of(content)
    for expected in (
        "1\u202f204",
        "Réassurance",
        "0,6996",
        "87,8\u202f%",
        "Systèmes d’information",
        "1er juillet",
    ):
        assert expected in text
    assert "■" not in text
    assert "\ufffd" not in text


def test_verdict_and_scope_stand_on_the_first_page(content):
    first = PdfReader(io.BytesIO(content)).pages[0].extract_text()
    for expected in ("Non conforme", "Finance", "Période", "Sommaire", "page 1 / ", "non signé", "révision 1"):
        assert expected in first


def test_every_page_carries_month_revision_policy_and_number(content):
    reader = PdfReader(io.BytesIO(content))
    digest = samples.digest("policy")[:12]
    for number, page in enumerate(reader.pages, start=1):
        text = page.extract_text()
        assert "juin 2026 – révision 1" in text
        assert digest in text
        assert f"page {number} / {len(reader.pages)}" in text


def test_synthetic_data_is_said_on_every_page_and_only_then(content, lexical):
    said = "Données synthétiques de démonstration"
    assert all(said in page.extract_text() for page in PdfReader(io.BytesIO(lexical)).pages)
    assert said not in text_of(content)


def test_contents_and_bookmarks_lead_to_the_sections(content):
    reader = PdfReader(io.BytesIO(content))
    entries = [item for item in reader.outline if isinstance(item, Destination)]
    assert [str(item.title).split(".")[0] for item in entries] == [str(number) for number in range(1, 11)]
    first = reader.pages[0].extract_text()
    for item in entries:
        page = reader.get_destination_page_number(item)
        assert page is not None
        name = str(item.title).split(". ", 1)[1]
        assert name in reader.pages[page].extract_text()
        assert re.search(rf"{name}\s*{page + 1}\b", first), name


def test_fonts_are_embedded_and_none_is_a_base_14_font(content):
    with pikepdf.open(io.BytesIO(content)) as pdf:
        found = [item for item in pdf.objects if isinstance(item, pikepdf.Dictionary) and item.get("/Type") == "/Font"]
        assert found
        for font in found:
            assert "DejaVu" in str(font.BaseFont)
            assert "/FontFile2" in font.FontDescriptor
            assert "/ToUnicode" in font
    assert b"Helvetica" not in content


def test_metadata_language_intent_and_attachments(content):
    report = build_report(samples.inputs())
    with pikepdf.open(io.BytesIO(content)) as pdf:
        assert str(pdf.Root.Lang) == "fr-FR"
        assert pdf.Root.ViewerPreferences.DisplayDocTitle
        assert pdf.Root.OutputIntents[0].S == "/GTS_PDFA1"
        assert {str(spec.AFRelationship) for spec in pdf.Root.AF} == {"/Data"}
        embedded = {name: spec.get_file().read_bytes() for name, spec in pdf.attachments.items()}
        assert embedded == attachments(report)
        xmp = pdf.Root.Metadata.read_bytes().decode()
        info = {key: str(value) for key, value in pdf.docinfo.items()}
    assert "<pdfaid:part>3</pdfaid:part>" in xmp
    assert "<pdfaid:conformance>B</pdfaid:conformance>" in xmp
    assert info["/Title"] == "Rapport mensuel d’audit des biais – juin 2026"
    assert info["/CreationDate"] == info["/ModDate"] == "D:20260701040000+00'00'"
    assert "/Author" not in info
    assert samples.digest("inputs") in info["/Keywords"]


def test_every_marked_content_has_one_owner_and_nothing_is_untagged(content):
    with pikepdf.open(io.BytesIO(content)) as pdf:
        numbers = list(pdf.Root.StructTreeRoot.ParentTree.Nums)
        owners = {int(numbers[i]): numbers[i + 1] for i in range(0, len(numbers), 2)}
        for index, page in enumerate(pdf.pages):
            depth, count = 0, 0
            for operands, operator in pikepdf.parse_content_stream(page):
                name = str(operator)
                if name in {"BDC", "BMC"}:
                    assert depth == 0, "nested marked content"
                    depth += 1
                    if name == "BDC":
                        assert int(operands[1].MCID) == count
                        count += 1
                elif name == "EMC":
                    depth -= 1
                elif name in {"Tj", "TJ", "f", "f*", "S", "B", "s", "b"}:
                    assert depth == 1, f"untagged {name} on page {index + 1}"
            assert len(owners[index]) == count


def test_figures_have_words_and_header_cells_a_scope(content):
    seen = {"Figure": 0, "TH": 0, "Link": 0, "H1": 0, "H2": 0}
    with pikepdf.open(io.BytesIO(content)) as pdf:
        stack = [pdf.Root.StructTreeRoot.K[0]]
        while stack:
            node = stack.pop()
            role = str(node.S)[1:]
            seen[role] = seen.get(role, 0) + 1
            if role == "Figure":
                assert len(str(node.Alt)) > 40
            if role == "TH":
                assert str(node.A.Scope) in {"/Column", "/Row"}
            stack.extend(kid for kid in node.K if isinstance(kid, pikepdf.Dictionary) and "/S" in kid)
    assert seen["H1"] == 1
    assert seen["H2"] == seen["Link"] == 10
    assert seen["Figure"] >= 6
    assert seen["TH"] > 50


_BUILD = """
import hashlib
from compliance_pipelines.adapters.pdf import render
from compliance_pipelines.core.evidence import Manifest
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.verify_figures import figures_check
from compliance_pipelines_tests import report_samples as samples
report = build_report(samples.inputs())
print(hashlib.sha256(render(report, attachments(report))).hexdigest())
"""


@pytest.mark.parametrize(
    "environment",
    [
        {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "1"},
        {"TZ": "America/Los_Angeles", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "77", "SOURCE_DATE_EPOCH": "1"},
    ],
)
def test_same_inputs_same_bytes_in_another_process(content, environment):
    paths = os.pathsep.join((str(ROOT), *(entry for entry in sys.path if entry)))
    done = subprocess.run(
        [sys.executable, "-c", _BUILD],
        env={**os.environ, **environment, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == hashlib.sha256(content).hexdigest()


def test_a_changed_figure_changes_the_bytes(content):
    rows = samples.aggregates()
    assert made(samples.inputs(aggregates=(replace(rows[0], mean=0.8121), *rows[1:]))) != content


def test_the_colour_profile_does_not_follow_the_clock():
    assert srgb_profile()[24:36] == bytes((0x07, 0xD0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0))


def test_summary_is_one_page():
    for inputs in (samples.inputs(), samples.lexical_inputs()):
        data = render_summary(build_report(inputs))
        reader = PdfReader(io.BytesIO(data))
        assert len(reader.pages) == 1
        assert "Verdict et périmètre" in reader.pages[0].extract_text()
        assert "page 1 / 1" in reader.pages[0].extract_text()


HOSTILE = (
    "<b>gras</b><br/><img src='file:///etc/passwd'/>",
    "a & b < c > d \"e\" 'f' &amp; &#0;",
    "\u202eabc\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "X" * 500,
    "mot " * 200,
    "\x00\x01\x1b[0m\r\n\t\x7f\ufeff\ud800",
    "漢字😀🇫🇷" * 30,
    "e" + "\u0301" * 400,
    "",
    " \u00a0\u202f ",
    "(parenthèse) \\ Tj ET",
)


def test_hostile_labels_never_break_the_page():
    base = samples.inputs()
    departments = tuple(
        DepartmentFacts(facts.id, HOSTILE[index % len(HOSTILE)], facts.risk, facts.report_threshold)
        for index, facts in enumerate(base.departments)
    )
    alerts = tuple(replace(base.alerts[0], name=text, summary_fr=text * 3, severity=text) for text in HOSTILE)
    actions = tuple(replace(base.actions[0], id=text, description_fr=text * 3, owner=text) for text in HOSTILE)
    rules = tuple(replace(base.legal_rules[0], reference=text, requirement_fr=text * 3) for text in HOSTILE)
    data = made(
        replace(base, departments=departments, alerts=alerts, actions=actions, legal_rules=rules, namespace=HOSTILE[3])
    )
    text = text_of(data).replace("\n", " ")
    assert "<b>gras</b>" in text
    assert "passwd" not in data.decode("latin-1")
    assert len(data) < 3_000_000
    assert len(PdfReader(io.BytesIO(data)).pages) < 25


def test_sixty_departments_break_over_pages_with_repeated_headers():
    names = [f"direction-{number:02d}" for number in range(60)]
    rows = tuple(
        samples.aggregate(name, metric, 100 + number, 0.5 + number / 130, threshold)
        for number, name in enumerate(names)
        for metric, threshold in (("judge_neutrality", 0.7), ("citation_compliance", 0.8))
    )
    daily = tuple(replace(point, department=name) for name in names for point in samples.daily()[:28])
    inputs = samples.inputs(
        aggregates=rows,
        daily=daily,
        departments=tuple(DepartmentFacts(name, name.capitalize(), "HIGH", 0.7) for name in names),
        coverage=(),
        oversight=(),
    )
    data = made(inputs)
    text = text_of(data)
    assert "Neutralité par direction, juin 2026 (suite)" in text
    assert all(text.count(name.capitalize()) >= 5 for name in names)
    assert len(data) < 3_000_000


def test_an_empty_month_is_a_report_too():
    data = made(
        samples.lexical_inputs(
            aggregates=(), daily=(), coverage=(), oversight=(), grounds=(), legal_rules=(), sampling_fr=()
        )
    )
    assert "Données insuffisantes" in text_of(data)


def test_no_header_word_is_cut():
    fonts.register()
    for inputs in (samples.inputs(), samples.lexical_inputs()):
        for section in build_report(inputs).sections:
            for block in section.blocks:
                if not isinstance(block, Table):
                    continue
                total = sum(column.weight for column in block.columns)
                for column in block.columns:
                    room = style.CONTENT * column.weight / total - 2 * PAD_X
                    for word in column.title.split(" "):
                        assert fonts.width(word, fonts.BOLD, style.HEAD_CELL.size) <= room, (block.caption, word)


@pytest.mark.parametrize("builder", [samples.inputs, samples.lexical_inputs])
def test_the_printed_figures_are_those_attached(builder):
    inputs = builder()
    files = attachments(build_report(inputs))
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(made(inputs))).pages]
    manifest = cast(Manifest, inputs)  # the check compares month, revision, digests and version only
    check = figures_check(files["figures.json"], files["figures.csv"], pages, manifest)
    assert check.ok, check.detail_fr
    assert int(check.detail_fr.split()[0]) > 20


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300), st.floats(min_value=12, max_value=300))
def test_lines_never_leave_their_column_and_lose_no_word(text, room):
    fonts.register()
    shown = fonts.printable(text, fonts.REGULAR)
    lines = break_lines([(fonts.REGULAR, shown)], 7.2, room)
    for line in lines:
        widest = sum(fonts.width(piece, font, 7.2) for font, piece in line)
        assert widest <= room + 0.02 or len("".join(piece for _, piece in line)) == 1
    joined = "".join(piece for line in lines for _, piece in line)
    assert joined.replace(" ", "") == shown.replace(" ", "")


def test_narrow_no_break_space_is_never_a_place_to_break():
    fonts.register()
    lines = break_lines([(fonts.REGULAR, "montant 12\u202f500\u00a0€")], 7.2, 52)
    assert ["".join(piece for _, piece in line) for line in lines] == ["montant", "12\u202f500\u00a0€"]


def test_everything_wrong_everywhere_at_once_still_fits():
    names = [f"d{number:02d}-" + "é" * 120 for number in range(60)]
    rows = tuple(
        samples.aggregate(name, metric, 100, 0.4, threshold)
        for name in names
        for metric, threshold in (("judge_neutrality", 0.7), ("citation_compliance", 0.8), ("figure_grounding", 0.8))
    )
    absent = tuple(DepartmentFacts(f"a{number}", "W" * 500, "HIGH", 0.7) for number in range(60))
    inputs = samples.inputs(aggregates=rows, departments=absent, actions=(), synthetic=True, daily=())
    assert len(PdfReader(io.BytesIO(made(inputs))).pages) < 40
    assert len(PdfReader(io.BytesIO(render_summary(build_report(inputs)))).pages) == 1
