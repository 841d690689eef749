"""What the strict reader refuses, and how it says so: file, key, what was expected, on one French line."""

from __future__ import annotations

import os
import pickle
import time
from datetime import date
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from compliance_guardrails.policy.errors import PolicyError
from compliance_guardrails.policy.strict import StrictModel, load_yaml, parse_yaml
from compliance_guardrails.policy.yaml_reader import MAX_BYTES, read_yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field


class Colour(StrEnum):
    RED = "rouge"
    BLUE = "bleu"


class Item(StrictModel):
    id: str
    share: Annotated[float, Field(ge=0, le=1)]


class Sample(StrictModel):
    effective_from: date
    colour: Colour
    mode: Literal["a", "b"]
    ratio: float
    exact: Decimal
    active: bool
    count: int
    items: tuple[Item, ...]
    note: str | None = None
    table: dict[str, float] = Field(default_factory=dict)


GOOD = """\
effective_from: 2026-01-01
colour: rouge
mode: a
ratio: 0.35
exact: 0.1
active: true
count: 3
items:
  - {id: un, share: 0.5}
  - id: deux
    share: 1
"""


def test_good_file_is_read_exactly() -> None:
    sample = parse_yaml(GOOD, Sample, "f.yaml")
    assert sample.effective_from == date(2026, 1, 1)
    assert sample.colour is Colour.RED
    assert sample.exact == Decimal("0.1")
    assert sample.items == (Item(id="un", share=0.5), Item(id="deux", share=1.0))
    assert sample.note is None


@pytest.mark.parametrize(
    ("old", "new", "key", "expected"),
    [
        ("ratio: 0.35", 'ratio: "0,35"', "ratio", "point décimal"),
        ("ratio: 0.35", "ratio: 0,35", "ratio", "à la place de la virgule, trouvé « 0,35 » (ligne 4)"),
        ("ratio: 0.35", 'ratio: "0.35"', "ratio", "un nombre, sans guillemets"),
        ("ratio: 0.35", "ratio: .nan", "ratio", "un nombre"),
        ("ratio: 0.35", "ratio: .inf", "ratio", "un nombre"),
        ("ratio: 0.35", "ratio: 1.0e999", "ratio", "un nombre"),
        ("ratio: 0.35", "ratio: true", "ratio", "un nombre"),
        ("ratio: 0.35", "ratio:", "ratio", "trouvé rien"),
        ("ratio: 0.35", "ratio: [0.35]", "ratio", "trouvé une liste"),
        ("active: true", "active: oui", "active", "true ou false, sans guillemets, trouvé « oui »"),
        ("active: true", 'active: "true"', "active", "true ou false"),
        ("active: true", "active: 1", "active", "true ou false"),
        ("active: true", "active: yes", "active", "true ou false"),
        ("count: 3", "count: 3.0", "count", "un nombre entier"),
        ("count: 3", 'count: "3"', "count", "un nombre entier"),
        ("count: 3", "count: 99999999999999999999999", "count", "un nombre entier"),
        ("count: 3", "count: 1_000", "count", "un nombre entier"),
        ("count: 3", "count: 1:30", "count", "un nombre entier"),
        ("share: 0.5", "share: 1.5", "items[un].share", "inférieur ou égal à 1"),
        ("share: 0.5", "share: -0.1", "items[un].share", "supérieur ou égal à 0"),
        ("share: 0.5", "partage: 0.5", "items[un].share", "cette clé, qui manque"),
        ("colour: rouge", "colour: vert", "colour", "« rouge » ou « bleu », trouvé « vert »"),
        ("colour: rouge", "colour: Rouge", "colour", "« rouge » ou « bleu »"),
        ("mode: a", "mode: c", "mode", "« a » ou « b »"),
        ("2026-01-01", "01/01/2026", "effective_from", "une date AAAA-MM-JJ, trouvé « 01/01/2026 »"),
        ("2026-01-01", "2026-02-30", "effective_from", "une date AAAA-MM-JJ"),
        ("2026-01-01", "2026-01-01T00:00:00", "effective_from", "une date AAAA-MM-JJ"),
        ("2026-01-01", "20260101", "effective_from", "une date AAAA-MM-JJ"),
        ("count: 3", "count: 3\ncount: 4", "count", "écrite une seule fois (doublon) (ligne 8)"),
        ("{id: un, share", "{id: un, id: un, share", "items[0].id", "doublon"),
        ("count: 3", "count: 3\ncouleur: x", "couleur", "aucune clé de ce nom (clé inconnue) (ligne 8)"),
        ("count: 3\n", "", "count", "cette clé, qui manque"),
        ("active: true", "active: &x true", "active", "ni ancre"),
        ("active: true", "active: *x", "active", "ni ancre"),
        ("active: true", "active: !!bool true", "active", "sans étiquette"),
        ("active: true", "active: !!python/object:os.system x", "active", "sans étiquette"),
        ("count: 3", "count: 3\n<<: {a: 1}", "(fichier)", "pas de fusion"),
        ("count: 3", "? [a]\n: 3", "(fichier)", "de simples mots"),
        ("  - id", "\t- id", "(fichier)", "pas de tabulation (ligne 10)"),
        ("count: 3", "count: 3\ntexte: il dit : oui : non: x", "(fichier)", "guillemets autour"),
        ("mode: a", "mode: [", "(fichier)", "une écriture YAML correcte"),
        ("effective_from: 2026-01-01", "---\n---\nx: 1", "(fichier)", "un seul document"),
    ],
)
def test_one_french_line_names_file_key_and_what_was_expected(old: str, new: str, key: str, expected: str) -> None:
    assert old in GOOD
    with pytest.raises(PolicyError) as caught:
        parse_yaml(GOOD.replace(old, new, 1), Sample, "f.yaml")
    message = caught.value.message_fr
    assert message.startswith(f"f.yaml: {key}: attendu ")
    assert expected in message
    assert "\n" not in message
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["", "# rien\n", "- a\n", "mot\n", "3\n", "[" * 5_000, "{" * 100_000, "null"])
def test_what_is_no_mapping_is_refused_on_one_line(text: str) -> None:
    with pytest.raises(PolicyError, match=r"^f\.yaml: \(fichier\): attendu [^\n]+$"):
        parse_yaml(text, Sample, "f.yaml")


