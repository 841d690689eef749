"""The code location: everything under defs/, with the resources that the environment asks for."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import dagster as dg

from compliance_pipelines import defs as folder
from compliance_pipelines.resources import from_env


def build_defs(resources: Mapping[str, object] | None = None) -> dg.Definitions:
    """Definitions with `resources` (default: from the environment); a test swaps every outside system here."""
    # by the package: `load_from_defs_folder` looks for a pyproject.toml above it, which an installed wheel has not
    tree = dg.ComponentTree.from_module(defs_module=folder, project_root=Path(__file__).parents[1])
    with warnings.catch_warnings():
        # as that function does: which of Dagster's parameters are beta is decided where they are used
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        found = tree.build_defs()
    return dg.Definitions.merge(found, dg.Definitions(resources=dict(from_env() if resources is None else resources)))


@dg.definitions
def defs() -> dg.Definitions:
    """The definitions that `dagster` loads."""
    return build_defs()
