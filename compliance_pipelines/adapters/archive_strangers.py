"""What lies in a directory archive without being listed: at its root, beside months, beside revisions, in `.pending`.

An unlisted file may be a report whose line was taken out of the index, or something slipped in. Only a write that was
interrupted between moving its files and replacing the index excuses files: its staged index names them with their
digests, and it is itself reported. Only names are returned; nothing is written or removed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from compliance_pipelines.core.evidence import EvidenceError, pdf_name, sha256
from compliance_pipelines.core.evidence_chain import ChainEntry, read_chain

PENDING = re.compile(r"^([0-9]{4}-[0-9]{2})-r([0-9]{1,6})$", re.ASCII)
_OWN = frozenset({"revisions", "chain.jsonl", ".lock", ".pending"})
_STAGED = frozenset({"revision", "current.pdf", "chain.jsonl"})
_MAX_BYTES = 64 * 1024 * 1024
_MAX_NAMED = 50


def strangers(root: Path, entries: Sequence[ChainEntry], month: str | None) -> list[str]:
    """French sentences for what the index does not list; with `month`, only what lies at that month's places."""
    listed = {item.key for entry in entries for item in entry.files}
    excused = {key for entry in _staged(root, entries) for key in _moved(root, entry)}
    found: list[str] = []
    for path in _candidates(root, entries, month):
        key = path.relative_to(root).as_posix()
        if key not in listed and key not in excused:
            found.append(f"{_shown(key)} : absent de l’index")
        if len(found) > _MAX_NAMED:
            break
    return found


def interrupted(root: Path) -> list[str]:
    """The writes that `.pending` holds, to be finished or undone by the next build: "révision 2 de 2026-06"."""
    names = (PENDING.match(path.name) for path in _inside(root / ".pending") if path.is_dir())
    return [f"révision {match[2]} de {match[1]}" for match in names if match]


def _candidates(root: Path, entries: Sequence[ChainEntry], month: str | None) -> Iterator[Path]:
    """Every place that should hold nothing but listed files: what is itself a listed place is looked into instead."""
    copies = {pdf_name(entry.month) for entry in entries}
    # A write that has only just begun has made its month's folder and nothing in it.
    begun = {match[1] for path in _inside(root / ".pending") if (match := PENDING.match(path.name))}
    months = {entry.month for entry in entries} | begun
    revisions = {f"{entry.month}/r{entry.revision}" for entry in entries}
    for path in _inside(root):
        if path.name in _OWN or path.name in copies:
            continue
        if month is None or path.name == pdf_name(month):
            yield path
    for folder in _inside(root / "revisions"):
        if month is not None and folder.name != month:
            continue
        empty = folder.name not in months and not _inside(folder)
        if empty or not folder.is_dir() or folder.is_symlink():
            yield folder
            continue
        for revision in _inside(folder):
            inside = _inside(revision) if revision.is_dir() and not revision.is_symlink() else []
            if not inside and f"{folder.name}/{revision.name}" not in revisions:
                yield revision
            yield from inside
    yield from _odd_pendings(root) if month is None else ()


def _odd_pendings(root: Path) -> Iterator[Path]:
    """What no interrupted write leaves in `.pending`."""
    for pending in _inside(root / ".pending"):
        if PENDING.match(pending.name) is None or not pending.is_dir():
            yield pending
        else:
            yield from (path for path in _inside(pending) if path.name not in _STAGED)


def _staged(root: Path, entries: Sequence[ChainEntry]) -> Iterator[ChainEntry]:
    """The entry that an interrupted write was about to add: its staged index is this one and one line more."""
    for pending in _inside(root / ".pending"):
        match = PENDING.match(pending.name)
        try:
            content = (pending / "chain.jsonl").read_bytes()[:_MAX_BYTES]
            staged = read_chain(content)
        except (OSError, EvidenceError):
            continue
        continues = len(staged) == len(entries) + 1 and tuple(staged[:-1]) == tuple(entries)
        if match and continues and (staged[-1].month, str(staged[-1].revision)) == (match[1], match[2]):
            yield staged[-1]


def _moved(root: Path, entry: ChainEntry) -> Iterator[str]:
    """The keys of an entry whose files lie at their place with the bytes it names."""
    for item in entry.files:
        try:
            content = (root / item.key).read_bytes()
        except OSError:
            continue
        if sha256(content) == item.sha256:
            yield item.key


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _shown(key: str) -> str:
    """A name from the disk as it may be printed: one line, no control characters."""
    return "".join(char if char.isprintable() else "?" for char in key[:120])
