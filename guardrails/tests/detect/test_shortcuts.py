"""The shortcuts of the attribute and bias detectors skip work, never a finding: compared with the long way round.

Each shortcut rests on what the families of reasoning and bias need before they can find anything; a new family that
needs less makes a test fail here. The texts are those that the rules were tuned on, alone and in twos and threes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compliance_guardrails.detect import attributes, bias, reasoning
from compliance_guardrails.detect.named import Named, named
from compliance_guardrails.detect.prepared import prepare
from compliance_guardrails.detect.reader import read
from compliance_guardrails.detect.rulebook import load_book

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
