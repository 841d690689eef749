"""The manifest of an archived report: what was used, what was produced, and what was archived before it.

Lives here: canonical JSON, digests, the `Manifest` model and its reader. Deciding whether a report is a new
version is `evidence`, the order of the archive is `evidence_chain`, checking is `verify`. Serves the rule
that evidence has one byte form, so that any change to it can be seen years later from the archive alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

MANIFEST_NAME: Final = "manifest.json"
MANIFEST_SCHEMA: Final = "compliance-manifest/1"
MAX_MANIFEST_BYTES: Final = 1_000_000
_MONTH: Final = r"^[0-9]{4}-(0[1-9]|1[0-2])$"
_INSTANT: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z$"
_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Month = Annotated[str, Field(pattern=_MONTH)]
FileName = Annotated[str, Field(pattern=_NAME)]


def _real_instant(text: str) -> str:
    """The pattern lets 31 February through; reading it does not."""
    datetime.fromisoformat(text)
    return text


Instant = Annotated[str, Field(pattern=_INSTANT), AfterValidator(_real_instant)]


class EvidenceError(ValueError):
    """Evidence is not usable as given; the message is one French line that holds no trace text."""


def pdf_name(month: str) -> str:
    """Name of the month's PDF in every archive: the key that people already fetch."""
    return f"bias-report-{require_month(month)}.pdf"


def require_month(month: str) -> str:
    """Return `month` when it reads "YYYY-MM"; raise EvidenceError otherwise."""
    if not re.fullmatch(_MONTH, month, re.ASCII) or month.endswith("\n") or month.startswith("0000"):
        raise EvidenceError("mois : attendu AAAA-MM, par exemple 2026-06")
    return month


def sha256(content: bytes) -> str:
    """SHA-256 of `content`, 64 lower-case hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def utc_text(moment: datetime) -> str:
    """An aware datetime as ISO 8601 in UTC with "Z"; microseconds only when there are any."""
    if moment.utcoffset() is None:
        raise EvidenceError("date : attendu une date avec fuseau horaire")
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def _refuse_floats(value: object, depth: int = 0) -> None:
    """A float prints differently from one library to the next, so none may enter a digest."""
    if depth > 40:
        raise EvidenceError("JSON : attendu moins de 40 niveaux")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise EvidenceError("JSON : attendu des clés de texte")
            _refuse_floats(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_floats(item, depth + 1)
    elif value is not None and not isinstance(value, str | int):
        raise EvidenceError("JSON : attendu texte, entier, booléen, liste ou objet (aucun nombre à virgule)")


def canonical_json(value: object) -> bytes:
    """The one byte form of `value`: sorted keys, no spaces, UTF-8, a newline at the end; no floats."""
    _refuse_floats(value)
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError as error:
        raise EvidenceError("JSON : attendu un texte encodable en UTF-8") from error


def read_canonical(content: bytes, what: str) -> dict[str, object]:
    """Read a JSON object and refuse it unless `content` is exactly its canonical form.

    Duplicate keys, spaces, other number spellings and a missing newline are all caught by writing it again.
    `what` is the French name of the document for the message.
    """
    if len(content) > MAX_MANIFEST_BYTES:
        raise EvidenceError(f"{what} : attendu moins de {MAX_MANIFEST_BYTES} octets")
    try:
        value = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise EvidenceError(f"{what} : attendu un objet JSON en UTF-8") from error
    if not isinstance(value, dict):
        raise EvidenceError(f"{what} : attendu un objet JSON")
    try:
        again = canonical_json(value)
    except EvidenceError as error:
        raise EvidenceError(str(error).replace("JSON", what, 1)) from None
    if again != content:
        raise EvidenceError(f"{what} : attendu la forme canonique (clés triées, sans espaces, fin de ligne)")
    return value


class _Part(BaseModel):
    """Strict and frozen: an unknown key or a wrong type refuses the whole manifest."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class PdfDigest(_Part):
    """The PDF before and, when a certificate is configured, after signing."""

    sha256_unsigned: Sha256
    sha256_signed: Sha256 | None
    pages: Annotated[int, Field(ge=1)]

    @property
    def sha256_archived(self) -> str:
        """Digest of the bytes that were archived: the signed ones when there are any."""
        return self.sha256_signed or self.sha256_unsigned


