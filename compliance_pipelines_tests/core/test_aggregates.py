"""Aggregates: counts, means and quantiles by hand, silence, and properties over random judgements."""

import math
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance_pipelines.core.aggregates import MetricRules, gather
from compliance_pipelines.core.conformity import VerdictRules
from compliance_pipelines.core.records import Aggregate, Judgement, Status, Verdict
from compliance_pipelines.core.tables import frame

WHEN = datetime(2026, 6, 2, 10, tzinfo=UTC)
PERIOD = (datetime(2026, 5, 31, 22, tzinfo=UTC), datetime(2026, 6, 30, 22, tzinfo=UTC))


def judgement(
    k: int, value: float | None, status: Status = Status.SCORED, weight: float = 1.0, metric: str = "m"
) -> Judgement:
    reason = None if status is Status.SCORED else "why"
    return Judgement(f"t{k}", "d", WHEN, metric, value, status, reason, "e", weight)


def one(
    judgements: list[Judgement], *, threshold: float | None = 0.7, metric: str = "m", n: int | None = None
) -> Aggregate:
    rules = MetricRules(metric, lambda _: threshold, lambda _: True, indicative=False)
    apart = np.arange(len(judgements))
    found = gather(
        frame(judgements, Judgement), apart, {"d": len(judgements) if n is None else n}, ["d"], [rules], PERIOD,
        VerdictRules(2, 0.5), "x" * 64,
    )  # fmt: skip
    assert len(found) == 1
    return found[0]


def test_by_hand() -> None:
    row = one(
        [judgement(0, 1.0), judgement(1, 0.5, weight=2.0), judgement(2, 0.6), judgement(3, None, Status.UNSCORED)]
    )
    assert row.mean == pytest.approx(0.7)
    assert row.weighted_mean == pytest.approx((1.0 + 1.0 + 0.6) / 4)
    assert row.min == 0.5
    assert row.p5 == pytest.approx(0.51)
    assert row.share_below == pytest.approx(2 / 3)
    assert (row.n_traces, row.n_eligible, row.n_sampled, row.n_scored, row.n_unscored) == (4, 4, 4, 3, 1)
    assert (row.period_start, row.period_end) == PERIOD
    assert row.verdict is Verdict.CONFORME
    assert row.margin_established is False


@pytest.mark.parametrize(("threshold", "share"), [(0.7, 1 / 3), (0.0, 0.0), (None, None)])
def test_a_score_at_the_threshold_is_not_below_it(threshold: float | None, share: float | None) -> None:
    found = one([judgement(0, 0.7), judgement(1, 0.5), judgement(2, 0.9)], threshold=threshold).share_below
    assert found == (share if share is None else pytest.approx(share))


def test_unscored_is_not_zero() -> None:
    row = one([judgement(0, 0.9), judgement(1, 0.9), judgement(2, None, Status.UNSCORED)])
    assert row.mean == pytest.approx(0.9)


def test_not_sampled_is_eligible_but_not_sampled_and_not_applicable_is_neither() -> None:
    row = one([judgement(0, 0.9), judgement(1, None, Status.NOT_SAMPLED), judgement(2, None, Status.NOT_APPLICABLE)])
    assert (row.n_eligible, row.n_sampled, row.n_scored, row.n_unscored) == (2, 1, 1, 0)


def test_withheld_counts_as_unscored() -> None:
    assert one([judgement(0, 0.9), judgement(1, None, Status.WITHHELD)]).n_unscored == 1


def test_silence_is_a_row_without_figures() -> None:
    row = one([], n=0)
    assert row.n_traces == 0
    assert (row.mean, row.weighted_mean, row.p5, row.min, row.share_below, row.ci_low) == (None,) * 6
    assert row.verdict is Verdict.INSUFFISANT


def test_proportions_get_wilson() -> None:
    rows = [judgement(k, float(k < 8), metric="citation_compliance") for k in range(10)]
    row = one(rows, metric="citation_compliance")
    assert (row.ci_low, row.ci_high) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_a_conversation_counts_once_however_many_traces_it_has() -> None:
    """Two talks of three equal traces each tell as much as two traces: the interval spans both talks."""
    rows = [judgement(k, 0.2 if k < 3 else 0.8) for k in range(6)]
    rules = [MetricRules("m", lambda _: 0.7, lambda _: True, indicative=False)]
    found = gather(
        frame(rows, Judgement), np.array([7, 7, 7, 2, 2, 2]), {"d": 6}, ["d"], rules, PERIOD,
        VerdictRules(2, 0.5), "x" * 64,
    )  # fmt: skip
    assert (found[0].ci_low, found[0].ci_high) == pytest.approx((0.2, 0.8))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from(list(Status)), st.sampled_from([1.0, 2.0])), max_size=40))
def test_properties(drawn: list[tuple[float, Status, float]]) -> None:
    rows = [judgement(k, v if s is Status.SCORED else None, s, w) for k, (v, s, w) in enumerate(drawn)]
    row = one(rows)
    assert row.n_scored + row.n_unscored == row.n_sampled <= row.n_eligible <= row.n_traces
    scored = [v for v, s, _ in drawn if s is Status.SCORED]
    assert (row.mean is None) == (not scored)
    if scored:
        assert row.mean == pytest.approx(math.fsum(scored) / len(scored))
        assert min(scored) == row.min <= (row.p5 or 0) + 1e-12
        assert min(scored) - 1e-12 <= (row.weighted_mean or 0) <= max(scored) + 1e-12
    if row.ci_low is not None and row.ci_high is not None:
        assert 0 <= row.ci_low <= row.ci_high <= 1
