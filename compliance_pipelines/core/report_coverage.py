"""The last part of section 3 of the report: what share of the traffic each runtime guardrail actually saw.

A gate that nobody feeds protects nobody, so its share stands beside its results. Bases of 1 to 4 are left
out of the totals.
"""

from __future__ import annotations

from collections.abc import Callable

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.report_context import (
    Context,
)
from compliance_pipelines.core.report_inputs import CoverageFacts
from compliance_pipelines.core.report_suppress import published, safe_total
from compliance_pipelines.core.report_tree import (
    BarRow,
    BarsChart,
    Block,
    Callout,
    Cell,
    Column,
    Figure,
    Heading,
    Mark,
    Table,
    Text,
)

_GUARDRAILS: tuple[tuple[str, str, Callable[[CoverageFacts], int], Callable[[CoverageFacts], int]], ...] = (
    ("Score de similarité reçu", "requêtes", lambda c: c.with_retrieval_score, lambda c: c.requests),
    ("Refus pour documents trop éloignés", "requêtes", lambda c: c.retrieval_refused, lambda c: c.requests),
    ("Affirmation précise détectée", "requêtes", lambda c: c.claims_detected, lambda c: c.requests),
    (
        "Affirmation précise sans source",
        "réponses à affirmation",
        lambda c: c.uncited,
        lambda c: c.claims_detected,
    ),
    (
        "Auto-évaluation faite",
        "réponses à affirmation",
        lambda c: c.self_evaluated,
        lambda c: c.claims_detected,
    ),
    (
        "Confiance faible annoncée",
        "auto-évaluations",
        lambda c: c.low_self_confidence,
        lambda c: c.self_evaluated,
    ),
    (
        "Raisonnement sur un critère protégé",
        "requêtes",
        lambda c: c.protected_attr_flagged,
        lambda c: c.requests,
    ),
    ("Réponse passée au filtre de biais", "requêtes", lambda c: c.bias_screened, lambda c: c.requests),
    (
        "Seuil du filtre de biais dépassé",
        "réponses filtrées",
        lambda c: c.bias_acted,
        lambda c: c.bias_screened,
    ),
)


def coverage_blocks(context: Context) -> tuple[tuple[Block, ...], tuple[Figure, ...]]:
    """Build the sub-part of section 3 that says what share of the traffic each guardrail saw."""
    heading = Heading("Ce que chaque garde-fou a réellement vu")
    facts = published(context.inputs.coverage, context.mask, lambda item: item.department)
    if not facts:
        empty = Callout(
            "Non mesuré ce mois-ci",
            "Aucun relevé des garde-fous d’exécution sur la période : leur couverture n’est pas établie.",
            Mark.DASH,
        )
        return (heading, empty), ()
    rows = []
    figures = []
    for name, of_what, part, base in _GUARDRAILS:
        kept = [item for item in facts if not context.mask.small(base(item))]
        total, seen = safe_total(facts, context.mask, base), sum(part(item) for item in kept)
        rows.append(
            (
                Cell(name, strong=True),
                Cell(fmt.integer(seen)),
                Cell(fmt.integer(total)),
                Cell(of_what),
                Cell(fmt.percent(seen / total) if total else fmt.ABSENT, strong=True),
            )
        )
        figures.append(Figure(3, "toutes", "coverage", name, seen))
        figures.append(Figure(3, "toutes", "coverage", f"{name} – base", total))
    fed = sorted(
        (item for item in facts if item.requests),
        key=lambda item: (item.with_retrieval_score / item.requests, context.label(item.department)),
    )
    blocks: list[Block] = [
        heading,
        Text(
            "Un garde-fou que rien n’alimente ne protège de rien : la part du trafic qu’il a vue est donc "
            "publiée avec ses résultats."
        ),
        Table(
            caption=f"Couverture des garde-fous, {fmt.month_fr(context.inputs.month)}",
            columns=(
                Column("Garde-fou", 45),
                Column("Nombre", 14, "right"),
                Column("Base", 14, "right"),
                Column("Nature de la base", 27),
                Column("Part", 14, "right"),
            ),
            rows=tuple(rows),
            note="Totaux pris sur les seules directions publiées." if context.mask.any else None,
        ),
    ]
    if fed:
        lowest = fed[0]
        share = lowest.with_retrieval_score / lowest.requests
        blocks.append(
            BarsChart(
                title="Requêtes accompagnées d’un score de similarité, par direction",
                description=(
                    f"Part la plus basse : {context.label(lowest.department)}, {fmt.percent(share)} (N = "
                    f"{fmt.integer(lowest.requests)}). Sans score, le contrôle de pertinence documentaire "
                    "laisse passer et signale, ou refuse, selon la politique de la direction."
                ),
                rows=tuple(
                    BarRow(
                        context.label(item.department),
                        (item.with_retrieval_score / item.requests,),
                        f"{fmt.percent(item.with_retrieval_score / item.requests)}  "
                        f"N{fmt.NNBSP}={fmt.NNBSP}{fmt.integer(item.requests)}",
                    )
                    for item in fed
                ),
                legend=("Score reçu",),
            )
        )
        figures.extend(
            Figure(
                3,
                fmt.clean(item.department, 64),
                "coverage",
                "with_retrieval_score",
                item.with_retrieval_score,
            )
            for item in fed
        )
    return tuple(blocks), tuple(figures)
