"""The generator as a tool: determinism, small and foreign months, bad arguments, text rendering."""

from __future__ import annotations

import gzip
import json
import random
import tracemalloc
from datetime import date
from pathlib import Path

import pytest
from compliance_guardrails.policy import load_policy

from compliance_pipelines.sample.generate import generate, main
from compliance_pipelines.sample.measure import exchanges
from compliance_pipelines.sample.month import cut_off, day_counts, parse_month, shares, silent_day
from compliance_pipelines.sample.profiles import profiles
from compliance_pipelines.sample.situations import MONTH_FOLDER, load_situations
from compliance_pipelines.sample.texts import Typography, fill, has_marker, render

PLAIN = Typography("’", " ", " ", decomposed=False)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_same_arguments_same_bytes_other_seed_other_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        generate(tmp_path / name, "2026-06", 120, seed)
    one, two, other = (content(tmp_path / name) for name in "abc")
    assert one == two
    assert one.keys() == other.keys()
    assert one["truth.jsonl.gz"] != other["truth.jsonl.gz"]


def test_a_smaller_month_replaces_a_larger_one(tmp_path: Path) -> None:
    generate(tmp_path, "2026-06", 1200, 1)
    assert (tmp_path / "observations-0002.jsonl.gz").exists()
    done = generate(tmp_path, "2026-06", 40, 1)
    assert not (tmp_path / "observations-0002.jsonl.gz").exists()
    assert {path.name for path in done.files} == set(content(tmp_path))
    rows = gzip.decompress((tmp_path / "observations-0001.jsonl.gz").read_bytes()).splitlines()
    assert len(rows) == done.observations
    assert len(set(rows)) < len(rows)  # the page that comes twice is there, only shorter


@pytest.mark.parametrize("month", ["2026-03", "2026-10", "2027-02", "2028-02", "2026-12"])
def test_other_months(tmp_path: Path, month: str) -> None:
    generate(tmp_path, month, 300, 2)
    truth = [json.loads(x) for x in gzip.decompress((tmp_path / "truth.jsonl.gz").read_bytes()).splitlines()]
    assert len(truth) == 300
    assert len({row["trace_id"] for row in truth}) == 300
    assert sum(row["observed_at"].startswith(month) for row in truth) >= 295


def test_scale_multiplies(tmp_path: Path) -> None:
    assert generate(tmp_path, "2026-06", 50, 1, scale=3).traces == 150


def test_memory_does_not_follow_the_number_of_traces(tmp_path: Path) -> None:
    def peak(scale: int) -> int:
        tracemalloc.start()
        generate(tmp_path, "2026-06", 150, 1, scale=scale)
        _, top = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return top

    peak(1)  # situations, tables and regexes are read once
    assert peak(8) < peak(2) + 1_500_000


@pytest.mark.parametrize("bad", ["2026", "2026-13", "2026-6", "06-2026", "2026-00", "", "٢٠٢٦-06", "2026-06-01"])
def test_a_bad_month_is_one_line_and_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str], bad: str) -> None:
    assert main(["--out", str(tmp_path / "x"), "--month", bad]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("option", [["--traces", "0"], ["--traces", "-4"], ["--scale", "0"]])
def test_bad_numbers_are_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str]) -> None:
    assert main(["--out", str(tmp_path / "x"), *option]) == 2
    assert "attendu" in capsys.readouterr().err


def test_a_folder_that_is_a_file_is_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("")
    assert main(["--out", str(tmp_path / "x"), "--traces", "5"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--out", str(tmp_path), "--traces", "30"]) == 0
    assert capsys.readouterr().out.startswith("30 traces, ")


def test_the_policy_knows_every_name_that_the_month_uses() -> None:
    policy = load_policy()
    for profile in profiles().departments:
        nothing = (None, None, None, None, (), None)
        for position, name in enumerate((profile.id, profile.key_alias, profile.team_alias, profile.team_id)):
            given = [*nothing]
            given[position] = name
            assert policy.resolve_department(*given)[0] == profile.id, name
        assert policy.resolve_department(*nothing[:4], (f"department:{profile.id}",), None)[0] == profile.id
        for declared in (profile.id, profile.declared):
            assert policy.resolve_department(*nothing[:5], declared)[0] == profile.id
    unknown = policy.resolve_department(None, "portail-interne", None, None, (), None)
    assert unknown[0] == "non-attribue"


def test_month_arithmetic() -> None:
    june = parse_month("2026-06")
    assert silent_day(june) == date(2026, 6, 18)
    assert cut_off(june).isoformat() == "2026-07-01T04:00:00+00:00"
    assert cut_off(parse_month("2026-12")).isoformat() == "2027-01-01T04:00:00+00:00"
    counts = day_counts(june, 1000)
    assert sum(counts.values()) == 1000
    assert counts[date(2026, 6, 18)] == 0
    assert shares([1.0, 1.0, 1.0], 10) == [4, 3, 3]


def test_render_keeps_offsets_and_flags() -> None:
    for seed in range(40):
        rng = random.Random(seed)  # noqa: S311
        text, found = render(
            "Selon p. 2, <<{a}|c>> puis <<{b}|x>> !", {"a": "12 500 €", "b": "7 %"}, Typography.draw(rng), rng
        )
        assert [text[f.start : f.end] for f in found] == [f.text for f in found]
        assert [(f.cited, f.in_documents) for f in found] == [(True, True), (False, False)]
        assert "<<" not in text


def test_a_missing_slot_is_an_error() -> None:
    with pytest.raises(KeyError):
        fill("{absent}", {})


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("Selon le contrat, <<150 €>>.", True),
        ("D’après moi, <<150 €>>.", True),
        ("cf. p. 2 : <<150 €>>.", True),
        ("L’<<article L113-8>> s’applique.", False),
        ("La <<clause 4>> joue pour <<150 €>>.", False),
        ("Le ressourcement des documentalistes coûte <<150 €>>.", False),
        ("La policière a <<150 €>>.", False),
    ],
)
def test_the_looser_marker(marked: str, expected: bool) -> None:
    text, found = render(marked, {}, PLAIN, random.Random(0))  # noqa: S311
    assert has_marker(text, found) is expected


def test_exchanges_for_measuring() -> None:
    first, again = list(exchanges()), list(exchanges())
    assert first == again
    assert len(first) > 400
    assert {e.situation for e in first}.isdisjoint({s.id for s in load_situations(MONTH_FOLDER)})
    assert all(e.answer[f.start : f.end] == f.text for e in first for f in e.figures)
    assert any(not f.in_documents for e in first for f in e.figures)
    assert any(e.protected for e in first)