def test_all_problems_are_kept_in_the_order_of_the_file() -> None:
    spoiled = GOOD.replace("colour: rouge", "colour: vert").replace("count: 3", "count: trois")
    with pytest.raises(PolicyError) as caught:
        parse_yaml(spoiled, Sample, "f.yaml")
    assert [problem.key for problem in caught.value.problems] == ["colour", "count"]
    assert caught.value.message_fr.endswith("(et 1 autre erreur)")


def test_found_value_is_quoted_short_and_on_one_line() -> None:
    with pytest.raises(PolicyError) as caught:
        parse_yaml(GOOD.replace("mode: a", 'mode: "x\\n\\e[31m' + "y" * 500 + '"'), Sample, "f.yaml")
    assert caught.value.message_fr.isprintable()
    assert len(caught.value.message_fr) < 160


def test_error_survives_a_process_boundary() -> None:
    error = PolicyError("f.yaml", "a.b", "un nombre")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (copy.file, copy.key, copy.expected, copy.message_fr) == (
        "f.yaml",
        "a.b",
        "un nombre",
        error.message_fr,
    )


def _written(tmp_path: Path, raw: bytes) -> Path:
    path = tmp_path / "f.yaml"
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (GOOD.replace("rouge", "carré").encode("latin-1"), "UTF-8 (ligne 2)"),
        (GOOD.encode("utf-16"), "UTF-16"),
        (GOOD.replace("rouge", "ro\x00uge").encode(), "caractère nul (ligne 2)"),
        (GOOD.encode() + b"#" * MAX_BYTES, "d’au plus"),
        (b"\xff", "UTF-8"),
        (b"\x07: 1", "caractère de contrôle"),
    ],
)
def test_bytes_that_are_no_policy_text(tmp_path: Path, raw: bytes, expected: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_yaml(_written(tmp_path, raw), Sample)
    assert caught.value.message_fr.startswith("f.yaml: (fichier): attendu ")
    assert expected in caught.value.message_fr


def test_byte_order_mark_and_windows_line_ends_are_harmless(tmp_path: Path) -> None:
    raw = b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()
    assert load_yaml(_written(tmp_path, raw), Sample) == parse_yaml(GOOD, Sample, "f.yaml")


def test_missing_folder_and_pipe_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    for path in (tmp_path / "absent.yaml", tmp_path, tmp_path / "pipe.yaml", Path("a\0b")):
        with pytest.raises(PolicyError):
            load_yaml(path, Sample)


def test_alias_bomb_costs_nothing() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    start = time.process_time()
    with pytest.raises(PolicyError, match="ni ancre"):
        parse_yaml(bomb, Sample, "f.yaml")
    assert time.process_time() - start < 0.5


@given(st.text(max_size=300))
def test_any_text_gives_a_value_or_a_policy_error(text: str) -> None:
    message = None
    try:
        read_yaml(text, "f.yaml")
    except PolicyError as error:
        message = error.message_fr
    assert message is None or (message.startswith("f.yaml: ") and "\n" not in message)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text("abcéè0123:-", max_size=8),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcdé", min_size=1), inner, max_size=4),
    )
)
def test_json_is_read_back_as_it_is(value: object) -> None:
    import json

    assert read_yaml(json.dumps(value, ensure_ascii=False), "f.yaml") == value
