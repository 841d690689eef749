"""The judge over a stub: values, the request, anchors, cache, budget, bad replies. Over time: test_judge_faults."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from compliance_pipelines.adapters.cache import CacheError, SqliteCache
from compliance_pipelines.adapters.judge_config import JudgeConfigError, JudgeSettings, JudgeUnavailableError
from compliance_pipelines.adapters.judge_model import model_digest
from compliance_pipelines.adapters.judge_pool import Budget, Ended, Limits
from compliance_pipelines.core.judge_samples import Reading
from compliance_pipelines_tests.judge_samples import ANCHORS, judge_at, sample, samples
from compliance_pipelines_tests.standins.llm import LlmStub, Reply, judging
from compliance_pipelines_tests.standins.llm_minds import BAD_REPLIES, GOOD_REPLIES, Mind, gullible, honest, pieces


def is_anchor(request: dict) -> bool:
    return "dossier" not in pieces(request).get("réponse", "")


def test_a_batch_is_scored_and_never_more_than_the_bound_is_in_flight(stub: LlmStub, cache: SqliteCache) -> None:
    stub.latency = 0.01
    work = samples(30)
    found = judge_at(stub.url, cache).judge("night", work)
    assert found.ended is Ended.DONE
    assert {found.readings[k].value for k, s in work.items() if s.answer.startswith("Oui")} == {0.15}
    assert {found.readings[k].value for k, s in work.items() if not s.answer.startswith("Oui")} == {0.95}
    assert found.sent == len(stub.requests) == 30 + 2 * ANCHORS
    assert stub.most_in_flight == 4
    assert found.opening is not None
    assert found.opening.passed
    assert found.withheld == frozenset()


def test_an_unchanged_run_costs_no_call(stub: LlmStub, cache: SqliteCache) -> None:
    work = samples(6)
    first = judge_at(stub.url, cache).judge("night", work)
    stub.reset()
    again = judge_at(stub.url, cache).judge("another label", work)
    assert stub.requests == []
    assert again.readings == first.readings
    assert (again.cached, again.sent) == (6, 0)


def test_a_new_sample_beside_known_ones_costs_one_call_and_its_anchors(stub: LlmStub, cache: SqliteCache) -> None:
    judge_at(stub.url, cache).judge("night", samples(6))
    stub.reset()
    found = judge_at(stub.url, cache).judge("night", samples(7))
    assert len(stub.requests) == 1 + 2 * ANCHORS
    assert len(found.readings) == 7


@pytest.mark.parametrize("change", [{"digest": "sha256:b"}, {"model": "autre"}])
def test_another_model_is_another_judge(stub: LlmStub, cache: SqliteCache, change: dict[str, str]) -> None:
    judge_at(stub.url, cache).judge("night", samples(3))
    stub.reset()
    judge_at(stub.url, cache, **change).judge("night", samples(3))
    assert len(stub.requests) == 3 + 2 * ANCHORS


def test_the_request_asks_for_json_at_temperature_zero(stub: LlmStub, cache: SqliteCache) -> None:
    judge_at(stub.url, cache).judge("night", samples(1))
    request = stub.requests[0]
    assert (request["temperature"], request["stream"], request["model"]) == (0, False, "juge-test")
    schema = request["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["required"] == ["analyse", "score", "jeton"]
    # same sample, same request: a re-run can be compared byte by byte
    first = json.dumps([r for r in stub.requests if not is_anchor(r)])
    with SqliteCache(cache.path.with_name("other.sqlite")) as other:
        stub.reset()
        judge_at(stub.url, other).judge("night", samples(1))
    assert json.dumps([r for r in stub.requests if not is_anchor(r)]) == first


@pytest.mark.parametrize("name", BAD_REPLIES)
def test_a_bad_reply_gives_no_score_but_a_reason(stub: LlmStub, cache: SqliteCache, name: str) -> None:
    mind, reason = BAD_REPLIES[name]
    stub.behave = judging(lambda r: honest(r) if is_anchor(r) else mind(r))
    work = samples(2)
    found = judge_at(stub.url, cache).judge("night", work)
    assert set(found.readings.values()) == {Reading(reason=reason)}
    # its cause may be mended: the next run asks again, and only for these
    stub.reset()
    stub.behave = judging()
    mended = judge_at(stub.url, cache).judge("night", work)
    assert all(reading.value is not None for reading in mended.readings.values())
    assert len(stub.requests) == 2 + 2 * ANCHORS


@pytest.mark.parametrize("name", GOOD_REPLIES)
def test_what_says_the_same_is_accepted(stub: LlmStub, cache: SqliteCache, name: str) -> None:
    mind: Mind = GOOD_REPLIES[name]
    stub.behave = judging(lambda r: honest(r) if is_anchor(r) else mind(r))
    found = judge_at(stub.url, cache).judge("night", samples(1))
    assert [r.value for r in found.readings.values()] == [0.8]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(content='{"analyse":', finish="length"), "reply_cut"),
        (Reply(status=400), "request_refused"),
        (Reply(status=422), "request_refused"),
        (Reply(raw=b"<html>"), "not_a_completion"),
        (Reply(raw=b'{"choices": []}'), "empty_reply"),
        (Reply(raw=b'{"choices": [{"message": {"content": 3}}]}'), "not_a_completion"),
        (Reply(raw=b" " * 2_100_000), "not_a_completion"),
        (Reply(status=500), "server_error"),
        (Reply(status=429), "rate_limited"),
        (Reply(hang_up=True), "unreachable"),
    ],
)
def test_a_failing_call_is_unscored_while_others_pass(
    stub: LlmStub, cache: SqliteCache, reply: Reply, reason: str
) -> None:
    poison = sample(1)
    stub.behave = lambda r: reply if poison.answer in pieces(r).get("réponse", "") else judging()(r)
    found = judge_at(stub.url, cache).judge("night", {poison.key: poison, **samples(9)})
    assert found.readings[poison.key] == Reading(reason=reason)
    assert sum(r.value is not None for r in found.readings.values()) == 8
    assert found.ended is Ended.DONE


def test_a_prompt_cut_by_the_server_is_seen(stub: LlmStub, cache: SqliteCache) -> None:
    # a small default context window keeps the end of the request and drops the judge's own instructions
    stub.behave = lambda r: Reply(content=honest(r), prompt_tokens=None if is_anchor(r) else 500)
    long = sample(1, contexts=("Page 3. " + "mot " * 5000,))
    found = judge_at(stub.url, cache).judge("night", {long.key: long})
    assert found.readings[long.key] == Reading(reason="prompt_cut_by_server")


def test_a_timeout_is_unscored(stub: LlmStub, cache: SqliteCache) -> None:
    slow = sample(1)
    stub.behave = lambda r: Reply(content=honest(r), latency=0.5 if slow.answer in pieces(r).get("réponse", "") else 0)
    found = judge_at(stub.url, cache, timeout=0.1).judge("night", {slow.key: slow, **samples(4)})
    assert found.readings[slow.key] == Reading(reason="timeout")
    assert found.ended is Ended.DONE


def test_anchors_that_fail_withhold_the_night_and_the_next_good_run_judges_it(
    stub: LlmStub, cache: SqliteCache
) -> None:
    work = samples(40)
    stub.behave = judging(gullible)
    bad = judge_at(stub.url, cache).judge("night", work)
    assert bad.withheld == frozenset(work)
    assert all(reading.value is None for reading in bad.readings.values())
    assert bad.ended is Ended.ABORTED
    assert bad.sent < ANCHORS + 10  # not paid to the end
    assert bad.opening is not None
    assert set(bad.opening.injected_missed) == {"injection-monter", "injection-baisser", "injection-question"}
    stub.reset()
    stub.behave = judging()
    good = judge_at(stub.url, cache).judge("night", work)
    assert good.withheld == frozenset()
    assert all(reading.value is not None for reading in good.readings.values())
    assert len(stub.requests) == 40 + 2 * ANCHORS


def test_a_judge_that_changes_during_the_night_is_seen_at_its_end(stub: LlmStub, cache: SqliteCache) -> None:
    stub.behave = lambda r: Reply(content=honest(r) if len(stub.requests) < 30 else gullible(r))
    found = judge_at(stub.url, cache).judge("night", samples(40))
    assert found.opening is not None
    assert found.opening.passed
    assert found.closing is not None
    assert not found.closing.passed
    assert len(found.withheld) == 40
    assert cache.good(judge_at(stub.url, cache).evaluator, list(samples(40))) == {}


def test_the_budget_keeps_the_closing_anchors_and_says_what_is_left(stub: LlmStub, cache: SqliteCache) -> None:
    work = samples(20)
    found = judge_at(stub.url, cache, budget=Budget(2 * ANCHORS + 5)).judge("night", work)
    assert found.ended is Ended.BUDGET
    assert sum(r.value is not None for r in found.readings.values()) == 5
    assert [r.reason for r in found.readings.values() if r.value is None] == ["budget_exhausted"] * 15
    stub.reset()
    rest = judge_at(stub.url, cache).judge("night", work)
    assert len(stub.requests) == 15 + 2 * ANCHORS
    assert all(r.value is not None for r in rest.readings.values())


def test_a_budget_too_small_for_the_anchors_buys_nothing(stub: LlmStub, cache: SqliteCache) -> None:
    found = judge_at(stub.url, cache, budget=Budget(2 * ANCHORS)).judge("night", samples(3))
    assert (found.sent, len(stub.requests)) == (0, 0)
    assert {r.reason for r in found.readings.values()} == {"budget_exhausted"}


@pytest.mark.parametrize(("status", "named"), [(401, "JUDGE_API_KEY"), (403, "JUDGE_API_KEY"), (404, "JUDGE_MODEL")])
def test_what_no_retry_mends_is_an_error_at_once(stub: LlmStub, cache: SqliteCache, status: int, named: str) -> None:
    stub.behave = lambda _r: Reply(status=status)
    with pytest.raises(JudgeConfigError, match=named):
        judge_at(stub.url, cache, key="clef-secrete").judge("night", samples(20))
    assert len(stub.requests) <= 8


def test_digest_of_the_model_and_clear_errors() -> None:
    with LlmStub(key="k") as stub:
        assert model_digest(JudgeSettings(stub.url, "juge-test", "k")) == "sha256:" + "a" * 64
        with pytest.raises(JudgeConfigError, match=r"JUDGE_MODEL=autre : inconnu de .* qui propose juge-test"):
            model_digest(JudgeSettings(stub.url, "autre", "k"))
        with pytest.raises(JudgeConfigError, match="JUDGE_API_KEY refusée") as refused:
            model_digest(JudgeSettings(stub.url, "juge-test", "fausse-clef"))
        assert "fausse-clef" not in str(refused.value)
        stub.digest = None
        assert model_digest(JudgeSettings(stub.url, "juge-test", "k")) is None
        url = stub.url
    with pytest.raises(JudgeUnavailableError, match="injoignable"):
        model_digest(JudgeSettings(url, "juge-test", "k"), timeout=1)


def test_progress_is_told_after_each_reply(stub: LlmStub, cache: SqliteCache) -> None:
    seen: list[tuple[int, int]] = []
    judge_at(stub.url, cache).judge("night", samples(3), lambda done, of: seen.append((done, of)))
    assert seen == [(n, 3 + 2 * ANCHORS) for n in range(1, 3 + 2 * ANCHORS + 1)]


def test_the_cache_keeps_no_text(stub: LlmStub, cache: SqliteCache) -> None:
    work = samples(5)
    judge_at(stub.url, cache, limits=Limits(concurrency=1)).judge("night", work)
    cache.__exit__(None, None, None)
    content = b"".join(p.read_bytes() for p in cache.path.parent.iterdir())
    assert b"franchise" not in content
    assert b"dossier" not in content


def test_a_damaged_cache_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "judgements.sqlite"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(CacheError, match=r"judgements\.sqlite : cache des jugements illisible"), SqliteCache(path):
        pass


def test_only_a_damaged_cache_is_said_to_be_worth_deleting(tmp_path: Path) -> None:
    reading = Reading(0.5)
    with SqliteCache(tmp_path / "c.sqlite") as cache:
        other = sqlite3.connect(cache.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        cache._all("PRAGMA busy_timeout=10", ())  # not the half minute that a run waits
        with pytest.raises(CacheError, match=r"occupé par une autre exécution.*attendre sa fin"):
            cache.put("e", "b", "k", reading)
        other.execute("ROLLBACK")
        other.close()
        cache._all("PRAGMA max_page_count=10", ())
        many = {f"k{n}": reading for n in range(5000)}
        with pytest.raises(CacheError, match=r"disque plein.*libérer de la place"):
            cache.accept("e", "b", many)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CacheError, match=r"inaccessible.*ses droits"), SqliteCache(tmp_path / "file" / "c.sqlite"):
        pass
    with pytest.raises(CacheError, match=r"inaccessible.*ses droits"), SqliteCache(tmp_path):
        pass


@pytest.mark.parametrize("value", [7.0, -0.1, float("inf"), "abc", b"\x00", None])
@pytest.mark.parametrize("good", [True, False])
def test_what_no_judge_can_have_said_is_judged_again(
    stub: LlmStub, cache: SqliteCache, value: object, good: bool
) -> None:
    work = samples(3)
    stop = {} if good else {"should_stop": lambda: len(stub.requests) >= ANCHORS + 3}
    judge_at(stub.url, cache, limits=Limits(concurrency=1), **stop).judge("night", work)
    key = next(iter(work))
    with sqlite3.connect(cache.path) as other:
        done = other.execute("UPDATE judgements SET value=? WHERE key=? AND good=?", (value, key, int(good)))
        assert done.rowcount == 1
    other.close()
    stub.reset()
    found = judge_at(stub.url, cache).judge("night", work)
    assert [found.readings[name].value for name in work] == [0.15, 0.95, 0.95]
    assert sum("franchise du dossier" in pieces(request)["réponse"] for request in stub.requests) == 1
    stub.reset()
    assert judge_at(stub.url, cache).judge("night", work).sent == 0


def test_the_anchors_of_one_batch_vouch_for_no_other(cache: SqliteCache) -> None:
    for label in ("monday", "tuesday"):
        cache.put("e", label, label, Reading(0.5))
    cache.close("e", "monday", good=True)
    assert cache.served("e") == {"monday": Reading(0.5)}
    assert cache.resume("e", "monday") == ({}, {})
    cache.close("e", "tuesday", good=False)
    assert cache.served("e") == {"monday": Reading(0.5)}


def test_a_reading_that_is_served_stays_as_it_is(cache: SqliteCache) -> None:
    cache.put("e", "monday", "k", Reading(0.5))
    cache.close("e", "monday", good=True)
    cache.put("e", "tuesday", "k", Reading(0.9))
    assert cache.served("e") == {"k": Reading(0.5)}
    assert cache.accept("e", "file", {"k": Reading(0.9), "new": Reading(0.7)}) == 1
    assert cache.served("e") == {"k": Reading(0.5), "new": Reading(0.7)}


def test_readings_are_accepted_all_or_none_and_digests_are_kept(cache: SqliteCache) -> None:
    with pytest.raises(CacheError):
        cache.accept("e", "file", {"k": Reading(0.5), "unfit": Reading(object())})  # type: ignore[arg-type]
    assert cache.served("e") == {}
    assert cache.digest("url", "model") == (False, None)
    cache.remember("url", "model", "sha256:a")
    assert cache.digest("url", "model") == (True, "sha256:a")


def test_the_cache_purges_by_age_and_queues_once(tmp_path: Path) -> None:
    now = [1000.0]
    with SqliteCache(tmp_path / "c.sqlite", lambda: now[0]) as cache:
        cache.put("e", "b", "k1", Reading(0.5))
        now[0] = 2000.0
        cache.put("e", "b", "k2", Reading(0.6))
        cache.close("e", "b", good=True)
        assert cache.purge(1500.0) == 1
        assert cache.good("e", ["k1", "k2"]) == {"k2": Reading(0.6)}
        assert not cache.is_queued("review-direction-it", "t1")
        cache.mark_queued("review-direction-it", "t1")
        cache.mark_queued("review-direction-it", "t1")
        assert cache.is_queued("review-direction-it", "t1")
        assert not cache.is_queued("review-direction-rh", "t1")
