"""The trust boundary: what a client may not decide is taken off, what the hook decides is stamped."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from compliance_guardrails import calls
from compliance_guardrails.calls import open_call, own_trace_id, prompt_hmac, stamp, stamp_refusal
from compliance_guardrails.decisions import Before, read_score
from compliance_guardrails.events import Delivered, Origin
from compliance_guardrails.payloads import Endpoint

ORIGIN = Origin("direction-sinistres", "d" * 64)
CALL_ID = "53c395b2-7741-48d9-87f1-92a138612b8b"
KEY = SimpleNamespace(key_alias="sinistres", team_alias=None, team_id=None, metadata={})


def request(**extra: Any) -> dict[str, Any]:
    headers = {"user-agent": "x"}
    return {"litellm_call_id": CALL_ID, "metadata": {}, "proxy_server_request": {"headers": headers}, **extra}


def test_the_trace_is_the_gateways_own_call() -> None:
    assert own_trace_id(request()) == uuid.UUID(CALL_ID).hex


@pytest.mark.parametrize(
    "data",
    [
        request(proxy_server_request={"headers": {"X-LiteLLM-Call-Id": CALL_ID}}),
        request(litellm_call_id="pas un identifiant"),
        request(litellm_call_id=None),
        {},
    ],
)
def test_a_chosen_or_strange_call_id_is_replaced(data: dict[str, Any]) -> None:
    first, second = own_trace_id(data), own_trace_id(data)
    assert len(first) == 32
    assert first != second
    assert first != uuid.UUID(CALL_ID).hex


def test_client_controls_are_taken_off_everywhere() -> None:
    control = {"trace_id": "x", "existing_trace_id": "x", "mask_input": True, "mask_output": True, "mien": 1}
    control["trace_metadata"] = {"compliance_department": "x", "bias_review_required": False, "compliance_x": 1, "a": 2}
    headers = {"Langfuse_Trace_Id": "x", "langfuse_mask_output": "true", "user-agent": "x"}
    data = request(
        metadata={**control, "requester_metadata": dict(control)},
        litellm_metadata=dict(control),
        proxy_server_request={"headers": headers},
        **{"no-log": True},
    )
    call = open_call(data, Endpoint.CHAT, KEY, ORIGIN)
    assert headers == {"user-agent": "x"}
    assert "no-log" not in data
    assert data["metadata"]["requester_metadata"] == {"mien": 1, "trace_metadata": {"a": 2}}
    assert data["litellm_metadata"]["trace_id"] == call.trace_id
    assert data["litellm_metadata"]["trace_metadata"] == {
        "a": 2,
        "compliance_department": "direction-sinistres",
        "compliance_policy_digest": "d" * 64,
        "compliance_delivered": "unchanged",
    }


def test_stamps_change_the_very_object_that_is_logged() -> None:
    data = request()
    call = open_call(data, Endpoint.CHAT, KEY, ORIGIN)
    logged = data["metadata"]["trace_metadata"]
    call.delivered, call.review = Delivered.PREPENDED, True
    stamp(data, call)
    assert logged["compliance_delivered"] == "prepended"
    assert logged["bias_review_required"] is True


@pytest.mark.parametrize("endpoint", [Endpoint.MESSAGES, Endpoint.RESPONSES])
@pytest.mark.parametrize("given", [{"user_id": "u"}, None])
def test_a_refusal_is_stamped_in_both_places(endpoint: Endpoint, given: dict[str, Any] | None) -> None:
    data = request(metadata=given, litellm_metadata={})
    call = open_call(data, endpoint, KEY, ORIGIN)
    assert given is None or "trace_id" not in given
    stamp_refusal(data, call)
    for name in ("metadata", "litellm_metadata"):
        assert data[name]["trace_id"] == call.trace_id
        assert data[name]["trace_metadata"]["compliance_delivered"] == "blocked"
    assert given is None or data["metadata"] is given


@pytest.mark.parametrize("value", ["true", 1, None, "yes", [True]])
def test_only_true_in_the_keys_own_metadata_counts(value: Any) -> None:
    assert not calls.key_flag(SimpleNamespace(metadata={"compliance_exempt": value}), calls.EXEMPT)
    assert not calls.key_flag(SimpleNamespace(metadata=None), calls.EXEMPT)
    assert calls.key_flag(SimpleNamespace(metadata={"compliance_exempt": True}), calls.EXEMPT)


def decision(**extra: Any) -> Before:
    given: dict[str, Any] = {"model": None, "prompt": None, "refusal": None, "events": (), "review": False}
    return Before(origin=ORIGIN, scored=True, **{**given, **extra})


def test_routing_prompt_and_documents() -> None:
    turns = [{"role": "system", "content": "<source>d</source>"}, {"role": "user", "content": "q"}]
    data = request(messages=turns, model="x")
    call = open_call(data, Endpoint.CHAT, KEY, ORIGIN)
    calls.carry_out(data, call, decision(model="claims-assistant", prompt="P", review=True), "q")
    assert data["model"] == "claims-assistant"
    assert data["messages"][0] == {"role": "system", "content": "P"}
    assert call.question == "<source>d</source>\nq"
    assert call.review


def test_the_hmac_depends_on_the_text_alone() -> None:
    def of(text: str, prompt: str | None = "P", secret: bytes = b"k") -> str:
        data = request(messages=[{"role": "user", "content": text}])
        call = open_call(data, Endpoint.CHAT, KEY, ORIGIN)
        calls.carry_out(data, call, decision(prompt=prompt), text)
        return prompt_hmac(data, call, secret)

    assert of("M. <PERSON> déclare") == of("M. <PERSON> déclare") == of("M. <PERSON> déclare", prompt=None)
    assert of("M. <PERSON> déclare") != of("M. <PERSON> déclare.")
    assert of("x") != of("x", secret=b"autre")
    assert len(of("\ud800 seul")) == 64


def test_a_score_that_the_gateway_dropped_is_found_in_the_request_as_sent() -> None:
    sent = {"metadata": {"retrieval_score": 0.9}, "litellm_metadata": {"retrieval_score": 0.1}}
    data = request(metadata={"retrieval_score": 0.9}, proxy_server_request={"headers": {}, "body": sent})
    assert read_score(calls.score_places(data)).value == 0.1


@pytest.mark.parametrize("body", [None, "x", [], {"metadata": "x", "litellm_metadata": None}])
def test_a_strange_body_holds_no_score(body: Any) -> None:
    data = request(metadata={"retrieval_score": 0.9}, proxy_server_request={"headers": {}, "body": body})
    assert read_score(calls.score_places(data)).value == 0.9


@pytest.mark.parametrize("sent", [None, "all"])
def test_parameters_that_get_round_the_guardrails_are_taken_off(sent: str | None) -> None:
    given = {name: {"messages": []} for name in calls.CLIENT_REWRITES}
    request_sent = {"headers": {}, **({"body": dict(given)} if sent else {})}
    data = request(proxy_server_request=request_sent, temperature=0, **given)
    open_call(data, Endpoint.CHAT, KEY, ORIGIN)
    assert not calls.CLIENT_REWRITES & data.keys()
    assert data["temperature"] == 0


def test_what_an_administrator_has_set_for_a_key_stays() -> None:
    data = request(proxy_server_request={"headers": {}, "body": {"model": "x"}}, router_settings_override={"a": 1})
    open_call(data, Endpoint.CHAT, KEY, ORIGIN)
    assert data["router_settings_override"] == {"a": 1}


@pytest.mark.parametrize("name", ["litellm-enable-message-redaction", "X-LiteLLM-Disable-Callbacks", "langfuse_name"])
def test_headers_that_hide_a_call_are_taken_off_wherever_the_gateway_keeps_them(name: str) -> None:
    kept = {"user-agent": "x", "x-litellm-tags": "a"}
    data = request(
        metadata={"headers": {name: "true", **kept}},
        litellm_metadata={"headers": {name: "true", **kept}},
        proxy_server_request={"headers": {name: "true", **kept}},
    )
    open_call(data, Endpoint.MESSAGES, KEY, ORIGIN)
    for holder in (data["metadata"], data["litellm_metadata"], data["proxy_server_request"]):
        assert holder["headers"] == kept


@pytest.mark.parametrize(
    ("given", "read"), [(True, True), (False, False), (1, True), ("true", True), ("x", False), ([], False), (0, False)]
)
def test_a_stream_is_asked_for_or_not(given: object, read: bool) -> None:
    """The gateway quotes what it cannot read; a stream that it takes for a whole answer would reach the client so."""
    data = request(stream=given)
    open_call(data, Endpoint.CHAT, KEY, ORIGIN)
    assert data["stream"] is read
