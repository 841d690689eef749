"""A night's judging in shards: the sample and scores of the whole, each reply paid once, broken shards resumed."""

from __future__ import annotations

import warnings
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.judge import BatchResult
from compliance_pipelines.adapters.judge_files import judge_files
from compliance_pipelines.adapters.judge_shards import MOST, Shard, judge_shard, open_shards
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.records import Judgement, Trace
from compliance_pipelines.core.tables import frame, records
from compliance_pipelines.defs.operations import shards
from compliance_pipelines.defs.operations.execution import STEPS_AT_ONCE
from compliance_pipelines.defs.operations.shards import judged_shard
from compliance_pipelines.defs.partitions import daily
from compliance_pipelines.io_manager import ParquetIOManager
from compliance_pipelines.resources import InstallationResource, JudgeResource, PolicyResource
from compliance_pipelines_tests.dagster_runs import materialize
from compliance_pipelines_tests.standins.llm import LlmStub, Reply, judging
from compliance_pipelines_tests.standins.llm_minds import gullible, honest

with warnings.catch_warnings():
    # backfill_policy is in beta; Dagster says so once, when an asset is defined
    warnings.simplefilter("ignore", dg.BetaWarning)
    from compliance_pipelines.defs.evaluation import judge_assets

DAY = "2026-06-02"
ANCHORS = 2 * len(judge_files().anchors)
TRACES = 60


def trace(n: int) -> Trace:
    when = datetime(2026, 6, 2, 8, tzinfo=UTC) + timedelta(minutes=n)
    start = "Oui, vous avez raison :" if n % 4 == 0 else "D’après la page 3,"
    parts: dict[str, object] = {
        "trace_id": f"t{n}", "observed_at": when, "created_at": when, "session_hash": f"s{n}",
        "department": "direction-sinistres", "department_source": "stamp", "model": "m", "alias": None,
        "question": f"La franchise du dossier {n} est nulle, n’est-ce pas ?",
        "answer": f"{start} la franchise du dossier {n} est de {n} €.",
        "contexts": (f"Page 3. Franchise du dossier {n} : {n} €.",), "retrieval_score": 0.8, "flagged": False,
        "delivered": "unchanged", "environment": "production", "source": "export", "row_digest": f"d{n}",
    }  # fmt: skip
    return Trace(**parts)  # type: ignore[arg-type]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    table = frame([trace(n) for n in range(TRACES)], Trace)
    table.attrs["counts"] = {}
    TableStore(tmp_path / "data").write(("langfuse", "traces"), DAY, table)
    return tmp_path


def judge_at(stub: LlmStub, home: Path) -> JudgeResource:
    return JudgeResource(home=str(home), base_url=stub.url, model=stub.model, patience=0.1)


def by_shards(home: Path, judge: JudgeResource, count: int = 4) -> dg.ExecuteInProcessResult:
    resources = {"judge": judge, "policy": PolicyResource(), "installation": InstallationResource(home=str(home))}
    job = shards.judge_by_shards.to_job(partitions_def=daily, resource_defs=resources)
    return job.execute_in_process(
        partition_key=DAY,
        run_config={"ops": {"night_shards": {"config": {"shards": count}}}},
        raise_on_error=False,
        instance=dg.DagsterInstance.ephemeral(),
    )


def night(home: Path, judge: JudgeResource) -> list[Judgement]:
    source = dg.AssetSpec(key=dg.AssetKey(["langfuse", "traces"]), partitions_def=judge_assets.daily)
    resources = {"io_manager": ParquetIOManager(home=str(home)), "policy": PolicyResource(), "judge": judge}
    materialize([judge_assets.neutrality_asset, source], partition_key=DAY, resources=resources)
    return records(TableStore(home / "data").read(("evaluation", "neutrality"), DAY), Judgement)


def steps(result: dg.ExecuteInProcessResult) -> Counter[str]:
    return Counter(event.step_key for event in result.all_events if event.is_step_success and event.step_key)


@pytest.mark.parametrize("count", [1, 4, 7])
def test_the_night_finds_every_reply_and_sends_no_call(home: Path, tmp_path: Path, count: int) -> None:
    whole = tmp_path / "whole"
    TableStore(whole / "data").write(
        ("langfuse", "traces"), DAY, TableStore(home / "data").read(("langfuse", "traces"), DAY)
    )
    with LlmStub() as stub:
        result = by_shards(home, judge_at(stub, home), count)
        assert result.success
        expected = {f"judged_shard[{k}_of_{count}]" for k in range(count)} | {"night_shards", "gathered_shards"}
        assert set(steps(result)) == expected
        assert len(stub.requests) == TRACES + count * ANCHORS
        rows = night(home, judge_at(stub, home))
        assert len(stub.requests) == TRACES + count * ANCHORS, "the night paid again"
        in_one_piece = night(whole, judge_at(stub, whole))
    assert [(r.trace_id, r.value, r.status, r.evaluator) for r in rows] == [
        (r.trace_id, r.value, r.status, r.evaluator) for r in in_one_piece
    ]
    assert {row.value for row in rows} == {0.15, 0.95}
    assert sorted(p.name for p in (home / "cache").iterdir()) == ["judgements.sqlite"]


