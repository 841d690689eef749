"""Make the evidence bucket with Object Lock, or check that the one that exists has it. Safe to run again.

S3_ENDPOINT, S3_BUCKET and an administrator's S3_ACCESS_KEY and S3_SECRET_KEY come from the environment. Nothing is ever
deleted, and no lifecycle is set: retention is COMPLIANCE by object, decided by the pipeline. Exit 0 in order · 1 the
bucket exists without Object Lock or versions · 2 the store does not answer or refuses.
"""

import os
import sys
from urllib.parse import urlsplit

import urllib3
from minio import Minio
from minio.error import MinioException, S3Error


def main() -> int:
    """Do it; one French line either way."""
    bucket, parts = os.environ["S3_BUCKET"], urlsplit(os.environ["S3_ENDPOINT"])
    client = Minio(
        parts.netloc,
        access_key=os.environ["S3_ACCESS_KEY"],
        secret_key=os.environ["S3_SECRET_KEY"],
        secure=parts.scheme != "http",
        # as the pipeline signs its requests
        region="us-east-1",
        http_client=urllib3.PoolManager(timeout=urllib3.Timeout(connect=5, read=30), retries=urllib3.Retry(total=3)),
    )
    try:
        made = not client.bucket_exists(bucket)
        if made:
            client.make_bucket(bucket, object_lock=True)
        try:
            client.get_object_lock_config(bucket)
            locked = True
        except S3Error as error:
            if error.code not in {"ObjectLockConfigurationNotFoundError", "InvalidRequest"}:
                raise
            locked = False
        versioned = client.get_bucket_versioning(bucket).status == "Enabled"
    except S3Error as error:
        return said(f"{bucket} : le stockage refuse la demande ({error.code})", 2)
    except (MinioException, urllib3.exceptions.HTTPError, OSError) as error:
        return said(f"{bucket} : le stockage ne répond pas ({type(error).__name__})", 2)
    if not locked or not versioned:
        return said(f"{bucket} : existe sans Object Lock ou sans versions, choisissez un autre nom de compartiment", 1)
    return said(f"{bucket} : {'créé' if made else 'déjà là'}, Object Lock et versions actifs", 0)


def said(line: str, code: int) -> int:
    """Print `line`, give `code` back."""
    (sys.stderr if code else sys.stdout).write(f"{line}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
