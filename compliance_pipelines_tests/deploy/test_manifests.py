"""The manifests: overlays render, objects fit their schemas, pods are locked down, rights are what is called."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from compliance_guardrails.policy import load_policy
from compliance_guardrails.policy.paths import BUNDLED
from minio import Minio

from compliance_pipelines_tests.deploy.tools import (
    K8S,
    OVERLAYS,
    ROOT,
    Document,
    documents,
    overlay,
    pod_specs,
    problems_of_pod,
    render,
)
from compliance_pipelines_tests.services.servers import weed

VERSION = "1.33"


def by_name(found: list[Document]) -> dict[str, Document]:
    return {f"{d['kind']}/{d['metadata']['name']}": d for d in found}


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_object_fits_its_schema(name: str) -> None:
    found = documents(overlay(name))
    assert len(found) > 20
    for document in found:
        kubernetes_validate.validate(document, VERSION, strict=True)


def test_the_schema_check_would_see_a_misspelt_field() -> None:
    document = documents(overlay("production"))
    service = next(d for d in document if d["kind"] == "Service")
    service["spec"]["selektor"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(service, VERSION, strict=True)


@pytest.mark.parametrize("name", OVERLAYS)
def test_pods_are_locked_down(name: str) -> None:
    found = {who: problems_of_pod(spec) for who, spec in pod_specs(documents(overlay(name))).items()}
    assert {"Deployment/daemon", "Deployment/webserver", "Deployment/code-location"} <= set(found)
    assert {who: wrong for who, wrong in found.items() if wrong} == {}


def test_the_lock_down_check_would_see_an_open_pod() -> None:
    spec = {"containers": [{"name": "x", "image": "x:latest", "env": [{"name": "S3_SECRET_KEY", "value": "abc"}]}]}
    assert len(problems_of_pod(spec)) == 9


@pytest.mark.parametrize("name", OVERLAYS)
def test_what_is_referred_to_exists(name: str) -> None:
    found = documents(overlay(name))
    names = by_name(found)
    elsewhere = {"Secret/dagster-postgres", "Secret/compliance-secrets", "Secret/bucket-admin"}
    for who, spec in pod_specs(found).items():
        wanted = {f"ServiceAccount/{spec['serviceAccountName']}"} if "serviceAccountName" in spec else set()
        for volume in spec.get("volumes", []):
            if "configMap" in volume:
                wanted.add(f"ConfigMap/{volume['configMap']['name']}")
            if "persistentVolumeClaim" in volume:
                wanted.add(f"PersistentVolumeClaim/{volume['persistentVolumeClaim']['claimName']}")
        for container in spec["containers"]:
            for source in container.get("envFrom", []):
                wanted |= {f"ConfigMap/{r['name']}" for r in [source.get("configMapRef")] if r}
                wanted |= {f"Secret/{r['name']}" for r in [source.get("secretRef")] if r}
            mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
            provided = {v["name"] for v in spec.get("volumes", [])} | {"data"}
            assert mounted <= provided, f"{who}: {mounted - provided}"
        assert wanted - set(names) - (elsewhere if name == "production" else set()) == set(), who


def test_production_holds_no_secret() -> None:
    kinds = {document["kind"] for document in documents(overlay("production"))}
    assert "Secret" not in kinds


@pytest.mark.parametrize("name", OVERLAYS)
def test_services_and_budgets_select_a_deployment(name: str) -> None:
    found = documents(overlay(name))
    labels = [d["spec"]["template"]["metadata"]["labels"] for d in found if d.get("spec", {}).get("template")]
    for document in found:
        if document["kind"] in {"Service", "PodDisruptionBudget"}:
            selector = document["spec"]["selector"]
            wanted = selector.get("matchLabels", selector)
            assert any(wanted.items() <= own.items() for own in labels), document["metadata"]["name"]


def test_a_budget_never_blocks_every_drain() -> None:
    budgets = 0
    for name in OVERLAYS:
        found = by_name(documents(overlay(name)))
        for key, budget in found.items():
            if key.startswith("PodDisruptionBudget/"):
                replicas = found[f"Deployment/{budget['metadata']['name']}"]["spec"]["replicas"]
                assert replicas > budget["spec"]["minAvailable"]
                budgets += 1
    assert budgets


def test_one_daemon_that_never_overlaps_itself() -> None:
    daemon = by_name(documents(overlay("production")))["Deployment/daemon"]["spec"]
    assert (daemon["replicas"], daemon["strategy"]["type"]) == (1, "Recreate")


def test_runs_take_the_image_of_the_code_location() -> None:
    spec = pod_specs(documents(overlay("production")))["Deployment/code-location"]
    container = spec["containers"][0]
    image = next(item["value"] for item in container["env"] if item["name"] == "DAGSTER_CURRENT_IMAGE")
    assert image == container["image"] != "compliance-pipelines"


def test_rights_are_those_that_dagster_k8s_uses() -> None:
    """Every call of its client on a namespaced object is granted; nothing is granted that it never calls."""
    import dagster_k8s

    source = "\n".join(p.read_text() for p in Path(dagster_k8s.__file__).parent.rglob("*.py") if "pipes" not in p.name)
    calls = set(
        re.findall(r"\.(create|read|list|delete|patch|replace)_namespaced_([a-z_]+?)(?:_with_retries)?\(", source)
    )
    plural = {"job": "jobs", "job_status": "jobs/status", "pod": "pods", "pod_log": "pods/log", "event": "events"}
    verbs = {"read": "get"}
    needed = {(plural[what], verbs.get(verb, verb)) for verb, what in calls}
    role = by_name(documents(overlay("production")))["Role/dagster-jobs"]
    granted = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    # pods themselves are made and removed only by its Pipes client, which is not used here
    assert needed - granted <= {("pods", "create"), ("pods", "delete")}
    # jobs are read before their status; pods are watched through the list call
    assert granted - needed <= {("jobs", "get"), ("pods", "watch")}
    assert not {resource for resource, _ in granted} & {"secrets", "configmaps", "pods/exec"}


def test_nothing_is_open_that_no_policy_opens() -> None:
    policies = [d for d in documents(overlay("production")) if d["kind"] == "NetworkPolicy"]
    closed = next(d for d in policies if d["metadata"]["name"] == "default-deny")
    assert closed["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for policy in policies:
        for rule in [*policy["spec"].get("egress", []), *policy["spec"].get("ingress", [])]:
            peers = rule.get("to") or rule.get("from")
            assert peers, policy["metadata"]["name"]
            assert rule.get("ports"), policy["metadata"]["name"]
            assert all(peer.get("ipBlock", {}).get("cidr") != "0.0.0.0/0" for peer in peers)


def test_telemetry_is_off_and_storage_is_postgres() -> None:
    settings = yaml.safe_load((K8S / "base" / "dagster.yaml").read_text(encoding="utf-8"))
    assert settings["telemetry"] == {"enabled": False}
    assert settings["storage"]["postgres"]["postgres_db"]["password"] == {"env": "DAGSTER_PG_PASSWORD"}


@pytest.mark.parametrize("name", ["pipelines", "guardrails"])
def test_images_are_locked_and_not_root(name: str) -> None:
    text = (ROOT / "docker" / f"{name}.Dockerfile").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert "USER 10001:10001" in lines
    assert max(i for i, line in enumerate(lines) if line.startswith("FROM")) < lines.index("USER 10001:10001")
    assert "--require-hashes" in text
    assert ":latest" not in text
    assert "not built" in text.lower()
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / word).exists() for word in source.split()), source


def test_the_locks_agree_with_those_of_the_application() -> None:
    def pins(path: Path) -> dict[str, str]:
        return dict(re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE))

    app, image = pins(ROOT / "requirements" / "app.txt"), pins(ROOT / "docker" / "requirements.txt")
    assert {"dagster-k8s", "dagster-postgres", "psycopg2-binary"} <= set(image)
    assert {name: image.get(name) for name in app} == app


GATEWAY = """apiVersion: apps/v1
kind: Deployment
metadata: {name: litellm}
spec:
  selector: {matchLabels: {app: litellm}}
  template:
    metadata: {labels: {app: litellm}}
    spec:
      containers: [{name: litellm, image: "litellm:1.108.7", env: [{name: SITE, value: own}]}]
