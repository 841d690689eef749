"""What counts as loosening, and that only a new line in retired.yaml makes it acceptable."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from compliance_guardrails.cli import main
from compliance_guardrails.policy.diff import Kind, compare
from compliance_guardrails.policy.git_base import read_folder
from compliance_guardrails.policy.guarded import guard_of
from compliance_guardrails.policy.revise import revise
from compliance_guardrails.policy.yaml_reader import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable

    Edit = Callable[[str, str, str], None]


def findings(before: dict[str, str], folder: Path) -> list[tuple[str, str]]:
    """(kind, key) of every finding that is not about dates."""
    return [(f.kind.value, f.key) for f in compare(before, read_folder(folder)) if f.kind is not Kind.UNDATED]


LOOSENED = [
    ("thresholds.yaml", "grounding_floor: 0.35", "grounding_floor: 0.30", "thresholds.grounding_floor"),
    (
        "thresholds.yaml",
        "citation_compliance: 0.80",
        "citation_compliance: 0.79",
        "thresholds.citation_compliance",
    ),
    ("thresholds.yaml", "min_n: 30", "min_n: 20", "thresholds.min_n"),
    ("thresholds.yaml", "min_n: 30", "min_n: 40", "thresholds.min_n"),
    ("thresholds.yaml", "max_unscored_rate: 0.10", "max_unscored_rate: 0.20", "thresholds.max_unscored_rate"),
    ("thresholds.yaml", "retention_years: 7", "retention_years: 5", "thresholds.retention_years"),
    ("thresholds.yaml", "purge_months: 13", "purge_months: 24", "thresholds.purge_months"),
    ("thresholds.yaml", "  count: 5", "  count: 10", "thresholds.uncited_burst.count"),
    (
        "thresholds.yaml",
        ", direction-sinistres]",
        "]",
        "thresholds.uncited_burst.departments[direction-sinistres]",
    ),
    (
        "departments.yaml",
        "report_threshold: 0.70",
        "report_threshold: 0.65",
        "departments[direction-sinistres].report_threshold",
    ),
    (
        "departments.yaml",
        "alert_for_minutes: 30",
        "alert_for_minutes: 45",
        "departments[direction-sinistres].alert_for_minutes",
    ),
    ("departments.yaml", "risk: CRITICAL", "risk: HIGH", "departments[direction-sinistres].risk"),
    (
        "departments.yaml",
        "citation_check: true",
        "citation_check: false",
        "departments[direction-sinistres].layers.citation_check",
    ),
    (
        "departments.yaml",
        "sampling_rate: 0.25",
        "sampling_rate: 0.2",
        "departments[direction-commercial].sampling_rate",
    ),
    ("sampling.yaml", 'salt: "conformite-2026"', 'salt: "autre"', "sampling.salt"),
    ("guardrails.yaml", "threshold: null\n", "threshold: 0.9\n", "guardrails.bias_screen.threshold"),
    ("alerts.yaml", "severity: critical", "severity: warning", "alerts.rules[JudgeUnreliable].severity"),
    ("prompts/claims.md", 'refusal: "Cette', "refusal: null #", "prompts/claims.refusal"),
]


@pytest.mark.parametrize("case", LOOSENED, ids=lambda c: f"{c[3]} {c[2][-12:]}")
def test_loosening_needs_a_line(folder: Path, edit: Edit, case: tuple[str, str, str, str]) -> None:
    file, old, new, key = case
    before = read_folder(folder)
    edit(file, old, new)
    assert findings(before, folder) == [("assoupli", key)]


TIGHTENED = [
    ("thresholds.yaml", "grounding_floor: 0.35", "grounding_floor: 0.40"),
    ("thresholds.yaml", "max_unscored_rate: 0.10", "max_unscored_rate: 0.05"),
    ("thresholds.yaml", "overrides: {}", "overrides: {origin: 0.9}"),
    ("departments.yaml", "risk: LOW", "risk: MEDIUM"),
    ("departments.yaml", "prompt: false", "prompt: true"),
    ("departments.yaml", "missing_score: pass_and_flag", "missing_score: refuse"),
    ("guardrails.yaml", "on_error: pass", "on_error: refuse"),
]


@pytest.mark.parametrize("case", TIGHTENED, ids=lambda c: c[2])
def test_tightening_is_told_but_needs_nothing(folder: Path, edit: Edit, case: tuple[str, str, str]) -> None:
    before = read_folder(folder)
    edit(*case)
    assert [kind for kind, _ in findings(before, folder)] == ["durci"]


NEUTRAL = [
    ("thresholds.yaml", "grounding_floor: 0.35", "grounding_floor: 0.350  # relu"),
    ("thresholds.yaml", "# Les seuils communs.", "# Seuils."),
    ("departments.yaml", "contact: Sinistres", "contact: sinistres"),
    ("departments.yaml", "key_aliases: [sinistres,", "key_aliases: [sinistres, sin-2,"),
    ("report.yaml", 'organisation: "Assureur', 'organisation: "Autre assureur'),
    ("prompts/general.md", "brièvement", "vite"),
    ("alerts.yaml", "Une exécution a échoué.", "Une exécution est en échec."),
]


@pytest.mark.parametrize("case", NEUTRAL, ids=lambda c: c[2][:30])
def test_what_guards_nothing_is_free(folder: Path, edit: Edit, case: tuple[str, str, str]) -> None:
    before = read_folder(folder)
    edit(*case)
    assert findings(before, folder) == []


def _line(key: str, to: str) -> str:
    return (
        f'retired:\n  - key: "{key}"\n    to: {to}\n    date: 2026-05-01\n'
        '    reason: "Décision du comité du 1er mai."\n    owner: "Comité conformité"\n'
    )


def test_a_new_line_with_the_value_makes_it_acceptable(folder: Path, edit: Edit) -> None:
    before = read_folder(folder)
    edit("thresholds.yaml", "grounding_floor: 0.35", "grounding_floor: 0.30")
    edit("retired.yaml", "retired: []\n", _line("thresholds.grounding_floor", "0.30"))
    assert findings(before, folder) == [("reconnu", "thresholds.grounding_floor")]


@pytest.mark.parametrize(("key", "to"), [("thresholds.grounding_floor", "0.31"), ("thresholds.min_n", "0.30")])
def test_a_line_for_something_else_does_not(folder: Path, edit: Edit, key: str, to: str) -> None:
    before = read_folder(folder)
    edit("thresholds.yaml", "grounding_floor: 0.35", "grounding_floor: 0.30")
    edit("retired.yaml", "retired: []\n", _line(key, to))
    assert findings(before, folder) == [("assoupli", "thresholds.grounding_floor")]


def test_an_old_line_does_not_serve_twice(folder: Path, edit: Edit) -> None:
    edit("retired.yaml", "retired: []\n", _line("thresholds.grounding_floor", "0.30"))
    before = read_folder(folder)
    edit("thresholds.yaml", "grounding_floor: 0.35", "grounding_floor: 0.30")
    assert findings(before, folder) == [("assoupli", "thresholds.grounding_floor")]


def test_lines_may_not_vanish(folder: Path, edit: Edit) -> None:
    edit("retired.yaml", "retired: []\n", _line("thresholds.grounding_floor", "0.30"))
    before = read_folder(folder)
    edit("retired.yaml", "Décision du comité", "Choix du comité")
    assert findings(before, folder) == [("registre", "thresholds.grounding_floor")]


def test_removing_a_department_is_one_finding(folder: Path, edit: Edit) -> None:
    before = read_folder(folder)
    text = before["departments.yaml"]
    edit("departments.yaml", text[text.index("  - id: direction-rh") : text.index("# Les appels")], "")
    assert findings(before, folder) == [("assoupli", "departments[direction-rh]")]
    edit("retired.yaml", "retired: []\n", _line("departments[direction-rh]", "null"))
    assert findings(before, folder) == [("reconnu", "departments[direction-rh]")]


@pytest.mark.parametrize(
    "case",
    [
        ("grounds.yaml", '  - {id: age, label: "Âge"}\n', "", "grounds[age]"),
        ("legal.yaml", "id: acpr-2020", "id: acpr-2021", "legal.rules[acpr-2020]"),
    ],
)
def test_removing_any_id_needs_a_line(folder: Path, edit: Edit, case: tuple[str, str, str, str]) -> None:
    file, old, new, key = case
    before = read_folder(folder)
    edit(file, old, new)
    assert findings(before, folder) == [("assoupli", key)]


def test_removing_a_file_is_one_finding(folder: Path) -> None:
    before = read_folder(folder)
    (folder / "prompts" / "legal.md").unlink()
    assert findings(before, folder) == [("assoupli", "prompts/legal.md")]


def test_rules_of_the_detectors_are_covered() -> None:
    def rules(text: str) -> dict[str, str]:
        return {"rules/x.yaml": "effective_from: 2026-01-01\n" + text}

    domain = '{id: hr, threshold: "0.15", multipliers: {sex: "2.0"}}'
    old = rules(f"domains:\n  - {domain}\ngroups:\n  a: {{mots: [un, deux]}}\n")
    cases = {
        "rules/x.domains[hr].threshold": ('"0.15"', '"0.2"'),
        "rules/x.domains[hr].multipliers.sex": ('"2.0"', '"1.5"'),
        "rules/x.domains[hr]": ("id: hr", "id: rh"),
        "rules/x.groups.a": ("a: {mots", "b: {mots"),
    }
    for key, (before, after) in cases.items():
        new = {name: text.replace(before, after) for name, text in old.items()}
        assert [f.key for f in compare(old, new) if f.kind is Kind.UNACKNOWLEDGED] == [key]
    free = {name: text.replace("[un, deux]", "[un]") for name, text in old.items()}
    assert [f for f in compare(old, free) if f.kind is not Kind.UNDATED] == []


def test_an_override_is_compared_by_its_effect(folder: Path, edit: Edit) -> None:
    before = read_folder(folder)
    edit("guardrails.yaml", "\nself_evaluation", "  direction-it:\n    domain: insurance\n    action: warn\n"
         "    threshold: 0.9\n    stream: append\n\nself_evaluation")  # fmt: skip
    key = "guardrails.bias_screen_overrides.direction-it.threshold"
    assert findings(before, folder) == [("assoupli", key)]
    edit("thresholds.yaml", "overrides: {}", "overrides: {origin: 0.9}")
    tightened = read_folder(folder)
    edit("thresholds.yaml", "overrides: {origin: 0.9}", "overrides: {}")
    assert findings(tightened, folder) == [("assoupli", "thresholds.counterfactual_cosine_overrides.origin")]


def test_edits_without_a_date_are_told(folder: Path, edit: Edit) -> None:
    before = read_folder(folder)
    edit("thresholds.yaml", "suppress_below: 5", "suppress_below: 6")
    lines = [f.line_fr for f in compare(before, read_folder(folder)) if f.kind is Kind.UNDATED]
    assert len(lines) == 1
    assert lines[0].startswith("thresholds.yaml: effective_from: attendu une date postérieure au 2026-01-01")


def test_a_revision_done_in_order_has_nothing_to_tell(folder: Path, edit: Edit) -> None:
    before = read_folder(folder)
    revise(folder, "thresholds", date(2026, 9, 1))
    edit("thresholds.yaml", "suppress_below: 5", "suppress_below: 6")
    assert [f.kind for f in compare(before, read_folder(folder))] == [Kind.TIGHTENED]


def test_history_may_not_be_touched(folder: Path, edit: Edit) -> None:
    before = read_folder(folder)
    edit("history/legal/2026-01-01.yaml", "à confirmer", "confirmé")
    told = [f.key for f in compare(before, read_folder(folder)) if f.kind is Kind.UNDATED]
    assert told == ["history/legal/2026-01-01.yaml"]


FREE = {
    # numbers and switches that guard nothing: law, wording and the service label are free to change
    "legal", "report", "grounds", "corrective_actions", "retired",
}  # fmt: skip


def _leaves(key: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for name, inner in value.items() for leaf in _leaves(f"{key}.{name}", inner)]
    if isinstance(value, list):
        return [leaf for inner in value if isinstance(inner, dict) for leaf in _leaves(f"{key}[x]", inner)]
    return [(key, value)]


def test_no_number_or_switch_is_forgotten(folder: Path) -> None:
    forgotten = []
    for name, text in read_folder(folder).items():
        stem = name.removesuffix(".yaml")
        if "/" in name or stem in FREE:
            continue
        for key, value in _leaves(stem, read_yaml(text, name)):
            folded = key.replace("departments.departments[", "departments[")
            if isinstance(value, bool | int | float) and guard_of(folded) is None:
                forgotten.append(folded)
    assert forgotten == []


def _git(folder: Path, *arguments: str) -> None:
    config = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *config, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(folder: Path) -> Path:
    _git(folder.parent, "init", "-q")
    _git(folder.parent, "add", ".")
    _git(folder.parent, "commit", "-q", "-m", "base")
    return folder


def test_command_against_a_revision(repository: Path, edit: Edit, capsys: pytest.CaptureFixture[str]) -> None:
    diff = ["policy", "diff", "--base", "HEAD", str(repository)]
    assert main(diff) == 0
    assert capsys.readouterr().out == "en ordre\n"
    edit("thresholds.yaml", "grounding_floor: 0.35", "grounding_floor: 0.30")
    assert main(diff) == 1
    out = capsys.readouterr().out
    assert (
        "retired.yaml: thresholds.grounding_floor: attendu une ligne "
        "(key: thresholds.grounding_floor, to: 0.3, date, reason, owner) pour 0.35 → 0.3"
    ) in out
    assert out.endswith("1 point à corriger\n")
    edit("retired.yaml", "retired: []\n", _line("thresholds.grounding_floor", "0.30"))
    assert main(diff) == 0
    assert main([*diff, "--strict"]) == 1  # no new date, no copy in history
    out = capsys.readouterr().out
    assert "effective_from: attendu une date postérieure" in out


def test_command_says_when_it_cannot_decide(repository: Path, edit: Edit, capsys: pytest.CaptureFixture[str]) -> None:
    for revision in ("inconnue", "--help", "-x", "", "HEAD:thresholds.yaml", "a b\nc"):
        assert main(["policy", "diff", f"--base={revision}", str(repository)]) == 2
        error = capsys.readouterr().err
        assert "une révision connue du dépôt git" in error
        assert error.count("\n") == 1
    edit("thresholds.yaml", "min_n: 30", "min_n: trente")
    assert main(["policy", "diff", "--base", "HEAD", str(repository)]) == 2
    assert capsys.readouterr().err.startswith("thresholds.yaml: min_n: attendu un nombre entier")


def test_folder_unknown_at_the_base_has_nothing_to_compare(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder.parent / "autre").write_text("x", encoding="utf-8")
    _git(folder.parent, "init", "-q")
    _git(folder.parent, "add", "autre")
    _git(folder.parent, "commit", "-q", "-m", "base")
    assert main(["policy", "diff", "--base", "HEAD", str(folder)]) == 0
    assert "rien à comparer" in capsys.readouterr().out
