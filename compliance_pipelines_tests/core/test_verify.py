"""Verification: valid evidence is valid, and any changed byte, figure, link, name or file is found.

The byte sweep changes one random byte (seeded) of a random artefact, every kind of artefact included;
`soak` runs it over many more. Forged print is `test_verify_figures`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.verify_pdf import read_pdf
from compliance_pipelines.core import verify
from compliance_pipelines.core.evidence import (
    Rendered,
    build_manifest,
    canonical_json,
    decide,
    sha256,
)
from compliance_pipelines.core.ports import ArchiveUnavailableError, RetentionState
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines.core.verify_revision import (
    PdfFacts,
    SignatureFacts,
    Tools,
    has_prefix_digest,
    retention_check,
)
from compliance_pipelines_tests.evidence_samples import (
    BUILT_AT,
    ROWS,
    TOOLS,
    Row,
    figures,
    inputs,
    pdf,
    put,
    rendered,
    verify_all,
    verify_file,
    verify_month,
)

UNTIL = retain_until(BUILT_AT, 7)
MONTH = "2026-06"
CHANGED: tuple[Row, ...] = (
    ("direction-sinistres", "Sinistres", 1241, 0.8137, 0.25, 0.7, "Conforme"),
    *ROWS[1:],
)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of an archive with two months and a revision, by relative name."""
    root = tmp_path_factory.mktemp("evidence")
    archive = DirectoryArchive(root)
    put(archive, MONTH)
    put(archive, "2026-07")
    put(archive, MONTH, CHANGED)
    names = [path for path in sorted(root.rglob("*")) if path.is_file() and path.name != ".lock"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in names}


def restore(root: Path, files: Mapping[str, bytes]) -> DirectoryArchive:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return DirectoryArchive(root)


def failed(result: verify.Verification) -> list[str]:
    return [check.name_fr for check in result.checks if not check.ok]


def test_valid_evidence_is_valid_in_every_way_of_asking(tmp_path: Path, evidence: dict[str, bytes]) -> None:
    archive = restore(tmp_path, evidence)
    for month, revision in ((MONTH, None), (MONTH, 1), (MONTH, 2), ("2026-07", None)):
        result = verify_month(archive, month, revision)
        assert (result.verdict, result.exit_code) == ("VALIDE", 0), result.lines_fr()
    assert [item.verdict for item in verify_all(archive)] == ["VALIDE"] * 4
    names = [check.name_fr for check in verify_month(archive, MONTH).checks]
    assert names == [
        "Index de l’archive",
        "Copie courante du mois",
        "Chaîne des manifestes",
        "Manifeste",
        "Empreinte des entrées",
        "Empreintes des fichiers",
        "Signature",
        "Lecture du PDF",
        "Pièces incorporées au PDF",
        "Chiffres imprimés",
        "Conservation",
    ]


def test_the_answer_for_machines_and_for_people(tmp_path: Path, evidence: dict[str, bytes]) -> None:
    result = verify_month(restore(tmp_path, evidence), MONTH)
    data = json.loads(json.dumps(result.as_json()))
    assert (data["verdict"], data["exit_code"], data["undecided"]) == ("VALIDE", 0, None)
    assert {"name", "ok", "warning", "detail"} == set(data["checks"][0])
    lines = result.lines_fr()
    assert lines[-1] == "2026-06, révision 2 : VALIDE (avec réserves : non signé, répertoire sans WORM)"
    assert data["reservations"] == ["non signé", "répertoire sans WORM"]
    assert data["verdict_fr"] == lines[-1].partition(" : ")[2]
    head = restore(tmp_path / "again", evidence).list_revisions()[-1]
    assert data["chain_head"] == {
        "sha256": head.manifest_sha256,
        "chain_index": head.chain_index,
        "month": head.month,
        "revision": head.revision,
    }
    assert any(line.startswith("réserve") and "pas un stockage WORM" in line for line in lines)


def test_what_cannot_be_decided_is_neither_valid_nor_invalid(tmp_path: Path, evidence: dict[str, bytes]) -> None:
    archive = restore(tmp_path, evidence)
    for month, revision in (("2026-01", None), ("2026-06", 9), ("juin", None), ("../..", None)):
        result = verify_month(archive, month, revision)
        assert (result.verdict, result.exit_code) == ("NON VÉRIFIÉ", 2)
        assert result.undecided_fr
    assert verify_month(DirectoryArchive(tmp_path / "nothing"), MONTH).exit_code == 2
    assert [item.exit_code for item in verify_all(DirectoryArchive(tmp_path / "nothing"))] == [2]

    class Down(DirectoryArchive):
        def list_revisions(self):
            raise ArchiveUnavailableError("archive : en panne")

    for result in (verify_month(Down(tmp_path), MONTH), *verify_all(Down(tmp_path))):
        assert (result.exit_code, result.undecided_fr) == (2, "archive : en panne")


