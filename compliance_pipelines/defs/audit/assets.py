"""`audit/bias_report` and `audit/archive_receipt`: the month's PDF with its manifest, and proof of its archiving.

The report is decided against the archive: unchanged inputs give the archived bytes again and no new version.
"""

from datetime import datetime

import dagster as dg
import pandas as pd

from compliance_pipelines.adapters import bundle
from compliance_pipelines.core.evidence import pdf_name
from compliance_pipelines.core.periods import Month
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.operations import freshness
from compliance_pipelines.defs.partitions import month_key, monthly, nights_of_month
from compliance_pipelines.io_manager import table_metadata
from compliance_pipelines.reporting import build_month, bundle_folder
from compliance_pipelines.resources import ArchiveResource, InstallationResource, PolicyResource, utc_now

NIGHTLY = (
    keys.TRACES,
    keys.SCORES,
    keys.NEUTRALITY,
    keys.CITATIONS,
    keys.FIGURE_GROUNDING,
    keys.DEPARTMENT_DAILY,
    keys.REVIEW_ITEMS,
)


class ReportConfig(dg.Config):
    """`reason` is printed in the manifest of a revision; `cutoff` (ISO) moves the data cut-off explicitly."""

    reason: str = ""
    cutoff: str = ""


@dg.asset(
    key=keys.BIAS_REPORT,
    deps=[
        *(dg.AssetDep(key, partition_mapping=nights_of_month) for key in NIGHTLY),
        keys.DEPARTMENT_MONTHLY,
        keys.COUNTERFACTUAL,
    ],
    partitions_def=monthly,
    group_name="audit",
    owners=keys.OWNERS,
    kinds={"python", "pdf"},
    tags={"regulation/ai-act": "art-13"},
    code_version=keys.code_version("departments", "thresholds", "legal", "report", "grounds"),
    description="Rapport mensuel d'audit des biais (PDF), avec ses données jointes et son manifeste.",
)
def bias_report(
    context: dg.AssetExecutionContext,
    config: ReportConfig,
    archive: ArchiveResource,
    installation: InstallationResource,
) -> dg.MaterializeResult:
    """Build the month's report and leave it beside the tables, ready to be archived."""
    month = Month.parse(month_key(context.partition_key))
    cutoff = datetime.fromisoformat(config.cutoff) if config.cutoff else None
    built = build_month(installation.request(month, cutoff, config.reason), archive.open())
    folder = bundle_folder(installation.path, month)
    bundle.write_bundle(folder, built.files)
    return dg.MaterializeResult(
        metadata={
            "décision": built.decision.kind.value,
            "révision": built.decision.revision,
            "pages": built.manifest.pdf.pages,
            "sha256 du PDF": built.manifest.pdf.sha256_unsigned,
            "empreinte des entrées": built.manifest.input_digest,
            "pdf": dg.MetadataValue.path(str(folder / pdf_name(str(month)))),
        }
    )


@dg.asset(
    key=keys.ARCHIVE_RECEIPT,
    deps=[keys.BIAS_REPORT],
    partitions_def=monthly,
    freshness_policy=freshness.MONTHLY,
    group_name="audit",
    owners=keys.OWNERS,
    kinds={"python", "s3"},
    tags={"regulation/ai-act": "art-12"},
    code_version=keys.code_version("thresholds"),
    description="Preuve d'archivage : clé, version, empreintes, conservation relue.",
)
def archive_receipt(
    context: dg.AssetExecutionContext,
    policy: PolicyResource,
    archive: ArchiveResource,
    installation: InstallationResource,
) -> dg.MaterializeResult:
    """Archive the bundle (once) and write the receipt that the store gave when read back."""
    month = Month.parse(month_key(context.partition_key))
    files = bundle.read_bundle(bundle_folder(installation.path, month))
    years = policy.of(month).thresholds.retention_years
    store = archive.open()
    receipt = store.put_revision(str(month), bundle.revision(files), files, retain_until(utc_now(), years))
    row = {
        "key": receipt.key,
        "version_id": receipt.version_id or "",
        "sha256": receipt.sha256,
        "retain_until": receipt.retain_until,
        "mode": receipt.mode,
        "verified_at": receipt.verified_at,
        "chain_index": receipt.chain_index,
        "chain_sha256": receipt.chain_sha256,
    }
    table = pd.DataFrame([row])
    shown = [(name, str(value)) for name, value in row.items()]
    head = f"{month} révision {receipt.revision}, maillon {receipt.chain_index}, sha256 {receipt.chain_sha256}"
    return dg.MaterializeResult(
        value=[(context.partition_key, table)],
        # Copied where others can see it (minutes, mail), it makes a later rewriting of the chain visible.
        metadata={"reçu": table_metadata(("champ", "valeur"), shown), "empreinte à publier": head},
    )
