"""From figures to observations: what the alert rules of the policy look at, night by night and through the day.

Nightly figures come from the aggregates of one completed night, intraday figures from one trailing window; nights,
reports and archive are `alerting_calendar`. A mean over too few traces says nothing (UNKNOWN), never "all is well".
The lexical evaluator is indicative: it raises no neutrality alert. Limits and waits are read from the policy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import reduce

from compliance_guardrails.policy import Policy
from compliance_guardrails.policy.models import AlertRule
from compliance_guardrails.policy.types import AlertName

from compliance_pipelines.core.alerting import ALL_DEPARTMENTS, Key, Level, Observation
from compliance_pipelines.core.alerting_text import Links, notes
from compliance_pipelines.core.periods import day_window
from compliance_pipelines.core.records import Aggregate, Score, Trace

UNCITED_EVENT = "uncited-specific-claim"
JUDGED = "judge_neutrality"
NEUTRALITIES = (JUDGED, "lexical_neutrality")
NIGHT, DAYTIME = "nuit", "journée"
SILENT_AFTER = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Window:
    """What was seen of one department in the trailing window that ends `at`. `mean` is None when nothing was scored."""

    department: str
    at: datetime
    mean: float | None
    n: int
    uncited: int = 0


def limit_of(rule: AlertRule, policy: Policy, department: str) -> float | None:
    """The rule's limit for a department: its own number, or that of the policy key it names; None for events."""
    return rule.limit if rule.limit_from is None else float(_named(rule.limit_from, policy, department))


def wait_of(rule: AlertRule, policy: Policy, department: str) -> timedelta:
    """How long a condition must hold before the rule fires."""
    minutes = rule.for_minutes
    if rule.for_minutes_from is not None:
        minutes = int(_named(rule.for_minutes_from, policy, department))
    return timedelta(minutes=minutes or 0)


def _named(path: str, policy: Policy, department: str) -> float:
    whose, _, rest = path.partition(".")
    start: object = policy.thresholds
    if whose == "department":
        start = policy.unattributed if department == ALL_DEPARTMENTS else policy.department(department)
    return float(str(reduce(getattr, rest.split("."), start)))


def night(
    day: date, aggregates: Iterable[Aggregate], withheld: int, policy: Policy, links: Links, now: datetime
) -> list[Observation]:
    """Observations of one completed night. withheld: notes kept back because the judge failed its anchors.

    A night that ended more than `SILENT_AFTER` ago goes to the journal and wakes nobody.
    """
    at = day_window(day)[1]
    make = _Maker(policy, links, at, day, silent=now - at > SILENT_AFTER)
    out, rows = [], list(aggregates)
    for row in rows:
        if row.metric == JUDGED:
            limit = limit_of(policy.alerts.rule(AlertName.NEUTRALITY_BELOW_THRESHOLD), policy, row.department)
            enough = row.n_scored >= policy.thresholds.min_n and row.mean is not None
            level = _level(enough, enough and row.mean is not None and limit is not None and row.mean < limit)
            out.append(make.night(AlertName.NEUTRALITY_BELOW_THRESHOLD, row.department, level, row.mean, row.n_scored))
        if row.metric in NEUTRALITIES and row.n_sampled:
            rate = row.n_unscored / row.n_sampled
            limit = limit_of(policy.alerts.rule(AlertName.UNSCORED_RATE_HIGH), policy, row.department)
            # withheld notes count as unscored: the alert on the judge says why, one for each department would repeat it
            enough = row.n_sampled >= policy.thresholds.min_n and not withheld
            level = _level(enough, limit is not None and rate > limit)
            out.append(make.night(AlertName.UNSCORED_RATE_HIGH, row.department, level, rate, row.n_sampled))
    # a night in which nothing was judged says nothing of the judge
    judged = any(row.metric == JUDGED and row.n_scored for row in rows)
    level = Level.BREACH if withheld else Level.CLEAR if judged else Level.UNKNOWN
    out.append(make.night(AlertName.JUDGE_UNRELIABLE, ALL_DEPARTMENTS, level, None, withheld))
    return out


def _level(enough: bool, breach: bool) -> Level:
    if not enough:
        return Level.UNKNOWN
    return Level.BREACH if breach else Level.CLEAR


