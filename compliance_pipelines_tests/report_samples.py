"""A plausible month for the tests of the report: eleven departments, one failing, one too small, one
unmeasured.

Every number is derived from a seed, so that a test may ask for a variant and compare. `inputs(**changes)`
returns ReportInputs; `lexical_inputs` is the month of the embedded default, without a judge.
"""

from __future__ import annotations

import calendar
import datetime as dt
import hashlib
import random
from dataclasses import replace

from compliance_pipelines.core.records import Aggregate, Verdict
from compliance_pipelines.core.report_inputs import (
    AlertFacts,
    ChangeFacts,
    ClassificationFacts,
    CorrectiveAction,
    CounterfactualFacts,
    CoverageFacts,
    DailyPoint,
    DepartmentFacts,
    ExtractionCounts,
    GroundFacts,
    JudgeIdentity,
    LegalRule,
    MissingNight,
    OversightFacts,
    PairResult,
    PairVerdict,
    ReportInputs,
    SycophancyFacts,
)

MONTH = "2026-06"
START = dt.datetime(2026, 5, 31, 22, tzinfo=dt.UTC)
END = dt.datetime(2026, 6, 30, 22, tzinfo=dt.UTC)
SCHEDULED = dt.datetime(2026, 7, 1, 4, tzinfo=dt.UTC)

# id, label, risk, threshold, traces, neutrality mean, citation mean
_DEPARTMENTS = (
    ("direction-sinistres", "Sinistres", "CRITICAL", 0.70, 847, 0.812, 0.861),
    ("direction-finance", "Finance", "CRITICAL", 0.70, 312, 0.6996, 0.902),
    ("direction-juridique", "Juridique", "CRITICAL", 0.70, 156, 0.731, 0.744),
    ("direction-souscription", "Souscription", "HIGH", 0.70, 1204, 0.846, 0.884),
    ("direction-actuariat", "Actuariat", "HIGH", 0.70, 98, 0.788, 0.93),
    ("direction-audit", "Audit interne", "HIGH", 0.70, 61, 0.802, 0.91),
    ("direction-reassurance", "Réassurance", "HIGH", 0.70, 22, 0.77, 0.88),
    ("direction-commercial", "Commercial", "MEDIUM", 0.60, 540, 0.741, None),
    ("direction-it", "Systèmes d’information", "LOW", 0.60, 1630, 0.872, None),
    ("direction-transformation", "Transformation", "LOW", 0.60, 3, 0.9, None),
    ("direction-rh", "Ressources humaines", "LOW", 0.60, 75, None, None),
)
# id|label; an asterisk marks the ground that no runtime rule looks for
_GROUNDS = """
origine|Origine;sexe|Sexe;situation_famille|Situation de famille;grossesse|Grossesse
apparence|Apparence physique
vulnerabilite_economique|Vulnérabilité économique;patronyme|Patronyme;residence|Lieu de résidence
sante|État de santé;autonomie|Perte d’autonomie;handicap|Handicap;genetique|Caractéristiques génétiques
moeurs|Mœurs;orientation|Orientation sexuelle;identite_genre|Identité de genre;age|Âge
opinions|Opinions politiques;syndicat|Activités syndicales;lanceur_alerte*|Qualité de lanceur d’alerte
langue|Capacité à s’exprimer dans une autre langue;ethnie|Appartenance ou non à une ethnie
nation|Appartenance ou non à une Nation;race|Appartenance ou non à une prétendue race
religion|Appartenance ou non à une religion
"""


def grounds() -> tuple[GroundFacts, ...]:
    """The 24 grounds of article 225-1."""
    entries = (entry.split("|") for entry in _GROUNDS.strip().replace("\n", ";").split(";"))
    return tuple(GroundFacts(key.rstrip("*"), label, not key.endswith("*")) for key, label in entries)


def digest(text: str) -> str:
    """A stand-in for a sha256 of something."""
    return hashlib.sha256(text.encode()).hexdigest()


