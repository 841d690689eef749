"""What the environment says, read and checked once: the one reader of the environment besides the secrets.

Unset means the embedded default (shipped sample, lexical evaluator, directory archive); set but wrong is an error that
names the variable. Secrets stay in the environment: whoever needs one reads it there when it is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib import resources as package_files
from pathlib import Path

from compliance_pipelines.adapters.langfuse_export import ExportError
from compliance_pipelines.adapters.langfuse_export_place import SCHEME, ExportPrefix

_EMBEDDED_HMAC_KEY = b"compliance-pipelines embedded default, not a secret"


# what may be written to a Langfuse that is read: scores, items of the review queues, items of the golden datasets
WRITE_BACK = ("scores", "queues", "golden")


class SettingsError(ValueError):
    """A variable that is set but unusable: one French line that names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says, checked. Paths are absolute.

    `export_address` is s3://bucket/prefix when exports lie in a bucket; `export` then names no folder.
    """

    home: Path
    export: Path
    policy_dir: Path | None
    first_day: date
    namespace: str
    synthetic: bool
    langfuse_url: str
    langfuse_project: str
    write_back: tuple[str, ...]
    s3_endpoint: str
    s3_bucket: str
    signing_p12: Path | None
    export_address: str = ""


def settings(env: Mapping[str, str] | None = None) -> Settings:
    """Read and check the environment (default: the process's)."""
    env = os.environ if env is None else env
    home = Path(env.get("COMPLIANCE_HOME") or ".compliance").absolute()
    if home.exists() and not home.is_dir():
        raise SettingsError(f"COMPLIANCE_HOME={home} : c'est un fichier, attendu un dossier (créé au besoin)")
    export = env.get("LANGFUSE_EXPORT")
    remote = bool(export) and export.startswith(SCHEME)
    if export and not remote and not Path(export).exists():
        raise SettingsError(f"LANGFUSE_EXPORT={export} : chemin introuvable, attendu un dossier ou un fichier d'export")
    # an explicit export is read instead of a server that other tools may have configured
    langfuse = env.get("LANGFUSE_BASE_URL") or env.get("LANGFUSE_HOST") or ""
    written = _write_back(env.get("LANGFUSE_WRITE_BACK"))
    policy_dir = env.get("COMPLIANCE_POLICY_DIR")
    if policy_dir and not Path(policy_dir).is_dir():
        raise SettingsError(f"COMPLIANCE_POLICY_DIR={policy_dir} : dossier introuvable")
    first = env.get("COMPLIANCE_FIRST_DAY") or "2026-01-01"
    try:
        first_day = date.fromisoformat(first)
    except ValueError:
        raise SettingsError(f"COMPLIANCE_FIRST_DAY={first[:40]} : date illisible, attendu AAAA-MM-JJ") from None
    p12 = env.get("REPORT_SIGNING_P12")
    if p12 and not Path(p12).is_file():
        raise SettingsError("REPORT_SIGNING_P12 : fichier introuvable, attendu un certificat PKCS#12")
    endpoint = env.get("S3_ENDPOINT") or ""
    absent = [name for name in ("S3_ACCESS_KEY", "S3_SECRET_KEY") if endpoint and not env.get(name)]
    if absent:
        raise SettingsError(f"{', '.join(absent)} : à renseigner, puisque S3_ENDPOINT l'est")
    if export and remote:
        if not endpoint:
            raise SettingsError("S3_ENDPOINT : à renseigner, puisque LANGFUSE_EXPORT est une adresse s3://")
        try:
            ExportPrefix(export, endpoint, "", "")
        except ExportError as wrong:
            raise SettingsError(str(wrong)) from None
    return Settings(
        home=home,
        export=sample_export() if not export else Path(export) if remote else Path(export).absolute(),
        export_address=export if export and remote else "",
        policy_dir=Path(policy_dir).absolute() if policy_dir else None,
        first_day=first_day,
        namespace=env.get("NAMESPACE") or "local",
        synthetic=not export and not langfuse,
        langfuse_url="" if export else langfuse,
        langfuse_project=_project(langfuse, env.get("LANGFUSE_PROJECT_ID") or ""),
        write_back=written,
        s3_endpoint=endpoint,
        s3_bucket=env.get("S3_BUCKET") or "ai-audit",
        signing_p12=Path(p12).absolute() if p12 else None,
    )


def _write_back(given: str | None) -> tuple[str, ...]:
    if not given:
        return WRITE_BACK
    asked = tuple(part.strip() for part in given.split(",") if part.strip())
    if asked != ("none",) and not set(asked) <= set(WRITE_BACK):
        expected = f"attendu none, ou une liste parmi {', '.join(WRITE_BACK)}"
        raise SettingsError(f"LANGFUSE_WRITE_BACK={given[:60]} : {expected}")
    return () if asked == ("none",) else asked


def _project(server: str, project: str) -> str:
    """Address of the project in Langfuse's interface; empty without server or id."""
    if project and not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", project):
        raise SettingsError("LANGFUSE_PROJECT_ID : attendu l'identifiant du projet tel qu'il figure dans son adresse")
    return f"{server.rstrip('/')}/project/{project}" if server and project else ""


def sample_export() -> Path:
    """The shipped, synthetic month."""
    return Path(str(package_files.files("compliance_pipelines.sample")))


def pseudonym_key(variable: str = "COMPLIANCE_HMAC_KEY") -> tuple[bytes, bool]:
    """(key of the pseudonyms, whether it is the embedded default, which is no secret)."""
    given = os.environ.get(variable, "").encode()
    return given or _EMBEDDED_HMAC_KEY, not given
