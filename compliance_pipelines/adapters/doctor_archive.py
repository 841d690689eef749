"""Probe of the evidence bucket: Object Lock, versions, lifecycle; listing and retention readable; with `write` a put.

A write test leaves a locked object behind for some minutes, so it is made only when asked for. Its retention is read
back: a store that accepts the header and locks nothing is found out. Serves `compliance doctor`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from compliance_pipelines.adapters.archive_s3_bucket import PREFIXES, PROBE_KEY, LockedBucket, S3Config
from compliance_pipelines.adapters.doctor_finding import Finding, ProbeError, State
from compliance_pipelines.core.evidence_lifecycle import fix_fr, read_rules
from compliance_pipelines.core.ports import ArchiveUnavailableError
from compliance_pipelines.core.retention import retain_until

PROBE_MINUTES = 5
_VARIABLE = "S3_ENDPOINT"


def archive(config: S3Config, now: datetime, *, write: bool, years: int = 7) -> Finding:
    """Check what archiving needs; `now` (UTC) dates the probe object, `years` is the policy's retention."""
    try:
        bucket = LockedBucket(config)
        bucket.require_lock()
        chain = [item for item in bucket.versions("chain/") if not item.is_delete_marker]
        if chain and bucket.retention(chain[-1].key, chain[-1].version_id) is None:
            raise ProbeError(
                f"compartiment {config.bucket} : {chain[-1].key} est sans conservation ; ne rien effacer, prévenir la "
                "conformité (compliance report verify --all)"
            )
        lifecycle = _lifecycle(bucket, now, years)
        tried = _write(bucket, now) if write else "dépôt non essayé (compliance doctor --write l’essaie)"
    except ArchiveUnavailableError as error:
        away = "ne répond pas" in str(error)
        hint = (
            "vérifiez S3_ENDPOINT et le réseau" if away else "droits attendus : voir k8s/components/bucket/policy.json"
        )
        raise ProbeError(f"{error} ; {hint}", away=away) from None
    line = f"compartiment {config.bucket} : Object Lock et versions actifs, {len(chain)} rapport(s) archivé(s), "
    line += f"{lifecycle}, {tried}"
    return Finding("archive", _VARIABLE, State.OK, line)


def _lifecycle(bucket: LockedBucket, now: datetime, years: int) -> str:
    """What the bucket's lifecycle would do to a report archived now."""
    rules = bucket.lifecycle()
    if rules is None:
        raise ProbeError(
            f"compartiment {bucket.name} : cycle de vie illisible ; ajoutez le droit s3:GetLifecycleConfiguration "
            "(k8s/components/bucket/policy.json)"
        )
    reading = read_rules(rules, PREFIXES, [(now, retain_until(now, years))])
    if reading.refused:
        fix = fix_fr(bucket.name, rules, reading)
        raise ProbeError(f"compartiment {bucket.name} : {reading.refused[0]} ; lancez : {fix}")
    if reading.reserved:
        return f"cycle de vie à revoir ({reading.reserved[0]})"
    return "cycle de vie sans effet avant la fin de la conservation" if rules else "aucun cycle de vie"


def no_archive() -> Finding:
    """What serves when no store is configured."""
    line = (
        "archive en répertoire : elle ne verrouille rien ; en production, S3_ENDPOINT vers un compartiment Object Lock"
    )
    return Finding("archive", _VARIABLE, State.DEFAULT, line)


def _write(bucket: LockedBucket, now: datetime) -> str:
    until = (now + timedelta(minutes=PROBE_MINUTES)).replace(microsecond=0)
    version = bucket.put(PROBE_KEY, b"compliance doctor\n", until, {})
    kept = bucket.retention(PROBE_KEY, version)
    if kept is None or kept[0] != "COMPLIANCE" or kept[1] < until:
        raise ProbeError(
            f"compartiment {bucket.name} : l’objet d’essai est accepté sans être verrouillé, ce n’est pas du WORM"
        )
    return f"dépôt essayé et verrou relu ({PROBE_KEY}, libre après {PROBE_MINUTES} min)"
