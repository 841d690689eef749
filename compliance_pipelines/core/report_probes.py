"""Sections 5 and 6 of the report: counterfactual pairs, the matrix of the 24 grounds of art. 225-1,
sycophancy probes.

What was not carried out is printed as not carried out. A ground is "testé" only when a pair of the month
concluded; a detection rule alone makes it "en partie". Test prompts are synthetic, so no small-group masking
applies here.
"""

from __future__ import annotations

from collections.abc import Mapping

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.report_context import Context, interval
from compliance_pipelines.core.report_inputs import CounterfactualFacts, PairResult, PairVerdict
from compliance_pipelines.core.report_tree import (
    Block,
    Callout,
    Cell,
    Column,
    FactList,
    Figure,
    Heading,
    Mark,
    MatrixCell,
    MatrixChart,
    Section,
    Table,
    Text,
)

NOT_DONE = "Non réalisé ce mois-ci"
_CONCLUDED = {PairVerdict.FAIR, PairVerdict.BIASED}
_PAIR_WORDS: Mapping[PairVerdict, tuple[str, Mark]] = {
    PairVerdict.FAIR: ("Aucun écart établi", Mark.CHECK),
    PairVerdict.BIASED: ("Écart établi", Mark.CROSS),
    PairVerdict.NEUTRALISED: ("Neutralisée par le masquage", Mark.INFO),
    PairVerdict.VACUOUS: ("Sans valeur probante", Mark.HALF),
    PairVerdict.UNDECIDED: ("Non probant", Mark.HALF),
}
_ORDER = {verdict: rank for rank, verdict in enumerate(("biased", "undecided", "vacuous", "neutralised", "fair"))}
_ATTRIBUTES: Mapping[str, str] = {
    "gender": "sexe",
    "sex": "sexe",
    "origin": "origine",
    "age": "âge",
    "disability": "handicap",
    "register": "registre de langue",
    "religion": "religion",
    "nationality": "nationalité",
    "family_status": "situation de famille",
    "pregnancy": "grossesse",
    "health": "état de santé",
}
_DIMENSIONS: Mapping[str, str] = {
    "meaning": "sens",
    "decision": "décision",
    "figures": "chiffres",
    "tone": "ton et service",
}


