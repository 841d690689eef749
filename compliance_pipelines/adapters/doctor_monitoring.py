"""Probes of what watches: Alertmanager, Pushgateway, Dagster's web interface.

Alertmanager is sent an empty list of alerts, which it accepts without effect; the Pushgateway is written only with
`write`, into a group that is removed at once. Serves `compliance doctor`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx

from compliance_pipelines.adapters.doctor_finding import Finding, ProbeError, State
from compliance_pipelines.adapters.judge_config import JudgeConfigError, endpoint

_GROUP = "/metrics/job/compliance_doctor"


def alertmanager(url: str, timeout: float = 8.0) -> Finding:
    """Does it answer, may it be posted to?"""
    if not url:
        line = "sans Alertmanager : les alertes restent dans la boîte d’envoi ; renseignez ALERTMANAGER_URL"
        return Finding("alertmanager", "ALERTMANAGER_URL", State.DEFAULT, line)
    asked = _Asked("ALERTMANAGER_URL", url, timeout)
    status = asked.call("GET", "/api/v2/status")
    version = _field(status, "versionInfo", "version")
    if version is None:
        raise ProbeError(f"ALERTMANAGER_URL : {asked.host} ne se présente pas comme Alertmanager ; attendu l’API v2")
    asked.call("POST", "/api/v2/alerts", [])
    line = f"{asked.host} répond (version {version}) et accepte les alertes"
    return Finding("alertmanager", "ALERTMANAGER_URL", State.OK, line)


def pushgateway(url: str, timeout: float = 8.0, *, write: bool = False) -> Finding:
    """Does it answer; with `write`, may it be written and cleaned?"""
    if not url:
        line = "sans Pushgateway : les mesures de la nuit ne sont pas publiées ; renseignez PUSHGATEWAY_URL"
        return Finding("pushgateway", "PUSHGATEWAY_URL", State.DEFAULT, line)
    asked = _Asked("PUSHGATEWAY_URL", url, timeout)
    status = asked.call("GET", "/api/v1/status")
    version = _field(status, "data", "build_information", "version")
    if version is None:
        raise ProbeError(f"PUSHGATEWAY_URL : {asked.host} ne se présente pas comme Pushgateway")
    tried = "écriture non essayée"
    if write:
        asked.call("PUT", _GROUP, b"compliance_doctor 1\n")
        asked.call("DELETE", _GROUP)
        tried = "écriture essayée"
    return Finding("pushgateway", "PUSHGATEWAY_URL", State.OK, f"{asked.host} répond (version {version}), {tried}")


def dagster_ui(url: str, timeout: float = 8.0) -> Finding:
    """Does the address that alerts link to show Dagster?"""
    if not url:
        line = "adresse de l’interface inconnue : les alertes n’auront pas de lien ; renseignez DAGSTER_UI_URL"
        return Finding("interface", "DAGSTER_UI_URL", State.DEFAULT, line)
    asked = _Asked("DAGSTER_UI_URL", url, timeout)
    version = _field(asked.call("GET", "/server_info"), "dagster_version")
    if version is None:
        raise ProbeError(f"DAGSTER_UI_URL : {asked.host} ne se présente pas comme Dagster")
    return Finding("interface", "DAGSTER_UI_URL", State.OK, f"{asked.host} répond (Dagster {version})")


class _Asked:
    """One server under one variable: answers as JSON, errors as one French line."""

    def __init__(self, variable: str, url: str, timeout: float) -> None:
        try:
            self._base = endpoint(variable, url)
        except JudgeConfigError as wrong:
            raise ProbeError(str(wrong)) from None
        self._variable, self._timeout = variable, timeout
        self.host = urlsplit(self._base).netloc

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer, None when it is no JSON."""
        content = {"content": body} if isinstance(body, bytes) else {} if body is None else {"json": body}
        try:
            reply = httpx.request(method, self._base + path, timeout=self._timeout, trust_env=False, **content)
        except httpx.HTTPError as error:
            line = (
                f"{self._variable} : {self.host} injoignable ({type(error).__name__}) ; vérifiez l’adresse et le réseau"
            )
            raise ProbeError(line, away=True) from None
        if reply.status_code >= 300:
            away = reply.status_code >= 500
            raise ProbeError(f"{self._variable} : {self.host} refuse {method} {path} ({reply.status_code})", away=away)
        try:
            return reply.json()
        except ValueError:
            return None


def _field(found: Any, *path: str) -> str | None:
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found[:30] if isinstance(found, str) else None
