"""The key figures of the first page: four tiles, the verdicts counted by measure, and both as attached figures.

Every rate stands with its base and is taken over published rows only, so that no subtraction gives a masked base
back. What is printed here is what `summary.json` and the attachments hold.
"""

from __future__ import annotations

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.conformity import below
from compliance_pipelines.core.records import Aggregate, Verdict
from compliance_pipelines.core.report_context import (
    CITATION,
    GROUNDING,
    JUDGE,
    LEXICAL,
    METRIC_LABELS,
    OVERSIGHT,
    Context,
)
from compliance_pipelines.core.report_shares import Share, Total, total
from compliance_pipelines.core.report_suppress import published
from compliance_pipelines.core.report_tree import Cell, Column, Figure, Table, Tile, Tiles

ALL = "toutes"
JUDGED = (JUDGE, LEXICAL, CITATION, GROUNDING)
_ORDER = (
    Verdict.CONFORME,
    Verdict.NON_CONFORME,
    Verdict.INDICATIF,
    Verdict.INSUFFISANT,
    Verdict.SANS_OBJET,
)


def key_figures(context: Context) -> tuple[Tiles, Table, tuple[Figure, ...]]:
    """Return the tiles, the table of verdicts by measure, and the figures printed in them."""
    parts = (_neutrality(context), _citations(context), _oversight(context), _retrieval(context))
    table, counts = _measures(context)
    return Tiles(tuple(tile for tile, _ in parts)), table, (*(f for _, found in parts for f in found), *counts)


def _neutrality(context: Context) -> tuple[Tile, tuple[Figure, ...]]:
    metric = JUDGE if JUDGE in context.neutrality_metrics else LEXICAL
    rows = [row for row in context.rows(metric) if not context.hides(row)]
    scored = sum(row.n_scored for row in rows)
    concluded = [row for row in rows if row.verdict not in (Verdict.INSUFFISANT, Verdict.SANS_OBJET)]
    judged = [row for row in concluded if row.mean is not None and row.threshold is not None]
    reached = sum(1 for row in judged if not below(row.mean or 0.0, row.threshold or 0.0))
    suffix = " (indicatif, sans LLM)" if metric in context.neutrality_metrics and metric == LEXICAL else ""
    tile = Tile(
        f"{reached} / {len(judged)}" if judged else fmt.ABSENT,
        f"directions à effectif suffisant, au seuil de neutralité{suffix}",
        f"N = {fmt.integer(scored)} traces notées",
    )
    figures = (
        Figure(1, ALL, metric, "departments_at_threshold", reached),
        Figure(1, ALL, metric, "departments_measured", len(judged)),
        Figure(1, ALL, metric, "n_scored", scored),
    )
    return tile, figures


def _citations(context: Context) -> tuple[Tile, tuple[Figure, ...]]:
    rows = [row for row in context.rows(CITATION) if not context.hides(row) and row.mean is not None]
    found = total((context.share(row) for row in rows), context.mask.limit)
    tile = Tile(
        found.share_text,
        "réponses dont chaque affirmation est sourcée",
        f"N = {fmt.integer(found.base)} ; seuil {fmt.percent(context.inputs.citation_threshold, 0)}",
    )
    return tile, _share(CITATION, "share_cited", found)


def _oversight(context: Context) -> tuple[Tile, tuple[Figure, ...]]:
    humans = [item for item in published(context.inputs.oversight, context.mask, lambda f: f.department) if item.traces]
    limit = context.mask.limit
    found = total((Share(item.feedback_up + item.feedback_down, item.traces, limit) for item in humans), limit)
    tile = Tile(
        found.share_text,
        "traces avec un avis humain explicite",
        f"N = {fmt.integer(found.base)} traces avec réponse",
    )
    return tile, _share(OVERSIGHT, "share_with_feedback", found)


def _retrieval(context: Context) -> tuple[Tile, tuple[Figure, ...]]:
    seen = published(context.inputs.coverage, context.mask, lambda item: item.department)
    limit = context.mask.limit
    found = total((Share(item.with_retrieval_score, item.requests, limit) for item in seen), limit)
    tile = Tile(
        found.share_text,
        "requêtes vues par le contrôle documentaire",
        f"N = {fmt.integer(found.base)} requêtes, avec ou sans réponse",
    )
    return tile, _share("retrieval_gate", "share_with_score", found)


def _share(metric: str, name: str, found: Total) -> tuple[Figure, ...]:
    whole = Figure(1, ALL, metric, f"n_{name}", found.base)
    if not found.base:
        return (Figure(1, ALL, metric, name, None, "non mesuré"), whole)
    if found.exact and found.share is not None:
        return (Figure(1, ALL, metric, name, round(found.share, 6)), whole)
    masked = Figure(1, ALL, metric, name, None, "non communiqué")
    least = () if found.exact or found.share is None else (Figure(1, ALL, metric, f"{name}_at_least", found.floor),)
    return (masked, *least, whole)


def _measures(context: Context) -> tuple[Table, tuple[Figure, ...]]:
    rows: list[tuple[Cell, ...]] = []
    figures: list[Figure] = []
    for metric in JUDGED:
        found = context.rows(metric)
        if not found:
            continue
        counts = [sum(1 for row in found if row.verdict is verdict) for verdict in _ORDER]
        base = _published_base(context, found)
        rows.append(
            (
                Cell(METRIC_LABELS[metric], strong=True),
                Cell(fmt.integer(base)),
                *(Cell(str(count) if count else "–", muted=not count, strong=bool(count)) for count in counts),
            )
        )
        figures.extend(
            Figure(1, ALL, metric, f"departments_{verdict.name.lower()}", count)
            for verdict, count in zip(_ORDER, counts, strict=True)
        )
    table = Table(
        caption="Nombre de directions par mesure et par verdict",
        columns=(
            Column("Mesure", 50),
            Column("N publié", 16, "right"),
            Column("Conforme", 18, "center"),
            Column("Non conforme", 18, "center"),
            Column("Indicatif", 18, "center"),
            Column("Données insuffisantes", 20, "center"),
            Column("Sans objet", 18, "center"),
        ),
        rows=tuple(rows),
    )
    return table, tuple(figures)


def _published_base(context: Context, rows: tuple[Aggregate, ...]) -> int:
    return sum(row.n_scored for row in rows if not context.hides(row))
