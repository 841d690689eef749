"""Which breaks stand between a month and the one before it: policy, evaluator, code. Pure.

The facts of the month before come from its monthly rows and, where it was archived, from its manifest; what is not
known is a break too, since two figures are compared only when it is known that they were made alike.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.evidence import Inputs, Manifest
from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.report_context import JUDGE, LEXICAL
from compliance_pipelines.core.report_inputs import PreviousMonth

# Policy files that change what is said about a figure, not how it is made.
_WORDS_ONLY = frozenset(
    {"corrective_actions.yaml", "retired.yaml", "legal.yaml", "report.yaml", "alerts.yaml", "grounds.yaml"}
)


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """One policy: its digest and the digest of each of its files."""

    digest: str
    files: Mapping[str, str]


def newest_manifest(archived: Sequence[Manifest], month: str) -> Manifest | None:
    """The archived manifest in force for a month, or None."""
    found = [manifest for manifest in archived if manifest.month == month]
    return max(found, key=lambda manifest: manifest.revision, default=None)


def facts_digest(before: Manifest | None) -> str:
    """sha256 over what the comparison takes from the manifest of the month before: an input of this month."""
    made = None if before is None else [before.code_version, before.judge.model_dump(mode="json")]
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()


def previous_month(
    month: str,
    aggregates: Sequence[Aggregate],
    before: Manifest | None,
    inputs: Inputs,
    policy: PolicyFacts,
    policy_before: PolicyFacts | None,
) -> PreviousMonth | None:
    """The month before with its breaks; None when it has no rows."""
    if not aggregates:
        return None
    breaks: list[tuple[str | None, str]] = []
    digests = {row.policy_digest for row in aggregates}
    changed = _policy_break(digests, policy, policy_before)
    if changed:
        breaks.append((None, changed))
    if before is None:
        name = fmt.month_fr(month)
        breaks.append((None, f"le rapport de {name} n’est pas archivé : son code et son évaluateur ne sont pas connus"))
        return PreviousMonth(month, tuple(aggregates), tuple(breaks))
    if before.code_version != inputs.code_version:
        breaks.append((None, f"le code a changé ({before.code_version} → {inputs.code_version})"))
    if before.judge != inputs.judge:
        reason = f"l’évaluateur a changé ({before.judge.model} → {inputs.judge.model})"
        breaks.extend((metric, reason) for metric in (JUDGE, LEXICAL))
    return PreviousMonth(month, tuple(aggregates), tuple(breaks))


def _policy_break(digests: set[str], policy: PolicyFacts, before: PolicyFacts | None) -> str | None:
    if digests == {policy.digest}:
        return None
    if before is None or digests != {before.digest}:
        return "la politique a changé, celle du mois précédent n’est plus disponible"
    names = sorted(
        name
        for name in {*policy.files, *before.files}
        if name not in _WORDS_ONLY and policy.files.get(name) != before.files.get(name)
    )
    if not names:
        return None
    return f"la politique a changé : {fmt.enumerate_fr(names, 4)}"
