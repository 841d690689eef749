"""The outbox: what is observed goes out, again while it fires, and is resolved; no answer loses nothing."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from compliance_guardrails.policy import load_policy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compliance_pipelines.adapters.alertmanager import Alertmanager, NotificationFile
from compliance_pipelines.adapters.outbox import Outbox, OutboxError, SenderUnavailableError
from compliance_pipelines.core.alerting import Episode, Key, Level, Observation
from compliance_pipelines.core.alerting_delivery import Post, Timing, due, payload

T0 = datetime(2026, 6, 1, 8, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TIMING = Timing(resend=2 * MINUTE, hold=6 * MINUTE, ttl=60 * MINUTE)
NOTES = {"summary": "Sinistres : sous le seuil.", "description": "0,652 < 0,700 (N = 41).", "next_step": "Relire."}


class Receiver:
    """An Alertmanager in small: groups wait, resolved alerts that were never told of are told to nobody."""

    def __init__(self) -> None:
        self.up = True
        self.alerts: dict[str, dict[str, Any]] = {}
        self.told: set[str] = set()
        self.notices: list[tuple[str, str]] = []
        self.posts = 0

    def send(self, posts: Sequence[Post], now: datetime, timing: Timing) -> Sequence[bool]:
        if not self.up:
            raise SenderUnavailableError("Alertmanager ne répond pas")
        for post in posts:
            self.posts += 1
            alert = payload(post, now, timing)
            assert alert["startsAt"] <= alert["endsAt"]
            self.alerts[json.dumps(alert["labels"], sort_keys=True)] = alert
        return [True] * len(posts)

    def flush(self, now: datetime) -> None:
        for labels, alert in self.alerts.items():
            firing = datetime.fromisoformat(alert["endsAt"]) > now
            name = json.loads(labels)["department"]
            if firing and labels not in self.told:
                self.told.add(labels)
                self.notices.append(("firing", name))
            if not firing and labels in self.told:
                self.told.remove(labels)
                self.notices.append(("resolved", name))


def seen(minutes: int, level: Level, department: str = "direction-sinistres", subject: str = "journée") -> Observation:
    key = Key("NeutralityBelowThreshold", department, subject)
    return Observation(key, T0 + minutes * MINUTE, level, annotations=NOTES if level is Level.BREACH else {})


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path / "outbox")


def run(outbox: Outbox, receiver: Receiver, first: int, last: int) -> None:
    for minute in range(first, last + 1):
        now = T0 + minute * MINUTE
        outbox.sweep(receiver, now, TIMING)
        if minute % 5 == 0:  # group_interval
            receiver.flush(now)


def test_firing_is_sent_again_until_resolved_once(outbox: Outbox) -> None:
    receiver = Receiver()
    outbox.observe([seen(0, Level.BREACH)], T0)
    run(outbox, receiver, 0, 20)
    assert receiver.posts == 11
    outbox.observe([seen(21, Level.CLEAR)], T0 + 21 * MINUTE)
    run(outbox, receiver, 21, 60)
    assert receiver.posts == 12
    assert receiver.notices == [("firing", "direction-sinistres"), ("resolved", "direction-sinistres")]


def test_three_hours_without_alertmanager_lose_nothing(outbox: Outbox) -> None:
    """One alert began and ended meanwhile, one began and lasts, one ended that had been told of."""
    receiver = Receiver()
    outbox.observe([seen(0, Level.BREACH, "direction-rh")], T0)
    run(outbox, receiver, 0, 5)
    receiver.up = False
    for minute, level, department in (
        (10, Level.BREACH, "direction-sinistres"),
        (40, Level.CLEAR, "direction-sinistres"),
        (50, Level.CLEAR, "direction-rh"),
        (60, Level.BREACH, "direction-juridique"),
    ):
        outbox.observe([seen(minute, level, department)], T0 + minute * MINUTE)
        assert outbox.sweep(receiver, T0 + minute * MINUTE, TIMING).waiting > 0
    receiver.up = True
    run(Outbox(outbox.path.parent), receiver, 180, 240)
    assert receiver.notices == [
        ("firing", "direction-rh"),
        ("firing", "direction-sinistres"),
        ("firing", "direction-juridique"),
        # shown once more before its end, in case the receiver forgot it
        ("resolved", "direction-rh"),
        ("resolved", "direction-sinistres"),
    ]


script = st.lists(
    st.tuples(
        st.integers(1, 40),
        st.sampled_from(["a", "b"]),
        st.sampled_from([Level.BREACH, Level.CLEAR]),
        st.sampled_from(["", "down", "up", "restart", "clock"]),
    ),
    max_size=12,
)


@settings(max_examples=20, deadline=None)
@given(steps=script)
def test_every_episode_is_told_of_in_order_whatever_fails(
    steps: list[tuple[int, str, Level, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Receiver down and up, process restarted, wall clock set back an hour: each episode gets firing, then resolved."""
    outbox, receiver, minute, shift = Outbox(tmp_path_factory.mktemp("o")), Receiver(), 0, timedelta(0)
    for gap, department, level, event in steps:
        minute += gap
        receiver.up = {"down": False, "up": True}.get(event, receiver.up)
        outbox = Outbox(outbox.path.parent) if event == "restart" else outbox
        shift += timedelta(hours=-1) if event == "clock" else timedelta(0)
        outbox.observe([seen(minute, level, department)], T0 + minute * MINUTE)
        outbox.sweep(receiver, T0 + minute * MINUTE + shift, TIMING)
    receiver.up = True
    for k in range(1, 2 * len(steps) + 4):
        outbox.sweep(receiver, T0 + (minute + 7 * k) * MINUTE, TIMING)
    episodes = outbox.episodes()
    assert all(e.announced_at is not None for e in episodes)
    assert all((e.closed_at is not None) == (e.ended_at is not None) for e in episodes)
    for department in ("a", "b"):
        mine = [e for e in episodes if e.department == department]
        assert all(x.ended_at is not None and x.ended_at <= y.started_at for x, y in pairwise(mine))