def sweep(tmp_path: Path, evidence: dict[str, bytes], count: int, seed: int) -> set[str]:
    """Change one byte `count` times; returns the names touched. Every change must be found by month and by
    all.
    """
    archive = restore(tmp_path, evidence)
    source = random.Random(seed)  # noqa: S311
    touched = set()
    for _ in range(count):
        name = source.choice(sorted(evidence))
        content = bytearray(evidence[name])
        position = source.randrange(len(content))
        content[position] ^= source.randrange(1, 256)
        (tmp_path / name).chmod(0o644)
        (tmp_path / name).write_bytes(content)
        touched.add(name)
        month = "2026-07" if "2026-07" in name else MONTH
        revision = 1 if "/r1/" in name else None
        result = verify_month(archive, month, revision)
        assert result.exit_code == 1, (name, position, result.lines_fr())
        (tmp_path / name).write_bytes(evidence[name])
    assert verify_month(archive, MONTH).exit_code == 0
    return touched


def test_any_changed_byte_of_any_artefact_is_found(tmp_path: Path, evidence: dict[str, bytes]) -> None:
    touched = sweep(tmp_path, evidence, 200, seed=20260601)
    assert touched == set(evidence)
    assert {Path(name).name for name in touched} == {
        "bias-report-2026-06.pdf",
        "bias-report-2026-07.pdf",
        "chain.jsonl",
        "figures.csv",
        "figures.json",
        "manifest.json",
    }


@pytest.mark.soak
def test_many_changed_bytes(tmp_path: Path, evidence: dict[str, bytes]) -> None:
    sweep(tmp_path, evidence, 5000, seed=7)


@pytest.mark.parametrize("how", ["remove", "truncate", "append", "empty"])
def test_a_file_that_is_gone_shorter_or_longer_is_found(tmp_path: Path, evidence: dict[str, bytes], how: str) -> None:
    archive = restore(tmp_path, evidence)
    for name, content in evidence.items():
        path = tmp_path / name
        if how == "remove":
            path.unlink()
        else:
            path.write_bytes({"truncate": content[:-1], "append": content + b"\n", "empty": b""}[how])
        month = "2026-07" if "2026-07" in name else MONTH
        result = verify_month(archive, month, 1 if "/r1/" in name else None)
        assert result.exit_code == 1, (name, result.lines_fr())
        path.write_bytes(content)


def test_strangers_in_the_archive_are_found(tmp_path: Path, evidence: dict[str, bytes]) -> None:
    for name in (
        "revisions/2026-06/r3/manifest.json",
        "revisions/2026-06/r1/more.csv",
        "bias-report-2025-01.pdf",
    ):
        archive = restore(tmp_path / sha256(name.encode())[:8], {**evidence, name: b"x"})
        assert verify_all(archive)[0].exit_code == 1
    for month in ("revisions/2026-01/r1/manifest.json", "bias-report-2026-01.pdf"):
        archive = restore(tmp_path / sha256(month.encode())[:8], {**evidence, month: b"x"})
        assert verify_month(archive, "2026-01").exit_code == 1


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        "exports/2026-06.csv",
        "revisions/list.txt",
        "revisions/2026-06/list.txt",
        "revisions/2026-06/r1/deep/list.txt",
        "revisions/2099-01/r1/manifest.json",
        ".pending/list.txt",
        ".pending/2026-06-r9/list.txt",
    ],
)
def test_a_stranger_anywhere_is_named(tmp_path: Path, evidence: dict[str, bytes], name: str) -> None:
    archive = restore(tmp_path, {**evidence, name: b"x"})
    found = verify_all(archive)[0]
    assert found.exit_code == 1
    shown = {"exports/2026-06.csv": "exports", "revisions/2026-06/r1/deep/list.txt": "revisions/2026-06/r1/deep"}
    assert f"{shown.get(name, name)} : absent de l’index" in found.checks[0].detail_fr


