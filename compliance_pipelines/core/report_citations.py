"""Section 3 of the report: citations, figures found in the sources, and ragas where it ran.

Shares are printed in percent with their base; the looser rule of the citation marker stands beside the
strict one. Coverage, the last part of the section, is `report_coverage`. Verdicts come with the aggregates.
"""

from __future__ import annotations

from dataclasses import replace

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.records import Aggregate, Verdict
from compliance_pipelines.core.report_context import (
    CITATION,
    GROUNDING,
    MARKER,
    METRIC_LABELS,
    YES_NO,
    Context,
    aggregate_figures,
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
    Section,
    Table,
    Text,
)


def citation_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 3 without its coverage part: citations, figures found in the sources, ragas where present."""
    blocks: list[Block] = [
        Text(
            "Part des réponses contenant une affirmation précise (montant, pourcentage, article, clause, "
            "délai, étendue d’une garantie) dont chaque affirmation est accompagnée de sa source dans la "
            f"même phrase. Seuil : {fmt.percent(context.inputs.citation_threshold, 0)}."
        )
    ]
    figures: list[Figure] = []
    markers = {row.department: row for row in context.rows(MARKER)}
    rows = context.rows(CITATION)
    blocks.extend(_share_blocks(context, CITATION, rows, markers))
    evolution, moved = evolution_blocks(context, 3, CITATION)
    blocks.extend(evolution)
    blocks.append(Heading("Chiffres retrouvés dans les sources"))
    blocks.append(
        Text(
            "Chaque montant, pourcentage, délai, article ou clause de la réponse est cherché, par sa "
            "valeur, dans les documents fournis et dans la question. La mesure est déterministe et ne "
            "recourt à aucun modèle."
        )
    )
    blocks.extend(_share_blocks(context, GROUNDING, context.rows(GROUNDING), {}))
    others = sorted({row.metric for row in context.inputs.aggregates if row.metric.startswith("ragas_")})
    for metric in others:
        blocks.append(Heading(METRIC_LABELS.get(metric, fmt.clean(metric, 40))))
        blocks.extend(_share_blocks(context, metric, context.rows(metric), {}))
    for metric in (CITATION, GROUNDING, *others):
        for row in context.rows(metric):
            figures.extend(aggregate_figures(context, 3, row))
    for row in rows:
        # The looser rule is printed beside the strict one, on the same base: only its mean is a figure of
        # its own.
        marker = markers.get(row.department)
        if marker is None or marker.mean is None or context.hides(row) or context.hides(marker):
            continue
        if not context.exact(marker):
            name = fmt.clean(row.department, 64)
            figures.append(Figure(3, name, MARKER, "mean", None, "non communiqué"))
        else:
            loose = marker.mean
            figures.append(Figure(3, fmt.clean(row.department, 64), MARKER, "mean", round(loose, 6)))
    figures.extend(moved)
    title = "Citation des sources et exactitude des chiffres"
    return Section(3, "citations", title, tuple(blocks)), tuple(figures)


def _share_blocks(
    context: Context, metric: str, rows: tuple[Aggregate, ...], markers: dict[str, Aggregate]
) -> list[Block]:
    if not rows:
        return [Callout("Non mesuré ce mois-ci", "Aucune réponse éligible sur la période.", Mark.DASH)]
    columns = [
        Column("Direction", 28),
        Column("N", 11, "right"),
        Column("Taux" if metric == CITATION else "Moyenne", 14, "right"),
        Column("Intervalle 95" + fmt.NNBSP + "%", 22, "right"),
        Column("Seuil", 12, "right"),
    ]
    if metric not in YES_NO:
        columns.insert(4, Column("Min", 12, "right"))
    if markers:
        columns.append(Column("Repère seul", 15, "right"))
    columns.append(Column("Statut", 36))
    note = "N : réponses contenant au moins une affirmation précise." if metric == CITATION else "N : réponses notées."
    if any(not context.hides(row) and not context.exact(row) for row in rows):
        note += f" < ou > : borne, moins de {context.mask.limit} réponses d’un côté du taux."
    if markers:
        note += " Repère seul : règle large, un mot de citation n’importe où dans la réponse, pour rappel."
    label = METRIC_LABELS.get(metric, fmt.clean(metric, 40))
    blocks: list[Block] = [
        Table(
            caption=f"{label}, {fmt.month_fr(context.inputs.month)}",
            columns=tuple(columns),
            rows=tuple(_share_row(context, row, markers) for row in rows),
            note=note,
        )
    ]
    shown = [row for row in rows if row.mean is not None and context.exact(row)]
    if shown and metric in {CITATION, GROUNDING}:
        blocks.append(
            IntervalChart(
                title=f"{METRIC_LABELS[metric]} par direction",
                description=_share_sentence(context, shown, sum(row.mean is not None for row in rows) - len(shown)),
                rows=tuple(
                    interval_row(context, row, as_percent=True, second=_marker_mean(context, markers, row))
                    for row in shown
                ),
                legend=interval_legend(
                    mean="Taux" if metric == CITATION else "Moyenne",
                    minimum=metric not in YES_NO,
                    second=bool(markers),
                ),
                percent=True,
            )
        )
    return blocks


def _marker_mean(context: Context, markers: dict[str, Aggregate], row: Aggregate) -> float | None:
    marker = markers.get(row.department)
    return None if marker is None or not context.exact(marker) else marker.mean


def _marker_text(context: Context, markers: dict[str, Aggregate], row: Aggregate) -> str:
    marker = markers.get(row.department)
    if marker is None or marker.mean is None:
        return fmt.ABSENT
    return fmt.MASKED if context.hides(marker) else context.value(replace(marker, threshold=None), as_percent=True)


def _share_row(context: Context, row: Aggregate, markers: dict[str, Aggregate]) -> tuple[Cell, ...]:
    head = Cell(context.label(row.department), strong=True)
    seuil = Cell(fmt.percent(row.threshold, 0))
    extra: tuple[Cell, ...] = ()
    yes_no = row.metric in YES_NO
    if context.hides(row):
        blank = masked_cell()
        extra = (blank,) if markers else ()
        low = () if yes_no else (blank,)
        return (head, blank, blank, blank, *low, seuil, *extra, verdict_cell(context, row))
    if markers:
        extra = (Cell(_marker_text(context, markers, row)),)
    return (
        head,
        Cell(fmt.integer(row.n_scored)),
        Cell(context.value(row, as_percent=True), strong=True),
        Cell(context.bounds(row, as_percent=True)),
        *(() if yes_no else (Cell(fmt.percent(row.min)),)),
        seuil,
        *extra,
        verdict_cell(context, row),
    )


def _share_sentence(context: Context, shown: list[Aggregate], left: int) -> str:
    worst = shown[0]
    failing = [context.label(row.department) for row in shown if row.verdict is Verdict.NON_CONFORME]
    text = (
        f"Valeur la plus basse au regard de son seuil : {context.label(worst.department)}, "
        f"{fmt.against(worst.mean, worst.threshold, 1, as_percent=True)} (N = "
        f"{fmt.integer(worst.n_scored)}). "
    )
    text += f"Non conforme : {fmt.enumerate_fr(failing)}." if failing else "Aucune direction non conforme."
    return text + (f" Non représentées (effectif trop faible d’un côté du taux) : {left}." if left else "")
