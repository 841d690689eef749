"""What calendar, archive and policy say of alerts: nights, weeks and reports that are due, retention, notices.

Also what nobody would end otherwise: alerts of departments, rules or windows that are watched no more are cleared with
the reason. Figures of nights and days are `alerting_rules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from compliance_guardrails.policy import Policy
from compliance_guardrails.policy.types import AlertName

from compliance_pipelines.core.alerting import ALL_DEPARTMENTS, Key, Level, Observation
from compliance_pipelines.core.alerting_rules import DAYTIME, event
from compliance_pipelines.core.alerting_text import Links, notes
from compliance_pipelines.core.lateness import late_week
from compliance_pipelines.core.periods import Month, paris_day

NIGHT_DUE = time(1, 30)
LOOK_BACK = timedelta(days=40)
WEEK_LATE = timedelta(days=1)
WEEKS_WANTED = timedelta(weeks=4)
BEFORE_FIRST = "antérieure à la première nuit de l’installation"
_PARIS = ZoneInfo("Europe/Paris")


class Archived(Protocol):
    """What a notice says of an archived revision; the archive's chain entries have it."""

    @property
    def month(self) -> str:
        """YYYY-MM."""
        ...

    @property
    def revision(self) -> int:
        """1 for the first."""
        ...

    @property
    def chain_index(self) -> int:
        """Its place in the chain."""
        ...

    @property
    def manifest_sha256(self) -> str:
        """Digest of its manifest: the head of the chain once it is archived."""
        ...


def calendar(
    first: date,
    nights: frozenset[str] | set[str],
    reports: frozenset[str] | set[str],
    policy: Policy,
    links: Links,
    now: datetime,
    watched: Iterable[Key] = (),
) -> list[Observation]:
    """Missing nights and reports as of `now`: due, and not there. nights, reports: partition keys that exist.

    first: the first night that this installation was to run. The last `LOOK_BACK` is looked at, and whatever older is
    `watched` still, so that an old gap that was filled ends its alert.
    """
    open_subjects = [(key.rule, key.subject) for key in watched]
    return [
        *_nights(first, nights, policy, links, now, {date.fromisoformat(s) for r, s in open_subjects if r == _NIGHT}),
        *_reports(first, reports, policy, links, now, {Month.parse(s) for r, s in open_subjects if r == _REPORT}),
    ]


def weeks(
    done: frozenset[str] | set[str], policy: Policy, links: Links, now: datetime, watched: Iterable[Key] = ()
) -> list[Observation]:
    """The last week of the gate, when it is missing a day after it was due; weeks before it are nobody's any more.

    done: Mondays that have a run. Who has not run the gate for a month, or never, is taken not to want it.
    """
    missing = late_week(done, now - WEEK_LATE)
    out = []
    if missing is not None and any((missing - WEEKS_WANTED).isoformat() <= week < missing.isoformat() for week in done):
        what = f"Barrière contrefactuelle : la semaine du {missing} n’a pas été exécutée."
        link = links.asset("counterfactual/results")
        out.append(event(AlertName.RUN_FAILED, f"{_WEEK}{missing}", what, now, True, policy, link))
    for key in watched:
        if key.rule == AlertName.RUN_FAILED and key.subject.startswith(_WEEK) and key not in {o.key for o in out}:
            there = key.subject.removeprefix(_WEEK) in done
            out.append(_cleared(key, "" if there else "semaine passée : la suivante en tient lieu", now))
    return out


_WEEK = "semaine "
_NIGHT, _REPORT = AlertName.NIGHT_MISSING, AlertName.REPORT_MISSING


def _nights(
    first: date, done: frozenset[str] | set[str], policy: Policy, links: Links, now: datetime, watched: set[date]
) -> list[Observation]:
    today, out = paris_day(now), []
    recent = {today - timedelta(days=back) for back in range(1, LOOK_BACK.days + 1)}
    for day in sorted(recent | watched):
        due = datetime.combine(day + timedelta(days=1), NIGHT_DUE, _PARIS)
        if day < first and day in watched:
            out.append(_cleared(Key(_NIGHT.value, ALL_DEPARTMENTS, day.isoformat()), BEFORE_FIRST, now))
        elif day >= first and now >= due:
            missing = day.isoformat() not in done
            what, link = f"Nuit du {day} absente.", links.night(day)
            out.append(event(_NIGHT, day.isoformat(), what, now, missing, policy, link, due if missing else None))
    return out


