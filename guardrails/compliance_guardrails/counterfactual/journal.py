"""The answers of a run that is under way, so that a killed run goes on where it stopped.

One JSON line an answer, appended as it comes; a last line cut off by a kill is ignored. The file is named after
everything the answers depend on and removed once the result is written; answers older than `MAX_AGE` are asked again,
so that last week's never count today.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import os
import threading
from pathlib import Path
from typing import IO, Final

from .ports import Ask, GateUnavailableError, Reply

MAX_AGE: Final = dt.timedelta(hours=12)
"""Older answers of a killed run are asked again: the model behind an alias may have changed since."""


class Journal:
    """Answers by call. Thread-safe; the file is private to its owner (0600)."""

    def __init__(self, folder: Path, plan_digest: str, *, fresh: bool = False, started: dt.datetime) -> None:
        """`started`: aware, when this run began. Raises GateUnavailableError when nothing can be kept."""
        self.path = folder / f"gate-{plan_digest[:32]}.jsonl"
        self._lock = threading.Lock()
        self._known: dict[str, Reply] = {}
        self._file: IO[str] | None = None
        self._started = started.timestamp()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if fresh:
                self.path.unlink(missing_ok=True)
            usable = os.access(folder, os.W_OK)
        except OSError:
            usable = False
        if not usable:
            raise _unwritable()
        self._load()

    @property
    def resumed(self) -> int:
        """Answers that an earlier, unfinished run left."""
        return len(self._known)

    def _load(self) -> None:
        try:
            lines = self.path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            return
        for line in lines:
            try:
                row = json.loads(line)
                if not abs(self._started - float(row["at"])) <= MAX_AGE.total_seconds():
                    continue
                self._known[row["key"]] = Reply(str(row["text"]), None, bool(row["cached"]), row["masked"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue

    def get(self, ask: Ask) -> Reply | None:
        """The answer that is there already."""
        return self._known.get(_key(ask))

    def add(self, ask: Ask, reply: Reply) -> None:
        """Keep an answer."""
        row = {
            "key": _key(ask),
            "at": self._started,
            "text": reply.text,
            "cached": reply.cached,
            "masked": reply.masked,
        }
        with self._lock:
            try:
                file = self._file or self._open()
                file.write(json.dumps(row) + "\n")
                file.flush()
            except OSError:
                raise _unwritable() from None

    def _open(self) -> IO[str]:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._file = os.fdopen(descriptor, "a", encoding="utf-8")
        self._file.write("\n")  # ends a line that a kill has cut
        return self._file

    def close(self, *, finished: bool) -> None:
        """Stop writing; a finished run leaves nothing behind."""
        with contextlib.suppress(OSError):  # a full disk has been told of already
            if self._file is not None:
                self._file.close()
                self._file = None
            if finished:
                self.path.unlink(missing_ok=True)


def _unwritable() -> GateUnavailableError:
    return GateUnavailableError("COMPLIANCE_HOME : attendu un dossier où écrire (cache/gate)")


def _key(ask: Ask) -> str:
    prompt = ask.prompt
    parts = (ask.model, prompt.pair_id, prompt.side.value, str(prompt.index), prompt.text)
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