@pytest.mark.parametrize("staged", [None, b"", b"{}\n", "the index itself"])
def test_a_forged_pending_hides_nothing(tmp_path: Path, evidence: dict[str, bytes], staged: bytes | str | None) -> None:
    """A folder in .pending excuses files only with a staged index that adds them to this very one."""
    added: dict[str, bytes] = {"revisions/2026-06/r9/manifest.json": b"x", ".pending/2026-06-r9/current.pdf": b"x"}
    if staged is not None:
        content = staged if isinstance(staged, bytes) else evidence["chain.jsonl"]
        added[".pending/2026-06-r9/chain.jsonl"] = content
    found = verify_all(restore(tmp_path, {**evidence, **added}))[0]
    assert found.exit_code == 1
    assert "revisions/2026-06/r9/manifest.json : absent de l’index" in found.checks[0].detail_fr
    assert any(check.name_fr == "Archivage interrompu" for check in found.checks)


def test_a_forged_manifest_is_found_by_the_next_link(tmp_path: Path, evidence: dict[str, bytes]) -> None:
    """The forger also writes the index anew, for that line: the following revision still refers to the old
    one.
    """
    name = "revisions/2026-06/r1/manifest.json"
    forged = canonical_json({**json.loads(evidence[name]), "code_version": "9.9.9"})
    chain = evidence["chain.jsonl"].splitlines(keepends=True)
    line = json.loads(chain[0])
    line["manifest_sha256"] = sha256(forged)
    for item in line["files"]:
        if item["name"] == "manifest.json":
            item.update(sha256=sha256(forged), size=len(forged))
    line.pop("entry_sha256")
    line["entry_sha256"] = sha256(canonical_json(line))
    archive = restore(tmp_path, {**evidence, name: forged, "chain.jsonl": b"".join([canonical_json(line), *chain[1:]])})
    assert archive.list_revisions()[0].manifest_sha256 == sha256(forged)  # the line itself is in order
    result = verify_month(archive, "2026-07")
    assert failed(result) == ["Index de l’archive", "Chaîne des manifestes"]
    assert "Empreinte des entrées" in failed(verify_month(archive, MONTH, 1))


# ---- a file someone holds


def test_a_file_is_compared_with_what_was_archived(tmp_path: Path, evidence: dict[str, bytes]) -> None:
    archive = restore(tmp_path, evidence)
    current = evidence["bias-report-2026-06.pdf"]
    assert verify_file(archive, current, "rapport.pdf").verdict == "VALIDE"
    old = verify_file(archive, evidence["revisions/2026-06/r1/bias-report-2026-06.pdf"], "ancien.pdf")
    assert old.exit_code == 0
    assert old.checks[0].warning
    assert "la révision 2 l’a remplacée" in old.checks[0].detail_fr
    for wrong in (current[:-1], current + b"\n", b"", b"%PDF-1.7 other"):
        result = verify_file(archive, wrong, "autre.pdf")
        assert (result.verdict, failed(result)) == ("NON VALIDE", ["Fichier présenté"])
    (tmp_path / "chain.jsonl").write_bytes(b"{}\n")
    assert verify_file(archive, current, "rapport.pdf").exit_code == 1


# ---- readers


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7", b"x" * 1000, b"%PDF-1.7\n" + b"1 0 obj <<" * 500])
def test_a_broken_pdf_is_one_line(tmp_path: Path, content: bytes) -> None:
    archive = DirectoryArchive(tmp_path)
    facts = inputs(MONTH)
    made = Rendered(content, None, 1, {})
    manifest = build_manifest(decide((), MONTH, facts.digest), facts, made, reason=None, built_at=BUILT_AT)
    archive.put_revision(MONTH, 1, made.files(manifest), UNTIL)
    result = verify_month(archive, MONTH)
    assert set(failed(result)) == {"Signature", "Lecture du PDF"}
    assert all("\n" not in line for line in result.lines_fr())


def test_the_pages_are_counted(tmp_path: Path) -> None:
    archive = DirectoryArchive(tmp_path)
    facts = inputs(MONTH)
    files = figures(MONTH, 1, ROWS, facts.digest)
    made = Rendered(pdf(ROWS, files), None, 2, files)
    manifest = build_manifest(decide((), MONTH, facts.digest), facts, made, reason=None, built_at=BUILT_AT)
    archive.put_revision(MONTH, 1, made.files(manifest), UNTIL)
    assert failed(verify_month(archive, MONTH)) == ["Lecture du PDF"]


