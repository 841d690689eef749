"""Many calls at once, never more than the bound: workers over one queue, with retries, a budget and an outage mode.

A call that fails is tried again later; when several in a row fail with no success between, the server is taken to be
down: one worker tries at growing intervals while the others wait, until it answers or patience ends. What looks like a
wrong setting is one only when nothing else was answered, or what once was is no longer. Clocks and sleep are passed in.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from compliance_pipelines.adapters.judge_client import Answer

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


class Ended(enum.StrEnum):
    """Why a pool ended. Everything but DONE leaves work for the next run."""

    DONE = "done"
    UNAVAILABLE = "judge_unavailable"
    BUDGET = "budget_exhausted"
    STOPPED = "stopped"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a run. Seconds; `attempts` per call; `patience` is how long an outage may last."""

    concurrency: int = 8
    attempts: int = 3
    first_pause: float = 0.5
    longest_pause: float = 300.0
    patience: float = 900.0
    outage_after: int = 3


@dataclass(slots=True)
class Budget:
    """Calls that may still be sent; shared by the batches of a run."""

    max_calls: int
    sent: int = 0

    @property
    def left(self) -> int:
        """Calls left."""
        return self.max_calls - self.sent


@dataclass(slots=True)
class Task(Generic[T]):
    """One call to make. An `essential` one has its place in the budget kept until it is made.

    more: calls that `call` may make and count itself after the first; none is begun that could not be finished.
    """

    item: T
    essential: bool = False
    more: int = 0
    rounds: int = 0
    last: Answer = field(default_factory=Answer)


class Pool(Generic[T]):
    """Runs `call` over tasks. `on_answer(item, answer)` sees each final answer; True from it aborts the run."""

    def __init__(
        self,
        call: Callable[[T], Awaitable[Answer]],
        on_answer: Callable[[T, Answer], bool],
        limits: Limits,
        budget: Budget,
        *,
        clock: Callable[[], float],
        sleep: Sleep = asyncio.sleep,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._call, self._on_answer, self._limits, self._budget = call, on_answer, limits, budget
        self._clock, self._sleep, self._should_stop = clock, sleep, should_stop
        self._queue: deque[Task[T]] = deque()
        self._failed: deque[Task[T]] = deque()
        self._good: Task[T] | None = None
        self._reserved = self._busy = self._streak = 0
        self._not_before = 0.0
        self._ended: Ended | None = None
        self._short = False
        self._up, self._changed = asyncio.Event(), asyncio.Event()
        self._up.set()

    async def run(self, tasks: Iterable[Task[T]]) -> Ended:
        """Make every call; returns why it ended. Tasks without a final answer were never reported.

        Raises what an answer names as fatal (in an ExceptionGroup) when the server refuses everything.
        """
        self._queue.extend(tasks)
        self._reserved = sum(task.essential for task in self._queue)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._limits.concurrency, len(self._queue))):
                group.create_task(self._work())
        return self._ended or (Ended.BUDGET if self._short else Ended.DONE)

    async def _work(self) -> None:
        while self._ended is None:
            await self._up.wait()
            task = self._next()
            if task is not None:
                self._busy += 1
                try:
                    await self._one(task)
                finally:
                    self._busy -= 1
                    self._changed.set()
            elif self._busy and self._ended is None:
                # another worker may still put its task back
                self._changed.clear()
                await self._changed.wait()
            else:
                self._changed.set()
                return

    def _next(self) -> Task[T] | None:
        if self._should_stop():
            self._ended = Ended.STOPPED
        if self._ended is not None:
            return None
        if not self._queue and not self._busy:
            # a last round for what failed while others passed
            self._queue.extend(self._failed)
            self._failed.clear()
        while self._queue:
            task = self._queue.popleft()
            if self._affordable(task):
                return task
        return None

    def _affordable(self, task: Task[T]) -> bool:
        fits = self._budget.left > task.more + (0 if task.essential else self._reserved)
        self._short = self._short or not fits
        return fits

    async def _one(self, task: Task[T]) -> None:
        for attempt in range(self._limits.attempts):
            await self._wait_for_turn()
            if self._ended is not None:
                return
            if not self._affordable(task) or await self._sent(task):
                return
            refused = task.last.fatal is not None
            if not refused and attempt + 1 < self._limits.attempts:
                await self._sleep(self._pause(attempt))
            if not self._up.is_set():
                self._queue.append(task)
                return
            if refused:
                break  # the same at once is refused again
        task.rounds += 1
        self._streak += 1
        self._failed.append(task)
        if self._streak >= self._limits.outage_after or (task.last.fatal is not None and self._good is None):
            await self._outage()
        elif task.rounds > 1:
            self._failed.remove(task)
            self._report(task)

    async def _sent(self, task: Task[T]) -> bool:
        """Send once; True when the answer is final, and reported."""
        self._budget.sent += 1
        self._reserved += task.more - task.essential
        task.last = await self._call(task.item)
        self._reserved -= task.more
        if task.last.retry:
            self._reserved += task.essential
            if task.last.retry_after is not None:
                self._not_before = max(self._not_before, self._clock() + task.last.retry_after)
            return False
        self._streak, self._good = 0, task
        self._report(task)
        return True

    async def _wait_for_turn(self) -> None:
        while self._ended is None and (wait := self._not_before - self._clock()) > 0:
            await self._sleep(wait)

    def _pause(self, attempt: int) -> float:
        return min(self._limits.first_pause * 2**attempt, self._limits.longest_pause)

    async def _outage(self) -> None:
        """Be the one that tries while the server is down, until it answers or patience ends."""
        self._up.clear()
        since, attempt = self._clock(), self._limits.attempts
        try:
            while self._busy > 1:
                # what is in flight may be answered
                self._changed.clear()
                await self._changed.wait()
            while self._ended is None and not await self._answers():
                if self._clock() - since >= self._limits.patience:
                    self._ended = Ended.UNAVAILABLE
                elif self._should_stop():
                    self._ended = Ended.STOPPED
                else:
                    await self._sleep(max(self._pause(attempt), self._not_before - self._clock()))
                    attempt += 1
        finally:
            self._streak = 0
            self._up.set()

    async def _answers(self) -> bool:
        """Whether the server answers. What it once answered is asked again, else the failed tasks take turns.

        A server that answers its old question but not the failed ones is up: those that failed twice are reported.
        """
        if self._good is not None:
            if self._budget.left <= self._reserved + self._good.more:
                self._short = True
                return True
            self._budget.sent += 1
            self._reserved += self._good.more
            again = await self._call(self._good.item)
            self._reserved -= self._good.more
            if again.fatal is not None:
                raise again.fatal
            if again.retry:
                return False
        elif self._failed:
            task = self._failed.popleft()
            if self._affordable(task) and not await self._sent(task):
                self._failed.append(task)
                if task.last.fatal is not None:
                    raise task.last.fatal
                return False
        failed, self._failed = list(self._failed), deque()
        for task in failed:
            if task.rounds > 1:
                self._report(task)
            else:
                self._queue.append(task)
        return True

    def _report(self, task: Task[T]) -> None:
        if task.last.fatal is not None and self._good is None:
            raise task.last.fatal
        if self._on_answer(task.item, task.last) and self._ended is None:
            self._ended = Ended.ABORTED
