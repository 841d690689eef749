"""The one-page summary as data: `summary.json`, the figures of the first page for a program to read.

The same verdict, key figures and scope as the printed summary, with the digests that lead back to the whole
report. Archived beside the report, under the same manifest. Pure; canonical JSON, so that bytes repeat.
"""

from __future__ import annotations

import json

from compliance_pipelines.core.report_tree import FactList, Report

SCHEMA = "compliance-pipelines/summary/1"
JSON_NAME = "summary.json"


def summary_pdf_name(month: str) -> str:
    """The archived file name of the one-page PDF of a month."""
    return f"bias-summary-{month}.pdf"


def summary_json(report: Report) -> bytes:
    """Return the first page as canonical JSON: verdict, reason, key figures, scope, identity."""
    first = report.sections[0]
    scope = [pair for block in first.blocks if isinstance(block, FactList) for pair in block.items]
    document = {
        "schema": SCHEMA,
        "month": report.month,
        "revision": report.revision,
        "verdict": report.verdict.value,
        "reason": report.verdict_reason,
        "synthetic": report.synthetic,
        "indicative": report.lexical,
        "signed": report.signed,
        "policy_digest": report.policy_digest,
        "input_digest": report.input_digest,
        "code_version": report.code_version,
        "scope": dict(scope),
        "figures": [
            {"metric": item.metric, "name": item.name, "value": item.value, "state": item.state}
            for item in report.figures
            if item.section == first.number
        ],
    }
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return (text + "\n").encode("utf-8")
