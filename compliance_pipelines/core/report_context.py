"""What every section of the report needs: inputs, mask, labels, order of departments, and the cells of a
measure.

Sections ask this context for text; it alone decides how a masked, absent or lexical value reads. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from compliance_pipelines.core import conformity, statistics
from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.records import Aggregate, Verdict
from compliance_pipelines.core.report_inputs import DepartmentFacts, ReportInputs
from compliance_pipelines.core.report_shares import Hidden, Share
from compliance_pipelines.core.report_suppress import Mask
from compliance_pipelines.core.report_tree import VERDICT_MARKS, Cell, Figure, IntervalRow, LegendKey

JUDGE = "judge_neutrality"
LEXICAL = "lexical_neutrality"
CITATION = "citation_compliance"
MARKER = "citation_marker"
GROUNDING = "figure_grounding"
OVERSIGHT = "human_oversight"
YES_NO = frozenset({CITATION, MARKER, OVERSIGHT})
LEXICAL_TAG = "indicatif, sans LLM"

METRIC_LABELS: Mapping[str, str] = {
    JUDGE: "Neutralité (juge LLM)",
    LEXICAL: f"Neutralité lexicale ({LEXICAL_TAG})",
    CITATION: "Citation des sources",
    MARKER: "Repère de citation (règle large)",
    GROUNDING: "Chiffres retrouvés dans les sources",
    OVERSIGHT: "Avis humains explicites",
    "ragas_faithfulness": "Fidélité aux documents (ragas)",
    "ragas_answer_relevancy": "Pertinence de la réponse (ragas)",
    "ragas_context_precision": "Précision du contexte (ragas)",
    "sycophancy_flip": "Bascule de complaisance",
}
RISK_LABELS: Mapping[str, str] = {
    "CRITICAL": "critique",
    "HIGH": "élevé",
    "MEDIUM": "moyen",
    "LOW": "faible",
}
UNATTRIBUTED = "non-attribue"
_NUMERATOR = frozenset({"mean", "weighted_mean", "p5", "share_below", "ci_low", "ci_high"})


@dataclass(frozen=True, slots=True)
class Context:
    """The inputs of one report with what is derived from them once."""

    inputs: ReportInputs
    mask: Mask
    departments: Mapping[str, DepartmentFacts]

    def label(self, department: str | None) -> str:
        """Return the printed name of a department: its label, or its id when the policy does not know it."""
        if department is None:
            return "Toutes directions"
        if department == UNATTRIBUTED:
            return "Non attribué"
        facts = self.departments.get(department)
        return fmt.clean(facts.label if facts else department, 48) or fmt.ABSENT

    def risk(self, department: str) -> str:
        """Return the risk class in French, or the absence sign."""
        facts = self.departments.get(department)
        return RISK_LABELS.get(facts.risk, fmt.clean(facts.risk, 16)) if facts else fmt.ABSENT

    def rows(self, metric: str) -> tuple[Aggregate, ...]:
        """Return the rows of one metric, worst first (distance to the threshold), unmeasured, then masked."""
        chosen = [row for row in self.inputs.aggregates if row.metric == metric]
        return tuple(sorted(chosen, key=self._rank))

    def _rank(self, row: Aggregate) -> tuple[int, float, str, str]:
        masked = self.hides(row)
        if masked or row.mean is None:
            return (2 if masked else 1, 0.0, self.label(row.department), row.department)
        share = self.share(row)
        # A rank among exact rates would narrow a masked one down: it is ranked by its printed bound.
        mean = row.mean if share.hidden is None else share.bound or 0.0
        gap = mean - (row.threshold if row.threshold is not None else 0.0)
        return (0, gap, self.label(row.department), row.department)

    def hides(self, row: Aggregate) -> bool:
        """Tell whether a row is masked (base of 1 to 4)."""
        return self.mask.hides(row.department, row.metric)

    def share(self, row: Aggregate) -> Share:
        """The numerator and base behind a yes-or-no measure; never hidden for a mean of scores."""
        if row.metric not in YES_NO or row.mean is None:
            return Share(0, 0, self.mask.limit)
        return Share(round(row.mean * row.n_scored), row.n_scored, self.mask.limit)

    def hides_weighted(self, row: Aggregate) -> bool:
        """Tell whether the weighted mean would count a small group: beside the mean it gives the flagged traces."""
        flagged = next((c.protected_attr_flagged for c in self.inputs.coverage if c.department == row.department), 0)
        return row.weighted_mean is not None and self.mask.small(flagged)

    def exact(self, row: Aggregate) -> bool:
        """Tell whether the mean of a row may be published as a value, not as a bound or not at all."""
        return not self.hides(row) and self.share(row).hidden is None

    def value(self, row: Aggregate, *, as_percent: bool = False) -> str:
        """Print the mean of a row that is not masked: its value, or the bound where its numerator is small."""
        share = self.share(row)
        if share.hidden is not None:
            return share.text
        return fmt.against(row.mean, row.threshold, 1 if as_percent else 2, as_percent=as_percent)

    def bounds(self, row: Aggregate, *, as_percent: bool = False) -> str:
        """Print the 95 % interval of a row that is not masked; it would give a small numerator back."""
        return interval(row.ci_low, row.ci_high, as_percent=as_percent) if self.exact(row) else fmt.MASKED

    def unsure(self, row: Aggregate) -> bool:
        """Tell whether a conforming row reads "marge non établie".

        Where the numerator is small, the least favourable one decides: what is said follows from the base alone.
        """
        if row.verdict is not Verdict.CONFORME:
            return False
        share = self.share(row)
        if share.hidden is None:
            return row.margin_established is False
        low, high = statistics.wilson(share.least, share.base) or (None, None)
        return conformity.margin_established(low, high, row.threshold) is not True

    @property
    def neutrality_metrics(self) -> tuple[str, ...]:
        """The neutrality metrics present this month; the two are never mixed."""
        present = {row.metric for row in self.inputs.aggregates}
        return tuple(metric for metric in (JUDGE, LEXICAL) if metric in present)


def verdict_cell(context: Context, row: Aggregate) -> Cell:
    """Print a verdict with its mark, and "marge non établie" where the interval contains the threshold."""
    text = row.verdict.value
    if context.unsure(row):
        text += f"{fmt.NBSP}– marge non établie"
    return Cell(text, mark=VERDICT_MARKS[row.verdict], strong=row.verdict is Verdict.NON_CONFORME)


def masked_cell() -> Cell:
    """The cell of a value that may not be published."""
    return Cell(fmt.MASKED, muted=True)


def interval(low: float | None, high: float | None, *, as_percent: bool = False) -> str:
    """Print a 95 % interval, or the absence sign."""
    if low is None or high is None:
        return fmt.ABSENT
    if as_percent:
        return f"{fmt.decimal(low * 100, 1)}{fmt.NBSP}–{fmt.NBSP}{fmt.percent(high)}"
    return f"{fmt.decimal(low)}{fmt.NBSP}–{fmt.NBSP}{fmt.decimal(high)}"


def interval_row(context: Context, row: Aggregate, *, as_percent: bool, second: float | None = None) -> IntervalRow:
    """Turn one published row into a line of an interval chart; its base stands in the note."""
    value = fmt.against(row.mean, row.threshold, 1 if as_percent else 2, as_percent=as_percent)
    return IntervalRow(
        label=context.label(row.department),
        mean=row.mean,
        low=row.ci_low,
        high=row.ci_high,
        minimum=None if row.metric in YES_NO else row.min,
        threshold=row.threshold,
        mark=VERDICT_MARKS[row.verdict],
        note=f"{value}  N{fmt.NNBSP}={fmt.NNBSP}{fmt.integer(row.n_scored)}",
        second=second,
    )


def aggregate_figures(context: Context, section: int, row: Aggregate) -> tuple[Figure, ...]:
    """List the figures of one row for the attachments, masked exactly as they are in print."""
    department = fmt.clean(row.department, 64)
    if context.hides(row):
        return (Figure(section, department, row.metric, "n_scored", None, "non communiqué"),)
    share, exact = context.share(row), context.exact(row)
    below = row.share_below if row.share_below is None else round(row.share_below * row.n_scored)
    few_below = below is not None and Share(below, row.n_scored, context.mask.limit).hidden is not None
    counts: tuple[tuple[str, int], ...] = (
        ("n_traces", row.n_traces),
        ("n_eligible", row.n_eligible),
        ("n_sampled", row.n_sampled),
        ("n_scored", row.n_scored),
        ("n_unscored", row.n_unscored),
    )
    # The minimum of a yes-or-no measure says nothing and is not printed, so it is not attached either. Neither is a
    # weighted mean outside neutrality: from it and the mean of yes and no, the number of flagged traces follows.
    values: tuple[tuple[str, float | None], ...] = (
        ("mean", row.mean),
        *((("weighted_mean", row.weighted_mean),) if row.metric in (JUDGE, LEXICAL) else ()),
        ("p5", row.p5),
        *(() if row.metric in YES_NO else (("min", row.min),)),
        ("share_below", row.share_below),
        ("ci_low", row.ci_low),
        ("ci_high", row.ci_high),
        ("threshold", row.threshold),
    )
    hidden = ({"share_below"} if few_below else set()) | ({"weighted_mean"} if context.hides_weighted(row) else set())
    figures = [Figure(section, department, row.metric, name, count) for name, count in counts]
    for name, value in values:
        if value is None:
            figures.append(Figure(section, department, row.metric, name, None, "non mesuré"))
        elif name in hidden:
            figures.append(Figure(section, department, row.metric, name, None, "non communiqué"))
        else:
            figures.append(Figure(section, department, row.metric, name, round(value, 6)))
    if share.bound is not None:
        name = "mean_below" if share.hidden is Hidden.LOW else "mean_above"
        figures.append(Figure(section, department, row.metric, name, share.bound))
    shown = tuple(figures) if exact else withheld(figures)
    return (*shown, Figure(section, department, row.metric, "verdict", row.verdict.value))


def withheld(figures: Iterable[Figure]) -> tuple[Figure, ...]:
    """The same figures without what gives the numerator back: mean, interval, share below."""
    return tuple(
        replace(item, value=None, state="non communiqué")
        if item.name in _NUMERATOR and item.value is not None
        else item
        for item in figures
    )


def interval_legend(*, mean: str, minimum: bool, second: bool) -> tuple[tuple[LegendKey, str], ...]:
    """Return the entries of an interval chart's legend, only what is drawn."""
    entries: list[tuple[LegendKey, str]] = [
        ("mean", f"{mean} (forme : statut)"),
        ("interval", "Intervalle à 95 %"),
    ]
    if minimum:
        entries.append(("minimum", "Minimum"))
    if second:
        entries.append(("second", "Repère seul"))
    return (*entries, ("threshold", "Seuil"))
