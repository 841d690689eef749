"""Langfuse exports under a prefix of an S3 bucket, brought to disk for the time of one read.

Objects are fetched in pieces, so memory holds none of them, and a cut connection goes on where it stood; what a killed
read had fetched is used by the next one. An object that stays shorter than the listing says, or is replaced meanwhile,
refuses the read with one French line: nobody could say what was lost. What the files hold is not known here.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import urllib3
from minio import Minio
from minio.error import MinioException, S3Error

from compliance_pipelines.adapters.langfuse_api_journal import StateFolder
from compliance_pipelines.adapters.langfuse_export import ExportError, ExportFile, is_export, none_found
from compliance_pipelines.adapters.langfuse_export_place import SCHEME, ExportPrefix

_PIECE = 1 << 20
_AT_ONCE = 4
_ATTEMPTS = 4
_REPLACED = frozenset({"PreconditionFailed", "NoSuchKey", "InvalidRange"})


@dataclass(frozen=True, slots=True)
class _Object:
    key: str
    size: int
    etag: str

    @property
    def name(self) -> str:
        """A name on disk that another version of the object does not have."""
        digest = hashlib.sha256(f"{self.key}\n{self.etag}\n{self.size}".encode()).hexdigest()[:32]
        suffixes = re.findall(r"\.[A-Za-z]+", PurePosixPath(self.key).name)[-2:]
        return digest + "".join(suffixes).lower()


class S3Export:
    """The export files of one prefix. `pause` replaces waiting in tests."""

    def __init__(self, place: ExportPrefix, pause: Callable[[float], None] = time.sleep) -> None:
        self.place = place
        self._pause = pause
        parts = urlsplit(place.endpoint)
        self._client = Minio(
            parts.netloc,
            access_key=place.access_key,
            secret_key=place.secret_key,
            secure=parts.scheme == "https",
            region="us-east-1",
            http_client=urllib3.PoolManager(
                timeout=urllib3.Timeout(connect=5, read=place.timeout),
                retries=urllib3.Retry(total=3, backoff_factor=0.2, status_forcelist=[500, 502, 503, 504]),
                cert_reqs="CERT_REQUIRED",
            ),
        )

    def __str__(self) -> str:
        return self.place.address

    @contextmanager
    def opened(self, scratch: Path) -> Generator[list[ExportFile]]:
        """The export files, on disk, in the order of their keys; they are removed after a read that went to its end.

        Raises ExportError.
        """
        found = self.objects()
        place = self.place
        key = hashlib.sha256(f"{place.endpoint} {place.address}".encode()).hexdigest()[:16]
        with _errors(place):
            folder = StateFolder(scratch, f"s3-{key}")
        done = False
        try:
            wanted = {one.name for one in found}
            for leftover in folder.path.iterdir():
                if leftover.name != "lock" and leftover.name.removesuffix(".part") not in wanted:
                    leftover.unlink()
            with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="s3-export") as pool:
                paths = list(pool.map(partial(self._fetch, folder.path), found))
            yield [
                ExportFile(path, f"{SCHEME}{place.bucket}/{one.key}") for path, one in zip(paths, found, strict=True)
            ]
            done = True
        finally:
            folder.remove() if done else folder.release()

    def objects(self) -> list[_Object]:
        """What there is to read; raises ExportError, also when there is nothing."""
        place = self.place
        with _errors(place):
            listed = [
                _Object(str(one.object_name), int(one.size or 0), str(one.etag or "").strip('"'))
                for one in self._client.list_objects(place.bucket, prefix=place.prefix, recursive=True)
                if not one.is_dir
            ]
        inside = f"{place.prefix}/" if place.prefix else ""
        # a prefix is a folder, or one object: "exports" does not take in "exports-old"
        here = [one for one in listed if one.key.startswith(inside) or one.key == place.prefix]
        found = [one for one in here if is_export(PurePosixPath(one.key.removeprefix(inside)))]
        if not found:
            raise none_found(place.address)
        return sorted(found, key=lambda one: PurePosixPath(one.key))

    def _fetch(self, folder: Path, wanted: _Object) -> Path:
        target = folder / wanted.name
        part = target.with_name(f"{target.name}.part")
        failures = 0
        while not target.exists():
            have = part.stat().st_size if part.exists() else 0
            if have >= wanted.size:
                # an empty object needs no request
                part.touch()
                part.rename(target)
                break
            self._piece(wanted, part, have)
            failures = 0 if part.exists() and part.stat().st_size > have else failures + 1
            if failures >= _ATTEMPTS:
                shown = f"{SCHEME}{self.place.bucket}/{wanted.key}"
                raise ExportError(
                    f"{shown} : objet tronqué ({have} octets reçus sur {wanted.size}), lecture refusée, à relancer"
                )
            if failures:
                self._pause(0.5 * 2**failures)
        return target

    def _piece(self, wanted: _Object, part: Path, have: int) -> None:
        """As much of the rest as the connection gives; a cut one leaves what came."""
        with _errors(self.place):
            try:
                # of another version of the object the rest would be another text
                response = self._client.get_object(
                    self.place.bucket, wanted.key, offset=have, request_headers={"If-Match": f'"{wanted.etag}"'}
                )
            except S3Error as error:
                if error.code not in _REPLACED:
                    raise
                shown = f"{SCHEME}{self.place.bucket}/{wanted.key}"
                raise ExportError(f"{shown} : objet remplacé ou retiré pendant la lecture, à relancer") from None
            try:
                with part.open("ab") as kept, contextlib.suppress(urllib3.exceptions.HTTPError):
                    for piece in response.stream(_PIECE):
                        kept.write(piece[: wanted.size - kept.tell()])
            finally:
                response.close()
                response.release_conn()


@contextmanager
def _errors(place: ExportPrefix) -> Generator[None]:
    """One French line for whatever the client raises: the S3 code, no key."""
    try:
        yield
    except S3Error as error:
        fix = "vérifiez LANGFUSE_EXPORT, S3_ACCESS_KEY et S3_SECRET_KEY"
        raise ExportError(f"{place.address} : le stockage S3 refuse la lecture ({error.code}), {fix}") from None
    except (MinioException, urllib3.exceptions.HTTPError) as error:
        raise ExportError(
            f"{place.address} : le stockage S3 ne répond pas ({type(error).__name__}), relancez plus tard"
        ) from None
    except OSError as error:
        raise ExportError(f"COMPLIANCE_HOME/state : écriture impossible ({type(error).__name__})") from None
