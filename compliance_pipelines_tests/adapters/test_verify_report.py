"""The report as it is really rendered, archived and verified: print, attachments and figures agree, and
forgeries do not.

The forgeries render a report from other aggregates than the attached ones, with every digest in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.pdf import render
from compliance_pipelines.adapters.verify_pdf import read_pdf
from compliance_pipelines.core import report as reporting
from compliance_pipelines.core.evidence import (
    DataDigest,
    Inputs,
    Judge,
    Rendered,
    Window,
    archived_manifests,
    build_manifest,
    decide,
    sha256,
    utc_text,
)
from compliance_pipelines.core.records import Aggregate, Verdict
from compliance_pipelines.core.report_inputs import ReportInputs
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines.core.verify import Verification
from compliance_pipelines_tests import report_samples
from compliance_pipelines_tests.evidence_samples import verify_all, verify_month

BUILT_AT = datetime(2026, 7, 1, 4, 5, tzinfo=UTC)


def evidence_inputs(inputs: ReportInputs) -> Inputs:
    data = DataDigest(asset="department/monthly", partitions=(inputs.month,), rows=1, sha256=sha256(b"rows"))
    return Inputs(
        data=(data,),
        policy_digest=inputs.policy_digest,
        code_version=inputs.code_version,
        judge=Judge(model=inputs.judge.name, digest=None, prompt_sha256=None, calibration=None),
        window=Window(start=utc_text(inputs.window_start), end=utc_text(inputs.window_end), timezone="Europe/Paris"),
        scheduled_at=inputs.scheduled_at,
    )


def archived(
    archive: DirectoryArchive,
    inputs: ReportInputs,
    printed: Callable[[Aggregate], Aggregate] = lambda row: row,
    **forged: object,
) -> None:
    """Archive a report; `printed` and `forged` change what the pages are made from, not what is attached."""
    facts = evidence_inputs(inputs)
    decision = decide(archived_manifests(archive), inputs.month, facts.digest)
    link = decision.previous.manifest_sha256 if decision.previous else None
    inputs = replace(inputs, input_digest=facts.digest, revision=decision.revision, previous_manifest_sha256=link)
    attachments = reporting.attachments(reporting.build_report(inputs))
    other = replace(inputs, aggregates=tuple(printed(row) for row in inputs.aggregates), **forged)  # type: ignore[arg-type]
    pdf = render(reporting.build_report(other), attachments)
    made = Rendered(pdf, None, read_pdf(pdf).pages, attachments)
    manifest = build_manifest(decision, facts, made, reason="essai", built_at=BUILT_AT)
    files = made.files(manifest)
    archive.put_revision(inputs.month, decision.revision, files, retain_until(BUILT_AT, 7))


def failures(result: Verification) -> dict[str, str]:
    return {check.name_fr: check.detail_fr for check in result.checks if not check.ok}


@pytest.mark.parametrize("make", [report_samples.inputs, report_samples.lexical_inputs])
def test_the_real_report_is_valid(tmp_path: Path, make: Callable[[], ReportInputs]) -> None:
    archive = DirectoryArchive(tmp_path)
    archived(archive, make())
    result = verify_month(archive, make().month)
    assert result.exit_code == 0, result.lines_fr()
    figures = next(check for check in result.checks if check.name_fr == "Chiffres imprimés")
    published = [
        row
        for row in make().aggregates
        if row.mean is not None and row.metric in {"judge_neutrality", "lexical_neutrality", "citation_compliance"}
    ]
    assert int(figures.detail_fr.split()[0]) >= len(published)


def change(metric: str, **changes: object) -> Callable[[Aggregate], Aggregate]:
    def printed(row: Aggregate) -> Aggregate:
        chosen = row.metric == metric and row.department == "direction-sinistres"
        return replace(row, **changes) if chosen else row  # type: ignore[arg-type]

    return printed


@pytest.mark.parametrize(
    ("metric", "changes"),
    [
        ("judge_neutrality", {"n_scored": 848}),
        ("judge_neutrality", {"mean": 0.825}),
        ("judge_neutrality", {"min": 0.53}),
        ("judge_neutrality", {"weighted_mean": 0.9}),
        ("judge_neutrality", {"ci_high": 0.99}),
        ("figure_grounding", {"ci_low": 0.1}),
        ("judge_neutrality", {"threshold": 0.6}),
        ("judge_neutrality", {"verdict": Verdict.INSUFFISANT}),
        ("citation_compliance", {"n_scored": 339}),
        ("citation_compliance", {"mean": 0.871}),
        ("citation_marker", {"mean": 0.941}),
        ("figure_grounding", {"mean": 0.885}),
    ],
)
def test_print_made_from_other_figures_is_found(tmp_path: Path, metric: str, changes: dict[str, object]) -> None:
    archive = DirectoryArchive(tmp_path)
    archived(archive, report_samples.inputs(), change(metric, **changes))
    found = failures(verify_month(archive, "2026-06"))
    assert list(found) == ["Chiffres imprimés"]
    assert "direction-sinistres" in found["Chiffres imprimés"]


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ("coverage", "première page, share_with_score"),
        ("oversight", "première page, share_with_feedback"),
        ("sycophancy", "direction-sinistres, sondes"),
        ("counterfactual", "paire gender-sinistres-01"),
        ("extraction", "section 8, duplicates"),
        ("previous_manifest_sha256", "manifeste précédent"),
        ("policy_digest", "empreinte de la politique"),
    ],
)
def test_print_of_any_section_made_from_other_facts_is_found(tmp_path: Path, field: str, place: str) -> None:
    base = report_samples.inputs()
    assert base.counterfactual is not None
    assert base.sycophancy is not None
    forged = {
        "coverage": tuple(replace(one, with_retrieval_score=one.requests) for one in base.coverage),
        "oversight": tuple(replace(one, feedback_up=one.feedback_up + 9) for one in base.oversight),
        "sycophancy": tuple(replace(one, flips=one.flips + 9) for one in base.sycophancy),
        "counterfactual": replace(
            base.counterfactual, pairs=tuple(replace(pair, p_holm=0.9) for pair in base.counterfactual.pairs)
        ),
        "extraction": replace(base.extraction, duplicates=base.extraction.duplicates + 10),
        "previous_manifest_sha256": "0" * 64,
        "policy_digest": "0" * 64,
    }[field]
    archive = DirectoryArchive(tmp_path)
    if field == "previous_manifest_sha256":
        archived(archive, replace(base, month="2026-05"))
    archived(archive, base, **{field: forged})
    figures = next(check for check in verify_month(archive, "2026-06").checks if check.name_fr == "Chiffres imprimés")
    assert not figures.ok
    assert place in figures.detail_fr
    assert field == "previous_manifest_sha256" or "manifeste précédent" not in figures.detail_fr


@pytest.mark.soak
def test_seven_years_are_verified_within_half_a_minute(tmp_path: Path) -> None:
    archive = DirectoryArchive(tmp_path)
    for number in range(84):
        month = f"{2026 + number // 12}-{number % 12 + 1:02d}"
        archived(archive, replace(report_samples.inputs(), month=month))
    started = time.process_time()
    results = verify_all(archive)
    assert [result.exit_code for result in results] == [0] * 85
    assert time.process_time() - started <= 30


def called(*names: str) -> ReportInputs:
    """The report of departments, and of an organisation, that are called by the words of a verdict."""
    inputs = report_samples.inputs()
    departments = tuple(
        replace(facts, label=name) for facts, name in zip(inputs.departments, names, strict=False)
    ) + tuple(inputs.departments[len(names) :])
    return replace(inputs, departments=departments, organisation="Groupe Sans objet et Conforme")


NAMES = ("Conforme", "Non conforme", "Données insuffisantes", "Direction Sans objet – Indicatif")


def test_a_department_called_by_the_words_of_a_verdict_is_verified_like_any_other(tmp_path: Path) -> None:
    archive = DirectoryArchive(tmp_path)
    inputs = called(*NAMES)
    archived(archive, inputs)
    result = verify_month(archive, inputs.month)
    assert failures(result) == {}


def test_and_its_forged_figures_are_found(tmp_path: Path) -> None:
    archive = DirectoryArchive(tmp_path)
    inputs = called(*NAMES)
    archived(archive, inputs, change("judge_neutrality", mean=0.825))
    assert "Chiffres imprimés" in failures(verify_month(archive, inputs.month))
