"""Sections 7 and 9 of the report: alerts, missing nights, change log; corrective actions.

An absence is stated ("aucune alerte"), never left blank. A finding without a corrective action is said to
have none.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.records import Verdict
from compliance_pipelines.core.report_context import METRIC_LABELS, Context
from compliance_pipelines.core.report_inputs import ChangeFacts
from compliance_pipelines.core.report_tree import (
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

_ALERT_LABELS: Mapping[str, str] = {
    "NeutralityBelowThreshold": "Neutralité sous le seuil",
    "UncitedClaimsBurst": "Afflux d’affirmations sans source",
    "UnscoredRateHigh": "Trop de traces non notées",
    "JudgeUnreliable": "Juge non fiable",
    "NightMissing": "Nuit manquante",
    "RunFailed": "Exécution en échec",
    "ReportMissing": "Rapport manquant",
    "RetentionNotVerified": "Conservation non vérifiée",
    "GuardrailErrors": "Erreurs des garde-fous",
    "GuardrailNotFed": "Garde-fou non alimenté",
}
_SEVERITIES: Mapping[str, str] = {"critical": "critique", "warning": "avertissement", "info": "information"}

NO_ALERT = "Aucune alerte ne s’est déclenchée sur la période."
NOT_EVALUATED = "Alertes non évaluées : aucune surveillance n’a tourné sur cette installation pendant la période."
NO_CHANGE = "Aucun changement de modèle, d’invite, de juge, de seuil ou de paires n’a été enregistré."
NOT_COMPARED = "Aucune politique n’était en vigueur le mois précédent : il n’y a rien à comparer."


def events_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 7: alerts, missing nights, change log."""
    inputs = context.inputs
    blocks: list[Block] = [Heading("Alertes et incidents")]
    alerts = sorted(inputs.alerts, key=lambda alert: (alert.started_at, alert.name, alert.department or ""))
    if alerts:
        rows = tuple(
            (
                Cell(fmt.instant_short(alert.started_at)),
                Cell(fmt.instant_short(alert.ended_at) if alert.ended_at else "en cours"),
                Cell(_ALERT_LABELS.get(alert.name, fmt.clean(alert.name, 48)), strong=True),
                Cell(context.label(alert.department)),
                Cell(_SEVERITIES.get(alert.severity.lower(), fmt.clean(alert.severity, 20))),
                Cell(fmt.clean(alert.summary_fr, 200)),
            )
            for alert in alerts
        )
        blocks.append(
            Table(
                caption=f"Alertes du mois ({len(rows)}), heure de Paris",
                columns=(
                    Column("Début", 21),
                    Column("Fin", 21),
                    Column("Alerte", 30),
                    Column("Direction", 22),
                    Column("Gravité", 20),
                    Column("Constat", 42),
                ),
                rows=rows,
            )
        )
    else:
        blocks.append(Text(NO_ALERT if inputs.alerts_evaluated else NOT_EVALUATED))
    blocks.append(Heading("Nuits manquantes"))
    nights = sorted(inputs.missing_nights, key=lambda night: night.day)
    if nights:
        blocks.append(
            Table(
                caption=f"Nuits sans exécution complète ou sans échange ({len(nights)})",
                columns=(Column("Jour", 25), Column("Motif", 130)),
                rows=tuple(
                    (Cell(fmt.day_short(night.day), strong=True), Cell(fmt.clean(night.reason_fr, 200)))
                    for night in nights
                ),
            )
        )
    else:
        blocks.append(Text("Toutes les nuits de la période ont été exécutées jusqu’au bout."))
    blocks.append(Heading("Journal des changements"))
    changes = sorted(inputs.changes, key=_rank)
    if changes:
        blocks.append(
            Table(
                caption="Changements de modèle, d’invite, de juge, de seuil ou de paires",
                columns=(Column("En vigueur", 25), Column("Objet", 25), Column("Changement", 105)),
                note="En vigueur : premier jour de la nouvelle valeur ; « ce rapport » : compté depuis cette version.",
                rows=tuple(
                    (
                        Cell(fmt.day_short(change.day) if change.day else "ce rapport", strong=True),
                        Cell(fmt.clean(change.kind, 30)),
                        Cell(fmt.clean(change.description_fr, 240)),
                    )
                    for change in changes
                ),
            )
        )
    else:
        blocks.append(Text(NO_CHANGE if inputs.policy_compared else NOT_COMPARED))
    figures = (
        Figure(7, "toutes", "alerts", "count", len(alerts)),
        Figure(7, "toutes", "missing_nights", "count", len(nights)),
        Figure(7, "toutes", "changes", "count", len(changes)),
    )
    return Section(7, "evenements", "Alertes, incidents et changements", tuple(blocks)), figures


def _rank(change: ChangeFacts) -> tuple[dt.date, bool, str, str]:
    """What this version took into account first, the replaced revision at its head; then by day."""
    return (change.day or dt.date.min, change.kind != "révision", change.kind, change.description_fr)


def actions_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 9: corrective actions, and findings that have none."""
    actions = sorted(context.inputs.actions, key=lambda action: action.id)
    blocks: list[Block] = []
    if actions:
        blocks.append(
            Table(
                caption="Actions correctives",
                columns=(
                    Column("Réf.", 22),
                    Column("Action", 56),
                    Column("Direction", 25),
                    Column("Responsable", 27),
                    Column("Échéance", 20),
                    Column("État", 20),
                ),
                rows=tuple(
                    (
                        Cell(fmt.clean(action.id, 16), strong=True),
                        Cell(fmt.clean(action.description_fr, 300)),
                        Cell(context.label(action.department)),
                        Cell(fmt.clean(action.owner, 48)),
                        Cell(fmt.day_short(action.due) if action.due else "non fixée"),
                        Cell(fmt.clean(action.state_fr, 32)),
                    )
                    for action in actions
                ),
            )
        )
    else:
        blocks.append(Text("Aucune action corrective n’est enregistrée pour la période."))
    covered = {action.department for action in actions}
    open_findings = sorted(
        {
            f"{context.label(row.department)} : {METRIC_LABELS.get(row.metric, fmt.clean(row.metric, 40)).lower()}"
            for row in context.inputs.aggregates
            if row.verdict is Verdict.NON_CONFORME and None not in covered and row.department not in covered
        }
    )
    if open_findings:
        blocks.append(
            Callout(
                "Constats sans action corrective enregistrée",
                fmt.enumerate_fr(open_findings, 20) + ".",
                Mark.CROSS,
            )
        )
    figures = (Figure(9, "toutes", "corrective_actions", "count", len(actions)),)
    return Section(9, "actions", "Actions correctives", tuple(blocks)), figures
