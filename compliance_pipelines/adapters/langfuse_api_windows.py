"""Reading windows of time to their end: page after page into journals, several windows at once.

A window that is too wide for the server is read as two halves; a cursor that comes back, or numbered pages that moved
under the reader, make the window be read again and then narrower; a page too large for memory is asked for with fewer
rows. What the rows mean is not known here. Serves "loses and doubles nothing".
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Executor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime, timedelta

from compliance_pipelines.adapters.langfuse_api_ahead import Ahead
from compliance_pipelines.adapters.langfuse_api_http import (
    LangfuseError,
    LangfuseHttp,
    PageTooLargeError,
    RefusedError,
    StoppedError,
    TooWideError,
)
from compliance_pipelines.adapters.langfuse_api_journal import Journal, Page, StateFolder
from compliance_pipelines.adapters.langfuse_api_sources import Source
from compliance_pipelines.core.extraction import Window

SETTLING = timedelta(minutes=10)
_AGAIN = 3


@dataclass
class Progress:
    """What a read met: counts only. `unsettled` windows were read before their last rows can have arrived."""

    pages: int = 0
    resumed_pages: int = 0
    windows: int = 0
    narrowed: int = 0
    read_again: int = 0
    unsettled: int = 0


class WindowReader:
    """Reads windows of one read into `folder`. `progress` is told of each page: (source name, rows)."""

    def __init__(
        self, http: LangfuseHttp, folder: StateFolder, *, at_once: int, log: Callable[[str, int], None] | None = None
    ) -> None:
        self.http = http
        self.folder = folder
        self.at_once = at_once
        self.progress = Progress()
        self._log = log
        self._lock = threading.Lock()
        self._journals: dict[str, Journal] = {}

    def read(self, sources: Sequence[Source], windows: Sequence[Window]) -> None:
        """Read every window of every source to its end; raises the first failure after stopping the others."""
        self.http.stop.clear()
        with (
            ThreadPoolExecutor(self.at_once, thread_name_prefix="langfuse-ahead") as ahead,
            ThreadPoolExecutor(self.at_once, thread_name_prefix="langfuse") as pool,
        ):
            try:
                jobs = [pool.submit(self._window, source, window, ahead) for source in sources for window in windows]
                finished, waiting = wait(jobs, return_when=FIRST_EXCEPTION)
            finally:
                # after a failure or an interruption the others end at their next page; after success this is nothing
                self.http.stop.set()
                pool.shutdown(cancel_futures=True)
        self.http.stop.clear()
        failures = [
            error for job in finished | waiting if not job.cancelled() and (error := job.exception()) is not None
        ]
        if failures:
            raise next((error for error in failures if not isinstance(error, StoppedError)), failures[0])

    def journals(self, sources: Sequence[Source], windows: Sequence[Window]) -> Iterator[Journal]:
        """The journals that hold the rows, in order of source and time; after `read`."""
        for source in sources:
            for window in windows:
                yield from self._leaves(source, window)

    def _leaves(self, source: Source, window: Window) -> Iterator[Journal]:
        journal = self._journal(source, window)
        halves = window.halves() if journal.state.split else None
        if halves is None:
            yield journal
        else:
            for half in halves:
                yield from self._leaves(source, half)

    def _journal(self, source: Source, window: Window) -> Journal:
        name = f"{source.name}-{window.start:%Y%m%dT%H%M%S%f}-{window.end:%Y%m%dT%H%M%S%f}"
        # what was just written is known: opening it again would read and sum it once more
        found = self._journals.get(name)
        if found is None:
            found = self._journals[name] = self.folder.journal(name)
        return found

    def _window(self, source: Source, window: Window, ahead: Executor) -> None:
        journal = self._journal(source, window)
        try:
            self._resume(journal, window)
            if not journal.state.split:
                self._pages(source, window, journal, Ahead(self.http, ahead, source, window))
        except OSError as failed:
            raise LangfuseError(_disk(failed)) from failed
        finally:
            journal.close()
        if journal.state.split:
            for half in window.halves() or ():
                self._window(source, half, ahead)
            return
        with self._lock:
            self.progress.windows += 1
            self.progress.unsettled += not _settled(journal.state.server_time, window)

    def _resume(self, journal: Journal, window: Window) -> None:
        state = journal.state
        if state.done and not _settled(state.server_time, window):
            # read by an earlier process, too early for its last rows
            journal.reset()
        with self._lock:
            self.progress.resumed_pages += journal.state.pages

    def _pages(self, source: Source, window: Window, journal: Journal, ahead: Ahead) -> None:
        limit, stuck, again, restarted = source.limit, 0, 0, False
        while not journal.state.done:
            cursor = journal.state.cursor
            if journal.state.pages and cursor is None:
                # the last page is there, perhaps since before a kill
                if not source.numbered or journal.state.whole:
                    journal.finish()
                    return
                again += 1
                with self._lock:
                    self.progress.read_again += 1
                if again >= _AGAIN:
                    reason = f"Langfuse ({self.http.server.host}) : pages mouvantes sur {source.path}"
                    self._narrow(window, journal, TooWideError(reason))
                    return
                journal.reset()
                continue
            try:
                page, rows = ahead.page(cursor, limit)
            except PageTooLargeError:
                if limit == 1:
                    raise
                limit = max(1, limit // 4)
                if source.numbered:
                    # page numbers mean other rows now
                    journal.reset()
                continue
            except TooWideError as too_wide:
                self._narrow(window, journal, too_wide)
                return
            except RefusedError:
                # a cursor of yesterday may mean nothing to the server of today
                if cursor is None or restarted:
                    raise
                restarted = True
                journal.reset()
                continue
            if page.cursor is not None and (page.cursor in journal.state.seen or not page.rows):
                stuck += 1
                if stuck >= _AGAIN:
                    reason = f"Langfuse ({self.http.server.host}) : curseur répété sur {source.path}"
                    self._narrow(window, journal, TooWideError(reason))
                    return
                continue
            journal.page(page, rows)
            self._tell(source, page)

    def _narrow(self, window: Window, journal: Journal, reason: LangfuseError) -> None:
        if window.halves() is None:
            raise LangfuseError(f"{reason} (à la seconde près : lecture impossible)") from reason
        journal.split()
        with self._lock:
            self.progress.narrowed += 1

    def _tell(self, source: Source, page: Page) -> None:
        with self._lock:
            self.progress.pages += 1
        if self._log is not None:
            self._log(source.name, page.rows)


def _settled(server_time: datetime | None, window: Window) -> bool:
    return server_time is None or server_time >= window.end + SETTLING


def _disk(failed: OSError) -> str:
    if failed.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "COMPLIANCE_HOME/state : disque plein, la lecture de Langfuse reprendra où elle s’est arrêtée"
    return f"COMPLIANCE_HOME/state : écriture impossible ({errno.errorcode.get(failed.errno or 0, 'erreur')})"
