"""A YAML file against a model, with no coercion and French errors: the only way in for every file that
people edit.

`load_yaml` refuses unknown keys, duplicate keys, wrong types ("0,35", "oui"), infinities, anchors and
oversized files; models written for it derive from `StrictModel`. Which file of which date is in force is
the loader's matter.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import PolicyError, Problem
from .french import problems_fr
from .yaml_reader import decode, read_bytes, read_yaml

__all__ = ["PolicyError", "Problem", "StrictModel", "load_yaml", "parse_yaml", "validate"]

M = TypeVar("M", bound=BaseModel)


class StrictModel(BaseModel):
    """Base of every policy model: frozen, no coercion, no unknown key, no NaN or infinity.

    Modules of models that are read at each start do without `from __future__ import annotations`: pydantic would
    compile every annotation a second time, from its text.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


def load_yaml(path: Path, model: type[M]) -> M:
    """The file at `path` as a `model`. Raises PolicyError (file, key, what was expected), nothing else."""
    return parse_yaml(decode(read_bytes(path, path.name), path.name), model, path.name)


def parse_yaml(text: str, model: type[M], file: str) -> M:
    """The YAML `text` as a `model`; `file` is the name used in messages. Raises PolicyError."""
    value = read_yaml(text, file)
    try:
        return validate(value, model, file)
    except PolicyError:
        # Only now are line numbers worth their cost.
        lines: dict[tuple[str | int, ...], int] = {}
        read_yaml(text, file, lines)
        return validate(value, model, file, lines)


def validate(value: Any, model: type[M], file: str, lines: dict[tuple[str | int, ...], int] | None = None) -> M:
    """Plain values as a `model`, judged as strict JSON so that lists fill tuples and words fill enums."""
    try:
        return model.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise PolicyError.of(problems_fr(error, value, file, lines or {})) from None
