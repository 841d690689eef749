"""Probe of Langfuse: does the server answer, are the keys accepted, may they read traces, scores and queues, and write?

Reading asks for one second of the year 2000; writing sends an empty batch, which the server answers without storing
anything. Serves `compliance doctor`.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from compliance_pipelines.adapters.doctor_finding import Finding, ProbeError, State
from compliance_pipelines.adapters.langfuse_api import ApiReader
from compliance_pipelines.adapters.langfuse_api_http import (
    LangfuseError,
    LangfuseHttp,
    NotThereError,
    Patience,
    RefusedError,
    Server,
)

QUICK = Patience(timeout=8.0, attempts=2, waiting=3.0, first_pause=0.2)
_VARIABLE = "LANGFUSE_BASE_URL"


def langfuse(base_url: str, public_key: str, secret_key: str, patience: Patience = QUICK) -> Finding:
    """Ask the server who it is, then try each permission that the pipeline needs."""
    try:
        server = Server(base_url, public_key, secret_key)
    except LangfuseError as wrong:
        raise ProbeError(str(wrong)) from None
    http = LangfuseHttp(server, patience)
    try:
        version = _version(http)
        generation = _reads(server, patience)
        queues = _queues(http)
        _writes(http)
    finally:
        http.close()
    line = f"{server.host} répond ({version}, lecture {generation}), écriture des scores admise, {queues}"
    return Finding("langfuse", _VARIABLE, State.OK, line)


def _version(http: LangfuseHttp) -> str:
    try:
        found = http.get("/api/public/health", {}, msgspec.json.decode).value
    except NotThereError:
        raise ProbeError(
            f"{_VARIABLE} : {http.server.host} répond, mais n’est pas Langfuse ; vérifiez l’adresse"
        ) from None
    except LangfuseError as error:
        raise ProbeError(f"{error} ; vérifiez l’adresse, le réseau et la NetworkPolicy", away=_is_away(error)) from None
    version = found.get("version") if isinstance(found, dict) else None
    return f"version {version}"[:40] if isinstance(version, str) else "version inconnue"


def _reads(server: Server, patience: Patience) -> str:
    def nobody(*_: Any, **__: Any) -> tuple[str, str]:
        return "non-attribue", "none"

    with (
        TemporaryDirectory() as folder,
        ApiReader(server, Path(folder), nobody, b"doctor", patience=patience) as reader,
    ):
        try:
            return reader.generation().name
        except LangfuseError as error:
            raise ProbeError(str(error), away=_is_away(error)) from None


def _queues(http: LangfuseHttp) -> str:
    try:
        found = http.get("/api/public/annotation-queues", {"page": "1", "limit": "50"}, msgspec.json.decode).value
    except (NotThereError, RefusedError):
        return "files de relecture absentes de ce serveur"
    except LangfuseError as error:
        raise ProbeError(f"{error} ; les files de relecture doivent être lisibles", away=_is_away(error)) from None
    rows = found.get("data") if isinstance(found, dict) else None
    return f"{len(rows) if isinstance(rows, list) else 0} file(s) de relecture"


def _writes(http: LangfuseHttp) -> None:
    try:
        http.send("POST", "/api/public/ingestion", {"batch": []}, msgspec.json.decode, repeat=False)
    except RefusedError:
        # a server that wants at least one event has read the request: the keys may write
        return
    except LangfuseError as error:
        raise ProbeError(f"{error} ; la clé doit pouvoir écrire des scores", away=_is_away(error)) from None


def _is_away(error: LangfuseError) -> bool:
    """Whether the server failed or was silent, rather than refused."""
    return type(error) is LangfuseError and "échec(s)" in str(error)
