"""Recordings of a real Langfuse 4.16.0 server, and the part of its OpenAPI document that is relied on.

All conversations in them are synthetic. The recordings are what the stand-in and the adapters are checked against.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "langfuse"


@cache
def recorded(name: str) -> Any:
    """A recording by its name without suffix."""
    path = FOLDER / "recorded" / f"{name}.json"
    if path.exists():
        return json.loads(path.read_bytes())
    return json.loads(gzip.decompress(path.with_suffix(".json.gz").read_bytes()))


@cache
def openapi() -> Any:
    """Paths (parameters, status, request, response) and schemas of the OpenAPI document of 4.16.0."""
    return json.loads((FOLDER / "openapi-4.16.0-part.json").read_bytes())


def response(name: str) -> Any:
    """The body of a recorded answer."""
    return recorded(name)["response"]


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a recorded page."""
    return response(name)["data"]


def observations() -> list[dict[str, Any]]:
    """All recorded v4 observations of the SDK integration, newest first."""
    return [row for number in (1, 2, 3, 4) for row in rows(f"v2-observations-p0{number}")]


def request(name: str) -> tuple[str, dict[str, str]]:
    """Path and query of a recorded request."""
    parts = urlsplit(recorded(name)["request"].removeprefix("GET "))
    return parts.path, dict(parse_qsl(parts.query))
