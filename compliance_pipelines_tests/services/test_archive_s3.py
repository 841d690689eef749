"""The S3 archive against a real server with Object Lock: locked, read back, never overwritten, completed
after a death.

The server (SeaweedFS) comes with the development requirements, so these run everywhere and are not marked
`services`.
"""

from __future__ import annotations

import contextlib
import io
import random
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from minio import Minio
from minio.commonconfig import ENABLED
from minio.error import S3Error
from minio.retention import Retention
from minio.versioningconfig import VersioningConfig

from compliance_pipelines.adapters import archive_s3_bucket
from compliance_pipelines.adapters.archive_s3 import S3Archive
from compliance_pipelines.adapters.archive_s3_bucket import LockedBucket, S3Config
from compliance_pipelines.core.evidence import EvidenceError, sha256
from compliance_pipelines.core.evidence_chain import ArchiveConflictError
from compliance_pipelines.core.ports import Archive, ArchiveUnavailableError
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines_tests.evidence_samples import (
    BUILT_AT,
    ROWS,
    prepare,
    put,
    verify_all,
    verify_file,
    verify_month,
)
from compliance_pipelines_tests.services.servers import S3Server

UNTIL = retain_until(BUILT_AT, 7)
CHANGED = (("direction-sinistres", "Sinistres", 1241, 0.8137, 0.25, 0.7, "Conforme"), *ROWS[1:])
PDF = "bias-report-2026-06.pdf"


@pytest.fixture
def config(server: S3Server, client: Minio, request: pytest.FixtureRequest) -> S3Config:
    """A fresh bucket with Object Lock for each test: what is locked cannot be cleaned away."""
    bucket = f"b{sha256(request.node.nodeid.encode())[:20]}"
    client.make_bucket(bucket, object_lock=True)
    return S3Config(server.endpoint, server.access_key, server.secret_key, bucket=bucket)


@pytest.fixture
def archive(config: S3Config) -> S3Archive:
    return S3Archive(config, clock=lambda: BUILT_AT)


def versions(client: Minio, config: S3Config, prefix: str = "") -> list[tuple[str, str | None]]:
    found = client.list_objects(config.bucket, prefix=prefix, recursive=True, include_version=True)
    return [(item.object_name or "", item.version_id) for item in found]


def put_raw(client: Minio, config: S3Config, key: str, content: bytes = b"x") -> None:
    client.put_object(config.bucket, key, io.BytesIO(content), len(content))


def test_what_is_archived_is_locked_and_the_store_refuses_to_let_go(
    archive: S3Archive, config: S3Config, client: Minio
) -> None:
    assert isinstance(archive, Archive)
    receipt = put(archive)
    assert (receipt.mode, receipt.retain_until) == ("COMPLIANCE", UNTIL)
    assert (receipt.key, receipt.verified_at) == (f"{config.bucket}/{PDF}", BUILT_AT)
    assert receipt.version_id
    assert client.get_object(config.bucket, PDF).read() == archive.read("2026-06")[PDF]
    for key, version in versions(client, config):
        found = client.get_object_retention(config.bucket, key, version_id=version)
        assert found is not None
        assert (found.mode, found.retain_until_date) == ("COMPLIANCE", UNTIL)
        with pytest.raises(S3Error):
            client.remove_object(config.bucket, key, version_id=version)
        shorter = Retention("COMPLIANCE", UNTIL - timedelta(days=400))
        with pytest.raises(S3Error):
            client.set_object_retention(config.bucket, key, shorter, version_id=version)
    result = verify_month(S3Archive(config), "2026-06")
    assert result.exit_code == 0, result.lines_fr()
    assert result.reserves == ("non signé",)


def test_a_revision_is_a_new_version_and_the_old_one_stays(archive: S3Archive, config: S3Config, client: Minio) -> None:
    first = put(archive)
    second = put(archive, rows=CHANGED)
    assert [key for key, _ in versions(client, config, PDF)] == [PDF, PDF]
    assert first.version_id != second.version_id
    assert sha256(archive.read("2026-06", 1)[PDF]) == first.sha256
    assert sha256(archive.read("2026-06")[PDF]) == second.sha256 == sha256(client.get_object(config.bucket, PDF).read())
    for revision in (1, 2, None):
        assert verify_month(S3Archive(config), "2026-06", revision).exit_code == 0
    held = verify_file(S3Archive(config), archive.read("2026-06", 1)[PDF], "x.pdf")
    assert held.exit_code == 0
    assert "la révision 2 l’a remplacée" in held.lines_fr()[0]


