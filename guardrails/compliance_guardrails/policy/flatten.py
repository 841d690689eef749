"""A policy folder as one flat table: key → value, for whatever a change of it has to be acknowledged.

Keys are `<file>.<path>`, list items named by their id. The table holds guarded values, and every item
that has an id, so that its removal is seen. An override that is absent stands for the common setting
(`effective`), so that adding or dropping one is compared by its effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .guarded import guard_of
from .yaml_reader import read_yaml

_ITEM: Final = "…"
_FALLBACKS: Final = (
    (re.compile(r"guardrails\.bias_screen_overrides\.[^.]+\.(\w+)"), r"guardrails.bias_screen.\1"),
    (
        re.compile(r"thresholds\.counterfactual_cosine_overrides\..+"),
        "thresholds.counterfactual_cosine_floor",
    ),
)
_IDENTITY: Final = ("id", "name", "rule", "characteristic")


@dataclass(frozen=True, slots=True)
class Entry:
    """One value, and the keys of the items that contain it, outermost first."""

    value: Any
    parents: tuple[str, ...]


Values = dict[str, Entry]


def flatten(folder: Mapping[str, str]) -> Values:
    """The table of a folder given as name → text. Raises PolicyError on YAML that cannot be read."""
    found: Values = {}
    for name in sorted(folder):
        if name.startswith("history/") or name == "retired.yaml":
            continue
        found[name] = Entry(_ITEM, ())
        text, stem = folder[name], name.rsplit(".", 1)[0]
        if name.endswith(".md"):
            text = text.replace("\r\n", "\n").removeprefix("---\n").split("\n---", 1)[0]
        found.update(_walk(stem, read_yaml(text, name), (name,), rules=name.startswith("rules/"), top=True))
    return found


def effective(values: Values, key: str) -> Entry | None:
    """The entry of `key`, else of the common setting that it overrides, else None."""
    entry = values.get(key)
    if entry is not None:
        return entry
    for pattern, common in _FALLBACKS:
        match = pattern.fullmatch(key)
        if match:
            return values.get(match.expand(common))
    return None


def is_override(key: str) -> bool:
    """True for a key that falls back on a common setting where it is absent."""
    return any(pattern.fullmatch(key) for pattern, _ in _FALLBACKS)


def _walk(
    key: str, value: Any, parents: tuple[str, ...], *, rules: bool, top: bool = False
) -> Iterator[tuple[str, Entry]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            # departments[...] reads better than departments.departments[...]
            step = key if top and name == key else f"{key}.{name}"
            if rules and isinstance(inner, dict | list):
                yield step, Entry(_ITEM, parents)
                yield from _walk(step, inner, (*parents, step), rules=rules)
            else:
                yield from _walk(step, inner, parents, rules=rules)
    elif isinstance(value, list):
        for inner in value:
            yield from _item(key, inner, parents, rules=rules)
    elif guard_of(key) is not None:
        yield key, Entry(value, parents)


def _item(key: str, value: Any, parents: tuple[str, ...], *, rules: bool) -> Iterator[tuple[str, Entry]]:
    if not isinstance(value, dict):
        step = f"{key}[{value}]"
        if guard_of(step) is not None:
            yield step, Entry(value, parents)
        return
    name = next((value[word] for word in _IDENTITY if isinstance(value.get(word), str)), None)
    if name is None:
        return
    step = f"{key}[{name}]"
    yield step, Entry(_ITEM, parents)
    yield from _walk(step, value, (*parents, step), rules=rules)
