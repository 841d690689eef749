"""The alert state machine: none lost, none doubled, `for:` respected, whatever is repeated, late or set back."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance_pipelines.core.alerting import (
    Book,
    Change,
    Episode,
    Key,
    Level,
    Observation,
    Phase,
    Watch,
    step,
)

T0 = datetime(2026, 6, 1, 8, tzinfo=UTC)
TICK = timedelta(minutes=15)
KEY = Key("NeutralityBelowThreshold", "direction-sinistres", "journée")
B, C, U = Level.BREACH, Level.CLEAR, Level.UNKNOWN


def at(k: int) -> datetime:
    return T0 + k * TICK


def seen(k: int, level: Level, sustain: int = 30, key: Key = KEY) -> Observation:
    return Observation(key, at(k), level, sustain=timedelta(minutes=sustain), max_gap=2 * TICK)


def night(day: int, level: Level, key: Key = KEY) -> Observation:
    return Observation(key, T0 + timedelta(days=day), level, night=date(2026, 6, 1) + timedelta(days=day))


def play(observations: list[Observation], now: datetime | None = None) -> tuple[Book, list[Episode]]:
    book, kept = Book(), {}
    for one in observations:
        book.apply([one], now or one.at)
        kept |= book.changed
    return book, sorted(kept.values(), key=lambda e: e.started_at)


def spans(episodes: list[Episode]) -> list[tuple[datetime, datetime | None]]:
    return [(e.started_at, e.ended_at) for e in episodes]


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([B, B], []),  # 15 minutes are not 30
        ([B, B, B], [(2, None)]),
        ([B, B, C, B, B], []),  # a good window starts the wait anew
        ([B, U, B, B], []),  # so does one that says nothing
        ([B, B, B, U, U], [(2, None)]),  # silence is no recovery
        ([B, B, B, C], [(2, 3)]),
        ([B, B, B, C, B, B, B], [(2, 3), (6, None)]),
        ([C, C, C], []),
        ([U, U, U], []),
        ([B, None, B], [(2, None)]),  # one missed tick is bridged
        ([B, None, None, B, B], []),  # a hole of 45 minutes is not
        ([B, None, None, B, B, B], [(5, None)]),
    ],
)
def test_waiting_has_the_meaning_of_for(levels: list[Level | None], expected: list[tuple[int, int | None]]) -> None:
    _, episodes = play([seen(k, level) for k, level in enumerate(levels) if level is not None])
    assert spans(episodes) == [(at(a), None if b is None else at(b)) for a, b in expected]


def test_an_alert_never_ends_before_it_began() -> None:
    book, _ = play([seen(10, B, sustain=0)])
    book.apply([seen(0, C)], at(0))  # the clock was set back meanwhile
    assert spans(list(book.changed.values())) == [(at(10), at(10))]


def test_the_oldest_nights_are_forgotten_first() -> None:
    full = Watch(counted=tuple(f"old-{k}" for k in range(800)))
    watch, change = step(full, night(1, B), at(200))
    assert change is Change.RAISED
    assert len(watch.counted) == 800
    assert (watch.counted[0], watch.counted[-1]) == ("old-1", "2026-06-02")


@pytest.mark.parametrize(
    ("nights", "expected"),
    [
        ([(1, B)], [(1, None)]),  # no wait
        ([(1, B), (2, B), (3, B)], [(1, None)]),
        ([(1, B), (2, C)], [(1, 2)]),
        ([(1, B), (2, U), (3, C)], [(1, 3)]),
        ([(1, B), (1, B)], [(1, None)]),
        ([(1, B), (1, C)], [(1, 1)]),  # the night was run again and is good now
        ([(1, B), (1, C), (1, B)], [(1, 1)]),  # at most one alert a night
        ([(2, C), (1, B)], [(1, 1)]),  # a late night is told of once, and over
        ([(2, C), (1, B), (1, B)], [(1, 1)]),
        ([(2, B), (1, C)], [(2, None)]),  # an older good night ends nothing
        ([(1, B), (2, C), (1, B), (2, C)], [(1, 2)]),  # the whole read again
        ([(1, U)], []),
    ],
)
def test_nightly_figures_raise_at_most_once_a_night(
    nights: list[tuple[int, Level]], expected: list[tuple[int, int | None]]
) -> None:
    _, episodes = play([night(*one) for one in nights], now=T0 + timedelta(days=9))
    day = timedelta(days=1)
    assert spans(episodes) == [(T0 + a * day, None if b is None else T0 + b * day) for a, b in expected]


def reference(levels: list[Level | None], wait: int) -> list[tuple[int, int | None]]:
    """The same meaning, read off the whole series at once."""
    out: list[tuple[int, int | None]] = []
    firing, run = False, []
    for k, level in enumerate(levels):
        if level is None:
            continue
        if level is B:
            run = [*run, k] if run and k - run[-1] <= 2 else [k]
            if not firing and k - run[0] >= wait:
                firing = True
                out.append((k, None))
        else:
            run = []
            if firing and level is C:
                firing = False
                out[-1] = (out[-1][0], k)
    return out


series = st.lists(st.sampled_from([B, B, B, C, U, None]), max_size=60)


@settings(max_examples=400, deadline=None)
@given(levels=series, wait=st.integers(0, 5))
def test_episodes_are_those_of_the_series(levels: list[Level | None], wait: int) -> None:
    _, episodes = play([seen(k, level, 15 * wait) for k, level in enumerate(levels) if level is not None])
    assert spans(episodes) == [(at(a), None if b is None else at(b)) for a, b in reference(levels, wait)]


@settings(max_examples=400, deadline=None)
@given(levels=series, wait=st.integers(0, 5), data=st.data())
def test_what_is_read_again_changes_nothing(levels: list[Level | None], wait: int, data: st.DataObject) -> None:
    """A restart reads again from an older cursor: any suffix of what was already seen comes once more."""
    plain = [seen(k, level, 15 * wait) for k, level in enumerate(levels) if level is not None]
    repeated: list[Observation] = []
    for k, one in enumerate(plain):
        repeated.append(one)
        back = data.draw(st.integers(0, min(k + 1, 4)))
        repeated += plain[k + 1 - back : k + 1]
    now = at(len(levels))
    assert play(repeated, now)[1] == play(plain, now)[1]


@settings(max_examples=300, deadline=None)
@given(levels=series, wait=st.integers(0, 4), data=st.data())
def test_how_ticks_are_batched_does_not_matter(levels: list[Level | None], wait: int, data: st.DataObject) -> None:
    plain = [seen(k, level, 15 * wait) for k, level in enumerate(levels) if level is not None]
    book, kept, rest = Book(), {}, plain
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        book.apply(reversed(rest[:size]), at(len(levels)))
        kept |= book.changed
        rest = rest[size:]
    assert sorted(kept.values(), key=lambda e: e.started_at) == play(plain, at(len(levels)))[1]


nights_series = st.lists(st.tuples(st.integers(1, 8), st.sampled_from([B, C, U])), max_size=30)


@settings(max_examples=400, deadline=None)
@given(nights=nights_series)
def test_no_night_ever_raises_two_alerts_and_no_bad_night_is_lost(nights: list[tuple[int, Level]]) -> None:
    _, episodes = play([night(*one) for one in nights], now=T0 + timedelta(days=30))
    starts = Counter(e.started_at for e in episodes)
    assert all(n == 1 for n in starts.values())
    assert sum(e.ended_at is None for e in episodes) <= 1
    bad = {T0 + timedelta(days=d) for d, level in nights if level is B}
    for moment in bad:
        assert any(e.started_at <= moment and (e.ended_at is None or e.ended_at >= moment) for e in episodes)
    for episode in episodes:
        assert episode.started_at in bad


@settings(max_examples=300, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(-240, 120), st.sampled_from([B, C])), min_size=1, max_size=40),
    wait=st.integers(0, 60),
)
def test_a_clock_that_jumps_loses_no_lasting_condition(steps: list[tuple[int, Level]], wait: int) -> None:
    """After any jumps, a condition that holds for its wait plus the tolerance fires, and a good one ends it."""
    clock, watch = T0, Watch()
    for minutes, level in steps:
        clock += timedelta(minutes=minutes)
        watch, _ = step(watch, one_at(clock, level, wait), clock)
    for level, phase in ((B, Phase.FIRING), (C, Phase.IDLE)):
        for _ in range((wait + 10) // 5 + 2):
            clock += timedelta(minutes=5)
            watch, _ = step(watch, one_at(clock, level, wait), clock)
        assert watch.phase is phase


def one_at(moment: datetime, level: Level, wait: int) -> Observation:
    return Observation(KEY, moment, level, sustain=timedelta(minutes=wait), max_gap=timedelta(minutes=30))


def test_a_jump_forward_does_not_count_as_waiting() -> None:
    _, episodes = play([seen(0, B), replace(seen(0, B), at=T0 + timedelta(hours=5))])
    assert episodes == []


def test_a_known_beginning_counts_over_a_restart() -> None:
    late = replace(seen(20, B, 120), since=at(0))
    assert spans(play([late])[1]) == [(at(20), None)]


def test_subjects_share_one_alert_that_ends_with_the_last() -> None:
    first, second = (Key("RunFailed", "toutes", name) for name in ("nightly", "monthly_report"))
    script = [seen(0, B, 0, first), seen(1, B, 0, second), seen(2, C, 0, first), seen(3, C, 0, second)]
    _, episodes = play(script)
    assert spans(episodes) == [(at(0), at(3))]
    _, episodes = play(script[:3])
    assert episodes[0].subjects == ("monthly_report",)
    assert set(episodes[0].details) == {"monthly_report"}


def test_one_subject_taking_over_from_another_at_the_same_time_is_no_new_alert() -> None:
    day, daytime = replace(KEY, subject="nuit"), KEY
    book = Book()
    book.apply([seen(0, B, 0, day)], at(0))
    book.apply([seen(1, C, 0, day), seen(1, B, 0, daytime)], at(1))
    assert next(iter(book.open.values())).subjects == ("journée",)
    assert len(book.changed) == 1


def test_a_silent_night_wakes_nobody_until_a_fresh_one_is_bad() -> None:
    quiet = replace(night(1, B), silent=True)
    assert play([quiet])[1][0].silent
    assert not play([quiet, night(2, B)])[1][0].silent


def test_conditions_that_never_were_bad_leave_no_trace() -> None:
    book, _ = play([seen(k, C) for k in range(50)])
    assert book.watches == {}


def test_changes_are_named() -> None:
    watch, change = step(Watch(), seen(0, B, 0), at(0))
    assert (watch.phase, change) == (Phase.FIRING, Change.RAISED)
    watch, change = step(watch, seen(1, B, 0), at(1))
    assert change is Change.CONTINUED
    assert step(watch, seen(2, C, 0), at(2))[1] is Change.RESOLVED
