"""Probes of what is on disk: COMPLIANCE_HOME, the policy folder, the export, DAGSTER_HOME, the signing certificate.

Writing is tried by writing; signing is tried by signing an empty page, time stamp included. Serves `compliance doctor`.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from compliance_guardrails.policy import PolicyError, load_policy

from compliance_pipelines.adapters.doctor_finding import Finding, ProbeError, State
from compliance_pipelines.adapters.langfuse_export import ExportError
from compliance_pipelines.adapters.langfuse_export_place import ExportPrefix
from compliance_pipelines.adapters.signing import SigningConfig, SigningError, sign

MIN_FREE_BYTES = 2 * 1024**3
MIN_KEY_BYTES = 16
EXPIRY_NOTICE = timedelta(days=30)


def home(folder: Path) -> Finding:
    """Can the folder be created, written, synced and cleaned; is there room for a month?"""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-") as probe:
            probe.write(b"compliance doctor")
            probe.flush()
            os.fsync(probe.fileno())
        free = shutil.disk_usage(folder).free
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ProbeError(
            f"COMPLIANCE_HOME non inscriptible ({why}) : donnez-en le droit à l’utilisateur du service"
        ) from None
    if free < MIN_FREE_BYTES:
        raise ProbeError(
            f"COMPLIANCE_HOME : {free // 1024**2} Mio libres, attendu au moins {MIN_FREE_BYTES // 1024**2}"
        )
    return Finding("dossier", "COMPLIANCE_HOME", State.OK, f"inscriptible, {free // 1024**3} Gio libres")


def policy(folder: Path | None) -> Finding:
    """Does the policy load, strictly?"""
    try:
        found = load_policy(folder)
    except PolicyError as error:
        raise ProbeError(f"{error} ; compliance-guardrails policy check donne la liste") from None
    line = f"{len(found.departments)} directions, empreinte {found.digest[:12]}"
    state = State.OK if folder else State.DEFAULT
    return Finding("politique", "COMPLIANCE_POLICY_DIR", state, line if folder else f"{line} (politique livrée)")


def export(folder: Path, *, synthetic: bool) -> Finding:
    """Are there export files that can be opened?"""
    if synthetic:
        line = "échantillon synthétique livré : renseignez LANGFUSE_BASE_URL ou LANGFUSE_EXPORT pour de vraies traces"
        return Finding("traces", "LANGFUSE_EXPORT", State.DEFAULT, line)
    files = [folder] if folder.is_file() else sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        raise ProbeError("LANGFUSE_EXPORT : dossier vide, attendu des exports JSON, JSONL, CSV ou Parquet")
    closed = [path for path in files if not os.access(path, os.R_OK)]
    if closed:
        raise ProbeError(
            f"LANGFUSE_EXPORT : {len(closed)} fichier(s) sur {len(files)} illisible(s), donnez-en le droit"
        )
    return Finding("traces", "LANGFUSE_EXPORT", State.OK, f"{len(files)} fichier(s) d’export lisibles")


def export_prefix(address: str, endpoint: str, access_key: str, secret_key: str) -> Finding:
    """Are there export files under the prefix, and may the keys list them?"""
    from compliance_pipelines.adapters.langfuse_export_s3 import S3Export

    try:
        found = S3Export(ExportPrefix(address, endpoint, access_key, secret_key, timeout=8.0)).objects()
    except ExportError as error:
        raise ProbeError(str(error), away="ne répond pas" in str(error)) from None
    size = sum(one.size for one in found) / 1e6
    return Finding("traces", "LANGFUSE_EXPORT", State.OK, f"{len(found)} objet(s) d’export, {size:.1f} Mo")


def dagster_home(folder: str) -> Finding:
    """Is the instance's settings file there, with telemetry off?"""
    name, variable = "dagster", "DAGSTER_HOME"
    if not folder:
        return Finding(
            name, variable, State.DEFAULT, "non renseigné : <COMPLIANCE_HOME>/dagster est préparé au premier usage"
        )
    if not Path(folder).is_absolute():
        raise ProbeError("DAGSTER_HOME : chemin relatif, Dagster le refuse ; attendu un chemin absolu")
    settings = Path(folder) / "dagster.yaml"
    if not settings.is_file():
        return Finding(
            name, variable, State.DEFAULT, "dagster.yaml n’y est pas encore : il y est copié au premier usage"
        )
    import yaml

    try:
        found = yaml.safe_load(settings.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        raise ProbeError("DAGSTER_HOME : dagster.yaml illisible, recopiez celui du projet") from None
    telemetry = found.get("telemetry") if isinstance(found, dict) else None
    if not isinstance(telemetry, dict) or telemetry.get("enabled") is not False:
        raise ProbeError("DAGSTER_HOME : dagster.yaml sans « telemetry: enabled: false », recopiez celui du projet")
    return Finding(name, variable, State.OK, "dagster.yaml en place, télémétrie coupée")


def pseudonyms(key: str) -> Finding:
    """Is there a key of the installation's own, long enough not to be guessed?"""
    name, variable = "pseudonymes", "COMPLIANCE_HMAC_KEY"
    if not key:
        line = (
            "clé livrée, publique : qui connaît une session en retrouve le pseudonyme ; renseignez COMPLIANCE_HMAC_KEY"
        )
        return Finding(name, variable, State.DEFAULT, line)
    if len(key.encode()) < MIN_KEY_BYTES:
        raise ProbeError(f"{variable} : trop courte, attendu au moins {MIN_KEY_BYTES} octets tirés au hasard")
    return Finding(name, variable, State.OK, "clé propre à l’installation")


def signing(p12: Path | None, password: str, tsa_url: str | None, now: datetime) -> Finding:
    """Can the certificate be opened, is it valid at `now` (UTC), does signing (and its time stamp) work?"""
    name, variable = "signature", "REPORT_SIGNING_P12"
    if p12 is None:
        return Finding(name, variable, State.DEFAULT, "aucun certificat : le rapport porte « non signé »")
    until = _valid_until(p12, password, now)
    try:
        sign(_empty_page(), SigningConfig(p12, password, tsa_url, timeout_seconds=10))
    except SigningError as error:
        away = "REPORT_TSA_URL" in str(error)
        raise ProbeError(f"{error} ; vérifiez {'REPORT_TSA_URL' if away else variable}", away=away) from None
    stamped = "horodatage obtenu" if tsa_url else "sans horodatage (REPORT_TSA_URL)"
    if until - now < EXPIRY_NOTICE:
        raise ProbeError(
            f"le certificat de signature expire le {until:%d/%m/%Y} : renouvelez-le avant le prochain rapport"
        )
    return Finding(
        name, variable, State.OK, f"certificat valable jusqu’au {until:%d/%m/%Y}, essai de signature réussi, {stamped}"
    )


def _valid_until(p12: Path, password: str, now: datetime) -> datetime:
    from cryptography.hazmat.primitives.serialization import pkcs12

    try:
        bundle = pkcs12.load_pkcs12(p12.read_bytes(), password.encode() or None)
    except OSError:
        raise ProbeError(
            "REPORT_SIGNING_P12 : fichier illisible, donnez-en le droit à l’utilisateur du service"
        ) from None
    except ValueError:
        raise ProbeError("REPORT_SIGNING_P12 : certificat illisible ou REPORT_SIGNING_PASSWORD erroné") from None
    if bundle.cert is None or bundle.key is None:
        raise ProbeError("REPORT_SIGNING_P12 : attendu un certificat et sa clé privée")
    certificate = bundle.cert.certificate
    if not certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc:
        raise ProbeError(
            f"le certificat de signature n’est valable que du {certificate.not_valid_before_utc:%d/%m/%Y} "
            f"au {certificate.not_valid_after_utc:%d/%m/%Y} : renouvelez-le"
        )
    return certificate.not_valid_after_utc


def _empty_page() -> bytes:
    import pikepdf

    output = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.save(output)
    return output.getvalue()
