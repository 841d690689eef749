"""Intervals against known values and properties; kappa; seeds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance_pipelines.core import statistics


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (50, 100, 0.4038, 0.5962),
        (1, 1, 0.2065, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson_matches_published_values(successes: int, n: int, low: float, high: float) -> None:
    found = statistics.wilson(successes, n)
    assert found == pytest.approx((low, high), abs=5e-5)


def test_wilson_of_nothing_is_none() -> None:
    assert statistics.wilson(0, 0) is None


def test_wilson_refuses_impossible_counts() -> None:
    with pytest.raises(ValueError, match="successes"):
        statistics.wilson(3, 2)


@given(st.integers(1, 500), st.data())
def test_wilson_contains_the_share(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    low, high = statistics.wilson(k, n) or (1, 0)
    assert 0 <= low <= k / n <= high <= 1


def test_mean_interval_covers_the_true_mean_about_95_times_in_100() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for k in range(200):
        values = rng.beta(8, 2, size=60)
        low, high = statistics.mean_interval(values, np.arange(60), k) or (1, 0)
        covered += low <= 0.8 <= high
    assert 180 <= covered <= 199


def test_clustered_traces_widen_the_interval() -> None:
    rng = np.random.default_rng(5)
    by_session = np.repeat(rng.beta(4, 2, size=40), 10)
    apart = statistics.mean_interval(by_session, np.arange(400), 1) or (0, 0)
    together = statistics.mean_interval(by_session, np.repeat(np.arange(40), 10), 1) or (0, 0)
    assert together[1] - together[0] > 2 * (apart[1] - apart[0])


def test_many_clusters_give_the_interval_of_the_bootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(7).beta(5, 2, size=4000)
    bootstrap = statistics.mean_interval(values, np.arange(4000), 1) or (0, 0)
    monkeypatch.setattr(statistics, "BOOTSTRAP_CLUSTERS", 100)
    normal = statistics.mean_interval(values, np.arange(4000), 1) or (0, 0)
    assert normal == pytest.approx(bootstrap, abs=1e-3)


def test_beyond_the_bootstrap_the_interval_is_the_normal_one_of_the_conversations() -> None:
    k = statistics.BOOTSTRAP_CLUSTERS + 1
    values = np.random.default_rng(13).beta(5, 2, size=k)
    half = 1.959964 * values.std(ddof=1) / np.sqrt(k)
    found = statistics.mean_interval(values, np.arange(k), 1)
    assert found == pytest.approx((values.mean() - half, values.mean() + half), abs=1e-8)


def test_talks_of_unequal_length_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    values, talks = np.array([0.2, 0.4, 0.6, 0.8, 0.8, 0.7, 0.5]), np.array([0, 0, 1, 2, 2, 2, 3])
    monkeypatch.setattr(statistics, "BOOTSTRAP_CLUSTERS", 3)
    # mean 4/7; residuals -0.5429, 0.0286, 0.5857, -0.0714; their squares 0.643673, times 4/3, root, by 7 traces
    assert statistics.mean_interval(values, talks, 1) == pytest.approx((0.312039, 0.830818), abs=2e-6)


def test_no_interval_leaves_the_unit_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "BOOTSTRAP_CLUSTERS", 3)
    low, high = statistics.mean_interval(np.array([1.0, 1.0, 1.0, 0.2]), np.arange(4), 1) or (1, 0)
    assert (low, high) == (pytest.approx(0.8 - 1.959964 * 0.2), 1.0)  # 1.192 uncut
    low, high = statistics.mean_interval(np.array([0.0, 0.0, 0.0, 0.8]), np.arange(4), 1) or (1, 0)
    assert (low, high) == (0.0, pytest.approx(0.2 + 1.959964 * 0.2))


def test_a_resample_is_divided_by_the_traces_it_drew() -> None:
    """One trace of 0.2 and a talk of nine of 0.8: whatever is drawn, no mean lies beyond the two."""
    values, talks = np.array([0.2, *[0.8] * 9]), np.array([0, *[1] * 9])
    assert statistics.mean_interval(values, talks, 1) == pytest.approx((0.2, 0.8))


def test_an_interval_once_printed_is_found_again() -> None:
    """A report of years ago is computed again: replicates, level and draws are part of its figures."""
    values = np.linspace(0, 1, 50)
    found = statistics.mean_interval(values, np.arange(50), 9)
    assert found == pytest.approx((0.416734693878, 0.583295918367), abs=1e-9)


def test_one_conversation_shows_no_spread() -> None:
    assert statistics.mean_interval(np.array([0.2, 0.9]), np.array([0, 0]), 1) is None


@pytest.mark.parametrize("value", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("k", [2, 22, 400, 6000])
def test_scores_that_are_all_alike_leave_room_for_what_was_not_seen(value: float, k: int) -> None:
    low, high = statistics.mean_interval(np.full(k, value), np.arange(k), 1) or (1, 0)
    share, _ = statistics.wilson(k, k) or (1, 0)
    assert (low, high) == pytest.approx((value * share, value * share + 1 - share))
    assert 0 <= low <= value <= high <= 1
    assert high - low > 0


def test_conversations_that_are_all_alike_show_no_spread_either() -> None:
    values = np.tile([0.2, 0.9, 0.4], 30)
    share, _ = statistics.wilson(30, 30) or (1, 0)
    found = statistics.mean_interval(values, np.repeat(np.arange(30), 3), 1)
    assert found == pytest.approx((0.5 * share, 1 - 0.5 * share))  # of thirty talks, not of ninety traces


def test_the_interval_of_scores_that_are_nearly_always_one_covers() -> None:
    rng, covered = np.random.default_rng(11), 0
    for k in range(300):
        values = (rng.random(30) < 0.99).astype(float)
        if values.min() < 1:
            covered += 1  # this month shows a spread: the bootstrap's own cover is tested above
            continue
        low, high = statistics.mean_interval(values, np.arange(30), k) or (1, 0)
        covered += low <= 0.99 <= high
    assert covered >= 285


def test_interval_is_the_same_on_every_run() -> None:
    values = np.linspace(0, 1, 50)
    assert statistics.mean_interval(values, np.arange(50), 9) == statistics.mean_interval(values, np.arange(50), 9)
    assert statistics.stable_seed("a", "b") == statistics.stable_seed("a", "b") != statistics.stable_seed("ab")


def test_kappa() -> None:
    assert statistics.cohen_kappa([1, 1, 0, 0], [1, 1, 0, 0]) == 1
    assert statistics.cohen_kappa([1, 0, 1, 0], [1, 1, 0, 0]) == 0
    assert statistics.cohen_kappa([], []) is None
    assert statistics.cohen_kappa([1, 1], [1, 1]) is None
    with pytest.raises(ValueError, match="same items"):
        statistics.cohen_kappa([1], [])
