"""The report as a file: `render` for the whole, `render_summary` for its first page alone.

Takes the tree of `core.report`, returns the bytes of a PDF/A-3b. Pure in its arguments: same report and
attachments, same bytes, whatever the clock, the time zone, the locale or the hash seed. Signing and
archiving happen elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from compliance_pipelines.adapters.pdf_layout import Drawn, draw, draw_summary
from compliance_pipelines.adapters.pdfa import Metadata, finish
from compliance_pipelines.core.report_tree import Report


def render(report: Report, attachments: Mapping[str, bytes]) -> bytes:
    """Return the report as PDF/A-3b with `attachments` (name → bytes) embedded as associated files."""
    return _finish(report, draw(report), attachments, "")


def render_summary(report: Report) -> bytes:
    """Return the one-page summary as PDF/A-3b, without attachments."""
    return _finish(report, draw_summary(report), {}, " – synthèse")


def _finish(report: Report, drawn: Drawn, attachments: Mapping[str, bytes], suffix: str) -> bytes:
    synthetic = " (données synthétiques de démonstration)" if report.synthetic else ""
    metadata = Metadata(
        title=f"{report.title} – {report.month_label}{suffix}",
        subject=f"{report.subtitle}{synthetic}. Verdict : {report.verdict.value}",
        keywords=", ".join(
            (
                f"politique {report.policy_digest}",
                f"données {report.input_digest}",
                f"code {report.code_version}",
            )
        ),
        identifier=f"bias-report-{report.month}-r{report.revision}{'-synthese' if suffix else ''}",
        created=report.created,
    )
    return finish(drawn.data, metadata, drawn.root, attachments)
