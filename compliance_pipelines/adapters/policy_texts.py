"""The policy folder as texts: what is in force on a day, and each version that took effect between two days.

Reading only; what a text says is `compliance_guardrails.policy`, what changed in it `core.report_changes`.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from compliance_guardrails.policy import policy_dir
from compliance_guardrails.policy.versions import (
    LEDGERS,
    Version,
    current_files,
    history_of,
    in_force,
    read_version,
)

from compliance_pipelines.core.report_changes import PolicyStep


def texts_in_force(directory: Path | None, at: date) -> dict[str, str]:
    """Name → text of every file in force on `at`, byte for byte. PolicyError in French."""
    return {name: _text(version) for name, version in in_force(policy_dir(directory), at).items()}


def versions_between(directory: Path | None, after: date, until: date) -> tuple[PolicyStep, ...]:
    """Each version that took effect in (after, until], against the one it replaced, in date and name order."""
    folder = policy_dir(directory)
    steps: list[PolicyStep] = []
    for name, path in sorted(current_files(folder).items()):
        if name in LEDGERS:
            continue
        versions = [read_version(one, name, name) for one in (*history_of(folder, name).values(), path)]
        before: Version | None = None
        for version in sorted(versions, key=lambda one: one.effective_from):
            if after < version.effective_from <= until:
                old = None if before is None else _text(before)
                steps.append(PolicyStep(version.effective_from, name, old, _text(version)))
            before = version
    return tuple(sorted(steps, key=lambda step: (step.day or until, step.name)))


def _text(version: Version) -> str:
    # Not `version.text`, which drops a byte-order mark: the digest is over the bytes.
    return version.raw.decode("utf-8")
