"""Month over month: arrows only where two months compare, words elsewhere, and never what was masked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from compliance_pipelines.core.evidence import Inputs, Judge, Window
from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.report_inputs import PreviousMonth
from compliance_pipelines.core.report_previous import PolicyFacts, facts_digest, newest_manifest, previous_month
from compliance_pipelines.core.report_tree import Callout, Table, Text
from compliance_pipelines_tests import report_samples as samples
from compliance_pipelines_tests.golden.months import may, shifted

NEUTRALITY, CITATION = "judge_neutrality", "citation_compliance"


def evolution(report, section: int) -> Table:
    tables = [block for block in report.sections[section - 1].blocks if isinstance(block, Table)]
    (found,) = [table for table in tables if any(column.title == "Évolution" for column in table.columns)]
    return found


def rows(report, section: int) -> dict[str, list[str]]:
    return {row[0].text: [cell.text for cell in row[1:]] for row in evolution(report, section).rows}


@pytest.mark.parametrize(
    ("by", "sinistres", "audit"),
    [
        (-0.20, "↗ hausse", "↗ hausse"),
        (+0.10, "↘ baisse", "→ écart non établi"),
        (-0.06, "↗ hausse", "→ écart non établi"),
        (0.0, "→ écart non établi", "→ écart non établi"),
    ],
)
def test_an_arrow_needs_intervals_that_do_not_overlap(by: float, sinistres: str, audit: str) -> None:
    found = rows(build_report(samples.inputs(previous=may(by))), 2)
    assert found["Sinistres"][-1] == sinistres
    assert found["Audit interne"][-1] == audit


def test_signs_and_units() -> None:
    report = build_report(samples.inputs(previous=may(-0.06)))
    assert rows(report, 2)["Sinistres"] == ["847 / 847", "0,75", "0,81", "+0,06", "↗ hausse"]
    assert rows(report, 3)["Sinistres"][3] == "+6,0 pt"
    falling = build_report(samples.inputs(previous=may(0.1)))
    assert rows(falling, 2)["Sinistres"][3] == "−0,10"
    # 0.6996 under a threshold of 0.70 never reads 0,70 here either
    assert rows(report, 2)["Finance"][2] == "0,6996"
    same = build_report(samples.inputs(previous=may(0.0)))
    assert rows(same, 2)["Sinistres"][3] == "0,00"


@pytest.mark.parametrize(
    ("breaks", "broken"),
    [
        (((None, "la politique a changé"),), {2, 3}),
        (((NEUTRALITY, "l’évaluateur a changé"),), {2}),
        ((), set()),
    ],
)
def test_a_break_is_said_instead_of_an_arrow(breaks, broken: set[int]) -> None:
    report = build_report(samples.inputs(previous=may(-0.2, *breaks)))
    for section in (2, 3):
        words = {values[-1] for values in rows(report, section).values()}
        callouts = [b.title for b in report.sections[section - 1].blocks if isinstance(b, Callout)]
        assert ("Rupture de comparabilité" in callouts) == (section in broken)
        assert ("non comparable" in words) == (section in broken)
        assert any(word[0] in "↗↘→" for word in words) == (section not in broken)
        gaps = {values[3] for values in rows(report, section).values()}
        assert (gaps <= {"—", "n. c."}) == (section in broken)


def test_what_is_masked_in_either_month_stays_masked() -> None:
    before = may(-0.06)
    small = tuple(
        replace(row, n_traces=4, n_eligible=4, n_sampled=4, n_scored=4) if row.department == "direction-audit" else row
        for row in before.aggregates
    )
    report = build_report(samples.inputs(previous=replace(before, aggregates=small)))
    found = rows(report, 2)
    assert found["Transformation"] == ["n. c."] * 4 + ["non communiquée"]  # small this month
    assert found["Audit interne"] == ["n. c."] * 4 + ["non communiquée"]  # small the month before
    document = json.loads(attachments(report)["figures.json"])["figures"]
    mine = [f for f in document if f["department"] == "direction-audit" and f["name"].startswith("previous")]
    assert {(f["metric"], f["value"], f["state"]) for f in mine} == {
        (NEUTRALITY, None, "non communiqué"),
        (CITATION, None, "non communiqué"),
    }
    assert not [f for f in document if f["department"] == "direction-transformation" and "previous" in f["name"]]


def test_another_evaluator_has_nothing_to_compare_with() -> None:
    previous = PreviousMonth("2026-05", samples.aggregates("lexical_neutrality"))
    section = build_report(samples.inputs(previous=previous)).sections[1]
    assert any(isinstance(b, Text) and "l’évaluateur de neutralité n’est pas le même" in b.text for b in section.blocks)
    assert not any(isinstance(b, Table) and "Évolution" in [c.title for c in b.columns] for b in section.blocks)


def test_without_a_month_before_nothing_is_said_of_it() -> None:
    report = build_report(samples.inputs())
    assert "Évolution" not in str(report)
    assert not [f for f in report.figures if "previous" in f.name]


POLICY = PolicyFacts("p", {"thresholds.yaml": "1", "legal.yaml": "1"})
INPUTS = Inputs(
    data=(),
    policy_digest="p",
    code_version="1+a",
    judge=Judge(model="lexical/1", digest=None, prompt_sha256=None, calibration=None),
    window=Window(start="2026-05-31T22:00:00Z", end="2026-06-30T22:00:00Z", timezone="Europe/Paris"),
    scheduled_at=samples.SCHEDULED,
)


class _Manifest:
    """What the comparison reads of a manifest."""

    def __init__(self, code: str = "1+a", model: str = "lexical/1", month: str = "2026-05", revision: int = 1) -> None:
        self.code_version = code
        self.judge = Judge(model=model, digest=None, prompt_sha256=None, calibration=None)
        self.month, self.revision = month, revision


def of_may(digest: str = "p") -> list[Aggregate]:
    return [replace(shifted(row, 0.0), policy_digest=digest) for row in samples.aggregates()[:3]]


@pytest.mark.parametrize(
    ("manifest", "digest", "before", "words"),
    [
        (_Manifest(), "p", None, []),
        (_Manifest(code="2+b"), "p", None, ["le code a changé (2+b → 1+a)"]),
        (_Manifest(model="lexical/0"), "p", None, ["l’évaluateur a changé"] * 2),
        (None, "p", None, ["n’est pas archivé"]),
        (_Manifest(), "q", PolicyFacts("q", {**POLICY.files, "thresholds.yaml": "0"}), ["thresholds.yaml"]),
        (_Manifest(), "q", PolicyFacts("q", {**POLICY.files, "legal.yaml": "0"}), []),  # words, not figures
        (_Manifest(), "q", PolicyFacts("r", {}), ["n’est plus disponible"]),
        (_Manifest(), "q", None, ["n’est plus disponible"]),
    ],
)
def test_policy_evaluator_and_code_break_the_comparison(manifest, digest, before, words) -> None:
    found = previous_month("2026-05", of_may(digest), manifest, INPUTS, POLICY, before)
    assert found is not None
    assert len(found.breaks) == len(words)
    for (_, reason), word in zip(found.breaks, words, strict=True):
        assert word in reason


def test_a_month_before_under_two_policies_breaks_the_comparison() -> None:
    mixed = [*of_may("p"), *of_may("q")]
    found = previous_month("2026-05", mixed, _Manifest(), INPUTS, POLICY, PolicyFacts("q", POLICY.files))  # type: ignore[arg-type]
    assert found is not None
    assert ["n’est plus disponible" in reason for _, reason in found.breaks] == [True]


def test_no_rows_is_no_month_before() -> None:
    assert previous_month("2026-05", [], _Manifest(), INPUTS, POLICY, None) is None  # type: ignore[arg-type]


def test_what_is_taken_from_the_archive_is_an_input() -> None:
    digests = {facts_digest(None), facts_digest(_Manifest()), facts_digest(_Manifest(code="x"))}  # type: ignore[arg-type]
    assert len(digests) == 3
    chain = [_Manifest(revision=1), _Manifest(revision=2, code="n"), _Manifest(month="2026-04")]
    newest = newest_manifest(chain, "2026-05")  # type: ignore[arg-type]
    assert newest is not None
    assert newest.revision == 2
    assert newest_manifest(chain, "2026-03") is None  # type: ignore[arg-type]
