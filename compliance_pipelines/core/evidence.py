"""What becomes of a report that has just been computed: already archived, a first version, or revision n+1.

Pure: the digest of all inputs, the decision, and the manifest that goes with it. The manifest's shape is
`evidence_manifest`, storing is the work of the adapters (`archive_*`). Serves the rule that evidence is never
overwritten: the same inputs make no new version, changed inputs make a revision with its reason.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError

from compliance_pipelines.core.evidence_manifest import (
    MANIFEST_NAME,
    AttachmentDigest,
    DataDigest,
    EvidenceError,
    Judge,
    Manifest,
    PdfDigest,
    Previous,
    Window,
    canonical_json,
    first_problem,
    input_digest,
    pdf_name,
    read_manifest,
    require_month,
    sha256,
    utc_text,
)
from compliance_pipelines.core.ports import Archive

__all__ = [
    "MANIFEST_NAME",
    "AttachmentDigest",
    "DataDigest",
    "Decision",
    "DecisionKind",
    "EvidenceError",
    "Inputs",
    "Judge",
    "Manifest",
    "PdfDigest",
    "Previous",
    "Rendered",
    "Window",
    "archived_manifests",
    "build_manifest",
    "canonical_json",
    "decide",
    "pdf_name",
    "read_manifest",
    "require_month",
    "sha256",
    "utc_text",
]


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that determines a report; equal `digest` must give equal unsigned bytes.

    Wall clock, revision reason and signature time are left out on purpose: they live in the manifest only.
    """

    data: tuple[DataDigest, ...]
    policy_digest: str
    code_version: str
    judge: Judge
    window: Window
    scheduled_at: datetime

    @property
    def digest(self) -> str:
        """SHA-256 over every field; the order of `data` does not matter."""
        return input_digest(
            {
                "data": [item.model_dump(mode="json") for item in self.data],
                "policy_digest": self.policy_digest,
                "code_version": self.code_version,
                "judge": self.judge.model_dump(mode="json"),
                "window": self.window.model_dump(mode="json"),
                "scheduled_at": utc_text(self.scheduled_at),
            }
        )


@dataclass(frozen=True, slots=True)
class Rendered:
    """What the renderer and the signer made: `pdf_signed` is None when no certificate is configured."""

    pdf_unsigned: bytes
    pdf_signed: bytes | None
    pages: int
    attachments: Mapping[str, bytes]

    def files(self, manifest: Manifest) -> dict[str, bytes]:
        """Everything to archive under `manifest`, by file name."""
        pdf = self.pdf_unsigned if self.pdf_signed is None else self.pdf_signed
        return {pdf_name(manifest.month): pdf, **self.attachments, MANIFEST_NAME: manifest.to_bytes()}


def archived_manifests(archive: Archive) -> tuple[Manifest, ...]:
    """Every archived manifest in chain order, each one checked against the index; EvidenceError when one is
    off.
    """
    manifests: list[Manifest] = []
    for entry in archive.list_revisions():
        content = archive.read_manifest(entry.month, entry.revision)
        if content is None or sha256(content) != entry.manifest_sha256:
            raise EvidenceError(f"{entry.month}, révision {entry.revision} : manifeste absent ou modifié")
        manifests.append(read_manifest(content))
    return tuple(manifests)


class DecisionKind(enum.StrEnum):
    """What to do with a report that has just been computed."""

    IDENTICAL = "identical"
    FIRST = "first"
    REVISION = "revision"


@dataclass(frozen=True, slots=True)
class Decision:
    """Where the report goes in the archive.

    For `IDENTICAL`, `revision`, `chain_index` and `previous` are those of the archived manifest: rendering
    with them must give its bytes again. `reason_required` is True exactly for `REVISION`.
    """

    kind: DecisionKind
    month: str
    revision: int
    chain_index: int
    previous: Previous | None
    reason_required: bool
    archived: Manifest | None


def decide(
    previous: Sequence[Manifest], month: str, new_input_digest: str, new_pdf_sha256: str | None = None
) -> Decision:
    """Decide between "already archived", a first version and revision n+1.

    `previous` are the archived manifests of every month in chain order. `new_pdf_sha256` is the digest of
    the unsigned PDF rendered *as the last archived revision of that month* (same revision number, same
    previous link); None when it was not rendered again, in which case equal inputs suffice. Equal inputs
    with other bytes are a revision: the figures hold but the file that people would be handed is another
    one.
    """
    require_month(month)
    same_month = [manifest for manifest in previous if manifest.month == month]
    last = max(same_month, key=lambda manifest: manifest.revision, default=None)
    head = previous[-1] if previous else None
    if (
        last is not None
        and last.input_digest == new_input_digest
        and new_pdf_sha256 in {None, last.pdf.sha256_unsigned}
    ):
        kind = DecisionKind.IDENTICAL
        return Decision(kind, month, last.revision, last.chain_index, last.previous, False, last)
    link = None if head is None else Previous(month=head.month, revision=head.revision, manifest_sha256=head.sha256)
    index = 0 if head is None else head.chain_index + 1
    if last is None:
        return Decision(DecisionKind.FIRST, month, 1, index, link, False, None)
    return Decision(DecisionKind.REVISION, month, last.revision + 1, index, link, True, last)


def build_manifest(
    decision: Decision, inputs: Inputs, rendered: Rendered, *, reason: str | None, built_at: datetime
) -> Manifest:
    """Build the manifest of a first version or of a revision; EvidenceError when the reason is missing.

    `built_at` is the only reading of the wall clock and comes from the caller.
    """
    if decision.kind is DecisionKind.IDENTICAL:
        raise EvidenceError("archive : entrées identiques, aucune nouvelle version à construire")
    if decision.reason_required and not (reason or "").strip():
        raise EvidenceError(f"révision {decision.revision} de {decision.month} : attendu un motif (--reason)")
    try:
        signed = rendered.pdf_signed
        return Manifest(
            month=decision.month,
            revision=decision.revision,
            reason=(reason or "").strip() or None,
            input_digest=inputs.digest,
            pdf=PdfDigest(
                sha256_unsigned=sha256(rendered.pdf_unsigned),
                sha256_signed=None if signed is None else sha256(signed),
                pages=rendered.pages,
            ),
            attachments=tuple(
                AttachmentDigest(name=name, sha256=sha256(content))
                for name, content in sorted(rendered.attachments.items())
            ),
            data=inputs.data,
            policy_digest=inputs.policy_digest,
            code_version=inputs.code_version,
            judge=inputs.judge,
            window=inputs.window,
            scheduled_at=utc_text(inputs.scheduled_at),
            built_at=utc_text(built_at),
            previous=decision.previous,
            chain_index=decision.chain_index,
        )
    except ValidationError as error:
        raise EvidenceError(first_problem(error, "manifeste")) from None
