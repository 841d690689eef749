"""The neutrality judge over an OpenAI-compatible endpoint: a batch of samples in, readings out, each paid for once.

A batch opens and closes with the anchors; only when both were read right are its scores served, now and from the
cache. Replies are kept as they come, so a killed run resumes. The trace's text goes to the judge alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from compliance_pipelines.adapters.judge_asks import PARAMETERS, Session, run_alone
from compliance_pipelines.adapters.judge_client import Answer
from compliance_pipelines.adapters.judge_files import JudgeFiles
from compliance_pipelines.adapters.judge_pool import Ended, Task
from compliance_pipelines.core.judge_anchors import AnchorReport, Phase, anchor_name, verdict
from compliance_pipelines.core.judge_prompt import FRAMING, NEUTRALITY_SCHEMA, neutrality_messages
from compliance_pipelines.core.judge_reply import read_score
from compliance_pipelines.core.judge_samples import Identity, JudgementCache, Reading, Sample

ANCHORS_PENDING = "anchors_pending"
# reasons that stand for a batch that was not finished, not for an exchange that could not be read
BATCH_REASONS = frozenset({ANCHORS_PENDING, *(ended.value for ended in Ended if ended is not Ended.DONE)})
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch gave. Every key asked for is in `readings`: scored, or with a reason.

    withheld: keys judged in a batch whose anchors failed; their readings carry no score. sent: calls sent, anchors and
    retries included. opening, closing: None when no call was needed or the phase was not reached. unread: why an anchor
    had no reply, by anchor name.
    """

    readings: Mapping[str, Reading]
    withheld: frozenset[str]
    cached: int
    sent: int
    ended: Ended
    opening: AnchorReport | None = None
    closing: AnchorReport | None = None
    unread: Mapping[str, str] = field(default_factory=dict)

    def missed(self) -> list[str]:
        """Anchors that made the batch fail, as a log shows them: phase, id, why it had no reply."""
        reports = {Phase.OPENING: self.opening, Phase.CLOSING: self.closing}
        names = [anchor_name(p, a) for p, r in reports.items() if r is not None and not r.passed for a in r.missed]
        return [f"{name} ({self.unread[name]})" if name in self.unread else name for name in names]


class NeutralityJudge:
    """Judges batches through one session. Not for two threads at once; the cache decides what is paid.

    met: False when the model's server never said who it is; then nothing is sent and nothing is scored.
    """

    def __init__(
        self, session: Session, files: JudgeFiles, cache: JudgementCache, digest: str | None, *, met: bool = True
    ) -> None:
        self.met = met
        self.identity = Identity(session.settings.model, digest, files.sha256, {**PARAMETERS, "framing": FRAMING})
        self.session, self.files, self.cache = session, files, cache

    @property
    def evaluator(self) -> str:
        """The fingerprint stored beside each judgement."""
        return self.identity.fingerprint

    def judge(self, label: str, samples: Mapping[str, Sample], progress: Progress = lambda _a, _b: None) -> BatchResult:
        """Readings of `samples` (by key) in the batch called `label`; `progress(done, of)` after each reply.

        Raises JudgeConfigError (key refused, model unknown) and CacheError.
        """
        known = self.cache.good(self.evaluator, list(samples))
        fresh = {key: sample for key, sample in samples.items() if key not in known}
        if not fresh:
            return BatchResult(known, frozenset(), len(known), 0, Ended.DONE)
        batch = _Batch(self, label, fresh, known, progress)
        return batch.run() if self.met else batch.unmet()


@dataclass(frozen=True, slots=True)
class _Work:
    """One request: a sample by key, or an anchor by name."""

    name: str
    sample: Sample
    phase: Phase | None = None


