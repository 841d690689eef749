"""What a generation of the sample month says about itself: key, team, tags, the caller's words, the hook's stamps.

The ways in which a trace names its department are written here and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import uuid

from compliance_pipelines.sample.plan import Outcome, Plan
from compliance_pipelines.sample.profiles import Channel, Naming
from compliance_pipelines.sample.situations import QuestionKind

Row = dict[str, object]
ENVIRONMENT = "production"
POLICY_DIGEST = hashlib.sha256(b"sample month: no policy file stands behind this digest").hexdigest()


def key_alias(plan: Plan) -> str:
    """The gateway key that was used; a shared one tells nothing about the department."""
    known = plan.naming in {Naming.STAMP, Naming.KEY_ALIAS}
    return plan.profile.key_alias if known else "portail-interne"


def user(plan: Plan) -> str:
    """The invented account that asked."""
    return f"agent-{plan.profile.declared}-{int(plan.trace_id[:6], 16) % 24:02d}@assureur.example"


def tags(plan: Plan, *, responses: bool) -> list[str]:
    """Tags of the call; those of a client are lost on `/v1/responses`, as recorded."""
    own = [] if responses else ["open-webui", "rag"]
    if plan.naming is Naming.TAG:
        own.append(f"department:{plan.profile.id}")
    return [*own, "User-Agent: python-httpx", "User-Agent: python-httpx/0.28.1"]


def call_metadata(plan: Plan, tokens: tuple[int, int], *, responses: bool) -> Row:
    """Metadata of the generation: key and team, the caller's own, the stamps that the hook leaves. `tokens` in, out."""
    stamp: Row = {}
    if plan.naming is Naming.STAMP:
        delivered = "blocked" if plan.outcome is Outcome.GATE_REFUSED else "unchanged"
        delivered = "prepended" if plan.said.low_confidence else delivered
        stamp = {
            "compliance_department": plan.profile.id,
            "compliance_policy_digest": POLICY_DIGEST,
            "compliance_delivered": delivered,
        }
    if plan.question_kind is QuestionKind.PROTECTED:
        stamp["bias_review_required"] = True
    team: Row = {}
    if plan.naming in {Naming.STAMP, Naming.TEAM_ALIAS}:
        team["user_api_key_team_alias"] = plan.profile.team_alias
    if plan.naming in {Naming.STAMP, Naming.TEAM_ID}:
        team["user_api_key_team_id"] = plan.profile.team_id
    answered: Row = {"response_id": f"chatcmpl-{plan.trace_id[:12]}", "cache_hit": False}
    if plan.outcome in {Outcome.GATE_REFUSED, Outcome.ERROR}:
        answered = {}
    return {
        **answered,
        "litellm_call_id": str(uuid.UUID(plan.trace_id)),
        "hidden_params": {
            "response_cost": 0,
            "additional_headers": {} if not answered else {"x-litellm-model-group": plan.profile.alias},
        },
        "litellm_response_cost": 0,
        "user_api_key_auth_metadata": {},
        "usage_object": {}
        if not answered
        else {
            "completion_tokens": tokens[1],
            "prompt_tokens": tokens[0],
            "total_tokens": sum(tokens),
            "completion_tokens_details": None,
            "prompt_tokens_details": None,
        },
        "applied_guardrails": ["compliance"] if plan.hook_knows else [],
        "requester_metadata": _requester(plan, responses=responses),
        "user_agent": "python-httpx/0.28.1",
        "user_api_key_request_route": "/v1/responses" if responses else "/v1/chat/completions",
        **team,
        "user_api_key_user_id": "svc-portail",
        "user_api_key_spend": 0,
        "user_api_key_alias": key_alias(plan),
        "user_api_key_hash": hashlib.sha256(key_alias(plan).encode()).hexdigest(),
        **stamp,
        "scope.name": "langfuse-sdk",
        "resourceAttributes.langfuse.environment": ENVIRONMENT,
    }


def _requester(plan: Plan, *, responses: bool) -> Row:
    """What the caller sent. Its own word on the department counts last and may contradict the stamp."""
    sent: Row = {"chat_id": f"chat-{plan.trace_id[:10]}", "session_id": f"chat-{plan.trace_id[:10]}"}
    if plan.naming is Naming.DECLARED:
        sent["department"] = plan.rng.choice((plan.profile.id, plan.profile.declared))
    elif plan.naming is Naming.STAMP and plan.rng.random() < 0.02:
        sent["department"] = "direction-rh" if plan.profile.id == "direction-it" else "direction-it"
    if plan.retrieval_score is not None:
        sent["retrieval_score"] = plan.retrieval_score
    if plan.contexts:
        sent["knowledge"] = {"sources": [name for name, _ in plan.contexts]}
    if plan.channel is Channel.METADATA:
        sent["contexts"] = [text for _, text in plan.contexts]
    if responses:
        return {key: value if isinstance(value, str) else json.dumps(value) for key, value in sent.items()}
    return sent
