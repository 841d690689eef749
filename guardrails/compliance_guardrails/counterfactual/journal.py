"""The answers of a run that is under way, so that a killed run goes on where it stopped.

One JSON line an answer, appended as it comes; a last line cut off by a kill is ignored. The file is named after
everything the answers depend on and is removed once the run has its result: an answer of last week never counts today.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from pathlib import Path
from typing import IO

from .ports import Ask, Reply


class Journal:
    """Answers by call. Thread-safe; the file is private to its owner (0600)."""

    def __init__(self, folder: Path, plan_digest: str, *, fresh: bool = False) -> None:
        self.path = folder / f"gate-{plan_digest[:32]}.jsonl"
        self._lock = threading.Lock()
        self._known: dict[str, Reply] = {}
        self._file: IO[str] | None = None
        if fresh:
            self.path.unlink(missing_ok=True)
        self._load()

    @property
    def resumed(self) -> int:
        """Answers that an earlier, unfinished run left."""
        return len(self._known)

    def _load(self) -> None:
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return
        for line in lines:
            try:
                row = json.loads(line)
                self._known[row["key"]] = Reply(str(row["text"]), None, bool(row["cached"]), row["masked"])
            except (ValueError, KeyError, TypeError):
                continue

    def get(self, ask: Ask) -> Reply | None:
        """The answer that is there already."""
        return self._known.get(_key(ask))

    def add(self, ask: Ask, reply: Reply) -> None:
        """Keep an answer."""
        row = {"key": _key(ask), "text": reply.text, "cached": reply.cached, "masked": reply.masked}
        with self._lock:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.fdopen(
                    os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8"
                )
                self._file.write("\n")  # ends a line that a kill has cut
            self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
            self._file.flush()

    def close(self, *, finished: bool) -> None:
        """Stop writing; a finished run leaves nothing behind."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if finished:
            self.path.unlink(missing_ok=True)


def _key(ask: Ask) -> str:
    prompt = ask.prompt
    parts = (ask.model, prompt.pair_id, prompt.side.value, str(prompt.index), prompt.text)
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
