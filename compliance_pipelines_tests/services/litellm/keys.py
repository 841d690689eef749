"""The keys of the test gateway: LiteLLM's `custom_auth`, which gives a key its aliases without a database.

Copied beside the gateway's configuration, where LiteLLM looks for it. `sk-test-<alias>` is the key whose alias is
`<alias>`; a few have a team or metadata instead. Any other key is refused.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request
from litellm.proxy._types import ProxyException, UserAPIKeyAuth

PREFIX = "sk-test-"
SPECIAL: dict[str, dict[str, Any]] = {
    "team-only": {"team_alias": "Équipe Sinistres", "team_id": "t-1"},
    "stranger": {"key_alias": "un-script"},
    "judge": {"key_alias": "juge", "metadata": {"compliance_exempt": True}},
    "gate": {"key_alias": "ci-gate", "metadata": {"compliance_gate": True}},
}


async def check(request: Request, api_key: str) -> UserAPIKeyAuth:
    """The caller behind `api_key`; 401 for an unknown one."""
    del request
    name = api_key.removeprefix(PREFIX)
    if not api_key.startswith(PREFIX) or not name:
        raise ProxyException(message="unknown key", type="auth_error", param=None, code=401)
    return UserAPIKeyAuth(api_key=api_key, **SPECIAL.get(name, {"key_alias": name}))
