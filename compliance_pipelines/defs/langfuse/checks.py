"""Checks on what was read: structure blocks, silence and unattributed traces warn, a row too few or too many fails."""

from datetime import date

import dagster as dg
import pandas as pd
import pandera.pandas as pa

from compliance_pipelines.core import reconciliation
from compliance_pipelines.core.tables import SCORES, TRACES
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.check_factory import Finding, partition_check
from compliance_pipelines.io_manager import Days


def _schema(schema: pa.DataFrameSchema) -> Finding:
    def finding(_: str, table: pd.DataFrame) -> str | None:
        failed = _failures(schema, table)
        return f"{failed} écart(s) au schéma" if failed else None

    return finding


def _failures(schema: pa.DataFrameSchema, table: pd.DataFrame) -> int:
    import pandera.errors

    try:
        schema.validate(table, lazy=True)
    except pandera.errors.SchemaErrors as errors:
        return len(errors.failure_cases)
    return 0


def _silent(_: str, table: pd.DataFrame) -> str | None:
    return None if len(table) else "aucun échange"


def _unattributed(_: str, table: pd.DataFrame) -> str | None:
    n = int((table["department"] == "non-attribue").sum())
    return f"{n} échange(s) sur {len(table)}" if n else None


def _rejected(_: str, table: pd.DataFrame) -> str | None:
    counts = {k: n for k, n in table.attrs["counts"].items() if k.startswith(("rejected_", "conflicting_"))}
    return ", ".join(f"{name} {n}" for name, n in sorted(counts.items())) or None


traces_schema = partition_check(
    keys.TRACES, "traces_match_their_schema", "Colonnes, types, identifiants uniques.", _schema(TRACES), blocking=True
)
scores_schema = partition_check(
    keys.SCORES, "scores_match_their_schema", "Colonnes et types.", _schema(SCORES), blocking=True
)
no_silent_day = partition_check(
    keys.TRACES, "every_day_has_traces", "Une journée muette est un incident possible.", _silent, blocking=False
)
all_attributed = partition_check(
    keys.TRACES, "every_trace_has_a_department", "Échanges sans direction.", _unattributed, blocking=False
)
all_read = partition_check(
    keys.TRACES, "every_row_was_usable", "Lignes refusées ou contradictoires.", _rejected, blocking=False
)


@dg.asset_check(
    asset=keys.TRACES,
    name="rows_read_match_the_server",
    description="Autant de lignes lues que le serveur en compte, jour par jour (sans objet pour un export).",
)
def rows_read_match_the_server(days: Days) -> dg.AssetCheckResult:
    """Fails on any difference, warns of days that a server did not count; passes, and says so, for an export."""
    counts = [(date.fromisoformat(day), table.attrs["counts"]) for day, table in days]
    found = [reconciliation.day_count(day, kept) for day, kept in counts]
    wrong = [f"- {one.day.isoformat()} : {text}" for one in found if (text := reconciliation.finding(one))]
    unproven = [
        f"- {day.isoformat()} : non compté par le serveur" for day, kept in counts if reconciliation.uncounted(kept)
    ]
    counted = sum(one.server is not None for one in found)
    said = "\n".join([*wrong, *unproven][:40]) or ("aucun écart" if counted else "sans objet : export, rien à compter")
    return dg.AssetCheckResult(
        passed=not (wrong or unproven),
        severity=dg.AssetCheckSeverity.ERROR if wrong or not unproven else dg.AssetCheckSeverity.WARN,
        metadata={"constats": dg.MetadataValue.md(said), "jours rapprochés": counted},
    )
