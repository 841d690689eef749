"""Does a bucket's lifecycle act before the retention is over? It may delete after it, never before.

Object Lock keeps a version from being removed, but an expiration still covers it with a delete marker, and a store
whose lifecycle does not honour the lock loses it. Pure: rules come from the adapter. Serves "a lifecycle deletes;
retention is Object Lock, lifecycle only after it".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

_DAY = 86_400
# A rule's name comes from the store and ends up in a command that people paste.
_SAFE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LifecycleRule:
    """One enabled rule. `days` and `noncurrent_days` count from creation and from being replaced.

    None where the rule says nothing of the kind. `expired_markers`: it removes the last trace of a deleted key.
    `cold_days`: it moves objects to another storage class, where reading back may have to be asked for.
    """

    id: str
    prefix: str = ""
    days: int | None = None
    date: datetime | None = None
    noncurrent_days: int | None = None
    expired_markers: bool = False
    cold_days: int | None = None


@dataclass(frozen=True, slots=True)
class LifecycleReading:
    """What the rules do to the evidence: reasons to refuse and reservations, in French, each naming its rule."""

    refused: tuple[str, ...]
    reserved: tuple[str, ...]


def read_rules(
    rules: Sequence[LifecycleRule], prefixes: Iterable[str], periods: Iterable[tuple[datetime, datetime]]
) -> LifecycleReading:
    """Judge `rules` against what lies under `prefixes`.

    periods: creation and end of retention (aware) of the objects that are there or about to be.
    """
    known = list(periods)
    needed = max((math.ceil((until - created).total_seconds() / _DAY) for created, until in known), default=0)
    last = max((until for _, until in known), default=None)
    under = tuple(prefixes)
    refused: list[str] = []
    reserved: list[str] = []
    for rule in rules:
        if not any(path.startswith(rule.prefix) or rule.prefix.startswith(path) for path in under):
            continue
        name = f"règle « {shown(rule.id)} »"
        if rule.days is not None and rule.days < needed:
            refused.append(f"{name} : expiration après {rule.days} jour(s), conservation de {needed}")
        if rule.date is not None and last is not None and rule.date < last:
            refused.append(f"{name} : expiration le {rule.date:%d/%m/%Y}, conservation jusqu’au {last:%d/%m/%Y}")
        if rule.noncurrent_days is not None and rule.noncurrent_days < needed:
            days = rule.noncurrent_days
            refused.append(f"{name} : versions remplacées effacées après {days} jour(s), conservation de {needed}")
        if rule.expired_markers:
            reserved.append(f"{name} : efface les marqueurs de suppression, donc la trace d’un effacement")
        if rule.cold_days is not None and rule.cold_days < needed:
            reserved.append(f"{name} : change de classe de stockage après {rule.cold_days} jour(s), relecture différée")
    return LifecycleReading(tuple(refused), tuple(reserved))


def shown(rule_id: str) -> str:
    """A rule's name as it may be printed, or "sans nom"."""
    return rule_id if _SAFE_ID.fullmatch(rule_id) else "sans nom"


def fix_fr(bucket: str, rules: Sequence[LifecycleRule], reading: LifecycleReading) -> str:
    """The commands that remove the rules which `reading` refuses."""
    asked = (rule for rule in rules if any(f"« {shown(rule.id)} »" in reason for reason in reading.refused))
    commands = dict.fromkeys(
        f"mc ilm rule rm --id {rule.id} ALIAS/{bucket}"
        if shown(rule.id) == rule.id
        else f"mc ilm rule ls ALIAS/{bucket} puis mc ilm rule rm --id ID ALIAS/{bucket}"
        for rule in asked
    )
    return " ; ".join(commands)
