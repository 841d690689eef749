"""The report tree: ten sections, verdicts never better than their parts, nothing invented, attachments safe."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from dataclasses import fields, is_dataclass, replace

import pytest

from compliance_pipelines.core.records import Verdict
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.report_inputs import (
    CorrectiveAction,
    DepartmentFacts,
    JudgeIdentity,
    PairVerdict,
    ReportInputError,
)
from compliance_pipelines.core.report_tree import Callout, Figure, MatrixChart, Table
from compliance_pipelines_tests import report_samples as samples

TITLES = (
    "Verdict et périmètre",
    "Neutralité par direction",
    "Citation des sources et exactitude des chiffres",
    "Contrôle humain",
    "Tests contrefactuels et critères protégés",
    "Complaisance des réponses",
    "Alertes, incidents et changements",
    "Méthode et limites",
    "Actions correctives",
    "Déclaration réglementaire",
)


def texts(node: object) -> list[str]:
    """Every string of a tree."""
    if isinstance(node, str):
        return [node]
    if is_dataclass(node):
        return [text for field in fields(node) for text in texts(getattr(node, field.name))]
    if isinstance(node, tuple):
        return [text for item in node for text in texts(item)]
    return []


def tables(report, section: int) -> list[Table]:
    return [block for block in report.sections[section - 1].blocks if isinstance(block, Table)]


def test_ten_sections_in_order():
    report = build_report(samples.inputs())
    assert [section.number for section in report.sections] == list(range(1, 11))
    assert tuple(section.title for section in report.sections) == TITLES
    assert len({section.key for section in report.sections}) == 10


def test_every_table_row_has_one_cell_a_column():
    report = build_report(samples.inputs())
    for section in report.sections:
        for block in section.blocks:
            if isinstance(block, Table):
                assert all(len(row) == len(block.columns) for row in block.rows), block.caption


def test_neutrality_is_worst_first_with_base_interval_threshold():
    table = tables(build_report(samples.inputs()), 2)[0]
    assert [column.title.replace("\u202f", " ") for column in table.columns] == [
        "Direction",
        "Risque",
        "N",
        "Non notées",
        "Moyenne",
        "Pondérée",
        "Min",
        "Seuil",
        "Intervalle 95 %",
        "Statut",
    ]
    first = [cell.text for cell in table.rows[0]]
    assert first[:3] == ["Finance", "critique", "312"]
    # 0.6996 never reads "0,70" beside a threshold of 0,70 that it misses.
    assert first[4] == "0,6996"
    assert first[9] == "Non conforme"
    assert [row[0].text for row in table.rows[-1:]] == ["Transformation"]


def judged(rows, metric, verdict, department=None):
    return tuple(
        replace(row, verdict=verdict) if row.metric == metric and department in (None, row.department) else row
        for row in rows
    )


def clean_month(**changes):
    """A month where everything conforms."""
    rows = [
        samples.aggregate(name, metric, 400, 0.9, threshold)
        for name in ("direction-sinistres", "direction-it")
        for metric, threshold in (("judge_neutrality", 0.7), ("citation_compliance", 0.8))
    ]
    defaults = {"aggregates": tuple(rows), "counterfactual": None, "coverage": (), "oversight": (), "daily": ()}
    return samples.inputs(**{**defaults, **changes})


def with_biased_pair():
    facts = samples.counterfactual()
    return replace(facts, pairs=tuple(replace(pair, verdict=PairVerdict.BIASED) for pair in facts.pairs[:1]))


ROWS = clean_month().aggregates


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, Verdict.CONFORME),
        ({"aggregates": judged(ROWS, "citation_compliance", Verdict.NON_CONFORME)}, Verdict.NON_CONFORME),
        ({"aggregates": judged(ROWS, "judge_neutrality", Verdict.INDICATIF)}, Verdict.INDICATIF),
        (
            {"aggregates": judged(ROWS, "judge_neutrality", Verdict.INSUFFISANT, "direction-sinistres")},
            Verdict.INSUFFISANT,
        ),
        # A low-risk department without enough traces is shown, and does not decide for the others.
        (
            {"aggregates": judged(ROWS, "judge_neutrality", Verdict.INSUFFISANT, "direction-it")},
            Verdict.CONFORME,
        ),
        ({"aggregates": judged(ROWS, "judge_neutrality", Verdict.SANS_OBJET)}, Verdict.CONFORME),
        ({"aggregates": ()}, Verdict.INSUFFISANT),
        ({"counterfactual": with_biased_pair()}, Verdict.NON_CONFORME),
    ],
)
def test_month_verdict_is_never_better_than_its_parts(changes, verdict):
    report = build_report(clean_month(**changes))
    assert report.verdict is verdict
    assert report.verdict_reason.endswith((".", "…"))


def test_unsure_margin_is_said():
    rows = tuple(replace(row, margin_established=False) for row in ROWS)
    report = build_report(clean_month(aggregates=rows))
    assert report.verdict is Verdict.CONFORME
    assert "Marge non établie pour : Sinistres" in report.verdict_reason
    assert any("marge non établie" in cell.text for row in tables(report, 2)[0].rows for cell in row)


def test_lexical_scores_are_marked_everywhere_and_never_conforming():
    report = build_report(samples.lexical_inputs())
    assert report.lexical
    for section in report.sections:
        for block in section.blocks:
            title = getattr(block, "caption", None) or getattr(block, "title", "")
            # Neutrality is the only measure here that the lexical evaluator made.
            if "eutralité" in title or title.startswith(("Moyenne, intervalle", "Moyenne quotidienne")):
                assert "indicatif, sans LLM" in title, title
    assert {row[-1].text for row in tables(report, 2)[0].rows} == {
        "Indicatif",
        "Données insuffisantes",
        "Sans objet",
    }
    everything = "\n".join(texts(report))
    assert "judge_neutrality" not in everything
    assert "juge LLM" not in everything


def test_the_two_neutrality_metrics_are_never_in_one_table():
    rows = samples.aggregates() + tuple(
        row for row in samples.aggregates("lexical_neutrality") if row.metric == "lexical_neutrality"
    )
    report = build_report(samples.inputs(aggregates=rows))
    captions = [table.caption for table in tables(report, 2)]
    assert captions == [
        "Neutralité par direction, juin 2026",
        "Neutralité par direction, juin 2026 (indicatif, sans LLM)",
    ]


@pytest.mark.parametrize(("section", "field"), [(5, "counterfactual"), (6, "sycophancy")])
def test_what_was_not_done_is_said(section, field):
    report = build_report(samples.inputs(**{field: None}))
    found = [block for block in report.sections[section - 1].blocks if isinstance(block, Callout)]
    assert found[0].title == "Non réalisé ce mois-ci"


def test_matrix_holds_the_24_grounds():
    def words(inputs):
        report = build_report(inputs)
        chart = next(block for block in report.sections[4].blocks if isinstance(block, MatrixChart))
        return {cell.label: cell.word for cell in chart.cells}

    state = words(samples.inputs())
    assert len(state) == 24
    assert state["Sexe"] == "testé"
    assert state["Origine"] == "testé – écart établi"
    assert state["Religion" if "Religion" in state else "Mœurs"] == "non testé"
    assert state["Qualité de lanceur d’alerte"] == "non testé"
    # Without a run of the month nothing is "testé".
    assert set(words(samples.inputs(counterfactual=None)).values()) == {"non testé"}


def test_a_crossed_pair_alone_does_not_test_a_ground():
    facts = samples.counterfactual()
    crossed = replace(facts, pairs=tuple(pair for pair in facts.pairs if pair.intersectional))
    report = build_report(samples.inputs(counterfactual=crossed))
    chart = next(block for block in report.sections[4].blocks if isinstance(block, MatrixChart))
    assert "testé" not in {cell.word for cell in chart.cells}


def test_findings_without_action_are_named():
    report = build_report(samples.inputs(actions=()))
    callout = next(block for block in report.sections[8].blocks if isinstance(block, Callout))
    assert callout.title == "Constats sans action corrective enregistrée"
    assert "Finance" in callout.text
    everywhere = CorrectiveAction("AC-1", "Tout revoir.", None, "Conformité", None, "ouverte")
    report = build_report(samples.inputs(actions=(everywhere,)))
    assert not [block for block in report.sections[8].blocks if isinstance(block, Callout)]


def test_synthetic_and_unsigned_are_said_and_only_then():
    report = build_report(samples.lexical_inputs())
    said = "\n".join(texts(report.sections))
    assert "Données synthétiques de démonstration" in said
    assert "non signé" in said
    real = "\n".join(texts(build_report(samples.inputs(signed=True)).sections))
    assert "synthétiques" not in real
    assert "non signé" not in real


def changed_row(**changes):
    rows = samples.aggregates()
    return {"aggregates": (replace(rows[0], **changes), *rows[1:])}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"month": "2026-13"}, "mois"),
        ({"month": "juin 2026"}, "mois"),
        ({"month": "２０２６-06"}, "mois"),
        ({"revision": 0}, "révision"),
        ({"scheduled_at": dt.datetime(2026, 7, 1, 4)}, "fuseau"),  # noqa: DTZ001 - naive on purpose
        ({"window_start": samples.END, "window_end": samples.START}, "début avant la fin"),
        (changed_row(mean=float("nan")), "entre 0 et 1"),
        (changed_row(mean=float("inf")), "entre 0 et 1"),
        (changed_row(ci_low=-0.1), "entre 0 et 1"),
        (changed_row(n_scored=0), "aucune moyenne"),
        (changed_row(n_traces=-1), "positifs"),
        (changed_row(metric="lexical_neutrality", verdict=Verdict.CONFORME), "lexical"),
        ({"aggregates": samples.aggregates()[:1] * 2}, "une seule ligne"),
    ],
)
def test_contradictory_inputs_are_refused_in_one_french_line(changes, message):
    with pytest.raises(ReportInputError) as error:
        build_report(samples.inputs(**changes))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_csv_and_json_say_the_same_and_nothing_else_than_the_tree():
    report = build_report(samples.inputs())
    files = attachments(report)
    assert list(files) == ["figures.csv", "figures.json"]
    document = json.loads(files["figures.json"])
    assert document["verdict"] == report.verdict.value
    assert document["month"] == "2026-06"
    rows = list(csv.DictReader(io.StringIO(files["figures.csv"].decode(), newline="")))
    assert len(rows) == len(document["figures"]) == len(report.figures) > 300
    for row, item in zip(rows, document["figures"], strict=True):
        assert row["value"] == ("" if item["value"] is None else str(item["value"]))
        assert (item["value"] is None) == (item["state"] != "publié")


@pytest.mark.parametrize("name", ['=HYPERLINK("x")', "+1+1", "-2+3", "@SUM(A1)", "|cmd", "%0A"])
def test_csv_cells_cannot_become_formulas(name):
    figure = Figure(2, name, name, name, name)
    report = replace(build_report(samples.inputs()), figures=(figure,))
    _, row = csv.reader(io.StringIO(attachments(report)["figures.csv"].decode(), newline=""))
    assert row == ["2", *(["'" + name] * 4), "publié"]


@pytest.mark.parametrize("name", ["direction-sinistres", "a=b", "1-2", "Âge"])
def test_csv_leaves_other_cells_alone(name):
    report = replace(build_report(samples.inputs()), figures=(Figure(2, name, "m", "n", 0.5),))
    _, row = csv.reader(io.StringIO(attachments(report)["figures.csv"].decode(), newline=""))
    assert row == ["2", name, "m", "n", "0.5", "publié"]


def test_unknown_department_is_shown_by_its_id():
    rows = (*samples.aggregates(), samples.aggregate("direction-neuve", "judge_neutrality", 50, 0.8, 0.7))
    table = tables(build_report(samples.inputs(aggregates=rows)), 2)[0]
    assert "direction-neuve" in [row[0].text for row in table.rows]


def test_hostile_labels_are_bounded_and_bare():
    hostile = "<b>\u202e" + "A" * 500 + "\x00\x1b[31m&\u0301\u0301\u0301\u0301"
    departments = tuple(
        DepartmentFacts(facts.id, hostile, facts.risk, facts.report_threshold) for facts in samples.inputs().departments
    )
    judge = JudgeIdentity(hostile, llm=True, model=hostile, calibration_fr=hostile)
    report = build_report(samples.inputs(departments=departments, judge=judge, namespace=hostile))
    said = "\n".join(texts(report))
    assert not any(char in said for char in "\x00\x1b\u202e")
    assert "<b>AAAA" in said
    assert max(len(word) for text in texts(report) for word in text.split()) <= 220
