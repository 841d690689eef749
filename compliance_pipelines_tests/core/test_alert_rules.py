"""What each rule looks at: both tiers, enough data, indicative evaluators, the calendar, words and links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import pytest
from compliance_guardrails.policy import load_policy
from compliance_guardrails.policy.types import AlertName

from compliance_pipelines.core import alerting_prometheus, gauges
from compliance_pipelines.core.alerting import Book, Key, Level, Observation
from compliance_pipelines.core.alerting_calendar import calendar, forgotten, published, retention
from compliance_pipelines.core.alerting_rules import Window, daytime, event, limit_of, night, wait_of
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
BURST = AlertName.UNCITED_CLAIMS_BURST


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
        ("direction-sinistres", 0.1, 30, Level.BREACH),
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
    assert [o.silent for o in night(DAY, [], 1, POLICY, LINKS, NOW)] == [False]
    assert [o.silent for o in night(DAY, [], 1, POLICY, LINKS, NOW + timedelta(days=8))] == [True]


def test_intraday_waits_by_tier_and_looks_only_where_policy_says() -> None:
    windows = [Window(d.id, NOW, 0.5, 40, uncited=6) for d in POLICY.departments]
    seen = daytime(windows, POLICY, LINKS)
    waits = {o.key.department: o.sustain for o in seen if o.key.rule == LOW}
    assert waits == {
        "direction-sinistres": timedelta(minutes=30),
        "direction-souscription": timedelta(minutes=30),
        "direction-juridique": timedelta(minutes=30),
        "direction-finance": timedelta(minutes=60),
        "direction-actuariat": timedelta(minutes=60),
        "direction-audit": timedelta(minutes=60),
        "direction-reassurance": timedelta(minutes=60),
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


def test_an_old_night_is_looked_at_for_as_long_as_it_is_watched() -> None:
    """Its alert would otherwise stay for ever: filled after the look back, or of an installation that began later."""
    old, older = (Key(AlertName.NIGHT_MISSING, "toutes", day) for day in ("2026-01-05", "2026-01-06"))
    report = Key(AlertName.REPORT_MISSING, "toutes", "2026-01")
    watched = [old, older, report]
    first, filled = date(2026, 1, 1), {"2026-01-05"}
    seen = {o.key: o for o in calendar(first, filled, {"2026-01-01"}, POLICY, LINKS, NOW, watched)}
    assert [seen[key].level for key in watched] == [Level.CLEAR, Level.BREACH, Level.CLEAR]
    seen = {o.key: o for o in calendar(date(2026, 6, 1), set(), set(), POLICY, LINKS, NOW, watched)}
    assert {seen[key].reason for key in watched} == {"antérieure à la première nuit de l’installation"}
    assert {seen[key].level for key in watched} == {Level.CLEAR}


@pytest.mark.parametrize(
    ("key", "bursts_here", "reason"),
    [
        (Key(LOW, "direction-rh", "nuit"), True, None),
        (Key(LOW, "non-attribue", "nuit"), True, None),
        (Key(JUDGE, "toutes", "nuit"), True, None),
        (Key(LOW, "direction-fermee", "nuit"), True, "direction retirée de la politique"),
        (Key("RegleRetiree", "direction-rh", "nuit"), True, "règle retirée"),
        (Key(LOW, "direction-rh", "journée"), True, "direction qui n’est plus suivie en journée"),
        (Key(LOW, "direction-sinistres", "journée"), True, None),
        (Key(BURST, "direction-sinistres", "journée"), True, None),
        (Key(BURST, "direction-sinistres", "journée"), False, "comptée désormais par Prometheus"),
        (Key(BURST, "direction-rh", "journée"), True, "direction qui n’est plus suivie en journée"),
    ],
)
def test_what_nobody_would_end_is_ended_with_the_reason(key: Key, bursts_here: bool, reason: str | None) -> None:
    found = forgotten([key], POLICY, NOW, bursts_here=bursts_here)
    assert [(o.key, o.level, o.reason) for o in found] == ([] if reason is None else [(key, Level.CLEAR, reason)])


def test_the_day_of_an_installation_without_a_judge_is_ended() -> None:
    day, night, burst = (
        Key(r, "direction-sinistres", s) for r, s in ((LOW, "journée"), (LOW, "nuit"), (BURST, "journée"))
    )
    (ended,) = forgotten([day, night, burst], POLICY, NOW, judged_here=False)
    assert (ended.key, ended.level) == (day, Level.CLEAR)
    assert ended.reason == "plus de juge ou d’API Langfuse pour la journée"


def test_a_burst_has_one_owner() -> None:
    window = Window("direction-sinistres", NOW, 0.5, 40, uncited=9)
    assert {o.key.rule for o in daytime([window], POLICY, LINKS)} == {LOW, BURST}
    assert {o.key.rule for o in daytime([window], POLICY, LINKS, bursts_here=False)} == {LOW}


@dataclass(frozen=True)
class Entry:
    """What a notice says of a revision."""

    month: str
    revision: int
    chain_index: int
    manifest_sha256: str


def test_a_notice_names_month_revision_and_head_and_comes_once() -> None:
    chain = [Entry("2026-04", 1, 0, "a" * 64), Entry("2026-05", 1, 1, "b" * 64)]
    first = published(chain, set(), NOW, POLICY, LINKS)
    assert [o.silent for o in first] == [True, False]  # an installation that looks for the first time tells the newest
    words = first[1].annotations["description"]
    assert all(part in words for part in ("2026-05", "révision 1", "maillon 1", "sha256 " + "b" * 64))
    assert "--published" in first[1].annotations["next_step"]
    assert first[1].severity == "info"
    chain.append(Entry("2026-04", 2, 2, "c" * 64))
    (later,) = published(chain, {o.key for o in first}, NOW, POLICY, LINKS)
    assert (later.key.subject, later.silent) == ("2026-04 r2 cccccccccccc", False)
    book = Book()
    for minutes in range(3):
        again = replace(later, at=NOW + timedelta(minutes=minutes))
        book.apply([again], again.at)
    (episode,) = book.changed.values()
    assert (episode.started_at, episode.ended_at, book.open) == (NOW, NOW, {})


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
    made |= {o.key.rule for o in published([Entry("2026-06", 1, 0, "a" * 64)], set(), NOW, POLICY, LINKS)}
    made |= {rule["alert"] for rule in alerting_prometheus.rules(POLICY, LINKS)["groups"][0]["rules"]}
    assert made == {name.value for name in AlertName} | {name.value for name in alerting_prometheus.Installation}


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