def test_the_same_files_again_make_no_new_version(archive: S3Archive, config: S3Config, client: Minio) -> None:
    _, files = prepare(archive)
    first = archive.put_revision("2026-06", 1, files, UNTIL)
    before = versions(client, config)
    assert S3Archive(config, clock=lambda: BUILT_AT).put_revision("2026-06", 1, files, UNTIL) == first
    assert versions(client, config) == before


def test_retention_is_promised_to_the_second_that_the_store_keeps(archive: S3Archive) -> None:
    _, files = prepare(archive)
    receipt = archive.put_revision("2026-06", 1, files, UNTIL + timedelta(microseconds=7))
    assert receipt.retain_until == archive.list_revisions()[0].retain_until_at == UNTIL


def test_a_bucket_without_lock_is_refused_with_the_command(server: S3Server, client: Minio, archive: S3Archive) -> None:
    _, files = prepare(archive)
    client.make_bucket("plain")
    client.make_bucket("versioned")
    client.set_bucket_versioning("versioned", VersioningConfig(ENABLED))
    for bucket, words in (
        ("plain", "sans Object Lock"),
        ("versioned", "sans Object Lock"),
        ("nobody", "pas de"),
    ):
        other = S3Archive(S3Config(server.endpoint, server.access_key, server.secret_key, bucket=bucket))
        with pytest.raises(ArchiveUnavailableError, match=words) as caught:
            other.put_revision("2026-06", 1, files, UNTIL)
        assert f"mc mb --with-lock ALIAS/{bucket}" in str(caught.value)
        if bucket != "nobody":
            assert list(client.list_objects(bucket)) == []


def test_wrong_credentials_and_a_dead_server_are_one_line_without_secrets(config: S3Config, archive: S3Archive) -> None:
    _, files = prepare(archive)
    wrong = [
        S3Config(config.endpoint, config.access_key, "another-secret", bucket=config.bucket),
        S3Config("http://127.0.0.1:9", config.access_key, config.secret_key, bucket=config.bucket),
        S3Config("https://" + config.endpoint.removeprefix("http://"), "a", "b", bucket=config.bucket),
    ]
    for item in wrong:
        with pytest.raises(ArchiveUnavailableError) as caught:
            S3Archive(item).put_revision("2026-06", 1, files, UNTIL)
        line = str(caught.value)
        assert "\n" not in line
        assert not any(word in line for word in ("secret", config.access_key, "127.0.0.1"))
        assert "secret" not in repr(item).replace("secret_key", "")
        assert verify_month(S3Archive(item), "2026-06").exit_code == 2
    for endpoint in ("ftp://x", "http://user:pw@x", "http://x/path", "http://"):
        with pytest.raises(ArchiveUnavailableError, match="S3_ENDPOINT"):
            S3Archive(S3Config(endpoint, "a", "b"))


def test_a_retention_in_the_past_is_refused_by_the_store(archive: S3Archive) -> None:
    _, files = prepare(archive)
    with pytest.raises(ArchiveUnavailableError, match="refuse"):
        archive.put_revision("2026-06", 1, files, datetime(2020, 1, 1, tzinfo=UTC))
    assert archive.list_revisions() == ()


def test_legal_hold_passes_through(server: S3Server, config: S3Config, client: Minio) -> None:
    held = S3Config(server.endpoint, server.access_key, server.secret_key, bucket=config.bucket, legal_hold=True)
    archive = S3Archive(held)
    put(archive)
    assert archive.retention("2026-06").legal_hold is True
    for key, version in versions(client, config):
        assert client.is_object_legal_hold_enabled(config.bucket, key, version_id=version)
    assert "gel juridique" in "".join(verify_month(S3Archive(held), "2026-06").lines_fr())
    assert S3Archive(config).retention("2026-06").legal_hold is True


