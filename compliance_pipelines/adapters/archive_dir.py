"""The evidence archive in a plain directory: the embedded default.

`revisions/AAAA-MM/rN/` keeps every revision, `bias-report-AAAA-MM.pdf` is a copy of the newest one,
`chain.jsonl` is the index, and replacing it is the commit: what it does not list is not archived. Nothing
archived is ever written again. A directory locks nothing: this is no WORM store and says so in its mode.
Serves "two builds at once, a kill at any moment or a full disk leave nothing half visible".
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from compliance_pipelines.adapters.archive_files import (
    exclusive,
    is_folder,
    read_regular,
    sync_folder,
    unavailable,
    write_new,
)
from compliance_pipelines.adapters.archive_strangers import PENDING, interrupted, staged, strangers
from compliance_pipelines.core.evidence import MANIFEST_NAME, EvidenceError, pdf_name, require_month, sha256
from compliance_pipelines.core.evidence_chain import (
    ChainEntry,
    StoredFile,
    broken_links,
    check_new,
    find_revision,
    read_chain,
    seal,
)
from compliance_pipelines.core.ports import Check, Clock, Receipt, RetentionState

MODE = "AUCUN (répertoire)"


class DirectoryArchive:
    """An `Archive` under `root`, created at the first write.

    `clock` dates the read-back (`verified_at` is None without it); `lock_seconds` is how long to wait for
    another build before giving up with ArchiveUnavailableError.
    """

    def __init__(self, root: Path, *, clock: Clock | None = None, lock_seconds: float = 60.0) -> None:
        self.root = root
        self._clock = clock
        self._lock_seconds = lock_seconds

    def list_revisions(self) -> tuple[ChainEntry, ...]:
        """See `Archive.list_revisions`."""
        return read_chain(self._chain_bytes())

    def read(self, month: str, revision: int | None = None) -> dict[str, bytes]:
        """See `Archive.read`."""
        entry = find_revision(self.list_revisions(), month, revision)
        folder = self._folder(entry.month, entry.revision)
        contents = {item.name: self._content(folder / item.name) for item in entry.files}
        return {name: content for name, content in contents.items() if content is not None}

    def read_manifest(self, month: str, revision: int) -> bytes | None:
        """See `Archive.read_manifest`."""
        return self._content(self._folder(month, revision) / MANIFEST_NAME)

    def retention(self, month: str, revision: int | None = None) -> RetentionState:
        """See `Archive.retention`: a date that was promised, which a directory cannot enforce."""
        entry = find_revision(self.list_revisions(), month, revision)
        return RetentionState(MODE, locked=False, retain_until=entry.retain_until_at, legal_hold=None)

    def receipt(self, month: str, revision: int | None = None) -> Receipt:
        """See `Archive.receipt`."""
        entry = find_revision(self.list_revisions(), month, revision)
        found = self.read(month, entry.revision)
        for item in entry.files:
            if item.name not in found or sha256(found[item.name]) != item.sha256:
                raise EvidenceError(f"archive : relecture différente pour {item.key}")
        return Receipt(
            month=entry.month,
            revision=entry.revision,
            key=pdf_name(entry.month),
            version_id=f"r{entry.revision}",
            sha256=entry.pdf.sha256,
            retain_until=entry.retain_until_at,
            mode=MODE,
            verified_at=self._clock() if self._clock else None,
            chain_index=entry.chain_index,
            chain_sha256=entry.manifest_sha256,
        )

    def self_checks(self, month: str | None = None) -> tuple[Check, ...]:
        """See `Archive.self_checks`."""
        try:
            entries = self.list_revisions()
        except EvidenceError as error:
            return (Check("Index de l’archive", ok=False, detail_fr=str(error)),)
        problems = [*broken_links(entries), *strangers(self.root, entries, month)]
        detail = " ; ".join(problems[:5]) or f"{len(entries)} version(s), chaîne continue"
        left = interrupted(self.root) if month is None else []
        checks = [Check("Index de l’archive", ok=not problems, detail_fr=detail)]
        if left:
            detail = f"{' ; '.join(left[:5])} : à terminer ou à annuler au prochain lancement"
            checks.append(
                Check(
                    "Archivage interrompu", ok=True, detail_fr=detail, warning=True, reserve_fr="archivage interrompu"
                )
            )
        newest = {entry.month: entry for entry in entries if month in {None, entry.month}}
        checks.extend(self._current_copy(entry) for entry in newest.values())
        return tuple(checks)

    def put_revision(self, month: str, revision: int, files: Mapping[str, bytes], retain_until: datetime) -> Receipt:
        """See `Archive.put_revision`."""
        require_month(month)
        with exclusive(self.root, self._lock_seconds):
            self._recover()
            entries = self.list_revisions()
            if not entries and any((self.root / "revisions").glob("*/*")):
                raise EvidenceError("archive : index absent alors que des révisions existent, rien n’a été écrit")
            same = [item for item in entries if (item.month, item.revision) == (month, revision)]
            if not same or same[0].manifest_sha256 != sha256(files.get(MANIFEST_NAME, b"")):
                manifest = check_new(entries, month, revision, files)
                stored = [
                    StoredFile(
                        name=name,
                        key=f"revisions/{month}/r{revision}/{name}",
                        version_id=None,
                        sha256=sha256(content),
                        size=len(content),
                    )
                    for name, content in files.items()
                ]
                self._commit(seal(manifest, stored, retain_until, MODE), files)
            return self.receipt(month, revision)

    def recover(self) -> tuple[str, ...]:
        """See `Archive.recover`."""
        if not self.root.is_dir():
            return ()
        with exclusive(self.root, self._lock_seconds):
            return self._recover()

    def _commit(self, entry: ChainEntry, files: Mapping[str, bytes]) -> None:
        """Stage everything, move the folder into place, replace the index: only that makes it visible."""
        target = self._folder(entry.month, entry.revision)
        pending = self.root / ".pending" / f"{entry.month}-r{entry.revision}"
        if target.exists():
            raise EvidenceError(f"archive : {entry.pdf.key} existe sans figurer dans l’index, rien n’a été écrit")
        try:
            (pending / "revision").mkdir(parents=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                write_new(pending / "revision" / name, content)
            write_new(pending / "current.pdf", files[pdf_name(entry.month)])
            write_new(pending / "chain.jsonl", self._chain_bytes() + entry.to_bytes())
            for folder in (pending / "revision", pending, pending.parent, self.root, self.root / "revisions"):
                sync_folder(folder)
            (pending / "revision").rename(target)
            sync_folder(target.parent)
            (pending / "chain.jsonl").replace(self.root / "chain.jsonl")
            sync_folder(self.root)
            self._finish(pending, entry)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._recover()
            raise unavailable(error) from error

    def _finish(self, pending: Path, entry: ChainEntry) -> None:
        """The copy people fetch was staged before the commit, so that a full disk cannot stop it here."""
        staged_copy = read_regular(pending / "current.pdf")
        # only the archived bytes of the newest revision: whatever else was left there is no copy of the month
        newest = find_revision(self.list_revisions(), entry.month, None)
        if entry == newest and staged_copy is not None and sha256(staged_copy) == entry.pdf.sha256:
            (pending / "current.pdf").replace(self.root / pdf_name(entry.month))
        sync_folder(self.root)
        shutil.rmtree(pending)

    def _recover(self) -> tuple[str, ...]:
        """Called under the lock. Only a folder whose own pending mark says so is taken for uncommitted."""
        done: list[str] = []
        pendings = sorted((self.root / ".pending").glob("*"))
        entries = self.list_revisions() if pendings else ()
        archived = {(entry.month, entry.revision): entry for entry in entries}
        begun = {(entry.month, entry.revision) for entry in staged(self.root, entries)}
        for pending in pendings:
            match = PENDING.match(pending.name)
            if match is None or not is_folder(pending):
                raise EvidenceError("archive : .pending contient un élément inconnu, à retirer à la main")
            month, revision = match[1], int(match[2])
            if (month, revision) in archived:
                self._finish(pending, archived[month, revision])
                done.append(f"révision {revision} de {month} : archivage interrompu, terminé")
            else:
                target = self._folder(month, revision)
                if target.exists() and (month, revision) not in begun:
                    # its staged index precedes a moved folder: without it this folder is something else
                    raise EvidenceError(
                        f"archive : révision {revision} de {month} présente sans figurer dans l’index, "
                        "rien n’a été effacé"
                    )
                if target.exists():
                    shutil.rmtree(target)
                shutil.rmtree(pending)
                done.append(f"révision {revision} de {month} : archivage interrompu, annulé")
        return tuple(done)

    def _folder(self, month: str, revision: int) -> Path:
        return self.root / "revisions" / month / f"r{revision}"

    def _chain_bytes(self) -> bytes:
        content = self._content(self.root / "chain.jsonl")
        if content is None and os.path.lexists(self.root / "chain.jsonl"):
            raise EvidenceError("index : attendu un fichier ordinaire à la place de chain.jsonl")
        return content or b""

    def _content(self, path: Path) -> bytes | None:
        try:
            return read_regular(path)
        except OSError as error:
            raise unavailable(error) from error

    def _current_copy(self, entry: ChainEntry) -> Check:
        """The copy is the newest revision, unless a write was interrupted after its commit."""
        name = "Copie courante du mois"
        content = self._content(self.root / pdf_name(entry.month))
        if content is not None and sha256(content) == entry.pdf.sha256:
            return Check(name, ok=True, detail_fr=f"{pdf_name(entry.month)} est la révision {entry.revision}")
        if is_folder(self.root / ".pending" / f"{entry.month}-r{entry.revision}"):
            detail = "archivage interrompu après validation : à terminer au prochain lancement"
            return Check(name, ok=True, detail_fr=detail, warning=True)
        found = "absente" if content is None else "différente de la révision archivée"
        return Check(name, ok=False, detail_fr=f"{pdf_name(entry.month)} : {found}")
