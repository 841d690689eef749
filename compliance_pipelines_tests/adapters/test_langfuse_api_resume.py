"""A killed read goes on where it stood: same rows, none lost, none doubled, no page asked for again without need."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from compliance_pipelines.adapters.langfuse_api_http import LangfuseError
from compliance_pipelines.adapters.langfuse_api_journal import Journal, Page, StateFolder, purge
from compliance_pipelines.core.extraction import ReadReport
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.langfuse_fill import DAY, at, exchange, fill, reader_of

ROOT = Path(__file__).resolve().parents[2]
EXCHANGES = 6000
CHILD = """
import sys
from datetime import date
from pathlib import Path
from compliance_pipelines.adapters.langfuse_api import ApiReader
from compliance_pipelines.adapters.langfuse_api_http import Server
from compliance_pipelines.core.extraction import ReadReport

url, public, secret, state, at_once = sys.argv[1:]
reader = ApiReader(
    Server(url, public, secret), Path(state), lambda *_: ("d", "stamp"), b"key",
    windows_at_once=int(at_once), log=lambda *_: print("page", flush=True),
)
report = ReadReport()
for chunk in reader.trace_chunks(date(2026, 6, 2), date(2026, 6, 2), report):
    for trace in chunk:
        print("trace", trace.trace_id, trace.row_digest)
print("counts", report.totals(date(2026, 6, 2), date(2026, 6, 2)), reader.progress.resumed_pages, flush=True)
"""


@pytest.fixture
def server() -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn(clock=lambda: datetime(2026, 6, 10, tzinfo=UTC)) as running:
        fill(running, EXCHANGES)
        yield running


def start(server: LangfuseStandIn, state: Path, at_once: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, server.url, server.public_key, server.secret_key, str(state), str(at_once)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT)


def kill_after(child: subprocess.Popen[str], pages: int) -> bool:
    """Kill -9 after the child's nth page; False when it ended before."""
    assert child.stdout is not None
    with child:
        seen = 0
        for line in child.stdout:
            seen += line.startswith("page")
            if seen >= pages:
                child.send_signal(signal.SIGKILL)
                return True
    return False


def finish(child: subprocess.Popen[str]) -> tuple[list[str], str]:
    output, _ = child.communicate(timeout=120)
    assert child.returncode == 0
    lines = output.splitlines()
    return sorted(line for line in lines if line.startswith("trace")), lines[-1]


@pytest.mark.parametrize("at_once", [1, 4])
def test_ten_kills_and_a_resume_give_the_same_rows(server: LangfuseStandIn, tmp_path: Path, at_once: int) -> None:
    wanted, counts = finish(start(server, tmp_path / "whole", at_once))
    assert len(wanted) == EXCHANGES
    asked = sum("v2/observations" in request.path for request in server.requests)
    server.requests.clear()
    server.faults.latency = 0.02
    kills = sum(kill_after(start(server, tmp_path / "killed", at_once), 1 + life % 2) for life in range(10))
    server.faults.latency = 0
    # four windows read the whole day in fewer than ten lives
    assert kills >= (6 if at_once == 1 else 3)
    found, last = finish(start(server, tmp_path / "killed", at_once))
    assert found == wanted
    assert last.rpartition(" ")[0] == counts.rpartition(" ")[0]
    again = sum("v2/observations" in request.path for request in server.requests)
    # each life asks which API there is, may lose the pages it was waiting for, and may be cut within a retry
    assert again <= asked + 11 + 11 * at_once + 11
    assert not list((tmp_path / "killed").glob("read-*"))


def test_a_read_that_fails_keeps_its_pages(server: LangfuseStandIn, tmp_path: Path) -> None:
    server.faults.fail("v2/observations", 500, times=99, after=6)
    with reader_of(server, tmp_path, at_once=1) as reader, pytest.raises(LangfuseError):
        list(reader.trace_chunks(DAY, DAY, ReadReport()))
    assert reader.progress.pages == 5
    server.faults._plan.clear()
    with reader_of(server, tmp_path, at_once=1) as second:
        assert sum(map(len, second.trace_chunks(DAY, DAY, ReadReport()))) == EXCHANGES
    assert second.progress.resumed_pages == 5


def test_a_use_that_stops_half_way_starts_over_from_the_disk(server: LangfuseStandIn, tmp_path: Path) -> None:
    with reader_of(server, tmp_path) as reader:
        chunks = reader.trace_chunks(DAY, DAY, ReadReport())
        next(chunks)
        chunks.close()  # type: ignore[attr-defined]
        pages = reader.progress.pages
        server.requests.clear()
        assert sum(map(len, reader.trace_chunks(DAY, DAY, ReadReport()))) == EXCHANGES
        assert reader.progress.pages == 0
        assert reader.progress.resumed_pages == pages
    assert not any("observations" in request.path for request in server.requests)


def test_windows_read_too_early_are_read_again(tmp_path: Path) -> None:
    moment = [at(DAY, 0.5)]
    with LangfuseStandIn(clock=lambda: moment[0]) as running:
        fill(running, 100)
        reader = reader_of(running, tmp_path)
        chunks = reader.trace_chunks(DAY, DAY, ReadReport())
        next(chunks)
        chunks.close()  # type: ignore[attr-defined]
        moment[0] = at(DAY + timedelta(days=1), 0.5)
        running.add(*exchange(1001, at(DAY, 0.9)))
        with reader:
            found = [t for chunk in reader.trace_chunks(DAY, DAY, ReadReport()) for t in chunk]
        assert len(found) == 101
        assert reader.progress.resumed_pages > 0


