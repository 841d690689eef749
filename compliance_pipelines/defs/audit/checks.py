"""The archived evidence verifies itself after each archiving: bytes, attachments, figures, manifest, chain."""

import dagster as dg

from compliance_pipelines.core.verify import verify_month
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.partitions import month_key
from compliance_pipelines.io_manager import Days
from compliance_pipelines.resources import ArchiveResource, verification_tools


@dg.asset_check(
    asset=keys.ARCHIVE_RECEIPT,
    name="the_archived_report_verifies",
    description="Octets, pièces jointes, chiffres imprimés, manifeste, chaîne et conservation.",
)
def archived_report_verifies(receipts: Days, archive: ArchiveResource) -> dg.AssetCheckResult:
    """Verify every month of this run from the archive alone."""
    found = [verify_month(archive.open(), month_key(p), verification_tools()) for p in receipts.partitions]
    lines = [f"- {check.name_fr} : {check.detail_fr}" for one in found for check in one.checks if not check.ok]
    return dg.AssetCheckResult(
        passed=not lines, metadata={"constats": dg.MetadataValue.md("\n".join(lines) or "aucun")}
    )
