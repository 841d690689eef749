"""A real report, signed and time-stamped by an authority made with OpenSSL, then verified from the archive.

The time-stamping service answers with `openssl ts`, another implementation than the one that asks: what is proved is
RFC 3161, not that a library agrees with itself. OpenSSL comes with Debian.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Generator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.pdf import render
from compliance_pipelines.adapters.signing import SigningConfig, SigningError, sign, signature_reader
from compliance_pipelines.adapters.verify_pdf import page_count, read_pdf
from compliance_pipelines.core import verify
from compliance_pipelines.core.evidence import Rendered, build_manifest, decide
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines.core.verify_revision import Tools
from compliance_pipelines_tests import report_samples as samples
from compliance_pipelines_tests.evidence_samples import BUILT_AT, inputs

pytestmark = pytest.mark.services
PASSWORD = "test"  # noqa: S105 - protects a key made for one test
CONFIG = """
[ ca ]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[ signer ]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature, nonRepudiation
[ stamper ]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[ tsa ]
default_tsa = tsa_one
[ tsa_one ]
serial = serial.txt
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


@dataclass(frozen=True)
class Authority:
    """A folder with root, signer (PKCS#12) and time-stamping certificate."""

    folder: Path

    def openssl(self, *words: str, given: bytes = b"") -> bytes:
        done = subprocess.run(["openssl", *words], cwd=self.folder, input=given, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    @property
    def root(self) -> bytes:
        return (self.folder / "root.pem").read_bytes()

    @property
    def p12(self) -> Path:
        return self.folder / "signer.p12"


def make_authority(folder: Path) -> Authority:
    assert shutil.which("openssl"), "apt-get install openssl"
    folder.mkdir()
    (folder / "ca.cnf").write_text(CONFIG, encoding="ascii")
    (folder / "serial.txt").write_text("01", encoding="ascii")
    found = Authority(folder)
    new = ("req", "-newkey", "rsa:2048", "-nodes", "-subj")
    found.openssl(
        *new, "/CN=Racine", "-x509", "-days", "9000", "-keyout", "root.key", "-out", "root.pem",
        "-config", "/etc/ssl/openssl.cnf",
    )  # fmt: skip
    for name in ("signer", "stamper"):
        found.openssl(*new, f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        found.openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial",
            "-days", "9000", "-extfile", "ca.cnf", "-extensions", name, "-out", f"{name}.pem",
        )  # fmt: skip
    found.openssl(
        "pkcs12", "-export", "-inkey", "signer.key", "-in", "signer.pem", "-certfile", "root.pem",
        "-passout", f"pass:{PASSWORD}", "-out", "signer.p12",
    )  # fmt: skip
    return found


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("pki") / "a")


@pytest.fixture(scope="module")
def service(authority: Authority) -> Generator[str]:
    """A time-stamping service over HTTP whose answers come from `openssl ts`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            (authority.folder / "query.tsq").write_bytes(body)
            answer = authority.openssl(
                "ts", "-reply", "-config", "ca.cnf", "-section", "tsa_one", "-queryfile", "query.tsq",
                "-signer", "stamper.pem", "-inkey", "stamper.key", "-chain", "root.pem",
            )  # fmt: skip
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


def archive_of(root: Path, signed: bytes, unsigned: bytes, files: dict[str, bytes], facts) -> DirectoryArchive:
    archive = DirectoryArchive(root)
    made = Rendered(unsigned, signed, page_count(unsigned), files)
    manifest = build_manifest(decide((), "2026-06", facts.digest), facts, made, reason=None, built_at=BUILT_AT)
    archive.put_revision("2026-06", 1, made.files(manifest), retain_until(BUILT_AT, 7))
    return archive


def test_a_stamped_report_verifies_with_its_root_and_not_with_another(
    authority: Authority, service: str, tmp_path: Path
) -> None:
    facts = inputs("2026-06")
    report = build_report(
        samples.inputs(
            signed=True,
            input_digest=facts.digest,
            policy_digest=facts.policy_digest,
            code_version=facts.code_version,
        )
    )
    files = attachments(report)
    unsigned = render(report, files)
    signed = sign(unsigned, SigningConfig(authority.p12, PASSWORD, service))
    assert signed is not None
    assert signed.startswith(unsigned)
    archive = archive_of(tmp_path / "archive", signed, unsigned, files, facts)

    def check(*roots: bytes) -> tuple[int, bool, str]:
        result = verify.verify_month(archive, "2026-06", Tools(read_pdf, signature_reader(roots)))
        (found,) = [item for item in result.checks if item.name_fr == "Signature"]
        return result.exit_code, found.warning, found.detail_fr

    code, warning, detail = check(authority.root)
    assert (code, warning) == (0, False), detail
    assert "certificat reconnu" in detail
    assert "horodatée du" in detail
    code, warning, detail = check()
    assert (code, warning) == (0, True), detail
    code, _, detail = check(make_authority(tmp_path / "other").root)
    assert code == 1
    assert "non reconnu" in detail


def test_a_service_that_answers_rubbish_stops_the_signature(authority: Authority) -> None:
    class Rubbish(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", "7")
            self.end_headers()
            self.wfile.write(b"rubbish")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing: the test's output stays clean."""

    server = HTTPServer(("127.0.0.1", 0), Rubbish)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    report = build_report(samples.inputs(signed=True))
    try:
        with pytest.raises(SigningError) as caught:
            sign(render(report, {}), SigningConfig(authority.p12, PASSWORD, f"http://127.0.0.1:{server.server_port}/"))
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
    assert "\n" not in str(caught.value)
    assert PASSWORD not in str(caught.value).split()