def test_late_rows_are_counted_from_the_first_start_of_a_read(tmp_path: Path) -> None:
    with LangfuseStandIn(clock=lambda: datetime(2026, 6, 10, tzinfo=UTC)) as running:
        fill(running, 100)
        with reader_of(running, tmp_path) as reader:
            chunks = reader.trace_chunks(DAY, DAY, ReadReport())
            next(chunks)
            chunks.close()  # type: ignore[attr-defined]
            running.add(*exchange(1001, at(DAY, 0.9)))
            assert sum(map(len, reader.trace_chunks(DAY, DAY, ReadReport()))) == 100
            assert reader.late_days(DAY, DAY) == [DAY]


def test_two_reads_of_the_same_day_do_not_disturb_each_other(server: LangfuseStandIn, tmp_path: Path) -> None:
    child = start(server, tmp_path, 4)
    with reader_of(server, tmp_path) as reader:
        assert sum(map(len, reader.trace_chunks(DAY, DAY, ReadReport()))) == EXCHANGES
    assert len(finish(child)[0]) == EXCHANGES
    assert not list(tmp_path.glob("read-*"))


def journal_with_pages(path: Path, pages: int) -> Journal:
    journal = Journal(path)
    for number in range(pages):
        rows = f"rows of page {number}".encode()
        journal.page(Page(f"c{number}", 10, ends=len(rows).to_bytes(4, "little")), rows)
    journal.close()
    return journal


def test_a_torn_tail_is_cut_off_wherever_it_is_torn(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    journal_with_pages(whole, 3)
    content = whole.read_bytes()
    lengths = set()
    for size in range(len(content) + 1):
        torn = tmp_path / "torn"
        torn.write_bytes(content[:size])
        journal = Journal(torn)
        pages = journal.state.pages
        lengths.add(pages)
        assert [bytes(s) for s in journal.segments(0, 1)] == [f"rows of page {k}".encode() for k in range(pages)]
        assert journal.state.cursor == (f"c{pages - 1}" if pages else None)
        rest = b"after"
        journal.page(Page(None, 1, ends=len(rest).to_bytes(4, "little")), rest)
        journal.finish()
        journal.close()
        again = Journal(torn)
        assert (again.state.done, again.state.pages) == (True, pages + 1)
    assert lengths == {0, 1, 2, 3}


def test_a_flipped_byte_never_gives_wrong_rows(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    journal_with_pages(whole, 2)
    content = bytearray(whole.read_bytes())
    good = [b"rows of page 0", b"rows of page 1"]
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 0x41
        path = tmp_path / "damaged"
        path.write_bytes(damaged)
        journal = Journal(path)
        found = [bytes(segment) for segment in journal.segments(0, 1)]
        assert found == good[: len(found)]
        assert len(found) < 2


def test_a_kill_between_the_last_page_and_its_mark_doubles_nothing(server: LangfuseStandIn, tmp_path: Path) -> None:
    with reader_of(server, tmp_path) as reader:
        chunks = reader.trace_chunks(DAY, DAY, ReadReport())
        next(chunks)
        chunks.close()  # type: ignore[attr-defined]
        for path in tmp_path.glob("read-*/*.journal"):
            # the mark of a finished window is the last record, a bare head
            os.truncate(path, path.stat().st_size - 17)
        report = ReadReport()
        assert sum(map(len, reader.trace_chunks(DAY, DAY, report))) == EXCHANGES
        assert report.totals(DAY, DAY) == dict.fromkeys(("observations", "read_rows", "rows", "server_rows"), 9000)


def test_reset_and_split_forget_what_was_read(tmp_path: Path) -> None:
    journal = journal_with_pages(tmp_path / "j", 2)
    journal.reset()
    assert (journal.state.pages, list(journal.segments(0, 9)), journal.size) == (0, [], 0)
    journal.close()
    assert Journal(tmp_path / "j").state.pages == 0
    journal.split()
    journal.close()
    assert Journal(tmp_path / "j").state.split


def test_only_the_newest_abandoned_reads_are_kept(tmp_path: Path) -> None:
    for number in range(30):
        folder = tmp_path / f"read-{number:04d}"
        folder.mkdir()
        os.utime(folder, (number, number))
    held = StateFolder(tmp_path, "mine")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [*(f"read-{number:04d}" for number in range(14, 30)), "read-mine"]
    held.remove()
    assert not (tmp_path / "read-mine").exists()


def test_abandoned_reads_are_purged_by_age_and_held_ones_are_not(tmp_path: Path) -> None:
    held = StateFolder(tmp_path, "held")
    (tmp_path / "read-old").mkdir()
    (tmp_path / "read-new").mkdir()
    before = datetime(2026, 6, 1, tzinfo=UTC)
    for name, age in (("read-held", -1), ("read-old", -1), ("read-new", 1)):
        os.utime(tmp_path / name, (before.timestamp() + age, before.timestamp() + age))
    assert purge(tmp_path, before) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["read-held", "read-new"]
    held.release()


def test_a_full_disk_is_said_in_one_line(
    server: LangfuseStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Journal, "page", full)
    with reader_of(server, tmp_path) as reader, pytest.raises(LangfuseError, match="disque plein") as raised:
        list(reader.trace_chunks(DAY, DAY, ReadReport()))
    assert "\n" not in str(raised.value)
