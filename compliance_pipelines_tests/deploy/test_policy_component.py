"""A policy of the site's own reaches everything that judges by it: gateway, code location, purge, and every run.

A code location with one policy and runs with another would show one threshold and apply the other. The mounted folder
is put together from the rendered objects and loaded, so that what is compared is the digest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from compliance_guardrails.policy import load_policy
from compliance_guardrails.policy.paths import BUNDLED

from compliance_pipelines_tests.deploy.tools import K8S, OVERLAYS, ROOT, Document, documents, pod_specs, render

TOOL = str(ROOT / "tools" / "policy_configmap.py")
READERS = ("Deployment/code-location", "CronJob/purge")


def write(source: Path, target: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, TOOL, str(source), str(target), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", params=OVERLAYS)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """An overlay with the component, as the tool wrote it."""
    folder = tmp_path_factory.mktemp("site")
    done = write(BUNDLED, folder / "policy")
    assert done.returncode == 0, done.stderr
    resource = os.path.relpath(K8S / "overlays" / request.param, folder)
    made = {"resources": [resource], "components": ["policy"]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(made), encoding="utf-8")
    return documents(render(folder))


def mounted(spec: dict[str, Any], config: Document, folder: Path) -> str:
    """Digest of the policy that a pod finds under COMPLIANCE_POLICY_DIR."""
    container = spec["containers"][0]
    place = next(item["value"] for item in container["env"] if item["name"] == "COMPLIANCE_POLICY_DIR")
    volume = next(mount["name"] for mount in container["volumeMounts"] if mount["mountPath"] == place)
    source = next(one["configMap"] for one in spec["volumes"] if one["name"] == volume)
    assert source["name"] == config["metadata"]["name"]
    for item in source["items"]:
        path = folder / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(config["data"][item["key"]], encoding="utf-8")
    return load_policy(folder).digest


def named(site: list[Document], kind: str, name: str) -> Document:
    return next(d for d in site if (d["kind"], d["metadata"]["name"]) == (kind, name))


@pytest.mark.parametrize("who", READERS)
def test_pods_that_stand_read_the_site_s_policy(site: list[Document], who: str, tmp_path: Path) -> None:
    config = named(site, "ConfigMap", "compliance-policy")
    assert mounted(pod_specs(site)[who], config, tmp_path) == load_policy(BUNDLED).digest
    for document in site:
        kubernetes_validate.validate(document, "1.33", strict=True)


def test_runs_read_it_too(site: list[Document], tmp_path: Path) -> None:
    """By the settings that the rendered instance gives to dagster-k8s, whose own job building is tested elsewhere."""
    instance = yaml.safe_load(named(site, "ConfigMap", "dagster-instance")["data"]["dagster.yaml"])
    base = yaml.safe_load((K8S / "base" / "dagster.yaml").read_text(encoding="utf-8"))
    config = instance["run_launcher"]["config"]
    variables = [dict(zip(("name", "value"), text.split("=", 1), strict=True)) for text in config["env_vars"]]
    container = {"env": variables, "volumeMounts": config["volume_mounts"]}
    pod = {"containers": [container], "volumes": config["volumes"]}
    policy = named(site, "ConfigMap", "compliance-policy")
    assert mounted(pod, policy, tmp_path) == load_policy(BUNDLED).digest
    # nothing else of the instance has changed
    for name in ("env_vars", "volumes", "volume_mounts"):
        own = base["run_launcher"]["config"].get(name, [])
        assert config[name][: len(own)] == own
        base["run_launcher"]["config"].pop(name, None)
        config.pop(name)
    assert instance == base
    assert "workspace.yaml" in named(site, "ConfigMap", "dagster-instance")["data"]


def test_instance_settings_of_a_site_are_kept(tmp_path: Path) -> None:
    own = yaml.safe_load((K8S / "base" / "dagster.yaml").read_text(encoding="utf-8"))
    own["run_monitoring"]["max_runtime_seconds"] = 1234
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(own), encoding="utf-8")
    assert write(BUNDLED, tmp_path / "out", str(tmp_path / "dagster.yaml")).returncode == 0
    patch = yaml.safe_load((tmp_path / "out" / "patch-dagster-instance.yaml").read_text(encoding="utf-8"))
    assert yaml.safe_load(patch["data"]["dagster.yaml"])["run_monitoring"]["max_runtime_seconds"] == 1234


@pytest.mark.parametrize("text", ["a: [", "telemetry: {enabled: false}\n", "[]\n"])
def test_settings_that_launch_nothing_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "dagster.yaml").write_text(text, encoding="utf-8")
    done = write(BUNDLED, tmp_path / "out", str(tmp_path / "dagster.yaml"))
    assert done.returncode == 2
    assert "dagster.yaml" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
