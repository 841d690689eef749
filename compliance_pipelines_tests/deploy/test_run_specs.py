"""The Jobs that dagster-k8s would submit from k8s/base/dagster.yaml: launched run and step pods, built and validated.

No API server is here: the launcher's and the step handler's own code builds the objects, a stand-in for the Kubernetes
client keeps what they would have sent. `COMPLIANCE_MANIFESTS=folder` keeps them there too, for the policy scanner.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import kubernetes
import kubernetes_validate
import pytest
import yaml
from dagster._core.storage.dagster_run import DagsterRun
from dagster_k8s import K8sRunLauncher
from dagster_k8s.container_context import K8sContainerContext
from dagster_k8s.executor import K8sStepHandler
from dagster_k8s.job import get_k8s_job_name

from compliance_pipelines_tests.deploy.tools import K8S, problems_of_pod

IMAGE = "registry.example/compliance/compliance-pipelines:0.1.0"
VERSION = "1.33"
LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
LAUNCHER = yaml.safe_load((K8S / "base" / "dagster.yaml").read_text(encoding="utf-8"))["run_launcher"]["config"]


@pytest.fixture(autouse=True)
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What would have been created, with its namespace."""
    found: list[tuple[str, Any]] = []
    monkeypatch.setattr(kubernetes.config, "load_incluster_config", lambda *_, **__: None)
    monkeypatch.setattr("dagster_k8s.launcher.load_kubernetes_config", lambda *_, **__: None)
    monkeypatch.setattr(
        "dagster_k8s.client.DagsterKubernetesClient.create_namespaced_job_with_retries",
        lambda _self, body, namespace: found.append((namespace, body)),
    )
    return found


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[K8sRunLauncher]:
    monkeypatch.setenv("NAMESPACE", "compliance")
    with dg.instance_for_test(
        temp_dir=str(tmp_path),
        overrides={"run_launcher": {"module": "dagster_k8s", "class": "K8sRunLauncher", "config": LAUNCHER}},
    ) as instance:
        found = instance.run_launcher
        assert isinstance(found, K8sRunLauncher)
        yield found


def plain(job: Any, name: str = "") -> dict[str, Any]:
    found = kubernetes.client.ApiClient().sanitize_for_serialization(job)
    folder = os.environ.get("COMPLIANCE_MANIFESTS")
    if folder and name:
        found["metadata"]["namespace"] = "compliance"
        (Path(folder) / f"{name}.yaml").write_text(yaml.safe_dump(found), encoding="utf-8")
    return found


@functools.cache
def repository() -> dg.RepositoryDefinition:
    from compliance_pipelines.definitions import build_defs

    return build_defs().get_repository_def()


def run_of(**tags: str) -> Any:
    origin = SimpleNamespace(
        job_name="nightly",
        repository_origin=SimpleNamespace(container_image=IMAGE, container_context={}),
    )
    run = DagsterRun(job_name="nightly", run_id="3f2c1a52-5d0e-4ef0-9f5c-0f3f1d7f6a11", tags=tags)
    return SimpleNamespace(
        run_id=run.run_id, job_name="nightly", tags=tags, job_code_origin=origin, remote_job_origin=None
    )


def launched(
    launcher: K8sRunLauncher, submitted: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch, **tags: str
) -> Any:
    monkeypatch.setattr(launcher, "_report_run_worker_creating", lambda *_: None, raising=False)
    monkeypatch.setattr(launcher, "_report_run_worker_created", lambda *_: None, raising=False)
    monkeypatch.setattr(type(launcher._instance), "add_run_tags", lambda *_: None)
    launcher._launch_k8s_job_with_args("dagster-run-3f2c1a52", ["dagster", "api", "execute_run"], run_of(**tags))
    namespace, job = submitted.pop()
    assert namespace == "compliance"
    return plain(job, "run")


