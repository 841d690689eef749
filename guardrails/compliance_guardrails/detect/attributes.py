"""Reasoning from a protected attribute in a query: which passages flag it for human review.

`find` is pure: text in, flags with spans out, never an exception on any text. The families of reasoning are in
reasoning.py, the word lists in policy/data/rules/attributes.yaml and bias_*.yaml. Questions flag too: it is the
caller's way of reasoning that is looked at, not an answer. A sentence that speaks of the law itself does not flag.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import reasoning, told
from .evidence import AttributeFlag
from .matcher import MAX_ANALYSED, MAX_FINDINGS, PER_SENTENCE
from .named import named
from .polarity import condemned, protective
from .prepared import Prepared, prepare
from .reading import Reading, Reason
from .rulebook import Book, load_book
from .rules_models import Characteristic

_HELPED = frozenset(
    {
        Characteristic.HEALTH, Characteristic.PREGNANCY, Characteristic.DISABILITY, Characteristic.FAMILY_SITUATION,
        Characteristic.LOSS_OF_AUTONOMY, Characteristic.AGE, Characteristic.LANGUAGE, Characteristic.PROPERTY,
        Characteristic.UNION_ACTIVITY,
    }
)  # fmt: skip
"""Characteristics for which an aid or a right may be granted because of them: no flag in such a sentence."""


def find(text: str | Prepared, book: Book | None = None) -> list[AttributeFlag]:
    """The flags of `text`, by position, at most `MAX_FINDINGS`; overlapping flags of one attribute count once.

    `book` None: the rules of the policy folder in use (PolicyError when they are not in order).
    """
    rules = load_book() if book is None else book
    prepared = prepare(text)
    out: list[AttributeFlag] = []
    budget = MAX_ANALYSED
    for found in named(prepared, rules):
        if found.common or not found.may_reason or (reading := found.reading) is None:
            continue
        for reason in accepted(reading):
            start, end = found.sentence.span(reason.start, reason.end)
            grounds = rules.groups[reason.characteristic].grounds
            evidence = prepared.text[start:end]
            out.append(AttributeFlag(reason.rule, reason.characteristic.value, grounds, evidence, start, end))
        budget -= len(found.sentence.words) + PER_SENTENCE
        if budget <= 0 or len(out) >= MAX_FINDINGS:
            break
    return out[:MAX_FINDINGS]


def accepted(reading: Reading) -> Iterator[Reason]:
    """The candidates of a sentence that no context lifts, one for each attribute and overlapping span."""
    if reading.has("legal") or condemned(reading) or protective(reading) or told.norm(reading):
        return
    helped = reading.has("entitled")
    quoted = told.spoken_of(reading)
    taken: dict[Characteristic, list[tuple[int, int]]] = {}
    for reason in sorted(reasoning.found(reading), key=lambda found: (found.start, -found.end)):
        if helped and reason.characteristic in _HELPED:
            continue
        if reason.start in quoted and reason.end - 1 in quoted:
            continue
        spans = taken.setdefault(reason.characteristic, [])
        if any(start < reason.end and reason.start < end for start, end in spans):
            continue
        spans.append((reason.start, reason.end))
        yield reason