@pytest.mark.parametrize("count", [1, 3])
def test_shards_of_hundreds_of_answers_end_with_each_asked_once(tmp_path: Path, count: int) -> None:
    many = 300
    table = frame([trace(n) for n in range(many)], Trace)
    table.attrs["counts"] = {}
    TableStore(tmp_path / "data").write(("langfuse", "traces"), DAY, table)
    with LlmStub() as stub:
        judge = judge_at(stub, tmp_path)
        assert by_shards(tmp_path, judge, count).success
        assert len(stub.requests) == many + count * ANCHORS
        assert sum(row.value is not None for row in night(tmp_path, judge)) == many
        assert len(stub.requests) == many + count * ANCHORS


def test_shards_run_twice_cost_nothing_more(home: Path) -> None:
    with LlmStub() as stub:
        by_shards(home, judge_at(stub, home))
        paid = len(stub.requests)
        assert by_shards(home, judge_at(stub, home), 3).success
        assert len(stub.requests) == paid


def test_a_shard_without_a_judge_fails_alone_and_the_next_run_pays_for_it_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the very policy without its pauses
    assert judged_shard.retry_policy == dg.RetryPolicy(max_retries=2, delay=60, backoff=dg.Backoff.EXPONENTIAL)
    monkeypatch.setattr(judged_shard, "_retry_policy", dg.RetryPolicy(max_retries=2))
    broken, now = {2}, [0]

    def watched(folder: Path, shard: Shard, *rest: Any) -> BatchResult:
        now[0] = shard.index
        return judge_shard(folder, shard, *rest)

    monkeypatch.setattr(shards, "judge_shard", watched)

    def failing(request: dict[str, Any]) -> Reply:
        return Reply(status=503) if now[0] in broken else Reply(content=honest(request))

    with LlmStub(behave=failing) as stub:
        result = by_shards(home, judge_at(stub, home))
        assert not result.success
        done = steps(result)
        assert "gathered_shards" not in done
        assert "judged_shard[2_of_4]" not in done
        assert sum(step.startswith("judged_shard") for step in done) == 3
        retried = Counter(event.step_key for event in result.all_events if event.is_step_up_for_retry)
        assert retried == {"judged_shard[2_of_4]": 2}
        stub.requests.clear()
        broken.clear()
        assert by_shards(home, judge_at(stub, home)).success
        own = sum(Shard(DAY, 2, 4).takes(_key(n)) for n in range(TRACES))
        assert len(stub.requests) == own + ANCHORS
        assert all(row.value is not None for row in night(home, judge_at(stub, home)))
        assert len(stub.requests) == own + ANCHORS


def test_scores_of_a_shard_whose_anchors_fail_are_not_served(home: Path) -> None:
    with LlmStub(behave=judging(gullible)) as stub:
        assert by_shards(home, judge_at(stub, home)).success
        with SqliteCache(home / "cache" / "judgements.sqlite") as cache:
            assert cache.evaluators() == []


def test_without_a_judge_nothing_is_cut(home: Path) -> None:
    result = by_shards(home, JudgeResource(home=str(home)))
    assert result.success
    assert not [step for step in steps(result) if step.startswith("judged_shard")]
    assert not (home / "cache").exists()


def test_calls_in_flight_stay_within_the_judge_s_bound(home: Path) -> None:
    """A shard keeps its share of the bound: as many shards as run at once cannot exceed it together."""
    with LlmStub(latency=0.01) as stub:
        judge = judge_at(stub, home)
        assert by_shards(home, judge).success
        assert 1 <= stub.most_in_flight <= judge.concurrency // STEPS_AT_ONCE


def test_shards_take_every_key_once() -> None:
    for count in (1, 2, 5, MOST):
        parts = [Shard(DAY, index, count) for index in range(count)]
        for n in range(TRACES):
            assert sum(part.takes(_key(n)) for part in parts) == 1


@pytest.mark.parametrize("count", [0, -1, MOST + 1])
def test_a_count_out_of_range_is_refused(home: Path, count: int) -> None:
    with LlmStub() as stub, pytest.raises(ValueError, match="attendu un nombre"):
        open_shards(home / "cache" / "judgements.sqlite", DAY, count, judge_at(stub, home).session(), judge_files())


def test_shards_of_another_night_are_left_alone(home: Path) -> None:
    other = Shard("2026-06-03", 0, 2).path(home / "cache")
    with SqliteCache(other):
        pass
    with LlmStub() as stub:
        assert by_shards(home, judge_at(stub, home), 2).success
    assert other.exists()


def _key(n: int) -> str:
    from compliance_pipelines.core.judge_samples import Sample, sample_of

    found = sample_of(trace(n))
    assert isinstance(found, Sample)
    return found.key
