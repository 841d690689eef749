"""From the rows of one Langfuse trace to the exchanges a user had: question, contexts, answer, department.

Rows are chosen by type, never by root (events claim root too). A refusal leaves two identical ERROR generations; they
count once, by trace and call id. A trace that holds several calls gives one record a call, so that none is lost.
Sources of context: metadata, RETRIEVER observations, the `<source>` blocks that Open WebUI writes into the prompt.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compliance_pipelines.core.langfuse_rows import Observation, as_mapping, clean_text
from compliance_pipelines.core.records import Trace

FLAG_EVENT = "protected-attr-comparison-detected"
BLOCK_EVENT = "retrieval_gate_blocked"
_MAX_CONTEXTS = 100

# (stamp, key_alias, team_alias, team_id, tags, declared) -> (department id, source)
Resolver = Callable[[str | None, str | None, str | None, str | None, Sequence[str], str | None], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What stood in a generation's input, taken apart."""

    question: str | None
    contexts: tuple[str, ...]


def assemble(rows: Iterable[Observation], resolve: Resolver, hmac_key: bytes, source: str) -> list[Trace]:
    """The exchanges of one trace id, in order of time; empty when no row carries an exchange."""
    ordered = sorted(rows, key=lambda row: (row.started_at, row.row_id))
    calls = _calls([row for row in ordered if row.kind == "GENERATION"])
    if not calls:
        calls = [row for row in ordered if row.kind == "TRACE" and _carries_exchange(row)]
    if not calls:
        return []
    retrieved = tuple(text for row in ordered if row.kind == "RETRIEVER" for text in document_texts(row.output))[
        :_MAX_CONTEXTS
    ]
    events = {row.name for row in ordered if row.kind == "EVENT" or row.name in (FLAG_EVENT, BLOCK_EVENT)}
    return [_exchange(call, k, retrieved, events, resolve, hmac_key, source) for k, call in enumerate(calls)]


def _calls(generations: list[Observation]) -> list[Observation]:
    kept: dict[str, Observation] = {}
    for row in generations:
        call_id = row.metadata.get("litellm_call_id")
        key = call_id if isinstance(call_id, str) and call_id else row.row_id
        # of two rows of one call the one that carries an answer stands for it
        if key not in kept or (kept[key].level == "ERROR" and row.level != "ERROR"):
            kept[key] = row
    return list(kept.values())


def _carries_exchange(row: Observation) -> bool:
    return _messages(row.input) is not None and answer_text(row.output) is not None


def _exchange(
    call: Observation,
    position: int,
    retrieved: tuple[str, ...],
    events: set[str],
    resolve: Resolver,
    hmac_key: bytes,
    source: str,
) -> Trace:
    # the OpenTelemetry integration nests what the other one writes at the top
    metadata = {**as_mapping(call.metadata.get("attributes.metadata")), **call.metadata}
    caller = as_mapping(metadata.get("requester_metadata"))
    prompt = read_prompt(call.input, call.model_parameters)
    failed = call.level == "ERROR"
    contexts = tuple(
        clean_text(text) or ""
        for text in tuple(document_texts(caller.get("contexts") or metadata.get("contexts")))[:_MAX_CONTEXTS]
        or retrieved
        or prompt.contexts
    )
    department, department_source = resolve(
        _text(metadata.get("compliance_department")),
        _text(metadata.get("user_api_key_alias")),
        _text(metadata.get("user_api_key_team_alias")),
        _text(metadata.get("user_api_key_team_id")),
        call.tags,
        _text(caller.get("department")) or _text(metadata.get("department")),
    )
    delivered = _text(metadata.get("compliance_delivered"))
    if failed:
        delivered = "blocked" if BLOCK_EVENT in events else "error"
    # JSON within JSON may still hold lone surrogates
    answer = None if failed else clean_text(answer_text(call.output))
    return Trace(
        trace_id=call.trace_id if position == 0 else f"{call.trace_id}/{call.row_id}",
        observed_at=call.started_at,
        created_at=call.created_at,
        session_hash=pseudonym(call.session_id, hmac_key),
        department=department,
        department_source=department_source,
        model=call.model,
        alias=_alias(metadata),
        question=clean_text(prompt.question),
        answer=answer,
        contexts=contexts,
        retrieval_score=_score(caller.get("retrieval_score", metadata.get("retrieval_score"))),
        flagged=metadata.get("bias_review_required") in (True, "true", "True") or FLAG_EVENT in events,
        delivered=delivered,
        environment=call.environment,
        source=source,
        row_digest=digest(call, contexts),
    )


