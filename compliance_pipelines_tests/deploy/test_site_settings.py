"""What the deployment page tells a site to set works in every pod that reads it: certificate, commands, API server.

A setting is checked when a process starts: a path that one pod mounts and another does not keeps the other from
starting. Who may reach the API server is looked up in the network policies of each overlay.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
import yaml

from compliance_pipelines_tests.deploy.tools import K8S, OVERLAYS, ROOT, Document, documents, overlay, pod_specs

LAUNCHER = yaml.safe_load((K8S / "base" / "dagster.yaml").read_text(encoding="utf-8"))["run_launcher"]["config"]
# the web server and the daemon ask the code location and never read these settings themselves
READERS = re.compile(r"^(compliance|dagster api grpc)\b")
LAUNCHES = ("daemon", "webserver")


def paths_of_the_page() -> dict[str, str]:
    """Variables that docs/deployment.md sets to a path of the pod."""
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    return dict(re.findall(r"\b([A-Z][A-Z0-9_]+)=(/[\w./-]+)", text))


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_path_that_the_page_sets_is_mounted_wherever_it_is_read(name: str) -> None:
    paths = paths_of_the_page()
    assert "REPORT_SIGNING_P12" in paths
    seen = 0
    for who, spec in pod_specs(documents(overlay(name))).items():
        container = spec["containers"][0]
        settings = any("compliance-settings" in str(source) for source in container.get("envFrom", []))
        if not settings or not READERS.match(" ".join(container["args"])):
            continue
        seen += 1
        own = {item["name"]: item.get("value") for item in container.get("env", [])}
        mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
        for variable, path in paths.items():
            folders = {str(folder) for folder in PurePosixPath(path).parents}
            assert own.get(variable) == "" or mounts & folders, f"{who}: {variable}"
    # code location and purge
    assert seen == 2


def test_runs_mount_it_too_and_nothing_fails_where_there_is_none() -> None:
    mounts = {mount["mountPath"] for mount in LAUNCHER["volume_mounts"]}
    for path in paths_of_the_page().values():
        assert mounts & {str(folder) for folder in PurePosixPath(path).parents}
    code = pod_specs(documents(overlay("production")))["Deployment/code-location"]
    for volumes in (LAUNCHER["volumes"], code["volumes"]):
        (signing,) = (one["secret"] for one in volumes if one["name"] == "signing")
        assert (signing["secretName"], signing["optional"]) == ("report-signing", True)


def selected(policy: Document, labels: dict[str, str]) -> bool:
    selector = policy["spec"]["podSelector"]
    if not selector.get("matchLabels", {}).items() <= labels.items():
        return False
    return all(
        (labels.get(rule["key"]) in rule["values"]) is (rule["operator"] == "In")
        for rule in selector.get("matchExpressions", [])
    )


def reaches(found: list[Document], labels: dict[str, str], port: int) -> bool:
    """Whether some policy lets a pod with `labels` out to `port`, beyond single pods of the namespace."""
    return any(
        {"protocol": "TCP", "port": port} in rule["ports"]
        for policy in found
        if policy["kind"] == "NetworkPolicy" and selected(policy, labels)
        for rule in policy["spec"].get("egress", [])
    )


@pytest.mark.parametrize("name", OVERLAYS)
def test_those_that_launch_pods_reach_the_api_server_and_no_others(name: str) -> None:
    """Everything is closed in the base: an overlay that opens nothing launches no run."""
    found = documents(overlay(name))
    labels = {
        document["metadata"]["name"]: (document["spec"].get("jobTemplate", document)["spec"]["template"]["metadata"])[
            "labels"
        ]
        for document in found
        if document["kind"] in {"Deployment", "CronJob", "StatefulSet", "Job"}
    }
    # the labels that a launched run has (its own are tested with its Job)
    labels["run"] = {"app.kubernetes.io/name": "dagster", "app.kubernetes.io/part-of": "compliance-pipelines"}
    allowed = {who for who, own in labels.items() if reaches(found, own, 6443)}
    assert allowed == {*LAUNCHES, "run"}


def test_a_secret_that_production_expects_has_its_address() -> None:
    """A key without the address beside it opens nothing, and an embedded default serves in silence."""
    from compliance_pipelines.doctor import _HALVES

    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    keys = next(row for row in page.splitlines() if row.startswith("| `compliance-secrets`"))
    settings = (K8S / "overlays" / "production" / "settings.env").read_text(encoding="utf-8")
    for secret, needed, _ in _HALVES:
        if secret in keys and secret != "REPORT_SIGNING_PASSWORD":  # noqa: S105  signing is the site's choice
            assert any(f"{name}=" in settings for name in needed), secret
