"""Whether a month's nights need computing again: a fingerprint over all that they are made from and what was stored.

It serves the command on an export with the lexical evaluator, where everything that a night depends on can be hashed.
With a server or a judge nobody can say beforehand that nothing changed, so those nights always run; what is unchanged
in them is reused partition by partition (io_manager.once).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from pathlib import Path

from compliance_pipelines.adapters.langfuse_export import ExportReader
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.code_identity import code_identity
from compliance_pipelines.core.periods import Month
from compliance_pipelines.resources import PolicyResource, TraceSourceResource
from compliance_pipelines.settings import pseudonym_key

_BLOCK = 1 << 20


def unchanged(month: Month, tables: tuple[str, ...], source: TraceSourceResource, policy: PolicyResource) -> bool:
    """True when the nights of `month` were computed from these very inputs and every table is as it was left."""
    try:
        noted = _note(source, month).read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return noted == fingerprint(month, tables, source, policy)


def remember(month: Month, tables: tuple[str, ...], source: TraceSourceResource, policy: PolicyResource) -> None:
    """Note, after a run that succeeded, what the nights of `month` were made from."""
    note = _note(source, month)
    temporary = note.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(fingerprint(month, tables, source, policy), encoding="utf-8")
    temporary.replace(note)


def fingerprint(month: Month, tables: tuple[str, ...], source: TraceSourceResource, policy: PolicyResource) -> str:
    """sha256 over code, policy of the month, export (names and bytes), pseudonym key, and the stored values."""
    store, days = TableStore(Path(source.home) / "data"), [day.isoformat() for day in month.days()]
    key, _ = pseudonym_key(source.hmac_key_variable)
    whole = hmac.new(key, digestmod=hashlib.sha256)  # a digest with the key, never the key
    whole.update(json.dumps([code_identity(), policy.of(month).digest, str(month), tables]).encode())
    reader = source.reader(policy.of(month))
    if not isinstance(reader, ExportReader):
        raise TypeError("the rows of a server have no fingerprint")
    for path in reader.files():
        whole.update(str(path).encode("utf-8", "surrogateescape"))
        with path.open("rb") as handle:
            while block := handle.read(_BLOCK):
                whole.update(block)
    for table in tables:
        for day in days:
            whole.update(json.dumps([table, day, store.notes(table.split("/"), day)], sort_keys=True).encode())
    return whole.hexdigest()


def _note(source: TraceSourceResource, month: Month) -> Path:
    return Path(source.home) / "state" / f"nights-{month}.sha256"
