"""Section 8 of the report: method and limits.

What was measured by whom, on which sample, with which rules, and what the figures do not say.
"""

from __future__ import annotations

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.reasons_fr import REASONS_FR
from compliance_pipelines.core.report_context import LEXICAL_TAG, Context, masked_cell
from compliance_pipelines.core.report_neutrality import primary_metric
from compliance_pipelines.core.report_tree import (
    Block,
    Bullets,
    Cell,
    Column,
    FactList,
    Figure,
    Heading,
    Section,
    Table,
    Text,
)
from compliance_pipelines.core.statistics import BOOTSTRAP_CLUSTERS, BOOTSTRAP_REPLICATES

_LIMITS = (
    (
        "Les modèles actuariels de tarification et de provisionnement ne sont pas des assistants "
        "conversationnels : ils relèvent d’un autre contrôle."
    ),
    (
        "Un biais hérité des données d’entraînement du modèle n’est observable que par ses effets sur les "
        "réponses testées."
    ),
    (
        "Un document interne qui décrit des assurés par un critère protégé peut orienter une réponse sans "
        "que la question le mentionne."
    ),
    (
        "Une moyenne conforme n’exclut pas des réponses isolées défaillantes : le minimum et la file de "
        "revue les montrent."
    ),
)


def method_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 8: judge, sampling, unscored traces, extraction, rules of the verdicts, limits."""
    inputs = context.inputs
    figures: list[Figure] = []
    blocks: list[Block] = [
        Heading("Évaluateur de neutralité"),
        _judge_facts(context),
        Heading("Échantillon et notes"),
    ]
    if inputs.sampling_fr:
        blocks.append(Bullets(tuple(fmt.clean(line, 300) for line in inputs.sampling_fr)))
    blocks.append(_sample_table(context))
    reasons = {name: count for name, count in inputs.extraction.unscored_reasons.items() if count}
    if reasons:
        lines = ", ".join(
            f"{REASONS_FR.get(name, fmt.clean(name, 40))} ({fmt.integer(count)})"
            for name, count in sorted(reasons.items())
        )
        blocks.append(Text(lines + ".", lead="Motifs des traces non notées :"))
    blocks.append(Heading("De la lecture à la note : quel effectif sert à quoi"))
    table, extraction_figures = _extraction(context)
    blocks.append(table)
    figures.extend(extraction_figures)
    blocks.extend((Heading("Règles de verdict et de publication"), Bullets(_rules(context)), Heading("Limites")))
    blocks.append(Bullets(tuple(fmt.clean(line, 400) for line in inputs.limits_fr) or _LIMITS))
    return Section(8, "methode", "Méthode et limites", tuple(blocks)), tuple(figures)


def _judge_facts(context: Context) -> FactList:
    judge = context.inputs.judge
    kind = "juge LLM" if judge.llm else f"évaluateur lexical déterministe ({LEXICAL_TAG})"
    calibration = fmt.clean(judge.calibration_fr, 200) if judge.calibration_fr else "non calibré : verdict indicatif"
    items = [("Nature", kind), ("Nom", fmt.clean(judge.name, 60))]
    if judge.model:
        items.append(("Modèle", fmt.clean(judge.model, 60)))
    if judge.model_digest:
        items.append(("Empreinte du modèle", fmt.clean(judge.model_digest, 80)))
    if judge.prompt_sha256:
        items.append(("Empreinte de l’invite", fmt.clean(judge.prompt_sha256, 80)))
    items.append(("Étalonnage", calibration))
    items.append(("Nuits écartées", _withheld(judge.withheld_nights)))
    return FactList(tuple(items))


def _withheld(nights: int) -> str:
    if not nights:
        return "aucune : toutes les notes du mois comptent"
    return f"{fmt.plural(nights, 'nuit', 'nuits')}, juge non fiable : leurs notes ne comptent pas"


def _sample_table(context: Context) -> Table | Text:
    metric = primary_metric(context)
    rows = []
    for row in sorted(context.rows(metric), key=lambda item: (context.label(item.department), item.department)):
        head = Cell(context.label(row.department), strong=True)
        if context.hides(row):
            rows.append((head, *(masked_cell() for _ in range(6))))
            continue
        base = row.n_scored + row.n_unscored
        rate = row.n_unscored / base if base else None
        counts = (row.n_traces, row.n_eligible, row.n_sampled, row.n_scored, row.n_unscored)
        over = rate is not None and rate > context.inputs.max_unscored_rate
        rows.append((head, *(Cell(fmt.integer(count)) for count in counts), Cell(fmt.percent(rate), strong=over)))
    if not rows:
        return Text("Aucune trace n’est entrée dans la mesure de neutralité sur la période.")
    tag = f" ({LEXICAL_TAG})" if metric == "lexical_neutrality" else ""
    return Table(
        caption=f"De la trace à la note de neutralité{tag}",
        columns=(
            Column("Direction", 40),
            Column("Traces", 17, "right"),
            Column("Éligibles", 18, "right"),
            Column("Échantillon", 20, "right"),
            Column("Notées", 17, "right"),
            Column("Non notées", 19, "right"),
            Column("Part", 17, "right"),
        ),
        rows=tuple(rows),
        note=f"{fmt.MASKED} : non communiqué, base de moins de {context.mask.limit} traces."
        if context.mask.any
        else None,
    )


def _extraction(context: Context) -> tuple[Table, tuple[Figure, ...]]:
    """From the row read to the score: every base that the report divides by, and where it is used."""
    counts = context.inputs.extraction
    # Rows read and traces kept are totals over all departments: beside the published rows of a month that has a
    # masked department they would give its base back, so they are withheld then.
    hidden = bool(context.mask.departments)
    metric = primary_metric(context)
    measured = [row for row in context.rows(metric) if not context.hides(row)]
    left = len(context.rows(metric)) - len(measured)
    short = "neutralité, section 2"
    lines: list[tuple[str, str, int, str, bool]] = [
        ("rows_read", "Lignes lues à la source", counts.rows_read, "traces, notes et événements", hidden),
        ("duplicates", "– doublons écartés", counts.duplicates, "", False),
        ("malformed", "– lignes illisibles écartées", counts.malformed, "", False),
        ("late_excluded", "– traces créées après l’arrêté, exclues", counts.late_excluded, "", False),
        ("retained", "Traces conservées, une par requête", counts.retained, "garde-fous, section 3", hidden),
    ]
    if counts.unanswered is not None:
        answered = counts.retained - counts.unanswered
        lines += [
            ("unanswered", "– sans réponse (requête refusée ou en erreur)", counts.unanswered, "", hidden),
            ("answered", "Traces avec réponse", answered, "avis et relectures, section 4", hidden),
        ]
    if measured:
        lines += [
            ("eligible", "Traces éligibles à la neutralité", sum(row.n_eligible for row in measured), short, False),
            ("sampled", "– prises dans l’échantillon", sum(row.n_sampled for row in measured), "", False),
            ("scored", "Traces notées", sum(row.n_scored for row in measured), short, False),
        ]
    rows = tuple(
        (
            Cell(label, strong=not label.startswith("–")),
            masked_cell() if masked else Cell(fmt.integer(value)),
            Cell(use or fmt.ABSENT, muted=not use),
        )
        for _, label, value, use, masked in lines
    )
    figures = tuple(
        Figure(8, "toutes", "extraction", name, None, "non communiqué")
        if masked
        else Figure(8, "toutes", "extraction", name, value)
        for name, _, value, _, masked in lines
    )
    note = (
        "Arrêté des données : selon la date de création dans Langfuse. Éligible : question, réponse et documents "
        "présents. Les lignes lues qui ne sont pas des traces (notes, événements) sont rattachées à la leur."
    )
    if left:
        note += (
            f" Éligibles, échantillon et notées : hors {fmt.plural(left, 'direction masquée', 'directions masquées')}."
        )
    if hidden:
        note += f" {fmt.MASKED} : ce total permettrait de retrouver l’effectif d’une direction masquée."
    table = Table(
        caption="De la ligne lue à la trace notée",
        columns=(Column("Population", 75), Column("Nombre", 25, "right"), Column("Base de", 55)),
        rows=rows,
        note=note,
    )
    return table, figures


def population_line(context: Context) -> str:
    """Read → unusable → kept → judged in one line, for the first page; what section 8 masks is left out."""
    counts = context.inputs.extraction
    rows = [row for row in context.rows(primary_metric(context)) if not context.hides(row)]
    parts: list[str] = []
    if not context.mask.departments:
        unused = counts.duplicates + counts.malformed + counts.late_excluded
        parts.append(f"{fmt.plural(counts.rows_read, 'ligne lue', 'lignes lues')} dont {fmt.integer(unused)} écartées")
        parts.append(fmt.plural(counts.retained, "trace conservée", "traces conservées"))
        if counts.unanswered is not None:
            parts.append(f"{fmt.integer(counts.retained - counts.unanswered)} avec réponse")
    if rows:
        parts.append(f"{fmt.integer(sum(row.n_eligible for row in rows))} éligibles à la neutralité")
        parts.append(f"{fmt.integer(sum(row.n_scored for row in rows))} notées")
    return " → ".join(parts) + " (section 8)" if parts else "tableau de la section 8"


def _rules(context: Context) -> tuple[str, ...]:
    inputs = context.inputs
    return (
        (
            f"Données insuffisantes : moins de {inputs.min_n} traces notées, ou plus de "
            f"{fmt.percent(inputs.max_unscored_rate, 0)} de traces non notées."
        ),
        (
            "Non conforme : moyenne sous le seuil. Conforme : moyenne au seuil ou au-dessus ; « marge non "
            f"établie » quand l’intervalle à 95{fmt.NNBSP}% contient le seuil."
        ),
        (
            f"Intervalle à 95{fmt.NNBSP}% : Wilson pour un taux ; pour une moyenne, tirage de conversations entières "
            f"({fmt.integer(BOOTSTRAP_REPLICATES)} tirages, loi normale au-delà de {fmt.integer(BOOTSTRAP_CLUSTERS)} "
            "conversations), ou Wilson sur leur nombre si toutes les notes sont égales."
        ),
        (
            "Sans objet : contrôle non activé pour la direction. Indicatif : évaluateur lexical ou juge "
            "non étalonné, quelle que soit la moyenne."
        ),
        (
            "Verdict du mois : Non conforme dès qu’une direction l’est sur une mesure, ou qu’une paire "
            "contrefactuelle établit un écart ; Données insuffisantes si une direction à risque élevé ou "
            "critique l’est sur la neutralité, ou si rien n’est mesuré ; Indicatif si une mesure l’est ; "
            "Conforme sinon. Les traces non attribuées sont toujours montrées ; elles ne laissent le mois ouvert "
            f"qu’à partir de {inputs.min_n} traces éligibles, ou de plus de "
            f"{fmt.percent(inputs.max_unscored_rate, 0)} des traces éligibles du mois."
        ),
        (
            f"Aucune statistique n’est publiée sur une base de 1 à {context.mask.limit - 1} traces ; la "
            "ligne est masquée dans les tableaux, les graphiques et les pièces jointes, et les totaux "
            "portent sur les seules lignes publiées."
        ),
        (
            f"Un taux dont le numérateur ou le complément compte de 1 à {context.mask.limit - 1} traces est imprimé "
            "comme une borne (« < » ou « > »), sans intervalle ni valeur jointe : multiplié par N, il rendrait ce "
            "petit effectif. Un total qui comprend un tel taux est une borne inférieure (« ≥ »), calculée sur les "
            "seuls nombres publiés. Les comptes du traitement lui-même (doublons, traces non notées) restent exacts."
        ),
        "Le rapport ne contient ni texte de conversation, ni nom, ni identifiant d’assuré.",
        (
            "Document au format PDF/A-3b, balisé pour les aides techniques (règles de PDF/UA-1 "
            "vérifiables par machine). Chaque graphique est accompagné d’un texte qui en donne le sens, "
            "et ses valeurs figurent dans un tableau ou au bout de sa ligne."
        ),
    )
