"""A night's judging cut into shards that share nothing while they work: one file of kept replies each.

`open_shards` hands each shard what the common cache already holds, `judge_shard` judges one shard's share of the very
sample that the whole night would draw, `gather` brings the replies home. SQLite files on a network volume stand one
writer: no shard touches the common file. A shard that is killed resumes from its own. No text is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compliance_guardrails.policy import Policy

from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.judge import BatchResult
from compliance_pipelines.adapters.judge_asks import Session
from compliance_pipelines.adapters.judge_files import JudgeFiles
from compliance_pipelines.adapters.judge_night import open_judge
from compliance_pipelines.adapters.judge_pool import Budget
from compliance_pipelines.core import judge_night
from compliance_pipelines.core.judge_sampling import Strata
from compliance_pipelines.core.records import Trace

MOST = 64
_NAME = re.compile(r"shard-(\d{4}-\d{2}-\d{2})-(\d+)-of-(\d+)\.sqlite")


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `index` (from 0) of `count` of the night `day` (YYYY-MM-DD)."""

    day: str
    index: int
    count: int

    @property
    def label(self) -> str:
        """The batch's name: a killed shard finds its paid replies under it."""
        return f"night-{self.day}-{self.index}-of-{self.count}"

    def path(self, folder: Path) -> Path:
        """Its file; in the cache's folder, so that the purge sees what was left behind."""
        return folder / f"shard-{self.day}-{self.index}-of-{self.count}.sqlite"

    def takes(self, key: str) -> bool:
        """Whether the sample with this content key (hex sha256) is its own."""
        return int(key[:12], 16) % self.count == self.index


def open_shards(common: Path, day: str, count: int, session: Session, files: JudgeFiles) -> list[Shard]:
    """Make the files of `count` shards beside the cache `common`, with what it serves already.

    Replies left by an earlier, broken run of that night are brought home first. Raises ValueError unless 1 <= count <=
    MOST, JudgeConfigError when the judge is set but wrong, CacheError.
    """
    if not 1 <= count <= MOST:
        raise ValueError(f"shards={count} : attendu un nombre de 1 à {MOST}")
    shards = [Shard(day, index, count) for index in range(count)]
    _bring_home(common, day)
    with SqliteCache(common) as cache:
        judge = open_judge(session, files, cache)
        known = cache.served(judge.evaluator)
    where, model = session.settings.base_url, session.settings.model
    for shard in shards:
        with SqliteCache(shard.path(common.parent)) as own:
            own.accept(judge.evaluator, shard.label, {k: r for k, r in known.items() if shard.takes(k)})
            if judge.met:
                # so that a server that falls silent meanwhile still has the identity that the night knows
                own.remember(where, model, judge.identity.digest)
    return shards


def judge_shard(
    folder: Path, shard: Shard, session: Session, files: JudgeFiles, traces: Sequence[Trace], policy: Policy
) -> BatchResult:
    """Judge one shard of the night's traces (all of them are given) into its file under `folder`.

    The session's budget is divided among the shards; its concurrency is the caller's choice.
    """
    sampling = policy.sampling
    strata = Strata(lambda d: policy.department(d).sampling_rate, sampling.salt, sampling.min_per_stratum)
    samples = judge_night.plan(traces, strata).samples
    share = replace(session, budget=Budget(max(1, session.budget.left // shard.count)))
    with SqliteCache(shard.path(folder)) as own:
        judge = open_judge(share, files, own)
        return judge.judge(shard.label, {key: sample for key, sample in samples.items() if shard.takes(key)})


def gather(common: Path, day: str) -> int:
    """Bring the vouched-for replies of every shard of `day` into `common`, delete the shards; how many were new."""
    added = _bring_home(common, day)
    for path in _left(common.parent, day):
        for part in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            part.unlink(missing_ok=True)
    return added


def _bring_home(common: Path, day: str) -> int:
    added = 0
    with SqliteCache(common) as cache:
        for path in _left(common.parent, day):
            with SqliteCache(path) as own:
                for evaluator in own.evaluators():
                    added += cache.accept(evaluator, path.stem, own.served(evaluator))
    return added


def _left(folder: Path, day: str) -> Iterator[Path]:
    for path in sorted(folder.glob("shard-*.sqlite")):
        found = _NAME.fullmatch(path.name)
        if found and found[1] == day:
            yield path
