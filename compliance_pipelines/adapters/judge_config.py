"""What the environment says of the judge, checked: where it is, which model, the key, and how hard it may be asked.

Nothing set means no judge (the lexical evaluator serves); set but wrong is an error that names the variable, never a
silent fall-back. The key is kept out of every message and representation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_MAX = 200


class JudgeConfigError(ValueError):
    """A judge that is set but unusable: one French line that names the variable and what was expected."""


class JudgeUnavailableError(RuntimeError):
    """The judge's server could not be reached or failed: one French line, exit code 2."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """The endpoint (without a slash at its end), the model, the key (never shown)."""

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)


def judge_settings(env: Mapping[str, str]) -> JudgeSettings | None:
    """The judge that `env` asks for, None when it asks for none; raises JudgeConfigError."""
    url, model, key = (env.get(f"JUDGE_{name}", "").strip() for name in ("BASE_URL", "MODEL", "API_KEY"))
    if not url and not model and not key:
        return None
    if not url:
        raise JudgeConfigError(
            "JUDGE_BASE_URL manque : attendu l'adresse OpenAI du juge, par exemple http://hote:4000/v1"
        )
    if not model:
        raise JudgeConfigError("JUDGE_MODEL manque : attendu le nom du modèle juge tel que son serveur le connaît")
    return JudgeSettings(endpoint("JUDGE_BASE_URL", url), _plain("JUDGE_MODEL", model), _header(key))


@dataclass(frozen=True, slots=True)
class JudgeBounds:
    """How hard a judge may be asked: calls in flight, seconds a call may take, calls in one run."""

    concurrency: int = 8
    timeout: int = 120
    max_calls: int = 50_000


def judge_bounds(env: Mapping[str, str]) -> JudgeBounds:
    """The bounds that `env` asks for; raises JudgeConfigError."""
    standard = JudgeBounds()
    return JudgeBounds(
        _whole("JUDGE_CONCURRENCY", env.get("JUDGE_CONCURRENCY", ""), standard.concurrency, 256),
        _whole("JUDGE_TIMEOUT_SECONDS", env.get("JUDGE_TIMEOUT_SECONDS", ""), standard.timeout, 3600),
        _whole("JUDGE_MAX_CALLS", env.get("JUDGE_MAX_CALLS", ""), standard.max_calls, 10_000_000),
    )


def _whole(variable: str, text: str, standard: int, most: int) -> int:
    given = text.strip()
    if not given:
        return standard
    if not (given.isascii() and given.isdigit() and len(given) <= len(str(most)) and 1 <= int(given) <= most):
        raise JudgeConfigError(f"{variable} inutilisable : attendu un nombre entier de 1 à {most}")
    return int(given)


def endpoint(variable: str, url: str) -> str:
    """`url` without a slash at its end when it is a usable http(s) address; JudgeConfigError names `variable`."""
    expected = "attendu une adresse http:// ou https:// avec un hôte, sans identifiants ni paramètres"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise JudgeConfigError(f"{variable} illisible : {expected}") from None
    if not usable or "@" in parts.netloc or parts.query or parts.fragment or any(c.isspace() for c in url):
        raise JudgeConfigError(f"{variable} inutilisable : {expected}")
    return url.rstrip("/")


def _plain(variable: str, text: str) -> str:
    if len(text) > _MAX or not text.isprintable():
        raise JudgeConfigError(f"{variable} inutilisable : attendu une ligne d'au plus {_MAX} caractères")
    return text


def _header(key: str) -> str | None:
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise JudgeConfigError("JUDGE_API_KEY inutilisable : attendu une clé en caractères ASCII, sans espace")
    return key or None