def counterfactual_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 5: results of the pairs, then the matrix of grounds."""
    facts = context.inputs.counterfactual
    blocks: list[Block] = [
        Text(
            "Deux demandes identiques à un critère protégé près sont posées plusieurs fois ; leurs "
            "réponses sont comparées sur quatre dimensions : sens, décision, chiffres, ton et service. Un "
            "écart ne compte que s’il dépasse la variation propre du modèle (test de permutation, "
            "correction de Holm sur l’ensemble des paires)."
        )
    ]
    figures: list[Figure] = []
    if facts is None or not facts.pairs:
        blocks.append(
            Callout(NOT_DONE, "Aucune exécution des paires contrefactuelles ne couvre la période.", Mark.DASH)
        )
    else:
        blocks.extend(_pair_blocks(context, facts))
        figures.extend(figure for pair in _sorted(facts) for figure in _pair_figures(pair))
    figures.extend(
        Figure(5, "toutes", "grounds", fmt.clean(ground.id, 64), _ground_state(_pairs_of(context, ground.id))[0])
        for ground in context.inputs.grounds
    )
    blocks.extend(_matrix_blocks(context))
    return Section(5, "contrefactuel", "Tests contrefactuels et critères protégés", tuple(blocks)), tuple(figures)


def _pair_figures(pair: PairResult) -> tuple[Figure, ...]:
    """The verdict of a pair under its id, and what it stands on under "id – name"."""
    department, name = fmt.clean(pair.department, 64), fmt.clean(pair.pair_id, 40)
    stands_on = (("n_base", pair.n_base), ("n_swap", pair.n_swap), ("p_holm", pair.p_holm), ("effect", pair.effect))
    return (
        Figure(5, department, "counterfactual", name, pair.verdict.value),
        *(
            Figure(5, department, "counterfactual", f"{name} – {what}", value)
            if value is not None
            else Figure(5, department, "counterfactual", f"{name} – {what}", None, "non mesuré")
            for what, value in stands_on
        ),
    )


def _pairs_of(context: Context, ground: str) -> list[PairResult]:
    pairs = context.inputs.counterfactual.pairs if context.inputs.counterfactual else ()
    return [pair for pair in pairs if ground in pair.grounds]


def _sorted(facts: CounterfactualFacts) -> list[PairResult]:
    return sorted(facts.pairs, key=lambda pair: (_ORDER[pair.verdict], pair.pair_id))


def _pair_blocks(context: Context, facts: CounterfactualFacts) -> list[Block]:
    counts = {verdict: sum(1 for pair in facts.pairs if pair.verdict is verdict) for verdict in PairVerdict}
    biased = counts[PairVerdict.BIASED]
    concluded = biased + counts[PairVerdict.FAIR]
    sentence = (
        f"{fmt.plural(len(facts.pairs), 'paire exécutée', 'paires exécutées')}, dont "
        f"{fmt.plural(concluded, 'concluante', 'concluantes')} : "
        f"{fmt.plural(biased, 'écart établi', 'écarts établis')}, {counts[PairVerdict.FAIR]} sans écart "
        f"établi. Non concluantes : {len(facts.pairs) - concluded}."
    )
    columns = (
        Column("Paire", 34),
        Column("Critère", 22),
        Column("Direction", 24),
        Column("n", 13, "right"),
        Column("p (Holm)", 13, "right"),
        Column("Effet", 11, "right"),
        Column("Résultat", 33),
    )
    return [
        Text(sentence, lead="Résultat."),
        FactList(
            (
                ("Exécution", f"{fmt.clean(facts.run_id, 40)}, {fmt.instant_short(facts.run_at)}"),
                ("Modèle interrogé", fmt.clean(facts.model, 60)),
                ("Plongements", fmt.clean(facts.embedding, 60)),
            )
        ),
        Table(
            caption="Paires contrefactuelles, écarts d’abord",
            columns=columns,
            rows=tuple(_pair_row(context, pair) for pair in _sorted(facts)),
            note="n : réponses de chaque côté. « Aucun écart établi » ne prouve pas l’absence de biais : le "
            "test peut manquer un écart plus petit que ce que n permet de voir.",
        ),
    ]


def _pair_row(context: Context, pair: PairResult) -> tuple[Cell, ...]:
    word, mark = _PAIR_WORDS[pair.verdict]
    if pair.verdict is PairVerdict.BIASED and pair.failed_dimensions:
        names = (_DIMENSIONS.get(name, fmt.clean(name, 20)) for name in pair.failed_dimensions)
        word += " : " + ", ".join(names)
    elif pair.reason_fr and pair.verdict is not PairVerdict.FAIR:
        word += f" : {fmt.clean(pair.reason_fr, 120)}"
    attribute = _attribute(pair.protected_attr) + (" (croisé)" if pair.intersectional else "")
    return (
        Cell(fmt.clean(pair.pair_id, 40), strong=True),
        Cell(attribute),
        Cell(context.label(pair.department)),
        Cell(f"{pair.n_base} / {pair.n_swap}"),
        Cell(_p_value(pair.p_holm)),
        Cell(fmt.decimal(pair.effect)),
        Cell(word, mark=mark),
    )


def _attribute(name: str) -> str:
    parts = (part.strip() for part in fmt.clean(name, 64).replace("×", "+").split("+"))
    return " × ".join(_ATTRIBUTES.get(part, part) for part in parts)


def _p_value(value: float | None) -> str:
    if value is not None and value < 0.001:
        return f"<{fmt.NNBSP}0,001"
    return fmt.decimal(value, 3)


def _matrix_blocks(context: Context) -> list[Block]:
    heading = Heading("Les 24 critères de l’article 225-1 du Code pénal")
    if not context.inputs.grounds:
        return [
            heading,
            Callout("Non établi", "La liste des critères n’a pas été fournie au rapport.", Mark.DASH),
        ]
    cells = []
    tally = {"testé": 0, "en partie": 0, "non testé": 0}
    for ground in context.inputs.grounds:
        word, mark = _ground_state(_pairs_of(context, ground.id))
        tally[word.split(" – ")[0]] += 1
        cells.append(MatrixCell(fmt.clean(ground.label, 140), word, mark))
    total = len(cells)
    watched = sum(ground.detected for ground in context.inputs.grounds)
    return [
        heading,
        MatrixChart(
            title="Couverture des critères ce mois-ci",
            description=(
                f"Testés : {tally['testé']} ; en partie : {tally['en partie']} ; non testés : "
                f"{tally['non testé']}, sur {total} critères. Testé : au moins une paire concluante dans "
                "le mois. En partie : paires non concluantes ou croisées. Une règle de détection lit demandes et "
                f"réponses pour {watched} critères, ce qui n’est pas un test."
                + (f" Liste : {fmt.clean(source, 200)}." if (source := context.inputs.grounds_source_fr) else "")
            ),
            cells=tuple(cells),
        ),
    ]


def _ground_state(pairs: list[PairResult]) -> tuple[str, Mark]:
    if any(pair.verdict is PairVerdict.BIASED for pair in pairs):
        return "testé – écart établi", Mark.CROSS
    # Crossed criteria alone do not isolate any one of them.
    if any(pair.verdict in _CONCLUDED and not pair.intersectional for pair in pairs):
        return "testé", Mark.CHECK
    if pairs:
        return "en partie", Mark.HALF
    return "non testé", Mark.DASH


def sycophancy_section(context: Context) -> tuple[Section, tuple[Figure, ...]]:
    """Section 6: share of probes whose answer flips with the framing of the question."""
    facts = context.inputs.sycophancy
    blocks: list[Block] = [
        Text(
            "Des triplets de questions (neutre, orientée pour, orientée contre) sont posés à chaque "
            "assistant. Une bascule est une réponse qui change de sens avec l’orientation de la question."
        )
    ]
    figures: list[Figure] = []
    if not facts:
        blocks.append(Callout(NOT_DONE, "Aucune sonde de complaisance ne couvre la période.", Mark.DASH))
        return Section(6, "complaisance", "Complaisance des réponses", tuple(blocks)), ()
    ranked = sorted(facts, key=lambda f: (-(f.flips / f.probes) if f.probes else 1.0, context.label(f.department)))
    rows = tuple(
        (
            Cell(context.label(item.department), strong=True),
            Cell(fmt.integer(item.probes)),
            Cell(fmt.integer(item.flips)),
            Cell(fmt.percent(item.flips / item.probes) if item.probes else fmt.ABSENT, strong=True),
            Cell(interval(item.ci_low, item.ci_high, as_percent=True)),
        )
        for item in ranked
    )
    probes, flips = sum(item.probes for item in ranked), sum(item.flips for item in ranked)
    if probes:
        blocks.append(
            Text(
                f"{fmt.plural(flips, 'bascule', 'bascules')} sur {fmt.plural(probes, 'sonde', 'sondes')} "
                f"({fmt.percent(flips / probes)}).",
                lead="Résultat.",
            )
        )
    blocks.append(
        Table(
            caption="Taux de bascule par direction",
            columns=(
                Column("Direction", 40),
                Column("Sondes", 16, "right"),
                Column("Bascules", 16, "right"),
                Column("Taux", 16, "right"),
                Column("Intervalle de Wilson 95" + fmt.NNBSP + "%", 32, "right"),
            ),
            rows=rows,
        )
    )
    for item in ranked:
        department = fmt.clean(item.department, 64)
        figures.append(Figure(6, department, "sycophancy_flip", "probes", item.probes))
        figures.append(Figure(6, department, "sycophancy_flip", "flips", item.flips))
    return Section(6, "complaisance", "Complaisance des réponses", tuple(blocks)), tuple(figures)
