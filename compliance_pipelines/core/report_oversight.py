"""Section 4 of the report, human oversight, and the coverage part of section 3: what each guardrail actually
saw.

A share is never printed without its base, and a base of 1 to 4 is masked. Totals are taken over published
rows only.
"""

from __future__ import annotations

from collections.abc import Callable

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.report_context import (
    OVERSIGHT,
    Context,
    aggregate_figures,
    interval,
    masked_cell,
)
from compliance_pipelines.core.report_inputs import CoverageFacts, OversightFacts
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
    Section,
    Table,
    Text,
)

_OVERSIGHT_COLUMNS = (
    Column("Direction", 26),
    Column("Traces", 12, "right"),
    Column("Avis +", 11, "right"),
    Column("Avis –", 11, "right"),
    Column("Taux d’avis", 14, "right"),
    Column("Intervalle 95" + fmt.NNBSP + "%", 20, "right"),
    Column("File", 10, "right"),
    Column("Revues", 14, "right"),
    Column("Infirmées", 15, "right"),
    Column("Délai médian", 16, "right"),
)


def oversight_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 4: explicit feedback, and what became of the traces sent to a person."""
    facts = sorted(context.inputs.oversight, key=lambda item: (_rate(item), context.label(item.department)))
    title = "Contrôle humain"
    intro = Text(
        "Part des traces ayant reçu un avis explicite d’un utilisateur, et suite donnée aux traces placées "
        "en file de "
        "revue (note basse, affirmation sans source, raisonnement sur un critère protégé). Une trace est « "
        "infirmée » "
        "quand la personne qui la revoit contredit l’évaluation automatique."
    )
    if not facts:
        empty = Callout(
            "Non mesuré ce mois-ci", "Aucun avis ni aucune revue transmis sur la période.", Mark.DASH
        )
        return Section(4, "controle-humain", title, (intro, empty)), ()
    intervals = {row.department: row for row in context.rows(OVERSIGHT) if not context.hides(row)}
    rows = []
    figures: list[Figure] = []
    for item in facts:
        row = intervals.get(item.department)
        ci = interval(row.ci_low, row.ci_high, as_percent=True) if row else fmt.ABSENT
        rows.append(_oversight_row(context, item, ci))
        figures.extend(_oversight_figures(context, item))
    for aggregate in context.rows(OVERSIGHT):
        figures.extend(aggregate_figures(context, 4, aggregate))
    blocks: list[Block] = [
        intro,
        Table(
            caption=f"Avis et revues par direction, {fmt.month_fr(context.inputs.month)}",
            columns=_OVERSIGHT_COLUMNS,
            rows=tuple(rows),
            note="File : traces placées en revue. Revues : part de la file. Infirmées : part des revues. "
            f"{fmt.MASKED} : base de moins de {context.mask.limit}.",
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


def _oversight_row(context: Context, item: OversightFacts, ci: str) -> tuple[Cell, ...]:
    head = Cell(context.label(item.department), strong=True)
    blank = masked_cell()
    if context.mask.hides(item.department):
        return (head, *(blank for _ in range(len(_OVERSIGHT_COLUMNS) - 1)))
    split_hidden = context.mask.small(item.feedback_up + item.feedback_down)
    hours = (
        f"{fmt.decimal(item.median_review_hours, 1)}{fmt.NNBSP}h"
        if item.median_review_hours is not None
        else ""
    )
    return (
        head,
        Cell(fmt.integer(item.traces)),
        blank if split_hidden else Cell(fmt.integer(item.feedback_up)),
        blank if split_hidden else Cell(fmt.integer(item.feedback_down)),
        Cell(fmt.percent(_rate(item)) if item.traces else fmt.ABSENT, strong=True),
        Cell(ci),
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
        values = (
            (_rate(item),) if masked else (item.feedback_up / item.traces, item.feedback_down / item.traces)
        )
        note = f"{fmt.percent(_rate(item))}  N{fmt.NNBSP}={fmt.NNBSP}{fmt.integer(item.traces)}"
        rows.append(BarRow(context.label(item.department), values, note))
    total = sum(item.traces for item in shown)
    given = sum(item.feedback_up + item.feedback_down for item in shown)
    lowest = shown[0]
    return BarsChart(
        title="Avis explicites, en part des traces",
        description=(
            f"Sur les directions publiées, {fmt.percent(given / total)} des {fmt.integer(total)} traces ont "
            "reçu un "
            f"avis. Taux le plus bas : {context.label(lowest.department)}, {fmt.percent(_rate(lowest))} "
            f"(N = {fmt.integer(lowest.traces)})."
        ),
        rows=tuple(rows),
        legend=("Avis positif", "Avis négatif"),
        maximum=min(1.0, max(0.05, max(_rate(item) for item in shown) * 1.05)),
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
            "publiée "
            "avec ses résultats."
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
                    f"Part la plus basse : {context.label(lowest.department)}, {fmt.percent(share)} "
                    f"(N = {fmt.integer(lowest.requests)}). Sans score, le contrôle de pertinence "
                    "documentaire "
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
