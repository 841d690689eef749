"""What a revision changes against the one it replaces, for the change log that the revision itself prints.

From the archive alone: the replaced manifest and its attached figures. A threshold that moved is named with both its
values, so that a loosened limit can be seen by whoever holds the PDF.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from compliance_pipelines.core.evidence import Inputs, Manifest
from compliance_pipelines.core.periods import paris_day
from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.report_inputs import ChangeFacts


def differences(before: Manifest, inputs: Inputs) -> list[str]:
    """What of the inputs changed, in French, by digest."""
    old = {item.asset: item.sha256 for item in before.data}
    changed = [f"données {item.asset}" for item in inputs.data if old.get(item.asset) != item.sha256]
    changed += ["politique"] if before.policy_digest != inputs.policy_digest else []
    changed += ["version du code"] if before.code_version != inputs.code_version else []
    changed += ["juge"] if before.judge != inputs.judge else []
    return changed


def changes(before: Manifest, figures: bytes, inputs: Inputs, rows: Sequence[Aggregate]) -> tuple[ChangeFacts, ...]:
    """The replaced revision, what changed since, and every threshold that moved."""
    day = paris_day(datetime.fromisoformat(before.built_at))
    what = ", ".join(differences(before, inputs)) or "mise en page"
    first = ChangeFacts(day, "révision", f"remplace la révision {before.revision} ; entrées modifiées : {what}")
    moved: dict[tuple[str, float, float], list[str]] = {}
    old = _values(figures, "threshold")
    for row in rows:
        known = old.get((row.department, row.metric))
        if isinstance(known, float) and row.threshold is not None and known != row.threshold:
            moved.setdefault((row.metric, known, row.threshold), []).append(row.department)
    lines = [
        ChangeFacts(day, "seuil", f"{metric} : {_fr(was)} → {_fr(now)} ({_who(departments)})")
        for (metric, was, now), departments in sorted(moved.items())
    ]
    verdicts: dict[tuple[str, str, str], list[str]] = {}
    said = _values(figures, "verdict")
    for row in rows:
        was = said.get((row.department, row.metric))
        if isinstance(was, str) and was != row.verdict.value:
            verdicts.setdefault((row.metric, was, row.verdict.value), []).append(row.department)
    lines += [
        ChangeFacts(day, "verdict", f"{metric} : {was} → {now} ({_who(departments)})")
        for (metric, was, now), departments in sorted(verdicts.items())
    ]
    return (first, *lines)


def _values(figures: bytes, name: str) -> dict[tuple[str, str], object]:
    try:
        document = json.loads(figures)
        found = [item for item in document["figures"] if item["name"] == name]
        return {(item["department"], item["metric"]): item["value"] for item in found if item["value"] is not None}
    except (ValueError, LookupError, TypeError):
        # a replaced revision whose figures cannot be read is the business of `verify`
        return {}


def _fr(value: float) -> str:
    return f"{value:.2f}".replace(".", ",")


def _who(departments: Sequence[str]) -> str:
    return ", ".join(departments) if len(departments) <= 3 else f"{len(departments)} directions"
