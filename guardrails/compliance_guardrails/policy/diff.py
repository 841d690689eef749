"""What a change of the policy folder loosens or removes, and whether retired.yaml says so.

Pure: two folders as name → text in, findings out. Reading an older revision is `git_base`'s work. The
older folder may come from older models, so plain values are compared here, by the table in `guarded`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from .flatten import Values, effective, flatten, is_override
from .guarded import Change, guard_of
from .references import Retired, RetiredLine
from .strict import parse_yaml
from .versions import LEDGERS, effective_from_of

_RETIRED: Final = "retired.yaml"


class Kind(enum.StrEnum):
    """What a finding is. UNACKNOWLEDGED and LEDGER are faults; UNDATED is one on demand."""

    TIGHTENED = "durci"
    ACKNOWLEDGED = "reconnu"
    UNACKNOWLEDGED = "assoupli"
    LEDGER = "registre"
    UNDATED = "daté"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: its kind, the key concerned, and a French line."""

    kind: Kind
    key: str
    line_fr: str


def compare(base: Mapping[str, str], current: Mapping[str, str]) -> tuple[Finding, ...]:
    """Every finding from `base` to `current`, both name → text, history included. PolicyError on bad YAML."""
    before, after = _lines(base), _lines(current)
    fresh = [line for line in after if line not in before]
    found = [
        Finding(Kind.LEDGER, line.key, f"{_RETIRED}: {line.key}: attendu la ligne du {line.date}, qui a disparu")
        for line in before
        if line not in after
    ]
    old, new = flatten(base), flatten(current)
    for key in (*old, *(key for key in new if key not in old and is_override(key))):
        finding = _judged(key, old, new, fresh)
        if finding is not None:
            found.append(finding)
    found.extend(_undated(base, current))
    return tuple(found)


def _judged(key: str, old: Values, new: Values, fresh: list[RetiredLine]) -> Finding | None:
    """What became of one key: nothing to say, tightened, or loosened with or without a line."""
    was, now = effective(old, key), effective(new, key)
    if was is None:
        return None  # an override of a setting that did not exist
    if now is None:
        if any(parent not in new for parent in was.parents):
            return None  # the removal of the whole item is one finding, not one per value
        what, target = "retrait", None
    else:
        guard = guard_of(key)
        change = guard.compare(was.value, now.value) if guard is not None else Change.SAME
        if change is Change.SAME:
            return None
        what, target = f"{_shown(was.value)} → {_shown(now.value)}", now.value
        if change is Change.TIGHTENED:
            return Finding(Kind.TIGHTENED, key, f"{key} : {what}")
    for line in fresh:
        if line.key == key and _same(line.to, target):
            return Finding(Kind.ACKNOWLEDGED, key, f"{key} : {what}, {line.date}, {line.owner} : {line.reason}")
    asked = f"(key: {key}, to: {_shown(target)}, date, reason, owner)"
    return Finding(Kind.UNACKNOWLEDGED, key, f"{_RETIRED}: {key}: attendu une ligne {asked} pour {what}")


def _undated(base: Mapping[str, str], current: Mapping[str, str]) -> Iterator[Finding]:
    """Edits that would change how a past month is judged: no new date, no copy of the old version."""
    for name, text in base.items():
        if name in LEDGERS or (name not in current and not name.startswith("history/")):
            continue
        if name.startswith("history/"):
            if current.get(name) != text:
                line = f"{name}: (fichier): attendu un fichier inchangé, il fait foi pour le passé"
                yield Finding(Kind.UNDATED, name, line)
            continue
        if current[name] == text:
            continue
        was, now = effective_from_of(text, name), effective_from_of(current[name], name)
        if was is None or now is None:
            continue  # the loader refuses such a file anyway
        if now <= was:
            line = f"{name}: effective_from: attendu une date postérieure au {was}, puisque le fichier a changé"
            yield Finding(Kind.UNDATED, name, line)
            continue
        path = PurePosixPath(name)
        kept = f"history/{path.with_suffix('')}/{was}{path.suffix}"
        if current.get(kept) != text:
            yield Finding(Kind.UNDATED, name, f"{kept}: (fichier): attendu la version précédente, telle quelle")


def _lines(folder: Mapping[str, str]) -> tuple[RetiredLine, ...]:
    text = folder.get(_RETIRED)
    return parse_yaml(text, Retired, _RETIRED).retired if text is not None else ()


def _same(written: Any, value: Any) -> bool:
    if isinstance(written, bool) or isinstance(value, bool) or written is None or value is None:
        return written is value
    return str(written) == str(value) or (
        isinstance(written, int | float) and isinstance(value, int | float) and written == value
    )


def _shown(value: Any) -> str:
    """A value as one writes it in YAML, short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
