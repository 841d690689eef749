"""Verification: valid evidence is valid, and any changed byte, figure, link, name or file is found.

The byte sweep changes one random byte (seeded) of a random artefact, every kind of artefact included;
`soak` runs it over many more. Figures are forged consistently (PDF, attachments and manifest made anew) to
prove that print is read.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.verify_pdf import read_pdf
from compliance_pipelines.core import verify
from compliance_pipelines.core.evidence import (
    Rendered,
    archived_manifests,
    build_manifest,
    canonical_json,
    decide,
    sha256,
)
from compliance_pipelines.core.ports import ArchiveUnavailableError
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines.core.verify_figures import MAX_FIGURES_BYTES, figures_check
from compliance_pipelines.core.verify_revision import PdfFacts, Tools, has_prefix_digest
from compliance_pipelines.verification import tools, verify_all, verify_file, verify_month
from compliance_pipelines_tests.evidence_samples import BUILT_AT, ROWS, Row, figures, inputs, pdf, put

UNTIL = retain_until(BUILT_AT, 7)
MONTH = "2026-06"
CHANGED: tuple[Row, ...] = (("direction-sinistres", "Sinistres", 1241, 0.8137, 0.25, 0.7), *ROWS[1:])


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
    assert lines[-1] == "2026-06, révision 2 : VALIDE"
    assert any(line.startswith("réserve") and "pas un stockage WORM" in line for line in lines)


def test_what_cannot_be_decided_is_neither_valid_nor_invalid(
    tmp_path: Path, evidence: dict[str, bytes]
) -> None:
    archive = restore(tmp_path, evidence)
    for month, revision in (("2026-01", None), ("2026-06", 9), ("juin", None), ("../..", None)):
        result = verify_month(archive, month, revision)
        assert (result.verdict, result.exit_code) == ("NON VÉRIFIÉ", 2)
        assert result.undecided_fr
    assert verify_month(DirectoryArchive(tmp_path / "nothing"), MONTH).exit_code == 2
    assert [item.exit_code for item in verify_all(DirectoryArchive(tmp_path / "nothing"))] == [0]

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
def test_a_file_that_is_gone_shorter_or_longer_is_found(
    tmp_path: Path, evidence: dict[str, bytes], how: str
) -> None:
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
    archive = restore(
        tmp_path, {**evidence, name: forged, "chain.jsonl": b"".join([canonical_json(line), *chain[1:]])}
    )
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


# ---- figures


def forge(
    root: Path,
    *,
    printed: tuple[Row, ...] = ROWS,
    change: Callable[[dict[str, bytes]], None] | None = None,
    embed: Callable[[dict[str, bytes]], None] | None = None,
) -> verify.Verification:
    """Archive a report whose digests are all in order, but whose print or attachments were made from other
    data.
    """
    archive = DirectoryArchive(root)
    facts = inputs(MONTH)
    decision = decide(archived_manifests(archive), MONTH, facts.digest)
    files = figures(MONTH, 1, ROWS, facts.digest)
    if change:
        change(files)
    inside = dict(files)
    if embed:
        embed(inside)
    made = Rendered(pdf_unsigned=pdf(printed, inside), pdf_signed=None, pages=1, attachments=files)
    manifest = build_manifest(decision, facts, made, reason=None, built_at=BUILT_AT)
    archive.put_revision(MONTH, 1, made.files(manifest), UNTIL)
    return verify_month(archive, MONTH)


@pytest.mark.parametrize(
    ("position", "value"), [(2, 1239), (2, 124), (3, 0.8234), (3, 0.9134), (4, 0.26), (5, 0.6), (5, 0.75)]
)
def test_a_printed_figure_that_differs_from_the_attached_one_is_found(
    tmp_path: Path, position: int, value: float
) -> None:
    first = list(ROWS[0])
    first[position] = value
    result = forge(tmp_path, printed=(tuple(first), *ROWS[1:]))  # type: ignore[arg-type]
    assert failed(result) == ["Chiffres imprimés"]
    assert "direction-sinistres" in result.lines_fr()[-3]


def test_a_row_that_is_not_printed_is_found_and_more_print_is_no_fault(tmp_path: Path) -> None:
    assert failed(forge(tmp_path / "1", printed=ROWS[:2])) == ["Chiffres imprimés"]
    extra: Row = ("direction-rh", "Ressources humaines", 12, 0.5, 0.4, 0.6)
    assert failed(forge(tmp_path / "2", printed=(*ROWS, extra))) == []
    assert failed(forge(tmp_path / "3", printed=tuple(reversed(ROWS)))) == []


def test_two_equal_rows_need_two_printed_lines(tmp_path: Path) -> None:
    twin: Row = ("direction-audit", "Audit", *ROWS[0][2:])

    def both(files: dict[str, bytes]) -> None:
        files.update(figures(MONTH, 1, (*ROWS, twin), inputs(MONTH).digest))

    assert failed(forge(tmp_path / "1", change=both)) == ["Chiffres imprimés"]
    assert failed(forge(tmp_path / "2", printed=(*ROWS, twin), change=both)) == []


def test_embedded_files_are_those_beside(tmp_path: Path) -> None:
    def other(files: dict[str, bytes]) -> None:
        files["figures.csv"] += b"\r\n"

    def more(files: dict[str, bytes]) -> None:
        files["hidden.json"] = b"{}"

    def fewer(files: dict[str, bytes]) -> None:
        del files["figures.json"]

    for number, change in enumerate((other, more, fewer)):
        assert failed(forge(tmp_path / str(number), embed=change)) == ["Pièces incorporées au PDF"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"1240", b"1241", "figures.csv, ligne 2"),
        (b"\r\n", b"\n\n\r\n", "figures.csv"),
        (b"section,", b"Section,", "en-tête"),
        (b"direction-it", b"\xff\xfe", "UTF-8"),
        (b"direction-it", b'"direction-it', "CSV"),
    ],
)
def test_csv_and_json_must_say_the_same(tmp_path: Path, old: bytes, new: bytes, words: str) -> None:
    def change(files: dict[str, bytes]) -> None:
        files["figures.csv"] = files["figures.csv"].replace(old, new, 1)

    result = forge(tmp_path, change=change)
    assert failed(result) == ["Chiffres imprimés"]
    assert words in next(check.detail_fr for check in result.checks if not check.ok)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"figures": {}}',
        b'{"figures": [1]}',
        b'{"figures": [{"section": 2}]}',
        b'{"figures": NaN}',
        b"\xff",
        b"[" * 100_000,
        b" " * (MAX_FIGURES_BYTES + 1),
        b'{"figures": [{"section":2,"department":"d","metric":"m","name":"mean","value":NaN,"state":"x"}]}',
        b'{"figures": [{"section":2,"department":1,"metric":"m","name":"mean","value":1,"state":"x"}]}',
        b'{"figures": [{"section":2,"department":"d","metric":"m","name":"mean","value":[1],"state":"x"}]}',
    ],
)
def test_unreadable_figures_are_a_failed_check_without_traceback(tmp_path: Path, content: bytes) -> None:
    def change(files: dict[str, bytes]) -> None:
        files["figures.json"] = content

    result = forge(tmp_path, change=change)
    assert failed(result) == ["Chiffres imprimés"]


def test_figures_of_another_month_or_policy_are_found(tmp_path: Path) -> None:
    def change(files: dict[str, bytes]) -> None:
        files["figures.json"] = files["figures.json"].replace(b'"2026-06"', b'"2026-05"', 1)

    result = forge(tmp_path, change=change)
    assert failed(result) == ["Chiffres imprimés"]
    assert "month n’est pas celui du manifeste" in "".join(result.lines_fr())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Sinistres 1\u202f240 0,81 0,25 0,70", True),
        ("Sinistres\n1\u202f240\n81,3\u202f%\n25,0\u202f%\n70\u202f%", True),
        ("1 240 0,813 0,25 0,7 ; 0,70", True),
        ("1240 0,8134 0,2500 0,7000", True),
        ("1\u202f240 0,82 0,25 0,70", False),
        ("1\u202f240 0,81 0,24 0,70", False),
        ("1\u202f241 0,81 0,25 0,70", False),
        ("0,81 0,25 0,70 1\u202f240", False),  # another row's figures before its own base
        ("1\u202f240 " + "9 " * 60 + "0,81 0,25 0,70", False),
        ("", False),
    ],
)
def test_how_a_row_may_stand_in_print(text: str, found: bool) -> None:
    row = ROWS[:1]
    facts = inputs(MONTH, row)
    files = figures(MONTH, 1, row, facts.digest)
    made = Rendered(b"x", None, 1, files)
    manifest = build_manifest(decide((), MONTH, facts.digest), facts, made, reason=None, built_at=BUILT_AT)
    check = figures_check(files["figures.json"], files["figures.csv"], (text,), manifest)
    assert check.ok is found, check.detail_fr


def test_hostile_text_is_read_in_linear_time() -> None:
    facts = inputs(MONTH, ROWS)
    files = figures(MONTH, 1, ROWS, facts.digest)
    made = Rendered(b"x", None, 1, files)
    manifest = build_manifest(decide((), MONTH, facts.digest), facts, made, reason=None, built_at=BUILT_AT)
    for text in ("1 " * 200_000, "1\u202f240 " * 50_000, "9" * 400_000, "1 240" * 80_000, "0,8" * 100_000):
        assert not figures_check(files["figures.json"], None, (text,), manifest).ok


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
    assert (facts.pages, len(facts.texts)) == (1, 1)
    assert facts.embedded == {"figures.json": b"{}", "figures.csv": b"a"}
    assert "1\u202f240" in facts.texts[0]


def test_tools_can_be_swapped(tmp_path: Path) -> None:
    archive = DirectoryArchive(tmp_path)
    put(archive)
    empty = Tools(read_pdf=lambda _: PdfFacts(1, ("",), {}), read_signatures=lambda _: ())
    result = verify.verify_month(archive, MONTH, empty)
    assert failed(result) == ["Pièces incorporées au PDF", "Chiffres imprimés"]
    assert tools().read_pdf is read_pdf


def test_the_unsigned_file_is_found_inside_the_signed_one() -> None:
    body = b"%PDF\n1\n%%EOF"
    for unsigned in (body, body + b"\n", body + b"\r\n"):
        signed = unsigned + b"\nmore\n%%EOF\n"
        assert has_prefix_digest(signed, sha256(unsigned))
        assert has_prefix_digest(unsigned, sha256(unsigned))
    assert not has_prefix_digest(body + b"\nmore", sha256(body + b"\nmo"))
    assert not has_prefix_digest(b"%%EOF" * 50_000, "0" * 64)
