"""What lies in a directory archive without being listed: at its root, beside months, beside revisions, in `.pending`.

An unlisted file may be a report whose line was taken out of the index, or something slipped in. Only a write that was
interrupted between moving its files and replacing the index excuses files: its staged index names them with their
digests, and it is itself reported. A link or a pipe at a listed place is none of its files. Only names are returned;
nothing is followed, written or removed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from compliance_pipelines.adapters.archive_files import is_folder, is_regular, read_regular
from compliance_pipelines.core.evidence import EvidenceError, pdf_name, sha256
from compliance_pipelines.core.evidence_chain import ChainEntry, read_chain

PENDING = re.compile(r"^([0-9]{4}-[0-9]{2})-r([0-9]{1,6})$", re.ASCII)
_OWN_FOLDERS = frozenset({"revisions", ".pending"})
_OWN = _OWN_FOLDERS | {"chain.jsonl", ".lock"}
_STAGED = frozenset({"revision", "current.pdf", "chain.jsonl"})
_MAX_NAMED = 50


def strangers(root: Path, entries: Sequence[ChainEntry], month: str | None) -> list[str]:
    """French sentences for what the index does not list; with `month`, only what lies at that month's places."""
    listed = {item.key for entry in entries for item in entry.files}
    excused = {key for entry in staged(root, entries) for key in _moved(root, entry)}
    found: list[str] = []
    for path in _candidates(root, entries, month):
        key = path.relative_to(root).as_posix()
        if key in listed or key in excused:
            if not is_regular(path):
                found.append(f"{_shown(key)} : attendu un fichier ordinaire")
        elif path.is_symlink():
            found.append(f"{_shown(key)} : lien vers un autre endroit, attendu l’élément lui-même")
        else:
            found.append(f"{_shown(key)} : absent de l’index")
        if len(found) > _MAX_NAMED:
            break
    return found


def interrupted(root: Path) -> list[str]:
    """The writes that `.pending` holds, to be finished or undone by the next build: "révision 2 de 2026-06"."""
    names = (PENDING.match(path.name) for path in _inside(root / ".pending") if is_folder(path))
    return [f"révision {match[2]} de {match[1]}" for match in names if match]


def _candidates(root: Path, entries: Sequence[ChainEntry], month: str | None) -> Iterator[Path]:
    """Every place that should hold nothing but listed files: what is itself a listed place is looked into instead."""
    copies = {pdf_name(entry.month) for entry in entries}
    # A write that has only just begun has made its month's folder and nothing in it.
    begun = {match[1] for path in _inside(root / ".pending") if (match := PENDING.match(path.name))}
    months = {entry.month for entry in entries} | begun
    revisions = {f"{entry.month}/r{entry.revision}" for entry in entries}
    for path in _inside(root):
        if path.name in _OWN:
            # in its place but not itself: what is read or written through a link lies outside the archive
            if not (is_folder if path.name in _OWN_FOLDERS else is_regular)(path):
                yield path
            continue
        if path.name in copies:
            continue
        if month is None or path.name == pdf_name(month):
            yield path
    for folder in _inside(root / "revisions"):
        if month is not None and folder.name != month:
            continue
        empty = folder.name not in months and not _inside(folder)
        if empty or not is_folder(folder):
            yield folder
            continue
        for revision in _inside(folder):
            inside = _inside(revision) if is_folder(revision) else []
            listed = is_folder(revision) and f"{folder.name}/{revision.name}" in revisions
            if not inside and not listed:
                yield revision
            yield from inside
    yield from _odd_pendings(root) if month is None else ()


def _odd_pendings(root: Path) -> Iterator[Path]:
    """What no interrupted write leaves in `.pending`."""
    for pending in _inside(root / ".pending"):
        if PENDING.match(pending.name) is None or not is_folder(pending):
            yield pending
        else:
            yield from (path for path in _inside(pending) if path.name not in _STAGED)


def staged(root: Path, entries: Sequence[ChainEntry]) -> Iterator[ChainEntry]:
    """The entry that an interrupted write was about to add: its staged index is this one and one line more."""
    for pending in _inside(root / ".pending"):
        match = PENDING.match(pending.name)
        try:
            content = read_regular(pending / "chain.jsonl") if is_folder(pending) else None
            index = read_chain(content or b"")
        except (OSError, EvidenceError):
            continue
        continues = len(index) == len(entries) + 1 and tuple(index[:-1]) == tuple(entries)
        if match and continues and (index[-1].month, str(index[-1].revision)) == (match[1], match[2]):
            yield index[-1]


def _moved(root: Path, entry: ChainEntry) -> Iterator[str]:
    """The keys of an entry whose files lie at their place with the bytes it names."""
    for item in entry.files:
        # an index that was not written here may name any place of the machine: only the one of its revision is read
        if item.key != f"revisions/{entry.month}/r{entry.revision}/{item.name}":
            continue
        try:
            content = read_regular(root / item.key)
        except OSError:
            continue
        if content is not None and sha256(content) == item.sha256:
            yield item.key


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _shown(key: str) -> str:
    """A name from the disk as it may be printed: one line, no control characters."""
    return "".join(char if char.isprintable() else "?" for char in key[:120])
