"""Write a kustomize component that mounts a policy folder: `policy_configmap.py POLICY_DIR OUT_DIR [DAGSTER_YAML]`.

Everything that reads the policy gets it: gateway, code location, purge, and the pods of runs, which are made from the
instance's settings (DAGSTER_YAML, default k8s/base/dagster.yaml). A ConfigMap's keys cannot hold slashes, so each file
gets a flat key and the volume puts it back in its place. Text alone, at most 1 MiB together (what a ConfigMap holds).
The folder is checked first: a policy that does not load is not written.
Exit 0 written · 1 the policy is not in order · 2 bad arguments or unreadable folder.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml
from compliance_guardrails.policy import PolicyError, load_policy

MAX_BYTES = 1024 * 1024
NAME = "compliance-policy"
MOUNT = "/policy"
SUFFIXES = {".yaml", ".yml", ".json", ".md"}
# (kind, name, container) that read the policy; a patch is skipped where its target is not
TARGETS = (
    ("Deployment", "code-location", "code-location"),
    ("CronJob", "purge", "purge"),
    ("Deployment", "litellm", "litellm"),
)
INSTANCE = Path(__file__).parents[1] / "k8s" / "base" / "dagster.yaml"
INSTANCE_MAP = "dagster-instance"


def files_of(folder: Path) -> dict[str, str]:
    """Relative path to text of every policy file; ValueError when they do not fit."""
    found = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in SUFFIXES
    }
    if not found:
        raise ValueError(f"{folder.name} : aucun fichier de politique")
    size = sum(len(text.encode()) for text in found.values())
    if size > MAX_BYTES:
        raise ValueError(f"{folder.name} : {size} octets, attendu au plus {MAX_BYTES} (limite d'une ConfigMap)")
    return found


def key_of(relative: str) -> str:
    """`prompts/claims.md` as the key `prompts__claims.md`."""
    return relative.replace("/", "__")


def component(files: dict[str, str], digest: str, instance: dict[str, Any]) -> dict[str, Any]:
    """File name to document: the component, the ConfigMap, a patch for each target and one for runs (`instance`)."""
    items = [{"key": key_of(name), "path": name} for name in files]
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "annotations": {"compliance/policy-digest": digest}},
        "data": {key_of(name): text for name, text in files.items()},
    }
    patches = {f"patch-{name}.yaml": _patch(kind, name, container, items, digest) for kind, name, container in TARGETS}
    patches[f"patch-{INSTANCE_MAP}.yaml"] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": INSTANCE_MAP},
        "data": {"dagster.yaml": yaml.safe_dump(_with_policy(instance, items), sort_keys=False, width=10_000)},
    }
    targets = [*((kind, name) for kind, name, _ in TARGETS), ("ConfigMap", INSTANCE_MAP)]
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "resources": ["configmap.yaml"],
        "patches": [{"path": f"patch-{name}.yaml", "target": {"kind": kind, "name": name}} for kind, name in targets],
    }
    return {"kustomization.yaml": kustomization, "configmap.yaml": config, **patches}


def _patch(kind: str, name: str, container: str, items: list[dict[str, str]], digest: str) -> dict[str, Any]:
    spec = {
        "containers": [
            {
                "name": container,
                "env": [{"name": "COMPLIANCE_POLICY_DIR", "value": MOUNT}],
                "volumeMounts": [{"name": "policy", "mountPath": MOUNT, "readOnly": True}],
            }
        ],
        "volumes": [{"name": "policy", "configMap": {"name": NAME, "items": items}}],
    }
    # pods restart when the policy changes: the digest is part of their template
    made = {"template": {"metadata": {"annotations": {"compliance/policy-digest": digest}}, "spec": spec}}
    if kind == "CronJob":
        return {
            "apiVersion": "batch/v1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": {"jobTemplate": {"spec": made}},
        }
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": made}


def _with_policy(instance: dict[str, Any], items: list[dict[str, str]]) -> dict[str, Any]:
    """The instance's settings, whose run launcher gives each run the policy as well."""
    launcher = instance["run_launcher"]
    config = launcher["config"]
    more = {
        "env_vars": [*config.get("env_vars", []), f"COMPLIANCE_POLICY_DIR={MOUNT}"],
        "volumes": [*config.get("volumes", []), {"name": "policy", "configMap": {"name": NAME, "items": items}}],
        "volume_mounts": [
            *config.get("volume_mounts", []),
            {"name": "policy", "mountPath": MOUNT, "readOnly": True},
        ],
    }
    return {**instance, "run_launcher": {**launcher, "config": {**config, **more}}}


def _instance(path: Path) -> dict[str, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        dict(found["run_launcher"]["config"])
    except (KeyError, TypeError, ValueError):
        expected = "attendu les réglages d'une instance Dagster, avec run_launcher.config"
        raise ValueError(f"{path.name} : {expected}") from None
    return found


def main(arguments: list[str]) -> int:
    """Check the folder, write the component."""
    if len(arguments) not in {2, 3}:
        sys.stderr.write("usage : python tools/policy_configmap.py DOSSIER_POLITIQUE DOSSIER_SORTIE [DAGSTER_YAML]\n")
        return 2
    source, out = map(Path, arguments[:2])
    try:
        digest = load_policy(source).digest
        instance = _instance(Path(arguments[2]) if len(arguments) == 3 else INSTANCE)
        documents = component(files_of(source), digest, instance)
        out.mkdir(parents=True, exist_ok=True)
        for name, document in documents.items():
            text = yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=10_000)
            (out / name).write_text(text, encoding="utf-8")
    except PolicyError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except yaml.YAMLError:
        sys.stderr.write(f"{arguments[2]} : YAML illisible, attendu les réglages d'une instance Dagster\n")
        return 2
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{out} : {len(documents)} fichiers, politique {digest[:12]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
