"""Section 10 of the report: the regulatory declaration.

It states facts and the dated reading of the texts it refers to, with the identity of the system and of the
document; it certifies nothing that the report does not show.
"""

from __future__ import annotations

import datetime as dt

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.report_context import Context
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
                caption="Textes, objet et mesure correspondante",
                columns=(
                    Column("Texte", 36),
                    Column("Objet", 48),
                    Column("Mesure et section du rapport", 52),
                    Column("Lu le", 20),
                ),
                rows=tuple(
                    (
                        Cell(fmt.clean(rule.reference, 100), strong=True),
                        Cell(fmt.clean(rule.requirement_fr, 300)),
                        Cell(" ".join(p for p in (fmt.clean(rule.measure_fr, 300), fmt.clean(rule.note_fr, 300)) if p)),
                        Cell(fmt.day_short(rule.as_of)),
                    )
                    for rule in inputs.legal_rules
                ),
            )
        )
    else:
        blocks.append(Callout("Non établi", "Le fichier daté des textes n’a pas été fourni au rapport.", Mark.DASH))
    return Section(10, "declaration", "Déclaration réglementaire", tuple(blocks)), ()


def _identity(context: Context) -> FactList:
    inputs = context.inputs
    signature = (
        "signature électronique PAdES prévue, à vérifier dans le fichier signé" if inputs.signed else "non signé"
    )
    previous = inputs.previous_manifest_sha256
    last_day = fmt.paris(inputs.window_end - dt.timedelta(microseconds=1))
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
