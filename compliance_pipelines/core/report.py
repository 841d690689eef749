"""The monthly report as a pure function: facts in, a tree of sections, tables, charts and figures out.

`build_report` checks that the facts do not contradict the rules of the report (finite numbers, a lexical
score never "Conforme"), masks small groups, and builds the ten sections; `attachments` turns the printed
figures into CSV and JSON. Drawing is `adapters.pdf`; archiving, manifest and signature live elsewhere. No
clock: the only time is the scheduled one.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import re
from collections.abc import Iterator

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.records import Aggregate, Verdict
from compliance_pipelines.core.report_citations import citation_section
from compliance_pipelines.core.report_context import LEXICAL, Context
from compliance_pipelines.core.report_coverage import coverage_blocks
from compliance_pipelines.core.report_declaration import declaration_section
from compliance_pipelines.core.report_events import actions_section, events_section
from compliance_pipelines.core.report_inputs import ReportInputError, ReportInputs
from compliance_pipelines.core.report_method import method_section
from compliance_pipelines.core.report_neutrality import neutrality_section
from compliance_pipelines.core.report_oversight import oversight_section
from compliance_pipelines.core.report_probes import counterfactual_section, sycophancy_section
from compliance_pipelines.core.report_summary import summary_table
from compliance_pipelines.core.report_suppress import build_mask
from compliance_pipelines.core.report_tree import Figure, Report, Section
from compliance_pipelines.core.report_verdict import month_verdict, replaces_fr, verdict_section

SCHEMA = "compliance-pipelines/figures/1"
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])", re.ASCII)


def build_report(inputs: ReportInputs) -> Report:
    """Build the report of one month.

    Raises ReportInputError (one French line) when a number is not finite, a share is outside 0..1, a time is
    naive, the month is not "YYYY-MM", or a lexical row claims conformity.
    """
    _check(inputs)
    mask = build_mask(inputs.aggregates, inputs.coverage, inputs.oversight, inputs.suppress_below)
    context = Context(inputs, mask, {facts.id: facts for facts in inputs.departments})
    verdict, reason = month_verdict(context)
    built = [builder(context) for builder in (verdict_section, neutrality_section)]
    citations, citation_figures = citation_section(context)
    coverage, coverage_figures = coverage_blocks(context)
    citations = Section(citations.number, citations.key, citations.title, (*citations.blocks, *coverage))
    built.append((citations, (*citation_figures, *coverage_figures)))
    built.extend(
        builder(context)
        for builder in (
            oversight_section,
            counterfactual_section,
            sycophancy_section,
            events_section,
            method_section,
            actions_section,
            declaration_section,
        )
    )
    return Report(
        month=inputs.month,
        month_label=fmt.month_fr(inputs.month),
        title=fmt.clean(inputs.title, 120),
        subtitle=(f"{fmt.clean(inputs.organisation)} – " if inputs.organisation else "")
        + "Assistants d’intelligence artificielle : neutralité, sources, contrôle humain",
        revision=inputs.revision,
        revision_label=f"révision {inputs.revision}",
        created=inputs.scheduled_at,
        verdict=verdict,
        verdict_reason=reason,
        sections=tuple(section for section, _ in built),
        policy_digest=fmt.clean(inputs.policy_digest, 80),
        input_digest=fmt.clean(inputs.input_digest, 80),
        code_version=fmt.clean(inputs.code_version, 80),
        signed=inputs.signed,
        synthetic=inputs.synthetic,
        lexical=LEXICAL in context.neutrality_metrics,
        figures=tuple(figure for _, figures in built for figure in figures),
        labels=_labels(context),
        summary=summary_table(context),
        replaces=replaces_fr(inputs.replaced),
    )


def _labels(context: Context) -> tuple[tuple[str, str], ...]:
    # Only names that any font of the report can print: a reader of the file compares them with the pages.
    names = {row.department: fmt.typeset(context.label(row.department)) for row in context.inputs.aggregates}
    return tuple(
        (fmt.clean(department, 64), name)
        for department, name in sorted(names.items())
        if all(char < "\u0250" or "\u2000" <= char <= "\u206f" for char in name)
    )


def attachments(report: Report) -> dict[str, bytes]:
    """Return the printed figures as `figures.csv` (UTF-8, RFC 4180) and `figures.json` (canonical JSON)."""
    return {"figures.csv": _figures_csv(report.figures), "figures.json": _figures_json(report)}


def _figures_csv(figures: tuple[Figure, ...]) -> bytes:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(("section", "department", "metric", "name", "value", "state"))
    for item in figures:
        value = "" if item.value is None else item.value
        if isinstance(value, str):
            value = fmt.csv_safe(value)
        names = (fmt.csv_safe(text) for text in (item.department, item.metric, item.name))
        writer.writerow((item.section, *names, value, item.state))
    return buffer.getvalue().encode("utf-8")


def _figures_json(report: Report) -> bytes:
    document = {
        "schema": SCHEMA,
        "month": report.month,
        "revision": report.revision,
        "policy_digest": report.policy_digest,
        "input_digest": report.input_digest,
        "code_version": report.code_version,
        "synthetic": report.synthetic,
        "verdict": report.verdict.value,
        "labels": dict(report.labels),
        "figures": [
            {
                "section": item.section,
                "department": item.department,
                "metric": item.metric,
                "name": item.name,
                "value": item.value,
                "state": item.state,
            }
            for item in report.figures
        ],
    }
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return (text + "\n").encode("utf-8")


def _check(inputs: ReportInputs) -> None:
    if not _MONTH.fullmatch(inputs.month):
        raise ReportInputError("mois : attendu AAAA-MM")
    if inputs.revision < 1:
        raise ReportInputError("révision : attendu un entier à partir de 1")
    for name, moment in _moments(inputs):
        if moment.tzinfo is None:
            raise ReportInputError(f"{name} : attendu une heure avec son fuseau")
    if inputs.window_start >= inputs.window_end:
        raise ReportInputError("période : attendu un début avant la fin")
    seen: set[tuple[str, str]] = set()
    for row in inputs.aggregates:
        _check_row(row)
        key = (row.department, row.metric)
        if key in seen:
            raise ReportInputError(f"{_where(row)} : attendu une seule ligne par direction et par mesure")
        seen.add(key)


def _moments(inputs: ReportInputs) -> Iterator[tuple[str, dt.datetime]]:
    yield "début de période", inputs.window_start
    yield "fin de période", inputs.window_end
    yield "heure planifiée", inputs.scheduled_at


def _where(row: Aggregate) -> str:
    return f"agrégat {fmt.clean(row.department, 40)} / {fmt.clean(row.metric, 40)}"


def _check_row(row: Aggregate) -> None:
    values = (
        row.mean,
        row.weighted_mean,
        row.p5,
        row.min,
        row.share_below,
        row.ci_low,
        row.ci_high,
        row.threshold,
    )
    for value in values:
        if value is not None and not (math.isfinite(value) and 0.0 <= value <= 1.0):
            raise ReportInputError(f"{_where(row)} : attendu un nombre entre 0 et 1")
    if min(row.n_traces, row.n_eligible, row.n_sampled, row.n_scored, row.n_unscored) < 0:
        raise ReportInputError(f"{_where(row)} : attendu des effectifs positifs")
    if row.n_scored == 0 and row.mean is not None:
        raise ReportInputError(f"{_where(row)} : attendu aucune moyenne quand rien n’est noté")
    if row.metric == LEXICAL and row.verdict is Verdict.CONFORME:
        raise ReportInputError(f"{_where(row)} : attendu Indicatif, l’évaluateur lexical ne conclut pas")
