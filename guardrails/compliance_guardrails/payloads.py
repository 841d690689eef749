"""Requests and answers of the four endpoints as the guardrails see them: where the question, the prompt and the answer
texts stand.

Works on plain dicts and on the objects of any client library by attribute, so that nothing here imports one. What is
not recognised is left alone and yields no text; nothing raises on a strange shape. Deciding is `decisions`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_OPEN: Final = "<source"
_CLOSE: Final = "</source>"


class Endpoint(enum.StrEnum):
    """The endpoints that are guarded, by the name that the gateway gives the call."""

    CHAT = "acompletion"
    TEXT = "atext_completion"
    MESSAGES = "anthropic_messages"
    RESPONSES = "aresponses"


_ENDPOINTS: Final = {
    "completion": Endpoint.CHAT,
    "acompletion": Endpoint.CHAT,
    "text_completion": Endpoint.TEXT,
    "atext_completion": Endpoint.TEXT,
    "anthropic_messages": Endpoint.MESSAGES,
    "responses": Endpoint.RESPONSES,
    "aresponses": Endpoint.RESPONSES,
}

_TOKENS: Final = "text_completion of tokens"
UNEXAMINED: Final = frozenset({
    "generate_content", "agenerate_content", "generate_content_stream", "agenerate_content_stream",
    "create_interaction", "acreate_interaction", "_aresponses_websocket", "_arealtime", "arealtime_calls",
    "acreate_realtime_client_secret", "compact_responses", "acompact_responses", "create_batch", "acreate_batch",
    _TOKENS,
})  # fmt: skip
"""Calls that have the department's models write text of which the guardrails would see nothing."""


def unexamined_of(data: Mapping[str, Any], call_type: str) -> str:
    """`call_type`, or one of UNEXAMINED for a prompt of token numbers: nobody can read it or put words before it."""
    if _ENDPOINTS.get(call_type) is not Endpoint.TEXT:
        return call_type
    prompt = data.get("prompt")
    texts = prompt if isinstance(prompt, list) else [prompt or ""]
    return call_type if all(isinstance(text, str) for text in texts) else _TOKENS


def endpoint_of(call_type: object) -> Endpoint | None:
    """The guarded endpoint of a call type, None for embeddings, audio and everything else."""
    return _ENDPOINTS.get(call_type) if isinstance(call_type, str) else None


def get(holder: object, key: str) -> Any:
    """`holder[key]` of a mapping, `holder.key` of anything else, None when it has none."""
    # A plain dict is the usual case by far; the check against the abstract class is dear, so it comes last.
    if isinstance(holder, dict):
        return holder.get(key)
    value = getattr(holder, key, None)
    return holder.get(key) if value is None and isinstance(holder, Mapping) else value


def put(holder: Any, key: str, value: object) -> None:
    """Set `key` in place, on a mapping or an object."""
    if isinstance(holder, dict):
        holder[key] = value
    else:
        setattr(holder, key, value)


def question_of(data: Mapping[str, Any], endpoint: Endpoint) -> str:
    """What the user's side sent since the last answer, `<source>` blocks of the retrieval included; "" for none.

    Turns before it were looked at when they were the last ones. See `without_sources` for the user's own words.
    """
    if endpoint is Endpoint.TEXT:
        return joined(data.get("prompt"))
    turns = data.get("input") if endpoint is Endpoint.RESPONSES else data.get("messages")
    if isinstance(turns, str):
        return turns
    if not isinstance(turns, list):
        return ""
    said: list[str] = []
    for turn in reversed(turns):
        role = _role(turn)
        if role == "assistant" and said:
            break
        if role == "user" and (text := joined(get(turn, "content"))):
            said.append(text)
    return "\n".join(reversed(said))


def documents_of(data: Mapping[str, Any], endpoint: Endpoint) -> str:
    """Texts with `<source>` blocks that stand in system messages instead of the question; "" when there are none."""
    found = [joined(data.get(key)) for key in ("system", "instructions")]
    turns = data.get("input") if endpoint is Endpoint.RESPONSES else data.get("messages")
    if isinstance(turns, list):
        found += [joined(get(turn, "content")) for turn in turns if _role(turn) in _SYSTEM_ROLES]
    return "\n".join(text for text in found if _OPEN in text)


def _role(turn: object) -> str:
    role = get(turn, "role")
    return role if isinstance(role, str) else ""


