"""One month's report, decided and built: inputs, decision against the archive, rendering, manifest.

Pure but for the renderer and signer handed in. The same inputs give the archived revision again, byte for
byte; changed inputs give revision n+1 with a reason, written by a person or, failing that, naming what
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from compliance_pipelines.core import evidence, report, report_revision
from compliance_pipelines.core.evidence import Decision, DecisionKind, Inputs, Manifest, Rendered
from compliance_pipelines.core.report_inputs import ReportInputs
from compliance_pipelines.core.report_summary import JSON_NAME, summary_json, summary_pdf_name
from compliance_pipelines.core.report_tree import Report

Render = Callable[[Report, Mapping[str, bytes]], bytes]
Summarise = Callable[[Report], bytes]
Sign = Callable[[bytes], bytes | None]
CountPages = Callable[[bytes], int]
# attached figures (JSON) of an archived revision of the month
FiguresOf = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class Built:
    """A report ready to be archived (or already archived: `kind` IDENTICAL, then `files` are the archived bytes)."""

    decision: Decision
    manifest: Manifest
    files: Mapping[str, bytes]


def build(
    facts: ReportInputs,
    inputs: Inputs,
    archived: Sequence[Manifest],
    *,
    render: Render,
    summarise: Summarise,
    sign: Sign,
    pages: CountPages,
    figures_of: FiguresOf,
    reason: str,
    built_at: datetime,
) -> Built:
    """Render as the archive's last revision would be; keep it when nothing changed, else make the next one.

    `files` holds the PDF, the figures embedded in it, the one-page summary (PDF and JSON) and the manifest.
    """
    decision = evidence.decide(archived, facts.month, inputs.digest)
    tools = _Tools(render, summarise, sign, pages, figures_of, archived)
    rendered = _rendered(facts, inputs, decision, tools)
    if decision.kind is DecisionKind.IDENTICAL:
        decision = evidence.decide(archived, facts.month, inputs.digest, evidence.sha256(rendered.pdf_unsigned))
        if decision.kind is DecisionKind.IDENTICAL and decision.archived is not None:
            return Built(decision, decision.archived, rendered.files(decision.archived))
        rendered = _rendered(facts, inputs, decision, tools)
    why = reason or (_automatic_reason(decision.archived, inputs) if decision.archived else "")
    manifest = evidence.build_manifest(decision, inputs, rendered, reason=why or None, built_at=built_at)
    return Built(decision, manifest, rendered.files(manifest))


@dataclass(frozen=True, slots=True)
class _Tools:
    render: Render
    summarise: Summarise
    sign: Sign
    pages: CountPages
    figures_of: FiguresOf
    archived: Sequence[Manifest]


def _rendered(facts: ReportInputs, inputs: Inputs, decision: Decision, tools: _Tools) -> Rendered:
    previous = decision.previous
    replaced = next((m for m in tools.archived if (m.month, m.revision) == (facts.month, decision.revision - 1)), None)
    if replaced is not None:
        since = report_revision.changes(replaced, tools.figures_of(replaced.revision), inputs, facts.aggregates)
        facts = replace(facts, changes=(*since, *facts.changes))
    printed = replace(
        facts,
        revision=decision.revision,
        input_digest=inputs.digest,
        previous_manifest_sha256=previous.manifest_sha256 if previous else None,
    )
    tree = report.build_report(printed)
    attached = report.attachments(tree)
    pdf = tools.render(tree, attached)
    # The summary is archived beside the report, under the same manifest; only the figures are embedded in the PDF.
    beside = {summary_pdf_name(facts.month): tools.summarise(tree), JSON_NAME: summary_json(tree)}
    return Rendered(
        pdf_unsigned=pdf, pdf_signed=tools.sign(pdf), pages=tools.pages(pdf), attachments={**attached, **beside}
    )


def _automatic_reason(before: Manifest, inputs: Inputs) -> str:
    changed = report_revision.differences(before, inputs)
    return "recalcul, entrées modifiées : " + (", ".join(changed) or "mise en page")
