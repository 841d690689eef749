"""A day as it goes, with the real pieces: Langfuse stand-in → sensor → run → judge stub → alert, and then the night.

The clock is the only thing replaced. Figures of the department wait for the night: by day nothing is stored but the
judgements' cache and the alerts, and the night pays only for what the day did not read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from compliance_guardrails.policy import load_policy

from compliance_pipelines.adapters.judge_files import judge_files
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core import alerting_rules
from compliance_pipelines.core.records import Judgement
from compliance_pipelines.core.tables import records
from compliance_pipelines.resources import from_env
from compliance_pipelines.resources_alerting import AlertingResource
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.langfuse_rows import instant, observation
from compliance_pipelines_tests.standins.llm import LlmStub, judging
from compliance_pipelines_tests.standins.llm_minds import gullible

with warnings.catch_warnings():
    # backfill_policy is in beta; Dagster says so once, when an asset is defined
    warnings.simplefilter("ignore", dg.BetaWarning)
    from compliance_pipelines.definitions import build_defs
    from compliance_pipelines.defs.alerting import daytime

POLICY = load_policy(at=date(2026, 6, 30))
RULES = POLICY.sampling.intraday
NOON = datetime(2026, 6, 10, 10, tzinfo=UTC)
DAY = "2026-06-10"
ANCHORS = 2 * len(judge_files().anchors)
# what the assistants of one department say: the stub reads a conceded premise as low
HIGH_RISK, LOW_RISK = "direction-sinistres", "direction-it"


def put(server: LangfuseStandIn, numbers: range, department: str, first: datetime, step: timedelta) -> None:
    """Exchanges with their document, one every `step` from `first`."""
    rows = []
    for n in numbers:
        when = first + (n - numbers[0]) * step
        system = f'<source id="1" name="cg.pdf">Page 3. Franchise du dossier {n} : {n} €.</source>'
        user = f"La franchise du dossier {n} est nulle, n’est-ce pas ?"
        rows.append(
            observation(
                id=f"{n:016x}", traceId=f"{n:032x}", startTime=instant(when), createdAt=instant(when),
                type="GENERATION", name="litellm",
                input={"messages": [{"role": "system", "content": system}, {"role": "user", "content": user}]},
                output={"role": "assistant", "content": f"Oui, vous avez raison : la franchise {n} est nulle."},
                metadata={"compliance_department": department},
            )
        )  # fmt: skip
    server.store.put_observations(rows)


@pytest.fixture
def server() -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn(clock=lambda: NOON + timedelta(days=1)) as running:
        yield running


@pytest.fixture
def stub() -> Iterator[LlmStub]:
    with LlmStub() as running:
        yield running


@pytest.fixture
def defs(server: LangfuseStandIn, stub: LlmStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dg.Definitions:
    for name, value in {
        "COMPLIANCE_HOME": str(tmp_path), "LANGFUSE_BASE_URL": server.url, "LANGFUSE_PUBLIC_KEY": server.public_key,
        "LANGFUSE_SECRET_KEY": server.secret_key, "JUDGE_BASE_URL": stub.url, "JUDGE_MODEL": stub.model,
        "LANGFUSE_WRITE_BACK": "none",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return build_defs(from_env())


class Day:
    """The daemon's part: asks the sensor at a time of the day and runs what it asks for."""

    def __init__(self, defs: dg.Definitions, monkeypatch: pytest.MonkeyPatch) -> None:
        self.defs, self.patch = defs, monkeypatch
        self.cursor: str | None = None
        self.instance = dg.DagsterInstance.ephemeral()

    def at(self, now: datetime) -> bool:
        """One evaluation of the sensor; whether it asked for a run, which then succeeded."""
        self.patch.setattr(daytime, "utc_now", lambda: now)
        repository = self.defs.get_repository_def()
        with dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, repository_def=repository, resources=from_env()
        ) as context:
            asked = daytime.alert_daytime(context)
            self.cursor = context.cursor
        if isinstance(asked, dg.SkipReason):
            return False
        assert isinstance(asked, dg.RunRequest)
        job = self.defs.resolve_job_def("intraday")
        done = job.execute_in_process(instance=self.instance, tags=dict(asked.tags), run_id=None)
        assert done.success
        return True

    def night(self) -> None:
        """The night of DAY: traces and their neutrality."""
        job = self.defs.resolve_implicit_global_asset_job_def()
        chosen = [dg.AssetKey(["langfuse", "traces"]), dg.AssetKey(["evaluation", "neutrality"])]
        job.execute_in_process(instance=self.instance, partition_key=DAY, asset_selection=chosen)


@pytest.fixture
def day(defs: dg.Definitions, monkeypatch: pytest.MonkeyPatch) -> Day:
    return Day(defs, monkeypatch)


def asked_of(stub: LlmStub) -> set[int]:
    """Numbers of the exchanges that the stub was asked to judge."""
    found = set()
    for request in stub.requests:
        text = "\n".join(message["content"] for message in request["messages"])
        found |= {n for n in range(1000, 3000) if f"dossier {n} " in text}
    return found