def joined(content: object) -> str:
    """The text of a message's content: a text, or the texts of its parts joined by line ends."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part if isinstance(part, str) else get(part, "text") for part in content]
    return "\n".join(part for part in parts if isinstance(part, str))


def without_sources(text: str) -> str:
    """`text` with each `<source …>…</source>` replaced by a line end.

    An unclosed block is kept, and so is all of a text with nothing else in it, so that nothing hides.
    """
    if _OPEN not in text:
        return text
    kept: list[str] = []
    at = 0
    while (start := text.find(_OPEN, at)) >= 0:
        end = text.find(_CLOSE, start)
        if end < 0:
            break
        kept.append(text[at:start])
        at = end + len(_CLOSE)
    kept.append(text[at:])
    rest = "\n".join(kept)
    return rest if rest.strip() else text


def put_prompt_first(data: dict[str, Any], endpoint: Endpoint, prompt: str) -> None:
    """Place the department's prompt ahead of anything the client sent; what the client sent stays, after it."""
    if endpoint is Endpoint.CHAT:
        messages = data.get("messages")
        rest = list(messages) if isinstance(messages, list) else []
        data["messages"] = [{"role": "system", "content": prompt}, *rest]
    elif endpoint is Endpoint.MESSAGES:
        system = data.get("system")
        if isinstance(system, list):
            data["system"] = [{"type": "text", "text": prompt}, *system]
        else:
            data["system"] = _above(prompt, system)
    elif endpoint is Endpoint.RESPONSES:
        data["instructions"] = _above(prompt, data.get("instructions"))
    else:
        given = data.get("prompt")
        if isinstance(given, str):
            data["prompt"] = _above(prompt, given)
        elif isinstance(given, list) and all(isinstance(item, str) for item in given):
            data["prompt"] = [_above(prompt, item) for item in given]


def _above(prompt: str, text: object) -> str:
    return f"{prompt}\n\n{text}" if isinstance(text, str) and text else prompt


def callers_turns(data: Mapping[str, Any], endpoint: Endpoint, prompt: str | None) -> object:
    """What the caller sent as the model will read it, our own prompt taken off again."""
    turns = {
        Endpoint.CHAT: "messages",
        Endpoint.MESSAGES: "messages",
        Endpoint.RESPONSES: "input",
        Endpoint.TEXT: "prompt",
    }[endpoint]
    sent = data.get(turns)
    if endpoint is Endpoint.CHAT and isinstance(sent, list) and prompt is not None and sent:
        first = sent[0]
        if _role(first) in _SYSTEM_ROLES and get(first, "content") == prompt:
            return sent[1:]
    return sent


@dataclass(frozen=True, slots=True)
class Slot:
    """One text of an answer, changeable in place. The slots of a `choice` make one text; reasoning is not `shown`."""

    choice: int
    holder: Any
    key: str
    shown: bool = True

    @property
    def text(self) -> str:
        """The text as it stands now."""
        value = get(self.holder, self.key)
        return value if isinstance(value, str) else ""

    def replace(self, text: str) -> None:
        """Put `text` in its place."""
        put(self.holder, self.key, text)


def slots_of(response: object) -> tuple[Slot, ...]:
    """The texts of an answer of any guarded endpoint, in order; empty for anything else (embeddings, streams)."""
    choices = get(response, "choices")
    if isinstance(choices, Sequence):
        return tuple(_chat_slots(choices))
    output = get(response, "output")
    if isinstance(output, list):
        return tuple(_output_slots(output))
    content = get(response, "content")
    if isinstance(content, list) and get(response, "role") == "assistant":
        return tuple(
            Slot(0, block, key, shown=key == "text")
            for block in content
            for key in ("thinking", "text")
            if isinstance(get(block, key), str)
        )
    return ()


def _chat_slots(choices: Sequence[object]) -> Iterator[Slot]:
    for at, choice in enumerate(choices):
        message = get(choice, "message")
        if message is None:
            if isinstance(get(choice, "text"), str):
                yield Slot(at, choice, "text")
            continue
        for key in ("reasoning_content", "content", "refusal"):
            value = get(message, key)
            if isinstance(value, str) and value:
                yield Slot(at, message, key, shown=key != "reasoning_content")


def _output_slots(output: Sequence[object]) -> Iterator[Slot]:
    """One choice: a client shows the messages of an output one after the other, and they are judged as one text."""
    for item in output:
        parts = get(item, "content")
        if get(item, "type") == "reasoning":
            held = [part for place in (parts, get(item, "summary")) if isinstance(place, list) for part in place]
            # Some servers send one text in both places: it is to count once.
            once = {text: part for part in held if isinstance(text := get(part, "text"), str)}
            yield from (Slot(0, part, "text", shown=False) for part in once.values())
        if get(item, "type") != "message" or not isinstance(parts, list):
            continue
        for part in parts:
            for key in ("text", "refusal"):
                if isinstance(get(part, key), str):
                    yield Slot(0, part, key)


def texts_of(slots: Sequence[Slot]) -> tuple[str, ...]:
    """One text for each choice, from 0 on, the slots of a choice joined by line ends."""
    if not slots:
        return ()
    parts: list[list[str]] = [[] for _ in range(1 + max(slot.choice for slot in slots))]
    for slot in slots:
        parts[slot.choice].append(slot.text)
    return tuple("\n".join(texts) for texts in parts)
