"""Which department a trace belongs to: the first hit of stamp, key alias, team alias, team id, tag,
declared name.

The index is built once from departments.yaml and refuses a name that would point to two departments.
What comes in is untrusted: anything that is not a short text is no hit. No hit is `("non-attribue",
"none")`, never an error.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .errors import PolicyError
from .models import Department
from .types import UNATTRIBUTED

MAX_NAME: Final = 200
MAX_TAGS: Final = 200
_TAG: Final = "department:"
_SOURCES: Final = ("key_aliases", "team_aliases", "team_ids", "declared_names")


@dataclass(frozen=True, slots=True)
class ResolutionIndex:
    """Folded name → department id, one table per source."""

    ids: dict[str, str]
    key_aliases: dict[str, str]
    team_aliases: dict[str, str]
    team_ids: dict[str, str]
    declared_names: dict[str, str]

    def resolve(
        self,
        stamp: object,
        key_alias: object,
        team_alias: object,
        team_id: object,
        tags: object,
        declared: object,
    ) -> tuple[str, str]:
        """`(department id, source)`; source is a DepartmentSource value."""
        for value, table, source in (
            (stamp, self.ids, "stamp"),
            (key_alias, self.key_aliases, "key_alias"),
            (team_alias, self.team_aliases, "team_alias"),
            (team_id, self.team_ids, "team_id"),
        ):
            hit = table.get(fold_name(value))
            if hit is not None:
                return hit, source
        for tag in _tags(tags):
            hit = self.ids.get(fold_name(tag))
            if hit is not None:
                return hit, "tag"
        hit = self.declared_names.get(fold_name(declared))
        return (hit, "declared") if hit is not None else (UNATTRIBUTED, "none")


def build_index(departments: tuple[Department, ...], file: str) -> ResolutionIndex:
    """The index over `departments`; PolicyError naming `file` and key when a name is ambiguous or empty."""
    ids = {fold_name(department.id): department.id for department in departments}
    tables: dict[str, dict[str, str]] = {source: {} for source in _SOURCES}
    tables["declared_names"].update(ids)
    for department in departments:
        for source in _SOURCES:
            for position, name in enumerate(getattr(department.resolution, source)):
                key = f"departments[{department.id}].resolution.{source}[{position}]"
                folded = fold_name(name)
                if not folded:
                    raise PolicyError(
                        file, key, f"un nom qui contienne une lettre ou un chiffre, trouvé « {name[:40]} »"
                    )
                owner = tables[source].setdefault(folded, department.id)
                if owner != department.id:
                    raise PolicyError(file, key, f"un nom que ne porte pas déjà {owner}, trouvé « {name[:40]} »")
    return ResolutionIndex(ids=ids, **tables)


def fold_name(value: object) -> str:
    """A name without case, accents or separators ("Équipe  RH" → "equipe-rh"); "" for anything else."""
    if not isinstance(value, str) or not value or len(value) > MAX_NAME:
        return ""
    # Compatibility decomposition also brings no-break and thin spaces down to plain ones.
    bare = "".join(c for c in unicodedata.normalize("NFKD", value) if not unicodedata.combining(c)).casefold()
    return "-".join("".join(c if c.isalnum() else " " for c in bare).split())


def _tags(tags: object) -> Iterable[str]:
    """The part after `department:` of each tag; a single text counts as one tag."""
    if isinstance(tags, str):
        tags = (tags,)
    if not isinstance(tags, list | tuple | set | frozenset):
        return
    for count, tag in enumerate(tags):
        if count >= MAX_TAGS:
            return
        if isinstance(tag, str) and tag[: len(_TAG)].casefold() == _TAG:
            yield tag[len(_TAG) :]
