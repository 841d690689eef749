"""The day as it goes: every quarter of an hour, where the Langfuse API is configured, the trailing hour.

Neutrality needs a judge; bursts of uncited claims are counted here only where no Prometheus rule does. A sensor
asks for one run a tick, because a judge takes longer than a sensor may; the run reads, judges a sample within its
share of the hourly budget, and observes. A tick that was missed is not made up: `for:` counts anew over the hole.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

import dagster as dg
from compliance_guardrails.policy import Policy

from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.judge_files import judge_files
from compliance_pipelines.adapters.judge_night import judge_intraday, open_judge
from compliance_pipelines.adapters.judge_pool import Budget
from compliance_pipelines.core import alerting_rules
from compliance_pipelines.core.extraction import ReadReport
from compliance_pipelines.core.judge_night import Trailing
from compliance_pipelines.core.periods import month_of, paris_day
from compliance_pipelines.core.records import Score, Trace
from compliance_pipelines.resources import JudgeResource, PolicyResource, TraceSourceResource, utc_now
from compliance_pipelines.resources_alerting import AlertingResource

TICK = "compliance/tick"
Judged = Callable[[list[Trace]], Sequence[Trailing]]


class Reader(Protocol):
    """What is asked of a trace source."""

    def trace_days(self, days: list[date], report: ReadReport) -> Iterator[tuple[date, list[Trace]]]:
        """Exchanges by Paris day."""
        ...

    def read_scores(self, first: date, last: date) -> tuple[list[Score], ReadReport]:
        """Scores and events of those days."""
        ...


def observe_day(reader: Reader, judged: Judged, alerting: AlertingResource, policy: Policy, at: datetime) -> int:
    """Read, judge and observe the window that ends `at`; how many traces were seen."""
    widest = max(policy.sampling.intraday.window_minutes, policy.thresholds.uncited_burst.window_minutes)
    days = sorted({paris_day(at - timedelta(minutes=widest)), paris_day(at)})
    traces = [trace for _, found in reader.trace_days(days, ReadReport()) for trace in found]
    scores, _ = reader.read_scores(days[0], days[-1])
    figures = {one.department: (one.mean, one.n) for one in judged(traces)}
    seen = alerting_rules.windows(figures, traces, scores, policy, at)
    alerting.outbox.observe(alerting_rules.daytime(seen, policy, alerting.links, bursts_here=alerting.bursts_here), at)
    return len(traces)


def judge_of(resource: JudgeResource, policy: Policy, at: datetime) -> Judged:
    """The judge, with the share of one tick in the hourly budget; the night reuses what it reads now."""
    rules = policy.sampling.intraday

    def judged(traces: list[Trace]) -> Sequence[Trailing]:
        calls = max(1, rules.max_calls_per_hour * rules.every_minutes // 60)
        session = replace(resource.session(), budget=Budget(calls))
        with SqliteCache(resource.cache_path) as cache:
            return judge_intraday(open_judge(session, judge_files(), cache), cache, traces, policy, at)[1]

    return judged


def _unjudged(traces: list[Trace]) -> Sequence[Trailing]:
    del traces
    return ()


@dg.op(description="Fenêtre glissante : neutralité soutenue, rafales d'affirmations sans source.")
def watch_the_day(
    context: dg.OpExecutionContext,
    source: TraceSourceResource,
    judge: JudgeResource,
    policy: PolicyResource,
    alerting: AlertingResource,
) -> None:
    """One tick."""
    at = tick_of(context.run.tags)
    in_force = policy.of(month_of(paris_day(at)))
    judged = judge_of(judge, in_force, at) if judge.configured else _unjudged
    with closing(source.reader(in_force)) as reader:
        seen = observe_day(reader, judged, alerting, in_force, at)
    context.log.info(f"{seen} traces lues")


@dg.job(description="En journée : la fenêtre glissante des directions à haut risque.", tags={"job": "intraday"})
def intraday() -> None:
    """One tick of the day."""
    watch_the_day()


def tick_of(tags: Mapping[str, str]) -> datetime:
    """The tick that a run is for; raises dg.Failure, one French line, for a run launched without a usable one."""
    given = tags.get(TICK, "")
    try:
        at = datetime.fromisoformat(given)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise dg.Failure(
            f"étiquette {TICK} : attendu l'instant du passage avec son fuseau, par exemple 2026-06-10T10:15:00+00:00, "
            f"trouvé « {given[:40]} » ; le capteur alert_daytime la pose, à la main elle s'ajoute au lancement",
            allow_retries=False,
        )
    return at


def tick_before(now: datetime, minutes: int) -> datetime:
    """The last whole tick of `minutes` minutes at or before `now`, UTC."""
    whole = int(now.timestamp()) // (60 * minutes) * (60 * minutes)
    return datetime.fromtimestamp(whole, UTC)


@dg.sensor(
    job_name="intraday",
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Un passage par quart d'heure, si l'API Langfuse est configurée et s'il y a quelque chose à suivre.",
)
def alert_daytime(
    context: dg.SensorEvaluationContext,
    source: TraceSourceResource,
    judge: JudgeResource,
    policy: PolicyResource,
    alerting: AlertingResource,
) -> dg.RunRequest | dg.SkipReason:
    """Ask for the newest tick, once."""
    if not (source.langfuse_url and (judge.configured or alerting.bursts_here)):
        return dg.SkipReason("sans API Langfuse, ou sans juge ni rafale à compter, rien n'est suivi en journée")
    now = utc_now()
    minutes = policy.of(month_of(paris_day(now))).sampling.intraday.every_minutes
    tick = tick_before(now, minutes)
    if asked_before(context.cursor, tick, minutes):
        return dg.SkipReason(f"passage de {context.cursor} déjà demandé")
    context.update_cursor(tick.isoformat())
    return dg.RunRequest(run_key=f"intraday-{tick.isoformat()}", tags={TICK: tick.isoformat()})


def asked_before(cursor: str | None, tick: datetime, minutes: int) -> bool:
    """Whether `tick` was asked for. A cursor in the future was written before the clock was set back."""
    try:
        last = datetime.fromisoformat(cursor or "")
        return tick <= last < tick + timedelta(minutes=minutes)
    except (ValueError, TypeError):
        return False
