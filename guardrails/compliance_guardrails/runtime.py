"""What the hook holds while the gateway runs: the policy of the day, the counters, the sender, the log.

Everything that touches the environment or the clock for the hook is here and nothing of LiteLLM, so that it can be
tested without a gateway. A policy that is wrong when the gateway starts stops it with one line; a policy that turns
wrong later is reported and the last good one stays.
"""

from __future__ import annotations

import logging
import threading
import time
import zoneinfo
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from importlib import metadata
from typing import Final

from . import transport
from .decisions import Caller, Rules, after, origin_of
from .detect.evidence import BiasScreen
from .events import Event, EventName, Origin, Score
from .metrics import Metric, Metrics, Stage
from .policy import UNATTRIBUTED, Policy, load_policy

MAX_ORIGINS: Final = 10_000
LOG: Final = logging.getLogger("compliance_guardrails")

_COUNTERS: Final[Mapping[EventName, Metric]] = {
    EventName.GATE_BLOCKED: Metric.REFUSED,
    EventName.SCORE_MISSING: Metric.SCORE_MISSING,
    EventName.UNCITED_CLAIM: Metric.UNCITED,
    EventName.LOW_CONFIDENCE: Metric.LOW_CONFIDENCE,
    EventName.PROTECTED_ATTRIBUTE: Metric.PROTECTED,
}


class Runtime:
    """The hook's state of one process. `today` gives the day whose policy is in force."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        metrics: Metrics | None = None,
        reporter: transport.Reporter | None = None,
        today: Callable[[], date] | None = None,
        load: Callable[[date], Policy] = lambda day: load_policy(at=day),
    ) -> None:
        self._today = today or paris_day
        self._load = load
        self._day = self._today()
        self._reloading = threading.Lock()
        self._origins: dict[tuple[object, ...], Origin] = {}
        self.policy = load(self._day)
        self.rules = Rules.current()
        self.metrics = metrics or Metrics()
        self._start_at_zero()
        self.reporter = reporter or transport.Reporter(transport.settings_from(environment), self._dropped)
        self.self_evaluation_model = environment.get("SELF_EVAL_MODEL") or None
        self.hmac_key = environment.get("COMPLIANCE_HMAC_KEY", "").encode() or None

    def _start_at_zero(self) -> None:
        self.metrics.start_at_zero([*(department.id for department in self.policy.departments), UNATTRIBUTED])

    @property
    def version(self) -> str:
        """The version of this distribution, "0" when it is not installed."""
        try:
            return metadata.version("compliance-guardrails")
        except metadata.PackageNotFoundError:
            return "0"

    def origin_of(self, caller: Caller) -> Origin:
        """`decisions.origin_of` under the policy in force, remembered: keys are few and each is asked for often."""
        names = (caller.key_alias, caller.team_alias, caller.team_id)
        if not all(name is None or isinstance(name, str) for name in names):
            return origin_of(self.policy, caller)
        policy = self.policy
        key = (policy.digest, *names)
        known = self._origins.get(key)
        if known is None:
            if len(self._origins) >= MAX_ORIGINS:
                self._origins.clear()
            known = self._origins[key] = origin_of(policy, caller)
        return known

    def follow_the_day(self) -> None:
        """On a new day, load its policy in a thread; calls under way keep the one they began with."""
        if self._today() != self._day and self._reloading.acquire(blocking=False):
            threading.Thread(target=self._reload, name="compliance-policy", daemon=True).start()

    def _reload(self) -> None:
        day = self._today()
        try:
            policy = self._load(day)
        except Exception as error:  # noqa: BLE001 - the last good policy stays in force
            self.failed(Stage.POLICY, error)
        else:
            if policy.digest != self.policy.digest:
                LOG.info("policy of %s in force digest=%s", day.isoformat(), policy.digest)
            self.policy = policy
            self._start_at_zero()
        finally:
            self._day = day
            self._reloading.release()

    def report(self, trace_id: str, happened: Iterable[Event], scores: Iterable[Score] = ()) -> None:
        """Log, count and send what happened in a call. Log lines carry codes only."""
        kept = tuple(happened)
        for event in kept:
            LOG.log(
                logging.WARNING if event.level == "WARNING" else logging.INFO,
                "%s department=%s trace_id=%s",
                event.name.value,
                event.department,
                trace_id,
            )
            counter = _COUNTERS.get(event.name)
            if counter is not None:
                self.metrics.count(counter, (event.department,))
        if self.reporter.active:
            now = time.time_ns()
            self.reporter.offer(transport.Report(trace_id, now, content) for content in (*kept, *scores))

    def count_findings(self, department: str, screens: Sequence[BiasScreen]) -> None:
        """Count the findings of the screens that act."""
        for screen in screens:
            for finding in screen.findings if screen.acts else ():
                self.metrics.count(Metric.BIAS, (department, finding.characteristic, finding.severity))

    def judge_rest(self, trace_id: str, origin: Origin, texts: Sequence[str], asides: Sequence[str] = ()) -> None:
        """Judge and report what a client has seen of a stream that broke off; a failure is only counted."""
        try:
            verdict = after(self.policy, self.rules, origin, texts, asides=asides)
            self.metrics.count(Metric.REQUESTS, (origin.department, Stage.POST_CALL))
            self.count_findings(origin.department, [choice.screen for choice in verdict.choices])
            self.report(trace_id, verdict.events, verdict.scores)
        except Exception as error:  # noqa: BLE001 - the stream is over; nothing else may fail
            self.failed(Stage.STREAM, error)

    def failed(self, stage: Stage, error: BaseException) -> None:
        """An own failure: counted, and logged by kind and place only, since its text may quote the conversation."""
        self.metrics.count(Metric.ERRORS, (stage,))
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        place = "?" if frame is None else f"{frame.tb_frame.f_globals.get('__name__', '?')}:{frame.tb_lineno}"
        LOG.error("guardrail error stage=%s kind=%s at=%s", stage, type(error).__name__, place)

    def _dropped(self, reason: transport.Loss, count: int) -> None:
        self.metrics.count(Metric.DROPPED, (reason,), count)


def paris_day() -> date:
    """Today in Paris; in UTC where the machine has no time zone data."""
    return datetime.fromtimestamp(time.time(), _ZONE).date()


def _zone() -> tzinfo:
    try:
        return zoneinfo.ZoneInfo("Europe/Paris")
    except zoneinfo.ZoneInfoNotFoundError:
        return UTC


_ZONE: Final = _zone()


def show_log() -> None:
    """Send the guardrails' log lines to standard error, unless the gateway has set up that logger itself."""
    if not LOG.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)
        LOG.propagate = False
