"""What to tell Alertmanager now: new and firing alerts again and again, resolutions once, each in its order.

Pure: from episodes and a time to posts. An alert that began and ended while Alertmanager was away is first shown as
firing for `hold`, then resolved: resolved at once, Alertmanager would tell nobody. Episodes of the same labels follow
one another, `hold` apart, and an alert that gains a subject is ended and told anew: with the labels it had, a new
failure would hide behind the old one. After hours away what is over does not queue before what lasts: the newest alert
tells of those before it. What the receiver refuses is set aside and holds up nothing. Labels are alertname, department,
severity and service; everything else is annotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from compliance_guardrails.policy import Policy

from compliance_pipelines.core.alerting import ALL_DEPARTMENTS, Episode
from compliance_pipelines.core.report_inputs import AlertFacts

SERVICE = "compliance-pipelines"
_SUBJECTS_SHOWN = 6
# a refused alert is tried again, in case the receiver or the alert's words have changed
_REFUSED_AGAIN = timedelta(hours=1)
# alerts of the same labels that wait one for the other; more of them, or one over for longer, are told of together
_QUEUE, _QUEUE_HOLDS = 2, 5
NOTICE = "info"


@dataclass(frozen=True, slots=True)
class Timing:
    """resend: between posts of a firing alert. hold: how long a past alert is shown. ttl: its end if we fall silent.

    `hold` must exceed Alertmanager's group_wait and group_interval; `ttl` outlives a restart of the daemon.
    """

    resend: timedelta
    hold: timedelta
    ttl: timedelta

    @classmethod
    def of(cls, policy: Policy) -> Timing:
        """Everything follows from `resend_minutes`."""
        resend = timedelta(minutes=policy.alerts.resend_minutes)
        return cls(resend=resend, hold=3 * resend, ttl=30 * resend)


@dataclass(frozen=True, slots=True)
class Post:
    """One alert to post; `firing` False resolves it. passed: alerts of its labels, over before it, told of with it."""

    episode: Episode
    firing: bool
    passed: tuple[Episode, ...] = ()


def due(episodes: Iterable[Episode], now: datetime, timing: Timing) -> list[Post]:
    """The posts of this moment: at most one for each set of labels. Closed and silent episodes give none.

    Closed ones of the last `hold` belong here all the same: the next of their labels waits for them to be told of.
    """
    queues: dict[tuple[str, str, str], list[Episode]] = {}
    closed: dict[tuple[str, str, str], list[Episode]] = {}
    resting: set[tuple[str, str, str]] = set()
    for episode in sorted(episodes, key=lambda e: (e.started_at, e.id)):
        labels = (*episode.labels, episode.severity)
        if episode.closed_at is not None:
            closed.setdefault(labels, []).append(episode)
            if episode.announced_at is not None and not _past(episode.closed_at, timing.hold, now):
                resting.add(labels)
        elif not episode.silent and not _aside(episode, now):
            queues.setdefault(labels, []).append(episode)
    posts = []
    for labels, queue in queues.items():
        before = queue[:-1] if _crowded(queue, now, timing) else []
        head = queue[len(before)]
        if head.announced_at is None and labels in resting:
            continue
        # said again with each post while Alertmanager may not have looked yet
        said = [e for e in closed.get(labels, ()) if e.announced_at == e.closed_at == head.announced_at]
        if (post := _post(head, now, timing)) is not None:
            posts.append(replace(post, passed=(*said, *before)))
    return posts


def _crowded(queue: list[Episode], now: datetime, timing: Timing) -> bool:
    first = queue[0]
    if len(queue) == 1 or first.announced_at is not None or first.ended_at is None or first.severity == NOTICE:
        # what a notice says is said nowhere else
        return False
    return len(queue) > _QUEUE or now - first.ended_at > _QUEUE_HOLDS * timing.hold


def _aside(episode: Episode, now: datetime) -> bool:
    refused = episode.refused_at
    return refused is not None and episode.ended_at is None and not _past(refused, _REFUSED_AGAIN, now)


def _post(episode: Episode, now: datetime, timing: Timing) -> Post | None:
    if episode.announced_at is None:
        # last_sent_at is then the end that was posted to tell the alert anew
        told_apart = episode.last_sent_at is None or _past(episode.last_sent_at, timing.hold, now)
        return Post(episode, firing=True) if told_apart else None
    if episode.last_sent_at is None:
        return Post(episode, firing=True)
    if episode.ended_at is not None:
        if not episode.retold and _past(episode.last_sent_at, timing.hold, now):
            # contact was broken: a restarted Alertmanager may have forgotten the alert, and would announce no end
            return Post(episode, firing=True)
        if _past(episode.announced_at, timing.hold, now):
            return Post(episode, firing=False)
    elif _gained(episode) and _past(episode.announced_at, timing.hold, now):
        return Post(episode, firing=False)
    return Post(episode, firing=True) if _past(episode.last_sent_at, timing.resend, now) else None


def _gained(episode: Episode) -> bool:
    # a department's night and day are one condition; runs, nights, reports and archives are each a fact of their own
    return episode.department == ALL_DEPARTMENTS and not set(episode.subjects) <= set(episode.told)


def _past(moment: datetime, wait: timedelta, now: datetime) -> bool:
    # a moment in the future was written before the clock was set back: better once too often than not at all
    return now < moment or now - moment >= wait


def accepted(post: Post, now: datetime) -> Episode:
    """The episode once Alertmanager has taken the post."""
    episode = replace(post.episode, refused_at=None)
    if not post.firing:
        if episode.ended_at is None:
            return replace(episode, announced_at=None, last_sent_at=now, told=())
        return replace(episode, closed_at=now, last_sent_at=now)
    late = episode.ended_at is not None
    fresh = episode.announced_at is None
    shown_anew = fresh or (late and not episode.retold)
    announced = now if shown_anew else episode.announced_at
    told = episode.subjects if fresh else tuple(s for s in episode.told if s in episode.subjects)
    return replace(episode, announced_at=announced, last_sent_at=now, retold=episode.retold or late, told=told)


def settled(post: Post, now: datetime) -> list[Episode]:
    """The episodes of a post that was taken: its own, and closed those told of with it for the first time."""
    passed = [replace(e, announced_at=now, last_sent_at=now, closed_at=now) for e in post.passed if e.closed_at is None]
    return [accepted(post, now), *passed]


def refused(post: Post, now: datetime) -> Episode:
    """The episode once Alertmanager has refused the post: set aside while it lasts, given up when it has ended."""
    over = post.episode.ended_at is not None
    return replace(post.episode, refused_at=now, closed_at=now if over else None)


def payload(post: Post, now: datetime, timing: Timing) -> dict[str, Any]:
    """The post as Alertmanager's API v2 wants it."""
    episode = post.episode
    starts = min(episode.started_at, now)
    ends = now + timing.ttl if post.firing else max(starts, min(episode.ended_at or now, now))
    notes = annotations(episode)
    if post.passed and post.firing:
        notes["description"] = f"{notes.get('description', '')} {_before(post.passed)}".strip()
    if not post.firing and episode.ended_at is None:
        notes["ended"] = "Reprise dans quelques minutes par une alerte qui ajoute un constat."
    return {
        "labels": {
            "alertname": episode.rule,
            "department": episode.department,
            "severity": episode.severity,
            "service": SERVICE,
        },
        "annotations": notes,
        "startsAt": _iso(starts),
        "endsAt": _iso(ends),
        "generatorURL": notes.get("dagster_url", ""),
    }


