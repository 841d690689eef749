"""The report in the eyes of veraPDF: PDF/A-3b and PDF/UA-1 before signing, PDF/A-3b after.

Also that the validator is awake: a file with a known fault must be refused.
"""

from __future__ import annotations

import io
from pathlib import Path

import pikepdf
import pytest

from compliance_pipelines.adapters.pdf import render, render_summary
from compliance_pipelines.adapters.signing import SigningConfig, sign
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.report_inputs import ReportInputs
from compliance_pipelines_tests import report_samples as samples
from compliance_pipelines_tests.golden.months import MONTHS
from compliance_pipelines_tests.services.verapdf.certificate import PASSWORD, self_signed
from compliance_pipelines_tests.services.verapdf.validate import validate

pytestmark = pytest.mark.services
GOLDEN = tuple(f"golden-{name}" for name in MONTHS)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("verapdf")
    report, lexical = build_report(samples.inputs(signed=True)), build_report(samples.lexical_inputs())
    whole = render(report, attachments(report))
    p12 = self_signed(folder / "signer.p12")
    signed = sign(whole, SigningConfig(p12, PASSWORD))
    assert signed is not None
    contents = {
        "whole": whole,
        "lexical": render(lexical, attachments(lexical)),
        "summary": render_summary(report),
        "signed": signed,
        "broken": without_intent(whole),
        **{f"golden-{name}": printed(inputs()) for name, inputs in MONTHS.items()},
    }
    paths = {name: folder / f"{name}.pdf" for name in contents}
    for name, data in contents.items():
        paths[name].write_bytes(data)
    return paths


def printed(inputs: ReportInputs) -> bytes:
    """The report of a month, as it is archived."""
    report = build_report(inputs)
    return render(report, attachments(report))


def without_intent(data: bytes) -> bytes:
    """The same file without its output intent, which PDF/A does not allow."""
    buffer = io.BytesIO()
    with pikepdf.open(io.BytesIO(data)) as pdf:
        del pdf.Root.OutputIntents
        pdf.save(buffer)
    return buffer.getvalue()


def test_pdf_a_3b_before_and_after_signing(files):
    names = ("whole", "lexical", "summary", "signed", *GOLDEN)
    for finding in validate("3b", [files[name] for name in names]):
        assert finding.valid, (finding.file, finding.failures)


def test_pdf_ua_1(files):
    for finding in validate("ua1", [files[name] for name in ("whole", "lexical", "summary", *GOLDEN)]):
        assert finding.valid, (finding.file, finding.failures)


def test_the_validator_refuses_a_file_without_output_intent(files):
    (finding,) = validate("3b", [files["broken"]])
    assert not finding.valid
    assert finding.failures
