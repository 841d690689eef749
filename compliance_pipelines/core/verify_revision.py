"""The checks on one archived revision: bytes, manifest, content of the PDF, retention, signature.

Pure: files come as bytes, the PDF and its signature are read by the functions in `Tools`. Each function
answers with checks and never raises on damaged input. The chain as a whole is checked here too, since it is
the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from compliance_pipelines.core.evidence import MANIFEST_NAME, EvidenceError, Manifest, read_manifest, sha256
from compliance_pipelines.core.evidence_chain import ChainEntry, broken_links
from compliance_pipelines.core.policy_archive import POLICY_NAME, archived_digest, read_policy_json
from compliance_pipelines.core.ports import Check, RetentionState
from compliance_pipelines.core.verify_figures import figures_check

EMBEDDED = ("figures.csv", "figures.json")


@dataclass(frozen=True, slots=True)
class PdfFacts:
    """What a PDF reader found: number of pages, text of each page, embedded files by name.

    `texts` may be lazy (text is the dear part of reading) and then raises EvidenceError while it is read.
    """

    pages: int
    texts: Iterable[str]
    embedded: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class SignatureFacts:
    """One signature of a PDF. `trusted` is None when no root certificate was given to judge it by."""

    intact: bool
    covers_file: bool
    trusted: bool | None
    detail_fr: str


@dataclass(frozen=True, slots=True)
class Tools:
    """Readers from the adapters; each raises EvidenceError when the bytes cannot be read."""

    read_pdf: Callable[[bytes], PdfFacts]
    read_signatures: Callable[[bytes], tuple[SignatureFacts, ...]]


def check_files(files: Mapping[str, bytes], pdf: str, tools: Tools, entry: ChainEntry | None = None) -> list[Check]:
    """Check the files of one revision against each other and, when given, against the archive's entry."""
    content = files.get(MANIFEST_NAME, b"")
    digest = sha256(content)
    if entry is not None and digest != entry.manifest_sha256:
        found = "octets modifiés" if content else "absent"
        return [Check("Manifeste", ok=False, detail_fr=f"{found} : l’empreinte n’est pas celle de l’index")]
    try:
        manifest = read_manifest(content)
    except EvidenceError as error:
        return [Check("Manifeste", ok=False, detail_fr=str(error))]
    checks = [
        Check("Manifeste", ok=True, detail_fr=f"forme canonique, empreinte {digest[:16]}…"),
        _inputs_check(manifest),
        _bytes_check(manifest, files, pdf),
    ]
    if POLICY_NAME in files:
        checks.append(_policy_check(manifest, files[POLICY_NAME]))
    # A PDF that is not the archived one is not parsed: its digest already decides, and it may be hostile.
    if sha256(files.get(pdf, b"")) == manifest.pdf.sha256_archived:
        checks.extend(_pdf_checks(manifest, files, files[pdf], tools))
    return checks


def chain_check(entries: Sequence[ChainEntry], manifests: Sequence[bytes | None]) -> Check:
    """Every manifest hashes to what the index says and names the one before it."""
    problems = list(broken_links(entries))
    for entry, content in zip(entries, manifests, strict=True):
        where = f"{entry.month}, révision {entry.revision}"
        if content is None:
            problems.append(f"{where} : manifeste absent")
        elif sha256(content) != entry.manifest_sha256:
            problems.append(f"{where} : manifeste modifié")
        else:
            problems.extend(f"{where} : {reason}" for reason in _link_problems(entry, content))
    detail = " ; ".join(problems[:5]) or f"{len(entries)} maillon(s), chacun renvoie au précédent"
    return Check("Chaîne des manifestes", ok=not problems, detail_fr=detail)


def retention_check(state: RetentionState, entry: ChainEntry) -> Check:
    """What the store enforces now is at least what was promised when the revision was archived."""
    name = "Conservation"
    promised = entry.retain_until_at
    if not state.locked:
        if entry.mode != state.mode:
            return Check(name, ok=False, detail_fr=f"{state.mode} : attendu {entry.mode}")
        detail = f"{state.mode} jusqu’au {promised:%d/%m/%Y} : aucun verrou, ce n’est pas un stockage WORM"
        reserve = "répertoire sans WORM" if "répertoire" in state.mode else "stockage sans WORM"
        return Check(name, ok=True, detail_fr=detail, warning=True, reserve_fr=reserve)
    if state.mode != entry.mode or state.retain_until is None or state.retain_until < promised:
        until = f"{state.retain_until:%d/%m/%Y}" if state.retain_until else "sans date"
        detail = f"{state.mode} {until} : attendu {entry.mode} jusqu’au {promised:%d/%m/%Y} au moins"
        return Check(name, ok=False, detail_fr=detail)
    hold = ", gel juridique en place" if state.legal_hold else ""
    return Check(name, ok=True, detail_fr=f"{state.mode} jusqu’au {state.retain_until:%d/%m/%Y}{hold}")


def _link_problems(entry: ChainEntry, content: bytes) -> list[str]:
    try:
        manifest = read_manifest(content)
    except EvidenceError as error:
        return [str(error)]
    previous = manifest.previous.manifest_sha256 if manifest.previous else None
    same = (manifest.chain_index, manifest.month, manifest.revision, previous) == (
        entry.chain_index,
        entry.month,
        entry.revision,
        entry.previous_sha256,
    )
    return [] if same else ["le manifeste et l’index ne disent pas la même place"]


