"""The archive's own index: one sealed entry per archived revision, in archive order.

An entry says where the bytes of a revision are and what they hash to; it carries a digest of itself, so
that a change to the newest entry shows although nothing refers to it yet. Lives here: the entry, its byte
form, the check of the links. Where entries are kept (a file, objects of a bucket) is the adapters' affair.
Serves "every single-byte change of any artefact is detected".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from compliance_pipelines.core.evidence_manifest import (
    MANIFEST_NAME,
    EvidenceError,
    FileName,
    Instant,
    Manifest,
    Month,
    Previous,
    Sha256,
    canonical_json,
    first_problem,
    pdf_name,
    read_canonical,
    read_manifest,
    require_month,
    sha256,
    utc_text,
)


class StoredFile(BaseModel):
    """One archived file: its key, its version where the store has versions, digest and size in bytes."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    name: FileName
    key: Annotated[str, Field(min_length=1, max_length=500)]
    version_id: str | None
    sha256: Sha256
    size: Annotated[int, Field(ge=0)]


class ChainEntry(BaseModel):
    """One archived revision. `entry_sha256` seals the other fields; a wrong seal is refused."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", populate_by_name=True)

    schema_: Annotated[Literal["compliance-chain/1"], Field(alias="schema")] = "compliance-chain/1"
    chain_index: Annotated[int, Field(ge=0)]
    month: Month
    revision: Annotated[int, Field(ge=1)]
    manifest_sha256: Sha256
    previous_sha256: Sha256 | None
    files: Annotated[tuple[StoredFile, ...], Field(strict=False)]
    retain_until: Instant
    mode: Annotated[str, Field(min_length=1, max_length=60)]
    entry_sha256: Sha256

    @model_validator(mode="after")
    def _sealed(self) -> Self:
        names = [item.name for item in self.files]
        if names != sorted(set(names)) or not {MANIFEST_NAME, pdf_name(self.month)} <= set(names):
            raise ValueError("files: le PDF et le manifeste, triés et uniques")
        if self.file(MANIFEST_NAME).sha256 != self.manifest_sha256:
            raise ValueError("manifest_sha256: l’empreinte du manifeste listé")
        if self.entry_sha256 != self._seal():
            raise ValueError("entry_sha256: le sceau de la ligne")
        return self

    def _seal(self) -> str:
        return sha256(canonical_json(self.model_dump(mode="json", by_alias=True, exclude={"entry_sha256"})))

    def file(self, name: str) -> StoredFile:
        """The stored file of that name; EvidenceError when the revision has none."""
        for item in self.files:
            if item.name == name:
                return item
        raise EvidenceError(f"révision {self.revision} de {self.month} : aucun fichier de ce nom")

    @property
    def pdf(self) -> StoredFile:
        """The stored PDF of this revision."""
        return self.file(pdf_name(self.month))

    @property
    def retain_until_at(self) -> datetime:
        """`retain_until` as an aware datetime."""
        return datetime.fromisoformat(self.retain_until).astimezone(UTC)

    @property
    def as_previous(self) -> Previous:
        """The link that the next manifest carries."""
        return Previous(month=self.month, revision=self.revision, manifest_sha256=self.manifest_sha256)

    def to_bytes(self) -> bytes:
        """The archived bytes of this entry: canonical JSON, one line."""
        return canonical_json(self.model_dump(mode="json", by_alias=True))


def seal(manifest: Manifest, files: Sequence[StoredFile], retain_until: datetime, mode: str) -> ChainEntry:
    """Make the entry of `manifest` for files that are already stored."""
    fields: dict[str, object] = {
        "schema": "compliance-chain/1",
        "chain_index": manifest.chain_index,
        "month": manifest.month,
        "revision": manifest.revision,
        "manifest_sha256": manifest.sha256,
        "previous_sha256": manifest.previous.manifest_sha256 if manifest.previous else None,
        "files": [item.model_dump(mode="json") for item in sorted(files, key=lambda item: item.name)],
        "retain_until": utc_text(retain_until),
        "mode": mode,
    }
    return ChainEntry.model_validate({**fields, "entry_sha256": sha256(canonical_json(fields))})


def read_entry(content: bytes, what: str) -> ChainEntry:
    """Read one entry; anything but its canonical, sealed form is an EvidenceError naming `what`."""
    value = read_canonical(content, what)
    try:
        return ChainEntry.model_validate(value)
    except ValidationError as error:
        raise EvidenceError(first_problem(error, what)) from None


def broken_links(entries: Sequence[ChainEntry]) -> tuple[str, ...]:
    """French sentences for what is wrong with the order of `entries`; empty when the chain holds."""
    problems: list[str] = []
    revisions: dict[str, int] = {}
    for position, entry in enumerate(entries):
        name = f"maillon {position} ({entry.month}, révision {entry.revision})"
        if entry.chain_index != position:
            problems.append(f"{name} : numéro {entry.chain_index}, attendu {position}")
        before = entries[position - 1].manifest_sha256 if position else None
        if entry.previous_sha256 != before:
            problems.append(f"{name} : ne renvoie pas au maillon précédent")
        expected = revisions.get(entry.month, 0) + 1
        if entry.revision != expected:
            problems.append(f"{name} : attendu la révision {expected}")
        revisions[entry.month] = entry.revision
    return tuple(problems)


def check_new(entries: Sequence[ChainEntry], month: str, revision: int, files: Mapping[str, bytes]) -> Manifest:
    """Check what is about to be archived against the archive's present end; returns its manifest.

    EvidenceError when `files` are not exactly what the manifest announces, or when the manifest was made
    for another end of the chain (another build was quicker: compute it again).
    """
    if MANIFEST_NAME not in files:
        raise EvidenceError("archive : attendu un fichier manifest.json")
    manifest = read_manifest(files[MANIFEST_NAME])
    if (manifest.month, manifest.revision) != (month, revision):
        raise EvidenceError("archive : le manifeste est celui d’un autre mois ou d’une autre révision")
    found = {name: sha256(content) for name, content in files.items() if name != MANIFEST_NAME}
    if found != manifest.expected_files:
        raise EvidenceError("archive : attendu exactement les fichiers annoncés par le manifeste")
    if any(item.month == month and item.revision >= revision for item in entries):
        raise ArchiveConflictError(f"archive : la révision {revision} de {month} existe déjà, relancez la construction")
    link = entries[-1].as_previous if entries else None
    if manifest.previous != link or manifest.chain_index != len(entries):
        raise ArchiveConflictError("archive : une autre version a été archivée entre-temps, relancez la construction")
    expected = 1 + sum(item.month == month for item in entries)
    if revision != expected:
        raise EvidenceError(f"archive : attendu la révision {expected} pour {month}")
    return manifest


class ArchiveConflictError(EvidenceError):
    """Another build archived first; computing the report again on the new end of the chain settles it."""


def read_chain(content: bytes) -> tuple[ChainEntry, ...]:
    """Read an index of one entry a line; b"" is an empty archive. EvidenceError names the damaged line."""
    if not content:
        return ()
    if not content.endswith(b"\n"):
        raise EvidenceError("index : attendu une fin de ligne après la dernière entrée")
    lines = content[:-1].split(b"\n")
    return tuple(read_entry(line + b"\n", f"index, ligne {number}") for number, line in enumerate(lines, start=1))


def find_revision(entries: Sequence[ChainEntry], month: str, revision: int | None) -> ChainEntry:
    """The entry of a month's revision (None: the newest); EvidenceError when there is none."""
    require_month(month)
    found = [item for item in entries if item.month == month and revision in {None, item.revision}]
    if not found:
        which = "aucun rapport archivé" if revision is None else f"pas de révision {revision}"
        raise EvidenceError(f"{month} : {which}")
    return found[-1]
