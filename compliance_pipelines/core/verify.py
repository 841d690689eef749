"""Is an archived report still what was archived? Every check that the archive alone allows, offline.

Pure: the archive and the readers of PDF and signature are passed in (`Tools`), so nothing here opens a
file. A damaged artefact gives a failed check, never an exception; only an archive that cannot be reached or
a month that was never archived leaves the question open (exit code 2). Serves "verify says in French and by
exit code whether any byte, figure, link of the chain or retention is off".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compliance_pipelines.core.evidence import EvidenceError, pdf_name, read_manifest, require_month, sha256
from compliance_pipelines.core.evidence_chain import ChainEntry, find_revision
from compliance_pipelines.core.ports import Archive, ArchiveUnavailableError, Check
from compliance_pipelines.core.verify_revision import Tools, chain_check, check_files, retention_check

VALID = "VALIDE"
INVALID = "NON VALIDE"
UNDECIDED = "NON VÉRIFIÉ"


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome for one subject (a month's revision, a file, or the whole archive).

    `undecided_fr` is the reason why the question stays open; None when it was answered. `head` is the newest link
    of the chain, None where it was not read.
    """

    subject: str
    checks: tuple[Check, ...]
    undecided_fr: str | None = None
    head: ChainEntry | None = None

    @property
    def verdict(self) -> str:
        """ "VALIDE", "NON VALIDE", or "NON VÉRIFIÉ" when nothing could be decided."""
        if self.undecided_fr is not None:
            return UNDECIDED
        return VALID if all(check.ok for check in self.checks) else INVALID

    @property
    def reserves(self) -> tuple[str, ...]:
        """What a valid answer has to be read with, in a few words each: "non signé", "répertoire sans WORM"."""
        found = (item.reserve_fr or item.name_fr.lower() for item in self.checks if item.ok and item.warning)
        return tuple(dict.fromkeys(found))

    @property
    def verdict_fr(self) -> str:
        """The verdict with its reservations: what people read."""
        if self.verdict != VALID or not self.reserves:
            return self.verdict
        return f"{VALID} (avec réserves : {', '.join(self.reserves)})"

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
            "verdict_fr": self.verdict_fr,
            "reservations": list(self.reserves) if self.verdict == VALID else [],
            "exit_code": self.exit_code,
            "chain_head": None if self.head is None else head_json(self.head),
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
        return (*lines, f"{self.subject} : {self.verdict_fr}{tail}")


def head_json(head: ChainEntry) -> dict[str, object]:
    """The newest link of the chain for a program: what to publish, and where it stands."""
    return {
        "sha256": head.manifest_sha256,
        "chain_index": head.chain_index,
        "month": head.month,
        "revision": head.revision,
    }


def head_lines_fr(head: ChainEntry) -> tuple[str, ...]:
    """The newest link of the chain for people: what to publish and how it is used later."""
    return (
        f"Tête de chaîne (empreinte à publier) : {head.manifest_sha256}",
        f"  maillon {head.chain_index}, {head.month} révision {head.revision}",
        "  à confronter plus tard : compliance report verify --published EMPREINTE",
    )


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
        return Verification(f"{month}, révision {entry.revision}", tuple(checks), head=entries[-1])

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
        reserve = f"révision {found.revision} remplacée par la {newest.revision}" if late else ""
        check = Check("Fichier présenté", ok=True, detail_fr=detail, warning=late, reserve_fr=reserve)
        return Verification(name, (check, *inner.checks), inner.undecided_fr, inner.head)

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
        results = [Verification("archive", (*own, chain), head=entries[-1] if entries else None)]
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
        check = Check("Empreinte publiée", ok=found is not None, detail_fr=detail)
        return Verification(subject, (chain, check), head=entries[-1] if entries else None)

    return _guarded(subject, run)


def reason_of(archive: Archive, entry: ChainEntry) -> str | None:
    """Why a revision was made, from its manifest; None where that is gone or is not the one that was archived."""
    content = archive.read_manifest(entry.month, entry.revision)
    if content is None or sha256(content) != entry.manifest_sha256:
        return None
    return read_manifest(content).reason


def checked_files(archive: Archive, month: str, revision: int | None = None) -> tuple[ChainEntry, dict[str, bytes]]:
    """The files of a revision, each one compared with the archive's index before anybody is handed it.

    Raises AlteredError when a file is missing or is not the archived one, EvidenceError when there is no such revision.
    """
    entry = find_revision(archive.list_revisions(), month, revision)
    files = archive.read(month, entry.revision)
    problems = [f"{item.name} : absent" for item in entry.files if item.name not in files]
    problems += [
        f"{item.name} : octets modifiés"
        for item in entry.files
        if item.name in files and sha256(files[item.name]) != item.sha256
    ]
    if problems:
        which = f"{entry.month}, révision {entry.revision}"
        raise AlteredError(f"{which} : {' ; '.join(problems[:5])}. Rien n’est remis (compliance report verify {month})")
    return entry, files


class AlteredError(EvidenceError):
    """An archived file is not what was archived: exit code 1, the thing checked is not in order."""


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