def test_the_reader_gives_pages_text_and_files() -> None:
    facts = read_pdf(pdf(ROWS, {"figures.json": b"{}", "figures.csv": b"a"}))
    assert facts.embedded == {"figures.json": b"{}", "figures.csv": b"a"}
    (text,) = facts.texts
    assert facts.pages == 1
    assert "1\u202f240" in text


def test_tools_can_be_swapped(tmp_path: Path) -> None:
    archive = DirectoryArchive(tmp_path)
    put(archive)
    empty = Tools(read_pdf=lambda _: PdfFacts(1, ("",), {}), read_signatures=lambda _: ())
    result = verify.verify_month(archive, MONTH, empty)
    assert failed(result) == ["Pièces incorporées au PDF", "Chiffres imprimés"]
    assert TOOLS.read_pdf is read_pdf


SOUND, PART, BROKEN, FOREIGN, UNKNOWN = (
    SignatureFacts(intact, covers, trusted, "signature")
    for intact, covers, trusted in [
        (True, True, True), (True, False, True), (False, True, True), (True, True, False), (True, True, None),
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("found", "extends", "expected"),
    [
        ((SOUND,), True, []),
        ((UNKNOWN,), True, []),
        ((PART, SOUND), True, []),  # a second signature covers the first
        ((), True, ["Signature"]),
        ((BROKEN,), True, ["Signature"]),
        ((FOREIGN,), True, ["Signature"]),
        ((PART,), True, ["Signature"]),  # something was added after signing
        ((SOUND, PART), True, ["Signature"]),
        ((BROKEN, SOUND), True, ["Signature"]),
        ((SOUND,), False, ["Signature"]),  # another file was signed than the one of the manifest
    ],
)
def test_what_a_signature_must_be(
    found: tuple[SignatureFacts, ...], extends: bool, expected: list[str], tmp_path: Path
) -> None:
    archive, facts = DirectoryArchive(tmp_path), inputs(MONTH)
    decision = decide((), MONTH, facts.digest)
    unsigned = rendered(decision).pdf_unsigned
    made = rendered(decision, signed=(unsigned if extends else unsigned[1:]) + b"\nsigned")
    manifest = build_manifest(decision, facts, made, reason=None, built_at=BUILT_AT)
    archive.put_revision(MONTH, 1, made.files(manifest), UNTIL)
    assert manifest.pdf.sha256_archived == sha256(made.pdf_signed or b"")
    tools = Tools(read_pdf=lambda _: read_pdf(unsigned), read_signatures=lambda _: found)
    result = verify.verify_month(archive, MONTH, tools)
    assert failed(result) == expected
    (said,) = [check for check in result.checks if check.name_fr == "Signature"]
    assert said.warning == (found == (UNKNOWN,))


@pytest.mark.parametrize(
    ("days", "mode", "ok"),
    [(0, "COMPLIANCE", True), (-1, "COMPLIANCE", False), (1, "COMPLIANCE", True), (0, "GOVERNANCE", False)],
)
def test_what_the_store_enforces_is_at_least_what_was_promised(days: int, mode: str, ok: bool, tmp_path: Path) -> None:
    put(archive := DirectoryArchive(tmp_path))
    facts = archive.list_revisions()[0].model_copy(update={"mode": "COMPLIANCE"})
    until = facts.retain_until_at + timedelta(days=days)
    assert retention_check(RetentionState(mode, locked=True, retain_until=until, legal_hold=None), facts).ok is ok
    assert not retention_check(RetentionState(mode, locked=True, retain_until=None, legal_hold=None), facts).ok
    assert not retention_check(RetentionState("AUCUN", locked=False, retain_until=until, legal_hold=None), facts).ok


def test_a_signature_that_the_manifest_does_not_know_is_found(tmp_path: Path) -> None:
    put(archive := DirectoryArchive(tmp_path))
    tools = Tools(read_pdf=read_pdf, read_signatures=lambda _: (SOUND,))
    assert failed(verify.verify_month(archive, MONTH, tools)) == ["Signature"]


def test_the_unsigned_file_is_found_inside_the_signed_one() -> None:
    body = b"%PDF\n1\n%%EOF"
    for unsigned in (body, body + b"\n", body + b"\r\n"):
        signed = unsigned + b"\nmore\n%%EOF\n"
        assert has_prefix_digest(signed, sha256(unsigned))
        assert has_prefix_digest(unsigned, sha256(unsigned))
    assert not has_prefix_digest(body + b"\nmore", sha256(body + b"\nmo"))
    assert not has_prefix_digest(b"%%EOF" * 50_000, "0" * 64)
