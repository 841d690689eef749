"""`policy.json`: the text of the policy that judged a month, archived beside its report.

The manifest holds the digest of the policy; years later a digest alone proves nothing to someone without the folder.
With the texts the thresholds of the day can be read, the digest computed again, and a revision can name each key that
moved. Ledgers (corrective actions, retired lines) judge nothing and are left out. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from compliance_guardrails.policy.versions import LEDGERS, digest_over

from compliance_pipelines.core.evidence import EvidenceError, canonical_json

POLICY_NAME = "policy.json"
SCHEMA = "compliance-policy/1"
MAX_BYTES = 16_000_000


def policy_json(texts: Mapping[str, str]) -> bytes:
    """The canonical bytes for `texts` (name in the policy folder → content)."""
    kept = {name: text for name, text in texts.items() if name not in LEDGERS}
    return canonical_json({"schema": SCHEMA, "files": kept})


def read_policy_json(content: bytes) -> dict[str, str]:
    """Name → text; EvidenceError on anything that is not such a document."""
    if len(content) > MAX_BYTES:
        raise EvidenceError(f"{POLICY_NAME} : attendu moins de {MAX_BYTES} octets")
    try:
        document = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise EvidenceError(f"{POLICY_NAME} : attendu un objet JSON en UTF-8") from None
    files = document.get("files") if isinstance(document, dict) else None
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise EvidenceError(f"{POLICY_NAME} : files : attendu un texte par fichier de politique")
    return files


def policy_digest(texts: Mapping[str, str]) -> str:
    """The digest of a policy folder, computed from its texts as the loader computes it from the files."""
    return digest_over(
        {
            name: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            for name, text in texts.items()
            if name not in LEDGERS
        }
    )
