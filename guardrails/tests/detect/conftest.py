"""Labelled sentences as parameters: `@pytest.mark.corpus("told.jsonl", "told-")` gives `row`, one a test.

The file is one of the corpus to tune on; the second word, when given, is what the ids begin with.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TUNE = Path(__file__).parents[1] / "corpus" / "tune"


def _rows(name: str, begin: str = "") -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (TUNE / name).read_text("utf-8").splitlines()]
    return [row for row in rows if row["id"].startswith(begin)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each sentence of a marked file; a file without any is an error."""
    for mark in metafunc.definition.iter_markers("corpus"):
        rows = _rows(*mark.args)
        assert rows, mark.args
        metafunc.parametrize("row", rows, ids=[row["id"] for row in rows])
