"""Every panel of both dashboards returns data from a live Prometheus; rules pass promtool; the chain to the end works.

A replay of eight days (written with promtool as blocks) stands for the scrapes of the gateway and the Pushgateway.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
import yaml
from compliance_guardrails.metrics import Metric
from compliance_guardrails.policy import load_policy

from compliance_pipelines.adapters.pushgateway import GaugesError, Pushgateway
from compliance_pipelines.core import gauges
from compliance_pipelines.core.gauges import Sample
from compliance_pipelines_tests.services import monitoring
from compliance_pipelines_tests.services.monitoring import MONITORING, ROOT, Process

pytestmark = pytest.mark.services

POLICY = load_policy(at=date(2026, 6, 30))
DEPARTMENTS = [d.id for d in POLICY.departments]
END = datetime(2026, 6, 30, 12, tzinfo=UTC)
DAYS, STEP = 8, timedelta(minutes=5)
DASHBOARDS = sorted((MONITORING / "dashboards").glob("*.json"))
SCRAPES = yaml.safe_load((MONITORING / "scrape.yaml").read_text(encoding="utf-8"))["scrape_configs"]
COUNTERS = (Metric.UNCITED, Metric.REFUSED, Metric.PROTECTED)


def panels() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
            for target in panel["targets"]:
                yield f"{path.stem}: {panel['title']} {target['refId']}", panel, target


def replay() -> Iterator[str]:
    """Eight days of OpenMetrics: counters that climb, gauges that change at night."""
    start = END - timedelta(days=DAYS)
    times = [start + k * STEP for k in range(int(timedelta(days=DAYS) / STEP) + 1)]
    for counter in COUNTERS:
        name = counter.value.removesuffix("_total")
        yield f"# TYPE {name} counter"
        for d, department in enumerate(DEPARTMENTS):
            labels = f'{{department="{department}"}}'
            yield from (f"{counter.value}{labels} {k * (d + 1) // 20} {t.timestamp():.0f}" for k, t in enumerate(times))
    by_department = ("judge_neutrality", "lexical_neutrality", "ragas_faithfulness", "citation_compliance")
    for name in by_department:
        yield f"# TYPE {name} gauge"
        for d, department in enumerate(DEPARTMENTS):
            for t in times:
                value = 0.75 + 0.2 * math.sin(t.toordinal() + d)
                yield f'{name}{{department="{department}"}} {value:.4f} {t.timestamp():.0f}'
    yield "# TYPE counterfactual_consistency gauge"
    for attribute in ("gender", "age", "origin", "disability"):
        for t in times:
            yield f'counterfactual_consistency{{protected_attr="{attribute}"}} 0.9 {t.timestamp():.0f}'
    yield "# TYPE review_queue_score gauge"
    for k in range(5):
        for t in times[-12:]:
            labels = f'department="{DEPARTMENTS[k]}",observed="2026-06-29 1{k}:00",trace="{k:032x}"'
            yield f"review_queue_score{{{labels}}} 0.{k + 1} {t.timestamp():.0f}"
    yield "# EOF"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Process]:
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "replay.txt").write_text("\n".join(replay()) + "\n", encoding="utf-8")
    tool = monitoring.program("promtool", "prometheus")
    made = [tool, "tsdb", "create-blocks-from", "openmetrics", str(folder / "replay.txt"), str(folder / "tsdb")]
    subprocess.run(made, check=True, capture_output=True)
    with monitoring.prometheus(folder, {"global": {"scrape_interval": "15s"}}) as process:
        yield process


@pytest.mark.parametrize(("name", "panel", "target"), list(panels()), ids=lambda v: v if isinstance(v, str) else "")
def test_every_panel_query_returns_data(
    server: Process, name: str, panel: dict[str, Any], target: dict[str, Any]
) -> None:
    if target["instant"]:
        asked = {"query": target["expr"], "time": END.timestamp()}
        found = httpx.get(f"{server.url}/api/v1/query", params=asked).json()
    else:
        asked = {"query": target["expr"], "end": END.timestamp(), "step": 1800}
        asked["start"] = (END - timedelta(days=1)).timestamp()
        found = httpx.get(f"{server.url}/api/v1/query_range", params=asked).json()
    assert found["status"] == "success", found
    series = found["data"]["result"]
    values = [float(v) for s in series for _, v in (s.get("values") or [s["value"]])]
    assert values, name
    assert all(math.isfinite(v) for v in values)
    if "department" in target["legendFormat"]:
        assert {s["metric"]["department"] for s in series} == set(DEPARTMENTS)
    if panel["type"] == "table":
        assert len(series) == gauges.QUEUE_SHOWN
        assert all({"department", "observed", "trace"} <= set(s["metric"]) for s in series)


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.stem)
def test_dashboards_are_what_grafana_reads(path: Path) -> None:
    """dashboard.schema.json was made from the types of the npm package @grafana/schema 11.6.0 (Apache-2.0)."""
    schema = json.loads((MONITORING / "dashboard.schema.json").read_text(encoding="utf-8"))
    check = jsonschema.Draft7Validator(schema)
    made = json.loads(path.read_text(encoding="utf-8"))
    assert [f"{list(e.path)}: {e.message}" for e in check.iter_errors(made)] == []
    made["panels"][0]["gridPos"]["x"] = "left"
    assert not check.is_valid(made)


def test_rules_pass_promtool() -> None:
    tool = monitoring.program("promtool", "prometheus")
    done = subprocess.run(
        [tool, "test", "rules", "rules_test.yaml"], cwd=MONITORING, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_alertmanager_configuration_passes_amtool() -> None:
    tool = monitoring.program("amtool", "prometheus-alertmanager")
    done = subprocess.run(
        [tool, "check-config", str(MONITORING / "alertmanager.yaml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_gauges_travel_from_push_to_prometheus_and_rules_to_alertmanager(tmp_path: Path) -> None:
    """Pushgateway -> Prometheus with the shipped rules (times shortened) -> Alertmanager with the shipped routes."""
    rules = yaml.safe_load((MONITORING / "rules.yaml").read_text(encoding="utf-8"))
    for rule in rules["groups"][0]["rules"]:
        rule["for"] = "0s"
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules, allow_unicode=True), encoding="utf-8")
    with (
        monitoring.webhook() as hook,
        monitoring.alertmanager(tmp_path / "am", hook) as manager,
        monitoring.pushgateway(tmp_path / "push") as gateway,
    ):
        push = Pushgateway(gateway.url)
        push.push("nightly", gauges.last_success(datetime(2026, 6, 1, tzinfo=UTC)))
        push.push("compliance-pipelines", [Sample("judge_neutrality", (("department", "direction-rh"),), 0.25)])
        push.push("compliance-pipelines", [Sample("judge_neutrality", (("department", "direction-it"),), 0.5)])
        (pushed,) = [job for job in SCRAPES if job["job_name"] == "pushgateway"]
        targets = [gateway.url.removeprefix("http://")]
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(tmp_path / "rules.yaml")],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [manager.url.removeprefix("http://")]}]}]},
            "scrape_configs": [{**pushed, "static_configs": [{"targets": targets}]}],
        }
        with monitoring.prometheus(tmp_path / "prom", config) as server:
            # no gateway is scraped here, which is an alert of its own; no report is owed yet, so none is missed
            assert sorted(hook.wait(2, 30)) == [
                ("exploitation", "firing", "GuardrailNotFed", "toutes"),
                ("exploitation", "firing", "NightMissing", "toutes"),
            ]
            found = _scraped(server, "judge_neutrality")
            # a push replaces its group: the first department left no stale value
            assert [(s["metric"]["department"], s["value"][1]) for s in found] == [("direction-it", "0.5")]
            job = _scraped(server, "compliance_last_success_timestamp")
            assert [s["metric"]["job"] for s in job] == ["nightly"]


def _scraped(server: Process, query: str) -> list[dict[str, Any]]:
    """The answer to `query` once there is one: rules about what is absent fire before the first scrape."""
    until = time.monotonic() + 30
    while True:
        found = httpx.get(f"{server.url}/api/v1/query", params={"query": query}).json()["data"]["result"]
        if found or time.monotonic() > until:
            return list(found)
        time.sleep(0.2)


def test_a_pushgateway_that_is_away_is_one_line() -> None:
    with pytest.raises(GaugesError, match="Pushgateway ne répond pas"):
        Pushgateway("http://127.0.0.1:9").push("nightly", [])


def test_generated_files_are_those_of_the_policy() -> None:
    done = subprocess.run(
        [sys.executable, "k8s/monitoring/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