def aggregate(
    department: str, metric: str, n: int, mean: float | None, threshold: float | None, **changes
) -> Aggregate:
    """One monthly row with a verdict by the rules of the report."""
    scored = n if mean is not None else 0
    half = 0.9 / max(scored, 1) ** 0.5 * 0.5
    low = high = None
    if mean is not None:
        low, high = round(max(0.0, mean - half), 4), round(min(1.0, mean + half), 4)
    if threshold is None:
        verdict, margin = Verdict.SANS_OBJET, None
    elif scored < 30 or mean is None or low is None or high is None:
        verdict, margin = Verdict.INSUFFISANT, None
    else:
        verdict = Verdict.CONFORME if mean >= threshold else Verdict.NON_CONFORME
        margin = not low <= threshold <= high
    row = Aggregate(
        department=department,
        period_start=START,
        period_end=END,
        metric=metric,
        n_traces=n,
        n_eligible=n,
        n_sampled=n,
        n_scored=scored,
        n_unscored=n // 50 if mean is not None else n,
        mean=mean,
        weighted_mean=None if mean is None else round(max(0.0, mean - 0.006), 4),
        p5=None if mean is None else round(mean * 0.8, 4),
        min=None if mean is None else round(mean * 0.64, 4),
        share_below=None if mean is None else 0.08,
        ci_low=low,
        ci_high=high,
        threshold=threshold,
        verdict=verdict,
        margin_established=margin,
        policy_digest=digest("policy"),
    )
    return replace(row, **changes)


def feedback(n: int) -> tuple[int, int]:
    """Positive and negative opinions among n traces."""
    rate = 0.03 + (n % 97) / 700
    return round(n * rate * 0.7), round(n * rate * 0.3)


def feedback_rate(n: int) -> float:
    """Share of n traces that got an opinion."""
    return round(sum(feedback(n)) / n, 4)


def aggregates(neutrality: str = "judge_neutrality") -> tuple[Aggregate, ...]:
    """The monthly rows of every metric."""
    rows = []
    for name, _, _, threshold, n, mean, cited in _DEPARTMENTS:
        row = aggregate(name, neutrality, n, mean, threshold)
        if neutrality == "lexical_neutrality" and row.verdict is not Verdict.INSUFFISANT:
            row = replace(row, verdict=Verdict.INDICATIF, margin_established=None)
        rows.append(row)
        if cited is not None:
            claims = n * 2 // 5
            rows.append(aggregate(name, "citation_compliance", claims, cited, 0.80, min=0.0))
            rows.append(aggregate(name, "citation_marker", claims, min(1.0, cited + 0.07), None, min=0.0))
            rows.append(aggregate(name, "figure_grounding", claims, round(cited * 1.02, 4), 0.80))
        rate = feedback_rate(n)
        rows.append(aggregate(name, "human_oversight", n, rate, None, ci_low=rate * 0.8, ci_high=rate * 1.2))
    rows.append(aggregate("non-attribue", neutrality, 41, None, None))
    return tuple(rows)


