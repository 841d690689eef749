"""Folding keeps lengths and offsets on any text; views find the way back to the original."""

from __future__ import annotations

import unicodedata

import pytest
from compliance_guardrails.detect.text import EURO, FILLER, OTHER_LETTER, OTHER_SYMBOL, fold, view
from hypothesis import given
from hypothesis import strategies as st

any_text = st.text(alphabet=st.characters(), max_size=200)
french = st.text(alphabet="aàâæçeéèêëiîïoôœuùûüÿ AÉÈÇŒ’'\u0301\u0302\u200b\u202f\xa0€*-.\n", max_size=120)


@given(any_text)
def test_fold_keeps_the_length_and_is_idempotent(text: str) -> None:
    folded = fold(text)
    assert len(folded) == len(text)
    assert fold(folded) == folded
    assert all(ord(char) < 256 for char in folded)
    assert folded == folded.lower()


@given(french)
def test_every_path_of_fold_agrees_with_the_fold_of_single_characters(text: str) -> None:
    assert fold(text) == "".join(fold(char) for char in text)


@given(st.text(alphabet=st.characters(min_codepoint=0x100), min_size=30, max_size=90))
def test_texts_of_many_foreign_characters_fold_alike(text: str) -> None:
    assert fold(text) == "".join(fold(char) for char in text)


@given(st.one_of(any_text, french), st.data())
def test_views_lead_back_to_the_original(text: str, data: st.DataObject) -> None:
    seen = view(text)
    assert FILLER not in seen.compact
    assert len(seen.visible) == len(seen.compact)
    assert fold(seen.visible) == seen.compact
    start = data.draw(st.integers(0, len(seen.compact)))
    end = data.draw(st.integers(start, len(seen.compact)))
    first, last = seen.span(start, end)
    assert 0 <= first <= last <= len(text)
    kept = view(text[first:last]).compact
    assert kept.replace("*", "") == seen.compact[start:end].replace("*", "")


@given(french)
def test_composed_and_decomposed_text_give_the_same_view(text: str) -> None:
    assert view(unicodedata.normalize("NFC", text)).compact == view(unicodedata.normalize("NFD", text)).compact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L’Été où ça naît", "l'ete ou ca nait"),
        ("ÉLÈVE GARÇON", "eleve garcon"),
        ("a\u202fb\xa0c\u2009d\te", "a b c d e"),
        ("« oui »", '" oui "'),
        ("a–b—c‑d", "a-b-c-d"),
        ("12 €", f"12 {EURO}"),
        ("sœur", "seur"),
        ("a\r\nb\u2028c", "a\n\nb\nc"),
        ("АВС", "abc"),
        ("١٢", "12"),
        ("ｆｕｌｌ", "full"),
        ("😀", OTHER_SYMBOL),
        ("語", OTHER_LETTER),
        ("\ud800", OTHER_SYMBOL),
        ("a\x00b", f"a{FILLER}b"),
        ("e\u0301", f"e{FILLER}"),
        ("\u202eabc", f"{FILLER}abc"),
        ("m²", "m²"),
        ("n°", "n°"),
        ("nº", "n°"),
        ("", ""),
    ],
)
def test_fold_examples(text: str, expected: str) -> None:
    assert fold(text) == expected


@pytest.mark.parametrize(
    ("text", "word", "evidence"),
    [
        ("un de\u0301lai", "delai", "de\u0301lai"),
        ("le de\u0301\u0323", "de", "de\u0301\u0323"),
        ("un dé\u200blai ferme", "delai", "dé\u200blai"),
        ("un dé\xadlai", "delai", "dé\xadlai"),
        ("un **délai** ferme", "delai", "délai"),
        ("\u202bun délai", "delai", "délai"),
        ("de\u0301lai de\u0301lai fin", "fin", "fin"),
    ],
)
def test_view_finds_the_evidence(text: str, word: str, evidence: str) -> None:
    seen = view(text)
    at = seen.compact.index(word)
    assert seen.evidence(at, at + len(word)) == evidence


def test_empty_spans_stay_empty() -> None:
    seen = view("a\u0301b")
    assert seen.span(1, 1)[0] == seen.span(1, 1)[1]


@pytest.mark.parametrize("text", ["de\u0301lai de trente jours **net**" * 9, "e\u0301" * 40, "\u0301" * 9, "délai", ""])
def test_what_is_visible_is_the_same_with_few_marks_and_with_many(text: str) -> None:
    seen = view(text)
    assert seen.visible == "".join(char for char, folded in zip(text, seen.folded, strict=True) if folded != FILLER)
