"""What the core asks of the outside world, as protocols: today the evidence archive.

Adapters implement them (`archive_dir`, `archive_s3`), tests pass hand-written fakes. No implementation, no
I/O here. Serves the rule that the core never knows which store keeps the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from compliance_pipelines.core.evidence_chain import ChainEntry

Clock = Callable[[], datetime]


class ArchiveUnavailableError(RuntimeError):
    """The store cannot be used now (down, full, locked, wrong credentials): one French line, exit code 2."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of what was stored, read back from the store. Columns of `audit/archive_receipt`.

    `verified_at` is None when the archive was given no clock; `mode` is "COMPLIANCE" or "AUCUN (répertoire)".
    """

    month: str
    revision: int
    key: str
    version_id: str | None
    sha256: str
    retain_until: datetime
    mode: str
    verified_at: datetime | None
    chain_index: int
    chain_sha256: str


@dataclass(frozen=True, slots=True)
class RetentionState:
    """What the store says about one revision: the weakest of its files.

    `locked` is False where the store enforces nothing; `retain_until` is None when a file carries no date;
    `legal_hold` is None where the store knows no such thing.
    """

    mode: str
    locked: bool
    retain_until: datetime | None
    legal_hold: bool | None


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a verification. `ok` False makes the whole "NON VALIDE"; `warning` marks a reservation.

    `reserve_fr` is the reservation in two or three words, for the verdict; empty where the detail says enough.
    """

    name_fr: str
    ok: bool
    detail_fr: str
    warning: bool = False
    reserve_fr: str = ""


@runtime_checkable
class Archive(Protocol):
    """An append-only store of report revisions. Every method may raise ArchiveUnavailableError."""

    def put_revision(self, month: str, revision: int, files: Mapping[str, bytes], retain_until: datetime) -> Receipt:
        """Store all `files` (the PDF, its attachments, manifest.json) at once or not at all, read them back.

        The same revision with the same bytes again gives its receipt again. ArchiveConflictError when
        another build archived first; EvidenceError when the files are not what their manifest announces.
        """
        ...

    def list_revisions(self) -> tuple[ChainEntry, ...]:
        """Archived revisions in archive order; EvidenceError when the index itself is damaged."""
        ...

    def read(self, month: str, revision: int | None = None) -> dict[str, bytes]:
        """Bytes of every file of a revision by name, as found, unchecked; None is the newest revision.

        EvidenceError when there is no such revision; a file that is gone is absent from the result.
        """
        ...

    def read_manifest(self, month: str, revision: int) -> bytes | None:
        """Bytes of the manifest of a revision, as found; None when it is gone."""
        ...

    def retention(self, month: str, revision: int | None = None) -> RetentionState:
        """What the store enforces for that revision, asked now."""
        ...

    def receipt(self, month: str, revision: int | None = None) -> Receipt:
        """The receipt of an archived revision, its bytes and retention read back now."""
        ...

    def self_checks(self, month: str | None = None) -> Sequence[Check]:
        """Checks only the store can make: its index, foreign files, what lies at the month's key."""
        ...

    def recover(self) -> tuple[str, ...]:
        """Finish or undo what an interrupted write left; French lines. `put_revision` does it too."""
        ...
