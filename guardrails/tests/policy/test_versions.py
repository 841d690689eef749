"""Which version is in force on a day, and that an edit today leaves the past as it was."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from compliance_guardrails.policy import PolicyError, load_policy
from compliance_guardrails.policy.paths import BUNDLED, VARIABLE
from compliance_guardrails.policy.revise import revise
from compliance_guardrails.policy.versions import GATE_RULES

if TYPE_CHECKING:
    from collections.abc import Callable

    Edit = Callable[[str, str, str], None]

JUNE = date(2026, 6, 30)


def test_a_month_is_judged_by_the_version_in_force_at_its_end(folder: Path, edit: Edit) -> None:
    june_before = load_policy(folder, at=JUNE)
    revise(folder, "thresholds", date(2026, 7, 1))
    edit("thresholds.yaml", "grounding_floor: 0.35", "grounding_floor: 0.40")
    assert load_policy(folder).thresholds.grounding_floor == 0.40
    assert load_policy(folder, at=date(2026, 7, 1)).thresholds.grounding_floor == 0.40
    june_after = load_policy(folder, at=JUNE)
    assert june_after.thresholds.grounding_floor == 0.35
    assert june_after.digest == june_before.digest
    assert june_after.file_digests == june_before.file_digests


def test_greatest_date_not_after_the_day_wins(folder: Path, edit: Edit) -> None:
    for day, before, after in ((date(2026, 3, 1), "5", "6"), (date(2026, 5, 1), "6", "7")):
        revise(folder, "thresholds", day)
        edit("thresholds.yaml", f"suppress_below: {before}", f"suppress_below: {after}")
    found = [
        load_policy(folder, at=day).thresholds.suppress_below
        for day in (
            date(2026, 1, 1),
            date(2026, 2, 28),
            date(2026, 3, 1),
            date(2026, 4, 30),
            date(2026, 5, 1),
        )
    ]
    assert found == [5, 5, 6, 6, 7]


def test_prompts_have_versions_too(folder: Path, edit: Edit) -> None:
    revise(folder, "prompts/general", date(2026, 7, 1))
    edit("prompts/general.md", "brièvement et clairement", "en peu de mots")
    assert "brièvement" in load_policy(folder, at=JUNE).prompt_for("general-assistant").body
    assert "en peu de mots" in load_policy(folder).prompt_for("general-assistant").body


def test_rule_files_have_versions_too(folder: Path, edit: Edit) -> None:
    (folder / "rules").mkdir()
    (folder / "rules" / "mots.yaml").write_text("effective_from: 2026-01-01\nmots: [un]\n", encoding="utf-8")
    revise(folder, "rules/mots", date(2026, 7, 1))
    edit("rules/mots.yaml", "[un]", "[un, deux]")
    assert "deux" not in load_policy(folder, at=JUNE).rule_text("mots")
    assert "deux" in load_policy(folder).rule_text("mots")


def test_before_the_first_version_there_is_no_policy(folder: Path) -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy(folder, at=date(2025, 12, 31))
    assert caught.value.message_fr == (
        "departments.yaml: effective_from: attendu une version en vigueur au 2025-12-31 "
        "(la plus ancienne commence le 2026-01-01)"
    )


def test_history_needs_a_date_for_a_name(folder: Path) -> None:
    (folder / "history" / "thresholds").mkdir()
    shutil.copy(folder / "thresholds.yaml", folder / "history" / "thresholds" / "ancien.yaml")
    with pytest.raises(PolicyError, match=r"^history/thresholds/ancien\.yaml: .*AAAA-MM-JJ\.yaml"):
        load_policy(folder)


def test_history_may_not_be_newer_than_the_file(folder: Path) -> None:
    (folder / "history" / "thresholds").mkdir()
    shutil.copy(folder / "thresholds.yaml", folder / "history" / "thresholds" / "2026-01-01.yaml")
    with pytest.raises(PolicyError, match=r"effective_from: attendu une date antérieure à celle de thresholds\.yaml"):
        load_policy(folder)


def test_a_version_must_carry_the_date_of_its_name(folder: Path, edit: Edit) -> None:
    revise(folder, "thresholds", date(2026, 7, 1))
    edit("history/thresholds/2026-01-01.yaml", "effective_from: 2026-01-01", "effective_from: 2026-02-01")
    with pytest.raises(PolicyError, match=r"la date de son nom de fichier, 2026-01-01"):
        load_policy(folder, at=JUNE)


@pytest.mark.parametrize("line", ["", "effective_from: bientôt", "  effective_from: 2026-01-01"])
def test_a_file_without_a_readable_date_is_refused(folder: Path, edit: Edit, line: str) -> None:
    edit("sampling.yaml", "effective_from: 2026-01-01", line)
    with pytest.raises(PolicyError, match=r"^sampling\.yaml: effective_from: attendu une date AAAA-MM-JJ"):
        load_policy(folder)


def test_digest_covers_names_and_bytes_of_what_is_in_force(folder: Path, edit: Edit) -> None:
    first = load_policy(folder)
    assert first.digest == load_policy(folder).digest
    edit("thresholds.yaml", "# Les seuils communs.", "# Seuils communs.")
    second = load_policy(folder)
    assert second.digest != first.digest
    changed = {name for name, digest in second.file_digests.items() if first.file_digests[name] != digest}
    assert changed == {"thresholds.yaml"}


def test_ledgers_do_not_change_the_digest(folder: Path, edit: Edit) -> None:
    before = load_policy(folder)
    edit("retired.yaml", "retired: []", "retired: []  # relu")
    after = load_policy(folder)
    assert after.digest == before.digest
    assert after.file_digests["retired.yaml"] != before.file_digests["retired.yaml"]


def test_digest_of_named_files_moves_with_them_only(folder: Path, edit: Edit) -> None:
    before = load_policy(folder)
    edit("thresholds.yaml", "min_n: 30", "min_n: 40")
    after = load_policy(folder)
    assert after.digest_of("departments", "prompts/legal") == before.digest_of("prompts/legal", "departments")
    assert after.digest_of("departments", "thresholds") != before.digest_of("departments", "thresholds")
    with pytest.raises(KeyError):
        after.digest_of("inconnu")


def test_corrective_actions_stand_as_they_stood_on_the_day(folder: Path, edit: Edit) -> None:
    action = """actions:
  - id: une
    finding: "Constat."
    action: "Action."
    owner: "Direction conformité"
    opened_on: 2026-06-10
    due_on: 2026-07-10
    closed_on: 2026-07-05
    departments: [direction-it]
