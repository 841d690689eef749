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
from compliance_pipelines.core.report_shares import Share, Total, total
from compliance_pipelines.core.report_suppress import published
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

_Count = Callable[[CoverageFacts], int]


def _claims(facts: CoverageFacts) -> int:
    return facts.claims_detected


# Name, nature of the base, part, base, and whether the report also prints the parts by department: only then can a
# small part be had back from the total.
_GUARDRAILS: tuple[tuple[str, str, _Count, _Count, bool], ...] = (
    ("Score de similarité reçu", "requêtes", lambda c: c.with_retrieval_score, lambda c: c.requests, True),
    ("Refus pour documents trop éloignés", "requêtes", lambda c: c.retrieval_refused, lambda c: c.requests, False),
    ("Affirmation précise détectée", "requêtes", _claims, lambda c: c.requests, True),
    (
        "Affirmation précise sans source",
        "réponses à affirmation",
        lambda c: c.uncited,
        lambda c: c.claims_detected,
        True,
    ),
    (
        "Auto-évaluation faite",
        "réponses à affirmation",
        lambda c: c.self_evaluated,
        lambda c: c.claims_detected,
        False,
    ),
    (
        "Confiance faible annoncée",
        "auto-évaluations",
        lambda c: c.low_self_confidence,
        lambda c: c.self_evaluated,
        False,
    ),
    (
        "Raisonnement sur un critère protégé",
        "requêtes",
        lambda c: c.protected_attr_flagged,
        lambda c: c.requests,
        False,
    ),
    ("Réponse passée au filtre de biais", "requêtes", lambda c: c.bias_screened, lambda c: c.requests, False),
    (
        "Seuil du filtre de biais dépassé",
        "réponses filtrées",
        lambda c: c.bias_acted,
        lambda c: c.bias_screened,
        False,
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
    limit = context.mask.limit
    bounded = False
    for name, of_what, part, base, detailed in _GUARDRAILS:
        kept = [item for item in facts if not context.mask.small(base(item))]
        # Claims are the base of the row below, printed exactly: a bound would hide nothing unless one of them is small.
        telling = detailed and (part is not _claims or any(context.mask.small(part(item)) for item in kept))
        found = total((Share(part(item), base(item), limit) for item in kept), limit, detailed=telling)
        bounded = bounded or not found.exact or found.small
        rows.append(
            (
                Cell(name, strong=True),
                Cell(found.count_text),
                Cell(fmt.integer(found.base)),
                Cell(of_what),
                Cell(found.share_text, strong=True),
            )
        )
        figures.extend(_total_figures(name, found))
    fed = sorted(
        (item for item in facts if Share(item.with_retrieval_score, item.requests, limit).exact),
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
            note=_note(context, bounded=bounded),
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


def _total_figures(name: str, found: Total) -> tuple[Figure, ...]:
    base = Figure(3, "toutes", "coverage", f"{name} – base", found.base)
    if found.exact and not found.small:
        return (Figure(3, "toutes", "coverage", name, found.least), base)
    masked = Figure(3, "toutes", "coverage", name, None, "non communiqué")
    least = () if found.exact else (Figure(3, "toutes", "coverage", f"{name} – au moins", found.least),)
    return (masked, *least, base)


def _note(context: Context, *, bounded: bool) -> str | None:
    parts = ["Totaux pris sur les seules directions publiées."] if context.mask.any else []
    if bounded:
        parts.append(
            f"< , > ou ≥ : borne, pour ne pas donner un effectif de moins de {context.mask.limit} ; {fmt.MASKED} : "
            "effectif trop faible."
        )
    return " ".join(parts) or None
