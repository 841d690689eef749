"""Six months whose printed text is kept: problems, quiet, one department, nothing scored, no data, a revision.

Each is a variant of the plausible month in `report_samples`; nothing random beyond its seed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace

from compliance_pipelines.core.records import Aggregate, Verdict
from compliance_pipelines.core.report_inputs import (
    ChangeFacts,
    ExtractionCounts,
    PairVerdict,
    PreviousMonth,
    Replaced,
    ReportInputs,
)
from compliance_pipelines_tests import report_samples as samples


def shifted(row: Aggregate, by: float) -> Aggregate:
    """The same row with its mean and interval moved by `by`, inside 0..1."""

    def move(value: float | None) -> float | None:
        return None if value is None else round(min(1.0, max(0.0, value + by)), 6)

    return replace(row, mean=move(row.mean), ci_low=move(row.ci_low), ci_high=move(row.ci_high))


def may(by: float, *breaks: tuple[str | None, str]) -> PreviousMonth:
    """The month before, every mean moved by `by`."""
    return PreviousMonth("2026-05", tuple(shifted(row, by) for row in samples.aggregates()), breaks)


def problems() -> ReportInputs:
    """Finance under its threshold, a biased pair, two missing nights, a rise since May."""
    return samples.inputs(previous=may(-0.06))


def quiet() -> ReportInputs:
    """Everything conforms, nothing happened, the policy changed since May."""
    rows = [row for row in samples.aggregates() if row.department in ("direction-sinistres", "direction-souscription")]
    return replace(
        samples.inputs(),
        aggregates=tuple(replace(row, n_unscored=0) for row in rows),
        departments=tuple(d for d in samples.inputs().departments if d.label in ("Sinistres", "Souscription")),
        coverage=tuple(c for c in samples.coverage() if c.department in {row.department for row in rows}),
        oversight=tuple(o for o in samples.oversight() if o.department in {row.department for row in rows}),
        daily=tuple(p for p in samples.daily() if p.department in {row.department for row in rows}),
        counterfactual=replace(
            samples.counterfactual(),
            pairs=tuple(p for p in samples.counterfactual().pairs if p.verdict is PairVerdict.FAIR),
        ),
        alerts=(),
        missing_nights=(),
        changes=(),
        actions=(),
        signed=True,
        sycophancy=tuple(
            item for item in samples.inputs().sycophancy or () if item.department == "direction-sinistres"
        ),
        extraction=ExtractionCounts(6212, 18, 0, 6, 2051, unanswered=0),
        previous=may(-0.01, (None, "la politique a changé : thresholds.yaml")),
    )


def one_department() -> ReportInputs:
    """A single department, without a judge and without the month before."""
    rows = [row for row in samples.aggregates("lexical_neutrality") if row.department == "direction-finance"]
    base = samples.lexical_inputs()
    return replace(
        base,
        aggregates=tuple(rows),
        departments=tuple(d for d in base.departments if d.id == "direction-finance"),
        coverage=tuple(c for c in base.coverage if c.department == "direction-finance"),
        oversight=tuple(o for o in base.oversight if o.department == "direction-finance"),
        daily=tuple(p for p in base.daily if p.department == "direction-finance"),
        extraction=ExtractionCounts(948, 5, 0, 2, 312, {"timeout": 6}, unanswered=0),
    )


def unscored() -> ReportInputs:
    """The judge answered nothing all month."""

    def nothing(row: Aggregate) -> Aggregate:
        return replace(
            row,
            n_scored=0,
            n_unscored=row.n_sampled,
            mean=None,
            weighted_mean=None,
            p5=None,
            min=None,
            share_below=None,
            ci_low=None,
            ci_high=None,
            verdict=Verdict.INSUFFISANT,
            margin_established=None,
        )

    base = samples.inputs(daily=(), counterfactual=None, sycophancy=None, previous=may(0.0))
    rows = tuple(nothing(row) for row in base.aggregates if row.metric == "judge_neutrality")
    return replace(
        base, aggregates=rows, extraction=ExtractionCounts(15204, 88, 3, 124, 4989, {"timeout": 4949}, unanswered=44)
    )


def no_data() -> ReportInputs:
    """No row at all: the source was silent all month."""
    return samples.inputs(
        aggregates=(),
        daily=(),
        coverage=(),
        oversight=(),
        counterfactual=None,
        sycophancy=None,
        alerts=(),
        changes=(),
        actions=(),
        extraction=ExtractionCounts(0, 0, 0, 0, 0),
    )


def revised() -> ReportInputs:
    """The month with problems, built again after the policy changed and rows came late."""
    changes = (
        ChangeFacts(None, "révision", "remplace la révision 1 du 1er juillet 2026 ; données modifiées : traces"),
        ChangeFacts(
            dt.date(2026, 6, 15), "seuil", "seuil de citation des sources (thresholds.citation_compliance) : 0,8 → 0,75"
        ),
        ChangeFacts(
            None, "arrêté", "données tardives admises : arrêté déplacé du 01/07/2026 06:00 au 03/07/2026 06:00"
        ),
        ChangeFacts(None, "verdict", "Citation des sources : Non conforme → Conforme (Juridique)"),
    )
    reason = "lot de traces de Sinistres reçu en retard, demandé par l’audit interne"
    replaced = Replaced(1, dt.datetime(2026, 7, 1, 4, 3, tzinfo=dt.UTC), reason)
    return replace(problems(), revision=2, replaced=replaced, changes=changes)


MONTHS: Mapping[str, Callable[[], ReportInputs]] = {
    "problems": problems,
    "quiet": quiet,
    "one_department": one_department,
    "unscored": unscored,
    "no_data": no_data,
    "revised": revised,
}
