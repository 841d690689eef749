"""Section 10 of the report: the regulatory declaration.

It states facts and the dated reading of the texts it refers to, with the identity of the system and of the
document; it certifies nothing that the report does not show.
"""

from __future__ import annotations

import datetime as dt

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.report_context import Context
from compliance_pipelines.core.report_inputs import LegalRule
from compliance_pipelines.core.report_tree import (
    Block,
    Callout,
    Cell,
    Column,
    FactList,
    Figure,
    Heading,
    Mark,
    Section,
    Table,
    Text,
)


def declaration_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 10: what is declared, on which texts as read on which date, by which system."""
    inputs = context.inputs
    # What the organisation declares is its own to word; the sentence that nothing here certifies stays in any case.
    declared = fmt.clean(inputs.declaration_fr, 4000)
    blocks: list[Block] = [
        Text(
            declared
            or "Le présent rapport a été produit automatiquement, à partir des traces du mois et de la "
            "politique en vigueur à sa fin, dans le cadre de la gestion des risques des systèmes "
            "d’intelligence artificielle de l’organisme. Ses chiffres peuvent être recalculés à partir "
            "des données dont l’empreinte figure ci-dessous."
        ),
        Text(
            "Il expose des mesures et leurs limites. Il ne vaut ni certification, ni avis juridique, et "
            "ne se substitue pas à l’appréciation de l’autorité de contrôle."
        ),
    ]
    if inputs.synthetic:
        blocks.append(
            Callout(
                "Données synthétiques de démonstration",
                "Les chiffres de ce document ne décrivent aucun système en service et ne peuvent être "
                "produits à l’appui d’aucune déclaration.",
                Mark.INFO,
            )
        )
    blocks.append(Heading("Identité du système et du document"))
    blocks.append(_identity(context))
    if inputs.classification is not None:
        blocks += [Heading("Classement du système au titre du règlement européen sur l’IA"), _classification(context)]
    blocks.append(Heading("Textes de référence"))
    if inputs.legal_rules:
        as_of = f" Lecture arrêtée au {fmt.date_fr(inputs.legal_as_of)}." if inputs.legal_as_of else ""
        blocks.append(
            Text(
                "La lecture des textes est une donnée datée, tenue par l’organisme ; elle est à confirmer "
                f"auprès des sources officielles.{as_of}"
            )
        )
        blocks.append(
            Table(
                caption="Textes, objet, application et mesure correspondante",
                columns=(
                    Column("Texte", 34),
                    Column("Objet", 47),
                    Column("Application", 28),
                    Column("Mesure correspondante", 42),
                    Column("Lu le", 22),
                ),
                rows=tuple(_rule_row(rule, _last_day(context)) for rule in inputs.legal_rules),
                note=_sources(inputs.legal_rules),
            )
        )
    else:
        blocks.append(Callout("Non établi", "Le fichier daté des textes n’a pas été fourni au rapport.", Mark.DASH))
    return Section(10, "declaration", "Déclaration réglementaire", tuple(blocks)), ()


def _classification(context: Context) -> FactList:
    decided = context.inputs.classification
    assert decided is not None
    who = fmt.clean(decided.decided_by or "", 120)
    taken = ", ".join(part for part in (who, fmt.date_fr(decided.decided_on) if decided.decided_on else "") if part)
    return FactList(
        (
            ("Classification", fmt.clean(decided.value_fr, 60)),
            ("Décision", taken or "non prise : le logiciel ne déduit aucun classement"),
            ("Fondement", fmt.clean(decided.basis_fr, 1000)),
        )
    )


def _rule_row(rule: LegalRule, last_day: dt.date) -> tuple[Cell, ...]:
    subject, asked = fmt.clean(rule.subject_fr, 120), fmt.clean(rule.requirement_fr, 300)
    applies = "" if rule.binding else "Orientation, sans force obligatoire."
    if rule.applies_from is not None:
        since = "Depuis le" if rule.applies_from <= last_day else "À compter du"
        applies = f"{since} {fmt.date_fr(rule.applies_from)}. {applies}".strip()
    applies = " ".join(part for part in (applies, fmt.clean(rule.note_fr, 300)) if part)
    return (
        Cell(fmt.clean(rule.reference, 100), strong=True),
        Cell(f"{subject} : {asked[:1].lower()}{asked[1:]}" if subject else asked),
        Cell(applies or fmt.ABSENT),
        Cell(fmt.clean(rule.measure_fr, 300)),
        Cell(fmt.day_short(rule.as_of)),
    )


def _sources(rules: tuple[LegalRule, ...]) -> str:
    """Every source once, in the order of the rules."""
    found = dict.fromkeys(fmt.clean(source, 300) for rule in rules for source in rule.sources_fr)
    return f"Sources : {' ; '.join(found)}." if found else ""


def _last_day(context: Context) -> dt.date:
    return fmt.paris(context.inputs.window_end - dt.timedelta(microseconds=1))


def _identity(context: Context) -> FactList:
    inputs = context.inputs
    signature = (
        "signature électronique PAdES prévue, à vérifier dans le fichier signé" if inputs.signed else "non signé"
    )
    previous = inputs.previous_manifest_sha256
    last_day = _last_day(context)
    optional = (
        ("Organisme", inputs.organisation),
        ("Destinataire", inputs.recipient),
        ("Conservation", inputs.retention_fr),
    )
    who = tuple((name, fmt.clean(value, 1000)) for name, value in optional if value)
    return FactList(
        (
            *who,
            ("Système", fmt.clean(inputs.system_name, 100)),
            ("Version du code", fmt.clean(inputs.code_version, 80)),
            ("Espace de noms", fmt.clean(inputs.namespace, 63)),
            ("Génération planifiée", fmt.instant_fr(inputs.scheduled_at)),
            ("Empreinte de la politique", fmt.clean(inputs.policy_digest, 80)),
            (
                "Politique appliquée",
                f"versions en vigueur au {fmt.date_fr(last_day)}, jointes à l’archive (policy.json)",
            ),
            ("Empreinte des données", fmt.clean(inputs.input_digest, 80)),
            (
                "Manifeste précédent",
                fmt.clean(previous, 80) if previous else "aucun : premier rapport archivé",
            ),
            ("Signature", signature),
        )
    )
