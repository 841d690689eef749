"""Small groups: what is masked cannot be read anywhere, and no total gives it back.

The proof is by difference: two months that differ only in the figures of a masked group must give the same tree and the
same attachments, to the byte. Whatever an attacker computes from the report, it then does not depend on the group.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.report_inputs import CoverageFacts, DailyPoint, OversightFacts, ReportInputs
from compliance_pipelines.core.report_tree import BarsChart, Report, Table
from compliance_pipelines_tests import report_samples as samples

SMALL = "direction-transformation"


def table(report: Report, section: int, caption: str) -> Table:
    """The table of a section by the start of its caption."""
    blocks = report.sections[section - 1].blocks
    return next(b for b in blocks if isinstance(b, Table) and b.caption.startswith(caption))


def month(n: int, mean: float) -> ReportInputs:
    """A month where one department has n traces (1 to 4) of the given mean."""
    base = samples.inputs()
    rows = tuple(
        samples.aggregate(SMALL, row.metric, n, mean, row.threshold, ci_low=mean, ci_high=mean)
        if row.department == SMALL
        else row
        for row in base.aggregates
    )
    coverage = tuple(
        CoverageFacts(SMALL, n, n, 0, n, n - 1, n, 0, n, n, 0) if facts.department == SMALL else facts
        for facts in base.coverage
    )
    oversight = tuple(
        OversightFacts(SMALL, n, n, 0, n, n, 0, float(n)) if facts.department == SMALL else facts
        for facts in base.oversight
    )
    daily = tuple(
        DailyPoint(SMALL, point.metric, point.day, mean, n) if point.department == SMALL else point
        for point in base.daily
    )
    extraction = replace(
        base.extraction, rows_read=base.extraction.rows_read + n, retained=base.extraction.retained + n
    )
    return replace(base, aggregates=rows, coverage=coverage, oversight=oversight, daily=daily, extraction=extraction)


@pytest.mark.parametrize(("n", "mean"), [(1, 0.11), (2, 0.62), (4, 0.99)])
def test_a_masked_department_leaves_no_trace(n, mean):
    reference, other = build_report(month(3, 0.5)), build_report(month(n, mean))
    assert other == reference
    assert attachments(other) == attachments(reference)


def test_the_same_department_is_published_from_five_on():
    four, five = build_report(month(4, 0.5)), build_report(month(5, 0.5))
    assert four != five
    published = [f for f in five.figures if f.department == SMALL and f.metric == "judge_neutrality"]
    assert {f.state for f in published} == {"publié"}
    hidden = [f for f in four.figures if f.department == SMALL]
    assert hidden
    assert {f.state for f in hidden} == {"non communiqué"}


def with_claims(n: int, uncited: int) -> ReportInputs:
    """A month where a large department has only n answers with a claim."""
    base = samples.inputs()
    name, mean = "direction-souscription", round(1 - uncited / n, 4)
    rows = tuple(
        samples.aggregate(name, row.metric, n, mean, row.threshold, n_traces=1204)
        if row.department == name and row.metric.startswith(("citation_", "figure_"))
        else row
        for row in base.aggregates
    )
    coverage = tuple(
        replace(facts, claims_detected=n, uncited=uncited, self_evaluated=n, low_self_confidence=0)
        if facts.department == name
        else facts
        for facts in base.coverage
    )
    return replace(base, aggregates=rows, coverage=coverage)


def test_a_small_base_inside_a_large_department_is_masked_for_that_measure_only():
    report = build_report(with_claims(3, 1))
    mine = [f for f in report.figures if f.department == "direction-souscription"]
    assert {f.state for f in mine if f.metric == "citation_compliance"} == {"non communiqué"}
    assert "publié" in {f.state for f in mine if f.metric == "judge_neutrality"}


@pytest.mark.parametrize(("n", "uncited"), [(1, 1), (2, 0), (4, 3)])
def test_totals_of_claims_do_not_give_a_small_base_back(n, uncited):
    reference, other = build_report(with_claims(3, 1)), build_report(with_claims(n, uncited))
    assert other.sections[0] == reference.sections[0]
    by_claims = {"réponses à affirmation", "auto-évaluations"}
    ours, theirs = table(other, 3, "Couverture"), table(reference, 3, "Couverture")
    assert [r for r in ours.rows if r[3].text in by_claims] == [r for r in theirs.rows if r[3].text in by_claims]


def test_zero_is_not_a_group():
    report = build_report(samples.inputs())
    mine = [f for f in report.figures if f.department == "direction-rh" and f.metric == "judge_neutrality"]
    assert {f.name: f.value for f in mine}["n_scored"] == 0
    assert {f.name: f.state for f in mine}["mean"] == "non mesuré"


def test_split_of_few_opinions_is_masked_and_not_drawn():
    report = build_report(samples.inputs())
    row = next(r for r in table(report, 4, "Avis").rows if r[0].text == "Actuariat")
    assert [cell.text for cell in row[2:4]] == ["n. c.", "n. c."]
    chart = next(block for block in report.sections[3].blocks if isinstance(block, BarsChart))
    bars = {bar.label: bar.values for bar in chart.rows}
    assert len(bars["Actuariat"]) == 1
    assert len(bars["Sinistres"]) == 2
