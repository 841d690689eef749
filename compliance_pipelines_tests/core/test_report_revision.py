"""A revision says in its own change log what it replaces and which thresholds moved."""

import dataclasses
import json
from datetime import UTC, datetime

from compliance_pipelines.core import report_revision
from compliance_pipelines.core.evidence import Manifest, build_manifest, decide
from compliance_pipelines.core.records import Aggregate, Verdict
from compliance_pipelines_tests.evidence_samples import inputs, rendered

WHEN = datetime(2026, 6, 1, tzinfo=UTC)
ROW = Aggregate(
    "direction-rh", WHEN, WHEN, "citation_compliance", 9, 9, 9, 9, 0, 0.5, 0.5, 0.5, 0.5, 0.1, 0.1, 0.9, 0.7,
    Verdict.INDICATIF, None, "p",
)  # fmt: skip


def manifest() -> Manifest:
    decision = decide((), "2026-06", inputs().digest)
    return build_manifest(decision, inputs(), rendered(decision), reason=None, built_at=WHEN)


def figures(threshold: float) -> bytes:
    row = {"department": "direction-rh", "metric": "citation_compliance", "name": "threshold", "value": threshold}
    return json.dumps({"figures": [row]}).encode()


def test_a_loosened_threshold_is_named_with_both_values() -> None:
    before = manifest()
    found = report_revision.changes(before, figures(0.8), inputs(), [ROW])
    assert found[0].description_fr.startswith(f"remplace la révision {before.revision} ; entrées modifiées : ")
    assert [(c.kind, c.description_fr) for c in found[1:]] == [
        ("seuil", "citation_compliance : 0,80 → 0,70 (direction-rh)")
    ]


def test_an_unchanged_threshold_is_not_named() -> None:
    assert len(report_revision.changes(manifest(), figures(0.7), inputs(), [ROW])) == 1
    assert (
        len(report_revision.changes(manifest(), figures(0.8), inputs(), [dataclasses.replace(ROW, threshold=None)]))
        == 1
    )


def test_unreadable_figures_leave_the_replacement_line() -> None:
    for damaged in (b"", b"{", b"[]", b'{"figures": 3}'):
        assert len(report_revision.changes(manifest(), damaged, inputs(), [ROW])) == 1


def test_a_verdict_that_changed_is_named() -> None:
    row = {"department": "direction-rh", "metric": "citation_compliance", "name": "verdict", "value": "Non conforme"}
    found = report_revision.changes(manifest(), json.dumps({"figures": [row]}).encode(), inputs(), [ROW])
    said = [(c.kind, c.description_fr) for c in found[1:]]
    assert said == [("verdict", "citation_compliance : Non conforme → Indicatif (direction-rh)")]
