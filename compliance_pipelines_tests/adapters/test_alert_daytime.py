"""The day as it goes: what a window holds, one run a tick, nothing without a judge."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from compliance_guardrails.policy import load_policy

from compliance_pipelines.adapters.judge_config import JudgeConfigError
from compliance_pipelines.core.extraction import ReadReport
from compliance_pipelines.core.judge_night import Trailing
from compliance_pipelines.core.records import Score, Trace
from compliance_pipelines.defs.alerting.daytime import TICK, alert_daytime, asked_before, observe_day, tick_before
from compliance_pipelines.resources import from_env
from compliance_pipelines.resources_alerting import AlertingResource, alerting_from

POLICY = load_policy(at=date(2026, 6, 30))
NOON = datetime(2026, 6, 10, 10, tzinfo=UTC)
FINANCE = "direction-finance"


class Day:
    """A reader of one day: a trace a minute for Finance, each with an event when `events` says so."""

    def __init__(self, events: int, at: datetime = NOON) -> None:
        self.events, self.at, self.asked = events, at, []

    def trace_days(self, days: list[date], report: ReadReport) -> Iterator[tuple[date, list[Trace]]]:
        del report
        self.asked = days
        moments = [self.at - timedelta(minutes=k) for k in range(120)]
        rest = (None, FINANCE, "stamp", None, None, "q", "a", (), None, False, None, None, "api", "d")
        yield days[-1], [Trace(f"t{k}", moment, moment, *rest) for k, moment in enumerate(moments)]

    def read_scores(self, first: date, last: date) -> tuple[list[Score], ReadReport]:
        del first, last
        out = []
        for k in (*range(self.events), 70, 71, 72, 73, 74, 75):  # some are older than the window
            moment = self.at - timedelta(minutes=k)
            out.append(Score(f"e{k}", f"t{k}", "uncited-specific-claim", 1.0, None, "EVENT", moment, moment))
        out.append(Score("x", "unknown", "uncited-specific-claim", 1.0, None, "EVENT", self.at, self.at))
        out.append(Score("y", "t1", "citation_compliance", 0.0, None, "API", self.at, self.at))
        return out, ReadReport()


@pytest.fixture
def alerting(tmp_path: Path) -> AlertingResource:
    return AlertingResource(home=str(tmp_path / "home"))


@pytest.mark.parametrize(("events", "fires"), [(0, False), (5, False), (6, True)])
def test_a_burst_is_counted_where_there_is_no_prometheus(events: int, fires: bool, alerting: AlertingResource) -> None:
    observe_day(Day(events), lambda _: [], alerting, POLICY, NOON)
    assert [e.rule for e in alerting.outbox.episodes()] == (["UncitedClaimsBurst"] if fires else [])


def test_a_low_mean_must_last(alerting: AlertingResource) -> None:
    low = [Trailing("direction-sinistres", 20, 0.6), Trailing(FINANCE, 3, None)]
    for k in range(2):
        observe_day(Day(0), lambda _: low, alerting, POLICY, NOON + k * timedelta(minutes=15))
    assert alerting.outbox.episodes() == []
    observe_day(Day(0), lambda _: low, alerting, POLICY, NOON + timedelta(minutes=30))
    (episode,) = alerting.outbox.episodes()
    assert (episode.rule, episode.department) == ("NeutralityBelowThreshold", "direction-sinistres")


def test_just_after_midnight_the_day_before_is_read_too(alerting: AlertingResource) -> None:
    night = datetime(2026, 6, 9, 22, 15, tzinfo=UTC)  # 00:15 in Paris
    day = Day(0, night)
    observe_day(day, lambda _: [], alerting, POLICY, night)
    assert day.asked == [date(2026, 6, 9), date(2026, 6, 10)]


def test_ticks_are_whole_quarters() -> None:
    assert tick_before(NOON + timedelta(minutes=14, seconds=59), 15) == NOON
    assert tick_before(NOON + timedelta(minutes=15), 15) == NOON + timedelta(minutes=15)


def test_one_run_a_tick_and_none_without_a_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    with dg.build_sensor_context(resources=from_env()) as context:
        assert isinstance(alert_daytime(context), dg.SkipReason)
    monkeypatch.setenv("JUDGE_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("JUDGE_MODEL", "juge")
    monkeypatch.setenv("LANGFUSE_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk")
    found = from_env()
    with dg.build_sensor_context(resources=found) as context:
        asked = alert_daytime(context)
        assert isinstance(asked, dg.RunRequest)
        assert asked.tags[TICK] == context.cursor
    for cursor, skipped in (("9999-01-01T00:00:00+00:00", False), ("?", False)):
        with dg.build_sensor_context(resources=found, cursor=cursor) as again:
            asked = alert_daytime(again)
        # a cursor in the future was written before the clock was set back: it must not silence the day
        assert skipped is None or isinstance(asked, dg.SkipReason) is skipped


def test_a_cursor_in_the_future_counts_as_none() -> None:
    tick, quarter = NOON, timedelta(minutes=15)
    expected = {-1: False, 0: True, 1: False, 4: False}
    assert {k: asked_before((tick + k * quarter).isoformat(), tick, 15) for k in expected} == expected
    assert not asked_before(None, tick, 15)
    assert not asked_before("2026-06-10T10:00:00", tick, 15)  # without a zone: not ours


def test_without_a_judge_bursts_are_watched_where_no_prometheus_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk")
    for owner, asks in (("langfuse", True), ("prometheus", False)):
        monkeypatch.setenv("UNCITED_BURST_FROM", owner)
        with dg.build_sensor_context(resources=from_env()) as context:
            assert isinstance(alert_daytime(context), dg.RunRequest) is asks


def test_prometheus_owns_the_bursts_where_it_is(tmp_path: Path) -> None:
    assert alerting_from({}, "home").bursts_here
    assert not alerting_from({"PUSHGATEWAY_URL": "http://push.example:9091"}, "home").bursts_here
    assert alerting_from({"PUSHGATEWAY_URL": "http://p.example", "UNCITED_BURST_FROM": "langfuse"}, "h").bursts_here
    with pytest.raises(JudgeConfigError, match="UNCITED_BURST_FROM=deux : attendu prometheus ou langfuse"):
        alerting_from({"UNCITED_BURST_FROM": "deux"}, "home")
    elsewhere = AlertingResource(home=str(tmp_path), burst_from="prometheus")
    observe_day(Day(9), lambda _: [], elsewhere, POLICY, NOON)
    assert elsewhere.outbox.episodes() == []
