"""A month over the real daemon on PostgreSQL: by GraphQL (as the interface does), by command line, in a browser.

One installation serves all tests of this file, in order: nights by a backfill of the interface, two nights again by the
command line, the report, the pages. Marked `services`: it needs PostgreSQL and Chromium.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from compliance_pipelines.core.periods import Month
from compliance_pipelines.sample.generate import generate
from compliance_pipelines_tests.services.dagster_stack import Stack, stack, wait_for

pytestmark = pytest.mark.services
JUNE = [day.isoformat() for day in Month.parse("2026-06").days()]
NIGHT = (
    ["langfuse", "traces"], ["langfuse", "scores"], ["evaluation", "neutrality"], ["evaluation", "citations"],
    ["evaluation", "figure_grounding"], ["department", "daily"],
)  # fmt: skip
REPORT = (["department", "monthly"], ["audit", "bias_report"], ["audit", "archive_receipt"])
LAUNCH = """mutation Launch($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
BACKFILL = """query Backfill($id: String!) { partitionBackfillOrError(backfillId: $id) {
  __typename ... on PartitionBackfill { status error { message } } } }"""
RUNS = """query Runs($filter: RunsFilter) { runsOrError(filter: $filter) {
  ... on Runs { results { runId status pipelineName tags { key value } } } } }"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stack]:
    folder = tmp_path_factory.mktemp("stack")
    export = folder / "export"
    generate(export, "2026-06", 330, 11)
    with stack(folder, export) as found:
        yield found


def backfill(running: Stack, assets: tuple[list[str], ...], partitions: list[str], seconds: float) -> str:
    """Launch as the interface does, wait for its end."""
    params = {
        "assetSelection": [{"path": path} for path in assets],
        "partitionNames": partitions,
        "title": "rejeu du mois",
        "tags": [],
    }
    found = running.graphql(LAUNCH, params=params)["launchPartitionBackfill"]
    assert found["__typename"] == "LaunchBackfillSuccess", found
    identity = found["backfillId"]

    def status() -> str:
        one = running.graphql(BACKFILL, id=identity)["partitionBackfillOrError"]
        assert not one["error"], one["error"]
        return one["status"]

    wait_for("the backfill is not done", lambda: status() not in {"REQUESTED", "COMPLETING"}, seconds, 2.0)
    assert status() == "COMPLETED_SUCCESS", runs(running)
    return identity


def runs(running: Stack, **tags: str) -> list[tuple[str, str, str]]:
    wanted = {"tags": [{"key": key, "value": value} for key, value in tags.items()]} if tags else {}
    found = running.graphql(RUNS, filter=wanted)["runsOrError"]["results"]
    return [(run["runId"], run["pipelineName"], run["status"]) for run in found]


def materialized(running: Stack, path: list[str]) -> int:
    query = """query Asset($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) {
      ... on AssetNode { partitionStats { numMaterialized numFailed } } } }"""
    stats = running.graphql(query, key={"path": path})["assetNodeOrError"]["partitionStats"]
    assert stats["numFailed"] == 0
    return stats["numMaterialized"]


def test_a_month_of_nights_is_one_run_of_a_backfill(running: Stack) -> None:
    identity = backfill(running, NIGHT, JUNE, 400)
    done = runs(running, **{"dagster/backfill": identity})
    assert [status for _, _, status in done] == ["SUCCESS"]
    assert {materialized(running, path) for path in NIGHT} == {30}


def test_two_nights_again_by_the_command_line(running: Stack) -> None:
    before = {path: path.stat().st_mtime_ns for path in (running.home / "data").rglob("*.parquet")}
    # as the runbook prints it: typed in the daemon's pod it finds the workspace by itself
    words = ("--job", "nightly", "--partitions", "2026-06-29,2026-06-30", "--noprompt")
    done = running.run("dagster", "job", "backfill", *words)
    assert done.returncode == 0, done.stderr[-800:]
    (identity,) = set(re.findall(r"backfill job (\w+)", done.stdout)) or {""}
    found = running.graphql(
        "{ partitionBackfillsOrError(limit: 5) { ... on PartitionBackfills { results { id status } } } }"
    )
    newest = found["partitionBackfillsOrError"]["results"][0]["id"]
    assert identity in {"", newest}

    def ended() -> bool:
        states = [status for _, _, status in runs(running, **{"dagster/backfill": newest})]
        assert "FAILURE" not in states
        return states == ["SUCCESS"] * 2

    wait_for("the nights are not there", ended, 300, 2.0)
    # unchanged nights are kept by content, not written again
    after = {path: path.stat().st_mtime_ns for path in (running.home / "data" / "evaluation").rglob("*.parquet")}
    assert {path for path, written in after.items() if before.get(path) != written} == set()


def test_the_report_follows_and_verifies(running: Stack) -> None:
    backfill(running, REPORT, ["2026-06-01"], 240)
    done = running.run("compliance", "report", "verify", "2026-06")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "VALIDE" in done.stdout


def test_the_daemon_is_healthy_and_its_sensors_tick(running: Stack) -> None:
    health = running.graphql("{ instance { daemonHealth { allDaemonStatuses { daemonType healthy required } } } }")
    states = health["instance"]["daemonHealth"]["allDaemonStatuses"]
    assert [one["daemonType"] for one in states if one["required"] and not one["healthy"]] == []
    assert {"SENSOR", "SCHEDULER", "BACKFILL", "QUEUED_RUN_COORDINATOR"} <= {one["daemonType"] for one in states}


def test_nothing_is_written_beside_the_settings(running: Stack) -> None:
    """In a pod DAGSTER_HOME holds the settings and a little scratch; telemetry is off, so its folders stay empty."""
    found = {path.name: path for path in Path(running.env["DAGSTER_HOME"]).iterdir()}
    assert set(found) <= {"dagster.yaml", "workspace.yaml", "logs", ".logs_queue"}
    assert [list(found[name].iterdir()) for name in ("logs", ".logs_queue") if name in found] in ([], [[]], [[], []])


PAGES = [
    # the whole way to the archive; the window is large enough for the assets to show more than their names
    (
        "lineage",
        "/assets/audit/archive_receipt?view=lineage&lineageScope=upstream&lineageDepth=6",
        "3000,2400",
        ("traces", "neutrality", "monthly", "bias_report", "archive_receipt", "filled"),
    ),
    ("groups", "/asset-groups", "1600,1000", ("langfuse", "evaluation", "department", "audit")),
    ("report-asset", "/assets/audit/bias_report", "1600,1000", ("bias_report", "Rapport mensuel")),
]


@pytest.mark.parametrize(("name", "path", "size", "words"), PAGES, ids=[name for name, *_ in PAGES])
def test_the_pages_open_in_a_browser(
    running: Stack, tmp_path: Path, name: str, path: str, size: str, words: tuple[str, ...]
) -> None:
    shot = tmp_path / f"{name}.png"
    dom = browse(running.url + path, tmp_path / "profile", shot, size)
    keep = os.environ.get("COMPLIANCE_SCREENSHOTS")
    if keep:
        shutil.copyfile(shot, Path(keep) / f"{name}.png")
    assert [word for word in words if word not in dom] == [], len(dom)
    assert shot.read_bytes().startswith(b"\x89PNG")
    assert shot.stat().st_size > 20_000


def browse(url: str, profile: Path, shot: Path, size: str) -> str:
    """The page's text after its scripts have run, and a picture of it in a window of `size` pixels."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program, "chromium is not installed: make system-packages"
    common = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}"]
    common += [f"--user-data-dir={profile}", "--disable-dev-shm-usage", "--virtual-time-budget=25000"]
    picture = subprocess.run(
        [program, *common, f"--screenshot={shot}", url], capture_output=True, timeout=120, check=False
    )
    assert shot.exists(), picture.stderr[-400:]
    text = subprocess.run(
        [program, *common, "--dump-dom", url], capture_output=True, text=True, timeout=120, check=False
    )
    return text.stdout


