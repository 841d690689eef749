"""A night, or a quarter of an hour, through the judge: plan, ask, judgements; the identity of the judge as of now.

The shell between the pure core, the cache and the endpoint. With a judge configured its metric is judge_neutrality and
the lexical evaluator does not run: the two are never mixed. Nothing here knows Dagster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from compliance_guardrails.policy import Policy

from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.judge import BatchResult, NeutralityJudge, Progress
from compliance_pipelines.adapters.judge_asks import Session
from compliance_pipelines.adapters.judge_config import JudgeUnavailableError
from compliance_pipelines.adapters.judge_files import JudgeFiles
from compliance_pipelines.adapters.judge_model import digest_when_up, model_digest
from compliance_pipelines.core import judge_night
from compliance_pipelines.core.judge_night import ForReview, Rates, Trailing
from compliance_pipelines.core.judge_sampling import Strata
from compliance_pipelines.core.records import Judgement, Trace


@dataclass(frozen=True, slots=True)
class Night:
    """What a batch of traces became. `to_queue`: traces a person should look at that are in no queue yet."""

    rows: list[Judgement]
    batch: BatchResult
    rates: Rates
    to_queue: list[ForReview]

    def summary_fr(self) -> str:
        """One line for the log: counts and codes, no text."""
        seen = self.rates
        reasons = ", ".join(f"{reason} {n}" for reason, n in seen.reasons.items()) or "aucun motif"
        return (
            f"{seen.traces} traces, {seen.eligible} éligibles, {seen.sampled} tirées, {seen.scored} notées, "
            f"{seen.unscored} non notées, {seen.withheld} retenues ({reasons}) ; "
            f"{self.batch.cached} en cache, {self.batch.sent} appels, fin : {self.batch.ended.value}"
            + (f" ; témoins manqués : {', '.join(missed)}" if (missed := self.batch.missed()) else "")
        )


def open_judge(session: Session, files: JudgeFiles, cache: SqliteCache) -> NeutralityJudge:
    """The judge with its model's digest. Raises JudgeConfigError when it is set but wrong.

    One that never answered yet has no identity to judge under: it makes no call until it is opened again.
    """
    digest = known_digest(session, cache)
    met, _ = cache.digest(session.settings.base_url, session.settings.model)
    return NeutralityJudge(session, files, cache, digest, met=met)


def known_digest(session: Session, cache: SqliteCache) -> str | None:
    """The digest of the session's model; when its server does not answer, the one it had last time.

    What the cache holds can then still be served, and the pool waits for the rest. A server that was never met is
    waited for here: judged before it says who it is, a night would count as another judge's. None when it stays away.
    Raises JudgeConfigError.
    """
    where, model = session.settings.base_url, session.settings.model
    met, known = cache.digest(where, model)
    try:
        digest = model_digest(session.settings) if met else digest_when_up(session)
    except JudgeUnavailableError:
        return known
    cache.remember(where, model, digest)
    return digest


def judge_night_of(
    judge: NeutralityJudge,
    cache: SqliteCache,
    traces: Sequence[Trace],
    policy: Policy,
    label: str,
    progress: Progress = lambda _a, _b: None,
) -> Night:
    """Judge the traces of one night; `label` names the batch (the partition), so that a killed one resumes."""
    return _judged(judge, cache, traces, policy, label, lambda d: policy.department(d).sampling_rate, progress)


def judge_intraday(
    judge: NeutralityJudge, cache: SqliteCache, traces: Sequence[Trace], policy: Policy, now: datetime
) -> tuple[Night, list[Trailing]]:
    """Judge the trailing window of the intraday departments; the night pays nothing for what is judged here.

    The hourly budget is policy: give the session's `budget` what is left of `sampling.intraday.max_calls_per_hour`.
    """
    rules = policy.sampling.intraday
    followed = policy.intraday_departments
    window = judge_night.in_window(traces, now, rules.window_minutes, followed)
    label = f"intraday-{now:%Y%m%dT%H%M}"
    night = _judged(judge, cache, window, policy, label, lambda _: rules.rate, lambda _a, _b: None)
    return night, judge_night.trailing(night.rows, followed, rules.min_n)


def _judged(
    judge: NeutralityJudge,
    cache: SqliteCache,
    traces: Sequence[Trace],
    policy: Policy,
    label: str,
    rate: Callable[[str], float],
    progress: Progress,
) -> Night:
    sampling = policy.sampling
    planned = judge_night.plan(traces, Strata(rate, sampling.salt, sampling.min_per_stratum))
    batch = judge.judge(label, planned.samples, progress)
    limits = policy.thresholds
    rows = judge_night.judgements(
        traces, planned, batch.readings, batch.withheld, judge.evaluator, limits.flagged_weight
    )
    wanted = judge_night.for_review(rows, limits.queue_below)
    to_queue = [one for one in dict.fromkeys(wanted) if not cache.is_queued(one.queue, one.trace_id)]
    return Night(rows, batch, judge_night.rates(rows), to_queue)
