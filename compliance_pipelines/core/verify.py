"""Is an archived report still what was archived? Every check that the archive alone allows, offline.

Pure: the archive and the readers of PDF and signature are passed in (`Tools`), so nothing here opens a
file. A damaged artefact gives a failed check, never an exception; only an archive that cannot be reached or
a month that was never archived leaves the question open (exit code 2). Serves "verify says in French and by
exit code whether any byte, figure, link of the chain or retention is off".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compliance_pipelines.core.evidence import EvidenceError, pdf_name, require_month, sha256
from compliance_pipelines.core.evidence_chain import ChainEntry, find_revision
from compliance_pipelines.core.ports import Archive, ArchiveUnavailableError, Check
from compliance_pipelines.core.verify_revision import Tools, chain_check, check_files, retention_check

VALID = "VALIDE"
INVALID = "NON VALIDE"
UNDECIDED = "NON VÉRIFIÉ"


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome for one subject (a month's revision, a file, or the whole archive).

    `undecided_fr` is the reason why the question stays open; None when it was answered.
    """

    subject: str
    checks: tuple[Check, ...]
    undecided_fr: str | None = None

    @property
    def verdict(self) -> str:
        """ "VALIDE", "NON VALIDE", or "NON VÉRIFIÉ" when nothing could be decided."""
        if self.undecided_fr is not None:
            return UNDECIDED
        return VALID if all(check.ok for check in self.checks) else INVALID

    @property
    def exit_code(self) -> int:
        """0 valid, 1 not valid, 2 could not decide."""
        return {VALID: 0, INVALID: 1, UNDECIDED: 2}[self.verdict]

    def as_json(self) -> dict[str, object]:
        """The shape of `compliance report verify --json`."""
        return {
            "schema": "compliance-verification/1",
            "subject": self.subject,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "undecided": self.undecided_fr,
            "checks": [
                {"name": item.name_fr, "ok": item.ok, "warning": item.warning, "detail": item.detail_fr}
                for item in self.checks
            ],
        }

    def lines_fr(self) -> tuple[str, ...]:
        """The verification for people: one line a check, the verdict last."""
        marks = {(True, False): "conforme ", (True, True): "réserve  ", (False, False): "ÉCART    "}
        lines = [
            f"{marks.get((item.ok, item.warning), 'ÉCART    ')} {item.name_fr} : {item.detail_fr}"
            for item in self.checks
        ]
        tail = f" ({self.undecided_fr})" if self.undecided_fr else ""
        return (*lines, f"{self.subject} : {self.verdict}{tail}")


def verify_month(archive: Archive, month: str, tools: Tools, revision: int | None = None) -> Verification:
    """Verify one archived revision of `month` (the newest by default) and the whole chain it stands in."""

    def run() -> Verification:
        require_month(month)
        checks = list(archive.self_checks(month))
        try:
            entries = archive.list_revisions()
            entry = find_revision(entries, month, revision)
        except EvidenceError as error:
            return _without_entry(month, checks, error)
        checks.append(chain_check(entries, _manifests(archive, entries)))
        checks.extend(_revision_checks(archive, entry, archive.read(month, entry.revision), tools))
        return Verification(f"{month}, révision {entry.revision}", tuple(checks))

    return _guarded(month, run)


