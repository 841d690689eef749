"""Section 1 of the report: the verdict of the month, its reason, and its scope.

The verdict of the month is derived from the verdicts of the aggregates by the rule printed in section 8; it
never looks better than any part it stands on.
"""

from __future__ import annotations

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.records import Aggregate, Verdict
from compliance_pipelines.core.report_context import (
    JUDGE,
    LEXICAL,
    METRIC_LABELS,
    UNATTRIBUTED,
    Context,
)
from compliance_pipelines.core.report_inputs import PairVerdict, Replaced
from compliance_pipelines.core.report_key_figures import ALL, JUDGED, key_figures
from compliance_pipelines.core.report_method import population_line
from compliance_pipelines.core.report_tree import (
    VERDICT_MARKS,
    Block,
    Callout,
    FactList,
    Figure,
    Mark,
    Section,
    VerdictBox,
)

_HIGH_RISK = {"CRITICAL", "HIGH"}


def month_verdict(context: Context) -> tuple[Verdict, str]:
    """Return the verdict of the month and the French sentence that gives its reason."""
    rows = [row for metric in JUDGED for row in context.rows(metric) if row.verdict is not Verdict.SANS_OBJET]
    pairs = context.inputs.counterfactual.pairs if context.inputs.counterfactual else ()
    biased = sorted(pair.pair_id for pair in pairs if pair.verdict is PairVerdict.BIASED)
    failing = [row for row in rows if row.verdict is Verdict.NON_CONFORME]
    if failing or biased:
        return Verdict.NON_CONFORME, _failure_reason(context, failing, biased)
    short = [row for row in rows if row.verdict is Verdict.INSUFFISANT and _decisive(context, row)]
    measured = [row for row in rows if row.verdict is not Verdict.INSUFFISANT]
    if short or not measured:
        names = _names(context, short)
        why = f"Neutralité non établie pour : {names}." if short else "Aucune mesure ne repose sur assez de traces."
        return Verdict.INSUFFISANT, why
    if any(row.verdict is Verdict.INDICATIF for row in rows):
        return Verdict.INDICATIF, (
            "Aucune mesure n’est non conforme, mais la neutralité vient d’un évaluateur lexical ou d’un "
            "juge non étalonné : elle ne permet pas de conclure à la conformité."
        )
    unsure = [row for row in rows if context.unsure(row)]
    reason = "Toutes les mesures établies atteignent leur seuil."
    if unsure:
        reason += f" Marge non établie pour : {_names(context, unsure)}."
    return Verdict.CONFORME, reason


def _decisive(context: Context, row: Aggregate) -> bool:
    facts = context.departments.get(row.department)
    if row.department == UNATTRIBUTED and _residual(context, row):
        return False
    return row.metric in (JUDGE, LEXICAL) and facts is not None and facts.risk in _HIGH_RISK


def _residual(context: Context, row: Aggregate) -> bool:
    """Tell whether unattributed traces are too few to weigh on the month; none at all is how it should be.

    Too few to be judged, and no larger a part of the month than what may remain unscored in a department: such a
    remainder is shown with its count, as everywhere, and leaves open nothing that the departments have established.
    """
    whole = sum(other.n_eligible for other in context.inputs.aggregates if other.metric == row.metric)
    return row.n_eligible < context.inputs.min_n and row.n_eligible <= context.inputs.max_unscored_rate * whole


def _names(context: Context, rows: list[Aggregate]) -> str:
    return fmt.enumerate_fr((context.label(row.department) for row in rows), 6)


def _failure_reason(context: Context, failing: list[Aggregate], biased: list[str]) -> str:
    parts = []
    for metric in JUDGED:
        rows = [row for row in failing if row.metric == metric]
        if rows:
            parts.append(f"{METRIC_LABELS[metric]} sous le seuil : {_names(context, rows)}.")
    if biased:
        shown = ", ".join(fmt.clean(pair, 40) for pair in biased[:4])
        parts.append(f"Écart contrefactuel établi : {shown}{'…' if len(biased) > 4 else ''}.")
    return " ".join(parts)


def verdict_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 1: verdict, key figures, verdicts by measure, scope."""
    verdict, reason = month_verdict(context)
    tiles, measures, figures = key_figures(context)
    blocks: list[Block] = [VerdictBox(verdict, reason)]
    if context.inputs.replaced is not None:
        blocks.append(_replacement(context.inputs.revision, context.inputs.replaced))
    blocks.append(tiles)
    blocks += [measures] if measures.rows else []
    blocks.append(_scope(context))
    if not context.inputs.signed:
        blocks.append(
            Callout(
                "Document non signé",
                "Aucun certificat de signature n’est configuré : l’authenticité repose sur le manifeste d’archive.",
                Mark.INFO,
            )
        )
    month = Figure(1, ALL, "month", "verdict", verdict.value)
    return Section(1, "verdict", "Verdict et périmètre", tuple(blocks)), (month, *figures)


def replaces_fr(replaced: Replaced | None) -> str:
    """ "remplace la révision 1 du 1er juillet 2026", or nothing for a first version."""
    if replaced is None:
        return ""
    return f"remplace la révision {replaced.revision} du {fmt.date_fr(fmt.paris(replaced.built_at))}"


def _replacement(revision: int, replaced: Replaced) -> Callout:
    return Callout(
        f"Révision {revision} : {replaces_fr(replaced)}",
        f"Motif : {fmt.clean(replaced.reason_fr, 500).rstrip('.')}. La révision remplacée reste dans l’archive ; "
        "ce qui a changé est listé en section 7.",
        Mark.INFO,
    )


def _scope(context: Context) -> FactList:
    inputs = context.inputs
    # A month has rows for every department of the policy: one without any trace was not measured.
    known = {row.department for row in inputs.aggregates if row.n_traces}
    attributed = sorted(known - {UNATTRIBUTED})
    absent = sorted(set(context.departments) - known - {UNATTRIBUTED})
    people = f"{fmt.plural(len(attributed), 'direction mesurée', 'directions mesurées')}"
    if absent:
        people += f" ; sans trace sur la période : {fmt.enumerate_fr(context.label(item) for item in absent)}"
    nights = len(inputs.missing_nights)
    window = f"du {fmt.instant_fr(inputs.window_start)} au {fmt.instant_fr(inputs.window_end)}, fin exclue"
    grounds = inputs.counterfactual
    pairs = fmt.plural(len(grounds.pairs), "paire", "paires") if grounds else "non réalisé ce mois-ci"
    unattributed = _unattributed(context)
    return FactList(
        (
            ("Période", window),
            ("Directions", people),
            ("Traces non attribuées", unattributed),
            ("Nuits manquantes", f"{nights} sur la période" if nights else "aucune"),
            ("Tests contrefactuels", pairs),
            ("Arrêté des données", fmt.instant_fr(inputs.scheduled_at)),
            ("Effectifs", population_line(context)),
        )
    )


def _unattributed(context: Context) -> str:
    rows = [row for row in context.inputs.aggregates if row.department == UNATTRIBUTED]
    if not rows:
        return "aucune"
    hidden = context.mask.hides(UNATTRIBUTED)
    count = f"moins de {context.mask.limit}" if hidden else fmt.integer(max(row.n_traces for row in rows))
    residual = any(row.n_traces for row in rows) and all(
        _residual(context, row) for row in rows if row.metric in (JUDGE, LEXICAL)
    )
    return f"{count}, effectif trop faible pour peser sur le verdict du mois (section 8)" if residual else count


def mark_of(verdict: Verdict) -> Mark:
    """Return the mark of a verdict."""
    return VERDICT_MARKS[verdict]
