"""`compliance doctor`: every configured connection and permission tried, one French line each that says what to do.

Probes run at once, so the slowest decides how long it takes. Exit code 0 in order (embedded defaults included), 1 when
something must be corrected, 2 when nothing is wrong but a system did not answer. No key or path of a secret is printed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from compliance_guardrails.policy import PolicyError, load_policy

from compliance_pipelines.adapters import (
    doctor_archive,
    doctor_files,
    doctor_langfuse,
    doctor_models,
    doctor_monitoring,
)
from compliance_pipelines.adapters.archive_s3_bucket import S3Config
from compliance_pipelines.adapters.doctor_finding import Finding, Probe, ProbeError, State, carry_out
from compliance_pipelines.adapters.judge_config import JudgeConfigError
from compliance_pipelines.adapters.langfuse_export_place import SCHEME
from compliance_pipelines.resources import utc_now
from compliance_pipelines.resources_alerting import BURST_VARIABLE, alerting_from
from compliance_pipelines.settings import SettingsError, sample_export, settings

# a secret that nothing uses: the address beside it was forgotten or misspelt, and an embedded default would serve
_HALVES = (
    (
        "LANGFUSE_SECRET_KEY",
        ("LANGFUSE_BASE_URL", "LANGFUSE_HOST", "LANGFUSE_EXPORT"),
        "LANGFUSE_SECRET_KEY sans LANGFUSE_BASE_URL : l’échantillon serait lu",
    ),
    ("S3_SECRET_KEY", ("S3_ENDPOINT",), "S3_SECRET_KEY sans S3_ENDPOINT : l’archive ne verrouillerait rien"),
    (
        "REPORT_SIGNING_PASSWORD",
        ("REPORT_SIGNING_P12",),
        "REPORT_SIGNING_PASSWORD sans REPORT_SIGNING_P12 : le rapport ne serait pas signé",
    ),
    ("LITELLM_CI_KEY", ("LITELLM_CI_URL",), "LITELLM_CI_KEY sans LITELLM_CI_URL : la barrière ne tournerait pas"),
)
_PLURAL = {State.DEFAULT: "défauts embarqués", State.AWAY: "injoignables"}
_MARKS = {State.OK: "✔", State.DEFAULT: "·", State.WRONG: "✘", State.AWAY: "?"}


def examine(
    env: Mapping[str, str] | None = None, *, write: bool = False, now: datetime | None = None
) -> tuple[Finding, ...]:
    """Run every probe on what `env` (default: the process's) configures; findings in a fixed order.

    `write` also tries writes that leave something behind for some minutes (a locked object).
    """
    env = os.environ if env is None else env
    when = now or utc_now()
    probes = [_settings(env), *_disk(env, when), *_servers(env, when, write=write)]
    with ThreadPoolExecutor(max_workers=len(probes)) as pool:
        return tuple(pool.map(carry_out, probes))


def exit_code(findings: tuple[Finding, ...]) -> int:
    """0, 1 or 2: what is known to be wrong counts more than what did not answer."""
    states = {found.state for found in findings}
    return 1 if State.WRONG in states else 2 if State.AWAY in states else 0


def lines_fr(findings: tuple[Finding, ...]) -> list[str]:
    """One line a finding, then the conclusion."""
    lines = [f"{_MARKS[found.state]} {found.name:<13}{found.line_fr}" for found in findings]
    counts = {state: sum(found.state is state for found in findings) for state in State}
    shown = ", ".join(
        f"{count} {_PLURAL.get(state, state.value) if count > 1 else state.value}"
        for state, count in counts.items()
        if count
    )
    return [*lines, f"{len(findings)} contrôles : {shown}"]


def as_json(findings: tuple[Finding, ...]) -> dict[str, Any]:
    """The whole as one object; `schema` changes when a field does."""
    code = exit_code(findings)
    return {"schema": "compliance-doctor/1", "findings": [found.as_json() for found in findings], "exit_code": code}


def _settings(env: Mapping[str, str]) -> Probe:
    def run() -> Finding:
        try:
            found = settings(env)
            # the rest of what would keep the code location from loading; addresses have probes of their own
            alerting_from({BURST_VARIABLE: env.get(BURST_VARIABLE, "")}, str(found.home))
        except (SettingsError, JudgeConfigError) as wrong:
            raise ProbeError(str(wrong)) from None
        halves = [line for secret, needed, line in _HALVES if env.get(secret) and not any(map(env.get, needed))]
        if halves:
            raise ProbeError(" ; ".join(halves))
        return Finding("réglages", ".env", State.OK, f"lisibles, espace {found.namespace}, depuis le {found.first_day}")

    return Probe("réglages", ".env", run)


def _disk(env: Mapping[str, str], now: datetime) -> list[Probe]:
    home = Path(env.get("COMPLIANCE_HOME") or ".compliance").absolute()
    folder = Path(env["COMPLIANCE_POLICY_DIR"]) if env.get("COMPLIANCE_POLICY_DIR") else None
    exported = env.get("LANGFUSE_EXPORT") or ""
    p12 = Path(env["REPORT_SIGNING_P12"]) if env.get("REPORT_SIGNING_P12") else None
    signing = partial(
        doctor_files.signing, p12, env.get("REPORT_SIGNING_PASSWORD", ""), env.get("REPORT_TSA_URL") or None, now
    )
    probes = [
        Probe("dossier", "COMPLIANCE_HOME", partial(doctor_files.home, home)),
        Probe("dagster", "DAGSTER_HOME", partial(doctor_files.dagster_home, env.get("DAGSTER_HOME", ""))),
        Probe("politique", "COMPLIANCE_POLICY_DIR", partial(doctor_files.policy, folder)),
        Probe("signature", "REPORT_SIGNING_P12", signing),
        Probe(
            "pseudonymes", "COMPLIANCE_HMAC_KEY", partial(doctor_files.pseudonyms, env.get("COMPLIANCE_HMAC_KEY", ""))
        ),
    ]
    if exported or not _langfuse_url(env):
        place = Path(exported) if exported else sample_export()
        read = partial(doctor_files.export, place, synthetic=not exported)
        if exported.startswith(SCHEME):
            keys = [env.get(name) or "" for name in ("S3_ENDPOINT", "S3_ACCESS_KEY", "S3_SECRET_KEY")]
            read = partial(doctor_files.export_prefix, exported, *keys)
        probes.append(Probe("traces", "LANGFUSE_EXPORT", read))
    return probes


def _servers(env: Mapping[str, str], now: datetime, *, write: bool) -> list[Probe]:
    url = _langfuse_url(env)
    keys = (env.get("LANGFUSE_PUBLIC_KEY", ""), env.get("LANGFUSE_SECRET_KEY", ""))
    archive: Callable[[], Finding] = doctor_archive.no_archive
    if env.get("S3_ENDPOINT"):
        config = S3Config(
            endpoint=env["S3_ENDPOINT"],
            access_key=env.get("S3_ACCESS_KEY", ""),
            secret_key=env.get("S3_SECRET_KEY", ""),
            bucket=env.get("S3_BUCKET") or "ai-audit",
            timeout_seconds=8.0,
        )
        archive = partial(doctor_archive.archive, config, now, write=write, years=_retention_years(env))
    pushed = partial(doctor_monitoring.pushgateway, env.get("PUSHGATEWAY_URL", ""), write=write)
    probes = [
        Probe("juge", "JUDGE_BASE_URL", partial(doctor_models.judge, env)),
        Probe("plongements", "EMBEDDING_BASE_URL", partial(doctor_models.embeddings, env)),
        Probe("archive", "S3_ENDPOINT", archive),
        Probe(
            "alertmanager", "ALERTMANAGER_URL", partial(doctor_monitoring.alertmanager, env.get("ALERTMANAGER_URL", ""))
        ),
        Probe("pushgateway", "PUSHGATEWAY_URL", pushed),
        Probe("passerelle", "LITELLM_CI_URL", partial(doctor_models.gateway, env)),
        Probe("sans masque", "LITELLM_CI_UNMASKED_KEY", partial(doctor_models.unmasked, env)),
        Probe("lecteur", "EXTRACTOR_BASE_URL", partial(doctor_models.extractor, env)),
        Probe("interface", "DAGSTER_UI_URL", partial(doctor_monitoring.dagster_ui, env.get("DAGSTER_UI_URL", ""))),
    ]
    if url:
        probes.insert(0, Probe("langfuse", "LANGFUSE_BASE_URL", partial(doctor_langfuse.langfuse, url, *keys)))
    return probes


def _retention_years(env: Mapping[str, str]) -> int:
    """Years of retention by policy; the shipped policy's where the configured one cannot be read, which is told."""
    folder = Path(env["COMPLIANCE_POLICY_DIR"]) if env.get("COMPLIANCE_POLICY_DIR") else None
    try:
        return load_policy(folder).thresholds.retention_years
    except PolicyError:
        return load_policy().thresholds.retention_years


def _langfuse_url(env: Mapping[str, str]) -> str:
    return env.get("LANGFUSE_BASE_URL") or env.get("LANGFUSE_HOST") or ""
