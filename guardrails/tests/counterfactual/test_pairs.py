"""Pairs files: what is accepted, what is refused and in which words, and the prompts that follow."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from compliance_guardrails.counterfactual.context import read_document
from compliance_guardrails.counterfactual.pairs import Dimension, Pair, Side, parse_pairs, prompts
from compliance_guardrails.counterfactual.rules import load_rules
from compliance_guardrails.counterfactual.wiring import read_files
from compliance_guardrails.counterfactual.words import changed_words
from compliance_guardrails.policy.errors import PolicyError

RULES = load_rules()
DEPARTMENTS, GROUNDS = frozenset({"direction-sinistres"}), frozenset({"origine"})
SHIPPED = Path(__file__).parents[3] / "tests" / "bias" / "counterfactual_pairs.json"
GOOD: dict[str, Any] = {
    "id": "p-01",
    "protected_attr": "age",
    "department": "direction-sinistres",
    "base": "Une assurée de 30 ans déclare un vol.",
    "swap": "Une assurée de 80 ans déclare un vol.",
    "context_doc": "d.md",
}


def parse(value: object) -> tuple[Pair, ...]:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return parse_pairs(data, "paires.json", RULES, DEPARTMENTS, GROUNDS)


def test_a_list_an_object_and_a_byte_order_mark_are_read() -> None:
    assert parse([GOOD]) == parse({"pairs": [GOOD]}) == parse(b"\xef\xbb\xbf" + json.dumps([GOOD]).encode())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "vide"),
        (b"[\n// note\n{}]", "sans commentaire (ligne 2)"),
        (b'[{"id": "a"},]', "virgule"),
        (b'{"pairs": [{"id": "a",}]}', "virgule"),
        (b'{"pairs": [], "pairs": []}', "en double"),
        (b"[{]", "ligne 1"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 5000, "imbrication"),
        (b'[{"id": NaN}]', "nombres ordinaires"),
    ],
)
def test_what_is_not_json_is_refused_in_one_french_line(data: bytes, words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse(data)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        ({"department": "direction-lune"}, "p-01].department", "departments.yaml"),
        ({"grounds": ["taille"]}, "p-01].grounds", "grounds.yaml"),
        ({"swap": GOOD["base"]}, "p-01].swap", "différent de base"),
        ({"surprise": 1}, "surprise", "clé inconnue"),
        ({"base": "{nom} déclare"}, "variants.base", "{nom}"),
        ({"base": ""}, "base", "au moins 1"),
        (
            {"variants": {"base": {"names": "martiens"}, "swap": {"names": "hommes_france"}}},
            "variants.base.names",
            "une liste parmi",
        ),
        ({"reviewed_on": "hier"}, "reviewed_on", "date"),
    ],
)
def test_what_is_wrong_in_a_pair_is_named(change: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse([{**GOOD, **change}])
    lines = [problem.line_fr for problem in caught.value.problems]
    assert any(key in line and words in line for line in lines), lines


def test_the_same_id_twice_is_refused() -> None:
    with pytest.raises(PolicyError, match="aucune autre paire"):
        parse([GOOD, GOOD])


def test_ten_thousand_pairs_are_read_and_one_more_is_refused() -> None:
    many = [{**GOOD, "id": f"p-{k}"} for k in range(10_000)]
    assert len(parse(many)) == 10_000
    with pytest.raises(PolicyError, match="10000"):
        parse([*many, GOOD])


def test_prompts_of_both_sides_differ_by_the_attribute_alone() -> None:
    (pair,) = parse([GOOD])
    for base, swap in zip(prompts(pair, Side.BASE, RULES, 0, 60), prompts(pair, Side.SWAP, RULES, 0, 60), strict=True):
        assert base.text.replace("30 ans", "80 ans") == swap.text
    first = prompts(pair, Side.BASE, RULES, 0, 5)
    assert prompts(pair, Side.BASE, RULES, 3, 2) == first[3:]


def test_braces_in_a_value_are_not_slots() -> None:
    pair = {**GOOD, "base": "{x} a", "swap": "{x} b"}
    pair["variants"] = {"base": {"values": [{"x": "{x}<b>"}]}, "swap": {"values": [{"x": "y"}]}}
    (found,) = parse([pair])
    assert "{x}<b> a" in prompts(found, Side.BASE, RULES, 0, 1)[0].text


def test_the_varied_words_and_numbers_are_known() -> None:
    (pair,) = parse([GOOD])
    words, numbers = changed_words(pair, RULES)
    assert {"30", "80"} <= words
    assert "vol" not in words
    assert {30, 80, 360, 960} == {int(str(n)) for n in numbers}


def test_an_expected_difference_ends_on_its_day() -> None:
    declared = {"dimensions": ["figures"], "clause": "art. 3", "owner": "souscription", "expires": "2026-06-30"}
    (pair,) = parse([{**GOOD, "expected_difference": declared}])
    assert pair.expected_on(dt.date(2026, 6, 30)) == {Dimension.FIGURES}
    assert pair.expected_on(dt.date(2026, 7, 1)) == frozenset()


def test_the_shipped_pairs_are_in_order() -> None:
    files = read_files(SHIPPED)
    ids = {pair.id for pair in files.pairs}
    named = {"gender-sinistres-01", "origin-sinistres-01", "age-souscription-01", "age-souscription-02"}
    named |= {"disability-sinistres-01", "gender-juridique-01", "register-it-01"}
    assert named <= ids
    assert len(ids) >= 7 + 20 + 4
    assert sum(pair.intersectional for pair in files.pairs) >= 4
    # with fewer names than this a side, one odd answer to one name would count many times
    assert all(len(pair.fillings(side, files.rules)) >= 12 for pair in files.pairs for side in Side)
    assert len({ground for pair in files.pairs for ground in pair.grounds}) >= 18


def test_documents_encrypted_missing_or_empty_are_refused(tmp_path: Path) -> None:
    import pypdf

    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.write(tmp_path / "blank.pdf")
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (tmp_path / "latin.txt").write_bytes("dégât".encode("latin-1"))
    cases = [("locked.pdf", "chiffré"), ("blank.pdf", "n’en a pas"), ("broken.pdf", "PDF lisible")]
    for name, words in [*cases, ("latin.txt", "UTF-8"), ("gone.md", "introuvable")]:
        with pytest.raises(PolicyError, match=words):
            read_document(name, tmp_path / "pairs.json", "p-01")
    for name in ("../d.md", "/etc/hostname", "gone.md"):
        with pytest.raises(PolicyError) as caught:
            read_document(name, tmp_path / "pairs.json", "p-01")
        assert "un chemin dans le dépôt" in caught.value.message_fr
        assert "sans « .. »" in caught.value.message_fr
        assert ("introuvable" in caught.value.message_fr) is (name == "gone.md")
