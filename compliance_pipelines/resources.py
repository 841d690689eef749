"""Dagster resources: each turns settings into one plain client. `from_env` is the only reader of the environment.

Unset means the embedded default (shipped sample, lexical evaluator, directory archive); set but wrong is an error that
names the variable. Secrets stay in the environment: a resource keeps the variable's name, never its value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib import resources as package_files
from pathlib import Path

import dagster as dg
from compliance_guardrails.policy import Policy, load_policy
from pydantic import PrivateAttr

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.langfuse_export import ExportReader
from compliance_pipelines.core.periods import Month
from compliance_pipelines.core.ports import Archive
from compliance_pipelines.core.verify_revision import Tools
from compliance_pipelines.io_manager import ParquetIOManager
from compliance_pipelines.reporting import MonthRequest

_EMBEDDED_HMAC_KEY = b"compliance-pipelines embedded default, not a secret"


class SettingsError(ValueError):
    """A variable that is set but unusable: one French line that names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says, checked. Paths are absolute."""

    home: Path
    export: Path
    policy_dir: Path | None
    first_day: date
    namespace: str
    synthetic: bool


def settings(env: Mapping[str, str] | None = None) -> Settings:
    """Read and check the environment (default: the process's)."""
    env = os.environ if env is None else env
    home = Path(env.get("COMPLIANCE_HOME") or ".compliance").absolute()
    export = env.get("LANGFUSE_EXPORT")
    if export and not Path(export).exists():
        raise SettingsError(f"LANGFUSE_EXPORT={export} : chemin introuvable, attendu un dossier ou un fichier d'export")
    policy_dir = env.get("COMPLIANCE_POLICY_DIR")
    if policy_dir and not Path(policy_dir).is_dir():
        raise SettingsError(f"COMPLIANCE_POLICY_DIR={policy_dir} : dossier introuvable")
    first = env.get("COMPLIANCE_FIRST_DAY") or "2026-01-01"
    try:
        first_day = date.fromisoformat(first)
    except ValueError:
        raise SettingsError(f"COMPLIANCE_FIRST_DAY={first[:40]} : date illisible, attendu AAAA-MM-JJ") from None
    return Settings(
        home=home,
        export=Path(export).absolute() if export else sample_export(),
        policy_dir=Path(policy_dir).absolute() if policy_dir else None,
        first_day=first_day,
        namespace=env.get("NAMESPACE") or "local",
        synthetic=not export,
    )


def sample_export() -> Path:
    """The shipped, synthetic month."""
    return Path(str(package_files.files("compliance_pipelines.sample")))


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
    """Where traces and scores are read from."""

    export: str
    home: str
    hmac_key_variable: str = "COMPLIANCE_HMAC_KEY"
    synthetic: bool = False

    def reader(self, policy: Policy) -> ExportReader:
        """A reader that attributes departments by `policy`."""
        key = os.environ.get(self.hmac_key_variable, "").encode() or _EMBEDDED_HMAC_KEY
        return ExportReader(Path(self.export), Path(self.home) / "state", policy.resolve_department, key)


class ArchiveResource(dg.ConfigurableResource):
    """The evidence archive: a directory by default."""

    home: str

    def open(self) -> Archive:
        """The archive, whose receipts carry the time of their verification."""
        return DirectoryArchive(Path(self.home) / "archive", clock=utc_now)


class InstallationResource(dg.ConfigurableResource):
    """Where this installation keeps its tables and what its report says of it."""

    home: str
    policy_dir: str = ""
    namespace: str = "local"
    synthetic: bool = False

    @property
    def path(self) -> Path:
        """The COMPLIANCE_HOME folder."""
        return Path(self.home)

    def request(self, month: Month, cutoff: datetime | None, reason: str) -> MonthRequest:
        """What to build for `month`."""
        policy_dir = Path(self.policy_dir) if self.policy_dir else None
        return MonthRequest(month, self.path, policy_dir, self.namespace, self.synthetic, utc_now(), cutoff, reason)


def verification_tools() -> Tools:
    """The readers of PDF and signatures that a verification needs."""
    from compliance_pipelines.adapters.signing import signature_reader
    from compliance_pipelines.adapters.verify_pdf import read_pdf

    return Tools(read_pdf=read_pdf, read_signatures=signature_reader())


def utc_now() -> datetime:
    """The wall clock, for receipts and manifests alone; no figure depends on it."""
    return datetime.now(UTC)  # noqa: TID251  the one place where the wall clock enters


def from_env() -> dict[str, object]:
    """Every resource of the code location, from the environment."""
    found = settings()
    home, policy_dir = str(found.home), str(found.policy_dir or "")
    return {
        "io_manager": ParquetIOManager(home=home),
        "policy": PolicyResource(policy_dir=policy_dir),
        "source": TraceSourceResource(export=str(found.export), home=home, synthetic=found.synthetic),
        "archive": ArchiveResource(home=home),
        "installation": InstallationResource(
            home=home, policy_dir=policy_dir, namespace=found.namespace, synthetic=found.synthetic
        ),
    }
