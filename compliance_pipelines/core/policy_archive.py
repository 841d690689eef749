"""`policy.json`: the text of the policy that judged a month, archived beside its report.

The manifest holds the digest of the policy; years later a digest alone proves nothing to someone without the folder.
With the texts the thresholds of the day can be read, the digest computed again, and a revision can name each key that
moved. Ledgers (corrective actions, retired lines) judge nothing and are left out. The document says itself which of its
files make the digest: a later release that counts others must not make this one false. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from compliance_guardrails.policy.versions import LEDGERS, NOT_IN_DIGEST, digest_over

from compliance_pipelines.core.evidence import EvidenceError, canonical_json

POLICY_NAME = "policy.json"
SCHEMA = "compliance-policy/2"
_ALL_IN_DIGEST = "compliance-policy/1"  # every file of such a document makes its digest
MAX_BYTES = 16_000_000


def policy_json(texts: Mapping[str, str]) -> bytes:
    """The canonical bytes for `texts` (name in the policy folder → content)."""
    kept = {name: text for name, text in texts.items() if name not in LEDGERS}
    return canonical_json({"schema": SCHEMA, "files": kept, "in_digest": sorted(kept.keys() - NOT_IN_DIGEST)})


def read_policy_json(content: bytes) -> dict[str, str]:
    """Name → text; EvidenceError on anything that is not such a document."""
    return _read(content)[0]


def archived_digest(content: bytes) -> str:
    """The policy digest that an archived document stands for, by what it says itself; EvidenceError as above."""
    files, counted = _read(content)
    return _digest({name: files[name] for name in counted})


def _read(content: bytes) -> tuple[dict[str, str], list[str]]:
    """The texts and the names of those that make the digest."""
    if len(content) > MAX_BYTES:
        raise EvidenceError(f"{POLICY_NAME} : attendu moins de {MAX_BYTES} octets")
    try:
        document = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise EvidenceError(f"{POLICY_NAME} : attendu un objet JSON en UTF-8") from None
    files = document.get("files") if isinstance(document, dict) else None
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise EvidenceError(f"{POLICY_NAME} : files : attendu un texte par fichier de politique")
    schema = document.get("schema")
    if schema == _ALL_IN_DIGEST:
        return files, list(files)
    counted = document.get("in_digest")
    if schema != SCHEMA or not isinstance(counted, list) or not all(name in files for name in map(str, counted)):
        raise EvidenceError(f"{POLICY_NAME} : attendu schema {SCHEMA} et in_digest, des fichiers du document")
    return files, [str(name) for name in counted]


def policy_digest(texts: Mapping[str, str]) -> str:
    """The digest of a policy folder, computed from its texts as the loader computes it from the files."""
    return _digest({name: text for name, text in texts.items() if name not in NOT_IN_DIGEST})


def _digest(texts: Mapping[str, str]) -> str:
    return digest_over(
        {name: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for name, text in texts.items()}
    )
