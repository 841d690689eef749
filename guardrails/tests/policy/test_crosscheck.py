"""Faults inside one file that only its model can see, and names that point nowhere between files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from compliance_guardrails.policy import PolicyError, load_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    Edit = Callable[[str, str, str], None]

SPOILED = [
    # file, old, new, start of the message, part of it
    (
        "thresholds.yaml",
        "grounding_floor: 0.35",
        "grounding_floor: 1.35",
        "grounding_floor",
        "inférieur ou égal à 1",
    ),
    (
        "thresholds.yaml",
        "flagged_weight: 2.0",
        "flagged_weight: 0.5",
        "flagged_weight",
        "supérieur ou égal à 1",
    ),
    ("thresholds.yaml", "min_n: 30", "min_n: 0", "min_n", "supérieur ou égal à 1"),
    ("thresholds.yaml", "retention_years: 7", "retention_years: sept", "retention_years", "un nombre entier"),
    (
        "thresholds.yaml",
        "overrides: {}",
        "overrides: {age: 0.80}",
        "(fichier)",
        "au moins counterfactual_cosine_floor",
    ),
    (
        "thresholds.yaml",
        "[direction-finance,",
        "[direction-fin,",
        "uncited_burst.departments",
        "« direction-fin »",
    ),
    ("departments.yaml", "id: direction-it", "id: direction-rh", "departments", "deux fois"),
    (
        "departments.yaml",
        "id: direction-it",
        "id: Direction IT",
        "departments[Direction IT].id",
        "de la forme",
    ),
    ("departments.yaml", "id: direction-it", "id: non-attribue", "departments", "réservé"),
    ("departments.yaml", "id: non-attribue", "id: autre", "(fichier)", "id: non-attribue"),
    (
        "departments.yaml",
        "risk: CRITICAL",
        "risk: ELEVE",
        "departments[direction-sinistres].risk",
        "« CRITICAL »",
    ),
    ("departments.yaml", '"llama3.2:1b"', '"llama3.2:3b"', "(fichier)", "un seul base_model"),
    ("departments.yaml", "alias: legal-assistant", "alias: juridique-assistant", "alias", "consignes"),
    (
        "departments.yaml",
        "key_aliases: [finance,",
        "key_aliases: [SINISTRES,",
        "departments[direction-finance].resolution.key_aliases[0]",
        "direction-sinistres",
    ),
    (
        "departments.yaml",
        "declared_names: [Finance,",
        "declared_names: [direction-it,",
        "departments[direction-finance].resolution.declared_names[0]",
        "direction-it",
    ),
    (
        "departments.yaml",
        "team_ids: [team-it]",
        'team_ids: ["--"]',
        "departments[direction-it].resolution.team_ids[0]",
        "une lettre ou un chiffre",
    ),
    (
        "sampling.yaml",
        "direction-finance]",
        "direction-compta]",
        "intraday.departments",
        "« direction-compta »",
    ),
    (
        "sampling.yaml",
        "strata: [department, day]",
        "strata: [hour]",
        "strata[0]",
        "« department » ou « day »",
    ),
    ("sampling.yaml", "strata: [department, day]", "strata: [day]", "strata", "les strates que le tirage applique"),
    ("guardrails.yaml", "  action: warn\n", "  action: block\n", "bias_screen", "stream: buffer"),
    ("guardrails.yaml", "on_error: pass", "on_error: ignore", "on_error", "« pass » ou « refuse »"),
    ("guardrails.yaml", "{score} < {floor}", "{score} < {seuil}", "messages.grounding_refusal", "{contact}"),
    (
        "guardrails.yaml",
        "{score} < {floor}",
        "{score!r} < {floor}",
        "messages.grounding_refusal",
        "{contact}",
    ),
    ("guardrails.yaml", "{score} < {floor}", "{score} < {floor", "messages.grounding_refusal", "{contact}"),
    (
        "guardrails.yaml",
        "biais. Veuillez reformuler ou contacter votre référent {contact}",
        "biais",
        "messages.bias_blocked",
        "{contact}",
    ),
    ("guardrails.yaml", "dans un instant.", "{contact}", "messages.guardrail_failed", "aucune accolade"),
    ("guardrails.yaml", "  guardrail_failed:", "  guardrail_down:", "messages.guardrail_failed", "qui manque"),
    ("guardrails.yaml", "direction-rh:", "direction-drh:", "bias_screen_overrides", "« direction-drh »"),
    ("alerts.yaml", "name: RunFailed", "name: NightMissing", "rules", "deux fois"),
    ("alerts.yaml", "name: RunFailed", "name: Autre", "rules[Autre].name", "l’une des valeurs"),
    (
        "alerts.yaml",
        "limit_from: department.alert_threshold",
        "limit_from: department.label",
        "rules[NeutralityBelowThreshold].limit_from",
        "menant à un nombre",
    ),
    (
        "alerts.yaml",
        "limit_from: thresholds.max_unscored_rate",
        "limit_from: thresholds.__class__",
        "rules[UnscoredRateHigh].limit_from",
        "menant à un nombre",
    ),
    ("alerts.yaml", "limit: 0\n", "limit: null\n", "rules[GuardrailErrors]", "soit limit, soit limit_from"),
    (
        "report.yaml",
        "corrective_actions: corrective_actions.yaml",
        "corrective_actions: ../secret",
        "corrective_actions",
        "de la forme",
    ),
    (
        "legal.yaml",
        'value: "non déterminée"',
        'value: "haut risque"',
        "classification",
        "decided_on et decided_by",
    ),
    ("legal.yaml", "id: ai-act-10", "id: ai-act-9", "rules", "deux fois"),
    ("grounds.yaml", "id: sexe,", "id: origine,", "grounds", "deux fois"),
    (
        "retired.yaml",
        "retired: []",
        "retired: [{key: a, to: null, date: 2026-01-01, reason: Court, owner: b}]",
        "retired[0].reason",
        "au moins 10",
    ),
    (
        "prompts/claims.md",
        "Merci de contacter votre référent sinistres. »",
        "Merci. »",
        "refusal",
        "telle quelle",
    ),
    (
        "prompts/legal.md",
        "alias: legal-assistant",
        "alias: claims-assistant",
        "alias",
        "que ne sert pas déjà",
    ),
    (
        "prompts/claims.md",
        "alias: claims-assistant",
        "alias: inconnu",
        "alias",
        "un alias de departments.yaml",
    ),
    ("prompts/claims.md", "---\neffective", "effective", "(fichier)", "un en-tête entre deux lignes"),
    ("prompts/claims.md", "title:", "titre:", "titre", "clé inconnue"),
]


@pytest.mark.parametrize("case", SPOILED, ids=[f"{case[0]}-{case[2][:40]}" for case in SPOILED])
def test_message_names_the_file_and_the_key(folder: Path, edit: Edit, case: tuple[str, str, str, str, str]) -> None:
    file, old, new, key, part = case
    edit(file, old, new)
    with pytest.raises(PolicyError) as caught:
        load_policy(folder)
    lines = [problem.line_fr for problem in caught.value.problems]
    hits = [line for line in lines if line.startswith(f"{file}: {key}: attendu ") and part in line]
    assert hits, lines
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("name", ["departments.yaml", "thresholds.yaml", "retired.yaml", "legal.yaml"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(PolicyError, match=rf"^{name}: \(fichier\): attendu un fichier présent"):
        load_policy(folder)


@pytest.mark.parametrize("name", ["seuils.yaml", "thresholds.yml", "notes.md", "rules/x.md", "prompts/x.yaml"])
def test_a_file_that_has_no_business_there_is_named(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("effective_from: 2026-01-01\n", encoding="utf-8")
    with pytest.raises(PolicyError, match=rf"^{name}: "):
        load_policy(folder)


def test_readme_and_editor_leftovers_are_ignored(folder: Path) -> None:
    before = load_policy(folder).digest
    for name in (
        "README.md",
        "LISEZMOI.md",
        ".thresholds.yaml.swp",
        "thresholds.yaml~",
        "thresholds.yaml.bak",
    ):
        (folder / name).write_text("x", encoding="utf-8")
    assert load_policy(folder).digest == before


def test_corrective_actions_may_be_absent_when_the_report_does_not_name_them(folder: Path, edit: Edit) -> None:
    (folder / "corrective_actions.yaml").unlink()
    with pytest.raises(PolicyError, match=r"^report\.yaml: corrective_actions: "):
        load_policy(folder)
    edit("report.yaml", "corrective_actions: corrective_actions.yaml", "corrective_actions: null")
    assert load_policy(folder).corrective_actions == ()


def test_front_matter_without_text_is_refused(folder: Path) -> None:
    path = folder / "prompts" / "legal.md"
    path.write_text(path.read_text(encoding="utf-8").split("\n---\n")[0] + "\n---\n", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"^prompts/legal\.md: texte: attendu des consignes"):
        load_policy(folder)


def test_an_override_may_tighten(folder: Path, edit: Edit) -> None:
    edit("thresholds.yaml", "overrides: {}", "overrides: {origin: 0.9}")
    thresholds = load_policy(folder).thresholds
    assert (thresholds.cosine_floor("origin"), thresholds.cosine_floor("age")) == (0.9, 0.85)


def test_a_department_can_be_added(folder: Path, edit: Edit) -> None:
    text = (folder / "departments.yaml").read_text(encoding="utf-8")
    block = text[text.index("  - id: direction-rh") : text.index("# Les appels")]
    new = block.replace("-rh", "-achats").replace("RH", "Achats").replace("[rh,", "[achats,")
    new = new.replace("Direction des ressources humaines", "Direction achats").replace("DAchats", "DA")
    new = new.replace("Ressources humaines", "Équipe Achats")
    edit("departments.yaml", "# Les appels", f"{new}\n# Les appels")
    assert len(load_policy(folder).departments) == 12
    assert load_policy(folder).resolve_department(team_alias="achats") == ("direction-achats", "team_alias")
