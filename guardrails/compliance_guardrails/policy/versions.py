"""Which version of which file is in force on a date: the folder listed, dates compared, bytes read;
nothing parsed.

A file `name.yaml` carries `effective_from`; earlier versions are `history/name/<effective_from>.yaml`
beside it, and the same for `rules/name.yaml` (history/rules/name/…) and `prompts/name.md`. A version is
known by its file's own name whatever its date, so that a digest taken "as of" a day is the one that was
taken on that day.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from .errors import PolicyError
from .paths import MAX_FILES
from .yaml_reader import ROOT, decode, read_bytes

# A scan of one line, not a parse: rule files are large and their own readers parse them once.
_EFFECTIVE: Final = re.compile(r"^effective_from:[ \t]*[\"']?([0-9]{4}-[0-9]{2}-[0-9]{2})[\"']?[ \t]*(?:#.*)?$", re.M)
_FOLDERS: Final[Mapping[str, str]] = {"": ".yaml", "rules": ".yaml", "prompts": ".md"}
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".md"})

# Ledgers record what was decided or remains to be done. They judge nothing: a new line is not a new policy.
LEDGERS: Final = frozenset({"retired.yaml", "corrective_actions.yaml"})
# What only the counterfactual gate reads and its wheel brings. A gateway without the gate has the same policy.
GATE_RULES: Final = frozenset({"rules/counterfactual.yaml", "rules/counterfactual_calibration.yaml"})
NOT_IN_DIGEST: Final = LEDGERS | GATE_RULES


@dataclass(frozen=True, slots=True)
class Version:
    """One version of one file. `name` is its path in the folder when current ("rules/x.yaml")."""

    name: str
    shown: str
    effective_from: date
    raw: bytes

    @property
    def text(self) -> str:
        """The content as text; it was decoded once already."""
        return decode(self.raw, self.shown)

    @property
    def sha256(self) -> str:
        """Hex sha256 of the bytes of the file."""
        return hashlib.sha256(self.raw).hexdigest()


def in_force(directory: Path, at: date | None) -> dict[str, Version]:
    """For each file of the folder, the version in force on `at` (None: the current one), sorted by name.

    A file whose every version begins after `at` is left out: whether it is needed is for the caller to say.
    Ledgers are always current: their lines carry their own dates.
    """
    found: dict[str, Version] = {}
    for name, path in sorted(current_files(directory).items()):
        version = pick(directory, name, path, None if name in LEDGERS else at)
        if version is not None:
            found[name] = version
    return found


def current_files(directory: Path) -> dict[str, Path]:
    """Name in the folder → path, for every policy file; PolicyError on a file that has no business there."""
    found: dict[str, Path] = {}
    for folder, suffix in _FOLDERS.items():
        for path in _listed(directory / folder if folder else directory):
            name = f"{folder}/{path.name}" if folder else path.name
            if path.suffix == suffix and path.name != "README.md":
                found[name] = path
            elif path.suffix in _SUFFIXES and path.stem.upper() not in {"README", "LISEZMOI"}:
                raise PolicyError(name, ROOT, f"un nom de fichier en {suffix} à cet endroit")
    return found


def pick(directory: Path, name: str, path: Path, at: date | None) -> Version | None:
    """The version of `name` in force on `at`; None when all begin later."""
    current = read_version(path, name, name)
    past = history_of(directory, name)
    if past and max(past) >= current.effective_from:
        latest = max(past)
        raise PolicyError(
            f"history/{_stem(name)}/{latest.isoformat()}{path.suffix}",
            "effective_from",
            f"une date antérieure à celle de {name} ({current.effective_from.isoformat()})",
        )
    if at is None or current.effective_from <= at:
        return current
    eligible = [day for day in past if day <= at]
    if not eligible:
        return None
    day = max(eligible)
    shown = f"history/{_stem(name)}/{day.isoformat()}{path.suffix}"
    version = read_version(past[day], name, shown)
    if version.effective_from != day:
        raise PolicyError(shown, "effective_from", f"la date de son nom de fichier, {day.isoformat()}")
    return version


def history_of(directory: Path, name: str) -> dict[date, Path]:
    """Date → path of the earlier versions of `name`."""
    suffix = Path(name).suffix
    found: dict[date, Path] = {}
    for path in _listed(directory / "history" / _stem(name)):
        shown = f"history/{_stem(name)}/{path.name}"
        if path.suffix not in _SUFFIXES:
            continue
        day = _day(path.stem)
        if day is None or path.suffix != suffix:
            raise PolicyError(shown, ROOT, f"un nom de fichier de la forme AAAA-MM-JJ{suffix}")
        found[day] = path
    return found


def read_version(path: Path, name: str, shown: str) -> Version:
    """The file at `path` with its date; PolicyError when it is unreadable or carries none."""
    raw = read_bytes(path, shown)
    text = decode(raw, shown)
    day = effective_from_of(text, name)
    if day is None:
        raise PolicyError(shown, "effective_from", "une date AAAA-MM-JJ en tête de fichier")
    return Version(name, shown, day, raw)


def effective_from_of(text: str, name: str) -> date | None:
    """The date that a file's text carries at its top level (in the front matter of a .md), or None."""
    text = text.replace("\r\n", "\n")
    match = _EFFECTIVE.search(text.split("\n---", 1)[0] if name.endswith(".md") else text)
    return _day(match.group(1)) if match else None


def replace_date(raw: bytes, before: date, after: date) -> bytes:
    """The file's bytes with `after` in place of `before` on the effective_from line, all else untouched."""
    key = b"effective_from:"
    for line in raw.splitlines(keepends=True):
        if line.startswith(key) and before.isoformat().encode() in line:
            return raw.replace(line, line.replace(before.isoformat().encode(), after.isoformat().encode()), 1)
    raise ValueError("no effective_from line")


def earliest(directory: Path, name: str) -> date | None:
    """The first day for which `name` has a version; None when there is no such file."""
    path = current_files(directory).get(name)
    if path is None:
        return None
    return min([read_version(path, name, name).effective_from, *history_of(directory, name)])


def digest_over(digests: Mapping[str, str]) -> str:
    """One sha256 over names and file digests, whatever order they come in."""
    lines = "".join(f"{name}\0{digests[name]}\n" for name in sorted(digests))
    return hashlib.sha256(lines.encode()).hexdigest()


def _listed(folder: Path) -> list[Path]:
    """Visible files of a folder (a missing one is empty); links are followed: volumes are mounted so."""
    try:
        entries = sorted(folder.iterdir()) if folder.is_dir() else []
        files = [path for path in entries if not path.name.startswith(".") and not path.is_dir()]
    except OSError:
        raise PolicyError(folder.name, ROOT, "un dossier lisible par ce programme") from None
    if len(files) > MAX_FILES:
        raise PolicyError(folder.name, ROOT, f"au plus {MAX_FILES} fichiers")
    return files


def _stem(name: str) -> str:
    return name.rsplit(".", 1)[0]


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None