@dataclass(frozen=True, slots=True)
class _Maker:
    """Builds nightly observations; keeps what they share."""

    policy: Policy
    links: Links
    at: datetime
    day: date
    silent: bool

    def night(self, name: AlertName, department: str, level: Level, value: float | None, n: int) -> Observation:
        """One nightly observation."""
        rule = self.policy.alerts.rule(name)
        limit = limit_of(rule, self.policy, department)
        return Observation(
            key=Key(name.value, department, NIGHT),
            at=self.at,
            level=level,
            severity=rule.severity.value,
            night=self.day,
            silent=self.silent,
            annotations=notes(
                rule, self.policy, department, f"Nuit du {self.day}", value, limit, n, self.links.night(self.day)
            )
            if level is Level.BREACH
            else {},
        )


def daytime(windows: Iterable[Window], policy: Policy, links: Links, *, bursts_here: bool = True) -> list[Observation]:
    """Observations of intraday windows: sustained neutrality; bursts of uncited claims where policy looks for them.

    bursts_here: False where a Prometheus rule on the gateway's counters owns the bursts, so that one of both rings.
    """
    day, out = policy.sampling.intraday, []
    gap, followed = timedelta(minutes=2 * day.every_minutes), policy.intraday_departments
    low, burst = (policy.alerts.rule(n) for n in (AlertName.NEUTRALITY_BELOW_THRESHOLD, AlertName.UNCITED_CLAIMS_BURST))
    for seen in windows:
        if seen.department in followed:
            limit = limit_of(low, policy, seen.department)
            enough = seen.n >= day.min_n and seen.mean is not None
            level = _level(enough, enough and seen.mean is not None and limit is not None and seen.mean < limit)
            what = f"Fenêtre de {day.window_minutes} min"
            out.append(_condition(low, policy, seen, level, gap, what, seen.mean, seen.n, links))
        if bursts_here and seen.department in policy.thresholds.uncited_burst.departments:
            level = _level(True, seen.uncited > policy.thresholds.uncited_burst.count)
            what = f"Fenêtre de {policy.thresholds.uncited_burst.window_minutes} min"
            out.append(_condition(burst, policy, seen, level, gap, what, float(seen.uncited), seen.uncited, links))
    return out


def windows(
    figures: Mapping[str, tuple[float | None, int]],
    traces: Iterable[Trace],
    scores: Iterable[Score],
    policy: Policy,
    at: datetime,
) -> list[Window]:
    """The trailing windows of the watched departments at `at`.

    figures: (mean, N) by department from the intraday judge. scores: Langfuse's, among which the hook's events; those
    named `uncited-specific-claim` count where their trace is known.
    """
    burst = policy.thresholds.uncited_burst
    start = at - timedelta(minutes=burst.window_minutes)
    departments = {trace.trace_id: trace.department for trace in traces}
    uncited = Counter(
        departments[score.trace_id]
        for score in scores
        if score.name == UNCITED_EVENT and score.trace_id in departments and start < score.observed_at <= at
    )
    watched = dict.fromkeys((*policy.intraday_departments, *burst.departments))
    return [Window(d, at, *figures.get(d, (None, 0)), uncited=uncited[d]) for d in watched]


def _condition(
    rule: AlertRule,
    policy: Policy,
    seen: Window,
    level: Level,
    gap: timedelta,
    what: str,
    value: float | None,
    n: int,
    links: Links,
) -> Observation:
    limit = limit_of(rule, policy, seen.department)
    breach = level is Level.BREACH
    return Observation(
        key=Key(rule.name.value, seen.department, DAYTIME),
        at=seen.at,
        level=level,
        severity=rule.severity.value,
        sustain=wait_of(rule, policy, seen.department),
        max_gap=gap,
        annotations=notes(rule, policy, seen.department, what, value, limit, n, links.daily()) if breach else {},
    )


def event(
    name: AlertName,
    subject: str,
    what: str,
    at: datetime,
    breach: bool,
    policy: Policy,
    link: str,
    since: datetime | None = None,
) -> Observation:
    """An observation of a rule that concerns the whole installation: runs, nights, reports, retention."""
    rule = policy.alerts.rule(name)
    return Observation(
        key=Key(name.value, ALL_DEPARTMENTS, subject),
        at=at,
        level=Level.BREACH if breach else Level.CLEAR,
        severity=rule.severity.value,
        sustain=wait_of(rule, policy, ALL_DEPARTMENTS),
        since=since,
        annotations=notes(rule, policy, ALL_DEPARTMENTS, what, None, None, None, link) if breach else {},
    )
