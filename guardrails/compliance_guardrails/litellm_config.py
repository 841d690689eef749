"""`compliance-guardrails litellm-config`: the LiteLLM configuration that matches the policy, as YAML.

One model of the gateway for each alias of departments.yaml and one for the self-evaluation, nothing else, so that no
key reaches a base model around its department's prompt. Secrets and addresses stay references to the environment.
"""

from __future__ import annotations

import argparse
import os
import sys
from datetime import date
from pathlib import Path
from typing import Any, Final

import yaml

from .policy import Policy, load_policy
from .runtime import paris_day

HOOK: Final = "compliance_guardrails.litellm_hook.hook"
_DEFAULT_BASE: Final = "os.environ/OLLAMA_API_BASE"


def configuration(policy: Policy, provider: str, api_base: str, self_evaluation: str, langfuse: bool) -> dict[str, Any]:
    """The configuration as plain values. `provider` is LiteLLM's prefix of the base models ("ollama_chat")."""
    aliases = {d.alias: d.base_model for d in (*policy.departments, policy.unattributed)}
    models = [_model(alias, provider, base, api_base) for alias, base in aliases.items()]
    if self_evaluation not in aliases:
        models.append(_model(self_evaluation, provider, self_evaluation, api_base))
    settings: dict[str, Any] = {"callbacks": [HOOK], "telemetry": False}
    if langfuse:
        settings |= {"success_callback": ["langfuse"], "failure_callback": ["langfuse"]}
    return {"model_list": models, "litellm_settings": settings}


def _model(name: str, provider: str, base: str, api_base: str) -> dict[str, Any]:
    parameters = {"model": f"{provider}/{base}", "api_base": api_base}
    if provider == "openai":
        parameters["api_key"] = "os.environ/MODEL_API_KEY"
    return {"model_name": name, "litellm_params": parameters}


def main(argv: list[str]) -> int:
    """Print the configuration; exit 0, or 2 when the policy cannot be read."""
    parser = argparse.ArgumentParser(prog="compliance-guardrails litellm-config", description=__doc__)
    parser.add_argument("--provider", default="ollama_chat", help="LiteLLM prefix of the base models")
    parser.add_argument("--api-base", default=_DEFAULT_BASE, help="address of the models, or os.environ/NAME")
    parser.add_argument("--without-langfuse", action="store_true", help="leave the Langfuse callbacks out")
    parser.add_argument("--policy", type=Path, help="policy folder (default: COMPLIANCE_POLICY_DIR, else bundled)")
    parser.add_argument("--at", type=date.fromisoformat, help="policy in force on that day (default: today)")
    given = parser.parse_args(argv)
    policy = load_policy(given.policy, at=given.at or paris_day())
    small = os.environ.get("SELF_EVAL_MODEL") or policy.guardrails.self_evaluation.model
    made = configuration(policy, given.provider, given.api_base, small, not given.without_langfuse)
    sys.stdout.write(f"# Made by `compliance-guardrails litellm-config`; policy digest {policy.digest}\n")
    sys.stdout.write(yaml.safe_dump(made, sort_keys=False, allow_unicode=True))
    return 0
