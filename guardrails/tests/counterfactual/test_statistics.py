"""The test itself: known small cases, no false alarm under a true null, units, Holm, intervals."""

from __future__ import annotations

import numpy as np
import pytest
from compliance_guardrails.counterfactual import statistics
from compliance_guardrails.counterfactual.statistics import compare, holm, share_interval, wilson


def distances(values: np.ndarray) -> np.ndarray:
    return np.abs(values[:, None] - values[None, :]).astype(float)


def p_of(base: list[float], swap: list[float], units: tuple[list[int], list[int]] | None = None) -> float:
    found = distances(np.array(base + swap))
    one, two = units or (list(range(len(base))), list(range(len(swap))))
    return compare({"d": found}, one, two, 1).p


def test_five_against_five_cannot_be_smaller_than_two_in_252() -> None:
    assert p_of([0] * 5, [1] * 5) == pytest.approx(2 / 252)
    assert p_of([0] * 5, [0] * 5) == 1.0
    units = list(range(5))
    assert compare({"d": distances(np.arange(10))}, units, units, 1).smallest_p == pytest.approx(2 / 252)


def test_unequal_sides_have_no_mirror() -> None:
    apart = [*range(4), *range(50, 57)]
    found = compare({"d": distances(np.array(apart, dtype=float))}, range(4), range(7), 1)
    assert found.smallest_p == found.p == pytest.approx(1 / 330)


def test_what_is_only_drawn_is_drawn_until_it_is_fine_enough() -> None:
    apart = [*range(6), *range(50, 57)]  # 1,716 labellings: too many to look at each
    found = compare({"d": distances(np.array(apart, dtype=float))}, range(6), range(7), 1, level=0.001)
    assert found.resolution > 0
    assert found.p <= 0.001


def test_a_labelling_and_its_mirror_tie_however_their_sums_are_rounded() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        extreme = p_of(list(rng.random(5)), list(rng.random(5))) * 252
        assert extreme == pytest.approx(2 * round(extreme / 2))


def test_forty_answers_that_differ_in_everything_are_found() -> None:
    assert p_of([0] * 20, [1] * 20) < 0.001


def test_no_answer_or_one_a_side_is_no_evidence() -> None:
    assert p_of([0], [1]) == 1.0
    assert compare({}, [1, 2], [1, 2], 1).p == 1.0


def test_answers_about_one_name_change_sides_together() -> None:
    # one name of twelve is treated oddly, five answers each: sixty answers, but twelve names
    base, units = [0.0] * 60, [k % 12 for k in range(60)]
    swap = [1.0 if k % 12 == 0 else 0.0 for k in range(60)]
    assert p_of(base, swap, (units, units)) == 1.0
    swap = [1.0 if k % 12 < 9 else 0.0 for k in range(60)]
    assert p_of(base, swap, (units, units)) < 0.01


def test_under_the_null_p_is_not_too_small_too_often() -> None:
    rng = np.random.default_rng(5)
    p_values = [p_of(list(rng.random(8)), list(rng.random(8))) for _ in range(200)]
    assert sum(p <= 0.05 for p in p_values) <= 20
    assert sum(p <= 0.5 for p in p_values) >= 70


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.01], family=10) == pytest.approx([0.1])
    assert holm([]) == []


def test_intervals() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert wilson(0, 0) == (0.0, 1.0)
    effect, low, high = share_interval([False] * 20, [True] * 12 + [False] * 8)
    assert effect == pytest.approx(0.6)
    assert 0.3 < low < 0.6 < high < 0.8
    # 56 of 70 against 48 of 80: Newcombe 1998, method 10
    found = share_interval([True] * 48 + [False] * 32, [True] * 56 + [False] * 14)
    assert found == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_excess_is_zero_when_the_groups_are_alike() -> None:
    found = distances(np.array([0.0, 1.0] * 10))
    excess, low, high = statistics.excess_interval(found, 10, 3)
    assert low <= excess <= high
    assert abs(excess) < 0.1


def test_a_larger_share_of_the_error_lowers_the_price_of_a_second_dimension() -> None:
    rng = np.random.default_rng(3)
    told = distances(np.array([0.0] * 20 + [0.0] * 8 + [1.0] * 12))
    noise = {name: distances(rng.random(40)) for name in ("b", "c", "d")}
    units = list(range(20))
    alike = compare({"a": told, **noise}, units, units, 1, 0.001)
    shared = compare({"a": told, **noise}, units, units, 1, 0.001, {"a": 0.7, "b": 0.1, "c": 0.1, "d": 0.1})
    assert alike.dimensions["a"].p == shared.dimensions["a"].p
    assert alike.dimensions["a"].p <= shared.p <= alike.p


def test_the_smallest_share_says_how_many_labellings_are_drawn() -> None:
    rng = np.random.default_rng(4)
    told, noise = distances(np.array([0.0] * 20 + [1.0] * 20)), distances(rng.random(40))
    units, level = list(range(20)), 0.0004
    found = compare({"a": told, "b": noise}, units, units, 1, level, {"a": 0.1, "b": 0.9})
    # 37,500 drawn: the observed one, and the nine in which the noise is as rare for its share of nine tenths
    assert found.p == pytest.approx(10 / 37_501)
    assert found.p <= found.resolution <= level
    # and the dimension itself pays for the other that was looked at
    assert found.dimensions["a"].p_adjusted == found.p > found.dimensions["a"].p


def test_shares_keep_the_error_under_the_null() -> None:
    rng = np.random.default_rng(6)
    units, weights = list(range(8)), {"a": 0.8, "b": 0.2}
    p_values = [
        compare({name: distances(rng.random(16)) for name in weights}, units, units, 1, 0.01, weights).p
        for _ in range(200)
    ]
    assert sum(p <= 0.05 for p in p_values) <= 20


def test_distances_added_up_by_name_give_the_energy_of_the_answers() -> None:
    rng = np.random.default_rng(9)
    values = rng.random(12)
    base, swap = [0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 2]
    found = distances(values)
    between, within = statistics.between_and_within(found, 6)
    assert compare({"d": found}, base, swap, 1).dimensions["d"].statistic == pytest.approx(2 * (between - within))
