"""Someone who may write to the directory archive: links, pipes, folders and forged notes in place of its files.

Whatever lies there, a verification ends by itself with a verdict, reads nothing outside the archive, and the next
build neither removes evidence nor hands out other bytes. Serves "verify says whether any byte or link is off".
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from compliance_pipelines.adapters.archive_dir import MODE, DirectoryArchive
from compliance_pipelines.core.evidence import EvidenceError, canonical_json, sha256
from compliance_pipelines.core.evidence_chain import ChainEntry
from compliance_pipelines.core.ports import ArchiveUnavailableError
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines_tests.evidence_samples import BUILT_AT, ROWS, prepare, put, verify_all, verify_month

UNTIL = retain_until(BUILT_AT, 7)
CHANGED = (("direction-sinistres", "Sinistres", 1241, 0.8137, 0.25, 0.7, "Conforme"), *ROWS[1:])
PLACES = (
    "chain.jsonl",
    "bias-report-2026-06.pdf",
    "revisions/2026-06/r1/manifest.json",
    "revisions/2026-06/r1/figures.json",
    "revisions/2026-06/r1/bias-report-2026-06.pdf",
)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[DirectoryArchive]:
    archive = DirectoryArchive(tmp_path / "archive", clock=lambda: BUILT_AT)
    put(archive, "2026-05")
    put(archive, "2026-06")

    def waits(*_: object) -> None:
        raise AssertionError("waits for what lies in the archive")

    before = signal.signal(signal.SIGALRM, waits)
    signal.alarm(60)
    yield archive
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def exit_code(archive: DirectoryArchive) -> int:
    return max(one.exit_code for one in verify_all(archive))


def findings(archive: DirectoryArchive) -> str:
    return " ; ".join(check.detail_fr for one in verify_all(archive) for check in one.checks if not check.ok)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["pipe", "folder", "endless", "loop", "copy"])
def test_what_is_not_the_file_itself_is_a_finding(
    archive: DirectoryArchive, tmp_path: Path, place: str, kind: str
) -> None:
    path = archive.root / place
    moved = tmp_path / "elsewhere"
    path.rename(moved)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"endless": Path("/dev/zero"), "loop": path, "copy": moved}[kind])
    assert exit_code(archive) == 1
    assert verify_month(archive, "2026-06").exit_code == 1


@pytest.mark.parametrize("place", ["revisions", "revisions/2026-06", "revisions/2026-06/r1", ".pending"])
def test_a_folder_that_lies_outside_the_archive_is_a_finding(
    archive: DirectoryArchive, tmp_path: Path, place: str
) -> None:
    path = archive.root / place
    path.rename(tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    assert exit_code(archive) == 1
    assert f"{place} : lien" in findings(archive)


def forged_line(archive: DirectoryArchive, key: str) -> bytes:
    """An index line, rightly sealed and chained, whose PDF is said to lie at `key`."""
    last = archive.list_revisions()[-1]
    names = {"bias-report-2026-07.pdf": ("0" * 64, key), "manifest.json": ("1" * 64, "x")}
    fields = {
        **json.loads(last.to_bytes()),
        "chain_index": last.chain_index + 1,
        "month": "2026-07",
        "manifest_sha256": "1" * 64,
        "previous_sha256": last.manifest_sha256,
        "files": [{"name": n, "key": k, "version_id": None, "sha256": d, "size": 1} for n, (d, k) in names.items()],
        "mode": MODE,
    }
    del fields["entry_sha256"]
    return ChainEntry.model_validate({**fields, "entry_sha256": sha256(canonical_json(fields))}).to_bytes()


@pytest.mark.parametrize("key", ["{outside}", "/dev/zero", "revisions/../../pipe"])
def test_a_forged_pending_index_makes_nothing_else_be_read(archive: DirectoryArchive, tmp_path: Path, key: str) -> None:
    outside = tmp_path / "pipe"
    os.mkfifo(outside)
    pending = archive.root / ".pending" / "2026-07-r1"
    pending.mkdir(parents=True)
    line = forged_line(archive, key.format(outside=outside))
    (pending / "chain.jsonl").write_bytes((archive.root / "chain.jsonl").read_bytes() + line)
    found = verify_all(archive)[0]
    assert "archivage interrompu" in found.reserves


@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_a_pending_index_that_is_no_file_is_not_waited_for(archive: DirectoryArchive, kind: str) -> None:
    pending = archive.root / ".pending" / "2026-07-r1"
    pending.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(pending / "chain.jsonl")
    else:
        (pending / "chain.jsonl").symlink_to("/dev/zero")
    assert "archivage interrompu" in verify_all(archive)[0].reserves
    assert len(archive.recover()) == 1


def test_a_pending_link_is_not_followed_by_the_next_build(archive: DirectoryArchive, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_bytes(b"kept")
    (archive.root / ".pending" / "2026-06-r1").symlink_to(tmp_path / "kept")
    with pytest.raises(EvidenceError, match="à retirer à la main"):
        archive.recover()
    assert (tmp_path / "kept" / "file").read_bytes() == b"kept"


def test_a_forged_interruption_does_not_remove_a_revision_cut_off_the_index(archive: DirectoryArchive) -> None:
    chain = archive.root / "chain.jsonl"
    content = chain.read_bytes()
    chain.unlink()
    chain.write_bytes(content.splitlines(keepends=True)[0])
    (archive.root / ".pending" / "2026-06-r1").mkdir(parents=True)
    with pytest.raises(EvidenceError, match="rien n’a été effacé"):
        archive.recover()
    assert (archive.root / "revisions/2026-06/r1/manifest.json").exists()


@pytest.mark.parametrize("content", ["forged", "replaced"])
def test_a_forged_interruption_does_not_change_the_copy_of_the_month(archive: DirectoryArchive, content: str) -> None:
    first = (archive.root / "bias-report-2026-06.pdf").read_bytes()
    put(archive, "2026-06", CHANGED)
    newest = (archive.root / "bias-report-2026-06.pdf").read_bytes()
    pending = archive.root / ".pending" / "2026-06-r1"
    pending.mkdir(parents=True)
    (pending / "current.pdf").write_bytes(first if content == "replaced" else b"%PDF-1.7 forged")
    archive.recover()
    assert (archive.root / "bias-report-2026-06.pdf").read_bytes() == newest != first
    assert exit_code(archive) == 0


def test_a_lost_index_is_no_empty_archive(archive: DirectoryArchive) -> None:
    (archive.root / "chain.jsonl").unlink()
    _, files = prepare(DirectoryArchive(archive.root.parent / "other"), "2026-07")
    with pytest.raises(EvidenceError, match="index absent"):
        archive.put_revision("2026-07", 1, files, UNTIL)
    assert not (archive.root / "chain.jsonl").exists()


def test_a_lock_that_is_no_file_is_one_line(archive: DirectoryArchive) -> None:
    (archive.root / ".lock").unlink()
    os.mkfifo(archive.root / ".lock")
    _, files = prepare(archive, "2026-07")
    with pytest.raises(ArchiveUnavailableError):
        archive.put_revision("2026-07", 1, files, UNTIL)
    assert ".lock" in findings(archive)


def test_the_archive_itself_may_be_reached_through_a_link(archive: DirectoryArchive, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(archive.root)
    assert exit_code(DirectoryArchive(tmp_path / "link")) == 0
    shutil.rmtree(archive.root / ".pending", ignore_errors=True)
    assert exit_code(archive) == 0
