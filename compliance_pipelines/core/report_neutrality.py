"""Section 2 of the report: neutrality by department, worst first, with its interval and daily charts.

Every mean stands with its base, interval and threshold. The lexical evaluator has tables of its own, marked
"indicatif, sans LLM", and never shares one with the judge. Nothing is judged here: verdicts come with the
aggregates.
"""

from __future__ import annotations

import calendar
import datetime as dt

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.report_context import (
    JUDGE,
    LEXICAL,
    LEXICAL_TAG,
    METRIC_LABELS,
    Context,
    aggregate_figures,
    interval,
    interval_legend,
    interval_row,
    masked_cell,
    verdict_cell,
)
from compliance_pipelines.core.report_evolution import evolution_blocks
from compliance_pipelines.core.report_tree import (
    Block,
    Callout,
    Cell,
    Column,
    Figure,
    Heading,
    IntervalChart,
    Mark,
    Panel,
    PanelsChart,
    Section,
    Table,
    Text,
)

_MEASURE_COLUMNS = (
    Column("Direction", 25),
    Column("Risque", 12.5),
    Column("N", 10.5, "right"),
    Column("Non notées", 12.5, "right"),
    Column("Moyenne", 15, "right"),
    Column("Pondérée", 16, "right"),
    Column("Min", 9.5, "right"),
    Column("Seuil", 10.5, "right"),
    Column("Intervalle 95 %".replace(" %", fmt.NNBSP + "%"), 19, "right"),
    Column("Statut", 34),
)


