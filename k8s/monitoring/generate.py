"""Writes the Prometheus rules and Grafana dashboards of this folder from the policy: `python generate.py [--check]`.

The written files are kept in the repository; a test runs `--check`, so that a policy edit cannot leave them behind.
The links of the alerts lead to DAGSTER_UI_URL: that of the environment, else that of the production overlay.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import yaml
from compliance_guardrails.policy import Policy, load_policy

from compliance_pipelines.core import alerting_prometheus
from compliance_pipelines.core.alerting_text import Links

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import dashboards  # noqa: E402  its folder is no package

_HEAD = "# Écrit par generate.py à partir de la politique : ne pas modifier ici.\n"


def files(policy: Policy, links: Links) -> dict[str, str]:
    """Text of each generated file by its path in this folder."""
    rules = alerting_prometheus.rules(policy, links)
    out = {"rules.yaml": _HEAD + yaml.safe_dump(rules, allow_unicode=True, sort_keys=False, width=1000)}
    for name, made in (("bias-neutrality", dashboards.bias), ("hallucination-risk", dashboards.hallucination)):
        out[f"dashboards/{name}.json"] = json.dumps(made(policy), ensure_ascii=False, indent=2) + "\n"
    return out


def _overlay(name: str) -> str:
    lines = (HERE.parent / "overlays" / "production" / "settings.env").read_text("utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")).get(name, "")


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` name those that are not what they should be (exit 1)."""
    found = files(load_policy(), Links(os.environ.get("DAGSTER_UI_URL") or _overlay("DAGSTER_UI_URL")))
    stale = [n for n, text in found.items() if not (HERE / n).exists() or (HERE / n).read_text("utf-8") != text]
    if "--check" in arguments:
        for name in stale:
            sys.stdout.write(f"{name} : à écrire de nouveau (python k8s/monitoring/generate.py)\n")
        return 1 if stale else 0
    for name in stale:
        (HERE / name).parent.mkdir(exist_ok=True)
        (HERE / name).write_text(found[name], "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
