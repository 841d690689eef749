"""What each rule looks at: both tiers, enough data, indicative evaluators, the calendar, words and links."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from compliance_guardrails.policy import load_policy
from compliance_guardrails.policy.types import AlertName

from compliance_pipelines.core import alerting_prometheus, gauges
from compliance_pipelines.core.alerting import Key, Level, Observation
from compliance_pipelines.core.alerting_rules import (
    Window,
    calendar,
    daytime,
    event,
    forgotten,
    limit_of,
    night,
    retention,
    wait_of,
)
from compliance_pipelines.core.alerting_text import Links
from compliance_pipelines.core.periods import day_window
from compliance_pipelines.core.records import Aggregate, Judgement, Status, Verdict
from compliance_pipelines.core.tables import frame

POLICY = load_policy(at=date(2026, 6, 30))
LINKS = Links("https://dagster.example/")
DAY = date(2026, 6, 9)
END = day_window(DAY)[1]
NOW = END + timedelta(hours=2)
LOW, UNSCORED, JUDGE = AlertName.NEUTRALITY_BELOW_THRESHOLD, AlertName.UNSCORED_RATE_HIGH, AlertName.JUDGE_UNRELIABLE


def row(
    department: str, mean: float | None, n: int = 60, unscored: int = 0, metric: str = "judge_neutrality"
) -> Aggregate:
    start, end = day_window(DAY)
    total = n + unscored
    return Aggregate(
        department, start, end, metric, total, total, total, n, unscored, mean, mean, mean, mean, 0.0, mean, mean,
        0.7, Verdict.CONFORME, True, POLICY.digest,
    )  # fmt: skip


def levels(observations: list[Observation]) -> dict[tuple[str, str], Level]:
    return {(o.key.rule, o.key.department): o.level for o in observations}


@pytest.mark.parametrize(
    ("department", "mean", "n", "expected"),
    [
        ("direction-sinistres", 0.699, 60, Level.BREACH),
        ("direction-sinistres", 0.70, 60, Level.CLEAR),  # at the threshold is not below
        ("direction-souscription", 0.65, 60, Level.BREACH),
        ("direction-juridique", 0.65, 60, Level.BREACH),
        ("direction-finance", 0.65, 60, Level.CLEAR),  # the second tier
        ("direction-finance", 0.599, 60, Level.BREACH),
        ("direction-rh", 0.599, 60, Level.BREACH),
        ("non-attribue", 0.5, 60, Level.BREACH),
        ("direction-sinistres", 0.1, 29, Level.UNKNOWN),  # no verdict without its N
        ("direction-sinistres", None, 0, Level.UNKNOWN),
    ],
)
def test_both_tiers_and_enough_data(department: str, mean: float | None, n: int, expected: Level) -> None:
    found = levels(night(DAY, [row(department, mean, n)], 0, POLICY, LINKS, NOW))
    assert found[LOW, department] is expected


@pytest.mark.parametrize(
    ("n", "unscored", "withheld", "expected"),
    [
        (90, 10, 0, Level.CLEAR),
        (89, 11, 0, Level.BREACH),
        (0, 40, 0, Level.BREACH),
        (10, 10, 0, Level.UNKNOWN),
        (0, 40, 40, Level.UNKNOWN),  # the alert on the judge says it
    ],
)
def test_unscored_rate(n: int, unscored: int, withheld: int, expected: Level) -> None:
    found = levels(night(DAY, [row("direction-rh", 0.9, n, unscored)], withheld, POLICY, LINKS, NOW))
    assert found[UNSCORED, "direction-rh"] is expected
    assert found[JUDGE, "toutes"] is (Level.BREACH if withheld else Level.CLEAR if n else Level.UNKNOWN)


def test_the_lexical_evaluator_raises_no_neutrality_alert() -> None:
    found = levels(night(DAY, [row("direction-sinistres", 0.1, metric="lexical_neutrality")], 0, POLICY, LINKS, NOW))
    assert (LOW, "direction-sinistres") not in found
    assert (UNSCORED, "direction-sinistres") in found


def test_nights_long_past_wake_nobody() -> None:
    assert not any(o.silent for o in night(DAY, [], 1, POLICY, LINKS, NOW))
    assert all(o.silent for o in night(DAY, [], 1, POLICY, LINKS, NOW + timedelta(days=8)))


def test_intraday_waits_by_tier_and_looks_only_where_policy_says() -> None:
    windows = [Window(d.id, NOW, 0.5, 40, uncited=6) for d in POLICY.departments]
    seen = daytime(windows, POLICY, LINKS)
    waits = {o.key.department: o.sustain for o in seen if o.key.rule == LOW}
    assert waits == {
        "direction-sinistres": timedelta(minutes=30),
        "direction-souscription": timedelta(minutes=30),
        "direction-juridique": timedelta(minutes=30),
        "direction-finance": timedelta(minutes=60),
    }
    bursts = {
        o.key.department for o in seen if o.key.rule == AlertName.UNCITED_CLAIMS_BURST and o.level is Level.BREACH
    }
    assert bursts == {"direction-finance", "direction-juridique", "direction-sinistres"}
    calm = daytime([Window("direction-finance", NOW, None, 0, uncited=5)], POLICY, LINKS)
    assert [o.level for o in calm] == [Level.UNKNOWN, Level.CLEAR]


def missing(observations: list[Observation], name: AlertName) -> list[str]:
    return [o.key.subject for o in observations if o.key.rule == name and o.level is Level.BREACH]


@pytest.mark.parametrize(
    ("now", "nights", "expected"),
    [
        ("2026-06-10T23:29:00+00:00", set(), ["2026-06-09"]),  # the night of the 10th is due at 01:30 in Paris
        ("2026-06-10T23:31:00+00:00", set(), ["2026-06-09", "2026-06-10"]),
        ("2026-06-10T23:31:00+00:00", {"2026-06-10"}, ["2026-06-09"]),
        ("2026-06-10T23:31:00+00:00", {"2026-06-09", "2026-06-10"}, []),
    ],
)
def test_nights_that_are_due(now: str, nights: set[str], expected: list[str]) -> None:
    seen = calendar(date(2026, 6, 9), nights, set(), POLICY, LINKS, datetime.fromisoformat(now))
    assert missing(seen, AlertName.NIGHT_MISSING) == expected


def test_a_missing_night_waits_two_hours_from_when_it_was_due() -> None:
    seen = calendar(DAY, set(), set(), POLICY, LINKS, NOW)
    (found,) = [o for o in seen if o.level is Level.BREACH]
    assert found.since == datetime(2026, 6, 9, 23, 30, tzinfo=UTC)
    assert found.sustain == timedelta(minutes=120)


@pytest.mark.parametrize(
    ("now", "reports", "expected"),
    [
        (datetime(2026, 7, 1, 3, 59, tzinfo=UTC), set(), ["2026-05"]),
        (datetime(2026, 7, 1, 4, 1, tzinfo=UTC), set(), ["2026-05", "2026-06"]),
        (datetime(2026, 7, 1, 4, 1, tzinfo=UTC), {"2026-06-01", "2026-05-01"}, []),
        (datetime(2027, 7, 1, 4, 1, tzinfo=UTC), set(), ["2027-04", "2027-05", "2027-06"]),  # bounded look back
    ],
)
def test_reports_that_are_due(now: datetime, reports: set[str], expected: list[str]) -> None:
    seen = calendar(date(2026, 5, 20), set(), reports, POLICY, LINKS, now)
    assert missing(seen, AlertName.REPORT_MISSING) == expected


def test_departments_that_policy_dropped_are_cleared() -> None:
    keys = [Key(LOW, d, "nuit") for d in ("direction-rh", "direction-fermee", "toutes")]
    assert [o.key.department for o in forgotten(keys, ["direction-rh"], NOW)] == ["direction-fermee"]


def test_retention_says_what_is_wrong() -> None:
    good, bad = retention({"2026-05": None, "2026-06": "aucun verrou de conservation"}, NOW, POLICY, LINKS)
    assert (good.level, bad.level) == (Level.CLEAR, Level.BREACH)
    assert bad.annotations["description"] == "Rapport de 2026-06 : aucun verrou de conservation."
    assert bad.annotations["dagster_url"].endswith("audit/archive_receipt?view=partitions&partition=2026-06-01")


def test_words_are_french_cut_never_rounded_and_lead_somewhere() -> None:
    (found, *_) = night(DAY, [row("direction-sinistres", 0.69999)], 0, POLICY, LINKS, NOW)
    assert found.annotations["summary"].startswith("Sinistres\u202f: la neutralité")
    assert "0,699 < 0,700 (N = 60)" in found.annotations["description"]
    assert found.annotations["next_step"]
    assert found.annotations["dagster_url"] == (
        "https://dagster.example/assets/department/daily?view=partitions&partition=2026-06-09"
    )
    (bare, *_) = night(DAY, [row("direction-sinistres", 0.1)], 0, POLICY, Links(), NOW)
    assert "dagster_url" not in bare.annotations


@pytest.mark.parametrize("name", list(AlertName))
def test_every_rule_can_be_read_and_says_what_to_do(name: AlertName) -> None:
    rule = POLICY.alerts.rule(name)
    assert rule.next_step.endswith(".")
    assert wait_of(rule, POLICY, "direction-rh") >= timedelta(0)
    assert (limit_of(rule, POLICY, "direction-rh") is None) == (rule.comparison == "event")


def test_each_rule_is_made_somewhere() -> None:
    made = {o.key.rule for o in night(DAY, [row("direction-rh", 0.5)], 0, POLICY, LINKS, NOW)}
    made |= {o.key.rule for o in daytime([Window("direction-finance", NOW, 0.5, 40)], POLICY, LINKS)}
    made |= {o.key.rule for o in calendar(DAY, set(), set(), POLICY, LINKS, datetime(2026, 7, 2, tzinfo=UTC))}
    made |= {o.key.rule for o in retention({"2026-06": None}, NOW, POLICY, LINKS)}
    made.add(event(AlertName.RUN_FAILED, "nightly", "", NOW, True, POLICY, "").key.rule)
    made |= {rule["alert"] for rule in alerting_prometheus.rules(POLICY, LINKS)["groups"][0]["rules"]}
    assert made == {name.value for name in AlertName}


def test_gauges_are_finite_and_a_figure_without_n_is_left_out() -> None:
    rows = [row("a", 0.5), row("b", None, 0, 4), replace(row("c", float("nan")), metric="citation_compliance")]
    text = gauges.exposition(gauges.of_night(rows))
    assert 'judge_neutrality{department="a"} 0.5' in text
    assert 'unscored_rate{department="b",metric="judge_neutrality"} 1.0' in text
    assert 'judge_neutrality{department="b"}' not in text
    assert "nan" not in text.lower().replace("non", "")


def test_label_values_are_escaped() -> None:
    text = gauges.exposition([gauges.Sample("unscored_rate", (("department", 'a"\\\n'),), 1.0)])
    assert text.splitlines()[-1] == 'unscored_rate{department="a\\"\\\\\\n"} 1.0'


def test_the_review_table_lists_the_newest_five_by_id_alone() -> None:
    at, name = datetime(2026, 6, 9, 8, tzinfo=UTC), "judge_neutrality"
    rows = [
        Judgement(f"{k:032x}", "direction-rh", at + timedelta(minutes=k), name, value, status, reason, "j", 1.0)
        for k, (value, status, reason) in enumerate(
            [(0.1, Status.SCORED, None)] * 7 + [(0.6, Status.SCORED, None), (None, Status.UNSCORED, "timeout")]
        )
    ]  # fmt: skip
    found = gauges.of_queue(frame(rows, Judgement), 0.60)
    assert [dict(s.labels)["trace"][-1] for s in found] == ["6", "5", "4", "3", "2"]
    assert set(dict(found[0].labels)) == {"department", "observed", "trace"}
