"""One call as the hook follows it from request to answer: whose it is, what was stamped on it, what is to be logged.

What lives here: preparing a request (control fields of the client taken off, trace id, stamps, routing, prompt) and
stamping an answer. It works on the gateway's request dict by key, knows nothing of LiteLLM's classes, and is tested
with plain dicts. The trust boundary is drawn here: see `CLIENT_CONTROLS`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from . import events
from .decisions import Before, Caller
from .events import Delivered, Origin
from .payloads import Endpoint, callers_turns, documents_of, get, put_prompt_first

CLIENT_CONTROLS: Final = frozenset(
    {"trace_id", "existing_trace_id", "parent_observation_id", "mask_input", "mask_output", "update_trace_keys"}
)
"""Metadata by which a client could move its call into another trace or keep its text out of it: taken off."""

CLIENT_REWRITES: Final = frozenset({
    # other words for the model than those that were judged, or the department's prompt moved or dropped
    "extra_body", "litellm_system_prompt", "supports_system_message", "roles", "initial_prompt_value",
    "final_prompt_value", "bos_token", "eos_token", "custom_prompt_dict", "hf_model_name", "chat_template",
    "additional_drop_params", "ensure_alternating_roles", "user_continue_message", "assistant_continue_message",
    "prompt_id", "prompt_variables", "prompt_label", "prompt_version", "prompt_environment", "mock_response",
    # another model than the department's, or other words after a failure that the client provokes
    "fallbacks", "context_window_fallbacks", "content_policy_fallbacks", "context_window_fallback_dict", "user_config",
    "model_list", "router_settings_override", "model_alias_map", "specific_deployment", "deployment_id", "azure",
    "custom_llm_provider", "silent_model", "litellm_credential_name", "use_litellm_proxy",
    # an answer fetched later, unseen
    "background",
    # no text in the log, or no log
    "no-log", "turn_off_message_logging", "litellm_disabled_callbacks", "litellm_request_debug",
})  # fmt: skip
"""Parameters of the gateway's own that a client could send to get round prompt, routing or trace: taken off."""

EXEMPT: Final = "compliance_exempt"
GATE_KEY: Final = "compliance_gate"
"""Fields of a key's own metadata, which only an administrator can set."""

_CONTAINERS: Final = ("metadata", "litellm_metadata")
_CALL_ID: Final = "x-litellm-call-id"
_HEADERS: Final = ("langfuse_", "litellm-enable-", "litellm-disable-", "x-litellm-enable-", "x-litellm-disable-")
"""Beginnings of headers that name a trace, hide its text or switch callbacks off."""


@dataclass(slots=True)
class Call:
    """A call under way. `bias` and `notices` are filled when its answer is judged."""

    endpoint: Endpoint
    origin: Origin
    trace_id: str
    prompt: str | None = None
    question: str = ""
    gate_key: bool = False
    review: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    notices: dict[int, str] = field(default_factory=dict)
    delivered: Delivered = Delivered.UNCHANGED
    finished: bool = False


def caller_of(key: object) -> Caller:
    """The caller, from the key that the gateway has checked; nothing of the request."""
    return Caller(get(key, "key_alias"), get(key, "team_alias"), get(key, "team_id"))


def key_flag(key: object, name: str) -> bool:
    """A flag of the key's own metadata; only `true` counts."""
    return get(get(key, "metadata"), name) is True


def score_places(data: Mapping[str, Any]) -> list[object]:
    """The metadata objects in which a caller's similarity may stand, those of the request as it was sent included.

    On chat calls the gateway drops from `litellm_metadata` what `metadata` has as well: a second score would be unseen.
    """
    sent = get(data.get("proxy_server_request"), "body")
    return [*metadata_places(data), *(get(sent, name) for name in _CONTAINERS)]


def metadata_places(data: Mapping[str, Any]) -> list[object]:
    """The metadata objects that the gateway made of the caller's."""
    places: list[object] = []
    for name in _CONTAINERS:
        container = data.get(name)
        places += [container, get(container, "requester_metadata") if isinstance(container, dict) else None]
    return places


