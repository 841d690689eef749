"""Small groups: what is masked cannot be read anywhere, and no total gives it back.

The proof is by difference: two months that differ only in the figures of a masked group must give the same tree and the
same attachments, to the byte. Whatever an attacker computes from the report, it then does not depend on the group.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.report_inputs import CoverageFacts, DailyPoint, OversightFacts, ReportInputs
from compliance_pipelines.core.report_shares import Share, total
from compliance_pipelines.core.report_suppress import build_mask
from compliance_pipelines.core.report_tree import BarsChart, Report, Table
from compliance_pipelines_tests import report_samples as samples
from compliance_pipelines_tests.golden.months import may

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


@pytest.mark.parametrize(("traces", "hidden"), [(0, False), (1, True), (4, True), (5, False)])
def test_one_to_four_traces_hide_a_department(traces, hidden):
    row = replace(samples.inputs().aggregates[0], n_traces=traces)
    assert build_mask([row], [], [], 5).departments == ({row.department} if hidden else set())
    facts = [CoverageFacts(SMALL, traces, traces, 0, 0, 0, 0, 0, 0, 0, 0)]
    assert build_mask([], facts, [], 5).hides(SMALL) is hidden
    seen = [OversightFacts(SMALL, traces, 0, 0, 0, 0, 0, None)]
    assert build_mask([], [], seen, 5).hides(SMALL) is hidden


@pytest.mark.parametrize("base", ["n_eligible", "n_sampled", "n_scored"])
def test_each_base_of_a_row_can_hide_it(base):
    row = replace(samples.inputs().aggregates[0], n_traces=90, n_eligible=90, n_sampled=90, n_scored=90)
    small = build_mask([replace(row, **{base: 4})], [], [], 5)
    assert (small.rows, small.departments) == ({(row.department, row.metric)}, set())
    assert not build_mask([row], [], [], 5).any


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
    assert "Actuariat" not in bars  # fewer than five opinions: the length of the bar would count them
    assert len(bars["Sinistres"]) == 2
    assert "Non représentées" in chart.description


def with_uncited(uncited: int, marked: int) -> ReportInputs:
    """A month where one large department has few answers without a source, and as few without a marker."""
    base, name, n = samples.inputs(previous=may(0.0)), "direction-souscription", 95
    means = {"citation_compliance": 1 - uncited / n, "citation_marker": 1 - marked / n}
    rows = tuple(
        samples.aggregate(name, row.metric, n, means[row.metric], row.threshold, n_traces=1204)
        if row.department == name and row.metric in means
        else row
        for row in base.aggregates
    )
    coverage = tuple(
        replace(facts, claims_detected=n, uncited=uncited) if facts.department == name else facts
        for facts in base.coverage
    )
    return replace(base, aggregates=rows, coverage=coverage)


@pytest.mark.parametrize(("uncited", "marked"), [(1, 1), (2, 4), (4, 2), (4, 1)])
def test_a_small_numerator_of_a_large_base_is_nowhere(uncited, marked):
    reference, other = build_report(with_uncited(3, 3)), build_report(with_uncited(uncited, marked))
    assert other == reference
    assert attachments(other) == attachments(reference)
    row = next(r for r in table(other, 3, "Citation des sources").rows if r[0].text == "Souscription")
    assert [cell.text.replace(fmt.NNBSP, " ") for cell in row[1:4]] == ["95", "> 94,7 %", "n. c."]


def with_flags(flagged: int, weighted: float) -> ReportInputs:
    """A month where one large department has few traces flagged for a protected attribute, and many are elsewhere."""
    base, name = samples.inputs(), "direction-souscription"
    rows = tuple(replace(row, weighted_mean=weighted) if row.department == name else row for row in base.aggregates)
    coverage = tuple(
        replace(facts, protected_attr_flagged=flagged if facts.department == name else 60 - flagged)
        if facts.department in {name, "direction-it"}
        else facts
        for facts in base.coverage
    )
    return replace(base, aggregates=rows, coverage=coverage)


@pytest.mark.parametrize(("flagged", "weighted"), [(1, 0.8457), (2, 0.8463), (4, 0.8441)])
def test_two_means_do_not_count_the_flagged_traces(flagged, weighted):
    reference, other = build_report(with_flags(3, 0.8449)), build_report(with_flags(flagged, weighted))
    assert other == reference
    assert attachments(other) == attachments(reference)
    row = next(r for r in table(other, 2, "Neutralité par direction").rows if r[0].text == "Souscription")
    assert row[5].text == fmt.MASKED
    assert build_report(with_flags(5, 0.8449)) != reference


def test_a_weighted_mean_of_yes_and_no_is_not_attached():
    """With whole numbers behind both means, (k + a) / (N + F) gives the flagged F back: only neutrality has one."""
    report = build_report(samples.inputs())
    weighted = {figure.metric for figure in report.figures if figure.name == "weighted_mean"}
    assert weighted == {"judge_neutrality"}


def with_opinions(up: int, down: int, reviewed: int, overridden: int) -> ReportInputs:
    """A month where one department gave its opinion, and reviewed, as many times as given."""
    base, name = samples.inputs(), "direction-souscription"
    oversight = tuple(
        replace(
            facts, traces=400, feedback_up=up, feedback_down=down, queued=90, reviewed=reviewed, overridden=overridden
        )
        if facts.department == name
        else facts
        for facts in base.oversight
    )
    return replace(base, oversight=oversight)


@pytest.mark.parametrize(
    ("facts", "others"),
    [
        ((2, 1, 20, 10), [(1, 0, 20, 10), (3, 1, 20, 10)]),  # few opinions
        ((38, 2, 20, 10), [(36, 4, 20, 10), (39, 1, 20, 10)]),  # many, few of one kind
        ((30, 10, 3, 1), [(30, 10, 1, 1), (30, 10, 4, 0), (30, 10, 2, 2)]),  # few reviews
        ((30, 10, 20, 3), [(30, 10, 20, 1), (30, 10, 20, 4)]),  # few overrides
        ((30, 10, 88, 40), [(30, 10, 87, 40), (30, 10, 89, 40)]),  # few left without review
    ],
)
def test_few_opinions_and_few_reviews_are_nowhere(facts, others):
    reference = build_report(with_opinions(*facts))
    for other in others:
        found = build_report(with_opinions(*other))
        assert found.sections[0] == reference.sections[0]
        assert attachments(found) == attachments(reference)
        assert [b for b in found.sections[3].blocks if not isinstance(b, Table)] == [
            b for b in reference.sections[3].blocks if not isinstance(b, Table)
        ]
        ours, theirs = table(found, 4, "Avis"), table(reference, 4, "Avis")
        assert ours == theirs


@pytest.mark.parametrize("seen", [41, 42, 44])
def test_the_gap_between_two_rates_is_no_small_group(seen):
    """40 of 400 gave their opinion, `seen` gave it or were reviewed: 1 to 4 were reviewed only."""

    def built(n: int) -> Report:
        base, name = with_opinions(30, 10, 20, 10), "direction-souscription"
        row = samples.aggregate(name, "human_oversight", 400, n / 400, None, n_traces=400)
        others = tuple(r for r in base.aggregates if (r.department, r.metric) != (name, row.metric))
        return build_report(replace(base, aggregates=(*others, row)))

    report = built(seen)
    assert report == built(43)
    assert attachments(report) == attachments(built(43))
    assert attachments(built(45)) != attachments(report)


@pytest.mark.parametrize(
    ("part", "base", "text", "least"),
    [
        (0, 90, "0,0 %", 0),
        (1, 90, "< 5,6 %", 1),
        (4, 90, "< 5,6 %", 1),
        (5, 90, "5,6 %", 5),
        (2, 13, "< 38,5 %", 1),
        (85, 90, "94,4 %", 85),
        (86, 90, "> 94,4 %", 86),
        (89, 90, "> 94,4 %", 86),
        (90, 90, "100,0 %", 90),
        (3, 7, "n. c.", 3),  # both sides are small: 3 to 4 of 7
        (0, 0, "—", 0),
    ],
)
def test_shares_as_printed_and_the_least_they_may_stand_for(part, base, text, least):
    share = Share(part, base, 5)
    assert share.text.replace(fmt.NNBSP, " ") == text.replace("n. c.", fmt.MASKED.replace(fmt.NNBSP, " "))
    assert share.least == least


def test_a_rare_event_of_the_month_is_no_number():
    base = samples.inputs()
    first = replace(base.coverage[0], protected_attr_flagged=3)
    rest = tuple(replace(facts, protected_attr_flagged=0) for facts in base.coverage[1:])
    report = build_report(replace(base, coverage=(first, *rest)))
    row = next(r for r in table(report, 3, "Couverture").rows if r[0].text.startswith("Raisonnement"))
    assert row[1].text == "n. c."
    assert row[4].text.startswith("<")
    assert [f.state for f in report.figures if f.name == "Raisonnement sur un critère protégé"] == ["non communiqué"]


@given(
    parts=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), min_size=1, max_size=8),
    limit=st.integers(2, 12),
)
def test_a_bound_is_always_true_and_says_no_more_than_the_base(parts, limit):
    shares = [Share(min(part, base), base, limit) for part, base in parts]
    for one in shares:
        small = 0 < one.part < limit or 0 < one.base - one.part < limit
        assert (one.hidden is not None) == small
        assert one.least <= one.part
        if one.bound is not None:
            value = one.part / one.base
            assert value < one.bound if one.hidden == "low" else value > one.bound
            twins = [Share(part, one.base, limit) for part in range(one.base + 1)]
            alike = [twin for twin in twins if twin.hidden == one.hidden]
            assert {(twin.text, twin.least) for twin in alike} == {(one.text, one.least)}
    found = total(shares, limit)
    assert found.exact == all(one.hidden is None for one in shares)
    assert found.least <= sum(one.part for one in shares)
    assert found.base == sum(one.base for one in shares)
