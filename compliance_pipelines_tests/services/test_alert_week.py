"""A week through the sensors against a real Alertmanager: exactly the notices that a person would want, in order.

The data's time is a week of June; deliveries run on the wall clock, because Alertmanager has no other. The same week
again with Alertmanager killed for three hours of it, during which one alert begins and ends.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import httpx
import pytest
from compliance_guardrails.policy import Policy, load_policy

from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core import alerting_rules
from compliance_pipelines.core.alerting import Key, Level, Observation
from compliance_pipelines.core.alerting_delivery import Timing
from compliance_pipelines.core.alerting_rules import Window
from compliance_pipelines.core.periods import day_window
from compliance_pipelines.core.records import Aggregate, Judgement, Status, Verdict
from compliance_pipelines.core.tables import frame
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.alerting import watching
from compliance_pipelines.resources import utc_now
from compliance_pipelines.resources_alerting import AlertingResource
from compliance_pipelines_tests.services.monitoring import Process, Webhook, alertmanager, until, webhook

pytestmark = pytest.mark.services

POLICY = load_policy(at=date(2026, 6, 30))
FIRST = date(2026, 6, 8)
# resend often, show a past alert for longer than the shortened groups wait
TIMING = Timing(resend=timedelta(seconds=0.3), hold=timedelta(seconds=2), ttl=timedelta(minutes=10))
SINISTRES, JURIDIQUE, FINANCE = "direction-sinistres", "direction-juridique", "direction-finance"
LOW = "NeutralityBelowThreshold"


def policy_of(_: date) -> Policy:
    return POLICY


@pytest.fixture
def hook() -> Generator[Webhook]:
    with webhook() as noted:
        yield noted


@pytest.fixture
def manager(tmp_path: Path, hook: Webhook) -> Generator[Process]:
    with alertmanager(tmp_path / "am", hook) as process:
        yield process


@dataclass(frozen=True)
class Revision:
    """An archived revision, as far as its notice says."""

    month: str
    revision: int = 1
    chain_index: int = 0
    manifest_sha256: str = "a" * 64


class Week:
    """The installation under test: tables, a Dagster instance, sensors with their cursors, an injected time."""

    def __init__(self, home: Path, instance: dg.DagsterInstance, url: str) -> None:
        self.store, self.instance = TableStore(home / "data"), instance
        self.alerting = AlertingResource(home=str(home), alertmanager_url=url, ui_url="https://dagster.example")
        self.cursor: str | None = None
        self.runs: str | None = None

    def night(self, number: int, means: dict[str, float], n: int = 60, unscored: int = 0, withheld: int = 0) -> None:
        """Write a completed night and let the sensor see it, twice, as after a restart that lost the cursor."""
        day = FIRST + timedelta(days=number)
        rows = [aggregate(d.id, day, means.get(d.id, 0.9), n, unscored) for d in POLICY.departments]
        self.store.write(keys.DEPARTMENT_DAILY.path, day.isoformat(), frame(rows, Aggregate))
        kept = [judgement(day, k) for k in range(withheld)]
        self.store.write(keys.NEUTRALITY.path, day.isoformat(), frame(kept, Judgement))
        event = dg.AssetMaterialization(asset_key=keys.DEPARTMENT_DAILY, partition=day.isoformat())
        self.instance.report_runless_asset_event(event)
        now = day_window(day)[1] + timedelta(hours=2)
        for cursor in (self.cursor, None):
            after = watching.nights(self.instance, self.store, self.alerting, policy_of, cursor, now)
        self.cursor = after

    def day(self, number: int, hour: int, means: list[float | None], department: str = SINISTRES) -> None:
        """Windows every quarter of an hour from `hour`; None is a missed tick."""
        start = day_window(FIRST + timedelta(days=number))[0] + timedelta(hours=hour)
        for k, mean in enumerate(means):
            if mean is not None:
                at = start + k * timedelta(minutes=15)
                seen = alerting_rules.daytime([Window(department, at, mean, 40)], POLICY, self.alerting.links)
                self.alerting.outbox.observe(seen, at)

    def run(self, number: int, partition: str, *, failed: bool) -> None:
        """A run of the night ends, and the sensor sees it."""
        tags = {"dagster/partition": partition, "job": "nightly"}
        run = dg.DagsterRun(job_name="nightly", run_id=f"00000000-0000-0000-0000-{number:012d}", tags=tags)
        self.instance.add_run(run)
        if failed:
            self.instance.report_run_failed(run)
        else:
            kind = dg.DagsterEventType.PIPELINE_SUCCESS
            self.instance.report_dagster_event(dg.DagsterEvent(kind.value, "nightly"), run.run_id)
        self.runs = watching.runs(self.instance, self.alerting, POLICY, self.runs, utc_now())

    def publish(self, month: str) -> None:
        """A report is in the archive, and the sensor sees it."""
        archive = SimpleNamespace(list_revisions=lambda: (Revision(month),))
        watching.published(archive, self.alerting, POLICY, utc_now())  # ty: ignore[invalid-argument-type]

    def link(self, hook: Webhook) -> str:
        """The link of the newest notice."""
        return str(hook.bodies[-1][1]["alerts"][-1]["annotations"]["dagster_url"])

    def settle(self, hook: Webhook, expected: int) -> None:
        """Deliver on the wall clock until the webhook was told `expected` things, and a while longer."""

        def told() -> bool:
            self.alerting.deliver(utc_now(), TIMING)
            return len(hook.notices()) >= expected

        until(told, 20)
        for _ in range(8):
            self.alerting.deliver(utc_now(), TIMING)
            until(lambda: False, 0.2)


@pytest.fixture
def week(tmp_path: Path, manager: Process) -> Generator[Week]:
    (tmp_path / "dagster").mkdir()
    with dg.instance_for_test(temp_dir=str(tmp_path / "dagster")) as instance:
        yield Week(tmp_path / "home", instance, manager.url)


def aggregate(department: str, day: date, mean: float, n: int, unscored: int) -> Aggregate:
    start, end = day_window(day)
    return Aggregate(
        department=department,
        period_start=start,
        period_end=end,
        metric="judge_neutrality",
        n_traces=n + unscored,
        n_eligible=n + unscored,
        n_sampled=n + unscored,
        n_scored=n,
        n_unscored=unscored,
        mean=mean,
        weighted_mean=mean,
        p5=mean,
        min=mean,
        share_below=0.0,
        ci_low=mean,
        ci_high=mean,
        threshold=0.7,
        verdict=Verdict.CONFORME,
        margin_established=True,
        policy_digest=POLICY.digest,
    )


def judgement(day: date, k: int) -> Judgement:
    at = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    return Judgement(f"{k:032x}", FINANCE, at, "judge_neutrality", None, Status.WITHHELD, "anchors_failed", "j", 1.0)


def test_a_week(week: Week, hook: Webhook) -> None:
    week.night(0, {})  # Monday: all well
    week.settle(hook, 0)
    assert hook.notices() == []

    week.night(1, {SINISTRES: 0.652})  # below
    week.settle(hook, 1)
    week.night(2, {SINISTRES: 0.640})  # still below: the same alert, its figures renewed
    week.settle(hook, 1)
    assert hook.notices() == [("conformite", "firing", LOW, SINISTRES)]

    week.night(3, {})  # recovered
    week.settle(hook, 2)

    week.day(4, 9, [0.65, 0.66, 0.9])  # a quarter of an hour low: nobody is told
    week.day(4, 12, [0.65, None, None, None, 0.66, 0.66])  # a hole in between proves nothing
    week.day(4, 13, [0.9])
    week.settle(hook, 2)
    week.day(4, 14, [0.65, 0.66, 0.64])  # thirty minutes low
    week.settle(hook, 3)
    week.day(4, 15, [0.9])
    week.settle(hook, 4)
    week.day(4, 16, [0.65] * 4, FINANCE)  # 0.65 is above the other departments' 0.60
    week.day(4, 18, [0.55] * 4, FINANCE)  # 45 minutes: they wait for 60
    week.settle(hook, 4)

    week.night(5, {JURIDIQUE: 0.5}, n=12)  # too few traces say nothing
    week.settle(hook, 4)
    week.run(1, "2026-06-12", failed=True)  # a run fails for good
    week.settle(hook, 5)
    week.run(2, "2026-06-12", failed=True)  # a person tries once more: the same failure
    week.settle(hook, 5)
    week.run(3, "2026-06-13", failed=True)  # another night fails: the first must not hide it
    week.settle(hook, 7)
    assert week.link(hook).endswith(f"{3:012d}")
    week.run(4, "2026-06-13", failed=False)
    week.settle(hook, 8)

    week.night(6, {}, withheld=40, unscored=40)  # Sunday: the judge failed its anchors, so much is unscored
    week.settle(hook, 9)
    week.publish("2026-05")  # a report is archived: said once, and nothing to end
    week.settle(hook, 10)
    week.publish("2026-05")
    week.settle(hook, 10)
    assert hook.notices() == [
        ("conformite", "firing", LOW, SINISTRES),
        ("conformite", "resolved", LOW, SINISTRES),
        ("conformite", "firing", LOW, SINISTRES),
        ("conformite", "resolved", LOW, SINISTRES),
        ("exploitation", "firing", "RunFailed", "toutes"),
        ("exploitation", "resolved", "RunFailed", "toutes"),
        ("exploitation", "firing", "RunFailed", "toutes"),
        ("exploitation", "resolved", "RunFailed", "toutes"),
        ("conformite-critique", "firing", "JudgeUnreliable", "toutes"),
        ("conformite-avis", "firing", "ReportPublished", "toutes"),
    ]


def test_the_words_say_what_to_do(week: Week, hook: Webhook) -> None:
    week.night(1, {SINISTRES: 0.6999})
    week.settle(hook, 1)
    notes = hook.bodies[0][1]["alerts"][0]["annotations"]
    assert notes["summary"].startswith("Sinistres")
    assert "0,699 < 0,700 (N = 60)" in notes["description"]
    assert "Relire les traces les plus basses" in notes["next_step"]
    assert notes["dagster_url"].startswith("https://dagster.example/assets/department/daily?")
    assert "2026-06-09" in notes["dagster_url"]


def test_the_same_with_alertmanager_away_for_three_hours(week: Week, hook: Webhook, manager: Process) -> None:
    week.night(1, {SINISTRES: 0.65})
    week.settle(hook, 1)
    manager.stop()
    # three hours: Sinistres recovers, Souscription is low and recovers, Juridique goes low and stays
    week.day(2, 9, [0.6, 0.6, 0.6, 0.9], "direction-souscription")
    week.alerting.deliver(utc_now(), TIMING)
    week.night(2, {})
    week.day(3, 9, [0.6, 0.6, 0.6, 0.6], JURIDIQUE)
    swept = week.alerting.deliver(utc_now(), TIMING)
    assert (swept.sent, swept.waiting) == (0, 3)
    assert "ne répond pas" in swept.problem_fr
    manager.start()
    week.settle(hook, 6)
    # killed, Alertmanager has forgotten whom it told: the first alert is told of again, so that its end is
    assert {(receiver, rule) for receiver, _, rule, _ in hook.notices()} == {("conformite", LOW)}
    told = [(status, department) for _, status, _, department in hook.notices()]
    assert told[0] == ("firing", SINISTRES)
    # Alertmanager chooses the order of the three groups; within all, the beginnings come before the ends
    assert {"firing"} == {status for status, _ in told[:4]}
    by_department = {d: [status for status, whose in told[1:] if whose == d] for _, d in told}
    assert by_department == {
        SINISTRES: ["firing", "resolved"],
        "direction-souscription": ["firing", "resolved"],
        JURIDIQUE: ["firing"],
    }
    # and after it: the next good day of Juridique ends what is left, and nothing is told twice
    week.day(4, 9, [0.9], JURIDIQUE)
    week.settle(hook, 7)
    assert [n[1:] for n in hook.notices()[6:]] == [("resolved", LOW, JURIDIQUE)]
    facts = week.alerting.outbox.facts(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))
    assert [(f.department, f.ended_at is None) for f in facts] == [
        (SINISTRES, False),
        ("direction-souscription", False),
        (JURIDIQUE, False),
    ]


def test_firing_survives_because_it_is_sent_again_and_ends_when_we_fall_silent(week: Week, hook: Webhook) -> None:
    """Sent again, it outlives its own endsAt; without us, Alertmanager ends it after the time to live."""
    short = replace(TIMING, ttl=timedelta(seconds=1.5))
    week.night(1, {SINISTRES: 0.65})
    until(lambda: bool(week.alerting.deliver(utc_now(), short).waiting), 4)
    assert [n[1] for n in hook.notices()] == ["firing"]
    assert [n[1] for n in hook.wait(2, 10)] == ["firing", "resolved"]


def test_an_alert_that_a_real_alertmanager_refuses_holds_up_no_other(week: Week, hook: Webhook) -> None:
    """An address that is none is refused with 400: that alert is set aside, the others of the same post are taken."""
    key = Key(LOW, FINANCE, "journée")
    bad = Observation(key, utc_now(), Level.BREACH, annotations={"summary": "x", "dagster_url": "http://[un"})
    week.alerting.outbox.observe([bad], utc_now())
    week.night(1, {SINISTRES: 0.65})
    swept = week.alerting.deliver(utc_now(), TIMING)
    assert (swept.sent, swept.refused, swept.waiting) == (1, 1, 0)
    week.settle(hook, 1)
    assert hook.notices() == [("conformite", "firing", LOW, SINISTRES)]
    (refused,) = week.alerting.outbox.undelivered().refused
    assert refused.department == FINANCE


def test_a_silence_keeps_an_alert_quiet(week: Week, hook: Webhook, manager: Process) -> None:
    now = utc_now()
    silence = {
        "matchers": [{"name": "department", "value": SINISTRES, "isRegex": False, "isEqual": True}],
        "startsAt": now.isoformat(),
        "endsAt": (now + timedelta(minutes=5)).isoformat(),
        "createdBy": "exploitation",
        "comment": "essai",
    }
    httpx.post(f"{manager.url}/api/v2/silences", json=silence).raise_for_status()
    week.night(1, {SINISTRES: 0.65, JURIDIQUE: 0.65})
    week.settle(hook, 1)
    assert hook.notices() == [("conformite", "firing", LOW, JURIDIQUE)]
    found = httpx.get(f"{manager.url}/api/v2/alerts", params={"silenced": "true"}).json()
    states = {a["labels"]["department"]: a["status"]["state"] for a in found}
    assert states == {SINISTRES: "suppressed", JURIDIQUE: "active"}


def test_routes(week: Week, hook: Webhook, manager: Process) -> None:
    """Runs go to operations, critical ones apart; departments are grouped apart."""
    run = dg.DagsterRun(job_name="nightly", run_id="00000000-0000-0000-0000-000000000001")
    week.instance.add_run(run)
    week.instance.report_run_failed(run)
    week.alerting.outbox.observe([], utc_now())
    cursor = watching.runs(week.instance, week.alerting, POLICY, None, utc_now())
    assert cursor
    week.night(1, {}, withheld=3)
    week.settle(hook, 2)
    assert sorted(hook.notices()) == [
        ("conformite-critique", "firing", "JudgeUnreliable", "toutes"),
        ("exploitation", "firing", "RunFailed", "toutes"),
    ]
    groups = httpx.get(f"{manager.url}/api/v2/alerts/groups").json()
    assert all(set(group["labels"]) == {"alertname", "department"} for group in groups)
    link = next(a for _, b in hook.bodies for a in b["alerts"] if a["labels"]["alertname"] == "RunFailed")
    assert link["annotations"]["dagster_url"].endswith("/runs/00000000-0000-0000-0000-000000000001")
