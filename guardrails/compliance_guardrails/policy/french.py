"""What a model refused, said in French: pydantic's error kinds to "attendu …" phrases.

Only wording lives here. A model's own validators raise ValueError with a French phrase that continues
"attendu"; it is passed through. Kinds without a phrase of their own fall back to a general one, never to
English.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pydantic import ValidationError

from .errors import Problem, quoted
from .yaml_reader import dotted

_TYPES: Final[dict[str, str]] = {
    "missing": "cette clé, qui manque",
    "extra_forbidden": "aucune clé de ce nom (clé inconnue)",
    "bool_type": "true ou false, sans guillemets",
    "bool_parsing": "true ou false, sans guillemets",
    "int_type": "un nombre entier, sans guillemets",
    "int_parsing": "un nombre entier, sans guillemets",
    "int_from_float": "un nombre entier, sans décimales",
    "float_type": "un nombre, sans guillemets, avec un point décimal",
    "float_parsing": "un nombre, sans guillemets, avec un point décimal",
    "decimal_type": "un nombre, avec un point décimal",
    "decimal_parsing": "un nombre, avec un point décimal",
    "finite_number": "un nombre fini",
    "string_type": "un texte",
    "string_pattern_mismatch": "un texte de la forme {pattern}",
    "string_too_short": "un texte d’au moins {min_length} caractère(s)",
    "string_too_long": "un texte d’au plus {max_length} caractères",
    "too_short": "une liste d’au moins {min_length} élément(s)",
    "too_long": "une liste d’au plus {max_length} éléments",
    "enum": "l’une des valeurs {expected}",
    "literal_error": "l’une des valeurs {expected}",
    "greater_than": "un nombre supérieur à {gt}",
    "greater_than_equal": "un nombre supérieur ou égal à {ge}",
    "less_than": "un nombre inférieur à {lt}",
    "less_than_equal": "un nombre inférieur ou égal à {le}",
    "date_type": "une date AAAA-MM-JJ",
    "date_parsing": "une date AAAA-MM-JJ",
    "date_from_datetime_parsing": "une date AAAA-MM-JJ",
    "date_from_datetime_inexact": "une date AAAA-MM-JJ",
    "tuple_type": "une liste (une ligne « - … » par élément)",
    "list_type": "une liste (une ligne « - … » par élément)",
    "set_type": "une liste (une ligne « - … » par élément)",
    "frozen_set_type": "une liste (une ligne « - … » par élément)",
    "dict_type": "un groupe de clés",
    "model_type": "un groupe de clés",
    "model_attributes_type": "un groupe de clés",
    "dataclass_type": "un groupe de clés",
    "none_required": "aucune valeur (null)",
    "union_tag_invalid": "l’une des valeurs {expected_tags}",
    "union_tag_not_found": "la clé {discriminator}",
}
MAX_PROBLEMS: Final = 50
_FALLBACK: Final = "une valeur permise pour cette clé"
_NO_FOUND: Final = frozenset({"missing", "extra_forbidden"})


def problems_fr(
    error: ValidationError, value: Any, file: str, lines: dict[tuple[str | int, ...], int]
) -> tuple[Problem, ...]:
    """Every error of `error`, in the order of the file; `value` gives list items their id as name."""
    found = []
    for item in error.errors(include_url=False, include_context=True)[:MAX_PROBLEMS]:
        path = _known_path(item["loc"], value)
        line = _line_of(path, lines)
        where = f" (ligne {line})" if line else ""
        found.append((line, Problem(file, _named(path, value), _phrase(item) + where)))
    found.sort(key=lambda pair: pair[0])
    return tuple(problem for _, problem in found)


def _phrase(item: Any) -> str:
    kind = item["type"]
    context = item.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    template = _TYPES.get(kind, _FALLBACK)
    values = {key: _in_french(text) for key, text in context.items()}
    try:
        phrase = template.format(**values)
    except KeyError:
        phrase = _FALLBACK
    if kind in _NO_FOUND:
        return phrase
    found = item["input"]
    if kind.startswith(("float", "decimal", "int")) and isinstance(found, str) and "," in found:
        phrase += " à la place de la virgule" if "point" in phrase else ""
    return f"{phrase}, trouvé {quoted(found)}"


def _in_french(value: object) -> str:
    """A value from pydantic's context: 1.0 is written 1, "'a' or 'b'" becomes « a » ou « b »."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return re.sub(r"'([^']*)'", r"« \1 »", str(value)).replace(" or ", " ou ")


def _known_path(loc: tuple[str | int, ...], value: Any) -> tuple[str | int, ...]:
    """`loc` without what pydantic adds for unions and functions: only steps that exist in the file."""
    path: list[str | int] = []
    here = value
    for index, part in enumerate(loc):
        last = index == len(loc) - 1
        if isinstance(here, dict) and isinstance(part, str) and (part in here or last):
            here = here.get(part)
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            continue
        path.append(part)
    return tuple(path)


def _line_of(path: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int]) -> int:
    """The line of `path`, or of its nearest parent that has one (a missing key has none); 0 when unknown."""
    while path not in lines and path:
        path = path[:-1]
    return lines.get(path, 0)


def _named(path: tuple[str | int, ...], value: Any) -> str:
    """The dotted path, with `[id]` in place of the position for list items that carry an id."""
    out = ""
    here: Any = value
    for part in path:
        here = _step(here, part)
        name = here.get("id", here.get("name")) if isinstance(part, int) and isinstance(here, dict) else None
        if isinstance(name, str) and name:
            out += f"[{dotted((name,))}]"
        else:
            step = dotted((part,))
            out += step if isinstance(part, int) or not out else f".{step}"
    return out or dotted(())


def _step(value: Any, part: str | int) -> Any:
    """What stands under `part`; None for a key that is missing."""
    if isinstance(value, list) and isinstance(part, int):
        return value[part]
    return value.get(part) if isinstance(value, dict) else None
