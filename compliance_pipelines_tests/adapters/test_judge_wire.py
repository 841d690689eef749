"""The judge's server misbehaving below the reply: bytes that trickle, nesting, filters that refuse one text, identity.

Every call ends within its time and in a reading or a reason; one exchange never costs the night.
"""

from __future__ import annotations

import pytest

from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.judge import NeutralityJudge
from compliance_pipelines.adapters.judge_asks import Session, Timing
from compliance_pipelines.adapters.judge_config import JudgeConfigError, JudgeSettings, JudgeUnavailableError
from compliance_pipelines.adapters.judge_files import judge_files
from compliance_pipelines.adapters.judge_model import model_digest
from compliance_pipelines.adapters.judge_night import known_digest, open_judge
from compliance_pipelines.adapters.judge_pool import Ended, Limits
from compliance_pipelines.core.judge_samples import Reading
from compliance_pipelines_tests.judge_samples import FakeClock, judge_at, sample, samples
from compliance_pipelines_tests.standins.llm import LlmStub, Reply, judging
from compliance_pipelines_tests.standins.llm_minds import pieces

DEEP = b"[" * 300_000 + b"]" * 300_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
KNOWN = "sha256:" + "b" * 64


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        # within the time of each read, never within that of the call
        (Reply(wire=HEAD + b"Content-Length: 9999\r\n\r\n" + b" " * 9999, drip=0.02), "timeout"),
        (Reply(wire=HEAD + b"X: y\r\n" * 2000, drip=0.02), "timeout"),
        (Reply(raw=b'{"x": ' + DEEP + b', "choices": []}'), "not_a_completion"),
        (Reply(raw=b'{"choices": [{"message": {"content": "x", "y": ' + DEEP + b"}}]}"), "not_a_completion"),
        (Reply(wire=b"\x00\x01\r\n\r\n"), "unreachable"),
        (Reply(wire=b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), "unreachable"),
        (Reply(wire=HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n"), "unreachable"),
        (Reply(wire=HEAD + b"X: " + b"a" * 3_000_000 + b"\r\n\r\n"), "unreachable"),
        (Reply(raw=b"nonsense", headers=(("Content-Encoding", "gzip"),)), "unreachable"),
        (Reply(raw=b'{"choices": [{"message": {"content": "\\ud800"}}]}'), "not_a_completion"),
        (Reply(status=302, headers=(("Location", "http://127.0.0.1:1/"),)), "request_refused"),
        # a filter before the model that refuses one text
        (Reply(status=401), "request_refused"),
        (Reply(status=403), "request_refused"),
        (Reply(status=404), "request_refused"),
    ],
)
def test_one_bad_exchange_costs_no_night(stub: LlmStub, cache: SqliteCache, reply: Reply, reason: str) -> None:
    poison = sample(1)
    stub.behave = lambda r: reply if poison.answer in pieces(r).get("réponse", "") else judging()(r)
    timing = FakeClock().timing()
    found = judge_at(stub.url, cache, timeout=0.4, timing=timing).judge("n", {poison.key: poison, **samples(9)})
    assert found.readings[poison.key] == Reading(reason=reason)
    assert sum(r.value is not None for r in found.readings.values()) == 8
    assert (found.ended, found.withheld) == (Ended.DONE, frozenset())


def test_the_first_text_of_the_night_cannot_end_it(stub: LlmStub, cache: SqliteCache) -> None:
    """It leaves beside the opening anchors and is refused before any of them is answered."""
    poison = sample(1)
    late = judging(latency=0.3)
    stub.behave = lambda r: Reply(status=403) if poison.answer in pieces(r).get("réponse", "") else late(r)
    limits = Limits(concurrency=16, first_pause=0.001)
    found = judge_at(stub.url, cache, limits=limits).judge("n", {poison.key: poison, **samples(9)})
    assert found.readings[poison.key] == Reading(reason="request_refused")
    assert sum(r.value is not None for r in found.readings.values()) == 8


