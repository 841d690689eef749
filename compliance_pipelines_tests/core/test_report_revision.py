"""A revision says why it is there: what it replaces, every policy key that moved, judge, code, data, verdicts."""

import dataclasses
import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from compliance_pipelines.core import policy_archive, report_revision
from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.evidence import (
    MANIFEST_NAME,
    EvidenceError,
    Manifest,
    build_manifest,
    decide,
    pdf_name,
)
from compliance_pipelines.core.policy_archive import (
    POLICY_NAME,
    archived_digest,
    policy_digest,
    policy_json,
    read_policy_json,
)
from compliance_pipelines.core.ports import Check
from compliance_pipelines.core.records import Aggregate, Verdict
from compliance_pipelines.core.verify_revision import check_files
from compliance_pipelines_tests.evidence_samples import TOOLS, inputs, rendered

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


LABELS = {"direction-rh": "RH", "direction-finance": "Finance"}
OLD = {
    "thresholds.yaml": "effective_from: 2026-01-01\n# un mot\ncitation_compliance: 0.80\nmin_n: 30\n",
    "departments.yaml": "effective_from: 2026-01-01\ndepartments:\n  - id: direction-finance\n    risk: HIGH\n"
    "    report_threshold: 0.70\n    resolution:\n      key_aliases: [a, b]\n",
    "prompts/finance.md": "---\neffective_from: 2026-01-01\nalias: finance\n---\nCiter la source.\nNe rien inventer.\n",
    "legal.yaml": "effective_from: 2026-01-01\nas_of: 2026-01-01\n",
}
NEW = {
    "thresholds.yaml": "effective_from: 2026-06-10\ncitation_compliance: 0.70\nmin_n: 30\nqueue_below: 0.6\n",
    "departments.yaml": "effective_from: 2026-06-15\ndepartments:\n  - id: direction-finance\n    risk: LOW\n"
    "    report_threshold: 0.65\n    resolution:\n      key_aliases: [b, c]\n",
    "prompts/finance.md": "---\neffective_from: 2026-06-01\nalias: finance\n---\nCiter la source.\n",
    "legal.yaml": "effective_from: 2026-06-20\nas_of: 2026-06-20\n",
}


def archived_with(texts: dict[str, str]) -> Manifest:
    """The manifest of a revision whose archived policy is `texts`."""
    made = dataclasses.replace(inputs(), policy_digest=policy_digest(texts))
    decision = decide((), "2026-06", made.digest)
    return build_manifest(decision, made, rendered(decision), reason=None, built_at=WHEN)


def told(found: report_revision.Since, content: bytes = b"", rows: Sequence[Aggregate] = (ROW,)) -> list[tuple]:
    lines = report_revision.changes(found, content, rows, LABELS)
    return [(str(c.day) if c.day else "", c.kind, c.description_fr) for c in lines]


def since(old: dict[str, str] = OLD, new: dict[str, str] = NEW, **changes) -> report_revision.Since:
    made = dataclasses.replace(inputs(), policy_digest=policy_digest(new), **changes)
    return report_revision.since(archived_with(old), policy_json(old), made, new)


def test_every_key_of_the_policy_is_named_old_to_new_with_its_own_date() -> None:
    assert told(since()) == [
        ("", "révision", f"remplace la révision 1 du 1er{fmt.NBSP}juin 2026"),
        (
            "2026-06-15", "seuil",
            "Finance, classe de risque (departments.risk) : « HIGH » → « LOW »",
        ),
        ("2026-06-15", "seuil", "Finance, seuil de neutralité du rapport (departments.report_threshold) : 0,7 → 0,65"),
        ("2026-06-15", "seuil", "Finance, departments.resolution.key_aliases : retiré : « a » → ajouté : « c »"),
        ("2026-06-20", "politique", "legal.as_of : 01/01/2026 → 20/06/2026"),
        ("2026-06-01", "invite", "prompts/finance.texte : retiré : « Ne rien inventer. » → rien d’ajouté"),
        ("2026-06-10", "seuil", "seuil de citation des sources (thresholds.citation_compliance) : 0,8 → 0,7"),
        ("2026-06-10", "seuil", "note sous laquelle une personne relit (thresholds.queue_below) : absent → 0,6"),
    ]  # fmt: skip


def test_a_comment_is_no_key() -> None:
    new = {**OLD, "thresholds.yaml": OLD["thresholds.yaml"].replace("# un mot\n", "")}
    lines = told(since(new=new))
    assert lines[1:] == [
        ("2026-01-01", "seuil", "thresholds.yaml : commentaires ou mise en forme, aucune valeur changée")
    ]


def test_the_reason_says_what_changed_policy_first() -> None:
    found = since(code_version="0.2.0", scheduled_at=datetime(2026, 7, 3, 4, tzinfo=UTC))
    assert found.reason_fr.startswith("recalcul – politique : departments[direction-finance].risk")
    assert "données tardives admises : arrêté des données déplacé du 01/07/2026 06:00 au 03/07/2026 06:00" in (
        found.reason_fr
    )
    assert found.reason_fr.endswith("code : 0.1.0 → 0.2.0")
    assert len(found.reason_fr) <= report_revision.MAX_REASON


def test_data_alone_is_named_by_what_it_is() -> None:
    data = tuple(item.model_copy(update={"sha256": "0" * 64}) for item in inputs().data)
    found = since(new=OLD, data=data)
    assert found.reason_fr == "recalcul – données modifiées : mesures mensuelles"
    assert told(found)[0][2].endswith(" ; données modifiées : mesures mensuelles")


