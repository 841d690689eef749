"""Small but real evidence for the tests: a PDF with a printed table and attachments, its manifest, its
archiving.

Everything is a function of its arguments; the "wall clock" is a fixed date. Shared by the tests of the
manifest, of both archives, of signing and of verification.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pikepdf

from compliance_pipelines.adapters.signing import signature_reader
from compliance_pipelines.adapters.verify_pdf import read_pdf
from compliance_pipelines.core import verify
from compliance_pipelines.core.evidence import (
    DataDigest,
    Decision,
    Inputs,
    Judge,
    Manifest,
    Rendered,
    Window,
    archived_manifests,
    build_manifest,
    decide,
    sha256,
    utc_text,
)
from compliance_pipelines.core.ports import Archive, Receipt
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines.core.verify import Verification
from compliance_pipelines.core.verify_revision import Tools

BUILT_AT = datetime(2026, 7, 1, 4, 3, 2, tzinfo=UTC)
POLICY = sha256(b"policy")
# department id, printed label, n, mean, min, threshold, verdict
Row = tuple[str, str, int, float, float, float, str]
ROWS: tuple[Row, ...] = (
    ("direction-sinistres", "Sinistres", 1240, 0.8134, 0.25, 0.7, "Conforme"),
    ("direction-finance", "Finance", 412, 0.6996, 0.1, 0.7, "Non conforme"),
    ("direction-it", "Informatique", 57, 0.905, 0.6, 0.6, "Conforme"),
)


def inputs(month: str = "2026-06", rows: tuple[Row, ...] = ROWS) -> Inputs:
    """Inputs whose digest follows from `rows`."""
    start = datetime.fromisoformat(f"{month}-01T00:00:00+00:00")
    data = json.dumps(rows).encode()
    digest = DataDigest(asset="department/monthly", partitions=(month,), rows=len(rows), sha256=sha256(data))
    return Inputs(
        data=(digest,),
        policy_digest=POLICY,
        code_version="0.1.0",
        judge=Judge(model="judge", digest=None, prompt_sha256=None, calibration=None),
        window=Window(start=utc_text(start), end=utc_text(start + timedelta(days=30)), timezone="Europe/Paris"),
        scheduled_at=start + timedelta(days=30, hours=4),
    )


def figures(month: str, revision: int, rows: tuple[Row, ...], digest: str) -> dict[str, bytes]:
    """figures.json and figures.csv in the shape of the report's attachments."""
    items = [
        {"section": 2, "department": row[0], "metric": "judge_neutrality", "name": name, "value": value}
        | {"state": "publié"}
        for row in rows
        for name, value in zip(("n_scored", "mean", "min", "threshold", "verdict"), row[2:], strict=True)
    ]
    head = {"month": month, "revision": revision, "input_digest": digest, "policy_digest": POLICY}
    document = {**head, "verdict": "Non conforme", "labels": {row[0]: row[1] for row in rows}}
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(("section", "department", "metric", "name", "value", "state"))
    writer.writerows(item.values() for item in items)
    return {
        "figures.json": (json.dumps({**document, "figures": items}, ensure_ascii=False) + "\n").encode(),
        "figures.csv": buffer.getvalue().encode(),
    }


def printed(value: float | int | str) -> str:
    """A value as the report prints it."""
    if isinstance(value, str):
        return value
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else f"{value:.4f}".replace(".", ",")


def pdf(rows: tuple[Row, ...], embedded: Mapping[str, bytes], title: str = "Rapport") -> bytes:
    """A one-page PDF with one line of text cells a row, embedded fonts and files; equal arguments, equal
    bytes.
    """
    import matplotlib as mpl
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.pdfgen.canvas import Canvas

    font = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    pdfmetrics.registerFont(TTFont("Body", str(font)))
    buffer = io.BytesIO()
    canvas = Canvas(buffer, invariant=1, initialFontName="Body")
    canvas.setFont("Body", 9)
    canvas.drawString(50, 800, title)
    canvas.drawString(50, 785, "Non conforme")
    for line, (_, label, *values) in enumerate(rows):
        for column, text in enumerate((label, *(printed(value) for value in values))):
            canvas.drawString(50 + 90 * column, 770 - 20 * line, text)
    canvas.save()
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(buffer.getvalue())) as document:
        for name, content in embedded.items():
            day = "D:20260701060000Z"
            document.attachments[name] = pikepdf.AttachedFileSpec(
                document, content, filename=name, creation_date=day, mod_date=day
            )
        document.save(output, deterministic_id=True)
    return output.getvalue()


def rendered(decision: Decision, rows: tuple[Row, ...] = ROWS, signed: bytes | None = None) -> Rendered:
    """The report of `rows` as the archive's next revision."""
    files = figures(decision.month, decision.revision, rows, inputs(decision.month, rows).digest)
    title = f"{decision.month} révision {decision.revision}"
    return Rendered(pdf_unsigned=pdf(rows, files, title), pdf_signed=signed, pages=1, attachments=files)


def prepare(
    archive: Archive, month: str = "2026-06", rows: tuple[Row, ...] = ROWS, reason: str | None = "correction"
) -> tuple[Manifest, dict[str, bytes]]:
    """The next revision of `month` for `archive`, not archived yet."""
    facts = inputs(month, rows)
    decision = decide(archived_manifests(archive), month, facts.digest)
    made = rendered(decision, rows)
    manifest = build_manifest(decision, facts, made, reason=reason, built_at=BUILT_AT)
    return manifest, made.files(manifest)


def put(archive: Archive, month: str = "2026-06", rows: tuple[Row, ...] = ROWS) -> Receipt:
    """Archive the next revision of `month`."""
    manifest, files = prepare(archive, month, rows)
    return archive.put_revision(month, manifest.revision, files, retain_until(BUILT_AT, 7))


TOOLS = Tools(read_pdf=read_pdf, read_signatures=signature_reader())


def verify_month(
    archive: Archive, month: str, revision: int | None = None, roots: Sequence[bytes] = ()
) -> Verification:
    """Verify with the real readers; `roots` are PEM certificates to trust."""
    return verify.verify_month(archive, month, Tools(read_pdf, signature_reader(roots)), revision)


def verify_all(archive: Archive) -> tuple[Verification, ...]:
    """Verify the whole archive with the real readers."""
    return verify.verify_all(archive, TOOLS)


def verify_file(archive: Archive, content: bytes, name: str) -> Verification:
    """Verify a PDF with the real readers."""
    return verify.verify_file(archive, content, name, TOOLS)
