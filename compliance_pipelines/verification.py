"""Verification ready to use: the pure checks of `core.verify` with the PDF and signature readers of the
adapters.

Nothing is decided here. The command line and the assets call these; a test passes its own `Tools` to
`core.verify`.
"""

from __future__ import annotations

from collections.abc import Sequence

from compliance_pipelines.adapters.signing import signature_reader
from compliance_pipelines.adapters.verify_pdf import read_pdf
from compliance_pipelines.core import verify
from compliance_pipelines.core.ports import Archive
from compliance_pipelines.core.verify import Verification
from compliance_pipelines.core.verify_revision import Tools


def tools(roots: Sequence[bytes] = ()) -> Tools:
    """The real readers; `roots` are PEM or DER certificates that signatures must lead to."""
    return Tools(read_pdf=read_pdf, read_signatures=signature_reader(roots))


def verify_month(
    archive: Archive, month: str, revision: int | None = None, roots: Sequence[bytes] = ()
) -> Verification:
    """Verify one archived month (its newest revision by default) from the archive alone."""
    return verify.verify_month(archive, month, tools(roots), revision)


def verify_file(archive: Archive, content: bytes, name: str, roots: Sequence[bytes] = ()) -> Verification:
    """Verify a PDF that someone holds against the archive; `name` is only printed."""
    return verify.verify_file(archive, content, name, tools(roots))


def verify_all(archive: Archive, roots: Sequence[bytes] = ()) -> tuple[Verification, ...]:
    """Verify the index, the chain and every revision of the archive."""
    return verify.verify_all(archive, tools(roots))