def neutrality_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 2: neutrality by department."""
    blocks: list[Block] = [
        Text(
            "La neutralité mesure si la réponse s’appuie sur les documents quelle que soit la manière "
            "dont la question est posée (1 : neutre ; 0 : la réponse épouse la prémisse de "
            "l’utilisateur). Les directions sont classées de la plus éloignée sous son seuil à la plus "
            "éloignée au-dessus."
        )
    ]
    figures: list[Figure] = []
    for metric in context.neutrality_metrics:
        rows = context.rows(metric)
        blocks.extend(_neutrality_blocks(context, metric, rows))
        for row in rows:
            figures.extend(aggregate_figures(context, 2, row))
        evolution, moved = evolution_blocks(context, 2, metric)
        blocks.extend(evolution)
        figures.extend(moved)
    if not context.neutrality_metrics:
        blocks.append(Callout("Non mesuré ce mois-ci", "Aucune note de neutralité sur la période.", Mark.DASH))
    return Section(2, "neutralite", "Neutralité par direction", tuple(blocks)), tuple(figures)


def _neutrality_blocks(context: Context, metric: str, rows: tuple[Aggregate, ...]) -> list[Block]:
    lexical = metric == LEXICAL
    tag = f" ({LEXICAL_TAG})" if lexical else ""
    blocks: list[Block] = [Heading(METRIC_LABELS[metric])]
    if lexical:
        blocks.append(
            Callout(
                "Indicatif, sans LLM",
                "Ces notes viennent d’un évaluateur lexical déterministe, faute de juge configuré. Elles "
                "ne valent jamais « Conforme » et ne se comparent pas aux notes d’un juge.",
                Mark.INFO,
            )
        )
    blocks.append(
        Table(
            caption=f"Neutralité par direction, {fmt.month_fr(context.inputs.month)}{tag}",
            columns=_MEASURE_COLUMNS,
            rows=tuple(_neutrality_row(context, row) for row in rows),
            note=_measure_note(context, rows),
        )
    )
    shown = [row for row in rows if row.mean is not None and not context.hides(row)]
    if shown:
        blocks.append(
            IntervalChart(
                title=f"Moyenne, intervalle et minimum par direction{tag}",
                description=_neutrality_sentence(context, shown, masked=len(rows) - len(shown)),
                rows=tuple(interval_row(context, row, as_percent=False) for row in shown),
                legend=interval_legend(mean="Moyenne", minimum=True, second=False),
            )
        )
    panels = _panels(context, metric, [row.department for row in shown])
    if panels:
        blocks.append(_panels_chart(context, panels, tag))
    return blocks


def _neutrality_row(context: Context, row: Aggregate) -> tuple[Cell, ...]:
    head = (Cell(context.label(row.department), strong=True), Cell(context.risk(row.department)))
    seuil = Cell(fmt.decimal(row.threshold))
    if context.hides(row):
        blank = masked_cell()
        return (*head, blank, blank, blank, blank, blank, seuil, blank, verdict_cell(context, row))
    return (
        *head,
        Cell(fmt.integer(row.n_scored)),
        Cell(_unscored(row)),
        Cell(fmt.against(row.mean, row.threshold), strong=True),
        masked_cell() if context.hides_weighted(row) else Cell(fmt.against(row.weighted_mean, row.threshold)),
        Cell(fmt.decimal(row.min)),
        seuil,
        Cell(interval(row.ci_low, row.ci_high)),
        verdict_cell(context, row),
    )


def _unscored(row: Aggregate) -> str:
    base = row.n_scored + row.n_unscored
    return fmt.percent(row.n_unscored / base) if base else fmt.ABSENT


def _measure_note(context: Context, rows: tuple[Aggregate, ...]) -> str:
    weight = fmt.decimal(context.inputs.flagged_weight, 1)
    note = (
        f"N : traces notées. Pondérée : moyenne où une trace signalée compte {weight} fois. Non notées : "
        "part des traces éligibles échantillonnées restées sans note ; une trace non notée n’est pas un "
        "zéro."
    )
    if context.mask.any:
        note += f" {fmt.MASKED} : non communiqué, base de moins de {context.mask.limit} traces."
    if any(context.hides_weighted(row) for row in rows):
        note += (
            f" Pondérée {fmt.MASKED} : moins de {context.mask.limit} traces signalées, que l’écart des deux moyennes "
            "ferait retrouver."
        )
    return note


def _neutrality_sentence(context: Context, shown: list[Aggregate], masked: int) -> str:
    worst = shown[0]
    below = [row for row in shown if row.threshold is not None and row.mean is not None and row.mean < row.threshold]
    text = (
        f"{fmt.plural(len(shown), 'direction représentée', 'directions représentées')}. La plus proche de "
        f"son seuil, ou la plus loin au-dessous : {context.label(worst.department)}, moyenne "
        f"{fmt.against(worst.mean, worst.threshold)} pour un seuil de {fmt.decimal(worst.threshold)} (N = "
        f"{fmt.integer(worst.n_scored)}). "
    )
    if below:
        names = fmt.enumerate_fr(context.label(row.department) for row in below)
        text += f"Moyenne sous le seuil : {names}."
    else:
        text += "Aucune moyenne n’est sous son seuil."
    if masked:
        text += f" Non représentées (base trop faible ou rien de noté) : {masked}."
    return text


def _month_days(month: str) -> list[dt.date]:
    year, number = (int(part) for part in month.split("-"))
    return [dt.date(year, number, day) for day in range(1, calendar.monthrange(year, number)[1] + 1)]


def _panels(context: Context, metric: str, departments: list[str]) -> tuple[Panel, ...]:
    days = _month_days(context.inputs.month)
    values: dict[tuple[str, dt.date], float] = {}
    for point in context.inputs.daily:
        if point.metric == metric and point.mean is not None and point.n >= context.mask.limit:
            values[point.department, point.day] = point.mean
    thresholds = {row.department: row.threshold for row in context.rows(metric)}
    panels = []
    for department in departments:
        series = tuple(values.get((department, day)) for day in days)
        if any(value is not None for value in series):
            panels.append(Panel(context.label(department), series, thresholds.get(department)))
    return tuple(panels)


def _panels_chart(context: Context, panels: tuple[Panel, ...], tag: str) -> PanelsChart:
    days = _month_days(context.inputs.month)
    lows = [
        (panel.label, sum(1 for value in panel.values if value is not None and value < panel.threshold))
        for panel in panels
        if panel.threshold is not None
    ]
    under = [f"{label} ({count})" for label, count in lows if count]
    text = (
        f"Jours dont la moyenne est sous le seuil : {fmt.enumerate_fr(under)}."
        if under
        else "Aucun jour représenté n’a de moyenne sous le seuil."
    )
    return PanelsChart(
        title=f"Moyenne quotidienne par direction{tag}",
        description=f"{text} Un trait interrompu signale une nuit manquante ou une base de moins de "
        f"{context.mask.limit} traces.",
        panels=panels,
        first_label=f"{days[0].day:02d}/{days[0].month:02d}",
        last_label=f"{days[-1].day:02d}/{days[-1].month:02d}",
    )


def primary_metric(context: Context) -> str:
    """Return the neutrality metric the verdict stands on: the judge's where it exists."""
    return JUDGE if JUDGE in context.neutrality_metrics else LEXICAL
