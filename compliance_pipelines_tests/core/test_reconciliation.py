"""Rows counted by the server against rows read: what is a difference and what is not."""

from __future__ import annotations

from datetime import date

import pytest

from compliance_pipelines.core import reconciliation
from compliance_pipelines.core.extraction import ReadReport

DAY, NEXT = date(2026, 6, 2), date(2026, 6, 3)


def report(read: int, **others: int) -> ReadReport:
    found = ReadReport()
    found.count(DAY, reconciliation.READ, read)
    for name, n in others.items():
        found.count(DAY, name, n)
    return found


@pytest.mark.parametrize(
    ("read", "others", "before", "after", "difference"),
    [
        (10, {}, 10, 10, 0),
        (0, {}, 0, 0, 0),
        # rows that arrived between the two counts may or may not be read
        (10, {}, 9, 12, 0),
        (10, {}, 12, 9, 0),
        # a refused row was read all the same, a repeated one is no further row
        (9, {"rejected_naive_time": 1}, 10, 10, 0),
        (11, {"duplicates": 1, "conflicting_duplicates": 1}, 10, 10, 0),
        # rows that were read too late for the month are rows that were read
        (10, {"late": 4}, 10, 10, 0),
        (10, {}, 11, 13, 1),
        (0, {}, 7, 7, 7),
        (10, {}, 8, 9, -1),
    ],
)
def test_a_difference_is_what_no_count_explains(
    read: int, others: dict[str, int], before: int, after: int, difference: int
) -> None:
    found = report(read, **others)
    reconciliation.note(found, {DAY: before}, {DAY: after})
    (line,) = reconciliation.day_counts(found, [DAY])
    assert line.difference == difference
    assert (reconciliation.finding(line) is None) == (difference == 0)


def test_the_same_rows_keep_the_same_counts_whenever_the_server_was_asked() -> None:
    first, second = report(10), report(10)
    reconciliation.note(first, {DAY: 9}, {DAY: 11})
    reconciliation.note(second, {DAY: 10}, {DAY: 10})
    assert first.days == second.days


def test_a_day_that_nobody_counted_has_no_difference() -> None:
    found = report(10)
    reconciliation.note(found, {NEXT: 0}, {NEXT: 0})
    asked, empty = reconciliation.day_counts(found, [DAY, NEXT])
    assert (asked.server, asked.difference, reconciliation.finding(asked)) == (None, None, None)
    assert (empty.server, empty.read, empty.difference) == (0, 0, 0)
    assert found.totals(NEXT, NEXT) == {reconciliation.SERVER: 0}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({reconciliation.READ: 3}, True),
        ({reconciliation.READ: 3, reconciliation.SERVER: 3}, False),
        ({reconciliation.READ: 0}, False),
        ({"rejected_naive_time": 2}, False),  # an export: there is no server to count
        ({}, False),
    ],
)
def test_only_rows_of_a_server_can_lack_its_count(counts: dict[str, int], expected: bool) -> None:
    assert reconciliation.uncounted(counts) is expected


def test_the_finding_says_how_many_and_which_way() -> None:
    few = reconciliation.day_count(DAY, {reconciliation.SERVER: 12, reconciliation.READ: 10})
    many = reconciliation.day_count(DAY, {reconciliation.SERVER: 10, reconciliation.READ: 12})
    assert reconciliation.finding(few) == "12 ligne(s) au serveur, 10 lue(s) : 2 manquante(s)"
    assert reconciliation.finding(many) == "10 ligne(s) au serveur, 12 lue(s) : 2 en trop"
