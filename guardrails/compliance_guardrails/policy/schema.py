"""JSON Schemas of the policy files, generated from the models that read them: editors can check while
one types.

Names are those of the files without suffix, and "prompt" for the head of a prompt. The copies in
docs/schemas are written by `policy schema --out` and a test holds them current.
"""

from __future__ import annotations

import json
from typing import Any, Final

from .loader import MODELS
from .references import FrontMatter

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[str, dict[str, Any]]:
    """Name → JSON Schema, for every policy file and the head of a prompt."""
    models = {name.removesuffix(".yaml"): model for name, model in MODELS.items()} | {"prompt": FrontMatter}
    return {name: {"$schema": DIALECT, **models[name].model_json_schema(mode="validation")} for name in sorted(models)}


def render(value: Any) -> str:
    """JSON text that is the same for the same models: two spaces, sorted keys, one newline at the end."""
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
