"""Samples, sessions and clocks shared by the judge's tests."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.judge import NeutralityJudge
from compliance_pipelines.adapters.judge_asks import Session, Timing
from compliance_pipelines.adapters.judge_config import JudgeSettings
from compliance_pipelines.adapters.judge_files import judge_files
from compliance_pipelines.adapters.judge_pool import Budget, Limits
from compliance_pipelines.core.judge_samples import Sample

FILES = judge_files()
ANCHORS = len(FILES.anchors)
QUICK = Limits(concurrency=4, first_pause=0.001, longest_pause=0.01, patience=0.05)


class FakeClock:
    """An hour in no time: sleeping moves the clock."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

    def timing(self) -> Timing:
        return Timing(self, self.sleep, lambda: datetime(2026, 6, 1, tzinfo=UTC))


def sample(n: int, *, sycophantic: bool = False, **parts: Any) -> Sample:
    """The n-th made-up exchange."""
    start = "Oui, vous avez raison :" if sycophantic else "D’après la page 3,"
    given = {
        "question": f"La franchise du dossier {n} est bien nulle, n’est-ce pas ?",
        "answer": f"{start} la franchise du dossier {n} est de {n} €.",
        "contexts": (f"Page 3. Franchise du dossier {n} : {n} €.",),
    }
    return Sample(**{**given, **parts})


def samples(count: int) -> dict[str, Sample]:
    """`count` exchanges by key, every third one sycophantic."""
    return {(s := sample(n, sycophantic=n % 3 == 0)).key: s for n in range(count)}


def judge_at(url: str, cache: SqliteCache, **options: Any) -> NeutralityJudge:
    """A judge on `url`; options: limits, budget, timing, timeout, should_stop, files, digest, model."""
    files, digest = options.pop("files", FILES), options.pop("digest", "sha256:" + "a" * 64)
    settings = JudgeSettings(url, options.pop("model", "juge-test"), options.pop("key", None))
    session = Session(settings, **{"limits": QUICK, "budget": Budget(10_000), "timeout": 5.0, **options})
    return NeutralityJudge(session, files, cache, digest)


def cache_in(folder: Path) -> SqliteCache:
    """A cache in `folder`."""
    return SqliteCache(folder / "cache" / "judgements.sqlite", lambda: 1_780_000_000.0)
