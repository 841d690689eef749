"""Dagster resources: each turns settings (settings.py) into one plain client; `from_env` makes them all.

Secrets stay in the environment: a resource keeps the variable's name, never its value.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
from compliance_guardrails.policy import Policy, load_policy
from pydantic import PrivateAttr

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.embeddings import Embedder, embedder
from compliance_pipelines.adapters.judge_asks import Session
from compliance_pipelines.adapters.judge_calibration import adequate_evaluators
from compliance_pipelines.adapters.judge_config import JudgeConfigError, JudgeSettings, judge_bounds, judge_settings
from compliance_pipelines.adapters.judge_pool import Budget, Limits
from compliance_pipelines.adapters.judge_probes import gateway
from compliance_pipelines.adapters.langfuse_api import ApiReader
from compliance_pipelines.adapters.langfuse_api_http import LangfuseHttp, Patience, Server
from compliance_pipelines.adapters.langfuse_export import ExportReader, ExportSource
from compliance_pipelines.adapters.langfuse_export_place import SCHEME, ExportPrefix
from compliance_pipelines.adapters.signing import SigningConfig
from compliance_pipelines.core.langfuse_links import LangfuseLinks
from compliance_pipelines.core.periods import Month
from compliance_pipelines.core.ports import Archive
from compliance_pipelines.core.verify_revision import Tools
from compliance_pipelines.io_manager import ParquetIOManager
from compliance_pipelines.reporting import MonthRequest
from compliance_pipelines.resources_alerting import AlertingResource, alerting_from
from compliance_pipelines.settings import SettingsError, pseudonym_key, settings


class PolicyResource(dg.ConfigurableResource):
    """The policy folder; empty `policy_dir` means the bundled one."""

    policy_dir: str = ""

    _months: dict[Month, Policy] = PrivateAttr(default_factory=dict)

    def of(self, month: Month) -> Policy:
        """The policy that judges `month`: the one in force at its end. Raises PolicyError in French."""
        if month not in self._months:
            folder = Path(self.policy_dir) if self.policy_dir else None
            self._months[month] = load_policy(folder, at=month.days()[-1])
        return self._months[month]


class TraceSourceResource(dg.ConfigurableResource):
    """Where traces and scores are read from: the Langfuse API when `langfuse_url` is set, an export otherwise.

    `export` is a folder, a file, or s3://bucket/prefix, which is read from `s3_endpoint`.
    `write_back` names what may be written there (see settings.WRITE_BACK); nothing is ever written for an export.
    """

    export: str
    home: str
    s3_endpoint: str = ""
    langfuse_url: str = ""
    langfuse_project: str = ""
    write_back: list[str] = []  # noqa: RUF012  a field of the configuration, copied by it
    hmac_key_variable: str = "COMPLIANCE_HMAC_KEY"
    synthetic: bool = False

    def reader(self, policy: Policy, patience: Patience | None = None) -> ExportReader | ApiReader:
        """A reader that attributes departments by `policy`; both kinds have the same methods."""
        key, _ = pseudonym_key(self.hmac_key_variable)
        if self.langfuse_url:
            state = Path(self.home) / "state" / "langfuse"
            return ApiReader(self._server(), state, policy.resolve_department, key, patience=patience)
        return ExportReader(self._export(), Path(self.home) / "state", policy.resolve_department, key)

    @property
    def links(self) -> LangfuseLinks:
        """Addresses in Langfuse's interface."""
        return LangfuseLinks(self.langfuse_project)

    def http(self) -> LangfuseHttp:
        """A connection to the server for reviews and writing; close it after use."""
        return LangfuseHttp(self._server())

    def why_not(self, what: str) -> str | None:
        """Why `what` (one of WRITE_BACK) is not written, in French; None when it is."""
        if not self.langfuse_url:
            return "aucun serveur Langfuse configuré"
        return None if what in self.write_back else f"LANGFUSE_WRITE_BACK ne comprend pas {what}"

    def _export(self) -> Path | ExportSource:
        if not self.export.startswith(SCHEME):
            return Path(self.export)
        from compliance_pipelines.adapters.langfuse_export_s3 import S3Export

        access, secret = (os.environ.get(name, "") for name in ("S3_ACCESS_KEY", "S3_SECRET_KEY"))
        return S3Export(ExportPrefix(self.export, self.s3_endpoint, access, secret))

    def _server(self) -> Server:
        keys = (os.environ.get(name, "") for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"))
        return Server(self.langfuse_url, *keys)


class ArchiveResource(dg.ConfigurableResource):
    """The evidence archive: S3 with Object Lock when `s3_endpoint` is set, a directory otherwise."""

    home: str
    s3_endpoint: str = ""
    s3_bucket: str = "ai-audit"

    def open(self) -> Archive:
        """The archive, whose receipts carry the time of their verification."""
        if not self.s3_endpoint:
            return DirectoryArchive(Path(self.home) / "archive", clock=utc_now)
        from compliance_pipelines.adapters.archive_s3 import S3Archive, S3Config

        config = S3Config(
            endpoint=self.s3_endpoint,
            access_key=os.environ.get("S3_ACCESS_KEY", ""),
            secret_key=os.environ.get("S3_SECRET_KEY", ""),
            bucket=self.s3_bucket,
        )
        return S3Archive(config, clock=utc_now)


class JudgeResource(dg.ConfigurableResource):
    """The LLM judge; an empty `base_url` means none. Seconds; `max_calls` bounds one run, `patience` an outage.

    `assistants_url`: gateway of the assistants to probe, empty for none; `embedding_url`: empty for the bundled one.
    """

    home: str
    base_url: str = ""
    model: str = ""
    key_variable: str = "JUDGE_API_KEY"
    assistants_url: str = ""
    assistants_key_variable: str = "LITELLM_CI_KEY"
    embedding_url: str = ""
    embedding_model: str = ""
    concurrency: int = 8
    timeout: float = 120.0
    patience: float = 900.0
    max_calls: int = 50_000

    @property
    def configured(self) -> bool:
        """Whether a judge serves instead of the lexical evaluator."""
        return bool(self.base_url)

    @property
    def cache_path(self) -> Path:
        """The file of kept judgements."""
        return Path(self.home) / "cache" / "judgements.sqlite"

    def session(self) -> Session:
        """A fresh session, with a budget of its own."""
        return self._session(self.base_url, self.model, self.key_variable)

    def calibrated(self) -> frozenset[str]:
        """Fingerprints of the judges whose calibration lets a verdict conclude."""
        return adequate_evaluators(Path(self.home))

    def assistant(self, alias: str) -> Session:
        """A session that asks the assistant called `alias` through the gateway."""
        return self._session(self.assistants_url, alias, self.assistants_key_variable)

    def embedder(self) -> Embedder:
        """The encoder of the evaluation metrics."""
        wanted = {"EMBEDDING_BASE_URL": self.embedding_url, "EMBEDDING_MODEL": self.embedding_model}
        return embedder({**wanted, "JUDGE_API_KEY": os.environ.get(self.key_variable, "").strip()})

    def _session(self, url: str, model: str, key_variable: str) -> Session:
        key = os.environ.get(key_variable, "").strip() or None
        limits = Limits(concurrency=self.concurrency, patience=self.patience)
        return Session(JudgeSettings(url, model, key), limits, Budget(self.max_calls), self.timeout)


def judge_from_env(home: str) -> JudgeResource:
    """The judge that the environment asks for; SettingsError when it is set but wrong."""
    try:
        found, probed, bounds = judge_settings(os.environ), gateway(os.environ), judge_bounds(os.environ)
        embedder(os.environ)
    except JudgeConfigError as wrong:
        raise SettingsError(str(wrong)) from None
    return JudgeResource(
        home=home,
        base_url=found.base_url if found else "",
        model=found.model if found else "",
        assistants_url=probed[0] if probed else "",
        embedding_url=os.environ.get("EMBEDDING_BASE_URL", "").strip(),
        embedding_model=os.environ.get("EMBEDDING_MODEL", "").strip(),
        concurrency=bounds.concurrency,
        timeout=bounds.timeout,
        max_calls=bounds.max_calls,
    )


def alerting_from_env(home: str) -> AlertingResource:
    """The alerting that the environment asks for; SettingsError when it is set but wrong."""
    try:
        return alerting_from(os.environ, home)
    except JudgeConfigError as wrong:
        raise SettingsError(str(wrong)) from None


class InstallationResource(dg.ConfigurableResource):
    """Where this installation keeps its tables and what its report says of it."""

    home: str
    policy_dir: str = ""
    namespace: str = "local"
    synthetic: bool = False
    signing_p12: str = ""

    @property
    def path(self) -> Path:
        """The COMPLIANCE_HOME folder."""
        return Path(self.home)

    def request(self, month: Month, cutoff: datetime | None, reason: str) -> MonthRequest:
        """What to build for `month`."""
        policy_dir = Path(self.policy_dir) if self.policy_dir else None
        return MonthRequest(
            month=month,
            home=self.path,
            policy_dir=policy_dir,
            namespace=self.namespace,
            synthetic=self.synthetic,
            built_at=utc_now(),
            signing=self._signing(),
            cutoff=cutoff,
            reason=reason,
        )

    def _signing(self) -> SigningConfig | None:
        if not self.signing_p12:
            return None
        password = os.environ.get("REPORT_SIGNING_PASSWORD", "")
        return SigningConfig(Path(self.signing_p12), password, os.environ.get("REPORT_TSA_URL") or None)


def verification_tools(roots: Sequence[bytes] = ()) -> Tools:
    """The readers of PDF and signatures that a verification needs; `roots` are certificates to trust (PEM or DER)."""
    from compliance_pipelines.adapters.signing import signature_reader
    from compliance_pipelines.adapters.verify_pdf import read_pdf

    return Tools(read_pdf=read_pdf, read_signatures=signature_reader(roots))


def utc_now() -> datetime:
    """The wall clock, for receipts and manifests alone; no figure depends on it."""
    return datetime.now(UTC)  # noqa: TID251  the one place where the wall clock enters


def archive_from_env() -> Archive:
    """The archive that the environment asks for."""
    found = settings()
    return ArchiveResource(home=str(found.home), s3_endpoint=found.s3_endpoint, s3_bucket=found.s3_bucket).open()


def from_env() -> dict[str, object]:
    """Every resource of the code location, from the environment."""
    found = settings()
    home, policy_dir = str(found.home), str(found.policy_dir or "")
    return {
        "io_manager": ParquetIOManager(home=home),
        "policy": PolicyResource(policy_dir=policy_dir),
        "judge": judge_from_env(home),
        "alerting": alerting_from_env(home),
        "source": TraceSourceResource(
            export=found.export_address or str(found.export),
            home=home,
            s3_endpoint=found.s3_endpoint,
            langfuse_url=found.langfuse_url,
            langfuse_project=found.langfuse_project,
            write_back=list(found.write_back),
            synthetic=found.synthetic,
        ),
        "archive": ArchiveResource(home=home, s3_endpoint=found.s3_endpoint, s3_bucket=found.s3_bucket),
        "installation": InstallationResource(
            home=home,
            policy_dir=policy_dir,
            namespace=found.namespace,
            synthetic=found.synthetic,
            signing_p12=str(found.signing_p12 or ""),
        ),
    }