def _inputs_check(manifest: Manifest) -> Check:
    same = manifest.recomputed_input_digest == manifest.input_digest
    detail = f"recalculée : {manifest.input_digest[:16]}…" if same else "ne suit pas des entrées listées"
    return Check("Empreinte des entrées", ok=same, detail_fr=detail)


def _policy_check(manifest: Manifest, content: bytes) -> Check:
    name = "Politique archivée"
    try:
        texts = read_policy_json(content)
        digest = archived_digest(content)
    except EvidenceError as error:
        return Check(name, ok=False, detail_fr=str(error))
    same = digest == manifest.policy_digest
    detail = f"{len(texts)} fichier(s), empreinte recalculée : {digest[:16]}…"
    return Check(name, ok=same, detail_fr=detail if same else f"{detail}, attendu {manifest.policy_digest[:16]}…")


def _bytes_check(manifest: Manifest, files: Mapping[str, bytes], pdf: str) -> Check:
    problems: list[str] = []
    expected = manifest.expected_files
    for name in sorted(expected.keys() | files.keys() - {MANIFEST_NAME}):
        if name not in files:
            problems.append(f"{name} : absent")
        elif name not in expected:
            problems.append(f"{name[:80]} : non annoncé par le manifeste")
        elif sha256(files[name]) != expected[name]:
            problems.append(f"{name} : octets modifiés")
    detail = " ; ".join(problems) or f"{pdf} et {len(expected) - 1} pièce(s) jointe(s) identiques"
    return Check("Empreintes des fichiers", ok=not problems, detail_fr=detail)


def _pdf_checks(manifest: Manifest, files: Mapping[str, bytes], content: bytes, tools: Tools) -> list[Check]:
    checks = [_signature_check(manifest, content, tools)]
    try:
        facts = tools.read_pdf(content)
    except EvidenceError as error:
        return [*checks, Check("Lecture du PDF", ok=False, detail_fr=str(error))]
    same = facts.pages == manifest.pdf.pages
    detail = f"{facts.pages} page(s)" + ("" if same else f", attendu {manifest.pdf.pages}")
    checks.append(Check("Lecture du PDF", ok=same, detail_fr=detail))
    checks.append(_embedded_check(manifest, facts.embedded))
    if "figures.json" in files:
        figures = figures_check(files["figures.json"], files.get("figures.csv"), facts.texts, manifest)
        checks.append(figures)
    return checks


def _embedded_check(manifest: Manifest, embedded: Mapping[str, bytes]) -> Check:
    expected = {item.name: item.sha256 for item in manifest.attachments}
    problems = [f"{name} : absent du PDF" for name in EMBEDDED if name in expected and name not in embedded]
    for name, content in sorted(embedded.items()):
        if name not in expected:
            problems.append(f"{name[:80]} : non annoncé par le manifeste")
        elif sha256(content) != expected[name]:
            problems.append(f"{name} : différent de la pièce archivée")
    detail = " ; ".join(problems) or f"{len(embedded)} pièce(s) incorporée(s), identiques"
    return Check("Pièces incorporées au PDF", ok=not problems, detail_fr=detail)


def _signature_check(manifest: Manifest, content: bytes, tools: Tools) -> Check:
    name = "Signature"
    try:
        found = tools.read_signatures(content)
    except EvidenceError as error:
        return Check(name, ok=False, detail_fr=str(error))
    if manifest.pdf.sha256_signed is None:
        detail = "non signé : l’authenticité repose sur le manifeste et la chaîne"
        unsigned = Check(name, ok=True, detail_fr=detail, warning=True, reserve_fr="non signé")
        return Check(name, ok=False, detail_fr="signature présente, manifeste non signé") if found else unsigned
    if not found:
        return Check(name, ok=False, detail_fr="attendu un PDF signé")
    if not all(item.intact and item.trusted is not False for item in found) or not found[-1].covers_file:
        return Check(name, ok=False, detail_fr=" ; ".join(item.detail_fr for item in found))
    if not has_prefix_digest(content, manifest.pdf.sha256_unsigned):
        return Check(name, ok=False, detail_fr="le fichier signé ne prolonge pas le fichier non signé du manifeste")
    warning = any(item.trusted is None for item in found)
    detail = " ; ".join(item.detail_fr for item in found)
    return Check(
        name, ok=True, detail_fr=detail, warning=warning, reserve_fr="signataire non vérifié" if warning else ""
    )


def has_prefix_digest(content: bytes, digest: str) -> bool:
    """True when `content` begins with a whole PDF of that sha256: signing only appends.

    A whole PDF ends at an end-of-file mark with or without its newline; each byte is hashed once.
    """
    running, done, mark = hashlib.sha256(), 0, b"%%EOF"
    position = content.find(mark)
    while position >= 0:
        end = position + len(mark)
        running.update(content[done:end])
        done = end
        tails = (b"", b"\n", b"\r\n", b"\r")
        for tail in tails:
            if content[end : end + len(tail)] == tail:
                candidate = running.copy()
                candidate.update(tail)
                if candidate.hexdigest() == digest:
                    return True
        position = content.find(mark, end)
    return False