class DiedError(RuntimeError):
    """The process ended here."""


@pytest.mark.parametrize("at", range(1, 6))
def test_a_store_that_dies_between_two_objects_is_completed_by_the_next_run(
    archive: S3Archive, config: S3Config, client: Minio, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """PDF, two attachments, manifest, chain object: after the death before each of them, run again."""
    count = 0
    original = LockedBucket._put

    def dying(self: LockedBucket, *args) -> str:
        nonlocal count
        count += 1
        if count == at:
            raise DiedError
        return original(self, *args)

    put(archive, "2026-05")
    monkeypatch.setattr(archive_s3_bucket.LockedBucket, "_put", dying)
    with pytest.raises(DiedError):
        put(archive)
    monkeypatch.undo()
    again = S3Archive(config)
    assert [entry.month for entry in again.list_revisions()] == ["2026-05"]
    interrupted = verify_month(S3Archive(config), "2026-06")
    assert interrupted.exit_code == (2 if at == 1 else 1)
    assert verify_month(S3Archive(config), "2026-05").exit_code == 0
    receipt = put(again)
    assert receipt.mode == "COMPLIANCE"
    # The PDF is taken over, not stored a second time; so is the rest, the manifest being the same here.
    assert len(versions(client, config)) == 10
    result = verify_month(S3Archive(config), "2026-06")
    assert result.exit_code == 0, result.lines_fr()
    assert all(item.exit_code == 0 for item in verify_all(S3Archive(config)))


def test_what_an_interrupted_run_left_without_legal_hold_is_not_taken_over(
    server: S3Server, config: S3Config, client: Minio, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(*_: object) -> None:
        raise DiedError

    monkeypatch.setattr(LockedBucket, "put_once", dying)
    with pytest.raises(DiedError):
        put(S3Archive(config))
    monkeypatch.undo()
    left = versions(client, config)
    held = S3Config(server.endpoint, server.access_key, server.secret_key, bucket=config.bucket, legal_hold=True)
    put(S3Archive(held))
    assert S3Archive(held).retention("2026-06").legal_hold is True
    # all four files anew, and the chain object
    assert len(versions(client, config)) == 2 * len(left) + 1 == 9


def test_two_builds_at_once_make_one_chain(config: S3Config) -> None:
    outcomes: list[str] = []
    barrier = threading.Barrier(4)

    def build(month: str) -> None:
        archive = S3Archive(config)
        manifest, files = prepare(archive, month)
        barrier.wait(30)
        for _ in range(20):
            try:
                archive.put_revision(month, manifest.revision, files, UNTIL)
            except ArchiveConflictError:
                manifest, files = prepare(archive, month)
            else:
                outcomes.append(month)
                return

    months = ["2026-01", "2026-02", "2026-03", "2026-04"]
    threads = [threading.Thread(target=build, args=(month,)) for month in months]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(outcomes) == months
    assert sorted(entry.month for entry in S3Archive(config).list_revisions()) == months
    assert all(item.exit_code == 0 for item in verify_all(S3Archive(config)))


def test_two_builds_of_the_same_month_at_once_leave_one_revision(config: S3Config) -> None:
    one, two = S3Archive(config), S3Archive(config)
    _, files = prepare(one)
    _, others = prepare(two, rows=CHANGED)
    original = LockedBucket.put_once

    def slower(self: LockedBucket, *args):
        with contextlib.suppress(EvidenceError), pytest.MonkeyPatch.context() as inner:
            inner.setattr(LockedBucket, "put_once", original)
            one.put_revision("2026-06", 1, files, UNTIL)
        return original(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LockedBucket, "put_once", slower)
        with pytest.raises(ArchiveConflictError, match="relancez"):
            two.put_revision("2026-06", 1, others, UNTIL)
    assert len(S3Archive(config).list_revisions()) == 1
    result = verify_month(S3Archive(config), "2026-06")
    assert result.exit_code == 0, result.lines_fr()
    assert any("hors manifeste" in check.detail_fr and check.warning for check in result.checks)


@pytest.mark.parametrize("what", ["pdf", "chain", "manifest", "delete", "gap"])
def test_what_is_put_on_top_or_hidden_is_seen(archive: S3Archive, config: S3Config, client: Minio, what: str) -> None:
    put(archive)
    entry = archive.list_revisions()[0]
    if what == "pdf":
        put_raw(client, config, PDF)
    elif what == "chain":
        put_raw(client, config, "chain/000000.json")
    elif what == "manifest":
        put_raw(client, config, entry.file("manifest.json").key)
    elif what == "delete":
        client.remove_object(config.bucket, PDF)
    else:
        put_raw(client, config, "chain/000002.json")
    result = verify_month(S3Archive(config), "2026-06")
    if what == "manifest":  # the archived version is found by its number all the same
        assert result.exit_code == 0
        assert any(check.warning for check in result.checks)
    else:
        assert result.exit_code == 1, result.lines_fr()
    if what == "pdf":
        assert S3Archive(config).recover() == ("révision 1 de 2026-06 : remise en version courante",)
        assert verify_month(S3Archive(config), "2026-06").exit_code == 0
        assert S3Archive(config).recover() == ()
        put_raw(client, config, PDF, b"again")
        files = S3Archive(config).read("2026-06")
        S3Archive(config).put_revision("2026-06", 1, files, UNTIL)  # an identical run puts it right as well
        assert verify_month(S3Archive(config), "2026-06").exit_code == 0


def test_an_object_of_any_size_on_top_is_a_finding(
    archive: S3Archive, config: S3Config, client: Minio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write must not turn "not valid" into "could not decide" by what is too large to be read whole."""
    put(archive)
    monkeypatch.setattr(archive_s3_bucket, "MAX_OBJECT_BYTES", 200_000)
    assert verify_month(S3Archive(config), "2026-06").exit_code == 0
    put_raw(client, config, PDF, b"x" * 300_000)
    assert verify_month(S3Archive(config), "2026-06").exit_code == 1


def test_a_retention_that_is_too_short_is_seen(archive: S3Archive, config: S3Config) -> None:
    """The store is asked, not the index: objects locked for less than the index promises fail."""
    _, files = prepare(archive)
    original = LockedBucket.put

    def short(self: LockedBucket, key: str, content: bytes, until: datetime, tags: dict[str, str]) -> str:
        return original(self, key, content, until - timedelta(days=365) if key == PDF else until, tags)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LockedBucket, "put", short)
        with pytest.raises(EvidenceError, match="conservation relue insuffisante"):
            archive.put_revision("2026-06", 1, files, UNTIL)
    result = verify_month(S3Archive(config), "2026-06")
    assert result.exit_code == 1
    assert [check.name_fr for check in result.checks if not check.ok] == ["Conservation"]


def test_any_changed_byte_that_the_store_gives_back_is_found(archive: S3Archive, config: S3Config) -> None:
    """Locked versions cannot be changed through S3, so the bytes are changed on their way back."""
    put(archive)
    put(archive, "2026-07")
    source = random.Random(20260601)  # noqa: S311
    original = LockedBucket.get
    keys = sorted({item.key for entry in archive.list_revisions() for item in entry.files})
    keys += ["chain/000000.json", "chain/000001.json"]
    for key in keys * 4:
        target = key

        def changed(self: LockedBucket, name: str, version: str | None = None, target: str = target) -> bytes | None:
            content = original(self, name, version)
            if name != target or not content:
                return content
            broken = bytearray(content)
            broken[source.randrange(len(broken))] ^= source.randrange(1, 256)
            return bytes(broken)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LockedBucket, "get", changed)
            result = verify_month(S3Archive(config), "2026-07" if "2026-07" in key else "2026-06")
        assert result.exit_code == 1, (key, result.lines_fr())


def test_the_index_survives_a_new_instance(config: S3Config, tmp_path: Path) -> None:
    for month in ("2026-04", "2026-05", "2026-06"):
        put(S3Archive(config), month)
    entries = S3Archive(config).list_revisions()
    assert [(entry.chain_index, entry.month) for entry in entries] == [
        (0, "2026-04"),
        (1, "2026-05"),
        (2, "2026-06"),
    ]
    assert list(tmp_path.iterdir()) == []
