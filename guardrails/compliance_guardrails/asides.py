"""Words of an answer that stand beside its text: arguments of tool calls, transcripts, citation titles, foreign fields.

A client may show them, so they are screened for bias; they make no claim to the user, so their figures need no source.
What the gateway fills in itself (ids, kinds, signatures, encoded media) is left out by key. Deciding is `decisions`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final

from .payloads import get

_NOT_WORDS: Final = frozenset({
    "b64_json", "call_id", "data", "encrypted_content", "finish_reason", "id", "image_url", "item_id", "logprobs",
    "object", "role", "signature", "status", "tool_use_id", "type", "url",
    # the words of documents and tools, not the model's
    "cited_text", "output", "results",
})  # fmt: skip
_DEPTH: Final = 8
_JSON: Final = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/])|[bfnrt])|(?<=[{\[,:])[ ]?"|"(?=[}\],:])')


def strings(value: Any, depth: int = _DEPTH) -> Iterator[str]:
    """Every text in a JSON value or in the objects of a client library, `_DEPTH` levels down."""
    if isinstance(value, str):
        if value:
            yield value
        return
    if not depth or value is None or isinstance(value, (bool, int, float)):
        return
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item, depth - 1)
        return
    held = value if isinstance(value, (dict, Mapping)) else getattr(value, "__dict__", {})
    for fields in (held, getattr(value, "model_extra", None) or {}):
        for key, item in fields.items():
            if item and key not in _NOT_WORDS:
                yield from strings(item, depth - 1)


def asides_of(response: object, known: Container[str]) -> tuple[str, ...]:
    """One aside for each choice of a whole answer, from 0 on; `known` are the texts that `payloads.slots_of` finds."""
    choices = get(response, "choices")
    holders = choices if isinstance(choices, Sequence) else [get(response, "output") or get(response, "content")]
    return tuple(readable(aside_of(holder, known)) for holder in holders)


def aside_of(holder: Any, known: Container[str]) -> str:
    """The texts in `holder` other than `known`, those of its main text, on lines of their own; "" for none."""
    return "\n".join(text for text in strings(holder) if text not in known)


def readable(text: str) -> str:
    """`text` without the escapes and marks of JSON, in whatever pieces it came: a call's arguments are JSON."""
    return _JSON.sub(_read, text)


def _read(match: re.Match[str]) -> str:
    code, plain = match.groups()
    if code:
        letter = chr(int(code, 16))
        return letter if letter.isprintable() else " "  # half of a pair is no letter
    return plain or "\n"
