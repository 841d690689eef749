"""How alerts are told: a new failure beside an old one, an end by hand, an alert that the receiver refuses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from compliance_pipelines.adapters.alertmanager import Alertmanager
from compliance_pipelines.adapters.outbox import Outbox
from compliance_pipelines.core.alerting import Episode, Key, Level, Observation
from compliance_pipelines.core.alerting_delivery import Post, Timing, payload
from compliance_pipelines_tests.adapters.test_alert_outbox import MINUTE, T0, TIMING, Receiver, run, seen


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path / "outbox")


RUNS = ("nightly 2026-06-08", "nightly 2026-06-09", "monthly_report 2026-06-01")


def failed(minute: int, subject: str, level: Level = Level.BREACH) -> Observation:
    notes = {"summary": "Échec.", "description": f"{subject}.", "dagster_url": f"https://dagster.example/runs/{minute}"}
    return Observation(Key("RunFailed", "toutes", subject), T0 + minute * MINUTE, level, annotations=notes)


def test_a_new_failure_is_told_though_an_old_one_lasts(outbox: Outbox) -> None:
    """Same labels: Alertmanager would stay silent. The alert ends and begins anew, with the new link and both words."""
    receiver = Receiver()
    outbox.observe([failed(0, RUNS[0])], T0)
    run(outbox, receiver, 0, 59)
    outbox.observe([failed(60, RUNS[1])], T0 + 60 * MINUTE)
    run(outbox, receiver, 60, 90)
    assert receiver.notices == [("firing", "toutes"), ("resolved", "toutes"), ("firing", "toutes")]
    (alert,) = receiver.alerts.values()
    assert alert["annotations"]["description"] == f"{RUNS[1]}. {RUNS[0]}."
    assert alert["generatorURL"].endswith("/60")
    run(outbox, receiver, 91, 300)
    assert len(receiver.notices) == 3
    outbox.observe([failed(301, RUNS[1], Level.CLEAR)], T0 + 301 * MINUTE)  # one is mended: nothing new
    run(outbox, receiver, 301, 330)
    assert len(receiver.notices) == 3
    outbox.observe([failed(331, RUNS[1]), failed(331, RUNS[2])], T0 + 331 * MINUTE)  # two at once: one new alert
    run(outbox, receiver, 331, 400)
    assert [status for status, _ in receiver.notices[3:]] == ["resolved", "firing"]
    outbox.observe([failed(401, subject, Level.CLEAR) for subject in RUNS], T0 + 401 * MINUTE)
    run(outbox, receiver, 401, 440)
    assert [status for status, _ in receiver.notices[5:]] == ["resolved"]
    assert len(outbox.episodes()) == 1


def test_night_and_day_of_a_department_are_one_alert(outbox: Outbox) -> None:
    receiver = Receiver()
    outbox.observe([seen(0, Level.BREACH, subject="nuit")], T0)
    run(outbox, receiver, 0, 30)
    outbox.observe([seen(31, Level.BREACH)], T0 + 31 * MINUTE)
    run(outbox, receiver, 31, 60)
    assert receiver.notices == [("firing", "direction-sinistres")]


def test_a_gained_subject_survives_an_alertmanager_that_goes_away(outbox: Outbox) -> None:
    receiver = Receiver()
    outbox.observe([failed(0, RUNS[0])], T0)
    run(outbox, receiver, 0, 10)
    outbox.observe([failed(11, RUNS[1])], T0 + 11 * MINUTE)
    for up_at in range(12, 24):
        receiver.up = up_at % 3 != 0
        run(outbox, receiver, up_at, up_at)
    receiver.up = True
    run(outbox, receiver, 24, 60)
    assert receiver.notices[-1] == ("firing", "toutes")
    (episode,) = outbox.episodes()
    assert set(episode.told) == {RUNS[0], RUNS[1]}


def test_ended_by_hand_with_the_reason(outbox: Outbox) -> None:
    receiver = Receiver()
    outbox.observe([failed(0, RUNS[0]), failed(0, RUNS[1]), seen(0, Level.BREACH)], T0)
    run(outbox, receiver, 0, 10)
    now = T0 + 11 * MINUTE
    assert outbox.resolve("RunFailed", "toutes", RUNS[2], "essai", now) == 0
    assert outbox.resolve("RunFailed", "toutes", RUNS[0], "essai", now) == 1
    assert outbox.resolve("RunFailed", "toutes", None, "à la main, travail retiré", now) == 1
    assert outbox.resolve("RunFailed", "toutes", None, "encore", now) == 0
    run(outbox, receiver, 11, 30)
    assert receiver.notices[-1] == ("resolved", "toutes")
    ended = next(a for a in receiver.alerts.values() if a["labels"]["alertname"] == "RunFailed")["annotations"]["ended"]
    assert ended == "Terminée le 2026-06-01 à 08:11 UTC\u202f: à la main, travail retiré."
    outbox.observe([failed(0, RUNS[0])], now)  # the same failure read again
    assert len([e for e in outbox.episodes() if e.ended_at is None]) == 1
    outbox.observe([failed(40, RUNS[0])], T0 + 40 * MINUTE)  # a new one
    assert len([e for e in outbox.episodes() if e.ended_at is None]) == 2


class Choosy(Receiver):
    """A receiver that refuses the alerts whose description is `poison`."""

    def send(self, posts: Sequence[Post], now: datetime, timing: Timing) -> Sequence[bool]:
        good = [payload(p, now, timing)["annotations"].get("description") != "poison" for p in posts]
        super().send([p for p, ok in zip(posts, good, strict=True) if ok], now, timing)
        self.posts += len(posts) - sum(good)
        return good


def poison(minute: int, level: Level = Level.BREACH) -> Observation:
    key = Key("NeutralityBelowThreshold", "direction-sinistres", "journée")
    return Observation(key, T0 + minute * MINUTE, level, annotations={"description": "poison"})


def test_a_refused_alert_is_set_aside_counted_and_holds_up_nothing(outbox: Outbox) -> None:
    receiver = Choosy()
    outbox.observe([poison(0)], T0)
    run(outbox, receiver, 0, 59)
    assert receiver.posts == 1  # not again and again
    run(outbox, receiver, 60, 61)
    assert receiver.posts == 2  # but once an hour, in case it is taken now
    assert (outbox.undelivered().waiting, len(outbox.undelivered().refused)) == (0, 1)
    outbox.observe([poison(70, Level.CLEAR)], T0 + 70 * MINUTE)
    outbox.observe([seen(71, Level.BREACH)], T0 + 71 * MINUTE)  # its successor, with the same labels
    run(outbox, receiver, 71, 80)
    assert receiver.notices == [("firing", "direction-sinistres")]
    first, second = outbox.episodes()
    assert (first.closed_at is not None, first.refused_at is not None, second.refused_at) == (True, True, None)
    assert outbox.purge(T0 + timedelta(days=400)) == 1


def test_an_alert_whose_words_are_mended_is_taken(outbox: Outbox) -> None:
    receiver = Choosy()
    outbox.observe([poison(0)], T0)
    run(outbox, receiver, 0, 1)
    outbox.observe([seen(5, Level.BREACH)], T0 + 5 * MINUTE)
    run(outbox, receiver, 5, 70)
    assert receiver.notices == [("firing", "direction-sinistres")]
    assert outbox.undelivered().refused == ()


def test_after_hours_away_what_lasts_does_not_queue_behind_what_is_over(outbox: Outbox) -> None:
    """Twelve short alerts and a lasting one of the same labels: one notice, which tells of the others; none is lost."""
    receiver = Receiver()
    receiver.up = False
    for k in range(12):
        outbox.observe([seen(15 * k, Level.BREACH)], T0 + 15 * k * MINUTE)
        outbox.observe([seen(15 * k + 7, Level.CLEAR)], T0 + (15 * k + 7) * MINUTE)
        outbox.sweep(receiver, T0 + 15 * k * MINUTE, TIMING)
    outbox.observe([seen(181, Level.BREACH)], T0 + 181 * MINUTE)
    receiver.up = True
    run(outbox, receiver, 181, 185)
    assert receiver.notices == [("firing", "direction-sinistres")]
    # sent again meanwhile, before the receiver's groups are due: the words are still there
    (alert,) = receiver.alerts.values()
    told = "Avant elle, 12 alerte(s) déjà terminée(s), non dite(s) jusqu’ici, entre 2026-06-01 à 08:00 et 2026-06-01 à"
    assert told in alert["annotations"]["description"]
    run(outbox, receiver, 186, 300)
    assert len(receiver.notices) == 1
    assert [e.closed_at is not None for e in outbox.episodes()] == [True] * 12 + [False]
    assert outbox.undelivered().waiting == 0
    outbox.observe([seen(301, Level.CLEAR)], T0 + 301 * MINUTE)
    run(outbox, receiver, 301, 320)
    assert receiver.notices[1:] == [("resolved", "direction-sinistres")]
    assert "Avant elle" not in next(iter(receiver.alerts.values()))["annotations"]["description"]


def test_what_a_refused_alert_tells_of_is_not_lost_with_it(outbox: Outbox) -> None:
    class Refusing(Receiver):
        def send(self, posts: Sequence[Post], now: datetime, timing: Timing) -> Sequence[bool]:
            del now, timing
            return [False] * len(posts)

    for k in range(3):
        outbox.observe([seen(15 * k, Level.BREACH)], T0 + 15 * k * MINUTE)
        outbox.observe([seen(15 * k + 7, Level.CLEAR)], T0 + (15 * k + 7) * MINUTE)
    outbox.observe([seen(50, Level.BREACH)], T0 + 50 * MINUTE)
    assert outbox.sweep(Refusing(), T0 + 50 * MINUTE, TIMING).refused == 1
    assert [e.closed_at for e in outbox.episodes()] == [None] * 4


def test_a_late_bad_night_ends_no_alert_that_lasts(outbox: Outbox) -> None:
    """Its end, told with the same labels, would end the firing one: the words of that one tell of it."""
    receiver = Receiver()
    key = Key("NeutralityBelowThreshold", "direction-sinistres", "nuit")

    def bad(day: int) -> Observation:
        return Observation(key, T0 + timedelta(days=day), Level.BREACH, night=T0.date() + timedelta(days=day))

    start = 5 * 24 * 60
    outbox.observe([bad(5)], T0 + start * MINUTE)
    run(outbox, receiver, start, start + 33)
    outbox.observe([bad(3)], T0 + (start + 34) * MINUTE)
    run(outbox, receiver, start + 34, start + 90)
    assert receiver.notices == [("firing", "direction-sinistres")]
    assert [e.started_at for e in outbox.episodes()] == [T0 + timedelta(days=d) for d in (3, 5)]
    assert all(e.announced_at is not None for e in outbox.episodes())
    assert len(outbox.facts(T0, T0 + timedelta(days=9))) == 2


def test_each_notice_is_told_for_itself(outbox: Outbox) -> None:
    """Four months archived at once: what one notice says, no other says."""
    receiver = Receiver()
    months = [f"2026-0{k} r1 abc" for k in range(1, 5)]
    outbox.observe(
        [
            Observation(
                Key("ReportPublished", "toutes", m), T0, Level.BREACH, "info", once=True, annotations={"summary": m}
            )
            for m in months
        ],
        T0,
    )
    said = set()
    for minute in range(60):
        run(outbox, receiver, minute, minute)
        said |= {alert["annotations"]["summary"] for alert in receiver.alerts.values()}
    assert said == set(months)
    assert [status for status, _ in receiver.notices] == ["firing", "resolved"] * 4


def test_a_receiver_that_forgot_is_told_again_before_the_end(outbox: Outbox) -> None:
    """Killed, Alertmanager knows nothing; an end alone it would announce to nobody. And once more meanwhile."""
    receiver = Receiver()
    outbox.observe([seen(0, Level.BREACH)], T0)
    run(outbox, receiver, 0, 10)
    for first in (11, 21):
        receiver.up = False
        if first == 11:
            outbox.observe([seen(12, Level.CLEAR)], T0 + 12 * MINUTE)
        run(outbox, receiver, first, first + 5)
        receiver.up, receiver.alerts, receiver.told = True, {}, set()
        run(outbox, receiver, first + 6, first + 9)
    run(outbox, receiver, 31, 60)
    assert [status for status, _ in receiver.notices] == ["firing", "firing", "firing", "resolved"]


def test_a_sender_that_was_away_tells_again_before_the_end(outbox: Outbox) -> None:
    """The daemon was down for hours and Alertmanager with it: no post failed, and yet the receiver knows nothing."""
    receiver = Receiver()
    outbox.observe([seen(0, Level.BREACH)], T0)
    run(outbox, receiver, 0, 10)
    receiver.alerts, receiver.told = {}, set()
    outbox.observe([seen(200, Level.CLEAR)], T0 + 200 * MINUTE)
    run(outbox, receiver, 201, 230)
    assert [status for status, _ in receiver.notices] == ["firing", "firing", "resolved"]


def test_one_refused_alert_of_a_post_is_found_by_posting_each(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def post(_: httpx.Client, url: str, json: list[dict[str, Any]]) -> httpx.Response:
        assert url == "http://am.example/api/v2/alerts"
        asked.append([one["labels"]["department"] for one in json])
        return httpx.Response(400 if "b" in asked[-1] else 200)

    monkeypatch.setattr(httpx.Client, "post", post)
    posts = [Post(Episode(d, "RunFailed", d, "warning", T0, None, {}, ("n",)), firing=True) for d in "abc"]
    with Alertmanager("http://am.example") as sender:
        assert sender.send(posts, T0, TIMING) == [True, False, True]
    assert asked == [["a", "b", "c"], ["a"], ["b"], ["c"]]