class _Batch:
    """One batch from its opening anchors to its verdict."""

    def __init__(
        self,
        judge: NeutralityJudge,
        label: str,
        fresh: Mapping[str, Sample],
        known: Mapping[str, Reading],
        progress: Progress,
    ) -> None:
        self._session, self._files, self._cache = judge.session, judge.files, judge.cache
        self._evaluator, self._label, self._progress = judge.evaluator, label, progress
        self._fresh, self._known = fresh, known
        paid, self._anchors = self._cache.resume(self._evaluator, label)
        self._paid = {key: reading for key, reading in paid.items() if key in fresh}
        self._tokens: dict[str, str] = {}
        self._unread: dict[str, str] = {}
        self._total = self._done = 0

    def run(self) -> BatchResult:
        """Make the calls that are still to be made and decide."""
        tasks, budget = list(self._tasks()), self._session.budget
        self._total = len(tasks)
        essential = sum(task.essential for task in tasks)
        if essential < len(tasks) and budget.left <= essential:
            # the anchors alone would buy nothing
            return self._result(0, Ended.BUDGET)
        before = budget.sent
        ended = run_alone(self._run(tasks)) if tasks else Ended.DONE
        return self._result(budget.sent - before, ended)

    def unmet(self) -> BatchResult:
        """The same without a call: every reading says that the judge was away."""
        return self._result(0, Ended.UNAVAILABLE)

    def _tasks(self) -> Iterator[Task[_Work]]:
        yield from self._anchor_tasks(Phase.OPENING)
        for key, sample in self._fresh.items():
            if key not in self._paid:
                yield Task(_Work(key, sample))
        yield from self._anchor_tasks(Phase.CLOSING)

    def _anchor_tasks(self, phase: Phase) -> Iterator[Task[_Work]]:
        for anchor in self._files.anchors:
            name = anchor_name(phase, anchor.id)
            if name not in self._anchors:
                yield Task(_Work(name, anchor.sample, phase), essential=True)

    async def _run(self, tasks: list[Task[_Work]]) -> Ended:
        async with self._session.client() as client:

            async def call(work: _Work) -> Answer:
                messages, self._tokens[work.name] = neutrality_messages(self._files.prompt, work.sample)
                return await client.ask(messages, NEUTRALITY_SCHEMA, self._session.timing.wall)

            return await self._session.pool(call, self._answered).run(tasks)

    def _answered(self, work: _Work, answer: Answer) -> bool:
        token = self._tokens.pop(work.name, "")
        reading = read_score(answer.content, token) if answer.reason is None else Reading(reason=answer.reason)
        # what never got a reply was not paid for, and is asked again when the batch resumes
        paid = not answer.retry
        self._done += 1
        self._progress(self._done, self._total)
        if work.phase is None:
            self._paid[work.name] = reading
            if paid:
                self._cache.put(self._evaluator, self._label, work.name, reading)
            return False
        self._anchors[work.name] = reading
        if answer.reason is not None:
            # no reply is nothing the judge said: asked again when the batch resumes
            self._unread[work.name] = answer.reason
        else:
            self._cache.put_anchor(self._evaluator, self._label, work.name, reading)
        # no money for a night that is already lost
        report = self._report(work.phase)
        return report is not None and not report.passed

    def _report(self, phase: Phase) -> AnchorReport | None:
        """The verdict of a phase, once all its anchors were answered."""
        if any(anchor_name(phase, anchor.id) not in self._anchors for anchor in self._files.anchors):
            return None
        return verdict(self._files.anchors, self._anchors, phase, self._files.acceptance)

    def _result(self, sent: int, ended: Ended) -> BatchResult:
        opening, closing = self._report(Phase.OPENING), self._report(Phase.CLOSING)
        failed = any(report is not None and not report.passed for report in (opening, closing))
        vouched = opening is not None and closing is not None and not failed
        # what was paid waits for anchors that had no reply; what the judge read wrong is worth nothing
        if vouched or self._misread():
            self._cache.close(self._evaluator, self._label, good=vouched)
        unread = Reading(reason=ANCHORS_PENDING if ended is Ended.DONE else ended.value)
        readings = dict(self._known)
        for key in self._fresh:
            paid = self._paid.get(key, unread)
            readings[key] = paid if vouched or paid.reason is not None else Reading(reason=ANCHORS_PENDING)
        withheld = frozenset(self._fresh) if failed else frozenset()
        return BatchResult(readings, withheld, len(self._known), sent, ended, opening, closing, self._unread)

    def _misread(self) -> bool:
        """Whether the anchors of a phase fail by the replies to them alone."""
        for phase in Phase:
            heard = [a for a in self._files.anchors if anchor_name(phase, a.id) not in self._unread]
            report = self._report(phase)
            if report is not None and heard and not verdict(heard, self._anchors, phase, self._files.acceptance).passed:
                return True
        return False
