"""The evidence archive in a bucket with Object Lock: COMPLIANCE retention, read back and compared.

`bias-report-AAAA-MM.pdf` is the PDF, one version a revision; `revisions/AAAA-MM/rN/<manifest digest>/`
holds the rest, the manifest last; `chain/NNNNNN.json` is the commit: the store itself grants each number
once, so that two builds cannot both be number N, and what no chain object names is not archived. Locked
versions cannot be undone: an interrupted write is completed by the next run. Serves "never overwritten,
retention verified".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from compliance_pipelines.adapters.archive_s3_bucket import PREFIXES, PROBE_KEY, LockedBucket, S3Config, Version
from compliance_pipelines.core.evidence import MANIFEST_NAME, EvidenceError, pdf_name, require_month, sha256
from compliance_pipelines.core.evidence_chain import (
    ArchiveConflictError,
    ChainEntry,
    StoredFile,
    broken_links,
    check_new,
    find_revision,
    read_entry,
    seal,
)
from compliance_pipelines.core.evidence_lifecycle import fix_fr, read_rules
from compliance_pipelines.core.ports import ArchiveUnavailableError, Check, Clock, Receipt, RetentionState

MODE = "COMPLIANCE"
_REVISION_KEY = re.compile(r"revisions/[0-9]{4}-[0-9]{2}/r[0-9]{1,6}/[0-9a-f]{16}/[^/]{1,120}", re.ASCII)


class S3Archive:
    """An `Archive` in one bucket. Take a new instance for each verification: entries once read are kept."""

    def __init__(self, config: S3Config, *, clock: Clock | None = None) -> None:
        self._bucket = LockedBucket(config)
        self._hold = config.legal_hold
        self._clock = clock
        self._read: dict[Version, ChainEntry] = {}

    def list_revisions(self) -> tuple[ChainEntry, ...]:
        """See `Archive.list_revisions`. Of a key with several versions the first one written counts."""
        first: dict[str, Version] = {}
        for version in self._bucket.versions("chain/"):
            if not version.is_delete_marker:
                first[version.key] = version
        return tuple(self._entry(position, first[key]) for position, key in enumerate(sorted(first)))

    def read(self, month: str, revision: int | None = None) -> dict[str, bytes]:
        """See `Archive.read`."""
        entry = self._find(month, revision)
        contents = {item.name: self._bucket.get(item.key, item.version_id) for item in entry.files}
        return {name: content for name, content in contents.items() if content is not None}

    def read_manifest(self, month: str, revision: int) -> bytes | None:
        """See `Archive.read_manifest`."""
        item = self._find(month, revision).file(MANIFEST_NAME)
        return self._bucket.get(item.key, item.version_id)

    def retention(self, month: str, revision: int | None = None) -> RetentionState:
        """See `Archive.retention`: of all files and the chain object, the weakest is the answer."""
        entry = self._find(month, revision)
        objects = [(item.key, item.version_id or "") for item in entry.files]
        objects += [(known.key, known.version_id) for known, item in self._read.items() if item is entry]
        states = [self._bucket.retention(key, version) for key, version in objects]
        held = all(self._bucket.legal_hold(key, version) for key, version in objects)
        weakest = next((state for state in states if state is None or state[0] != MODE), None)
        known = [state[1] for state in states if state is not None]
        if len(known) < len(states):
            return RetentionState("AUCUN", locked=True, retain_until=None, legal_hold=held)
        mode = weakest[0] if weakest else MODE
        return RetentionState(mode, locked=True, retain_until=min(known), legal_hold=held)

    def receipt(self, month: str, revision: int | None = None) -> Receipt:
        """See `Archive.receipt`."""
        entry = self._find(month, revision)
        for item in entry.files:
            self._compare(item)
        state = self.retention(entry.month, entry.revision)
        if state.mode != MODE or state.retain_until is None or state.retain_until < entry.retain_until_at:
            raise EvidenceError(f"archive : conservation relue insuffisante pour {entry.pdf.key} ({state.mode})")
        return Receipt(
            month=entry.month,
            revision=entry.revision,
            key=f"{self._bucket.name}/{entry.pdf.key}",
            version_id=entry.pdf.version_id,
            sha256=entry.pdf.sha256,
            retain_until=state.retain_until,
            mode=state.mode,
            verified_at=self._clock() if self._clock else None,
            chain_index=entry.chain_index,
            chain_sha256=entry.manifest_sha256,
        )

    def put_revision(self, month: str, revision: int, files: Mapping[str, bytes], retain_until: datetime) -> Receipt:
        """See `Archive.put_revision`. `retain_until` is cut to the second, which is what stores keep."""
        require_month(month)
        self._bucket.require_lock()
        until = retain_until.replace(microsecond=0)
        entries = self.list_revisions()
        same = [item for item in entries if (item.month, item.revision) == (month, revision)]
        if same and same[0].manifest_sha256 == sha256(files.get(MANIFEST_NAME, b"")):
            self._put_on_top(same[0])
            return self.receipt(month, revision)
        manifest = check_new(entries, month, revision, files)
        self._require_lifecycle(datetime.fromisoformat(manifest.built_at), until)
        folder = f"revisions/{month}/r{revision}/{manifest.sha256[:16]}"
        order = sorted(files, key=lambda name: (name != pdf_name(month), name == MANIFEST_NAME, name))
        taken = {item.version_id for entry in entries for item in entry.files}
        stored: list[StoredFile] = []
        for name in order:
            key = name if name == pdf_name(month) else f"{folder}/{name}"
            version = self._reusable(key, files[name], until, taken) or self._bucket.put(
                key,
                files[name],
                until,
                {"sha256": sha256(files[name]), "month": month, "revision": str(revision)},
            )
            digest, size = sha256(files[name]), len(files[name])
            stored.append(StoredFile(name=name, key=key, version_id=version, sha256=digest, size=size))
            self._compare(stored[-1])
        entry = seal(manifest, stored, until, MODE)
        self._commit(entry, until)
        return self.receipt(month, revision)

    def recover(self) -> tuple[str, ...]:
        """See `Archive.recover`: puts the archived PDF back on top of a version that nothing names."""
        newest = {entry.month: entry for entry in self.list_revisions()}
        return tuple(
            f"révision {entry.revision} de {entry.month} : remise en version courante"
            for entry in newest.values()
            if self._put_on_top(entry)
        )

    def _put_on_top(self, entry: ChainEntry) -> bool:
        """Store the archived PDF once more if something else lies at its key; whether that was needed."""
        newest = find_revision(self.list_revisions(), entry.month, None)
        if entry != newest or self._is_current(entry):
            return False
        content = self._bucket.get(entry.pdf.key, entry.pdf.version_id)
        if content is None or sha256(content) != entry.pdf.sha256:
            raise EvidenceError(f"archive : {entry.pdf.key} : la version archivée n’est plus lisible")
        tags = {"sha256": entry.pdf.sha256, "month": entry.month, "revision": str(entry.revision)}
        self._bucket.put(entry.pdf.key, content, entry.retain_until_at, tags)
        return True

    def self_checks(self, month: str | None = None) -> tuple[Check, ...]:
        """See `Archive.self_checks`."""
        try:
            entries = self.list_revisions()
        except EvidenceError as error:
            return (Check("Index de l’archive", ok=False, detail_fr=str(error)),)
        problems = [*broken_links(entries), *self._extra_chain_versions()]
        detail = " ; ".join(problems[:5]) or f"{len(entries)} version(s), chaîne continue"
        checks = [Check("Index de l’archive", ok=not problems, detail_fr=detail)]
        checks.append(self._versions_check(entries, month))
        checks.append(self._lifecycle_check(entries, month))
        for entry in {item.month: item for item in entries if month in {None, item.month}}.values():
            ok = self._is_current(entry)
            what = f"est la révision {entry.revision}" if ok else "n’est pas la révision archivée, relancez"
            checks.append(Check("Copie courante du mois", ok=ok, detail_fr=f"{entry.pdf.key} {what}"))
        return tuple(checks)

    def _require_lifecycle(self, created: datetime, until: datetime) -> None:
        """Refuse to archive under a lifecycle that acts before the retention is over."""
        rules = self._bucket.lifecycle()
        reading = read_rules(rules or (), PREFIXES, [(created, until)])
        if reading.refused:
            raise ArchiveUnavailableError(
                f"archive : cycle de vie de {self._bucket.name} plus court que la conservation "
                f"({reading.refused[0]}) ; rien n’est déposé ; lancez : "
                f"{fix_fr(self._bucket.name, rules or (), reading)}"
            )

    def _lifecycle_check(self, entries: tuple[ChainEntry, ...], month: str | None) -> Check:
        """The lifecycle as it is now, against the retention of what is archived."""
        name = "Cycle de vie"
        rules = self._bucket.lifecycle()
        if rules is None:
            detail = "illisible : attendu le droit s3:GetLifecycleConfiguration"
            return Check(name, ok=True, detail_fr=detail, warning=True, reserve_fr="cycle de vie non lu")
        if not rules:
            return Check(name, ok=True, detail_fr="aucune règle : rien n’est effacé ni masqué")
        promised = {entry.pdf.version_id: entry.retain_until_at for entry in entries if month in {None, entry.month}}
        versions = self._bucket.versions("bias-report-" if month is None else pdf_name(month))
        periods = [
            (version.modified, promised[version.version_id])
            for version in versions
            if version.version_id in promised and version.modified is not None
        ]
        reading = read_rules(rules, PREFIXES, periods)
        if reading.refused:
            detail = f"{' ; '.join(reading.refused[:3])} ; lancez : {fix_fr(self._bucket.name, rules, reading)}"
            return Check(name, ok=False, detail_fr=detail)
        detail = " ; ".join(reading.reserved[:3]) or f"{len(rules)} règle(s), aucune avant la fin de la conservation"
        warning = bool(reading.reserved)
        return Check(name, ok=True, detail_fr=detail, warning=warning, reserve_fr="cycle de vie" if warning else "")

    def _find(self, month: str, revision: int | None) -> ChainEntry:
        """An entry already read is taken as it is: its version cannot change. Otherwise the index is asked."""
        for entry in self._read.values():
            if (entry.month, entry.revision) == (month, revision):
                return entry
        return find_revision(self.list_revisions(), month, revision)

    def _entry(self, position: int, version: Version) -> ChainEntry:
        if version.key != f"chain/{position:06d}.json":
            raise EvidenceError(f"index : attendu chain/{position:06d}.json, trouvé {version.key[:80]}")
        if version not in self._read:
            content = self._bucket.get(version.key, version.version_id)
            if content is None:
                raise EvidenceError(f"index : {version.key} illisible")
            self._read[version] = read_entry(content, f"index, {version.key}")
        return self._read[version]

    def _commit(self, entry: ChainEntry, until: datetime) -> None:
        key = f"chain/{entry.chain_index:06d}.json"
        content = entry.to_bytes()
        if self._bucket.put_once(key, content, until, {"sha256": sha256(content)}) is None:
            # A retried request meets its own first attempt: an equal entry means that this very commit went through.
            won = self.list_revisions()
            if len(won) <= entry.chain_index or won[entry.chain_index] != entry:
                self.recover()
                raise ArchiveConflictError(
                    "archive : une autre version a été archivée entre-temps, relancez la construction"
                )

    def _reusable(self, key: str, content: bytes, until: datetime, taken: set[str | None]) -> str | None:
        """The version that an interrupted run left on top, when it has these bytes and enough retention."""
        top = self._top(key)
        if top is None or top.is_delete_marker or top.version_id in taken:
            return None
        state = self._bucket.retention(key, top.version_id)
        if state is None or state[0] != MODE or state[1] < until:
            return None
        if self._hold and not self._bucket.legal_hold(key, top.version_id):
            return None
        return top.version_id if self._bucket.get(key, top.version_id) == content else None

    def _top(self, key: str) -> Version | None:
        """What a reader who knows only the key is given: its newest version or delete marker."""
        found = (item for item in self._bucket.versions(key) if item.key == key and item.is_latest)
        return next(found, None)

    def _compare(self, item: StoredFile) -> None:
        content = self._bucket.get(item.key, item.version_id)
        if content is None or sha256(content) != item.sha256:
            raise EvidenceError(f"archive : relecture différente pour {item.key}")

    def _is_current(self, entry: ChainEntry) -> bool:
        """Whether the month's key gives the archived bytes, be it the archived version or a later equal
        one.
        """
        top = self._top(entry.pdf.key)
        if top is None or top.is_delete_marker:
            return False
        if top.version_id == entry.pdf.version_id:
            return True
        content = self._bucket.get(top.key, top.version_id)
        return content is not None and sha256(content) == entry.pdf.sha256

    def _extra_chain_versions(self) -> list[str]:
        counts: dict[str, int] = defaultdict(int)
        for version in self._bucket.versions("chain/"):
            counts[version.key] += 1
        return [f"{key} : {count} versions, attendu une seule" for key, count in counts.items() if count > 1]

    def _versions_check(self, entries: tuple[ChainEntry, ...], month: str | None) -> Check:
        """Strangers and delete markers; the versions of interrupted writes cannot go and are only named."""
        named = {(item.key, item.version_id) for entry in entries for item in entry.files}
        keys = {key for key, _ in named}
        prefixes = ("",) if month is None else (f"revisions/{month}/", pdf_name(month))
        found = [version for prefix in prefixes for version in self._bucket.versions(prefix)]
        problems: list[str] = []
        loose: list[str] = []
        foreign: list[str] = []
        for version in found:
            key = shown_key(version.key)
            ours = version.key.startswith(PREFIXES)
            if version.is_delete_marker and ours:
                problems.append(f"{key} : marqueur de suppression")
            elif version.key.startswith("bias-report-") and version.key not in keys:
                problems.append(f"{key} : sans manifeste (archivage interrompu ou dépôt étranger)")
            elif version.key.startswith("revisions/") and not _REVISION_KEY.fullmatch(version.key):
                problems.append(f"{key} : aucune révision ne range de fichier à cet endroit")
            elif not ours and version.key != PROBE_KEY:
                foreign.append(key)
            elif ours and not version.key.startswith("chain/") and (version.key, version.version_id) not in named:
                loose.append(key)
        if problems:
            return Check("Versions des objets", ok=False, detail_fr=" ; ".join(problems[:5]))
        details, reserves = [], []
        if loose:
            names = ", ".join(list(dict.fromkeys(loose))[:5])
            details.append(
                f"{len(loose)} version(s) hors manifeste, sans effet (écriture interrompue ou dépôt étranger) : {names}"
            )
            reserves.append("versions hors manifeste")
        if foreign:
            details.append(f"{len(foreign)} objet(s) étranger(s) à l’archive : {', '.join(foreign[:5])}")
            reserves.append("objets étrangers")
        detail = " ; ".join(details) or "toutes rattachées à un manifeste"
        return Check(
            "Versions des objets", ok=True, detail_fr=detail, warning=bool(details), reserve_fr=", ".join(reserves)
        )


def shown_key(key: str) -> str:
    """A key from the store as it may be printed: one line, no control characters."""
    return "".join(char if char.isprintable() else "?" for char in key[:120])