def test_the_job_of_a_run_is_valid_locked_down_and_complete(
    launcher: K8sRunLauncher, submitted: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = launched(launcher, submitted, monkeypatch)
    kubernetes_validate.validate(job, VERSION, strict=True)
    spec = job["spec"]["template"]["spec"]
    assert problems_of_pod(spec) == []
    assert spec["serviceAccountName"] == "compliance-run"
    container = spec["containers"][0]
    assert container["image"] == IMAGE
    sources = {name for source in container["envFrom"] for ref in source.values() for name in [ref["name"]]}
    assert sources == {"compliance-settings", "compliance-secrets", "dagster-postgres"}
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    tmp = "/tmp"  # noqa: S108  the pod's own
    # the instance's settings travel in the command; a run needs no file and writes none beside its volumes
    assert {"/data/compliance", "/secrets/signing", tmp} == mounts
    labels = job["spec"]["template"]["metadata"]["labels"]
    # the selector of the network policies
    assert labels["app.kubernetes.io/part-of"] == "compliance-pipelines"
    assert job["spec"]["backoffLimit"] == 0
    assert job["spec"]["ttlSecondsAfterFinished"] == 86400


def test_a_run_may_ask_for_memory_and_for_nothing_else(
    launcher: K8sRunLauncher, submitted: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = (
        '{"container_config": {"resources": {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "6Gi"}}}}'
    )
    job = launched(launcher, submitted, monkeypatch, **{"dagster-k8s/config": asked})
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"]["memory"] == "6Gi"
    assert problems_of_pod(job["spec"]["template"]["spec"]) == []
    for refused in (
        '{"container_config": {"security_context": {"privileged": true}}}',
        '{"pod_spec_config": {"service_account_name": "cluster-admin"}}',
        '{"pod_spec_config": {"host_network": true}}',
    ):
        with pytest.raises(Exception, match=r"only_allow|not permitted|Attempted"):
            launched(launcher, submitted, monkeypatch, **{"dagster-k8s/config": refused})


SHARD = "judged_shard[2_of_4]"


@pytest.mark.parametrize(
    ("job_name", "step_key"), [("nightly_by_pod", "evaluation__neutrality"), ("judge_by_shards", SHARD)]
)
def test_the_pod_of_a_step_is_locked_down_as_the_run_is(
    launcher: K8sRunLauncher,
    submitted: list[tuple[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    job_name: str,
    step_key: str,
) -> None:
    run = run_of()
    run.job_name = job_name
    handler = K8sStepHandler(
        image=None, container_context=K8sContainerContext(), load_incluster_config=True, kubeconfig_file=None
    )
    monkeypatch.setattr("dagster_k8s.executor.DagsterEvent.step_worker_starting", lambda *_, **__: None)
    op_name = step_key.partition("[")[0]
    arguments = SimpleNamespace(
        step_keys_to_execute=[step_key],
        run_id=run.run_id,
        known_state=None,
        job_origin=run.job_code_origin,
        get_command_args=lambda **_: ["dagster", "api", "execute_step"],
        get_command_env=lambda: [{"name": "DAGSTER_COMPRESSED_EXECUTE_STEP_ARGS", "value": "x"}],
    )
    tags = repository().get_job(job_name).get_node_named(op_name).definition.tags
    step = SimpleNamespace(
        execute_step_args=arguments,
        dagster_run=run,
        instance=SimpleNamespace(run_launcher=launcher),
        step_tags={step_key: tags},
        get_step_context=lambda _: SimpleNamespace(step=SimpleNamespace(op_name=op_name)),
    )
    list(handler.launch_step(step))
    ((namespace, body),) = submitted
    job = plain(body, op_name.replace("_", "-"))
    assert namespace == "compliance"
    kubernetes_validate.validate(job, VERSION, strict=True)
    spec = job["spec"]["template"]["spec"]
    assert problems_of_pod(spec) == []
    assert spec["containers"][0]["image"] == IMAGE
    assert spec["serviceAccountName"] == "compliance-run"
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels["app.kubernetes.io/part-of"] == "compliance-pipelines"
    assert LABEL.fullmatch(labels["dagster/op"])
    assert labels["dagster/op"].startswith(op_name)
    asked = spec["containers"][0]["resources"]["requests"]["memory"]
    assert asked == ("512Mi" if step_key == SHARD else "1Gi")


def test_shards_of_a_night_do_not_share_a_name(
    launcher: K8sRunLauncher,
) -> None:
    assert launcher
    run_id = "3f2c1a52-5d0e-4ef0-9f5c-0f3f1d7f6a11"
    names = {get_k8s_job_name(run_id, f"judged_shard[{index}_of_64]") for index in range(64)}
    assert len(names) == 64
    assert all(len(f"dagster-step-{name}-2") <= 63 for name in names)


def test_the_night_by_pods_is_defined_where_the_library_is() -> None:
    found = repository()
    heavy = found.get_job("nightly_by_pod")
    assert heavy.executor_def.name == "by_pod"
    assert found.get_job("nightly").executor_def.name == "in_process"
    assert set(heavy.asset_layer.executable_asset_keys) == set(
        found.get_job("nightly").asset_layer.executable_asset_keys
    )
    # of the steps that may run side by side, one at most asks the judge
    asking = {op.name for op in heavy.nodes if op.definition.tags.get("asks") == "judge"}  # ty: ignore
    assert asking == {"evaluation__neutrality", "evaluation__ragas", "evaluation__sycophancy_probes"}
    shards = found.get_job("judge_by_shards")
    assert shards.executor_def.name == "by_pod"
    assert {op.name: op.definition.pool for op in shards.nodes} == dict.fromkeys(  # ty: ignore
        ("night_shards", "judged_shard", "gathered_shards"), "judge"
    )