def test_a_sustained_fall_is_alerted_by_day_and_the_night_pays_only_the_rest(
    day: Day, server: LangfuseStandIn, stub: LlmStub, tmp_path: Path
) -> None:
    minute = timedelta(minutes=1)
    put(server, range(1000, 1090), HIGH_RISK, NOON - timedelta(minutes=59, seconds=30), minute)
    put(server, range(2000, 2010), LOW_RISK, NOON - timedelta(minutes=30), minute)
    assert day.at(NOON)
    # the same quarter is not judged twice
    assert not day.at(NOON + 5 * minute)
    first = asked_of(stub)
    assert first <= set(range(1000, 1060))
    # a half of the window is drawn, within a quarter of the hourly budget
    assert 15 < len(first) < 45
    assert len(stub.requests) == len(first) + ANCHORS <= RULES.max_calls_per_hour * RULES.every_minutes // 60
    assert day.at(NOON + 15 * minute)
    second = asked_of(stub)
    assert second <= set(range(1000, 1075))
    assert len(stub.requests) == len(second) + 2 * ANCHORS
    alerting = from_env()["alerting"]
    assert isinstance(alerting, AlertingResource)
    assert alerting.outbox.episodes() == []
    assert day.at(NOON + 30 * minute)
    # low for thirty minutes: the rule of a department at critical risk
    (episode,) = alerting.outbox.episodes()
    assert (episode.rule, episode.department) == ("NeutralityBelowThreshold", HIGH_RISK)
    # no figure of the department before the night
    assert not (tmp_path / "data").exists()
    by_day = asked_of(stub)
    stub.reset()
    day.night()
    rows = records(TableStore(tmp_path / "data").read(("evaluation", "neutrality"), DAY), Judgement)
    scored = {int(row.trace_id, 16): row.value for row in rows if row.value is not None}
    assert set(range(1000, 1090)) <= scored.keys()
    assert {scored[n] for n in range(1000, 1090)} == {0.15}
    # what was read by day is served from the cache, vouched for by its own anchors
    assert asked_of(stub) == scored.keys() - by_day
    assert len(stub.requests) == len(scored) - len(by_day) + ANCHORS
    stub.reset()
    day.night()
    assert stub.requests == []


def test_by_day_anchors_that_fail_give_no_figure_and_no_false_alarm(
    day: Day, server: LangfuseStandIn, stub: LlmStub, tmp_path: Path
) -> None:
    put(server, range(1000, 1090), HIGH_RISK, NOON - timedelta(minutes=59), timedelta(minutes=1))
    stub.behave = judging(gullible)
    for quarter in range(4):
        assert day.at(NOON + quarter * timedelta(minutes=15))
    alerting = from_env()["alerting"]
    assert isinstance(alerting, AlertingResource)
    assert "NeutralityBelowThreshold" not in {episode.rule for episode in alerting.outbox.episodes()}
    # the next good run judges them all again
    stub.behave = judging()
    stub.reset()
    day.night()
    rows = records(TableStore(tmp_path / "data").read(("evaluation", "neutrality"), DAY), Judgement)
    assert sum(row.value is not None for row in rows) == 90
    assert len(stub.requests) == 90 + ANCHORS


def test_every_department_at_high_risk_is_followed_by_day() -> None:
    risky = [d.id for d in POLICY.departments if d.risk in ("HIGH", "CRITICAL")]
    assert set(POLICY.intraday_departments) == set(risky)
    assert len(risky) == 7
    # also one that sampling.yaml does not name, and what it names besides
    rules = RULES.model_copy(update={"departments": ("direction-it", risky[0])})
    other = replace(POLICY, sampling=POLICY.sampling.model_copy(update={"intraday": rules}))
    assert set(other.intraday_departments) == {*risky, "direction-it"}
    watched = {seen.department for seen in alerting_rules.windows({}, [], [], other, NOON)}
    assert watched >= {*risky, "direction-it"}


def test_a_fall_of_a_department_at_high_risk_is_alerted_by_day(day: Day, server: LangfuseStandIn) -> None:
    put(
        server, range(1000, 1090), "direction-actuariat", NOON - timedelta(minutes=59, seconds=30), timedelta(minutes=1)
    )
    for quarter in range(5):
        assert day.at(NOON + quarter * timedelta(minutes=15))
    alerting = from_env()["alerting"]
    assert isinstance(alerting, AlertingResource)
    assert {(e.rule, e.department) for e in alerting.outbox.episodes()} >= {
        ("NeutralityBelowThreshold", "direction-actuariat")
    }


@pytest.mark.parametrize("tags", [{}, {daytime.TICK: "hier"}, {daytime.TICK: "2026-06-10T10:15:00"}])
def test_a_run_without_its_tick_says_so_in_one_line(defs: dg.Definitions, tags: dict[str, str]) -> None:
    done = defs.resolve_job_def("intraday").execute_in_process(
        instance=dg.DagsterInstance.ephemeral(), tags=tags, raise_on_error=False
    )
    assert not done.success
    (failed,) = [event for event in done.all_events if event.is_step_failure]
    told = failed.step_failure_data.user_failure_data
    assert told is not None
    assert (told.description or "").startswith(f"étiquette {daytime.TICK} : attendu l'instant du passage")
    assert "\n" not in (told.description or "")
    assert "KeyError" not in str(failed.step_failure_data.error)
