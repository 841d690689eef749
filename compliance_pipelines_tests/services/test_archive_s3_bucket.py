"""What surrounds the evidence in a real bucket: its lifecycle, foreign objects, a commit that was sent twice."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from minio import Minio
from minio.commonconfig import DISABLED, ENABLED, Filter
from minio.error import S3Error
from minio.lifecycleconfig import Expiration, LifecycleConfig, NoncurrentVersionExpiration, Rule

from compliance_pipelines.adapters import doctor_archive
from compliance_pipelines.adapters.archive_s3 import S3Archive
from compliance_pipelines.adapters.archive_s3_bucket import LockedBucket, S3Config
from compliance_pipelines.adapters.doctor_finding import ProbeError, State
from compliance_pipelines.core.evidence import sha256
from compliance_pipelines.core.ports import ArchiveUnavailableError, Check
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines_tests.evidence_samples import BUILT_AT, prepare, put, verify_all, verify_month
from compliance_pipelines_tests.services.servers import S3Server

UNTIL = retain_until(BUILT_AT, 7)


@pytest.fixture
def config(server: S3Server, client: Minio, request: pytest.FixtureRequest) -> S3Config:
    bucket = f"c{sha256(request.node.nodeid.encode())[:20]}"
    client.make_bucket(bucket, object_lock=True)
    return S3Config(server.endpoint, server.access_key, server.secret_key, bucket=bucket)


def rule(name: str = "menage", status: str = ENABLED, prefix: str = "", **what: object) -> Rule:
    return Rule(status=status, rule_filter=Filter(prefix=prefix), rule_id=name, **what)  # type: ignore[arg-type]


def set_rules(client: Minio, config: S3Config, *rules: Rule) -> None:
    client.set_bucket_lifecycle(config.bucket, LifecycleConfig(list(rules)))


def lifecycle(config: S3Config) -> Check:
    checks = verify_month(S3Archive(config), "2026-06").checks
    return next(check for check in checks if check.name_fr == "Cycle de vie")


EARLY = [
    {"expiration": Expiration(days=30)},
    {"expiration": Expiration(date=datetime(2030, 1, 1, tzinfo=UTC))},
    {"noncurrent_version_expiration": NoncurrentVersionExpiration(noncurrent_days=1)},
    {"expiration": Expiration(days=400), "prefix": "revisions/"},
]


@pytest.mark.parametrize("what", EARLY)
def test_a_lifecycle_shorter_than_the_retention_is_refused_with_the_command(
    config: S3Config, client: Minio, what: dict
) -> None:
    set_rules(client, config, rule(**what))
    _, files = prepare(S3Archive(config))
    with pytest.raises(ArchiveUnavailableError) as caught:
        S3Archive(config).put_revision("2026-06", 1, files, UNTIL)
    assert f"mc ilm rule rm --id menage ALIAS/{config.bucket}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(client.list_objects(config.bucket, recursive=True, include_version=True)) == []
    client.delete_bucket_lifecycle(config.bucket)
    S3Archive(config).put_revision("2026-06", 1, files, UNTIL)
    assert lifecycle(config).detail_fr == "aucune règle : rien n’est effacé ni masqué"


@pytest.mark.parametrize("what", EARLY)
def test_a_lifecycle_that_was_shortened_later_fails_the_verification(
    config: S3Config, client: Minio, what: dict
) -> None:
    put(S3Archive(config))
    set_rules(client, config, rule(**what))
    found = lifecycle(config)
    assert not found.ok
    assert f"mc ilm rule rm --id menage ALIAS/{config.bucket}" in found.detail_fr
    assert verify_all(S3Archive(config))[0].exit_code == 1


def test_a_lifecycle_after_the_retention_or_elsewhere_is_in_order(config: S3Config, client: Minio) -> None:
    set_rules(
        client,
        config,
        rule("apres", expiration=Expiration(days=3000)),
        rule("ailleurs", prefix="exports/", expiration=Expiration(days=1)),
        rule("coupee", status=DISABLED, expiration=Expiration(days=1)),
    )
    put(S3Archive(config))
    found = lifecycle(config)
    assert (found.ok, found.warning) == (True, False)
    assert "aucune avant la fin" in found.detail_fr


def test_markers_that_vanish_are_a_reservation(config: S3Config, client: Minio) -> None:
    set_rules(client, config, rule(expiration=Expiration(expired_object_delete_marker=True)))
    put(S3Archive(config))
    found = lifecycle(config)
    assert (found.ok, found.warning) == (True, True)
    assert "cycle de vie" in verify_month(S3Archive(config), "2026-06").reserves


def test_a_lifecycle_that_may_not_be_read_is_said(config: S3Config, monkeypatch: pytest.MonkeyPatch) -> None:
    put(S3Archive(config))

    def denied(*_: object) -> None:
        raise S3Error(None, "AccessDenied", "no", "/b", "1", "2")  # type: ignore[arg-type]

    monkeypatch.setattr(Minio, "get_bucket_lifecycle", denied)
    found = lifecycle(config)
    assert (found.ok, found.reserve_fr) == (True, "cycle de vie non lu")
    with pytest.raises(ProbeError, match="s3:GetLifecycleConfiguration"):
        doctor_archive.archive(config, BUILT_AT, write=False, years=7)


def test_the_doctor_reads_the_lifecycle(config: S3Config, client: Minio) -> None:
    found = doctor_archive.archive(config, BUILT_AT, write=False, years=7)
    assert found.state is State.OK
    assert "aucun cycle de vie" in found.line_fr
    set_rules(client, config, rule(expiration=Expiration(days=365)))
    with pytest.raises(ProbeError, match="mc ilm rule rm --id menage"):
        doctor_archive.archive(config, BUILT_AT, write=False, years=7)
    set_rules(client, config, rule(expiration=Expiration(days=400)))
    assert doctor_archive.archive(config, BUILT_AT, write=False, years=1).state is State.OK


@pytest.mark.parametrize(
    ("key", "valid"),
    [
        ("notes.txt", True),
        ("autre/dossier.csv", True),
        ("revisions/2026-06/r1/0123456789abcdef/more.csv", True),
        ("revisions/2026-06/list.txt", False),
        ("revisions/list.txt", False),
        ("bias-report-2025-01.pdf", False),
    ],
)
def test_a_foreign_object_anywhere_is_named(config: S3Config, client: Minio, key: str, valid: bool) -> None:
    put(S3Archive(config))
    client.put_object(config.bucket, key, io.BytesIO(b"x"), 1)
    found = verify_all(S3Archive(config))[0]
    check = next(check for check in found.checks if check.name_fr == "Versions des objets")
    assert key in check.detail_fr
    assert (check.ok, check.warning) == (valid, valid)
    assert found.exit_code == (0 if valid else 1)


def test_a_commit_that_was_sent_twice_is_one_commit(config: S3Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to the first attempt was lost: the retry is refused by the store, and the report is archived."""
    original = LockedBucket.put_once

    def twice(self: LockedBucket, *args: object) -> str | None:
        original(self, *args)  # type: ignore[arg-type]
        return original(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(LockedBucket, "put_once", twice)
    receipt = put(S3Archive(config, clock=lambda: BUILT_AT))
    assert receipt.chain_index == 0
    assert len(S3Archive(config).list_revisions()) == 1
