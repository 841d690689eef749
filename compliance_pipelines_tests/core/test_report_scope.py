"""What the first and the last section say about who was measured, who reports, and to whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compliance_pipelines.core.evidence import Inputs, Manifest, Rendered, build_manifest, decide
from compliance_pipelines.core.records import Verdict
from compliance_pipelines.core.report import build_report
from compliance_pipelines.core.report_explain import Explanation
from compliance_pipelines.core.report_inputs import ReportInputs
from compliance_pipelines.core.report_tree import FactList, Report, Text
from compliance_pipelines_tests import evidence_samples
from compliance_pipelines_tests import report_samples as samples


def quiet(**empty: str) -> ReportInputs:
    """A month in which every measure conforms; `empty`: departments without any trace, by risk."""
    rows = [
        replace(row, verdict=Verdict.CONFORME, mean=0.95, ci_low=0.93, ci_high=0.97, n_scored=max(row.n_scored, 40))
        for row in samples.aggregates()
        if row.department != "non-attribue" and row.threshold is not None
    ]
    rows += [
        samples.aggregate(
            name.replace("_", "-"), "judge_neutrality", 0, None, 0.7, verdict=Verdict.INSUFFISANT, n_unscored=0
        )
        for name in empty
    ]
    base = samples.inputs()
    known = {facts.id for facts in base.departments}
    added = tuple(
        replace(base.departments[0], id=name.replace("_", "-"), label=name, risk=risk)
        for name, risk in empty.items()
        if name.replace("_", "-") not in known
    )
    changed = tuple(
        replace(facts, risk=empty.get(facts.id.replace("-", "_"), facts.risk)) for facts in base.departments
    )
    return replace(base, aggregates=tuple(rows), departments=(*changed, *added), counterfactual=None)


def facts(report: Report, section: int) -> dict[str, str]:
    blocks = report.sections[section - 1].blocks
    return {name: value for block in blocks if isinstance(block, FactList) for name, value in block.items}


def test_a_month_in_which_every_trace_found_its_department_can_conform() -> None:
    report = build_report(quiet(non_attribue="HIGH"))
    assert report.verdict is Verdict.CONFORME
    assert facts(report, 1)["Traces non attribuées"] == "0"


def unowned(traces: int, scored: int) -> ReportInputs:
    """A quiet month with traces that no department owns; too few of them scored for a verdict."""
    inputs = quiet(non_attribue="HIGH")
    found = {"n_traces": traces, "n_eligible": traces, "n_sampled": traces, "n_scored": scored}
    rows = tuple(
        replace(row, **found, n_unscored=traces - scored, mean=0.9 if scored else None)
        if row.department == "non-attribue"
        else row
        for row in inputs.aggregates
    )
    return replace(inputs, aggregates=rows)


@pytest.mark.parametrize(("traces", "scored"), [(1, 1), (12, 12), (29, 0)])
def test_a_few_traces_that_nobody_owns_are_shown_and_do_not_decide_the_month(traces: int, scored: int) -> None:
    report = build_report(unowned(traces, scored))
    assert report.verdict is Verdict.CONFORME
    shown = facts(report, 1)["Traces non attribuées"]
    assert shown.startswith(f"{traces}, effectif trop faible" if traces >= 5 else "moins de 5, effectif trop faible")
    assert any(row.department == "non-attribue" and row.section == 2 for row in report.figures)


def test_many_traces_that_nobody_owns_keep_the_month_open() -> None:
    report = build_report(unowned(30, 20))
    assert report.verdict is Verdict.INSUFFISANT
    assert "Non attribué" in report.verdict_reason
    assert facts(report, 1)["Traces non attribuées"] == "30"


@pytest.mark.parametrize("traces", [6, 12])
def test_a_tenth_of_the_month_that_nobody_owns_is_no_remainder(traces: int) -> None:
    """Of the month's traces by one measure: the measures are not added up."""
    inputs = unowned(traces, traces)
    few = tuple(
        replace(row, n_eligible=35, n_sampled=35, n_scored=35) if row.department != "non-attribue" else row
        for row in inputs.aggregates
        if row.department in {"non-attribue", "direction-sinistres"}
    )
    assert build_report(replace(inputs, aggregates=few)).verdict is Verdict.INSUFFISANT


def test_a_department_without_a_trace_is_not_counted_as_measured() -> None:
    report = build_report(quiet(direction_vide="HIGH"))
    scope = facts(report, 1)["Directions"]
    assert "sans trace sur la période" in scope
    assert "direction_vide" in scope
    assert scope.startswith(f"{len({row.department for row in quiet().aggregates})}")
    assert report.verdict is Verdict.INSUFFISANT


def test_the_organisation_its_addressee_and_its_own_words_are_printed() -> None:
    inputs = replace(
        samples.inputs(),
        organisation="Mutuelle <b>A</b>\u202e",
        recipient="Autorité X",
        declaration_fr="Nous déclarons ceci.",
        retention_fr="7 ans, politique interne.",
    )
    report = build_report(inputs)
    known = facts(report, 10)
    assert (known["Organisme"], known["Destinataire"]) == ("Mutuelle <b>A</b>", "Autorité X")
    assert known["Conservation"] == "7 ans, politique interne."
    assert report.subtitle.startswith("Mutuelle <b>A</b> – ")
    said = [block.text for block in report.sections[9].blocks if isinstance(block, Text)]
    assert said[0] == "Nous déclarons ceci."
    assert "ne vaut ni certification" in said[1]


def test_a_declaration_without_words_of_the_organisation_has_its_own() -> None:
    inputs = replace(samples.inputs(), organisation="", recipient="", declaration_fr="", retention_fr="")
    report = build_report(inputs)
    assert not {"Organisme", "Destinataire", "Conservation"} & facts(report, 10).keys()
    assert report.sections[9].blocks[0] != Text("")


def manifest() -> Manifest:
    given: Inputs = evidence_samples.inputs()
    made = Rendered(b"x", None, 1, {})
    return build_manifest(decide((), "2026-06", given.digest), given, made, reason=None, built_at=samples.END)


@pytest.mark.parametrize(
    ("metric", "mean", "threshold", "printed"),
    [
        ("judge_neutrality", 0.727529, 0.7, "0,73"),
        ("judge_neutrality", 0.6996, 0.7, "0,6996"),
        ("figure_grounding", 0.689591, None, "69,0\u202f%"),
        ("citation_compliance", 0.79996, 0.8, "79,996\u202f%"),
    ],
)
def test_a_figure_is_explained_as_it_is_printed(
    metric: str, mean: float, threshold: float | None, printed: str
) -> None:
    told = Explanation(
        manifest=manifest(),
        department="direction-it",
        label="IT",
        metric=metric,
        figures={"n_scored": 57, "mean": mean, "threshold": threshold},
        masked=False,
        bounded=False,
        judged=None,
        tables_match=True,
        key=b"k",
        key_is_default=False,
    )
    lines = {line[2:24].strip(): line[25:] for line in told.lines_fr() if line.startswith("  ")}
    assert lines["Valeur imprimée"] == f"{printed} (N = 57)"
    assert lines["Valeur jointe"] == f"{mean:.6f}".replace(".", ",")
