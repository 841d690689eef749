"""The shortcuts of the attribute and bias detectors skip work, never a finding: compared with the long way round.

Each shortcut rests on what the families of reasoning and bias need before they can find anything; a new family that
needs less makes a test fail here. The texts are those that the rules were tuned on, alone and in twos and threes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compliance_guardrails.detect import amounts, attributes, bias, matcher, reasoning
from compliance_guardrails.detect.named import Named, named
from compliance_guardrails.detect.prepared import prepare
from compliance_guardrails.detect.reader import read
from compliance_guardrails.detect.rulebook import load_book
from compliance_guardrails.detect.text import view

CORPUS = Path(__file__).parents[1] / "corpus" / "tune"
SENTENCES = [
    json.loads(line)["text"]
    for path in sorted(CORPUS.glob("*.jsonl"))
    for line in path.read_text(encoding="utf-8").splitlines()
]
TEXTS = [
    " ".join(SENTENCES[at : at + size]) for size, step in ((2, 3), (3, 5)) for at in range(0, len(SENTENCES), step)
]


def test_the_next_sentence_is_left_out_only_where_it_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [bias.screen(text) for text in TEXTS]
    monkeypatch.setattr(bias, "_ends_here", lambda *_: False)
    for text, found in zip(TEXTS, quick, strict=True):
        assert bias.screen(text) == found


def test_a_sentence_is_passed_over_only_where_nothing_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [(attributes.find(text), bias.screen(text)) for text in TEXTS + SENTENCES]
    read_in_full = 0

    def everything(*_: object) -> bool:
        nonlocal read_in_full
        read_in_full += 1
        return True

    monkeypatch.setattr(Named, "may_go_on", everything)
    for name in ("may_reason", "may_be_biased"):
        monkeypatch.setattr(Named, name, property(everything))
    monkeypatch.setattr(Named, "common", False)
    monkeypatch.setattr("compliance_guardrails.detect.reader.may_reason", everything)
    monkeypatch.setattr("compliance_guardrails.detect.needs.Needs.may_decide", everything)
    monkeypatch.setattr("compliance_guardrails.detect.bias_frames.foretells", everything)
    for text, found in zip(TEXTS + SENTENCES, quick, strict=True):
        assert (attributes.find(text), bias.screen(text)) == found
    assert read_in_full > len(TEXTS)


def test_most_sentences_of_an_ordinary_letter_that_name_a_group_are_not_read() -> None:
    text = (
        "Les personnes malentendantes disposent d’un accueil. Une femme de ménage doit être déclarée au contrat.\n"
        "L’âge du véhicule compte : celui de plus de 10 ans est indemnisé selon la cote."
    )
    sentences = named(prepare(text), load_book())
    assert len(sentences) == 3
    assert not any(found.may_reason or found.may_be_biased or found.may_go_on(None) for found in sentences)


def test_two_sentences_joined_read_as_the_pair_written_as_one_does() -> None:
    book = load_book()
    compared = 0
    for text in TEXTS[::4]:
        sentences = named(prepare(text), book)
        for at, found in enumerate(sentences):
            after = sentences[at + 1] if at + 1 < len(sentences) else None
            after = after if after is not None and after.sentence.stop == found.sentence.follow else None
            both, whole = found.joined(after), found.sentence.with_next()
            plain = None if whole is None else read(whole, book)
            assert (both is None) == (plain is None)
            if both is not None and plain is not None:
                compared += 1
                assert both.mentions == plain.mentions
                assert both.predicates == plain.predicates
                assert both.marks == plain.marks
                assert (both.persons, both.things, both.inside) == (plain.persons, plain.things, plain.inside)
    assert compared > 100


def test_nothing_reasons_without_a_word_that_reasoning_begins_with() -> None:
    book = load_book()
    passed_over = 0
    for text in SENTENCES:
        for found in named(prepare(text), book):
            reading = found.reading
            if reading is not None and not reading.may_reason:
                passed_over += 1
                reading.may_reason = True
                assert list(reasoning.find(reading)) == []
    assert passed_over > 50


def test_what_is_said_to_the_reader_is_about_no_group() -> None:
    text = "Si vous êtes locataire, prévenez le propriétaire. Conservez les factures d’achat."
    (found,) = named(prepare(text), load_book())
    assert found.to_reader
    assert bias.screen(text).findings == ()
    (found,) = named(prepare("Le voisin est locataire, prévenez le propriétaire."), load_book())
    assert not found.to_reader


@pytest.mark.parametrize("between", [" ", "\n", " - ", "!?) ", "… "])
def test_what_stands_before_a_word_is_left_uncut_only_where_that_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, between: str
) -> None:
    book = load_book()
    texts = [between.join(SENTENCES[at : at + 25]) for at in range(0, len(SENTENCES), 25)]
    texts += [
        f"{'x' * size}{'.' * dots}{between}Une femme. {'.' * size} M. Noir" for size in (190, 400) for dots in (0, 3)
    ]

    def cut() -> list[list[tuple[int, int, int]]]:
        made = ([found.sentence for found in named(prepare(text), book)] for text in texts)
        return [[(one.first, one.stop, one.follow) for one in sentences] for sentences in made]

    quick = cut()
    monkeypatch.setattr(matcher, "AHEAD", 1_000_000)
    assert cut() == quick


def test_entries_are_found_among_the_words_that_a_text_holds_of_the_lists() -> None:
    mentions = load_book().mentions
    for text in TEXTS[::3]:
        words = matcher.raw_words(view(text).compact).split()
        assert mentions.match(words, mentions.keys(words)) == mentions.match(words)


@pytest.mark.parametrize(
    "head", ["", " ", "de ", "l", "l. ", "1 ", "12 ", "12  ", "1.", "3,", "x1 ", "(", "-", "\n", "_"]
)
@pytest.mark.parametrize(
    "digits", ["7", "450", "0450", "1 000", "1,5", "12 345 678", "1" * 14, "1" * 15, "1" * 16, "1" * 40]
)
def test_a_plain_number_begins_where_the_pattern_finds_it(head: str, digits: str) -> None:
    text = f"{head}{digits}"
    match = amounts._NUMBER.search(text, max(0, len(text) - 30))
    assert amounts._start_of_number(text, len(text)) == (match and match.start())
