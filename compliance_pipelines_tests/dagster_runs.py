"""`materialize` on an ephemeral instance that stays referenced.

Dagster holds its instance by weak reference: one that nobody else keeps can be collected while a run still asks for it.
"""

from __future__ import annotations

from typing import Any

import dagster as dg

_KEPT: list[dg.DagsterInstance] = []


def materialize(assets: list[Any], **options: Any) -> dg.ExecuteInProcessResult:
    """`dg.materialize` with an instance of its own."""
    instance = dg.DagsterInstance.ephemeral()
    _KEPT.append(instance)
    return dg.materialize(assets, instance=instance, **options)
