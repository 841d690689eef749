"""The verdict: N before anything, indicative never conforming, the threshold itself conforms."""

import numpy as np
import pytest

from compliance_pipelines.core.conformity import VerdictRules, decide, margin_established
from compliance_pipelines.core.records import Verdict

RULES = VerdictRules(min_n=30, max_unscored_rate=0.10)


def verdict(**changes: object) -> Verdict:
    given: dict[str, object] = {
        "applies": True, "n_sampled": 100, "n_scored": 100, "n_unscored": 0, "mean": 0.8, "threshold": 0.7,
        "indicative": False, "rules": RULES,
    }  # fmt: skip
    return decide(**(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Verdict.CONFORME),
        ({"mean": 0.7}, Verdict.CONFORME),
        ({"mean": 0.6999999}, Verdict.NON_CONFORME),
        ({"mean": sum([0.7] * 30) / 30}, Verdict.CONFORME),
        ({"mean": float(np.array([0.7] * 31).mean())}, Verdict.CONFORME),
        ({"n_scored": 29, "n_sampled": 29}, Verdict.INSUFFISANT),
        ({"n_scored": 30, "n_sampled": 30}, Verdict.CONFORME),
        ({"n_scored": 89, "n_unscored": 11}, Verdict.INSUFFISANT),
        ({"n_scored": 90, "n_unscored": 10}, Verdict.CONFORME),
        ({"indicative": True}, Verdict.INDICATIF),
        ({"indicative": True, "mean": 0.1}, Verdict.INDICATIF),
        ({"indicative": True, "n_scored": 3, "n_sampled": 3}, Verdict.INSUFFISANT),
        ({"applies": False, "n_scored": 0, "n_sampled": 0, "mean": None}, Verdict.SANS_OBJET),
        ({"threshold": None}, Verdict.INDICATIF),
        ({"n_scored": 0, "n_sampled": 0, "mean": None}, Verdict.INSUFFISANT),
    ],
)
def test_decision_table(changes: dict[str, object], expected: Verdict) -> None:
    assert verdict(**changes) is expected


@pytest.mark.parametrize(
    ("low", "high", "threshold", "expected"),
    [
        (0.71, 0.9, 0.7, True),
        (0.7, 0.9, 0.7, False),
        (0.5, 0.6, 0.7, True),
        (None, None, 0.7, None),
        (0.5, 0.6, None, None),
    ],
)
def test_margin(low: float | None, high: float | None, threshold: float | None, expected: bool | None) -> None:
    assert margin_established(low, high, threshold) is expected
