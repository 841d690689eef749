"""Every asset key, and what all assets share: owner, regulation tags, code versions.

A code version is the digest of the policy files that an asset reads plus the core's version: a policy edit marks stale
exactly what it touches.
"""

from __future__ import annotations

import hashlib
from functools import cache

import dagster as dg
from compliance_guardrails.policy import Policy, load_policy

from compliance_pipelines.code_identity import code_identity
from compliance_pipelines.settings import settings

TRACES = dg.AssetKey(["langfuse", "traces"])
SCORES = dg.AssetKey(["langfuse", "scores"])
NEUTRALITY = dg.AssetKey(["evaluation", "neutrality"])
CITATIONS = dg.AssetKey(["evaluation", "citations"])
RAGAS = dg.AssetKey(["evaluation", "ragas"])
SYCOPHANCY_PROBES = dg.AssetKey(["evaluation", "sycophancy_probes"])
FIGURE_GROUNDING = dg.AssetKey(["evaluation", "figure_grounding"])
COUNTERFACTUAL = dg.AssetKey(["counterfactual", "results"])
REVIEW_ITEMS = dg.AssetKey(["langfuse", "review_items"])
DEPARTMENT_DAILY = dg.AssetKey(["department", "daily"])
DEPARTMENT_MONTHLY = dg.AssetKey(["department", "monthly"])
BIAS_REPORT = dg.AssetKey(["audit", "bias_report"])
ARCHIVE_RECEIPT = dg.AssetKey(["audit", "archive_receipt"])

OWNERS = ["team:conformite"]
# the judge is one machine: one run at a time asks it (the pool's limit is the instance's), in a run of pods one step
JUDGE_POOL = "judge"
ASKS_THE_JUDGE = {"asks": "judge"}


@cache
def policy_now() -> Policy:
    """The newest policy of the folder, for code versions only; verdicts load the policy of their period."""
    return load_policy(settings().policy_dir)


def code_version(*policy_files: str) -> str:
    """Short digest of the named policy files and the code."""
    files = policy_now().digest_of(*policy_files) if policy_files else ""
    return hashlib.sha256(f"{code_identity()} {files}".encode()).hexdigest()[:12]