"""
    edit("corrective_actions.yaml", "actions: []\n", action)
    assert load_policy(folder, at=date(2026, 6, 9)).corrective_actions == ()
    assert load_policy(folder, at=JUNE).corrective_actions[0].closed_on is None
    assert load_policy(folder, at=date(2026, 7, 5)).corrective_actions[0].closed_on == date(2026, 7, 5)


def test_environment_names_the_folder(folder: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    edit("thresholds.yaml", "min_n: 30", "min_n: 41")
    assert load_policy().thresholds.min_n == 30
    monkeypatch.setenv(VARIABLE, str(folder))
    assert load_policy().thresholds.min_n == 41
    monkeypatch.setenv(VARIABLE, str(folder / "absent"))
    with pytest.raises(PolicyError, match="un dossier de politique lisible"):
        load_policy()


def test_mounted_links_are_followed_and_hidden_entries_ignored(folder: Path, tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    (mount / "..data").mkdir(parents=True)
    for path in folder.iterdir():
        if path.is_file():
            shutil.copy(path, mount / "..data" / path.name)
            (mount / path.name).symlink_to(mount / "..data" / path.name)
    shutil.copytree(folder / "prompts", mount / "prompts")
    assert load_policy(mount).digest == load_policy(folder).digest


def test_revise_keeps_every_byte_and_overwrites_nothing(folder: Path) -> None:
    before = (folder / "thresholds.yaml").read_bytes()
    assert revise(folder, "thresholds.yaml", date(2026, 7, 1)) == (
        "history/thresholds/2026-01-01.yaml", "thresholds.yaml"
    )  # fmt: skip
    assert (folder / "history" / "thresholds" / "2026-01-01.yaml").read_bytes() == before
    assert (folder / "thresholds.yaml").read_bytes() == before.replace(b"2026-01-01", b"2026-07-01", 1)
    assert list(folder.glob(".*")) == []


@pytest.mark.parametrize(
    ("name", "day", "expected"),
    [
        ("thresholds", date(2026, 1, 1), "postérieure"),
        ("inconnu", date(2026, 7, 1), "l’un des noms"),
        ("retired", date(2026, 7, 1), "l’un des noms"),
        ("../thresholds", date(2026, 7, 1), "l’un des noms"),
    ],
)
def test_revise_refuses(folder: Path, name: str, day: date, expected: str) -> None:
    with pytest.raises(PolicyError, match=expected):
        revise(folder, name, day)


def test_a_gateway_without_the_gate_has_the_same_policy(folder: Path) -> None:
    shutil.copytree(BUNDLED / "rules", folder / "rules")
    whole = load_policy(folder)
    for path in (folder / "rules").glob("counterfactual*.yaml"):
        path.unlink()
    lone = load_policy(folder)
    assert lone.digest == whole.digest
    assert lone.gate_digest != whole.gate_digest
    assert set(whole.file_digests) - set(lone.file_digests) == GATE_RULES