quick = st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["a", "b"]), st.booleans()), max_size=6)


@settings(max_examples=12, deadline=None)
@given(steps=quick)
@example(steps=[(1, "a", True), (10, "a", False), (2, "a", True)])
def test_no_episode_hides_behind_the_one_before(
    steps: list[tuple[int, str, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """However soon one follows another, a receiver that groups for five minutes tells of each beginning and end."""
    outbox, receiver, minute = Outbox(tmp_path_factory.mktemp("o")), Receiver(), 0
    for gap, department, bad in steps:
        run(outbox, receiver, minute, minute + gap - 1)
        minute += gap
        outbox.observe([seen(minute, Level.BREACH if bad else Level.CLEAR, department)], T0 + minute * MINUTE)
    run(outbox, receiver, minute, minute + 25 * (len(steps) + 1))
    for department in ("a", "b"):
        mine = [e for e in outbox.episodes() if e.department == department]
        expected = [told for e in mine for told in ("firing", "resolved")][
            : 2 * len(mine) - (department in _open(mine))
        ]
        assert [status for status, name in receiver.notices if name == department] == expected


def _open(episodes: list[Episode]) -> set[str]:
    return {e.department for e in episodes if e.ended_at is None}


def test_a_file_of_an_earlier_version_is_taken_over(outbox: Outbox) -> None:
    outbox.observe([seen(0, Level.BREACH)], T0)
    with sqlite3.connect(outbox.path) as db:
        for column in ("told", "refused_at", "reason"):
            db.execute(f"ALTER TABLE episodes DROP COLUMN {column}")
        db.execute("DROP TABLE looked")
    db.close()
    receiver = Receiver()
    run(outbox, receiver, 0, 10)
    outbox.observe([seen(11, Level.CLEAR)], T0 + 11 * MINUTE)
    run(outbox, receiver, 11, 30)
    assert receiver.notices == [("firing", "direction-sinistres"), ("resolved", "direction-sinistres")]


def test_labels_never_change_and_values_are_annotations(outbox: Outbox) -> None:
    outbox.observe([seen(0, Level.BREACH)], T0)
    (first,) = due(outbox.episodes(), T0, TIMING)
    outbox.observe([seen(1, Level.BREACH, subject="nuit")], T0 + MINUTE)
    (second,) = due(outbox.episodes(), T0, TIMING)
    one, two = (payload(p, T0, TIMING) for p in (first, second))
    assert one["labels"] == two["labels"]
    assert set(one["labels"]) == {"alertname", "department", "severity", "service"}
    assert not any(any(c.isdigit() for c in value) for value in one["labels"].values())
    assert "0,652" in one["annotations"]["description"]


def test_a_refused_alert_does_not_hold_up_the_others(outbox: Outbox) -> None:
    class NotA(Receiver):
        def send(self, posts: Sequence[Post], now: datetime, timing: Timing) -> Sequence[bool]:
            super().send(posts, now, timing)
            return [post.episode.department != "a" for post in posts]

    outbox.observe([seen(0, Level.BREACH, d) for d in "abc"], T0)
    swept = outbox.sweep(NotA(), T0, TIMING)
    assert (swept.sent, swept.refused) == (2, 1)
    assert [e.department for e in outbox.episodes() if e.announced_at is None] == ["a"]


@pytest.mark.parametrize(
    ("status", "unavailable"),
    [(200, False), (400, False), (413, False), (422, False), (401, True), (404, True), (500, True), (503, True)],
)
def test_answers_of_alertmanager(status: int, unavailable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpx.Client, "post", lambda *_, **__: httpx.Response(status))
    post = Post(Episode("x", "RunFailed", "toutes", "warning", T0, None, {"nightly": NOTES}, ("nightly",)), firing=True)
    with Alertmanager("http://127.0.0.1:9") as sender:
        if unavailable:
            with pytest.raises(SenderUnavailableError, match=str(status)):
                sender.send([post], T0, TIMING)
        else:
            assert sender.send([post, post], T0, TIMING) == [status == 200] * 2


def test_nobody_there_is_one_line() -> None:
    post = Post(Episode("x", "RunFailed", "toutes", "warning", T0, None, {}, ("n",)), firing=True)
    with Alertmanager("http://127.0.0.1:9") as sender, pytest.raises(SenderUnavailableError, match="ne répond pas"):
        sender.send([post], T0, TIMING)


def test_without_alertmanager_each_beginning_and_end_is_a_line(outbox: Outbox, tmp_path: Path) -> None:
    sender = NotificationFile(tmp_path / "notifications.jsonl")
    outbox.observe([seen(0, Level.BREACH)], T0)
    for minute in range(5):
        outbox.sweep(sender, T0 + minute * MINUTE, TIMING)
    outbox.observe([seen(6, Level.CLEAR)], T0 + 6 * MINUTE)
    outbox.sweep(sender, T0 + 7 * MINUTE, TIMING)
    outbox.sweep(sender, T0 + 8 * MINUTE, TIMING)
    lines = [json.loads(line) for line in (tmp_path / "notifications.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["status"] for line in lines] == ["firing", "resolved"]


def test_several_sensors_write_at_once(outbox: Outbox) -> None:
    def work(department: str) -> None:
        for k in range(20):
            level = Level.BREACH if k % 2 == 0 else Level.CLEAR
            outbox.observe([seen(k, level, department)], T0 + k * MINUTE)

    threads = [threading.Thread(target=work, args=(d,)) for d in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outbox.episodes()) == 4 * 10


def test_one_writer_at_a_time_from_the_first_look(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sensor decides on what it read: nobody may write between its reading and its writing."""
    outbox.observe([seen(0, Level.BREACH)], T0)
    monkeypatch.setattr("compliance_pipelines.adapters.outbox._BUSY_SECONDS", 0.05)
    with outbox._transaction(), pytest.raises(OutboxError, match="locked"):
        outbox.watched()


def test_what_has_ended_is_not_opened_again(outbox: Outbox) -> None:
    outbox.observe([seen(10, Level.BREACH)], T0 + 10 * MINUTE)
    outbox.observe([seen(11, Level.CLEAR)], T0 + 11 * MINUTE)
    outbox.observe([seen(10, Level.BREACH)], T0)  # the clock was set back and the day is looked at again
    assert [episode.ended_at for episode in outbox.episodes()] == [T0 + 11 * MINUTE]


def test_what_is_silent_is_told_to_nobody(outbox: Outbox) -> None:
    found = outbox.observe([replace(seen(0, Level.BREACH), silent=True)], T0)
    assert [episode.silent for episode in found] == [True]
    assert due(found, T0, TIMING) == []


def test_a_killed_writer_leaves_the_state_before(outbox: Outbox) -> None:
    outbox.observe([seen(0, Level.BREACH)], T0)
    code = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('BEGIN IMMEDIATE'); db.execute('DELETE FROM episodes'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(outbox.path)], check=False).returncode == 9
    assert len(outbox.episodes()) == 1


def test_a_damaged_file_is_one_french_line(outbox: Outbox) -> None:
    outbox.path.parent.mkdir(parents=True)
    outbox.path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(OutboxError, match="file des alertes inutilisable"):
        outbox.episodes()


def test_the_month_of_the_report(outbox: Outbox) -> None:
    start, end = datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)
    assert outbox.facts(start, end) == ()
    assert not outbox.path.exists()
    june, july = timedelta(days=3), timedelta(days=40)
    for shift, level, department in ((june, Level.BREACH, "a"), (july, Level.CLEAR, "a"), (july, Level.BREACH, "b")):
        key = Key("NeutralityBelowThreshold", department, "nuit")
        outbox.observe([Observation(key, T0 + shift, level, annotations=NOTES)], T0 + shift)
    (fact,) = outbox.facts(start, end)
    assert (fact.department, fact.started_at, fact.ended_at) == ("a", T0 + june, None)
    assert fact.summary_fr == NOTES["description"]


def test_an_alert_of_the_very_border_is_in_one_month_alone(outbox: Outbox) -> None:
    """A late night at once over: the end of the last day is the first instant of the next month."""
    outbox.observe([replace(seen(0, Level.BREACH), once=True)], T0)
    assert [e.ended_at for e in outbox.episodes()] == [T0]
    day = timedelta(days=1)
    assert [len(outbox.facts(T0 + k * day, T0 + (k + 1) * day)) for k in (-1, 0, 1)] == [0, 1, 0]


def test_purge_keeps_what_is_open_or_not_delivered(outbox: Outbox) -> None:
    receiver = Receiver()
    outbox.observe([seen(0, Level.BREACH, d) for d in "ab"], T0)
    outbox.observe([seen(9, Level.CLEAR, "a")], T0 + 9 * MINUTE)
    later = T0 + timedelta(days=400)
    assert outbox.purge(later) == 0
    run(outbox, receiver, 10, 20)
    assert outbox.purge(later) == 1
    assert [e.department for e in outbox.episodes()] == ["b"]


def test_timing_of_the_policy_outlasts_the_groups_of_alertmanager() -> None:
    timing = Timing.of(load_policy(at=date(2026, 6, 30)))
    assert timing.hold > timedelta(minutes=5)  # group_interval in k8s/monitoring/alertmanager.yaml
    assert timing.ttl >= 10 * timing.resend


def test_the_file_keeps_no_more_than_it_needs(outbox: Outbox) -> None:
    outbox.observe([seen(0, Level.BREACH)], T0)
    with sqlite3.connect(outbox.path) as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(episodes)")}
    db.close()
    assert not columns & {"question", "answer", "trace_id"}