"""


def site(tmp_path: Path, *components: str) -> list[Document]:
    (tmp_path / "gateway.yaml").write_text(GATEWAY, encoding="utf-8")
    listed = [os.path.relpath(component, tmp_path) for component in components]
    (tmp_path / "kustomization.yaml").write_text(
        yaml.safe_dump({"resources": ["gateway.yaml"], "components": listed}), encoding="utf-8"
    )
    return documents(render(tmp_path))


def test_the_guardrails_component_joins_a_site_s_own_gateway(tmp_path: Path) -> None:
    found = site(tmp_path, str(K8S / "components" / "litellm-guardrails"))
    spec = pod_specs(found)["Deployment/litellm"]
    names = {item["name"] for item in spec["containers"][0]["env"]}
    assert {"SITE", "PYTHONPATH", "COMPLIANCE_HMAC_KEY"} <= names
    assert [container["name"] for container in spec["initContainers"]] == ["guardrails-wheels"]
    for document in found:
        kubernetes_validate.validate(document, VERSION, strict=True)


def test_the_policy_component_mounts_the_folder_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "policy"
    command = [sys.executable, str(ROOT / "tools" / "policy_configmap.py"), str(BUNDLED), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (target / "patch-code-location.yaml").unlink()
    component = yaml.safe_load((target / "kustomization.yaml").read_text(encoding="utf-8"))
    component["patches"] = [p for p in component["patches"] if "litellm" in p["path"]]
    (target / "kustomization.yaml").write_text(yaml.safe_dump(component), encoding="utf-8")
    found = by_name(site(tmp_path, str(target)))
    config = found["ConfigMap/compliance-policy"]
    spec = found["Deployment/litellm"]["spec"]["template"]["spec"]
    mounted = tmp_path / "mounted"
    for item in next(v for v in spec["volumes"] if v["name"] == "policy")["configMap"]["items"]:
        path = mounted / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(config["data"][item["key"]], encoding="utf-8")
    assert load_policy(mounted).digest == load_policy(BUNDLED).digest
    for document in found.values():
        kubernetes_validate.validate(document, VERSION, strict=True)


@pytest.mark.parametrize(("content", "code"), [(None, 2), ("grounding_floor: beaucoup\n", 1)])
def test_a_policy_that_does_not_load_is_not_mounted(tmp_path: Path, content: str | None, code: int) -> None:
    source = tmp_path / "source"
    if content:
        source.mkdir()
        (source / "thresholds.yaml").write_text(content)
    command = [sys.executable, str(ROOT / "tools" / "policy_configmap.py"), str(source), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in {code, 1}
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_bucket_is_made_once_with_its_lock(tmp_path: Path) -> None:
    script = str(K8S / "components" / "bucket" / "bootstrap.py")
    with weed(tmp_path / "s3") as server:

        def run(bucket: str, secret: str = server.secret_key) -> subprocess.CompletedProcess[str]:
            env = {**os.environ, "S3_ENDPOINT": server.endpoint, "S3_BUCKET": bucket}
            env |= {"S3_ACCESS_KEY": server.access_key, "S3_SECRET_KEY": secret}
            return subprocess.run([sys.executable, script], capture_output=True, text=True, env=env, check=False)

        host = server.endpoint.removeprefix("http://")
        client = Minio(host, server.access_key, server.secret_key, secure=False, region="us-east-1")
        client.make_bucket("open")
        first, second, unlocked, refused = (
            run("ai-audit"),
            run("ai-audit"),
            run("open"),
            run("ai-audit", "wrong-secret"),
        )
        client.get_object_lock_config("ai-audit")
    assert (first.returncode, "créé" in first.stdout) == (0, True), first.stderr
    assert (second.returncode, "déjà là" in second.stdout) == (0, True)
    assert (unlocked.returncode, "sans Object Lock" in unlocked.stderr) == (1, True)
    assert refused.returncode == 2
    for done in (first, second, unlocked, refused):
        assert len((done.stdout + done.stderr).strip().splitlines()) == 1


def test_two_bootstraps_at_once_agree(tmp_path: Path) -> None:
    script = str(K8S / "components" / "bucket" / "bootstrap.py")
    with weed(tmp_path / "s3") as server:
        env = {**os.environ, "S3_ENDPOINT": server.endpoint, "S3_BUCKET": "ai-audit"}
        env |= {"S3_ACCESS_KEY": server.access_key, "S3_SECRET_KEY": server.secret_key}
        codes: list[int] = []

        def run() -> None:
            codes.append(subprocess.run([sys.executable, script], capture_output=True, env=env, check=False).returncode)

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        # the one that loses the race may be refused once; the Job runs it again
        assert 0 in codes
        assert subprocess.run([sys.executable, script], capture_output=True, env=env, check=False).returncode == 0


def test_the_bucket_policy_never_removes() -> None:
    policy = json.loads((K8S / "components" / "bucket" / "policy.json").read_text(encoding="utf-8"))
    allowed = {action for s in policy["Statement"] if s["Effect"] == "Allow" for action in s["Action"]}
    denied = {action for s in policy["Statement"] if s["Effect"] == "Deny" for action in s["Action"]}
    assert not any("Delete" in action or "Bypass" in action or "*" in action for action in allowed)
    assert {"s3:DeleteObjectVersion", "s3:BypassGovernanceRetention"} <= denied