def verify_file(archive: Archive, content: bytes, name: str, tools: Tools) -> Verification:
    """Verify a file that someone holds: it must be, byte for byte, one of a valid archived revision.

    The report, its summary or a data file: any of them leads to its revision. An empty archive leaves it open.
    """

    def run() -> Verification:
        try:
            entries = archive.list_revisions()
        except EvidenceError:
            return Verification(name, tuple(archive.self_checks(None)))
        digest = sha256(content)
        if not entries:
            raise EvidenceError("l’archive est vide, il n’y a rien à quoi comparer ce fichier")
        held = ((entry, item.name) for entry in reversed(entries) for item in entry.files if item.sha256 == digest)
        found, file = next(held, (None, ""))
        if found is None:
            detail = f"aucune révision archivée n’a l’empreinte {digest[:16]}…"
            return Verification(name, (Check("Fichier présenté", ok=False, detail_fr=detail),))
        newest = find_revision(entries, found.month, None)
        late = newest.revision != found.revision
        what = "" if file == pdf_name(found.month) else f"{file} de "
        detail = f"identique à {what}{found.month}, révision {found.revision}"
        if late:
            detail += f" ; la révision {newest.revision} l’a remplacée depuis"
        inner = verify_month(archive, found.month, tools, found.revision)
        check = Check("Fichier présenté", ok=True, detail_fr=detail, warning=late)
        return Verification(name, (check, *inner.checks), inner.undecided_fr)

    return _guarded(name, run)


def verify_all(archive: Archive, tools: Tools) -> tuple[Verification, ...]:
    """Verify the archive as a whole, then each revision; the index and the manifests are read once."""
    try:
        own = tuple(archive.self_checks(None))
        try:
            entries = archive.list_revisions()
        except EvidenceError:
            return (Verification("archive", own),)
        if not entries and all(check.ok for check in own):
            return (Verification("archive", own, "archive vide : rien à vérifier"),)
        chain = chain_check(entries, _manifests(archive, entries))
        results = [Verification("archive", (*own, chain))]
        for entry in entries:
            files = archive.read(entry.month, entry.revision)
            checks = tuple(_revision_checks(archive, entry, files, tools))
            results.append(Verification(f"{entry.month}, révision {entry.revision}", checks))
    except ArchiveUnavailableError as error:
        return (Verification("archive", (), str(error)),)
    return tuple(results)


def verify_published(archive: Archive, digest: str) -> Verification:
    """Whether a chain head that was published elsewhere is still in the chain: nothing before it was rewritten.

    `digest` is the 64 hexadecimal digits printed as "empreinte à publier", in either case.
    """
    subject = f"empreinte publiée {digest[:16]}"

    def run() -> Verification:
        wanted = digest.strip().lower()
        if len(wanted) != 64 or set(wanted) - set("0123456789abcdef"):
            raise EvidenceError("--published : attendu les 64 chiffres hexadécimaux d’une empreinte de tête")
        entries = archive.list_revisions()
        chain = chain_check(entries, _manifests(archive, entries))
        found = next((entry for entry in entries if entry.manifest_sha256 == wanted), None)
        if found is None:
            detail = f"absente des {len(entries)} maillon(s) : la chaîne n’est plus celle qui a été publiée"
        else:
            later = len(entries) - 1 - found.chain_index
            detail = f"maillon {found.chain_index}, {found.month} révision {found.revision} ; {later} ajouté(s) depuis"
        return Verification(subject, (chain, Check("Empreinte publiée", ok=found is not None, detail_fr=detail)))

    return _guarded(subject, run)


def _guarded(subject: str, run: Callable[[], Verification]) -> Verification:
    try:
        return run()
    except (ArchiveUnavailableError, EvidenceError) as error:
        return Verification(subject, (), str(error))


def _without_entry(month: str, checks: Sequence[Check], error: EvidenceError) -> Verification:
    """No such revision in a sound index is a question without an answer; in a damaged one it is a finding."""
    if all(check.ok for check in checks):
        return Verification(month, tuple(checks), str(error))
    return Verification(month, (*checks, Check("Révision demandée", ok=False, detail_fr=str(error))))


def _manifests(archive: Archive, entries: Sequence[ChainEntry]) -> list[bytes | None]:
    return [archive.read_manifest(entry.month, entry.revision) for entry in entries]


def _revision_checks(archive: Archive, entry: ChainEntry, files: Mapping[str, bytes], tools: Tools) -> list[Check]:
    checks = check_files(files, pdf_name(entry.month), tools, entry)
    checks.append(retention_check(archive.retention(entry.month, entry.revision), entry))
    return checks
