"""PAdES signatures made with an authority of the test's own: signed, archived, verified, forged, and never
half done.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Generator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.signing import SigningConfig, SigningError, sign, signature_reader
from compliance_pipelines.core.evidence import EvidenceError, Rendered, build_manifest, decide, sha256
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines_tests.evidence_samples import BUILT_AT, ROWS, figures, inputs, pdf, verify_month

PASSWORD = "mot de passe é"  # noqa: S105
MONTH = "2026-06"


@dataclass(frozen=True)
class Authority:
    """A throw-away authority with one signing certificate and one time-stamping certificate."""

    root: x509.Certificate
    signer: x509.Certificate
    signer_key: rsa.RSAPrivateKey
    stamper: x509.Certificate
    stamper_key: rsa.RSAPrivateKey

    @property
    def pem(self) -> bytes:
        return self.root.public_bytes(serialization.Encoding.PEM)

    def p12(self, path: Path) -> Path:
        encryption = serialization.BestAvailableEncryption(PASSWORD.encode())
        path.write_bytes(serialize_key_and_certificates(b"x", self.signer_key, self.signer, [self.root], encryption))
        return path


def make_authority(name: str) -> Authority:
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    end = dt.datetime(2060, 1, 1, tzinfo=dt.UTC)

    def key() -> rsa.RSAPrivateKey:
        return rsa.generate_private_key(65537, 2048)

    root_key = key()
    root_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Racine {name}")])

    def certificate(subject: x509.Name, public: rsa.RSAPublicKey, *, ca: bool, stamp: bool) -> x509.Certificate:
        usage = x509.KeyUsage(
            digital_signature=not ca, content_commitment=not ca and not stamp, key_encipherment=False,
            data_encipherment=False, key_agreement=False, key_cert_sign=ca, crl_sign=ca,
            encipher_only=False, decipher_only=False,
        )  # fmt: skip
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(root_name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(usage, critical=True)
        )
        if stamp:
            builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
        return builder.sign(root_key, hashes.SHA256())

    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    signer_key, stamper_key = key(), key()
    return Authority(
        certificate(root_name, root_key.public_key(), ca=True, stamp=False),
        certificate(named("Direction de la conformité"), signer_key.public_key(), ca=False, stamp=False),
        signer_key,
        certificate(named("Horodatage"), stamper_key.public_key(), ca=False, stamp=True),
        stamper_key,
    )


@pytest.fixture(scope="module")
def authority() -> Authority:
    return make_authority("d’essai")


@pytest.fixture
def config(authority: Authority, tmp_path: Path) -> SigningConfig:
    return SigningConfig(authority.p12(tmp_path / "signer.p12"), PASSWORD)


@pytest.fixture(scope="module")
def attachments() -> dict[str, bytes]:
    return figures(MONTH, 1, ROWS, inputs(MONTH).digest)


@pytest.fixture(scope="module")
def unsigned(attachments: dict[str, bytes]) -> bytes:
    return pdf(ROWS, attachments)


def archive_signed(
    root: Path, unsigned: bytes, signed: bytes | None, attachments: dict[str, bytes]
) -> DirectoryArchive:
    archive = DirectoryArchive(root)
    facts = inputs(MONTH)
    made = Rendered(unsigned, signed, 1, attachments)
    manifest = build_manifest(decide((), MONTH, facts.digest), facts, made, reason=None, built_at=BUILT_AT)
    archive.put_revision(MONTH, 1, made.files(manifest), retain_until(BUILT_AT, 7))
    return archive


def test_without_a_certificate_there_is_no_signature(unsigned: bytes) -> None:
    assert sign(unsigned, None) is None
    assert signature_reader()(unsigned) == ()


def test_a_signature_covers_the_file_and_is_read_back(
    unsigned: bytes, config: SigningConfig, authority: Authority
) -> None:
    signed = sign(unsigned, config)
    assert signed is not None
    assert signed.startswith(unsigned + b"\n")
    assert b"/ETSI.CAdES.detached" in signed
    assert "datée par le signataire" in signature_reader()(signed)[0].detail_fr
    (trusted,) = signature_reader([authority.pem])(signed)
    assert (trusted.intact, trusted.covers_file, trusted.trusted) == (True, True, True)
    (unknown,) = signature_reader()(signed)
    assert (unknown.intact, unknown.covers_file, unknown.trusted) == (True, True, None)
    (stranger,) = signature_reader([make_authority("autre").pem])(signed)
    assert (stranger.intact, stranger.trusted) == (True, False)


def test_a_signed_report_is_valid_with_its_root_and_with_a_reservation_without(
    tmp_path: Path,
    unsigned: bytes,
    config: SigningConfig,
    authority: Authority,
    attachments: dict[str, bytes],
) -> None:
    archive = archive_signed(tmp_path / "a", unsigned, sign(unsigned, config), attachments)
    result = verify_month(archive, MONTH, roots=[authority.pem])
    assert result.exit_code == 0, result.lines_fr()
    (check,) = [check for check in result.checks if check.name_fr == "Signature"]
    assert not check.warning
    assert "certificat reconnu" in check.detail_fr
    plain = verify_month(archive, MONTH)
    assert plain.exit_code == 0
    assert any(check.warning and "autorité non vérifiée" in check.detail_fr for check in plain.checks)
    other = verify_month(archive, MONTH, roots=[make_authority("autre").pem])
    assert [check.name_fr for check in other.checks if not check.ok] == ["Signature"]


def test_what_the_manifest_says_of_the_signature_must_be_so(
    tmp_path: Path, unsigned: bytes, config: SigningConfig, attachments: dict[str, bytes]
) -> None:
    """Every archive here is in order byte for byte: only the signature tells."""
    signed = sign(unsigned, config)
    assert signed is not None
    other = sign(pdf(ROWS, attachments, "Autre titre"), config)
    broken = bytearray(signed)
    broken[signed.index(b"Rapport mensuel")] ^= 1
    longer = signed + b"\n% more\n"
    cases = [
        (unsigned, unsigned, "attendu un PDF signé"),
        (unsigned, other, "ne prolonge pas"),
        (unsigned, bytes(broken), "rompue"),
        (unsigned, longer, "une partie du fichier"),
        (signed, None, "signature présente"),
    ]
    for number, (before, after, words) in enumerate(cases):
        archive = archive_signed(tmp_path / str(number), before, after, attachments)
        result = verify_month(archive, MONTH)
        found = {check.name_fr: check.detail_fr for check in result.checks if not check.ok}
        assert list(found) == ["Signature"], words
        assert words in found["Signature"]


def test_a_certificate_that_cannot_be_used_is_an_error_without_secrets(
    tmp_path: Path, unsigned: bytes, config: SigningConfig, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "junk.p12").write_bytes(b"junk")
    wrong = [
        replace(config, password=PASSWORD[:-1]),
        replace(config, p12=tmp_path / "missing.p12"),
        replace(config, p12=tmp_path / "junk.p12"),
        replace(config, p12=tmp_path),
    ]
    for item in wrong:
        with pytest.raises(SigningError, match="REPORT_SIGNING_P12") as caught:
            sign(unsigned, item)
        assert str(tmp_path) not in str(caught.value)
        assert item.password not in str(caught.value) + repr(item)
    for content in (b"", b"no pdf", unsigned[:200]):
        with pytest.raises(SigningError, match="signature"):
            sign(content, config)
    assert PASSWORD not in caplog.text
    for root in (b"", b"junk", b"-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n"):
        with pytest.raises(EvidenceError, match="racine de confiance"):
            signature_reader([root])


@pytest.fixture
def stamping(authority: Authority) -> Generator[str]:
    """A time-stamp service on loopback, answering with the authority's own stamping certificate."""
    from asn1crypto import keys, tsp
    from asn1crypto import x509 as asn1_x509
    from pyhanko.sign.timestamps import DummyTimeStamper
    from pyhanko_certvalidator.registry import SimpleCertificateStore

    def der(certificate: x509.Certificate) -> asn1_x509.Certificate:
        return asn1_x509.Certificate.load(certificate.public_bytes(serialization.Encoding.DER))

    store = SimpleCertificateStore()
    store.register(der(authority.root))
    private = authority.stamper_key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    stamper = DummyTimeStamper(der(authority.stamper), keys.PrivateKeyInfo.load(private), certs_to_embed=store)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = stamper.request_tsa_response(tsp.TimeStampReq.load(body)).dump()
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing: the test's output stays clean."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_a_time_stamp_is_embedded_and_a_dead_service_is_one_line(
    unsigned: bytes, config: SigningConfig, authority: Authority, stamping: str
) -> None:
    signed = sign(unsigned, replace(config, tsa_url=stamping))
    assert signed is not None
    (facts,) = signature_reader([authority.pem])(signed)
    assert "horodatée du" in facts.detail_fr
    assert (facts.intact, facts.covers_file, facts.trusted) == (True, True, True)
    with pytest.raises(SigningError, match="REPORT_TSA_URL") as caught:
        sign(unsigned, replace(config, tsa_url="http://127.0.0.1:9/", timeout_seconds=2))
    assert "127.0.0.1" not in str(caught.value)


def test_signing_does_not_change_the_unsigned_digest(unsigned: bytes, config: SigningConfig) -> None:
    before = sha256(unsigned)
    one, two = sign(unsigned, config), sign(unsigned, config)
    assert one is not None
    assert two is not None
    assert sha256(one[: len(unsigned)]) == sha256(two[: len(unsigned)]) == before
