"""What reasons from a protected attribute and what only looks like it, told apart by the build of the sentence.

Each kind of attributes_fr_syntax.jsonl has three sentences that must flag and three that must not: a heading, a
relative clause, a condition, a fact of life, a burden forbidden, somebody else's words; attributes_fr_insurer.jsonl has
sentences of an insurer's day. The rules behind them are in apart.py, verdicts.py, told.py and lifted.py.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from compliance_guardrails.detect import apart, attributes, reasoning
from compliance_guardrails.detect.named import named
from compliance_guardrails.detect.prepared import prepare
from compliance_guardrails.detect.rulebook import load_book

SYNTAX = Path(__file__).parents[1] / "corpus" / "tune" / "attributes_fr_syntax.jsonl"


@pytest.mark.corpus("attributes_fr_syntax.jsonl")
def test_each_kind_is_told_from_its_look_alike(row: dict) -> None:
    assert bool(attributes.find(row["text"])) is bool(row["label"])


@pytest.mark.corpus("attributes_fr_insurer.jsonl")
def test_the_sentences_of_an_insurers_day_are_told_apart_but_for_those_still_open(row: dict) -> None:
    """`open` rows are wrong today: one that comes right fails here until its mark is taken off."""
    assert (bool(attributes.find(row["text"])) is bool(row["label"])) is ("open" not in row)


def test_each_kind_has_three_sentences_of_either_sort() -> None:
    kinds = Counter(json.loads(line)["id"].rsplit("-", 1)[0] for line in SYNTAX.read_text("utf-8").splitlines())
    assert len(kinds) == 46
    assert set(kinds.values()) == {3}


def test_what_is_set_apart_is_reasoning_of_a_query_only() -> None:
    (sentence,) = named(prepare("Locataire gitan : dossier à refuser."), load_book())
    assert sentence.reading is not None
    assert reasoning.found(sentence.reading) == []
    assert {reason.rule for reason in apart.find(sentence.reading)} == {"consequence"}


def test_the_flag_spans_what_somebody_is_and_what_is_decided() -> None:
    text = "Bonjour. Si le locataire est africain, refusez le dossier."
    (flag,) = attributes.find(text)
    assert text[flag.start : flag.end] == flag.text == "africain, refusez"
    assert flag.attribute == "ethnic_origin"


@pytest.mark.parametrize(
    "text",
    [
        "Refus, " * 4000 + "gitan",
        "ne le " * 4000 + ", gitan, ne",
        "qui est gitan, " * 4000,
        "parce qu’il est gitan selon dit que " * 2000,
        "sûrement, ne peut pas, " * 3000 + "gitan",
    ],
)
def test_hostile_repetition_ends(text: str) -> None:
    assert len(attributes.find(text)) <= 200