class AttachmentDigest(_Part):
    """One file archived beside the PDF and, for the figures, embedded in it."""

    name: FileName
    sha256: Sha256


class DataDigest(_Part):
    """One asset that the figures follow from: its partitions, how many rows, and their digest."""

    asset: Annotated[str, Field(min_length=1, max_length=200)]
    partitions: Annotated[tuple[str, ...], Field(strict=False)]
    rows: Annotated[int, Field(ge=0)]
    sha256: Sha256


class Judge(_Part):
    """Who judged: model name, its digest, the digest of its prompt, and the calibration in words or None."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    digest: str | None
    prompt_sha256: Sha256 | None
    calibration: str | None


class Window(_Part):
    """The half-open period judged, in UTC, and the time zone whose calendar month it is."""

    start: Instant
    end: Instant
    timezone: str


class Previous(_Part):
    """The manifest archived just before this one, whatever its month."""

    month: Month
    revision: Annotated[int, Field(ge=1)]
    manifest_sha256: Sha256


class Manifest(_Part):
    """Everything a reader needs to check an archived report; the shape stands in docs/interfaces.md."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", populate_by_name=True)

    schema_: Annotated[Literal["compliance-manifest/1"], Field(alias="schema")] = MANIFEST_SCHEMA
    month: Month
    revision: Annotated[int, Field(ge=1)]
    reason: Annotated[str, Field(min_length=1, max_length=500)] | None
    input_digest: Sha256
    pdf: PdfDigest
    attachments: Annotated[tuple[AttachmentDigest, ...], Field(strict=False)]
    data: Annotated[tuple[DataDigest, ...], Field(strict=False)]
    policy_digest: Sha256
    code_version: Annotated[str, Field(min_length=1, max_length=200)]
    judge: Judge
    window: Window
    scheduled_at: Instant
    built_at: Instant
    previous: Previous | None
    chain_index: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        names = [item.name for item in self.attachments]
        if names != sorted(set(names)):
            raise ValueError("attachments: noms triés et uniques")
        if {MANIFEST_NAME, pdf_name(self.month)} & set(names):
            raise ValueError("attachments: ni le PDF ni le manifeste")
        if (self.previous is None) != (self.chain_index == 0):
            raise ValueError("previous: absent pour le premier maillon seulement")
        if self.revision > 1 and not (self.reason or "").strip():
            raise ValueError("reason: un motif pour chaque révision")
        return self

    def to_bytes(self) -> bytes:
        """The archived bytes of this manifest."""
        return canonical_json(self.model_dump(mode="json", by_alias=True))

    @property
    def sha256(self) -> str:
        """Digest of the archived bytes: what the next manifest refers to."""
        return sha256(self.to_bytes())

    @property
    def recomputed_input_digest(self) -> str:
        """What `input_digest` must be, given the inputs that this manifest lists."""
        names = ("data", "policy_digest", "code_version", "judge", "window", "scheduled_at")
        fields = self.model_dump(mode="json")
        return input_digest({name: fields[name] for name in names})

    @property
    def expected_files(self) -> dict[str, str]:
        """Name → sha256 of every file archived with this manifest, itself excepted."""
        return {
            pdf_name(self.month): self.pdf.sha256_archived,
            **{item.name: item.sha256 for item in self.attachments},
        }


def read_manifest(content: bytes) -> Manifest:
    """Read archived manifest bytes; all but the canonical form of a valid manifest is an EvidenceError."""
    value = read_canonical(content, "manifeste")
    try:
        return Manifest.model_validate(value)
    except ValidationError as error:
        raise EvidenceError(first_problem(error, "manifeste")) from None


def first_problem(error: ValidationError, what: str) -> str:
    """The first finding of pydantic as one French line naming the key; values are never repeated."""
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"]) or "document"
    detail = str(first["ctx"]["error"]) if first["type"] == "value_error" else first["type"]
    return f"{what} : {key} : attendu une valeur conforme ({detail})"


def input_digest(fields: Mapping[str, object]) -> str:
    """The digest of a report's inputs from their JSON form; the same from live inputs and from a manifest."""
    data = fields["data"]
    rows = sorted(data, key=canonical_json) if isinstance(data, list) else data
    return sha256(canonical_json({**fields, "data": rows}))
