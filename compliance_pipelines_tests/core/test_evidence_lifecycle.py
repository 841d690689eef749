"""Retention: the bucket's lifecycle against it (refused, only said, none of our business), and the first day kept."""

from datetime import UTC, date, datetime, timedelta

import pytest

from compliance_pipelines.core.evidence import EvidenceError
from compliance_pipelines.core.evidence_lifecycle import LifecycleRule, fix_fr, read_rules
from compliance_pipelines.core.retention import purge_before, retain_until

CREATED = datetime(2026, 7, 1, 4, 5, tzinfo=UTC)
UNTIL = retain_until(CREATED, 7)
PREFIXES = ("bias-report-", "revisions/", "chain/")
PERIODS = [(CREATED, UNTIL)]
NEEDED = 2558


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (LifecycleRule("a", days=NEEDED - 1), "expiration après 2557 jour(s), conservation de 2558"),
        (LifecycleRule("a", days=1, prefix="bias-"), "expiration après 1 jour(s)"),
        (LifecycleRule("a", days=1, prefix="revisions/2026-06/"), "expiration après 1 jour(s)"),
        (LifecycleRule("a", date=UNTIL - timedelta(days=1)), "expiration le 01/07/2033"),
        (LifecycleRule("a", noncurrent_days=30), "versions remplacées effacées après 30 jour(s)"),
    ],
)
def test_what_acts_before_the_end_is_refused(rule: LifecycleRule, words: str) -> None:
    reading = read_rules([rule], PREFIXES, PERIODS)
    assert len(reading.refused) == 1
    assert reading.refused[0].startswith("règle « a » : ")
    assert words in reading.refused[0]
    assert fix_fr("ai-audit", [rule], reading) == "mc ilm rule rm --id a ALIAS/ai-audit"


@pytest.mark.parametrize(
    "rule",
    [
        LifecycleRule("a", days=NEEDED, noncurrent_days=NEEDED),
        LifecycleRule("a", date=UNTIL),
        LifecycleRule("a", days=1, prefix="doctor/"),
        LifecycleRule("a", cold_days=NEEDED),
        LifecycleRule("a"),
    ],
)
def test_what_acts_afterwards_or_elsewhere_is_in_order(rule: LifecycleRule) -> None:
    reading = read_rules([rule], PREFIXES, PERIODS)
    assert (reading.refused, reading.reserved) == ((), ())


@pytest.mark.parametrize(
    ("rule", "words"),
    [(LifecycleRule("a", expired_markers=True), "marqueurs"), (LifecycleRule("a", cold_days=90), "classe de stockage")],
)
def test_what_hides_without_deleting_is_a_reservation(rule: LifecycleRule, words: str) -> None:
    reading = read_rules([rule], PREFIXES, PERIODS)
    assert reading.refused == ()
    assert words in reading.reserved[0]


def test_only_the_rules_that_are_refused_are_removed() -> None:
    rules = [LifecycleRule("early", days=1), LifecycleRule("late", days=NEEDED), LifecycleRule("cold", cold_days=90)]
    assert fix_fr("b", rules, read_rules(rules, PREFIXES, PERIODS)) == "mc ilm rule rm --id early ALIAS/b"


@pytest.mark.parametrize("name", ["", "a b", "x; rm -rf /", "$(id)", "é", "-rf", "a" * 65, "a\nb"])
def test_a_hostile_name_never_stands_in_the_command(name: str) -> None:
    rule = LifecycleRule(name, days=1)
    reading = read_rules([rule], PREFIXES, PERIODS)
    assert "« sans nom »" in reading.refused[0]
    assert fix_fr("b", [rule], reading) == "mc ilm rule ls ALIAS/b puis mc ilm rule rm --id ID ALIAS/b"


def test_purge_before_counts_whole_months() -> None:
    assert purge_before(date(2026, 11, 30), 13) == date(2025, 10, 1)
    assert purge_before(date(2026, 1, 1), 1) == date(2025, 12, 1)
    assert purge_before(date(2024, 2, 29), 12) == date(2023, 2, 1)
    for months in (0, -1, 1201):
        with pytest.raises(EvidenceError, match="purge"):
            purge_before(date(2026, 1, 1), months)
