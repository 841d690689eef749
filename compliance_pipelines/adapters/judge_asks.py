"""A set of prepared requests to one model, asked under the bounds of a pool: by name in, readings out.

For what needs no anchors and no cache: calibration, sycophancy probes. `Session` bundles endpoint, bounds and clocks,
so that whoever asks says only what.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from compliance_pipelines.adapters.judge_client import Answer, ChatClient
from compliance_pipelines.adapters.judge_config import JudgeSettings
from compliance_pipelines.adapters.judge_pool import Budget, Ended, Limits, Pool, Sleep, Task
from compliance_pipelines.core.judge_prompt import Messages

T = TypeVar("T")
# temperature 0 and a seed: the same request gets the same reply as far as the server can
PARAMETERS: Mapping[str, object] = {"temperature": 0, "seed": 7, "max_tokens": 400, "stream": False}


@dataclass(frozen=True, slots=True)
class Timing:
    """Clocks and sleep, so that a test lives through an hour in no time. `wall` reads Retry-After dates only."""

    clock: Callable[[], float] = time.monotonic
    sleep: Sleep = asyncio.sleep
    wall: Callable[[], datetime] = field(default=lambda: datetime.fromtimestamp(time.time(), UTC))


@dataclass(frozen=True, slots=True)
class Session:
    """Everything a run of calls needs but the calls. `timeout` in seconds, per call."""

    settings: JudgeSettings
    limits: Limits = field(default_factory=Limits)
    budget: Budget = field(default_factory=lambda: Budget(100_000))
    timeout: float = 120.0
    timing: Timing = field(default_factory=Timing)
    should_stop: Callable[[], bool] = lambda: False

    def client(self, parameters: Mapping[str, object] = PARAMETERS) -> ChatClient:
        """A client for this session's endpoint."""
        return ChatClient(self.settings, parameters, self.timeout)

    def pool(self, call: Callable[[T], Coroutine[Any, Any, Answer]], answered: Callable[[T, Answer], bool]) -> Pool[T]:
        """A pool with this session's bounds."""
        timing = self.timing
        return Pool(
            call,
            answered,
            self.limits,
            self.budget,
            clock=timing.clock,
            sleep=timing.sleep,
            should_stop=self.should_stop,
        )


def ask_all(
    session: Session, requests: Mapping[str, Messages], schema: Mapping[str, object] | None
) -> tuple[dict[str, Answer], Ended]:
    """(answers by name, why it ended); a name without an answer was not reached.

    Raises JudgeConfigError when the key is refused or the model unknown.
    """
    answers: dict[str, Answer] = {}

    async def run() -> Ended:
        async with session.client() as client:

            async def call(name: str) -> Answer:
                return await client.ask(requests[name], schema, session.timing.wall)

            def answered(name: str, answer: Answer) -> bool:
                answers[name] = answer
                return False

            return await session.pool(call, answered).run(Task(name) for name in requests)

    return answers, run_alone(run())


def run_alone(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; a single error inside comes out as itself, not in a group."""
    try:
        return asyncio.run(work)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
