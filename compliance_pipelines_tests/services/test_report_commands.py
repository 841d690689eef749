"""`compliance report build` as an operator runs it: into a locked S3 bucket, and twice at the same moment.

Real processes, a real S3 server (SeaweedFS, from the development requirements), a small synthetic month.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from pathlib import Path

import pandas as pd
import pytest
from minio import Minio

from compliance_pipelines_tests.services.servers import S3Server, weed
from compliance_pipelines_tests.small_month import small_export

# The server would run anywhere; a dozen processes with a whole pipeline each are too slow for every `make test`.
pytestmark = pytest.mark.services
COMMAND = str(Path(sys.executable).parent / "compliance")
MONTH = "2026-06"
PDF = f"bias-report-{MONTH}.pdf"


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_export(tmp_path_factory.mktemp("export"), (MONTH,), 120)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[S3Server]:
    with weed(tmp_path_factory.mktemp("s3") / "data") as running:
        yield running


def bucket(server: S3Server, name: str) -> tuple[dict[str, str], Minio]:
    host = server.endpoint.removeprefix("http://")
    client = Minio(host, access_key=server.access_key, secret_key=server.secret_key, secure=False, region="us-east-1")
    client.make_bucket(name, object_lock=True)
    keys = {"S3_ENDPOINT": server.endpoint, "S3_ACCESS_KEY": server.access_key, "S3_SECRET_KEY": server.secret_key}
    return {**keys, "S3_BUCKET": name}, client


def environment(home: Path, export: Path, more: Mapping[str, str]) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LANGFUSE", "COMPLIANCE", "DAGSTER", "S3_"))}
    return {**kept, "COMPLIANCE_HOME": str(home), "LANGFUSE_EXPORT": str(export), "COLUMNS": "200", **more}


def start(home: Path, export: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, "report", *words],
        env=environment(home, export, more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(home: Path, export: Path, *words: str, **more: str) -> tuple[int, str, str]:
    process = start(home, export, *words, **more)
    out, err = process.communicate(timeout=280)
    assert "Traceback" not in out + err, err[-2000:]
    return process.returncode, out, err


@pytest.fixture(scope="module")
def nights(export: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home where the month was built once into its own directory archive."""
    home = tmp_path_factory.mktemp("home")
    code, out, err = run(home, export, "build", MONTH, "--nights", "--summary")
    assert code == 0, err
    assert f"bias-summary-{MONTH}.pdf" in out
    return home


def test_a_month_is_built_into_a_locked_bucket_and_stays(server: S3Server, nights: Path, export: Path) -> None:
    keys, client = bucket(server, "built")
    code, out, err = run(nights, export, "build", MONTH, **keys)
    assert code == 0, err
    assert "VALIDE" in out
    assert "ne verrouille rien" not in out
    found = client.get_object_retention("built", PDF)
    assert found is not None
    assert found.mode == "COMPLIANCE"
    receipt = pd.read_parquet(nights / "data" / "audit" / "archive_receipt" / f"{MONTH}-01.parquet").iloc[0]
    assert (receipt["mode"], receipt["key"]) == ("COMPLIANCE", f"built/{PDF}")
    assert pd.Timestamp(receipt["retain_until"]) == pd.Timestamp(found.retain_until_date)

    def versions() -> list[tuple[str | None, str | None]]:
        listed = client.list_objects("built", recursive=True, include_version=True)
        return sorted((item.object_name, item.version_id) for item in listed)

    before = versions()
    assert run(nights, export, "build", MONTH, **keys)[0] == 0
    assert versions() == before
    code, out, _ = run(nights, export, "verify", MONTH, "--json", **keys)
    checks = {check["name"]: check for check in json.loads(out)[0]["checks"]}
    assert (code, checks["Conservation"]["warning"]) == (0, False)
    code, out, _ = run(nights, export, "get", MONTH, "--to", str(nights / "got"), **keys)
    assert code == 0
    code, out, _ = run(nights, export, "verify", str(nights / "got" / PDF), **keys)
    assert (code, f"{PDF} : VALIDE" in out) == (0, True)


def test_a_dead_store_is_one_line_without_secrets(nights: Path, export: Path) -> None:
    keys = {"S3_ENDPOINT": "http://127.0.0.1:9", "S3_ACCESS_KEY": "somebody", "S3_SECRET_KEY": "not-to-be-seen"}
    code, out, err = run(nights, export, "build", MONTH, **keys)
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert "not-to-be-seen" not in out + err


@pytest.mark.parametrize("store", ["directory", "s3"])
def test_two_builds_at_once_leave_one_revision(
    server: S3Server, nights: Path, export: Path, tmp_path: Path, store: str
) -> None:
    keys = bucket(server, "twice")[0] if store == "s3" else {}
    home = tmp_path / "home"
    subprocess.run(["cp", "-r", str(nights / "data"), str(tmp_path / "data")], check=True)
    home.mkdir()
    (tmp_path / "data").rename(home / "data")
    both = [start(home, export, "build", MONTH, **keys) for _ in range(2)]
    ended = [(process.communicate(timeout=280), process.returncode) for process in both]
    for (out, err), code in ended:
        assert "Traceback" not in out + err
        assert code in (0, 2), err
        # whoever came second and lost says so in one line
        assert code == 0 or len(err.strip().splitlines()) == 1, err
    assert 0 in {code for _, code in ended}, ended
    code, out, _ = run(home, export, "list", **keys)
    assert (code, [line.split()[:3] for line in out.splitlines() if line.startswith(MONTH)]) == (
        0,
        [[MONTH, "révision", "1"]],
    ), out
    code, out, _ = run(home, export, "verify", "--all", **keys)
    assert code == 0, out
