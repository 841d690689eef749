"""Section 4 of the report: human oversight, from explicit feedback and from the review queue.

A share is never printed without its base, and a base of 1 to 4 is masked. Totals are taken over published
rows only.
"""

from __future__ import annotations

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.report_context import (
    OVERSIGHT,
    Context,
    aggregate_figures,
    interval,
    masked_cell,
)
from compliance_pipelines.core.report_inputs import OversightFacts
from compliance_pipelines.core.report_suppress import published
from compliance_pipelines.core.report_tree import (
    BarRow,
    BarsChart,
    Block,
    Callout,
    Cell,
    Column,
    Figure,
    Mark,
    Section,
    Table,
    Text,
)
from compliance_pipelines.core.statistics import wilson

_OVERSIGHT_COLUMNS = (
    Column("Direction", 27),
    Column("Traces", 13, "right"),
    Column(f"Avis{fmt.NBSP}+", 10.5, "right"),
    Column(f"Avis{fmt.NBSP}–", 10.5, "right"),
    Column("Taux d’avis", 13, "right"),
    Column("Intervalle 95" + fmt.NNBSP + "%", 20, "right"),
    Column("Avis ou revue", 13, "right"),
    Column("File", 10, "right"),
    Column("Revues", 14, "right"),
    Column("Infirmées", 16, "right"),
    Column("Délai médian", 14, "right"),
)


def oversight_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 4: explicit feedback, and what became of the traces sent to a person."""
    facts = sorted(context.inputs.oversight, key=lambda item: (_rate(item), context.label(item.department)))
    title = "Contrôle humain"
    intro = Text(
        "Part des traces ayant reçu un avis explicite d’un utilisateur, et suite donnée aux traces "
        "placées en file de revue (note basse, affirmation sans source, raisonnement sur un critère "
        "protégé). Une trace est « infirmée » quand la personne qui la revoit contredit l’évaluation "
        "automatique."
    )
    if not facts:
        empty = Callout("Non mesuré ce mois-ci", "Aucun avis ni aucune revue transmis sur la période.", Mark.DASH)
        return Section(4, "controle-humain", title, (intro, empty)), ()
    either = {row.department: row.mean for row in context.rows(OVERSIGHT) if not context.hides(row)}
    rows = []
    figures: list[Figure] = []
    for item in facts:
        rows.append(_oversight_row(context, item, either.get(item.department)))
        figures.extend(_oversight_figures(context, item))
    for aggregate in context.rows(OVERSIGHT):
        figures.extend(aggregate_figures(context, 4, aggregate))
    blocks: list[Block] = [
        intro,
        Table(
            caption=f"Avis et revues par direction, {fmt.month_fr(context.inputs.month)}",
            columns=_OVERSIGHT_COLUMNS,
            rows=tuple(rows),
            note="Intervalle : Wilson, sur le taux d’avis. Avis ou revue : part des traces vues par une personne "
            "d’une manière ou de l’autre. File : traces placées en revue. Revues : part de la file. "
            f"Infirmées : part des revues. {fmt.MASKED} : base de moins de {context.mask.limit}.",
        ),
    ]
    shown = published(facts, context.mask, lambda item: item.department)
    shown = tuple(item for item in shown if item.traces)
    if shown:
        blocks.append(_oversight_chart(context, shown))
    return Section(4, "controle-humain", title, tuple(blocks)), tuple(figures)


def _rate(item: OversightFacts) -> float:
    return (item.feedback_up + item.feedback_down) / item.traces if item.traces else 0.0


def _share(context: Context, part: int, base: int) -> Cell:
    if context.mask.small(base):
        return masked_cell()
    return Cell(fmt.percent(part / base)) if base else Cell(fmt.ABSENT, muted=True)


def _oversight_row(context: Context, item: OversightFacts, either: float | None) -> tuple[Cell, ...]:
    head = Cell(context.label(item.department), strong=True)
    blank = masked_cell()
    if context.mask.hides(item.department):
        return (head, *(blank for _ in range(len(_OVERSIGHT_COLUMNS) - 1)))
    low, high = wilson(item.feedback_up + item.feedback_down, item.traces) or (None, None)
    split_hidden = context.mask.small(item.feedback_up + item.feedback_down)
    hours = f"{fmt.decimal(item.median_review_hours, 1)}{fmt.NNBSP}h" if item.median_review_hours is not None else ""
    return (
        head,
        Cell(fmt.integer(item.traces)),
        blank if split_hidden else Cell(fmt.integer(item.feedback_up)),
        blank if split_hidden else Cell(fmt.integer(item.feedback_down)),
        Cell(fmt.percent(_rate(item)) if item.traces else fmt.ABSENT, strong=True),
        Cell(interval(low, high, as_percent=True)),
        Cell(fmt.percent(either)),
        blank if context.mask.small(item.queued) else Cell(fmt.integer(item.queued)),
        _share(context, item.reviewed, item.queued),
        _share(context, item.overridden, item.reviewed),
        blank if context.mask.small(item.reviewed) else Cell(hours or fmt.ABSENT),
    )


def _oversight_figures(context: Context, item: OversightFacts) -> tuple[Figure, ...]:
    department = fmt.clean(item.department, 64)
    if context.mask.hides(item.department):
        return (Figure(4, department, OVERSIGHT, "traces", None, "non communiqué"),)
    feedback = item.feedback_up + item.feedback_down
    entries: tuple[tuple[str, int | float | None, int], ...] = (
        ("traces", item.traces, item.traces),
        ("feedback_up", item.feedback_up, feedback),
        ("feedback_down", item.feedback_down, feedback),
        ("queued", item.queued, item.queued),
        ("reviewed", item.reviewed, item.queued),
        ("overridden", item.overridden, item.reviewed),
        ("median_review_hours", item.median_review_hours, item.reviewed),
    )
    out = []
    for name, value, base in entries:
        if context.mask.small(base):
            out.append(Figure(4, department, OVERSIGHT, name, None, "non communiqué"))
        elif value is None:
            out.append(Figure(4, department, OVERSIGHT, name, None, "non mesuré"))
        else:
            out.append(Figure(4, department, OVERSIGHT, name, value))
    return tuple(out)


def _oversight_chart(context: Context, shown: tuple[OversightFacts, ...]) -> BarsChart:
    rows = []
    for item in shown:
        # Up and down are one bar when their split is masked, so that lengths give nothing back.
        masked = context.mask.small(item.feedback_up + item.feedback_down)
        values = (_rate(item),) if masked else (item.feedback_up / item.traces, item.feedback_down / item.traces)
        note = f"{fmt.percent(_rate(item))}  N{fmt.NNBSP}={fmt.NNBSP}{fmt.integer(item.traces)}"
        rows.append(BarRow(context.label(item.department), values, note))
    unsplit = any(len(row.values) == 1 for row in rows)
    total = sum(item.traces for item in shown)
    given = sum(item.feedback_up + item.feedback_down for item in shown)
    lowest = shown[0]
    return BarsChart(
        title="Avis explicites, en part des traces",
        description=(
            f"Sur les directions publiées, {fmt.percent(given / total)} des {fmt.integer(total)} traces "
            f"ont reçu un avis. Taux le plus bas : {context.label(lowest.department)}, "
            f"{fmt.percent(_rate(lowest))} (N = {fmt.integer(lowest.traces)})."
        ),
        rows=tuple(rows),
        legend=("Avis positif", "Avis négatif", "Détail non communiqué")
        if unsplit
        else ("Avis positif", "Avis négatif"),
        maximum=min(1.0, max(0.05, max(_rate(item) for item in shown) * 1.05)),
    )
