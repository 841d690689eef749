"""A bucket with Object Lock, reduced to what evidence needs: put locked, put once, get, versions, retention.

Generic S3 through the `minio` client. Every error of the store leaves as one French
`ArchiveUnavailableError` that names the S3 code and never a credential. Nothing here knows what a report
is.
"""

from __future__ import annotations

import io
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import urllib3
from minio import Minio
from minio.commonconfig import COMPLIANCE, ENABLED
from minio.error import MinioException, S3Error
from minio.lifecycleconfig import Rule
from minio.retention import Retention

from compliance_pipelines.core.evidence_lifecycle import LifecycleRule
from compliance_pipelines.core.ports import ArchiveUnavailableError

# Everything that is evidence lies under these.
PREFIXES = ("bias-report-", "revisions/", "chain/")
PROBE_KEY = "doctor/probe.txt"
MAX_OBJECT_BYTES = 64 * 1024 * 1024
_GONE = {"NoSuchKey", "NoSuchVersion", "MethodNotAllowed"}
_TYPES = {"pdf": "application/pdf", "json": "application/json", "csv": "text/csv; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class S3Config:
    """Where the evidence goes. `endpoint` is a URL ("https://minio.example:9000"); keys never show in a repr.

    `legal_hold` also puts every object under legal hold; `ca_file` is a PEM bundle for a private authority.
    """

    endpoint: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    bucket: str = "ai-audit"
    region: str = "us-east-1"
    legal_hold: bool = False
    ca_file: str | None = None
    timeout_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Version:
    """One version of one key, newest first in listings. A delete marker has no bytes."""

    key: str
    version_id: str
    is_latest: bool
    is_delete_marker: bool
    modified: datetime | None = None


class _OncePool(urllib3.PoolManager):
    """Adds `If-None-Match: *` to uploads: the store itself refuses a second object of the same key (412).

    The header is not part of what is signed, which Signature V4 allows; the client has no parameter for it.
    """

    def urlopen(self, method: str, url: str, redirect: bool = True, **kw: Any) -> Any:
        if method == "PUT":
            kw["headers"] = {**kw.get("headers", {}), "If-None-Match": "*"}
        return super().urlopen(method, url, redirect=redirect, **kw)


class LockedBucket:
    """The operations on one bucket; ArchiveUnavailableError when the store does not answer as it must."""

    def __init__(self, config: S3Config) -> None:
        self.name = config.bucket
        self._config = config
        self._client = _client(config, urllib3.PoolManager)
        self._once = _client(config, _OncePool)

    def require_lock(self) -> None:
        """Refuse a bucket that is missing, keeps no versions or has no Object Lock, with the command to
        run.
        """
        fix = f"mc mb --with-lock ALIAS/{self.name}"
        with _errors():
            try:
                self._client.get_object_lock_config(self.name)
            except S3Error as error:
                if error.code == "NoSuchBucket":
                    raise ArchiveUnavailableError(
                        f"archive : pas de compartiment {self.name} ; lancez : {fix}"
                    ) from None
                if error.code in {"ObjectLockConfigurationNotFoundError", "InvalidRequest"}:
                    raise ArchiveUnavailableError(
                        f"archive : le compartiment {self.name} est sans Object Lock, rien n’y est déposé ; "
                        f"recréez-le verrouillable : {fix}"
                    ) from None
                raise
            if self._client.get_bucket_versioning(self.name).status != "Enabled":
                raise ArchiveUnavailableError(
                    f"archive : le compartiment {self.name} ne garde pas les versions ; "
                    f"lancez : mc version enable ALIAS/{self.name}"
                )

    def lifecycle(self) -> tuple[LifecycleRule, ...] | None:
        """The enabled rules of the bucket's lifecycle, none where there is none; None where it may not be read."""
        with _errors():
            try:
                found = self._client.get_bucket_lifecycle(self.name)
            except S3Error as error:
                if error.code in {"NoSuchLifecycleConfiguration", "NotImplemented"}:
                    return ()
                if error.code == "AccessDenied":
                    return None
                raise
            except ValueError:
                # the client refuses what it cannot make sense of; neither can a verification
                return None
        return () if found is None else tuple(_rule(rule) for rule in found.rules if rule.status == ENABLED)

    def put(self, key: str, content: bytes, until: datetime, tags: dict[str, str]) -> str:
        """Store a new locked version and return its id. `tags` become user metadata (ASCII)."""
        return self._put(self._client, key, content, until, tags)

    def put_once(self, key: str, content: bytes, until: datetime, tags: dict[str, str]) -> str | None:
        """Store `key` only if it does not exist; None when it does."""
        try:
            return self._put(self._once, key, content, until, tags)
        except FileExistsError:
            return None

    def get(self, key: str, version_id: str | None = None) -> bytes | None:
        """The bytes of a version, None when it is gone or behind a delete marker.

        At most `MAX_OBJECT_BYTES` and one more: a longer object is no archived one, and its digest will say so.
        """
        with _errors():
            try:
                response = self._client.get_object(self.name, key, version_id=version_id)
            except S3Error as error:
                if error.code in _GONE:
                    return None
                raise
            try:
                return response.read(MAX_OBJECT_BYTES + 1)
            finally:
                response.close()
                response.release_conn()

    def versions(self, prefix: str) -> tuple[Version, ...]:
        """Every version and delete marker under `prefix`: by key, newest first."""
        with _errors():
            found = self._client.list_objects(self.name, prefix=prefix, recursive=True, include_version=True)
            return tuple(
                Version(
                    item.object_name or "",
                    item.version_id or "null",
                    str(item.is_latest).lower() == "true",
                    bool(item.is_delete_marker),
                    item.last_modified,
                )
                for item in found
            )

    def retention(self, key: str, version_id: str) -> tuple[str, datetime] | None:
        """Mode and date that the store enforces on a version; None when there are none."""
        with _errors():
            try:
                found = self._client.get_object_retention(self.name, key, version_id=version_id)
            except S3Error as error:
                if error.code in {*_GONE, "NoSuchObjectLockConfiguration", "InvalidRequest"}:
                    return None
                raise
            return None if found is None else (found.mode, found.retain_until_date)

    def legal_hold(self, key: str, version_id: str) -> bool:
        """Whether a version is under legal hold."""
        with _errors():
            try:
                return self._client.is_object_legal_hold_enabled(self.name, key, version_id=version_id)
            except S3Error as error:
                if error.code in {*_GONE, "NoSuchObjectLegalHold", "NoSuchObjectLockConfiguration"}:
                    return False
                raise

    def _put(self, client: Minio, key: str, content: bytes, until: datetime, tags: dict[str, str]) -> str:
        with _errors():
            try:
                result = client.put_object(
                    self.name,
                    key,
                    io.BytesIO(content),
                    len(content),
                    content_type=_TYPES.get(key.rpartition(".")[2], "application/octet-stream"),
                    metadata=dict(tags),
                    retention=Retention(COMPLIANCE, until),
                    legal_hold=self._config.legal_hold,
                )
            except S3Error as error:
                if error.code in {"PreconditionFailed", "ConditionalRequestConflict"}:
                    raise FileExistsError(key) from None
                raise
        if not result.version_id:
            raise ArchiveUnavailableError(f"archive : {self.name} ne rend pas de numéro de version")
        return result.version_id


def _rule(rule: Rule) -> LifecycleRule:
    scope = rule.rule_filter
    prefix = (scope.prefix or (scope.and_operator.prefix if scope.and_operator else None)) if scope else None
    expires, replaced, moved = rule.expiration, rule.noncurrent_version_expiration, rule.transition
    return LifecycleRule(
        id=rule.rule_id or "",
        prefix=prefix or "",
        days=expires.days if expires else None,
        date=expires.date if expires else None,
        noncurrent_days=replaced.noncurrent_days if replaced else None,
        expired_markers=bool(expires and expires.expired_object_delete_marker),
        cold_days=(moved.days or 0) if moved else None,
    )


def _client(config: S3Config, pool: type[urllib3.PoolManager]) -> Minio:
    parts = urlsplit(config.endpoint if "//" in config.endpoint else f"//{config.endpoint}")
    if parts.scheme not in {"http", "https", ""} or not parts.hostname or parts.username or parts.path.strip("/"):
        raise ArchiveUnavailableError("archive : S3_ENDPOINT : attendu http(s)://hôte:port")
    secure = parts.scheme != "http"
    tls: dict[str, Any] = {"cert_reqs": "CERT_REQUIRED", "ca_certs": config.ca_file} if secure else {}
    return Minio(
        parts.netloc,
        access_key=config.access_key,
        secret_key=config.secret_key,
        secure=secure,
        region=config.region,
        http_client=pool(
            timeout=urllib3.Timeout(connect=5, read=config.timeout_seconds),
            retries=urllib3.Retry(total=3, backoff_factor=0.2, status_forcelist=[500, 502, 503, 504]),
            **tls,
        ),
    )


@contextmanager
def _errors() -> Generator[None]:
    """One French line for whatever the client raises: the S3 code, no address, no key."""
    try:
        yield
    except S3Error as error:
        raise ArchiveUnavailableError(f"archive : le stockage S3 refuse la demande ({error.code})") from None
    except (MinioException, urllib3.exceptions.HTTPError, OSError) as error:
        if isinstance(error, FileExistsError):
            raise
        raise ArchiveUnavailableError(
            f"archive : le stockage S3 ne répond pas ({type(error).__name__}), relancez plus tard"
        ) from None