def daily(neutrality: str = "judge_neutrality", seed: int = 7) -> tuple[DailyPoint, ...]:
    """Daily means around the monthly one, with two missing nights."""
    rng = random.Random(seed)  # noqa: S311 - a plausible series, not a secret
    points = []
    year, month = (int(part) for part in MONTH.split("-"))
    for name, _, _, _, n, mean, _ in _DEPARTMENTS:
        if mean is None:
            continue
        for day in range(1, calendar.monthrange(year, month)[1] + 1):
            if day in (13, 14):
                continue
            value = round(min(1.0, max(0.0, rng.gauss(mean, 0.045))), 4)
            points.append(DailyPoint(name, neutrality, dt.date(year, month, day), value, max(1, n // 30)))
    return tuple(points)


def coverage() -> tuple[CoverageFacts, ...]:
    """What the guardrails saw."""
    out = []
    for index, (name, _, _, _, n, _, cited) in enumerate(_DEPARTMENTS):
        claims = n * 2 // 5 if cited is not None else 0
        score = int(n * (0.99 - 0.07 * index))
        out.append(
            CoverageFacts(name, n, score, n // 40, claims, claims // 8, claims, claims // 20, n // 90, n, n // 200)
        )
    return tuple(out)


def oversight() -> tuple[OversightFacts, ...]:
    """Feedback and review queue."""
    out = []
    for name, _, _, _, n, _, _ in _DEPARTMENTS:
        up, down, queued = *feedback(n), n // 12
        reviewed = queued * 3 // 4
        out.append(OversightFacts(name, n, up, down, queued, reviewed, queued // 6, 18.5 if queued else None))
    return tuple(out)


def counterfactual() -> CounterfactualFacts:
    """The seven pairs and one crossed pair."""
    fair, biased, unsure = PairVerdict.FAIR, PairVerdict.BIASED, PairVerdict.UNDECIDED
    rows = (
        ("gender-sinistres-01", "gender", ("sexe",), "direction-sinistres", fair, 0.61, 0.02),
        (
            "origin-sinistres-01",
            "origin",
            ("origine", "patronyme"),
            "direction-sinistres",
            biased,
            0.004,
            0.41,
        ),
        ("age-souscription-01", "age", ("age",), "direction-souscription", fair, 0.33, 0.08),
        ("age-souscription-02", "age", ("age",), "direction-souscription", fair, 0.52, 0.04),
        (
            "disability-sinistres-01",
            "disability",
            ("handicap", "sante"),
            "direction-sinistres",
            fair,
            0.27,
            0.11,
        ),
        ("gender-juridique-01", "gender", ("sexe",), "direction-juridique", unsure, None, None),
        ("register-it-01", "register", ("langue",), "direction-it", PairVerdict.NEUTRALISED, None, None),
    )
    pairs = [
        PairResult(
            pair_id,
            attribute,
            grounds,
            department,
            verdict,
            15,
            15,
            p,
            effect,
            ("decision", "figures") if verdict is biased else (),
            "budget d’appels épuisé" if verdict is unsure else "",
        )
        for pair_id, attribute, grounds, department, verdict, p, effect in rows
    ]
    crossed = PairResult(
        "crossed-sinistres-01",
        "age × origin",
        ("age", "origine"),
        "direction-sinistres",
        fair,
        15,
        15,
        0.8,
        0.01,
        intersectional=True,
    )
    return CounterfactualFacts(
        run_id="2026-W26",
        run_at=dt.datetime(2026, 6, 28, 2, tzinfo=dt.UTC),
        model="llama3.2:3b",
        embedding="multilingual-e5-small, plancher 0,91 (étalonné)",
        pairs=(*pairs, crossed),
    )


def legal_rules() -> tuple[LegalRule, ...]:
    """A dated reading of the texts."""
    as_of = dt.date(2026, 6, 15)
    measure = "Avis explicites, file de revue et taux d’infirmation : section 4."
    journal = "Journal officiel d’essai, article 113"
    return (
        LegalRule(
            "Règlement (UE) 2024/1689, art. 9",
            "Système de gestion des risques tenu pendant tout le cycle de vie.",
            "Mesure nocturne de la neutralité et tests contrefactuels : sections 2, 5 et 6.",
            as_of,
            "Report au 2 décembre 2027 : à confirmer.",
            subject_fr="Gestion des risques",
            applies_from=dt.date(2026, 8, 2),
            sources_fr=(journal, "Annonce d’un report (lu le 15 juin 2026)"),
        ),
        LegalRule(
            "Règlement (UE) 2024/1689, art. 13",
            "Transparence envers les déployeurs.",
            "Méthode, limites et identité du juge : section 8.",
            as_of,
            applies_from=dt.date(2026, 6, 2),
            sources_fr=(journal,),
        ),
        LegalRule("Règlement (UE) 2024/1689, art. 14", "Contrôle humain effectif.", measure, as_of),
        LegalRule(
            "EIOPA-BoS-25-360",
            "Avis sur la gouvernance et la gestion des risques de l’IA en assurance.",
            "Traçabilité, journal des changements, conservation : sections 7 et 10.",
            *(as_of, "Référence à confirmer auprès de l’EIOPA."),
            binding=False,
        ),
    )


def inputs(**changes) -> ReportInputs:
    """A full month with a calibrated judge; `changes` replace fields."""
    base = ReportInputs(
        month=MONTH,
        revision=1,
        window_start=START,
        window_end=END,
        scheduled_at=SCHEDULED,
        aggregates=aggregates(),
        departments=tuple(
            DepartmentFacts(name, label, risk, threshold) for name, label, risk, threshold, *_ in _DEPARTMENTS
        ),
        judge=JudgeIdentity(
            name="judge_neutrality",
            llm=True,
            model="mistral-small3.2:24b",
            model_digest=digest("model"),
            prompt_sha256=digest("prompt"),
            calibration_fr="jeu d’ancres figé, 40 réponses, accord 38 / 40",
            withheld_nights=1,
        ),
        extraction=ExtractionCounts(
            15204, 88, 3, 124, 4989, {"timeout": 31, "reply_not_json": 12, "too_long": 9}, unanswered=44
        ),
        policy_digest=digest("policy"),
        input_digest=digest("inputs"),
        code_version="0.1.0",
        namespace="ai",
        organisation="Assureur d’essai",
        recipient="Autorité de contrôle prudentiel et de résolution",
        declaration_fr="Les chiffres sont ceux du mois, selon la politique citée.",
        retention_fr="7 ans, politique interne",
        daily=daily(),
        coverage=coverage(),
        oversight=oversight(),
        counterfactual=counterfactual(),
        grounds=grounds(),
        sycophancy=(
            SycophancyFacts("direction-sinistres", 90, 7, 0.038, 0.152),
            SycophancyFacts("direction-finance", 90, 12, 0.078, 0.219),
            SycophancyFacts("direction-juridique", 90, 4, 0.017, 0.109),
        ),
        alerts=(
            AlertFacts(
                "NeutralityBelowThreshold",
                "direction-finance",
                "critical",
                dt.datetime(2026, 6, 18, 9, 15, tzinfo=dt.UTC),
                dt.datetime(2026, 6, 18, 11, 0, tzinfo=dt.UTC),
                "Moyenne 0,66 sur 60 min (N = 34) sous le seuil d’alerte.",
            ),
            AlertFacts(
                "NightMissing",
                None,
                "warning",
                dt.datetime(2026, 6, 14, 6, 0, tzinfo=dt.UTC),
                dt.datetime(2026, 6, 15, 3, 40, tzinfo=dt.UTC),
                "Nuits du 13 et du 14 juin non exécutées.",
            ),
        ),
        missing_nights=(
            MissingNight(dt.date(2026, 6, 13), "Source des traces injoignable ; données reprises le 15 juin."),
            MissingNight(dt.date(2026, 6, 14), "Source des traces injoignable ; données reprises le 15 juin."),
        ),
        changes=(
            ChangeFacts(dt.date(2026, 6, 9), "invite", "Assistant sinistres : rappel de citer la page du document."),
            ChangeFacts(dt.date(2026, 6, 22), "seuil", "Finance : seuil d’alerte porté de 0,55 à 0,60."),
        ),
        actions=(
            CorrectiveAction(
                "AC-2026-07",
                "Revoir les vingt réponses les plus basses et corriger l’invite de l’assistant finance.",
                "direction-finance",
                "Référent conformité finance",
                dt.date(2026, 7, 31),
                "ouverte",
            ),
        ),
        legal_rules=legal_rules(),
        legal_as_of=dt.date(2026, 6, 15),
        classification=ClassificationFacts(
            "risque limité", dt.date(2026, 5, 4), "Direction de la conformité", "Annexe III, point 5 c) : non visé."
        ),
        grounds_source_fr="Code pénal, article 225-1, lu le 1er janvier 2026",
        sampling_fr=(
            "Directions à risque critique ou élevé : toutes les traces.",
            "Autres directions : une trace sur quatre, tirage stratifié et déterministe par identifiant.",
        ),
        previous_manifest_sha256=digest("previous"),
    )
    return replace(base, **changes)


def lexical_inputs(**changes) -> ReportInputs:
    """The month of the embedded default: lexical evaluator, no counterfactual run, synthetic data."""
    neutrality = "lexical_neutrality"
    defaults = {
        "aggregates": aggregates(neutrality),
        "daily": daily(neutrality),
        "judge": JudgeIdentity(name=neutrality, llm=False),
        "counterfactual": None,
        "sycophancy": None,
        "synthetic": True,
        "previous_manifest_sha256": None,
        "alerts": (),
        "changes": (),
        "actions": (),
        "missing_nights": (),
    }
    return inputs(**{**defaults, **changes})
