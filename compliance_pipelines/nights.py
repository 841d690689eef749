"""Whether a month's nights need computing again: a digest of all that they are made from and one of what was stored.

It serves the command on an export with the lexical evaluator, where everything that a night depends on can be hashed.
With a server or a judge nobody can say beforehand that nothing changed, so those nights always run; what is unchanged
in them is reused partition by partition (io_manager.once).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

from compliance_guardrails.policy import load_policy

from compliance_pipelines.adapters.langfuse_export import ExportReader
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.adapters.whole_file import replace_file
from compliance_pipelines.code_identity import code_identity
from compliance_pipelines.core.periods import Month
from compliance_pipelines.resources import PolicyResource, TraceSourceResource
from compliance_pipelines.settings import pseudonym_key

_BLOCK = 1 << 20


def inputs(month: Month, source: TraceSourceResource, policy: PolicyResource) -> str:
    """sha256 over code, policy of the month and newest policy, pseudonym key, export (names and bytes).

    To be taken before the run: rows that arrive while it reads then make the nights run again. The newest policy
    counts because Dagster's code versions are made of it: an edit for a later month marks nights stale as well.
    """
    in_force = policy.of(month)
    newest = load_policy(Path(policy.policy_dir) if policy.policy_dir else None)
    whole = _keyed(source)
    whole.update(json.dumps([code_identity(), in_force.digest, newest.digest, str(month)]).encode())
    reader = source.reader(in_force)
    if not isinstance(reader, ExportReader):
        raise TypeError("the rows of a server have no fingerprint")
    for path in reader.files():
        whole.update(str(path).encode("utf-8", "surrogateescape"))
        _add_bytes(whole, path)
    return whole.hexdigest()


def unchanged(month: Month, tables: tuple[str, ...], source: TraceSourceResource, made_from: str) -> bool:
    """True when the nights of `month` were computed from `made_from` and every table is, byte for byte, as left."""
    try:
        noted = _note(source, month).read_bytes()
    except OSError:
        return False
    return noted == _noted(month, tables, source, made_from)


def remember(month: Month, tables: tuple[str, ...], source: TraceSourceResource, made_from: str) -> None:
    """Note, after a run that succeeded, what the nights of `month` were made from and what came of them."""
    replace_file(_note(source, month), _noted(month, tables, source, made_from))


def _noted(month: Month, tables: tuple[str, ...], source: TraceSourceResource, made_from: str) -> bytes:
    store, whole = TableStore(Path(source.home) / "data"), _keyed(source)
    for table in tables:
        for day in month.days():
            path = store.path(table.split("/"), day.isoformat())
            whole.update(json.dumps([table, day.isoformat(), path.exists()]).encode())
            if path.exists():
                _add_bytes(whole, path)
    return f"{made_from} {whole.hexdigest()}".encode()


def _keyed(source: TraceSourceResource) -> hmac.HMAC:
    # a digest with the key, never the key
    key, _ = pseudonym_key(source.hmac_key_variable)
    return hmac.new(key, digestmod=hashlib.sha256)


def _add_bytes(whole: hmac.HMAC, path: Path) -> None:
    with path.open("rb") as handle:
        while block := handle.read(_BLOCK):
            whole.update(block)


def _note(source: TraceSourceResource, month: Month) -> Path:
    return Path(source.home) / "state" / f"nights-{month}.sha256"
