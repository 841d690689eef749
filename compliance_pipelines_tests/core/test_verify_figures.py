"""Print against attachments: forged reports whose digests are all in order, so that only the pages tell.

Also what hostile or damaged attachments do: a failed check in bounded time, never a traceback.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.core import verify
from compliance_pipelines.core.evidence import (
    Manifest,
    Rendered,
    archived_manifests,
    build_manifest,
    decide,
)
from compliance_pipelines.core.retention import retain_until
from compliance_pipelines.core.verify_figures import MAX_FIGURES_BYTES, figures_check
from compliance_pipelines_tests import report_samples
from compliance_pipelines_tests.evidence_samples import (
    BUILT_AT,
    ROWS,
    Row,
    figures,
    inputs,
    pdf,
    verify_month,
)

UNTIL = retain_until(BUILT_AT, 7)
MONTH = "2026-06"


def failed(result: verify.Verification) -> list[str]:
    return [check.name_fr for check in result.checks if not check.ok]


def forge(
    root: Path,
    *,
    printed: tuple[Row, ...] = ROWS,
    change: Callable[[dict[str, bytes]], None] | None = None,
    embed: Callable[[dict[str, bytes]], None] | None = None,
) -> verify.Verification:
    """Archive a report whose digests are all in order, but whose print or attachments were made from other
    data.
    """
    archive = DirectoryArchive(root)
    facts = inputs(MONTH)
    decision = decide(archived_manifests(archive), MONTH, facts.digest)
    files = figures(MONTH, 1, ROWS, facts.digest)
    if change:
        change(files)
    inside = dict(files)
    if embed:
        embed(inside)
    made = Rendered(pdf_unsigned=pdf(printed, inside), pdf_signed=None, pages=1, attachments=files)
    manifest = build_manifest(decision, facts, made, reason=None, built_at=BUILT_AT)
    archive.put_revision(MONTH, 1, made.files(manifest), UNTIL)
    return verify_month(archive, MONTH)


@pytest.mark.parametrize(
    ("position", "value"),
    [
        (2, 1239),
        (2, 124),
        (3, 0.8234),
        (3, 0.9134),
        (4, 0.26),
        (5, 0.6),
        (5, 0.75),
        (6, "Non conforme"),
        (1, "Finance"),
    ],
)
def test_a_printed_figure_that_differs_from_the_attached_one_is_found(
    tmp_path: Path, position: int, value: Any
) -> None:
    first: Any = (*ROWS[0][:position], value, *ROWS[0][position + 1 :])
    result = forge(tmp_path, printed=(first, *ROWS[1:]))
    assert failed(result) == ["Chiffres imprimés"]
    assert "direction-sinistres" in result.lines_fr()[-3]


def test_a_row_that_is_not_printed_is_found_and_more_print_is_no_fault(tmp_path: Path) -> None:
    assert failed(forge(tmp_path / "1", printed=ROWS[:2])) == ["Chiffres imprimés"]
    extra: Row = ("direction-rh", "Ressources humaines", 12, 0.5, 0.4, 0.6, "Données insuffisantes")
    assert failed(forge(tmp_path / "2", printed=(*ROWS, extra))) == []
    assert failed(forge(tmp_path / "3", printed=tuple(reversed(ROWS)))) == []


def test_two_equal_rows_need_two_printed_lines(tmp_path: Path) -> None:
    twin: Row = ("direction-audit", "Audit", *ROWS[0][2:])

    def both(files: dict[str, bytes]) -> None:
        files.update(figures(MONTH, 1, (*ROWS, twin), inputs(MONTH).digest))

    assert failed(forge(tmp_path / "1", change=both)) == ["Chiffres imprimés"]
    assert failed(forge(tmp_path / "2", printed=(*ROWS, twin), change=both)) == []


def test_embedded_files_are_those_beside(tmp_path: Path) -> None:
    def other(files: dict[str, bytes]) -> None:
        files["figures.csv"] += b"\r\n"

    def more(files: dict[str, bytes]) -> None:
        files["hidden.json"] = b"{}"

    def fewer(files: dict[str, bytes]) -> None:
        del files["figures.json"]

    for number, change in enumerate((other, more, fewer)):
        assert failed(forge(tmp_path / str(number), embed=change)) == ["Pièces incorporées au PDF"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"1240", b"1241", "figures.csv, ligne 2"),
        (b"\r\n", b"\n\n\r\n", "figures.csv"),
        (b"section,", b"Section,", "en-tête"),
        (b"direction-it", b"\xff\xfe", "UTF-8"),
        (b"direction-it", b'"direction-it', "CSV"),
    ],
)
def test_csv_and_json_must_say_the_same(tmp_path: Path, old: bytes, new: bytes, words: str) -> None:
    def change(files: dict[str, bytes]) -> None:
        files["figures.csv"] = files["figures.csv"].replace(old, new, 1)

    result = forge(tmp_path, change=change)
    assert failed(result) == ["Chiffres imprimés"]
    assert words in next(check.detail_fr for check in result.checks if not check.ok)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"figures": {}}',
        b'{"figures": [1]}',
        b'{"figures": [{"section": 2}]}',
        b'{"figures": NaN}',
        b"\xff",
        b"[" * 100_000,
        b" " * (MAX_FIGURES_BYTES + 1),
        b'{"figures": [{"section":2,"department":"d","metric":"m","name":"mean","value":NaN,"state":"x"}]}',
        b'{"figures": [{"section":2,"department":1,"metric":"m","name":"mean","value":1,"state":"x"}]}',
        b'{"figures": [{"section":2,"department":"d","metric":"m","name":"mean","value":[1],"state":"x"}]}',
    ],
)
def test_unreadable_figures_are_a_failed_check_without_traceback(tmp_path: Path, content: bytes) -> None:
    def change(files: dict[str, bytes]) -> None:
        files["figures.json"] = content

    result = forge(tmp_path, change=change)
    assert failed(result) == ["Chiffres imprimés"]


def test_figures_of_another_month_or_policy_are_found(tmp_path: Path) -> None:
    def change(files: dict[str, bytes]) -> None:
        files["figures.json"] = files["figures.json"].replace(b'"2026-06"', b'"2026-05"', 1)

    result = forge(tmp_path, change=change)
    assert failed(result) == ["Chiffres imprimés"]
    assert "month n’est pas celui du manifeste" in "".join(result.lines_fr())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Sinistres 1\u202f240 0,81 0,25 0,70 Conforme", True),
        ("Sinistres\n1\u202f240\n81,3\u202f%\n25,0\u202f%\n70\u202f%\nConforme – marge non\nétablie", True),
        ("Sinistres 1 240 0,813 0,25 0,7 ; 0,70 Conforme", True),
        ("Sinis\ntres 1240 0,8134 0,2500 0,7000 Conforme", True),
        ("Sinistres 1\u202f240 0,82 0,25 0,70 Conforme", False),
        ("Sinistres 1\u202f240 0,81 0,24 0,70 Conforme", False),
        ("Sinistres 1\u202f241 0,81 0,25 0,70 Conforme", False),
        ("Sinistres 1\u202f240 0,81 0,25 0,70 Non\nconforme", False),
        ("Sinistres 1\u202f240 0,81 0,25 0,70", False),
        ("Finance 1\u202f240 0,81 0,25 0,70 Conforme", False),
        ("Sinistres 1\u202f240 0,81 0,25 Conforme Finance 0,70 Conforme", False),  # the next row's threshold
        ("Sinistres 0,81 0,25 0,70 1\u202f240 Conforme", False),
        ("Sinistres 1\u202f240 " + "9 " * 60 + "0,81 0,25 0,70 Conforme", False),
        ("", False),
    ],
)
def test_how_a_row_may_stand_in_print(text: str, found: bool) -> None:
    row = ROWS[:1]
    facts = inputs(MONTH, row)
    files = figures(MONTH, 1, row, facts.digest)
    made = Rendered(b"x", None, 1, files)
    manifest = build_manifest(decide((), MONTH, facts.digest), facts, made, reason=None, built_at=BUILT_AT)
    check = figures_check(files["figures.json"], files["figures.csv"], ("Non conforme", text), manifest)
    assert check.ok is found, check.detail_fr


def test_hostile_text_is_read_in_linear_time() -> None:
    facts = inputs(MONTH, ROWS)
    files = figures(MONTH, 1, ROWS, facts.digest)
    made = Rendered(b"x", None, 1, files)
    manifest = build_manifest(decide((), MONTH, facts.digest), facts, made, reason=None, built_at=BUILT_AT)
    for text in (
        "1 " * 200_000,
        "1\u202f240 " * 50_000,
        "9" * 400_000,
        "1 240" * 80_000,
        "0,8" * 100_000,
        "Non " * 99_999,
    ):
        assert not figures_check(files["figures.json"], None, (text,), manifest).ok


def test_the_month_verdict_is_the_first_one_printed(tmp_path: Path) -> None:
    def change(files: dict[str, bytes]) -> None:
        files["figures.json"] = files["figures.json"].replace(b'"Non conforme"', b'"Conforme"', 1)

    result = forge(tmp_path, change=change)
    assert failed(result) == ["Chiffres imprimés"]
    assert "verdict imprimé : Non conforme, données jointes : Conforme" in "".join(result.lines_fr())


def test_reading_stops_when_every_row_is_found() -> None:
    facts = inputs(MONTH, ROWS[:1])
    files = figures(MONTH, 1, ROWS[:1], facts.digest)
    made = Rendered(b"x", None, 1, files)
    manifest = build_manifest(decide((), MONTH, facts.digest), facts, made, reason=None, built_at=BUILT_AT)
    pages = iter(["Non conforme", "Sinistres 1240 0,81 0,25 0,70 Conforme", "never read"])
    assert figures_check(files["figures.json"], None, pages, manifest).ok
    assert list(pages) == ["never read"]


@pytest.mark.parametrize(
    ("printed", "ok"),
    [
        ("Souscription 95 > 94,7 % n. c. 80 % Conforme", True),
        ("Souscription 95 > 93,7 % n. c. 80 % Conforme", False),
        ("Souscription 95 > 94,7 % n. c. 85 % Conforme", False),
        ("Souscription 95 > 94,7 % n. c. 80 % Non conforme", False),
        ("Finance 95 > 94,7 % n. c. 80 % Conforme", False),
    ],
)
def test_a_bound_printed_for_a_rate_is_compared_as_well(printed: str, ok: bool) -> None:
    values = {"n_scored": 95, "mean": None, "mean_above": 0.947, "threshold": 0.8, "verdict": "Conforme"}
    figures = [
        {"section": 3, "department": "d", "metric": "citation_compliance", "name": name, "value": value, "state": "x"}
        for name, value in values.items()
    ]
    content = json.dumps({"figures": figures, "labels": {"d": "Souscription"}}).encode()
    manifest = cast(Manifest, report_samples.inputs())  # only its month, revision and digests are looked at
    assert figures_check(content, None, [printed], manifest).ok is ok
