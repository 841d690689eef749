"""How asset checks are made: a sentence that is true when it passes, a function over the partitions of the run.

Structural checks block what follows; findings about conformity only warn, because a bad score must never stop the
report that documents it.
"""

from collections.abc import Callable

import dagster as dg
import pandas as pd

from compliance_pipelines.io_manager import Days

# partition key and its table -> what is wrong there (counts and ids of departments only), or None
Finding = Callable[[str, pd.DataFrame], str | None]


def partition_check(
    asset: dg.AssetKey, sentence: str, description: str, finding: Finding, *, blocking: bool
) -> dg.AssetChecksDefinition:
    """A check named `sentence` on each partition of the run."""

    @dg.asset_check(asset=asset, name=sentence, description=description, blocking=blocking)
    def check(days: Days) -> dg.AssetCheckResult:
        wrong = [f"{day} : {found}" for day, table in days if (found := finding(day, table)) is not None]
        return dg.AssetCheckResult(
            passed=not wrong,
            severity=dg.AssetCheckSeverity.ERROR if blocking else dg.AssetCheckSeverity.WARN,
            metadata={"constats": dg.MetadataValue.md("\n".join(f"- {line}" for line in wrong[:40]) or "aucun")},
        )

    return check
