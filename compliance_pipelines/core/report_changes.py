"""The change log of the report: every policy key that moved, old → new, with the day it took effect.

Two texts of a policy file are compared key by key; items of a list go by their id, plain lists as sets, the text of a
prompt by its lines. Departments are named as in the report, common keys in French with the key beside them. Pure and
bounded: what a file changes beyond `MAX_LINES` keys is counted.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compliance_guardrails.policy.errors import PolicyError
from compliance_guardrails.policy.versions import LEDGERS, effective_from_of
from compliance_guardrails.policy.yaml_reader import read_yaml

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.report_inputs import ChangeFacts

MAX_LINES = 40
_IDENTITY = ("id", "name", "rule", "characteristic", "alias", "instrument")
_ROUTES = {"": "politique", "prompts": "invite", "rules": "règle"}
_THRESHOLD_FILES = frozenset({"thresholds.yaml", "departments.yaml", "alerts.yaml", "sampling.yaml"})
_LABELS: Mapping[str, str] = {
    "grounding_floor": "similarité documentaire minimale",
    "counterfactual_cosine_floor": "proximité contrefactuelle minimale",
    "citation_compliance": "seuil de citation des sources",
    "flagged_weight": "poids d’une trace signalée",
    "min_n": "effectif minimal d’un verdict",
    "max_unscored_rate": "part maximale de traces non notées",
    "queue_below": "note sous laquelle une personne relit",
    "suppress_below": "effectif sous lequel rien n’est publié",
    "min_score_coverage": "part minimale de requêtes avec similarité",
    "retention_years": "années de conservation du rapport",
    "purge_months": "mois de conservation des données de travail",
    "report_threshold": "seuil de neutralité du rapport",
    "alert_threshold": "seuil d’alerte de neutralité",
    "alert_for_minutes": "durée avant alerte, en minutes",
    "sampling_rate": "part des traces évaluées",
    "risk": "classe de risque",
    "alias": "assistant",
    "base_model": "modèle",
    "contact": "référent",
    "missing_score": "similarité absente",
}


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """One policy file that changed: the day its new version took effect, old and new text (None: absent)."""

    day: dt.date | None
    name: str
    old: str | None
    new: str | None


def steps_from(archived: Mapping[str, str], current: Mapping[str, str]) -> tuple[PolicyStep, ...]:
    """The files that differ between an archived policy and the one in force, each with its own date."""
    return tuple(
        PolicyStep(_since(current.get(name), name), name, archived.get(name), current.get(name))
        for name in sorted({*archived, *current} - LEDGERS)
        if archived.get(name) != current.get(name)
    )


def _since(text: str | None, name: str) -> dt.date | None:
    return None if text is None else effective_from_of(text, name)


def policy_changes(steps: Sequence[PolicyStep], labels: Mapping[str, str]) -> tuple[ChangeFacts, ...]:
    """Every key that moved in `steps`; `labels` names the departments."""
    return tuple(
        ChangeFacts(step.day, _kind(step.name), line) for step in steps for line in _bounded(step.name, step, labels)
    )


def keys_changed(steps: Sequence[PolicyStep]) -> list[str]:
    """The keys alone, "thresholds.citation_compliance 0,8 → 0,7", for the reason of a revision."""
    found: list[str] = []
    for step in steps:
        stem = step.name.rsplit(".", 1)[0]
        if step.old is None or step.new is None:
            found.append(f"{step.name} {'ajouté' if step.old is None else 'retiré'}")
            continue
        moved = [f"{_short(stem, key)} {was} → {now}" for key, was, now in _moved(step)]
        found += moved or [f"{step.name} (mise en forme)"]
    return found


def _short(stem: str, key: str) -> str:
    """departments[…] reads better than departments.departments[…]."""
    return key if key.startswith(stem) else f"{stem}.{key}"


def _bounded(name: str, step: PolicyStep, labels: Mapping[str, str]) -> Iterator[str]:
    if step.old is None or step.new is None:
        yield f"{name} {'ajouté' if step.old is None else 'retiré'}"
        return
    moved = _moved(step)
    if not moved:
        yield f"{name} : commentaires ou mise en forme, aucune valeur changée"
    for key, was, now in moved[:MAX_LINES]:
        yield f"{_key_fr(name, key, labels)} : {was} → {now}"
    if len(moved) > MAX_LINES:
        left = fmt.plural(len(moved) - MAX_LINES, "autre clé changée", "autres clés changées")
        yield f"{name} : {left}, en toutes lettres dans policy.json"


def _moved(step: PolicyStep) -> list[tuple[str, str, str]]:
    """(key, old value, new value) in key order, values as printed."""
    try:
        old, new = _values(step.old or "", step.name), _values(step.new or "", step.name)
    except PolicyError:
        # A version that no longer loads under today's rules is told as a whole.
        return [("(fichier)", "version précédente", "nouvelle version")]
    out: list[tuple[str, str, str]] = []
    for key in dict.fromkeys((*old, *new)):
        was, now = old.get(key, _ABSENT), new.get(key, _ABSENT)
        if was == now and type(was) is type(now):
            continue
        if isinstance(was, Counter) or isinstance(now, Counter):
            before = was if isinstance(was, Counter) else Counter()
            after = now if isinstance(now, Counter) else Counter()
            out.append((key, _members(before - after, "retiré"), _members(after - before, "ajouté")))
        else:
            out.append((key, _shown(was), _shown(now)))
    return out


_ABSENT = object()


def _values(text: str, name: str) -> dict[str, Any]:
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    if not name.endswith(".md"):
        return dict(_walk("", read_yaml(text, name)))
    head, _, body = text.removeprefix("---\n").partition("\n---")
    lines = Counter(line.strip() for line in body.splitlines() if line.strip())
    return {**dict(_walk("", read_yaml(head, name))), "texte": lines}


def _walk(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if key or name != "effective_from":  # the date of the step says it
                yield from _walk(f"{key}.{name}" if key else str(name), inner)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from _walk(f"{key}[{_identity(item, index)}]", item)
    elif isinstance(value, list):
        yield key, Counter(str(item) for item in value)
    else:
        yield key, value


def _identity(item: Any, index: int) -> str:
    words = [item[word] for word in _IDENTITY if isinstance(item, dict) and isinstance(item.get(word), str)]
    return words[0] if words else str(index + 1)


def _members(found: Counter[str], what: str) -> str:
    names = [fmt.clean(name, 40) for name in sorted(found)]
    if not names:
        return f"rien {'d’' if what.startswith('a') else 'de '}{what}"
    return f"{what} : {fmt.enumerate_fr((f'« {name} »' for name in names), 4)}"


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    if value is None:
        return "vide"
    if isinstance(value, bool):
        return "oui" if value else "non"
    if isinstance(value, int | float):
        return str(value).replace(".", ",")
    if (day := _day(str(value))) is not None:
        return fmt.day_short(day)
    return f"« {fmt.clean(str(value), 60)} »"


def _day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def _key_fr(name: str, key: str, labels: Mapping[str, str]) -> str:
    """ "Finance, seuil de neutralité du rapport (departments.report_threshold)"."""
    stem, last = name.rsplit(".", 1)[0], key.rsplit(".", 1)[-1]
    where = key
    prefix = ""
    for department, label in labels.items():
        mark = f"departments[{department}]."
        if key.startswith(mark):
            where, prefix = key.removeprefix(mark), f"{label}, "
    known = _LABELS.get(last.split("[", 1)[0]) if name in _THRESHOLD_FILES else None
    shown = fmt.clean(_short(stem, where), 100)
    return f"{prefix}{known} ({shown})" if known else f"{prefix}{shown}"


def _kind(name: str) -> str:
    folder = name.partition("/")[0] if "/" in name else ""
    return "seuil" if name in _THRESHOLD_FILES else _ROUTES.get(folder, "politique")
