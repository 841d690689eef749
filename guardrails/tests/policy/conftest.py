"""A policy folder to spoil: a copy of the bundled one, and one edit function."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from compliance_guardrails.policy import check
from compliance_guardrails.policy.paths import BUNDLED, VARIABLE

Edit = Callable[[str, str, str], None]


@pytest.fixture(autouse=True)
def _no_configured_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the bundled policy, without rule files: those belong to the detectors' own tests."""
    monkeypatch.setattr(check, "RULE_READERS", ())
    copy = tmp_path / "policy"
    shutil.copytree(BUNDLED, copy, ignore=shutil.ignore_patterns("rules"))
    return copy


@pytest.fixture
def edit(folder: Path) -> Edit:
    """`edit(file, old, new)`: replace text that must be there."""

    def replace(name: str, old: str, new: str) -> None:
        path = folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {name}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return replace
