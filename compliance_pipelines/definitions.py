"""The code location: everything under defs/, with the resources that the environment asks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import dagster as dg

from compliance_pipelines.resources import from_env


def build_defs(resources: Mapping[str, object] | None = None) -> dg.Definitions:
    """Definitions with `resources` (default: from the environment); a test swaps every outside system here."""
    found = dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
    return dg.Definitions.merge(found, dg.Definitions(resources=dict(from_env() if resources is None else resources)))


@dg.definitions
def defs() -> dg.Definitions:
    """The definitions that `dagster` loads."""
    return build_defs()
