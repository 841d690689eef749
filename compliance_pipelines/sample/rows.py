"""Rows as a v4 server returns them: `v2/observations` (48 fields) and `v3/scores`.

Field names, types and quirks (events that claim to be roots, two identical ERROR generations for one
refusal, empty strings where one expects null) follow recorded rows of a gateway that logs through its
langfuse callback. Only values known from the plan are written; nothing is judged here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta

from compliance_pipelines.sample import phrases
from compliance_pipelines.sample.month import iso
from compliance_pipelines.sample.plan import FLOOR, Outcome, Plan
from compliance_pipelines.sample.profiles import Channel
from compliance_pipelines.sample.stamps import ENVIRONMENT, Row, call_metadata, key_alias, tags, user

PROJECT = "sample-project"
_SDK: Mapping[str, object] = {
    "scope.attributes.public_key": "pk-lf-sample",
    "scope.version": "4.16.0",
    "scope.name": "langfuse-sdk",
    "resourceAttributes.service.name": "unknown_service:python3.11",
    "resourceAttributes.telemetry.sdk.version": "1.45.2",
    "resourceAttributes.telemetry.sdk.name": "opentelemetry",
    "resourceAttributes.telemetry.sdk.language": "python",
}


def span_id(plan: Plan) -> str:
    """A fresh 16-hex observation id of this trace."""
    return f"{plan.rng.getrandbits(64):016x}"


def observation(plan: Plan, kind: str, name: str, start: datetime, end: datetime, **fields: object) -> Row:
    """One row with every field of `v2/observations`, in the order in which the server lists them."""
    created = end + plan.arrival
    row: Row = {
        "id": span_id(plan), "traceId": plan.trace_id, "startTime": iso(start), "endTime": iso(end),
        "projectId": PROJECT, "parentObservationId": None, "type": kind, "name": name, "level": "DEFAULT",
        "statusMessage": "", "version": "", "environment": ENVIRONMENT, "completionStartTime": None,
        "createdAt": iso(created), "updatedAt": iso(created), "input": None, "output": None, "metadata": {},
        "model": "", "internalModelId": "", "modelParameters": {}, "usageDetails": {}, "inputUsage": 0,
        "outputUsage": 0, "totalUsage": 0, "costDetails": {}, "inputCost": None, "outputCost": None,
        "totalCost": 0, "promptId": "", "promptName": "", "promptVersion": None, "usagePricingTierId": None,
        "usagePricingTierName": None, "latency": None, "timeToFirstToken": None, "userId": "",
        "sessionId": "", "isRootObservation": True, "traceName": name, "release": "", "tags": [],
        "bookmarked": False,
        "public": False, "modelId": None, "inputPrice": None, "outputPrice": None, "totalPrice": None,
    }  # fmt: skip
    unknown = fields.keys() - row.keys()
    if unknown:
        raise KeyError(sorted(unknown)[0])
    return row | fields


def event(plan: Plan, name: str, at: datetime, level: str, metadata: Mapping[str, object]) -> Row:
    """An event of the hook. It carries no text, claims to be a root and names a parent that is not stored."""
    return observation(
        plan, "EVENT", name, at, at, level=level, metadata={**metadata, **_SDK},
        parentObservationId=span_id(plan),
    )  # fmt: skip


def retriever(plan: Plan, start: datetime, end: datetime) -> Row:
    """The search step of an application that reports it: query in, passages with file and similarity out."""
    top = plan.retrieval_score or 0.6
    passages = [
        {"content": text, "source": name, "score": round(top - 0.07 * rank, 4)}
        for rank, (name, text) in enumerate(plan.contexts)
    ]
    return observation(
        plan, "RETRIEVER", "recherche-documentaire", start, end,
        input=json.dumps({"query": plan.question}), output=json.dumps({"documents": passages}),
        metadata={"top_k": len(passages), **_SDK}, latency=_seconds(end - start), isRootObservation=False,
        parentObservationId=span_id(plan),
    )  # fmt: skip


def generations(plan: Plan, end: datetime) -> list[Row]:
    """The call itself: one row, or two that differ by their id alone when the gateway refused it."""
    responses = plan.outcome is Outcome.ANSWERED and plan.rng.random() < 0.02
    messages = _messages(plan)
    error = _error_text(plan)
    words_in, words_out = sum(len(m["content"]) for m in messages) // 4, len(plan.said.text or "") // 4
    usage = {"input": words_in, "output": words_out, "total": words_in + words_out}
    name = "litellm-aresponses" if responses else f"litellm:{key_alias(plan)}"
    first = plan.observed + (end - plan.observed) * (0.3 if plan.stream else 1.0)
    fields: Row = {
        "input": json.dumps({"messages": messages}),
        "metadata": call_metadata(plan, (words_in, words_out), responses=responses),
        "model": plan.profile.alias if responses else f"ollama/{plan.profile.model}",
        "latency": _seconds(end - plan.observed), "userId": user(plan),
        "sessionId": f"chat-{plan.trace_id[:10]}",
        "tags": tags(plan, responses=responses),
        "traceName": "litellm-aresponses" if responses else "litellm-acompletion",
    }  # fmt: skip
    if error is None:
        fields |= {
            "output": _output(plan, responses=responses), "completionStartTime": iso(first),
            "timeToFirstToken": _seconds(first - plan.observed), "costDetails": {"total": 0},
            "usageDetails": {**usage, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
            "inputUsage": words_in, "outputUsage": words_out, "totalUsage": words_in + words_out,
            "modelParameters": {} if responses else {"stream": str(plan.stream).lower(), "max_retries": 0},
        }  # fmt: skip
    else:
        fields |= {
            "level": "ERROR", "statusMessage": error, "output": error,
            "modelParameters": {"messages": str(messages), "stream": str(plan.stream).lower()},
        }  # fmt: skip
    row = observation(plan, "GENERATION", name, plan.observed, end, **fields)
    return [row, row | {"id": span_id(plan)}] if plan.outcome is Outcome.GATE_REFUSED else [row]


def score(plan: Plan, name: str, value: float | str, at: datetime, **fields: object) -> Row:
    """One score of `v3/scores` with `fields=core,details,subject,annotation`; a text value is CATEGORICAL."""
    row: Row = {
        "id": f"{plan.rng.getrandbits(64):016x}", "projectId": PROJECT, "name": name, "source": "API",
        "timestamp": iso(at), "environment": ENVIRONMENT,
        "createdAt": iso(at + timedelta(seconds=1), seconds=True),
        "updatedAt": iso(at + timedelta(seconds=2)),
        "comment": None, "configId": None, "metadata": {}, "authorUserId": None, "queueId": None,
        "subject": {"kind": "trace", "id": plan.trace_id},
        "dataType": "CATEGORICAL" if isinstance(value, str) else "NUMERIC", "value": value,
    }  # fmt: skip
    return row | fields


def _messages(plan: Plan) -> list[dict[str, str]]:
    messages = [{"role": "system", "content": phrases.SYSTEM_PROMPTS[plan.profile.alias]}]
    if plan.rng.random() < 0.08:
        asked, answered = plan.rng.choice(phrases.SMALL_TALK)
        messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
    question = plan.question
    if plan.channel is Channel.SOURCE_TAGS:
        sources = "\n".join(
            f'<source id="{number}" name="{name}">{text}</source>'
            for number, (name, text) in enumerate(plan.contexts, start=1)
        )
        question = phrases.TASK.format(sources=sources) + question
    return [*messages, {"role": "user", "content": question}]


def _output(plan: Plan, *, responses: bool) -> str:
    text = plan.said.text or ""
    if responses:
        part = {"annotations": [], "text": text, "type": "output_text", "logprobs": None}
        message = {"id": f"msg_{plan.trace_id}", "content": [part], "role": "assistant"}
        return json.dumps([message | {"status": "completed", "type": "message", "phase": None}])
    message = {"content": text, "role": "assistant", "tool_calls": None, "function_call": None}
    return json.dumps(message | {"provider_specific_fields": None})


def _error_text(plan: Plan) -> str | None:
    if plan.outcome is Outcome.ERROR:
        return "litellm.Timeout: Connection timed out. Timeout passed=60.0, time taken=60.004 seconds"
    if plan.outcome is not Outcome.GATE_REFUSED or plan.retrieval_score is None:
        return None
    shown = f"{int(plan.retrieval_score * 100) / 100:.2f}"
    message = phrases.GATE_MESSAGE.format(score=shown, floor=f"{FLOOR:.2f}", contact=plan.profile.contact)
    body = {
        "message": message,
        "type": "invalid_request_error",
        "param": None,
        "code": "retrieval_gate_blocked",
    }
    return "400: " + repr({"error": body})


def _seconds(delta: timedelta) -> float:
    return round(delta.total_seconds(), 3)