def test_requests_of_the_manifests_cover_what_was_measured(running: Stack) -> None:
    """Memory after a month's work, against what k8s/base asks for; printed for docs/performance.md."""
    import yaml

    base = Path(__file__).parents[2] / "k8s" / "base"
    for name, manifest in (("code", "code-location"), ("web", "webserver"), ("daemon", "daemon")):
        used = running.memory_mib(name)
        deployment = next(yaml.safe_load_all((base / f"{manifest}.yaml").read_text(encoding="utf-8")))
        asked = deployment["spec"]["template"]["spec"]["containers"][0]["resources"]
        print(f"{manifest}: {used} MiB of {asked['requests']['memory']} asked, {asked['limits']['memory']} allowed")
        assert 0 < used < int(asked["limits"]["memory"].removesuffix("Mi"))


STATES = """{ repositoriesOrError { ... on RepositoryConnection { nodes {
  schedules { name scheduleState { status } } sensors { name sensorState { status } } } } } }"""


def test_the_installation_s_last_gesture_starts_everything(running: Stack) -> None:
    """Last of all, since what it starts asks for runs: the two commands of docs/deployment.md, in the daemon's pod."""

    def stopped() -> set[str]:
        (node,) = running.graphql(STATES)["repositoriesOrError"]["nodes"]
        states = {
            one["name"]: one.get("scheduleState") or one.get("sensorState")
            for one in [*node["schedules"], *node["sensors"]]
        }
        return {name for name, state in states.items() if state["status"] != "RUNNING"}

    assert {"nightly", "monthly_report", "weekly_counterfactual", "catch_up_nights", "late_report"} <= stopped()
    for what in ("schedule", "sensor"):
        done = running.run("dagster", what, "start", "--start-all")
        assert done.returncode == 0, done.stderr[-800:]
    assert stopped() == set()
