"""What no single file can know: that the names which files use of one another exist.

Departments, aliases, prompts, limits that alerts refer to, the corrective-actions file. Rules and bias
domains are checked by the detectors that own them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .errors import Problem
from .models import Department, Thresholds

if TYPE_CHECKING:
    from .loader import Policy


def crosscheck(policy: Policy, shown: Mapping[str, str]) -> tuple[Problem, ...]:
    """Every name that points nowhere; `shown` maps a file's name to the version that messages should name."""
    return tuple(
        Problem(shown.get(file, file), key, expected)
        for file, key, expected in (
            *_departments(policy),
            *_prompts(policy),
            *_limits(policy),
            *_actions_file(policy, shown),
        )
    )


def lookup(key: str, thresholds: Thresholds, department: Department | None) -> float:
    """The number at "thresholds.a.b" or "department.a"; ValueError when there is none."""
    root, *steps = key.split(".")
    here: Any = {"thresholds": thresholds, "department": department}.get(root)
    for step in steps:
        here = getattr(here, step, None) if step in getattr(type(here), "model_fields", {}) else None
    if isinstance(here, bool) or not isinstance(here, int | float):
        raise ValueError(key)  # noqa: TRY004 - the key is the bad value here, not the type of an argument
    return float(here)


def _departments(policy: Policy) -> Iterator[tuple[str, str, str]]:
    known = {department.id for department in policy.departments}
    places: tuple[tuple[str, str, Iterable[str]], ...] = (
        ("thresholds.yaml", "uncited_burst.departments", policy.thresholds.uncited_burst.departments),
        ("sampling.yaml", "intraday.departments", policy.sampling.intraday.departments),
        ("guardrails.yaml", "bias_screen_overrides", policy.guardrails.bias_screen_overrides),
        *(
            ("corrective_actions.yaml", f"actions[{action.id}].departments", action.departments)
            for action in policy.corrective_actions
        ),
    )
    for file, key, names in places:
        for name in names:
            if name not in known:
                yield file, key, f"un identifiant de departments.yaml, trouvé « {name[:60]} »"


def _prompts(policy: Policy) -> Iterator[tuple[str, str, str]]:
    aliases = {department.alias for department in (*policy.departments, policy.unattributed)}
    served: dict[str, str] = {}
    for prompt in policy.prompts:
        file = f"prompts/{prompt.name}.md"
        if prompt.alias not in aliases:
            yield file, "alias", f"un alias de departments.yaml, trouvé « {prompt.alias} »"
        if prompt.alias in served:
            yield file, "alias", f"un alias que ne sert pas déjà prompts/{served[prompt.alias]}.md"
        served.setdefault(prompt.alias, prompt.name)
    for alias in sorted(aliases - set(served)):
        yield (
            "departments.yaml",
            "alias",
            f"un alias qui ait ses consignes dans prompts/, « {alias} » n’en a pas",
        )


def _limits(policy: Policy) -> Iterator[tuple[str, str, str]]:
    for rule in policy.alerts.rules:
        for field, key in (("limit_from", rule.limit_from), ("for_minutes_from", rule.for_minutes_from)):
            if key is None:
                continue
            try:
                lookup(key, policy.thresholds, policy.unattributed)
            except ValueError:
                yield (
                    "alerts.yaml",
                    f"rules[{rule.name.value}].{field}",
                    f"thresholds.… ou department.… menant à un nombre, trouvé « {key[:60]} »",
                )


def _actions_file(policy: Policy, shown: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    named = policy.report.corrective_actions
    if named is not None and (named != "corrective_actions.yaml" or named not in shown):
        yield "report.yaml", "corrective_actions", "corrective_actions.yaml, présent dans le dossier, ou null"
