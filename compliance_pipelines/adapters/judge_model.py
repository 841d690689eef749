"""Who the model behind an OpenAI-compatible address is: its digest, where the server tells one (Ollama does).

The digest is part of the judge's identity, so "cannot tell now" is kept apart from "tells none": a server that stumbles
must not make another judge, with every trace paid again and no calibration. Bounded in time and size.
"""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import httpx

from compliance_pipelines.adapters.judge_asks import Session, run_alone
from compliance_pipelines.adapters.judge_client import bounded, failed, headers, host
from compliance_pipelines.adapters.judge_config import JudgeConfigError, JudgeSettings, JudgeUnavailableError

_NOT_SERVED = frozenset({404, 405, 501})
_PASSING = frozenset({408, 409, 425, 429})


def model_digest(settings: JudgeSettings, timeout: float = 10.0) -> str | None:
    """The model's digest where the server tells one, else None. `timeout` in seconds, for all of it.

    Raises JudgeConfigError when the server knows no such model or refuses the key, JudgeUnavailableError when it does
    not answer or cannot tell now.
    """
    return run_alone(_digest(settings, timeout))


def digest_when_up(session: Session, timeout: float = 10.0) -> str | None:
    """The same, waited for as a batch waits for its judge: at growing intervals, as long as its patience allows."""
    return run_alone(_when_up(session, timeout))


async def _when_up(session: Session, timeout: float) -> str | None:
    limits, timing = session.limits, session.timing
    since, attempt = timing.clock(), limits.attempts
    while True:
        try:
            return await _digest(session.settings, timeout)
        except JudgeUnavailableError:
            if timing.clock() - since >= limits.patience or session.should_stop():
                raise
        await timing.sleep(min(limits.first_pause * 2**attempt, limits.longest_pause))
        attempt += 1


async def _digest(settings: JudgeSettings, timeout: float) -> str | None:
    root = settings.base_url.removesuffix("/v1")
    try:
        async with (
            asyncio.timeout(timeout),
            httpx.AsyncClient(headers=headers(settings), timeout=timeout, trust_env=False) as http,
        ):
            listed, models = await _get(http, f"{settings.base_url}/models")
            if listed.status_code in _NOT_SERVED:
                return None
            if listed.status_code == httpx.codes.OK:
                _known(settings, _rows(models, "data"))
                listed, models = await _get(http, f"{root}/api/tags")
                if not _cannot_tell(listed.status_code):
                    return _named(_rows(models, "models"), settings.model) if listed.status_code == 200 else None
    except (httpx.HTTPError, TimeoutError) as fault:
        raise JudgeUnavailableError(f"juge injoignable : {host(settings)} ({type(fault).__name__})") from None
    answer = failed(listed, settings, lambda: datetime.min.replace(tzinfo=UTC))
    if answer.fatal is not None:
        raise answer.fatal
    raise JudgeUnavailableError(f"juge indisponible : {host(settings)} ({answer.reason})")


async def _get(http: httpx.AsyncClient, url: str) -> tuple[httpx.Response, bytes]:
    async with http.stream("GET", url) as response:
        return response, await bounded(response) or b""


def _cannot_tell(status: int) -> bool:
    """Whether a status says that the answer may be another one later."""
    return (status >= httpx.codes.INTERNAL_SERVER_ERROR and status not in _NOT_SERVED) or status in _PASSING


def _known(settings: JudgeSettings, rows: list[dict[str, Any]]) -> None:
    names = [str(row["id"]) for row in rows if isinstance(row.get("id"), str)]
    if names and settings.model not in names and f"{settings.model}:latest" not in names:
        shown = ", ".join(name[:60] for name in sorted(names)[:8])
        raise JudgeConfigError(f"JUDGE_MODEL={settings.model} : inconnu de {host(settings)}, qui propose {shown}")


def _named(rows: list[dict[str, Any]], model: str) -> str | None:
    known = {row["name"]: row.get("digest") for row in rows if isinstance(row.get("name"), str)}
    digest = known.get(model) or known.get(f"{model}:latest")
    return digest[:80] if isinstance(digest, str) else None


def _rows(body: bytes, key: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return []
    rows = found.get(key) if isinstance(found, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
