"""PAdES signature of the report with pyHanko: sign when a certificate is configured, read signatures back
offline.

Without a certificate there is no signature and the report says so; a certificate that cannot be used is an
error, never a silent fall-back. Passwords and keys appear in no message. The signature time is the one
value here that comes from the machine's clock: it is in the signed file and has no part in the unsigned
bytes.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from compliance_pipelines.core.evidence import EvidenceError
from compliance_pipelines.core.verify_revision import SignatureFacts

if TYPE_CHECKING:
    from asn1crypto.x509 import Certificate
    from pyhanko.sign.signers import SimpleSigner
    from pyhanko.sign.validation.pdf_embedded import EmbeddedPdfSignature

FIELD_NAME = "Signature1"
REASON = "Rapport mensuel d’audit des biais"
MAX_SIGNATURES = 10


class SigningError(EvidenceError):
    """The certificate or the time-stamp service cannot be used: one French line without path or password."""


@dataclass(frozen=True, slots=True)
class SigningConfig:
    """A PKCS#12 file with certificate, key and chain. With `tsa_url` the profile is PAdES B-T, otherwise
    B-B.
    """

    p12: Path
    password: str = field(repr=False)
    tsa_url: str | None = None
    timeout_seconds: int = 30


def sign(pdf: bytes, config: SigningConfig | None) -> bytes | None:
    """Sign `pdf` and return the longer file; None when no certificate is configured.

    The result begins with the unsigned bytes and one newline (PDF/A wants the end-of-file mark on a line of
    its own before an increment), so that the unsigned digest can be checked inside the signed file.
    """
    if config is None:
        return None
    from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
    from pyhanko.sign.fields import SigSeedSubFilter
    from pyhanko.sign.signers import PdfSignatureMetadata, PdfSigner
    from pyhanko.sign.timestamps import HTTPTimeStamper, TimestampRequestError

    meta = PdfSignatureMetadata(
        field_name=FIELD_NAME, md_algorithm="sha256", subfilter=SigSeedSubFilter.PADES, reason=REASON
    )
    stamper = HTTPTimeStamper(config.tsa_url, timeout=config.timeout_seconds) if config.tsa_url else None
    signer = PdfSigner(meta, _load_signer(config), timestamper=stamper)
    with quiet():
        try:
            output = signer.sign_pdf(IncrementalPdfFileWriter(io.BytesIO(pdf + b"\n")))
        except (TimestampRequestError, OSError) as error:
            raise SigningError("signature : le service d’horodatage (REPORT_TSA_URL) ne répond pas") from error
        except Exception as error:  # noqa: BLE001 - a parser of certificates and PDF: any of its errors is this one
            raise SigningError(f"signature : échec de la signature du PDF ({type(error).__name__})") from None
    return output.getvalue()


def signature_reader(roots: Sequence[bytes] = ()) -> Callable[[bytes], tuple[SignatureFacts, ...]]:
    """Make the reader that `verify` wants. `roots` are PEM or DER certificates to trust; without any,
    `trusted` is None.

    Works offline: no revocation list is fetched and the signer's own time is the moment of validation.
    """
    anchors = [certificate for root in roots for certificate in _certificates(root)]

    def read(pdf: bytes) -> tuple[SignatureFacts, ...]:
        from pyhanko.pdf_utils.reader import PdfFileReader

        with quiet():
            try:
                found = PdfFileReader(io.BytesIO(pdf)).embedded_regular_signatures
                # One more than may be there is enough to see that there are too many.
                facts = tuple(_facts(item, anchors) for item in found[: MAX_SIGNATURES + 1])
            except Exception as error:  # noqa: BLE001 - a PDF from outside may break the parser in any way
                raise EvidenceError(f"signature : illisible ({type(error).__name__})") from None
        if len(facts) > MAX_SIGNATURES:
            raise EvidenceError(f"signature : attendu au plus {MAX_SIGNATURES} signatures")
        return facts

    return read


def _facts(found: EmbeddedPdfSignature, anchors: Sequence[Certificate]) -> SignatureFacts:
    from pyhanko.sign.validation import SignatureCoverageLevel, validate_pdf_signature
    from pyhanko_certvalidator import ValidationContext

    context = ValidationContext(trust_roots=list(anchors), moment=found.self_reported_timestamp, allow_fetching=False)
    status = validate_pdf_signature(found, context, ts_validation_context=context)
    stamp = status.timestamp_validity
    intact = bool(status.intact and status.valid and (stamp is None or (stamp.intact and stamp.valid)))
    covers = status.coverage == SignatureCoverageLevel.ENTIRE_FILE
    trusted = bool(status.trusted and (stamp is None or stamp.trusted)) if anchors else None
    words = {True: "certificat reconnu", False: "certificat non reconnu", None: "autorité non vérifiée"}
    moment = stamp.timestamp if stamp else found.self_reported_timestamp
    source = "horodatée" if stamp else "datée par le signataire"
    when = f", {source} du {moment.astimezone(UTC):%d/%m/%Y à %H:%M} UTC" if moment else ""
    state = "intègre" if intact else "rompue"
    scope = "tout le fichier" if covers else "une partie du fichier"
    return SignatureFacts(intact, covers, trusted, f"signature {state}, couvre {scope}, {words[trusted]}{when}")


def _load_signer(config: SigningConfig) -> SimpleSigner:
    from pyhanko.sign.signers import SimpleSigner

    try:
        content = config.p12.read_bytes()
    except OSError:
        raise SigningError("signature : REPORT_SIGNING_P12 : attendu un fichier PKCS#12 lisible") from None
    try:
        return SimpleSigner.load_pkcs12_data(content, other_certs=[], passphrase=config.password.encode("utf-8"))
    except Exception:  # noqa: BLE001 - the library raises what its parsers raise; none may show the password
        raise SigningError(
            "signature : REPORT_SIGNING_P12 : certificat illisible ou REPORT_SIGNING_PASSWORD erroné"
        ) from None


def _certificates(content: bytes) -> list[Certificate]:
    from asn1crypto import pem, x509

    try:
        if pem.detect(content):
            return [x509.Certificate.load(der) for _, _, der in pem.unarmor(content, multiple=True)]
        return [x509.Certificate.load(content)]
    except (ValueError, TypeError):
        raise SigningError("signature : racine de confiance : attendu un certificat PEM ou DER") from None


class quiet:  # noqa: N801 - used as a statement
    """Keep the library's own log lines (they quote names and paths) out of the program's output."""

    _names = ("pyhanko", "pyhanko_certvalidator")

    def __enter__(self) -> None:
        self._levels = [logging.getLogger(name).level for name in self._names]
        for name in self._names:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    def __exit__(self, *_: object) -> None:
        for name, level in zip(self._names, self._levels, strict=True):
            logging.getLogger(name).setLevel(level)