def test_another_judge_is_named() -> None:
    judge = inputs().judge.model_copy(update={"model": "autre/1"})
    found = since(new=OLD, judge=judge)
    assert ("", "juge", f"{inputs().judge.model} → autre/1") in told(found)
    assert found.reason_fr.startswith("recalcul – juge : ")
    again = inputs().judge.model_copy(update={"prompt_sha256": "1" * 64})
    assert since(new=OLD, judge=again).judge_fr == f"{again.model} : invite modifiée"


def test_nothing_changed_but_the_page() -> None:
    assert since(new=OLD).reason_fr == "recalcul – mise en page seule"


def test_without_the_archived_policy_the_printed_thresholds_are_all_that_is_told() -> None:
    made = dataclasses.replace(inputs(), policy_digest="0" * 64)
    for damaged in (b"", b"{", b"[]", policy_json(NEW)):
        found = report_revision.since(manifest(), damaged, made, NEW)
        lines = told(found, figures(0.8))
        assert ("", "seuil", "Citation des sources : 0,80 → 0,70 (RH)") in lines
        assert any("sans le détail de la sienne" in line[2] for line in lines)
        assert found.reason_fr == "recalcul – politique modifiée"
    assert not [c for c in told(report_revision.since(manifest(), b"", made, NEW), figures(0.7)) if c[1] == "seuil"]


def test_unreadable_figures_leave_the_replacement_line() -> None:
    for damaged in (b"", b"{", b"[]", b'{"figures": 3}'):
        assert len(told(since(new=OLD), damaged)) == 1


def test_a_verdict_that_changed_is_named_by_labels() -> None:
    row = {"department": "direction-rh", "metric": "citation_compliance", "name": "verdict", "value": "Non conforme"}
    lines = told(since(new=OLD), json.dumps({"figures": [row]}).encode())
    assert lines[1:] == [("", "verdict", "Citation des sources : Non conforme → Indicatif (RH)")]


def test_judge_and_code_of_the_month_before_are_told() -> None:
    made = dataclasses.replace(inputs(), code_version="9")
    assert [c.kind for c in report_revision.since_month(manifest(), made)] == ["code"]
    assert report_revision.since_month(None, made) == ()


def test_the_archived_policy_gives_its_digest_again() -> None:
    content = policy_json({**OLD, "retired.yaml": "x"})
    assert "retired.yaml" not in read_policy_json(content)
    assert policy_digest(read_policy_json(content)) == policy_digest(OLD)
    for bad in (b"", b"[]", b'{"files": {"a": 1}}', b"[" * 100_000):
        with pytest.raises(EvidenceError):
            read_policy_json(bad)


TEXTS = {"thresholds.yaml": "min_n: 30\n", "rules/counterfactual.yaml": "a: é\n", "retired.yaml": "lines: []\n"}
# Written down once: whatever the releases to come count, these documents stand for these digests.
_FILES = b'"files":{"rules/counterfactual.yaml":"a: \xc3\xa9\\n","thresholds.yaml":"min_n: 30\\n"}'
V1 = b"{" + _FILES + b',"schema":"compliance-policy/1"}\n'
V2 = b"{" + _FILES + b',"in_digest":["thresholds.yaml"],"schema":"compliance-policy/2"}\n'
V1_DIGEST = "cf5081fc29b56b8a159b5d0912ebcc30c08b4b95b7ca14a7790ff682ddfaaadc"
V2_DIGEST = "42917c5e41b5ecc0975d7cb336953e148f8fe5c7366925886796c90ad814264f"


def test_a_later_release_that_counts_other_files_leaves_archived_policies_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert policy_json(TEXTS) == V2
    assert policy_digest(TEXTS) == V2_DIGEST
    for counted in (policy_archive.NOT_IN_DIGEST, frozenset({"thresholds.yaml"}), frozenset()):
        monkeypatch.setattr(policy_archive, "NOT_IN_DIGEST", counted)
        assert archived_digest(V1) == V1_DIGEST
        assert archived_digest(V2) == V2_DIGEST


@pytest.mark.parametrize(
    "bad",
    [
        V2.replace(b"policy/2", b"policy/3"),
        V2.replace(b'["thresholds.yaml"]', b'["absent.yaml"]'),
        V2.replace(b'["thresholds.yaml"]', b'"thresholds.yaml"'),
        V2.replace(b'["thresholds.yaml"]', b"[[]]"),
        V2.replace(b'"in_digest":["thresholds.yaml"],', b""),
    ],
)
def test_a_policy_document_of_another_shape_is_one_line(bad: bytes) -> None:
    with pytest.raises(EvidenceError, match="attendu schema"):
        archived_digest(bad)


def test_verify_computes_the_policy_digest_again() -> None:
    before = archived_with(OLD)

    def checked(content: bytes) -> Check:
        files = {MANIFEST_NAME: before.to_bytes(), POLICY_NAME: content}
        found = check_files(files, pdf_name(before.month), TOOLS)
        return next(one for one in found if one.name_fr == "Politique archivée")

    assert checked(policy_json(OLD)).ok
    assert not checked(policy_json({**OLD, "thresholds.yaml": OLD["thresholds.yaml"].replace("0.80", "0.70")})).ok
    assert not checked(policy_json(NEW)).ok
    assert not checked(b"{").ok
