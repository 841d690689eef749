"""The directory archive: nothing overwritten, nothing half visible, two builds at once, a full disk, a
kill.

Kills are real (SIGKILL between two system calls of the write, each of them in turn); the long random sweep
is `soak`.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from compliance_pipelines.adapters import archive_dir, archive_files
from compliance_pipelines.adapters.archive_dir import MODE, DirectoryArchive
from compliance_pipelines.core.evidence import EvidenceError, sha256
from compliance_pipelines.core.evidence_chain import ArchiveConflictError
from compliance_pipelines.core.ports import Archive, ArchiveUnavailableError
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines_tests.evidence_samples import BUILT_AT, ROWS, prepare, put, verify_all, verify_month

UNTIL = retain_until(BUILT_AT, 7)
CHANGED = (("direction-sinistres", "Sinistres", 1241, 0.8137, 0.25, 0.7, "Conforme"), *ROWS[1:])


@pytest.fixture
def archive(tmp_path: Path) -> DirectoryArchive:
    return DirectoryArchive(tmp_path / "archive", clock=lambda: BUILT_AT)


def tree(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): sha256(path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def test_it_is_an_archive_and_starts_empty(archive: DirectoryArchive) -> None:
    assert isinstance(archive, Archive)
    assert archive.list_revisions() == ()
    assert archive.recover() == ()
    assert not archive.root.exists()
    with pytest.raises(EvidenceError, match="aucun rapport archivé"):
        archive.read("2026-06")


def test_the_receipt_says_what_was_stored_and_that_nothing_locks_it(archive: DirectoryArchive) -> None:
    receipt = put(archive)
    pdf = (archive.root / "bias-report-2026-06.pdf").read_bytes()
    assert receipt.sha256 == sha256(pdf)
    assert (receipt.key, receipt.version_id, receipt.mode) == ("bias-report-2026-06.pdf", "r1", MODE)
    assert receipt.retain_until == datetime(2033, 7, 2, tzinfo=UTC)
    assert receipt.verified_at == BUILT_AT
    assert not archive.retention("2026-06").locked
    assert archive.receipt("2026-06") == receipt


def test_a_revision_leaves_every_earlier_byte_where_it_was(archive: DirectoryArchive) -> None:
    put(archive)
    before = tree(archive.root)
    put(archive, rows=CHANGED)
    after = tree(archive.root)
    kept = {name: digest for name, digest in before.items() if name.startswith("revisions/")}
    assert kept.items() <= after.items()
    assert archive.read("2026-06", 1)["bias-report-2026-06.pdf"] != archive.read("2026-06")["bias-report-2026-06.pdf"]
    assert after["bias-report-2026-06.pdf"] == after["revisions/2026-06/r2/bias-report-2026-06.pdf"]
    assert verify_month(archive, "2026-06").exit_code == 0
    assert verify_month(archive, "2026-06", revision=1).exit_code == 0


def test_the_same_files_again_are_the_same_receipt_and_change_nothing(archive: DirectoryArchive) -> None:
    manifest, files = prepare(archive)
    first = archive.put_revision("2026-06", 1, files, UNTIL)
    before = tree(archive.root)
    assert archive.put_revision("2026-06", manifest.revision, files, UNTIL) == first
    assert tree(archive.root) == before


@pytest.mark.parametrize("change", ["altered", "gone"])
def test_a_receipt_is_given_only_for_bytes_that_read_back_equal(archive: DirectoryArchive, change: str) -> None:
    manifest, files = prepare(archive)
    archive.put_revision("2026-06", 1, files, UNTIL)
    path = archive.root / "revisions" / "2026-06" / "r1" / "figures.csv"
    path.chmod(0o644)
    path.write_bytes(b"x") if change == "altered" else path.unlink()
    with pytest.raises(EvidenceError, match="relecture différente"):
        archive.receipt("2026-06")
    with pytest.raises(EvidenceError, match="relecture différente"):
        archive.put_revision("2026-06", manifest.revision, files, UNTIL)


def test_files_that_the_manifest_does_not_announce_are_refused(archive: DirectoryArchive) -> None:
    _, files = prepare(archive)
    for wrong in (
        {**files, "extra.csv": b"x"},
        {name: content for name, content in files.items() if name != "figures.csv"},
        {**files, "figures.csv": b"x"},
        {name: content for name, content in files.items() if name != "manifest.json"},
    ):
        with pytest.raises(EvidenceError):
            archive.put_revision("2026-06", 1, wrong, UNTIL)
    for month, revision in (("2026-05", 1), ("2026-06", 2), ("2026-6", 1), ("../x", 1)):
        with pytest.raises(EvidenceError):
            archive.put_revision(month, revision, files, UNTIL)
    assert archive.list_revisions() == ()


def test_a_build_made_for_another_end_of_the_chain_is_refused(archive: DirectoryArchive) -> None:
    _, late = prepare(archive, "2026-05")
    put(archive, "2026-06")
    with pytest.raises(ArchiveConflictError, match="relancez"):
        archive.put_revision("2026-05", 1, late, UNTIL)
    put(archive, "2026-05")
    assert [entry.month for entry in archive.list_revisions()] == ["2026-06", "2026-05"]
    assert all(result.exit_code == 0 for result in verify_all(archive))


def build_in_process(root: Path, month: str, queue: multiprocessing.Queue) -> None:
    archive = DirectoryArchive(root)
    for _ in range(20):
        try:
            put(archive, month)
        except ArchiveConflictError:
            continue
        queue.put(month)
        return
    queue.put("never")


def test_builds_at_once_of_several_months_make_one_chain(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    months = [f"2026-{number:02d}" for number in range(1, 5)]
    workers = [context.Process(target=build_in_process, args=(tmp_path, month, queue)) for month in months]
    for worker in workers:
        worker.start()
    assert sorted(queue.get(timeout=60) for _ in workers) == months
    for worker in workers:
        worker.join(30)
    archive = DirectoryArchive(tmp_path)
    assert sorted(entry.month for entry in archive.list_revisions()) == months
    assert all(result.exit_code == 0 for result in verify_all(archive))


def test_a_held_lock_is_one_clear_line(archive: DirectoryArchive) -> None:
    _, files = prepare(archive)
    impatient = DirectoryArchive(archive.root, lock_seconds=0.05)
    with (
        archive_files.exclusive(archive.root, 1),
        pytest.raises(ArchiveUnavailableError, match="une autre construction"),
    ):
        impatient.put_revision("2026-06", 1, files, UNTIL)


def steps_of_a_write(archive: DirectoryArchive, monkeypatch: pytest.MonkeyPatch, at: int, action) -> int:
    """Run `action` before the `at`-th durable step (file written, folder synced, rename); returns steps
    seen.
    """
    seen = 0

    def counted(function):
        def wrapper(*args, **kwargs):
            nonlocal seen
            seen += 1
            if seen == at:
                action()
            return function(*args, **kwargs)

        return wrapper

    monkeypatch.setattr(archive_dir, "write_new", counted(archive_files.write_new))
    monkeypatch.setattr(archive_dir, "sync_folder", counted(archive_files.sync_folder))
    monkeypatch.setattr(Path, "rename", counted(Path.rename))
    monkeypatch.setattr(Path, "replace", counted(Path.replace))
    monkeypatch.setattr(archive_dir.shutil, "rmtree", counted(archive_dir.shutil.rmtree))
    put(archive, rows=CHANGED)
    return seen


def test_what_becomes_visible_is_on_the_disk_before(archive: DirectoryArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut after the commit: files, their folder and its move were flushed before it, the commit after it."""
    done: list[tuple[str, str]] = []
    fsync, rename, replace = os.fsync, Path.rename, Path.replace

    def flushed(descriptor: int) -> None:
        done.append(("flushed", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        fsync(descriptor)

    def moved(move: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
        def noted(path: Path, target: Path) -> Path:
            done.append(("moved", Path(target).name))
            return move(path, target)

        return noted

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "rename", moved(rename))
    monkeypatch.setattr(Path, "replace", moved(replace))
    put(archive)
    placed, commit = done.index(("moved", "r1")), done.index(("moved", "chain.jsonl"))
    files = {*archive.read("2026-06"), "current.pdf", "chain.jsonl"}
    assert {name for _, name in done[:placed]} >= {*files, "revision", "2026-06-r1", ".pending", "revisions"}
    assert ("flushed", "2026-06") in done[placed:commit]
    assert ("flushed", archive.root.name) in done[:placed]
    assert ("flushed", archive.root.name) in done[commit : done.index(("moved", "bias-report-2026-06.pdf"))]


def count_steps(tmp_path: Path) -> int:
    archive = DirectoryArchive(tmp_path / "count")
    put(archive)
    with pytest.MonkeyPatch.context() as patch:
        return steps_of_a_write(archive, patch, -1, lambda: None)


def test_a_kill_before_any_step_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    steps = count_steps(tmp_path)
    assert steps > 10
    states = set()
    for step in range(1, steps + 1):
        archive = DirectoryArchive(tmp_path / str(step))
        put(archive)
        child = os.fork()
        if child == 0:
            with pytest.MonkeyPatch.context() as patch:
                steps_of_a_write(archive, patch, step, lambda: os.kill(os.getpid(), signal.SIGKILL))
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        revisions = len(archive.list_revisions())
        states.add(revisions)
        found = verify_month(archive, "2026-06")
        assert (found.subject, found.verdict) == (f"2026-06, révision {revisions}", "VALIDE"), found.lines_fr()
        # A write cut short after its commit is one more reservation, not a fault.
        assert found.reserves[-2:] == ("non signé", "répertoire sans WORM")
        if revisions == 1:
            put(archive, rows=CHANGED)
        archive.recover()
        assert len(archive.list_revisions()) == 2
        result = verify_month(archive, "2026-06")
        assert result.exit_code == 0
        assert not any("interrompu" in check.detail_fr for check in result.checks)
        assert list((archive.root / ".pending").glob("*")) == []
    assert states == {1, 2}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_failing_disk_is_one_clear_line_and_leaves_nothing_half_written(tmp_path: Path, number: int) -> None:
    def fail() -> None:
        raise OSError(number, "no")

    steps = count_steps(tmp_path)
    for step in range(1, steps + 1):
        archive = DirectoryArchive(tmp_path / str(step))
        put(archive)
        with pytest.MonkeyPatch.context() as patch, pytest.raises(ArchiveUnavailableError) as caught:
            steps_of_a_write(archive, patch, step, fail)
        assert "\n" not in str(caught.value)
        assert str(tmp_path) not in str(caught.value)
        if number == errno.ENOSPC:
            assert "disque plein" in str(caught.value)
        assert verify_month(archive, "2026-06").exit_code == 0
        if len(archive.list_revisions()) == 1:
            assert not (archive.root / "revisions" / "2026-06" / "r2").exists()


def test_a_really_full_disk(archive: DirectoryArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    """/dev/full answers every write with ENOSPC: no mock of the error itself."""
    original = Path.open

    def full(path: Path, mode: str = "r", **kwargs):
        return original(Path("/dev/full"), "wb", **kwargs) if mode == "xb" else original(path, mode, **kwargs)

    _, files = prepare(archive)
    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(ArchiveUnavailableError, match="disque plein"):
        archive.put_revision("2026-06", 1, files, UNTIL)
    monkeypatch.undo()
    assert archive.list_revisions() == ()
    assert put(archive).revision == 1


def test_an_unlisted_revision_is_neither_overwritten_nor_removed(archive: DirectoryArchive) -> None:
    put(archive)
    _, files = prepare(archive, rows=CHANGED)
    archive.put_revision("2026-06", 2, files, UNTIL)
    chain = archive.root / "chain.jsonl"
    chain.write_bytes(chain.read_bytes().splitlines(keepends=True)[0])  # someone cuts the newest entry off
    assert verify_month(archive, "2026-06").exit_code == 1
    with pytest.raises(EvidenceError, match="sans figurer dans l’index"):
        archive.put_revision("2026-06", 2, files, UNTIL)
    assert (archive.root / "revisions" / "2026-06" / "r2" / "manifest.json").exists()


def test_a_directory_that_cannot_be_used_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    archive = DirectoryArchive(tmp_path / "file" / "archive")
    _, files = prepare(DirectoryArchive(tmp_path / "other"))
    with pytest.raises(ArchiveUnavailableError, match="répertoire inutilisable"):
        archive.put_revision("2026-06", 1, files, UNTIL)