def _reports(
    first: date, done: frozenset[str] | set[str], policy: Policy, links: Links, now: datetime, watched: set[Month]
) -> list[Observation]:
    recent, out = paris_day(now) - LOOK_BACK - timedelta(days=31), []
    month = start = Month(first.year, first.month)
    due: list[Month] = []
    while month.scheduled_at <= now:
        if month.next().first_day >= recent or month in watched:
            due.append(month)
        month = month.next()
    for month in due:
        missing = month.first_day.isoformat() not in done
        since = month.scheduled_at if missing else None
        what = f"Rapport de {month} absent."
        out.append(event(_REPORT, str(month), what, now, missing, policy, links.report(month), since))
    before = sorted((m for m in watched if m.first_day < start.first_day), key=str)
    return out + [_cleared(Key(_REPORT.value, ALL_DEPARTMENTS, str(m)), BEFORE_FIRST, now) for m in before]


def _cleared(key: Key, reason: str, now: datetime) -> Observation:
    return Observation(key=key, at=now, level=Level.CLEAR, reason=reason)


def forgotten(
    watched: Iterable[Key], policy: Policy, now: datetime, *, bursts_here: bool = True, judged_here: bool = True
) -> list[Observation]:
    """Clears, with the reason, what is watched and nobody will observe again.

    bursts_here: whether the sensors count uncited claims; False where Prometheus does. judged_here: whether the day is
    judged, for which a judge and the Langfuse API are needed.
    """
    out = []
    for key in watched:
        reason = _abandoned(key, policy, bursts_here=bursts_here, judged_here=judged_here)
        if reason:
            out.append(_cleared(key, reason, now))
    return out


def _abandoned(key: Key, policy: Policy, *, bursts_here: bool, judged_here: bool) -> str:
    known = {d.id for d in (*policy.departments, policy.unattributed)} | {ALL_DEPARTMENTS}
    if key.department not in known:
        return "direction retirée de la politique"
    if key.rule not in {name.value for name in AlertName}:
        return "règle retirée"
    if key.subject != DAYTIME:
        return ""
    if key.rule == AlertName.UNCITED_CLAIMS_BURST:
        if not bursts_here:
            return "comptée désormais par Prometheus"
        followed = policy.thresholds.uncited_burst.departments
    elif not judged_here:
        return "plus de juge ou d’API Langfuse pour la journée"
    else:
        followed = policy.intraday_departments
    return "" if key.department in followed else "direction qui n’est plus suivie en journée"


def retention(states: Mapping[str, str | None], at: datetime, policy: Policy, links: Links) -> list[Observation]:
    """One observation per archived month; the value says in French what is wrong, None when the retention holds."""
    return [
        event(
            AlertName.RETENTION_NOT_VERIFIED,
            month,
            f"Rapport de {month} : {wrong}." if wrong else "",
            at,
            wrong is not None,
            policy,
            links.receipt(Month.parse(month)),
        )
        for month, wrong in sorted(states.items())
    ]


def published(
    archived: Iterable[Archived], known: set[Key], at: datetime, policy: Policy, links: Links
) -> list[Observation]:
    """A notice for each archived revision that was not told yet: month, revision, head of the chain.

    known: notices told before. An installation that looks for the first time tells of the newest alone.
    """
    entries = sorted(archived, key=lambda entry: entry.chain_index)
    rule = policy.alerts.rule(AlertName.REPORT_PUBLISHED)
    out = []
    for entry in entries:
        subject = f"{entry.month} r{entry.revision} {entry.manifest_sha256[:12]}"
        key = Key(rule.name.value, ALL_DEPARTMENTS, subject)
        if key in known:
            continue
        what = (
            f"Rapport de {entry.month}, révision {entry.revision}, maillon {entry.chain_index} : "
            f"empreinte du manifeste (tête de chaîne) sha256 {entry.manifest_sha256}."
        )
        link = links.receipt(Month.parse(entry.month))
        out.append(
            Observation(
                key=key,
                at=at,
                level=Level.BREACH,
                severity=rule.severity.value,
                once=True,
                silent=not known and entry is not entries[-1],
                annotations=notes(rule, policy, ALL_DEPARTMENTS, what, None, None, None, link),
            )
        )
    return out
