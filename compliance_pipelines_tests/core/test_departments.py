"""Which judgements count for a period and whose conversation they belong to, before anything is computed."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from compliance_guardrails.policy import load_policy

from compliance_pipelines.core import departments, statistics
from compliance_pipelines.core.records import Aggregate, Judgement, Status
from compliance_pipelines.core.tables import frame

WHEN = datetime(2026, 6, 2, 10, tzinfo=UTC)
PERIOD = (datetime(2026, 5, 31, 22, tzinfo=UTC), datetime(2026, 6, 30, 22, tzinfo=UTC))
DEPARTMENT = "direction-sinistres"


def judgement(trace: str, value: float) -> Judgement:
    return Judgement(
        trace, DEPARTMENT, WHEN, "lexical_neutrality", value, Status.SCORED, None, "lexical_neutrality/1", 1.0
    )


def traces(sessions: dict[str, str | None]) -> pd.DataFrame:
    columns = {"trace_id": list(sessions), "session_hash": list(sessions.values()), "department": DEPARTMENT}
    return pd.DataFrame(columns).astype("string")


def row(sessions: dict[str, str | None], judged: list[Judgement]) -> Aggregate:
    found = departments.aggregate(traces(sessions), [frame(judged, Judgement)], load_policy(), PERIOD)
    return next(one for one in found if (one.department, one.metric) == (DEPARTMENT, "lexical_neutrality"))


def test_a_judgement_of_a_trace_outside_the_period_does_not_count() -> None:
    found = row({"a": "s", "b": "t"}, [judgement("a", 0.5), judgement("elsewhere", 0.1), judgement("b", 0.9)])
    assert (found.n_traces, found.n_scored, found.mean) == (2, 2, pytest.approx(0.7))


def test_traces_of_one_session_are_one_conversation() -> None:
    together = row({"a": "s", "b": "s"}, [judgement("a", 0.5), judgement("b", 0.9)])
    assert together.ci_low is None


def test_each_judgement_belongs_to_the_conversation_of_its_own_trace() -> None:
    """Judged in another order than read: a and b are one talk of two equal traces, c and d two talks apart."""
    sessions: dict[str, str | None] = {"a": "s", "b": "s", "c": "t", "d": "u"}
    judged = [judgement("d", 0.2), judgement("b", 0.6), judgement("c", 0.9), judgement("a", 0.6)]
    same = np.array([0, 1, 2, 1])  # d, b, c, a
    seed = statistics.stable_seed(DEPARTMENT, "lexical_neutrality", *(moment.isoformat() for moment in PERIOD))
    expected = statistics.mean_interval(np.array([0.2, 0.6, 0.9, 0.6]), same, seed)
    found = row(sessions, judged)
    assert (found.ci_low, found.ci_high) == expected


@pytest.mark.parametrize("nothing", [None, ""])
def test_traces_without_a_session_are_conversations_of_their_own(nothing: str | None) -> None:
    apart = row({"a": nothing, "b": nothing}, [judgement("a", 0.5), judgement("b", 0.9)])
    assert (apart.ci_low, apart.ci_high) == pytest.approx((0.5, 0.9))


def test_a_period_without_traces_has_rows_without_figures() -> None:
    found = row({}, [judgement("a", 0.5)])
    assert (found.n_traces, found.n_scored, found.mean) == (0, 0, None)


def test_a_period_without_judgements_counts_its_traces() -> None:
    found = row({"a": None}, [])
    assert (found.n_traces, found.n_scored, found.ci_low) == (1, 0, None)