def read_prompt(raw: str | None, parameters: Mapping[str, Any] | None = None) -> Prompt:
    """Question and `<source>` contexts of a generation's input (JSON text with messages, or plain text)."""
    messages = _messages(raw)
    if messages is None:
        return Prompt(raw or None, ())
    system = [_content(m) for m in messages if m.get("role") in ("system", "developer")]
    users = [_content(m) for m in messages if m.get("role") == "user"]
    parameters = parameters or {}
    # documents may stand there, so no short text: the whole of it
    system += [text for key in ("system", "instructions") if (text := _content({"content": parameters.get(key)}))]
    contexts = [text for part in [*system, *users] for text in source_blocks(part)]
    question = _strip_template(users[-1]) if users else None
    if not question and len(users) > 1:
        question = _strip_template(users[-2])
    return Prompt(question or None, tuple(contexts[:_MAX_CONTEXTS]))


def source_blocks(text: str) -> list[str]:
    """The contents of `<source …>…</source>` blocks, one pass, unclosed blocks ignored."""
    found, position = [], 0
    while len(found) < _MAX_CONTEXTS:
        closed = text.find("</source>", position)
        if closed < 0:
            break
        # the nearest opening tag: instructions before the block may speak of "<source>" themselves
        opened = text.rfind("<source", position, closed)
        inside = text.find(">", opened, closed) if opened >= 0 else -1
        if inside >= 0 and (content := text[inside + 1 : closed].strip()):
            found.append(content)
        position = closed + len("</source>")
    return found


def _strip_template(text: str) -> str:
    # Open WebUI puts its instructions before <context> and the person's words after </context>
    closing = text.rfind("</context>")
    if closing >= 0:
        after = text[closing + len("</context>") :].strip()
        if after.startswith("<user_query>"):
            after = after.removeprefix("<user_query>").partition("</user_query>")[0].strip()
        return after
    last = text.rfind("</source>")
    return text[last + len("</source>") :].strip() if last >= 0 else text.strip()


def answer_text(raw: str | None) -> str | None:
    """The assistant's words of a generation's output: JSON message, list of choices, or plain text; None when empty."""
    if not raw:
        return None
    if raw[0] not in "{[":
        return raw
    try:
        parsed = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    if isinstance(parsed, list):
        parts = [text for item in parsed if isinstance(item, dict) and (text := _answer_of(item))]
        return "\n".join(parts) or None
    return _answer_of(parsed)


def _answer_of(message: Mapping[str, Any]) -> str | None:
    inner = message.get("message")
    if isinstance(inner, Mapping):
        return _answer_of(inner)
    return _content(message) or None if "content" in message else None


def document_texts(value: Any) -> list[str]:
    """Texts of retrieved documents: a list of strings or of objects with text, content or page_content, or its JSON."""
    if isinstance(value, str):
        if value[:1] not in ("[", "{"):
            return [value] if value.strip() else []
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    if isinstance(value, Mapping):
        value = value.get("documents") or value.get("contexts") or value.get("output") or [value]
    if not isinstance(value, list):
        return []
    texts = []
    for item in value[:_MAX_CONTEXTS]:
        text = item if isinstance(item, str) else None
        if isinstance(item, Mapping):
            text = next((v for k in ("text", "content", "page_content") if isinstance(v := item.get(k), str)), None)
        if text and text.strip():
            texts.append(text)
    return texts


def pseudonym(value: str | None, key: bytes) -> str | None:
    """HMAC-SHA256 of an identifier, 16 hex digits; None stays None."""
    return None if value is None else hmac.new(key, value.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:16]


def digest(call: Observation, contexts: Sequence[str]) -> str:
    """sha256 of what was judged: the same exchange read from API or export has the same digest."""
    content = json.dumps(
        [call.trace_id, call.row_id, call.started_at.isoformat(), call.input, call.output, list(contexts)],
        ensure_ascii=False,
    )
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()


def _alias(metadata: Mapping[str, Any]) -> str | None:
    hidden = as_mapping(metadata.get("hidden_params"))
    headers = as_mapping(hidden.get("additional_headers"))
    return _text(metadata.get("model_group")) or _text(headers.get("x-litellm-model-group"))


def _messages(raw: str | None) -> list[Mapping[str, Any]] | None:
    if not raw or raw[0] not in "{[":
        return None
    try:
        parsed = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    found = parsed.get("messages") if isinstance(parsed, dict) else parsed
    if not isinstance(found, list):
        return None
    return [m for m in found if isinstance(m, dict) and "role" in m] or None


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""


def _text(value: Any) -> str | None:
    return clean_text(value[:500]) if isinstance(value, str) and value else None


def _score(value: Any) -> float | None:
    # on /v1/responses metadata values arrive as strings
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) and 0 <= number <= 1 else None