def _before(passed: tuple[Episode, ...]) -> str:
    first, last = min(e.started_at for e in passed), max(e.ended_at or e.started_at for e in passed)
    span = " et ".join(f"{moment.astimezone(UTC):%Y-%m-%d à %H:%M}" for moment in (first, last))
    return f"Avant elle, {len(passed)} alerte(s) déjà terminée(s), non dite(s) jusqu’ici, entre {span} UTC."


def annotations(episode: Episode) -> dict[str, str]:
    """Annotations of an alert: those of its subjects, the newest first, where they differ; the newest's link."""
    out: dict[str, str] = {}
    newest_last = list(episode.details.values())
    for name in ("summary", "description", "next_step", "dagster_url"):
        texts = list(dict.fromkeys(d[name] for d in reversed(newest_last) if d.get(name)))
        if texts:
            out[name] = texts[0] if name == "dagster_url" else " ".join(texts[:_SUBJECTS_SHOWN])
            if len(texts) > _SUBJECTS_SHOWN and name == "description":
                out[name] += f" Et {len(texts) - _SUBJECTS_SHOWN} de plus."
    if episode.ended_at is not None and out:
        why = f"\u202f: {episode.reason}" if episode.reason else ""
        out["ended"] = f"Terminée le {episode.ended_at.astimezone(UTC):%Y-%m-%d à %H:%M} UTC{why}."
    return out


def facts(episodes: Iterable[Episode], start: datetime, end: datetime) -> tuple[AlertFacts, ...]:
    """The alerts that were firing at some time in [start, end), as the monthly report prints them; notices are none."""
    alerts = [e for e in episodes if e.severity != NOTICE]
    chosen = [e for e in alerts if e.started_at < end and (e.ended_at is None or e.ended_at >= start)]
    return tuple(_fact(e, end) for e in sorted(chosen, key=lambda e: (e.started_at, e.rule, e.department)))


def _fact(episode: Episode, end: datetime) -> AlertFacts:
    notes: Mapping[str, str] = annotations(episode)
    return AlertFacts(
        name=episode.rule,
        department=None if episode.department == ALL_DEPARTMENTS else episode.department,
        severity=episode.severity,
        started_at=episode.started_at,
        ended_at=episode.ended_at if episode.ended_at is not None and episode.ended_at < end else None,
        summary_fr=notes.get("description") or notes.get("summary", ""),
    )


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
