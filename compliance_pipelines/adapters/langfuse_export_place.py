"""The address of exports in a bucket, s3://bucket/prefix, checked; apart, so that nobody else loads an S3 client.

Serves LANGFUSE_EXPORT. What lies there is read elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from compliance_pipelines.adapters.langfuse_export import ExportError

SCHEME = "s3://"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)


@dataclass(frozen=True, slots=True)
class ExportPrefix:
    """Where exports lie: `address` is s3://bucket/prefix, `endpoint` the store's URL. The keys never show."""

    address: str
    endpoint: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    timeout: float = 60.0

    def __post_init__(self) -> None:
        if not _BUCKET.fullmatch(self.bucket):
            raise ExportError("LANGFUSE_EXPORT : adresse illisible, attendu s3://compartiment/préfixe")
        parts = urlsplit(self.endpoint)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.path.strip("/"):
            raise ExportError("S3_ENDPOINT : attendu http(s)://hôte:port, pour lire LANGFUSE_EXPORT")

    @property
    def bucket(self) -> str:
        """The bucket's name."""
        return self.address.removeprefix(SCHEME).partition("/")[0]

    @property
    def prefix(self) -> str:
        """The folder in the bucket, without slashes at its ends; empty for all of it."""
        return self.address.removeprefix(SCHEME).partition("/")[2].strip("/")
