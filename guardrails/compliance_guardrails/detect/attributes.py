"""Reasoning from a protected attribute in a query: which passages flag it for human review.

`find` is pure: text in, flags with spans out, never an exception on any text. The families of reasoning are in
reasoning.py and apart.py, the word lists in policy/data/rules/attributes.yaml and bias_*.yaml. Questions flag too: it
is the caller's way of reasoning that is looked at, not an answer. What lifts a flag is in told.py and lifted.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import apart, lifted, reasoning, told
from .evidence import AttributeFlag
from .matcher import MAX_ANALYSED, MAX_FINDINGS, PER_SENTENCE
from .named import named
from .phrases import Hit
from .polarity import condemned, protective, unfavourable
from .prepared import Prepared, prepare
from .reading import Reading, Reason
from .rulebook import Book, load_book
from .rules_models import Characteristic

DENIED_REACH = 6


def find(text: str | Prepared, book: Book | None = None) -> list[AttributeFlag]:
    """The flags of `text`, by position, at most `MAX_FINDINGS`; overlapping flags of one attribute count once.

    `book` None: the rules of the policy folder in use (PolicyError when they are not in order).
    """
    rules = load_book() if book is None else book
    prepared = prepare(text)
    out: list[AttributeFlag] = []
    budget = MAX_ANALYSED
    for found in named(prepared, rules):
        if found.common:
            continue
        said = found.tells
        if not (said or found.may_reason or apart.may(found.sentence.words, found.verdicts)):
            continue
        if (reading := found.reading) is None:
            continue
        for reason in sorted(accepted(reading, said=said), key=lambda reason: reason.start):
            start, end = found.sentence.span(reason.start, reason.end)
            grounds = rules.groups[reason.characteristic].grounds
            evidence = prepared.text[start:end]
            out.append(AttributeFlag(reason.rule, reason.characteristic.value, grounds, evidence, start, end))
        budget -= len(found.sentence.words) + PER_SENTENCE
        if budget <= 0 or len(out) >= MAX_FINDINGS:
            break
    return out[:MAX_FINDINGS]


def accepted(reading: Reading, *, said: bool) -> Iterator[Reason]:
    """The candidates of a sentence that no context lifts, one for each attribute and overlapping span."""
    if reading.has("legal") or condemned(reading) or protective(reading):
        return
    found = sorted(reasoning.found(reading), key=lambda reason: (reason.start, -reason.end))
    found = [reason for reason in found if lifted.weighs(reading, reason)]
    found += [reason for reason in apart.find(reading, said=said) if not lifted.denied(reading, reason)]
    if not found or told.norm(reading) or lifted.lifts(reading):
        return
    aids = [mark for mark in reading.marks.get("entitled", ()) if not _refused(reading, mark)]
    quoted = told.spoken_of(reading)
    taken: dict[Characteristic, list[tuple[int, int]]] = {}
    for reason in found:
        if lifted.told(reading, reason):
            continue
        if reason.characteristic in told.HELPED and any(_beside(mark, reason) for mark in aids):
            continue
        if reason.start in quoted and reason.end - 1 in quoted:
            continue
        spans = taken.setdefault(reason.characteristic, [])
        if any(start < reason.end and reason.start < end for start, end in spans):
            continue
        spans.append((reason.start, reason.end))
        yield reason


def _refused(reading: Reading, mark: Hit) -> bool:
    """ "Je bloque le remboursement", "sans traduction": the aid is what is refused."""
    before = reading.before(mark.start, DENIED_REACH)
    if before[-1:] == ["sans"] or ("pas" in before and not {"n", "ne"}.isdisjoint(before)):
        return True
    return any(0 <= mark.start - found.end <= 1 and unfavourable(reading, found) for found in reading.predicates)


def _beside(mark: Hit, reason: Reason) -> bool:
    return mark.end <= reason.start or mark.start >= reason.end
