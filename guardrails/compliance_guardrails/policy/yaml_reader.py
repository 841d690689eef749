"""YAML text to plain Python values, for files written by people who are not programmers and not always
careful.

A smaller language than YAML on purpose: one document, no anchors, aliases, tags or merge keys (so no
bombs), no duplicate keys, bounded size and depth. Only `true`, `false`, `null` and decimal numbers are
special: "oui", "non", "0,35", "1:30" and dates stay text and are judged by the model. Knows nothing
about any model.
"""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from .errors import PolicyError, quoted

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_BYTES: Final = 2_000_000
MAX_DEPTH: Final = 30
MAX_VALUES: Final = 200_000
ROOT: Final = "(fichier)"

_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,20}(?:[eE][-+]?[0-9]{1,3})?\Z")
_WORDS: Final[dict[str, Any]] = {"": None, "~": None, "null": None, "true": True, "false": False}


def read_bytes(path: Path, file: str, max_bytes: int = MAX_BYTES) -> bytes:
    """The content of a regular file of at most `max_bytes`; PolicyError when it is anything else."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise PolicyError(file, ROOT, "un fichier ordinaire")
        with path.open("rb") as handle:
            raw = handle.read(max_bytes + 1)
    except FileNotFoundError:
        raise PolicyError(file, ROOT, "un fichier présent dans le dossier de politique") from None
    except (OSError, ValueError):
        raise PolicyError(file, ROOT, "un fichier lisible par ce programme") from None
    if len(raw) > max_bytes:
        raise PolicyError(file, ROOT, f"un fichier d’au plus {max_bytes // 1000} Ko")
    return raw


def decode(raw: bytes, file: str) -> str:
    """UTF-8 text (a byte-order mark is dropped); PolicyError on another encoding or on a NUL."""
    if raw[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        raise PolicyError(file, ROOT, "un texte enregistré en UTF-8 (celui-ci est en UTF-16)")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise PolicyError(file, ROOT, f"un texte enregistré en UTF-8 (ligne {line})") from None
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise PolicyError(file, ROOT, f"un texte sans caractère nul (ligne {line})")
    return text


def read_yaml(text: str, file: str, lines: dict[tuple[str | int, ...], int] | None = None) -> Any:
    """The single document of `text` as dicts, lists, str, int, float, bool and None.

    `lines`, when given, receives the line of each path. Raises PolicyError, never a YAML error.
    """
    try:
        return _Builder(text, file, lines).document()
    except yaml.MarkedYAMLError as error:
        raise PolicyError(file, ROOT, _syntax_fr(error, text)) from None
    except yaml.YAMLError:
        raise PolicyError(file, ROOT, "un texte YAML sans caractère de contrôle") from None


class _Builder:
    """Builds values from the event stream: libyaml keeps no stack of ours busy, and every mark is at hand."""

    def __init__(self, text: str, file: str, lines: dict[tuple[str | int, ...], int] | None) -> None:
        self._file = file
        self._lines = lines
        self._count = 0
        self._loader = _LOADER(text)
        self._next: Callable[[], Any] = self._loader.get_event

    def document(self) -> Any:
        self._next()  # stream start
        event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            raise PolicyError(self._file, ROOT, "au moins une clé (le fichier est vide)")
        value = self._value(self._next(), ())
        self._next()  # document end
        event = self._next()
        if not isinstance(event, yaml.StreamEndEvent):
            raise self._error((), "un seul document (pas de second « --- »)", event)
        return value

    def _value(self, event: Any, path: tuple[str | int, ...]) -> Any:
        self._count += 1
        if self._count > MAX_VALUES:
            raise self._error(path, f"au plus {MAX_VALUES} valeurs dans un fichier", event)
        if len(path) > MAX_DEPTH:
            raise self._error(path[:3], f"au plus {MAX_DEPTH} niveaux d’imbrication", event)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise self._error(path, "une valeur écrite en toutes lettres (ni ancre & ni alias *)", event)
        if event.tag is not None:
            raise self._error(path, "une valeur sans étiquette YAML (!…)", event)
        if self._lines is not None:
            self._lines[path] = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            return event.value if event.style else _plain(event.value)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path)
        return self._mapping(path)

    def _sequence(self, path: tuple[str | int, ...]) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._value(event, (*path, len(items))))
        return items

    def _mapping(self, path: tuple[str | int, ...]) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._error(path, "des clés qui sont de simples mots", event)
            key = event.value
            if not event.style and key == "<<":
                raise self._error(path, "des clés écrites en toutes lettres (pas de fusion <<)", event)
            if event.tag is not None or event.anchor is not None:
                raise self._error((*path, key), "une clé sans étiquette ni ancre", event)
            if key in items:
                raise self._error((*path, key), "une clé écrite une seule fois (doublon)", event)
            items[key] = self._value(self._next(), (*path, key))
        return items

    def _error(self, path: tuple[str | int, ...], expected: str, event: Any) -> PolicyError:
        return PolicyError(self._file, dotted(path), f"{expected} (ligne {event.start_mark.line + 1})")


def _plain(text: str) -> Any:
    """An unquoted scalar: the few special words, finite decimal numbers, otherwise the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        return int(text)
    if _FLOAT.match(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def dotted(path: tuple[str | int, ...]) -> str:
    """A path as people write it: `departments[3].layers.prompt`; the root is "(fichier)"."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            word = "".join(c if c.isprintable() else "?" for c in part[:60])
            out += f".{word}" if out else word
    return out or ROOT


def _syntax_fr(error: yaml.MarkedYAMLError, text: str) -> str:
    """What the YAML reader stumbled over, said for someone who edits the file by hand."""
    mark = error.problem_mark or error.context_mark
    number = mark.line + 1 if mark is not None else 1
    rows = text.splitlines()
    row = rows[number - 1] if 0 < number <= len(rows) else ""
    problem = error.problem or ""
    if "\t" in row[: len(row) - len(row.lstrip())] or "'\\t'" in problem:
        return f"des espaces pour l’alinéa, pas de tabulation (ligne {number})"
    if "mapping values are not allowed" in problem:
        return f"des guillemets autour d’un texte qui contient « : » (ligne {number})"
    return f"une écriture YAML correcte à la ligne {number}, près de {quoted(row.strip() or 'la fin')}"