def take_client_controls(data: dict[str, Any]) -> None:
    """Take off what a client may not decide: the words and the model asked, trace identity, masking, forged stamps."""
    request = data.get("proxy_server_request")
    sent = get(request, "body")
    for name in CLIENT_REWRITES & data.keys():
        # What an administrator has set for the key or the team is not in the body, and stays.
        if not isinstance(sent, dict) or name in sent:
            del data[name]
    if not isinstance(data.get("stream"), bool | None):
        # The gateway would ask the model for a stream, fail to read it, and quote it whole in its error.
        data["stream"] = data["stream"] in (1, "true")
    headers = [get(request, "headers")]
    for place in metadata_places(data):
        if isinstance(place, dict):
            for name in CLIENT_CONTROLS & place.keys():
                del place[name]
            if "trace_metadata" in place:
                place["trace_metadata"] = _unstamped(place["trace_metadata"])
            headers.append(place.get("headers"))
    for held in headers:
        if isinstance(held, dict):
            for name in [name for name in held if str(name).lower().startswith(_HEADERS)]:
                del held[name]


def _unstamped(given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        return {}
    return {
        key: value
        for key, value in given.items()
        if key not in events.STAMPS and not str(key).startswith("compliance_")
    }


def own_trace_id(data: Mapping[str, Any]) -> str:
    """32 hex digits: the gateway's call id, or a fresh one when the client chose that id or it is none."""
    headers = get(data.get("proxy_server_request"), "headers")
    chosen = isinstance(headers, dict) and any(str(name).lower() == _CALL_ID for name in headers)
    given = data.get("litellm_call_id")
    if not chosen and isinstance(given, str):
        try:
            return uuid.UUID(given).hex
        except ValueError:
            pass
    return uuid.uuid4().hex


def open_call(data: dict[str, Any], endpoint: Endpoint, key: object, origin: Origin) -> Call:
    """Begin a call: client controls off, trace id and department stamped, before anything else can fail."""
    take_client_controls(data)
    call = Call(endpoint, origin, own_trace_id(data), gate_key=key_flag(key, GATE_KEY))
    stamp(data, call)
    return call


def stamp(data: dict[str, Any], call: Call) -> None:
    """Write trace id and stamps where the gateway's Langfuse callback reads them."""
    container = _container(data, call.endpoint)
    container["trace_id"] = call.trace_id
    own = container.get("trace_metadata")
    made = events.stamps(call.origin, call.delivered, call.review)
    # Changed in place: the gateway's log record may already hold this very object.
    if isinstance(own, dict):
        own.update(made)
    else:
        container["trace_metadata"] = made


def stamp_refusal(data: dict[str, Any], call: Call) -> None:
    """Stamp a refused call in both metadata objects: on Messages and Responses its failure record reads the other.

    Both are changed in place, because that record already holds them; nothing of a refused call reaches a model.
    """
    call.delivered = Delivered.BLOCKED
    stamp(data, call)
    made = events.stamps(call.origin, call.delivered, call.review)
    for name in _CONTAINERS:
        place = data.get(name)
        if isinstance(place, dict):
            place.update(
                {"trace_id": call.trace_id, "trace_metadata": {**_unstamped(place.get("trace_metadata")), **made}}
            )
        elif name == "metadata":
            data[name] = {"trace_id": call.trace_id, "trace_metadata": made}


def _container(data: dict[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    own = endpoint in (Endpoint.MESSAGES, Endpoint.RESPONSES)
    name = "litellm_metadata" if own or isinstance(data.get("litellm_metadata"), dict) else "metadata"
    container = data.get(name)
    if not isinstance(container, dict):
        container = data[name] = {}
    return container


def carry_out(data: dict[str, Any], call: Call, decision: Before, question: str) -> None:
    """Route the call and put the department's prompt first; `question` is what the caller asked, sources included."""
    call.review = decision.review
    if decision.model is not None:
        data["model"] = decision.model
    documents = "" if "<source" in question else documents_of(data, call.endpoint)
    call.question = f"{documents}\n{question}" if documents else question
    if decision.prompt is not None:
        put_prompt_first(data, call.endpoint, decision.prompt)
        call.prompt = decision.prompt


def prompt_hmac(data: Mapping[str, Any], call: Call, secret: bytes) -> str:
    """HMAC-SHA256 of the caller's turns as the model reads them, masking included, our own prompt left out.

    Two prompts that are alike only after masking have the same one; nothing of the text can be read from it.
    """
    turns = callers_turns(data, call.endpoint, call.prompt)
    text = json.dumps(turns, sort_keys=True, ensure_ascii=False, default=lambda value: type(value).__name__)
    return hmac.new(secret, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
