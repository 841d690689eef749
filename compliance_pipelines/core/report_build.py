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
from compliance_pipelines.core.policy_archive import POLICY_NAME, policy_json
from compliance_pipelines.core.report_inputs import Replaced, ReportInputs
from compliance_pipelines.core.report_summary import JSON_NAME, summary_json, summary_pdf_name
from compliance_pipelines.core.report_tree import Report

Render = Callable[[Report, Mapping[str, bytes]], bytes]
Summarise = Callable[[Report], bytes]
Sign = Callable[[bytes], bytes | None]
CountPages = Callable[[bytes], int]
# one archived file of a revision of the month by name, b"" when the revision has none
FileOf = Callable[[int, str], bytes]


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
    file_of: FileOf,
    policy_texts: Mapping[str, str],
    reason: str,
    built_at: datetime,
) -> Built:
    """Render as the archive's last revision would be; keep it when nothing changed, else make the next one.

    `files` holds the PDF, the figures embedded in it, the one-page summary (PDF and JSON), the policy and the manifest.
    The PDF of a revision prints its reason: the one given, else the one that says what changed. Rendering an archived
    revision again therefore takes the reason of its manifest.
    """
    decision = evidence.decide(archived, facts.month, inputs.digest)
    tools = _Tools(render, summarise, sign, pages, file_of, archived, policy_texts)
    why = _reason(reason, decision, inputs, tools)
    rendered = _rendered(facts, inputs, decision, tools, why)
    if decision.kind is DecisionKind.IDENTICAL:
        decision = evidence.decide(archived, facts.month, inputs.digest, evidence.sha256(rendered.pdf_unsigned))
        if decision.kind is DecisionKind.IDENTICAL and decision.archived is not None:
            return Built(decision, decision.archived, rendered.files(decision.archived))
        why = _reason(reason, decision, inputs, tools)
        rendered = _rendered(facts, inputs, decision, tools, why)
    manifest = evidence.build_manifest(decision, inputs, rendered, reason=why or None, built_at=built_at)
    return Built(decision, manifest, rendered.files(manifest))


@dataclass(frozen=True, slots=True)
class _Tools:
    render: Render
    summarise: Summarise
    sign: Sign
    pages: CountPages
    file_of: FileOf
    archived: Sequence[Manifest]
    policy_texts: Mapping[str, str]

    def replaced_by(self, decision: Decision) -> Manifest | None:
        """The manifest of the revision before the decided one."""
        place = (decision.month, decision.revision - 1)
        return next((one for one in self.archived if (one.month, one.revision) == place), None)

    def since(self, before: Manifest, inputs: Inputs) -> report_revision.Since:
        """What changed since an archived revision."""
        kept = self.file_of(before.revision, POLICY_NAME)
        return report_revision.since(before, kept, inputs, self.policy_texts)


def _reason(given: str, decision: Decision, inputs: Inputs, tools: _Tools) -> str:
    if decision.kind is DecisionKind.IDENTICAL and decision.archived is not None:
        return decision.archived.reason or ""
    before = tools.replaced_by(decision)
    if before is None or given.strip():
        return given.strip()
    return tools.since(before, inputs).reason_fr


def _rendered(facts: ReportInputs, inputs: Inputs, decision: Decision, tools: _Tools, reason: str) -> Rendered:
    previous = decision.previous
    before = tools.replaced_by(decision)
    if before is not None:
        labels = {one.id: one.label for one in facts.departments}
        figures = tools.file_of(before.revision, "figures.json")
        found = report_revision.changes(tools.since(before, inputs), figures, facts.aggregates, labels)
        replaced = Replaced(before.revision, datetime.fromisoformat(before.built_at), reason)
        # The keys of the policy are told against the replaced revision: the month's own log has them already.
        told = {(one.day, one.description_fr) for one in facts.changes}
        new = tuple(one for one in found if (one.day, one.description_fr) not in told)
        facts = replace(facts, changes=(*new, *facts.changes), replaced=replaced)
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
    beside = {
        summary_pdf_name(facts.month): tools.summarise(tree),
        JSON_NAME: summary_json(tree),
        POLICY_NAME: policy_json(tools.policy_texts),
    }
    return Rendered(
        pdf_unsigned=pdf, pdf_signed=tools.sign(pdf), pages=tools.pages(pdf), attachments={**attached, **beside}
    )
