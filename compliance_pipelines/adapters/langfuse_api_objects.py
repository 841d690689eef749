"""JSON objects of a row kept as the server wrote them, and read when somebody first asks for a key.

Decoding metadata was half of a row's cost, and most rows are never asked for theirs. What is kept was checked as JSON
when its page was read; what lies too deep or cannot be read goes alone, so that the guardrails' stamps beside it stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from compliance_pipelines.core.langfuse_rows import as_mapping

_64_BITS = range(-(2**63), 2**64)
_LONG_NUMBER = re.compile(rb"\d{19}")
_generic = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_by_key = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class KeptObject(Mapping[str, Any]):
    """A JSON object made by `kept`. Integers beyond 64 bits are their digits."""

    __slots__ = ("_content", "_found")

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._found: dict[str, Any] | None = None

    def __getitem__(self, key: str) -> Any:
        return self._read()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def get(self, key: object, default: Any = None, /) -> Any:
        """The value of `key`; the way of `Mapping` raises and catches for each key that is not there."""
        return self._read().get(key, default)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        # its content is what users wrote
        return f"KeptObject({len(self._content)} bytes)"

    def _read(self) -> dict[str, Any]:
        if self._found is None:
            self._found = _decoded(self._content) if self._content else {}
        return self._found


def kept(fields: msgspec.Struct) -> bytes:
    """The object as it is kept: the struct's fields that are given, empty for none. Fields are `msgspec.Raw`."""
    content = _encode(fields)
    return content if len(content) > 2 else b""


def kept_mapping(fields: Mapping[str, Any]) -> bytes:
    """The same for an object that was decoded, at most `MAX_DEPTH` deep."""
    return json_bytes(fields) if fields else b""


def json_bytes(value: Any) -> bytes:
    """JSON of a value; lone surrogates in its texts become U+FFFD."""
    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _decoded(content: bytes) -> dict[str, Any]:
    try:
        found = _generic(content)
    except (msgspec.DecodeError, RecursionError):
        # a stack of its own: what was not too deep for the thread that read the page is not too deep for this one
        with ThreadPoolExecutor(1, thread_name_prefix="langfuse-object") as fresh:
            found = dict(as_mapping(fresh.submit(_key_by_key, content).result()))
    return _digits(as_mapping(found)) if _LONG_NUMBER.search(content) else found


def _key_by_key(content: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in _by_key(content).items():
        try:
            found[key] = _generic(item)
        except (msgspec.DecodeError, RecursionError):
            # bytes that are no UTF-8, numbers beyond a float: what Python reads of them
            try:
                found[key] = json.loads(bytes(item).decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue
    return found


def _digits(value: Any) -> Any:
    """The value with integers beyond 64 bits as their digits, which other readers of it cannot hold."""
    if isinstance(value, dict):
        return {key: _digits(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_digits(item) for item in value]
    return str(value) if isinstance(value, int) and value not in _64_BITS else value
