"""Section 4 of the report: human oversight, from explicit feedback and from the review queue.

A share is never printed without its base, and a base of 1 to 4 is masked. Totals are taken over published
rows only.
"""

from __future__ import annotations

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.report_context import (
    OVERSIGHT,
    Context,
    aggregate_figures,
    interval,
    masked_cell,
    withheld,
)
from compliance_pipelines.core.report_inputs import OversightFacts
from compliance_pipelines.core.report_shares import Share, total
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
    Column("Taux d’avis", 15, "right"),
    Column("Intervalle 95" + fmt.NNBSP + "%", 19, "right"),
    Column("Avis ou revue", 13, "right"),
    Column("File", 10, "right"),
    Column("Revues", 14, "right"),
    Column("Infirmées", 16, "right"),
    Column("Délai médian", 14, "right"),
)


def oversight_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 4: explicit feedback, and what became of the traces sent to a person."""
    facts = sorted(context.inputs.oversight, key=lambda item: (_rank(context, item), context.label(item.department)))
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
    either = {row.department: row for row in context.rows(OVERSIGHT)}
    rows = []
    figures: list[Figure] = []
    for item in facts:
        rows.append(_oversight_row(context, item, either.get(item.department)))
        figures.extend(_oversight_figures(context, item))
    facts_of = {item.department: item for item in facts}
    # By name: worst first would tell a masked rate by its neighbours.
    for aggregate in sorted(context.rows(OVERSIGHT), key=lambda row: row.department):
        found, item = aggregate_figures(context, 4, aggregate), facts_of.get(aggregate.department)
        hidden = item is not None and _either_hidden(context, item, aggregate)
        figures.extend(withheld(found) if hidden else found)
    blocks: list[Block] = [
        intro,
        Table(
            caption=f"Avis et revues par direction, {fmt.month_fr(context.inputs.month)}",
            columns=_OVERSIGHT_COLUMNS,
            rows=tuple(rows),
            note="Intervalle : Wilson, sur le taux d’avis. Avis ou revue : part des traces vues par une personne "
            "d’une manière ou de l’autre. File : traces placées en revue. Revues : part de la file. "
            f"Infirmées : part des revues. {fmt.MASKED} : effectif de moins de {context.mask.limit}. < ou > : borne, "
            f"moins de {context.mask.limit} traces d’un côté du taux.",
        ),
    ]
    humans = published(facts, context.mask, lambda item: item.department)
    humans = tuple(item for item in humans if item.traces)
    shown = tuple(item for item in humans if _feedback(context, item).hidden is None)
    if shown:
        blocks.append(_oversight_chart(context, shown, humans))
    return Section(4, "controle-humain", title, tuple(blocks)), tuple(figures)


def _rate(item: OversightFacts) -> float:
    return (item.feedback_up + item.feedback_down) / item.traces if item.traces else 0.0


def _rank(context: Context, item: OversightFacts) -> float:
    """The rate, or its printed bound: a rank among exact rates would narrow a masked one down."""
    share = _feedback(context, item)
    return _rate(item) if share.hidden is None else share.bound or 0.0


def _feedback(context: Context, item: OversightFacts) -> Share:
    return Share(item.feedback_up + item.feedback_down, item.traces, context.mask.limit)


def _split_hidden(context: Context, item: OversightFacts) -> bool:
    """Tell whether up and down must stay one number: with the rate printed, either gives the other."""
    hidden = _feedback(context, item).hidden is not None
    return hidden or any(context.mask.small(part) for part in (item.feedback_up, item.feedback_down))


def _reviews_hidden(context: Context, item: OversightFacts) -> bool:
    return Share(item.reviewed, item.queued, context.mask.limit).hidden is not None


def _share(context: Context, part: int, base: int) -> Cell:
    if context.mask.small(base):
        return masked_cell()
    return Cell(Share(part, base, context.mask.limit).text, muted=not base)


def _either_hidden(context: Context, item: OversightFacts, row: Aggregate) -> bool:
    """Tell whether "feedback or review" is masked: also where its gap to the feedback alone is a small group."""
    share, feedback = context.share(row), _feedback(context, item)
    return not context.exact(row) or feedback.hidden is not None or context.mask.small(share.part - feedback.part)


def _either(context: Context, item: OversightFacts, row: Aggregate | None) -> Cell:
    if row is None or row.mean is None:
        return Cell(fmt.ABSENT)
    return masked_cell() if _either_hidden(context, item, row) else Cell(fmt.percent(row.mean))


def _oversight_row(context: Context, item: OversightFacts, either: Aggregate | None) -> tuple[Cell, ...]:
    head = Cell(context.label(item.department), strong=True)
    blank = masked_cell()
    if context.mask.hides(item.department):
        return (head, *(blank for _ in range(len(_OVERSIGHT_COLUMNS) - 1)))
    low, high = wilson(item.feedback_up + item.feedback_down, item.traces) or (None, None)
    split_hidden, unreviewed = _split_hidden(context, item), _reviews_hidden(context, item)
    hours = f"{fmt.decimal(item.median_review_hours, 1)}{fmt.NNBSP}h" if item.median_review_hours is not None else ""
    return (
        head,
        Cell(fmt.integer(item.traces)),
        blank if split_hidden else Cell(fmt.integer(item.feedback_up)),
        blank if split_hidden else Cell(fmt.integer(item.feedback_down)),
        Cell(_feedback(context, item).text, strong=True),
        blank if _feedback(context, item).hidden else Cell(interval(low, high, as_percent=True)),
        _either(context, item, either),
        blank if context.mask.small(item.queued) else Cell(fmt.integer(item.queued)),
        _share(context, item.reviewed, item.queued),
        blank if unreviewed else _share(context, item.overridden, item.reviewed),
        blank if unreviewed or context.mask.small(item.reviewed) else Cell(hours or fmt.ABSENT),
    )


def _oversight_figures(context: Context, item: OversightFacts) -> tuple[Figure, ...]:
    department = fmt.clean(item.department, 64)
    if context.mask.hides(item.department):
        return (Figure(4, department, OVERSIGHT, "traces", None, "non communiqué"),)
    small, split, reviews = context.mask.small, _split_hidden(context, item), _reviews_hidden(context, item)
    overrides = Share(item.overridden, item.reviewed, context.mask.limit).hidden is not None
    given, rate_hidden = item.feedback_up + item.feedback_down, _feedback(context, item).hidden is not None
    low, high = wilson(given, item.traces) or (None, None)
    entries: tuple[tuple[str, int | float | None, bool], ...] = (
        ("traces", item.traces, small(item.traces)),
        ("feedback_up", item.feedback_up, split),
        ("feedback_down", item.feedback_down, split),
        ("feedback", given, rate_hidden),
        ("feedback_ci_low", None if low is None else round(low, 6), rate_hidden),
        ("feedback_ci_high", None if high is None else round(high, 6), rate_hidden),
        ("queued", item.queued, small(item.queued)),
        ("reviewed", item.reviewed, small(item.queued) or reviews),
        ("overridden", item.overridden, small(item.reviewed) or reviews or overrides),
        ("median_review_hours", item.median_review_hours, small(item.reviewed) or reviews),
    )
    out = []
    for name, value, hidden in entries:
        if hidden:
            out.append(Figure(4, department, OVERSIGHT, name, None, "non communiqué"))
        elif value is None:
            out.append(Figure(4, department, OVERSIGHT, name, None, "non mesuré"))
        else:
            out.append(Figure(4, department, OVERSIGHT, name, value))
    return tuple(out)


def _oversight_chart(
    context: Context, shown: tuple[OversightFacts, ...], humans: tuple[OversightFacts, ...]
) -> BarsChart:
    rows = []
    for item in shown:
        # Up and down are one bar when their split is masked, so that lengths give nothing back.
        masked = _split_hidden(context, item)
        values = (_rate(item),) if masked else (item.feedback_up / item.traces, item.feedback_down / item.traces)
        note = f"{fmt.percent(_rate(item))}  N{fmt.NNBSP}={fmt.NNBSP}{fmt.integer(item.traces)}"
        rows.append(BarRow(context.label(item.department), values, note))
    unsplit = any(len(row.values) == 1 for row in rows)
    given = total((_feedback(context, item) for item in humans), context.mask.limit)
    lowest, left = shown[0], len(humans) - len(shown)
    return BarsChart(
        title="Avis explicites, en part des traces",
        description=(
            f"Sur les directions publiées, {given.share_text} des {fmt.integer(given.base)} traces avec réponse "
            f"ont reçu un avis. Taux représenté le plus bas : {context.label(lowest.department)}, "
            f"{fmt.percent(_rate(lowest))} (N = {fmt.integer(lowest.traces)})."
            + (f" Non représentées (moins de {context.mask.limit} traces d’un côté du taux) : {left}." if left else "")
        ),
        rows=tuple(rows),
        legend=("Avis positif", "Avis négatif", "Détail non communiqué")
        if unsplit
        else ("Avis positif", "Avis négatif"),
        maximum=min(1.0, max(0.05, max(_rate(item) for item in shown) * 1.05)),
    )