def test_a_key_withdrawn_in_mid_batch_is_named_and_what_was_paid_is_kept(stub: LlmStub, cache: SqliteCache) -> None:
    stub.behave = lambda r: judging()(r) if len(stub.requests) <= 30 else Reply(status=401)
    timing = FakeClock().timing()
    with pytest.raises(JudgeConfigError, match="JUDGE_API_KEY"):
        judge_at(stub.url, cache, timing=timing).judge("n", samples(60))
    assert len(stub.requests) < 50
    stub.reset()
    stub.behave = judging()
    found = judge_at(stub.url, cache).judge("n", samples(60))
    assert all(r.value is not None for r in found.readings.values())
    assert len(stub.requests) == 60 + 2 * 12 - 30


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_server_that_cannot_tell_now_keeps_the_identity_it_had(
    stub: LlmStub, cache: SqliteCache, status: int
) -> None:
    settings = JudgeSettings(stub.url, "juge-test", None)
    cache.remember(stub.url, "juge-test", KNOWN)
    stub.elsewhere["/api/tags"] = Reply(status=status)
    assert known_digest(Session(settings), cache) == KNOWN
    assert cache.digest(stub.url, "juge-test") == (True, KNOWN)
    with pytest.raises(JudgeUnavailableError, match="indisponible"):
        model_digest(settings)


def first_contact(stub: LlmStub, cache: SqliteCache, clock: FakeClock, up_at: float) -> NeutralityJudge:
    """A judge opened on a server that nobody ever met and that is down until `up_at` on the clock."""

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        if clock.now >= up_at:
            stub.elsewhere.pop("/models", None)

    stub.elsewhere["/models"] = Reply(status=503)
    stub.behave = lambda r: judging()(r) if clock.now >= up_at else Reply(status=503)
    limits = Limits(concurrency=4, first_pause=0.5, longest_pause=300.0, patience=900.0)
    session = Session(JudgeSettings(stub.url, "juge-test", None), limits, timing=Timing(clock, sleep))
    return open_judge(session, judge_files(), cache)


def test_a_judge_that_is_down_at_first_contact_is_judged_by_under_its_own_digest(
    stub: LlmStub, cache: SqliteCache
) -> None:
    clock = FakeClock()
    judge = first_contact(stub, cache, clock, clock.now + 600)
    assert (judge.met, judge.identity.digest) == (True, stub.digest)
    found = judge.judge("night", samples(6))
    assert all(reading.value is not None for reading in found.readings.values())
    # the next night, met at once, is the same judge
    again = open_judge(judge.session, judge_files(), cache)
    assert again.evaluator == judge.evaluator
    assert again.judge("again", samples(6)).sent == 0


def test_a_judge_that_never_said_who_it_is_judges_nothing_until_it_does(stub: LlmStub, cache: SqliteCache) -> None:
    clock = FakeClock()
    judge = first_contact(stub, cache, clock, clock.now + 1e6)
    assert 900 <= clock.now - 1000 < 1300
    assert (judge.met, cache.digest(stub.url, "juge-test")) == (False, (False, None))
    found = judge.judge("night", samples(6))
    assert (found.ended, found.sent, stub.requests) == (Ended.UNAVAILABLE, 0, [])
    assert set(found.readings.values()) == {Reading(reason="judge_unavailable")}
    stub.elsewhere.pop("/models")
    clock.now += 1e6
    settled = open_judge(judge.session, judge_files(), cache)
    assert settled.met
    assert all(r.value is not None for r in settled.judge("night", samples(6)).readings.values())


@pytest.mark.parametrize(
    "reply", [Reply(status=404), Reply(status=501), Reply(raw=b'{"models": ' + DEEP + b"}"), Reply(raw=b"<html>")]
)
def test_a_server_that_tells_no_digest_has_none(stub: LlmStub, reply: Reply) -> None:
    stub.elsewhere["/api/tags"] = reply
    assert model_digest(JudgeSettings(stub.url, "juge-test", None)) is None


@pytest.mark.parametrize("path", ["/models", "/api/tags"])
def test_asking_for_the_digest_ends_in_time(stub: LlmStub, path: str) -> None:
    stub.elsewhere[path] = Reply(wire=HEAD + b"Content-Length: 9999\r\n\r\n" + b" " * 9999, drip=0.02)
    with pytest.raises(JudgeUnavailableError, match="injoignable"):
        model_digest(JudgeSettings(stub.url, "juge-test", None), timeout=0.4)
