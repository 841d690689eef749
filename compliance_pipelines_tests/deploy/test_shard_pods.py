"""`judge_by_shards` under the real `k8s_job_executor`: each Job that it submits is carried out as a process of its own.

A stand-in takes the place of the API server alone: it validates the Job, runs its container's command with its
variables, and tells the executor whether it failed. So the shards prove to need nothing of each other's memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import kubernetes
import kubernetes_validate
import pytest
import yaml
from dagster._core.definitions.reconstruct import ReconstructableRepository

from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.records import Trace
from compliance_pipelines.core.tables import frame
from compliance_pipelines_tests.defs.test_shards import ANCHORS, DAY, TRACES, trace
from compliance_pipelines_tests.deploy.tools import K8S, problems_of_pod
from compliance_pipelines_tests.standins.llm import LlmStub

BIN = Path(sys.executable).parent
LAUNCHER = yaml.safe_load((K8S / "base" / "dagster.yaml").read_text(encoding="utf-8"))["run_launcher"]["config"]
SHARDS = 2


class Cluster:
    """Pods as processes. Jobs are kept as they were submitted."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def create(self, body: Any, namespace: str) -> None:
        job = kubernetes.client.ApiClient().sanitize_for_serialization(body)
        assert namespace == "compliance"
        kubernetes_validate.validate(job, "1.33", strict=True)
        name = job["metadata"]["name"]
        assert name not in self.jobs
        self.jobs[name] = job
        (container,) = job["spec"]["template"]["spec"]["containers"]
        own = {item["name"]: item["value"] for item in container["env"] if "value" in item}
        own.pop("DAGSTER_HOME")  # the image's; here the test's
        command = [str(BIN / container["args"][0]), *container["args"][1:]]
        self.processes[name] = subprocess.Popen(command, env={**os.environ, **own}, stdout=subprocess.DEVNULL)

    def status(self, job_name: str) -> Any:
        code = self.processes[job_name].poll()
        return SimpleNamespace(failed=int(code not in {None, 0}), succeeded=int(code == 0), active=int(code is None))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Generator[Cluster]:
    found = Cluster()
    client = "dagster_k8s.client.DagsterKubernetesClient."
    monkeypatch.setattr(kubernetes.config, "load_incluster_config", lambda *_, **__: None)
    monkeypatch.setattr("dagster_k8s.launcher.load_kubernetes_config", lambda *_, **__: None)
    monkeypatch.setattr(
        client + "create_namespaced_job_with_retries", lambda _, body, namespace: found.create(body, namespace)
    )
    monkeypatch.setattr(client + "get_job_status", lambda _, namespace, job_name: found.status(job_name))  # noqa: ARG005
    monkeypatch.delenv("HOSTNAME", raising=False)
    yield found
    for process in found.processes.values():
        if process.poll() is None:
            process.kill()
        process.wait(30)


def test_each_shard_is_a_pod_and_the_replies_come_home(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (tmp_path / "dagster").mkdir()
    table = frame([trace(n) for n in range(TRACES)], Trace)
    table.attrs["counts"] = {}
    TableStore(home / "data").write(("langfuse", "traces"), DAY, table)
    monkeypatch.setenv("NAMESPACE", "compliance")
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    # what the code location tells the launcher by DAGSTER_CURRENT_IMAGE
    config = {**LAUNCHER, "job_image": "registry.example/compliance/compliance-pipelines:0.1.0"}
    launcher = {"module": "dagster_k8s", "class": "K8sRunLauncher", "config": config}
    with (
        LlmStub() as stub,
        dg.instance_for_test(
            temp_dir=str(tmp_path / "dagster"), overrides={"run_launcher": launcher}, set_dagster_home=True
        ) as instance,
    ):
        monkeypatch.setenv("JUDGE_BASE_URL", stub.url)
        monkeypatch.setenv("JUDGE_MODEL", stub.model)
        found = ReconstructableRepository.for_module("compliance_pipelines.definitions", "defs")
        with dg.execute_job(
            found.get_reconstructable_job("judge_by_shards"),
            instance=instance,
            tags={"dagster/partition": DAY},
            run_config={"ops": {"night_shards": {"config": {"shards": SHARDS}}}},
        ) as result:
            steps = {event.step_key for event in result.all_events if event.is_step_success}
            assert result.success
        calls = len(stub.requests)
    keys = {f"judged_shard[{index}_of_{SHARDS}]" for index in range(SHARDS)} | {"night_shards", "gathered_shards"}
    assert steps == keys
    assert {_step(job) for job in cluster.jobs.values()} == keys
    assert calls == TRACES + SHARDS * ANCHORS
    with SqliteCache(home / "cache" / "judgements.sqlite") as cache:
        (evaluator,) = cache.evaluators()
        assert len(cache.served(evaluator)) == TRACES
    for job in cluster.jobs.values():
        assert problems_of_pod(job["spec"]["template"]["spec"]) == []
    sizes = {_step(job): _memory(job) for job in cluster.jobs.values()}
    assert {size for step, size in sizes.items() if step.startswith("judged_shard")} == {"512Mi"}


def _container(job: dict[str, Any]) -> dict[str, Any]:
    return job["spec"]["template"]["spec"]["containers"][0]


def _step(job: dict[str, Any]) -> str:
    return next(item["value"] for item in _container(job)["env"] if item["name"] == "DAGSTER_RUN_STEP_KEY")


def _memory(job: dict[str, Any]) -> str:
    return _container(job)["resources"]["requests"]["memory"]
