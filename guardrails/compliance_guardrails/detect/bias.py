"""The bias screen of an answer: findings by characteristic, weighed by domain, in exact decimals.

`screen` is pure: text in, typed findings with spans out. The statements come from bias_logic.py, words and profiles
from policy/data/rules/bias_*.yaml. Findings of one characteristic whose spans overlap count once: the graver one is
kept, at equal gravity the longer, at equal length the earlier. Warning or blocking is carried out by the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import chain

from . import bias_logic, reasoning
from .bias_targets import taken_up, targets
from .evidence import BiasDetectedError, BiasEvidence, BiasScreen, Severity
from .matcher import MAX_ANALYSED, MAX_FINDINGS, PER_SENTENCE, Sentence
from .named import Named, named
from .polarity import condemned
from .prepared import Prepared, prepare
from .reading import PUNCTUATION, Reading, Statement
from .rulebook import Book, load_book
from .rules_models import Characteristic, Domain

__all__ = ["BiasDetectedError", "BiasEvidence", "BiasScreen", "coverage_by_ground", "enforce", "screen"]

ZERO = Decimal(0)
ONE = Decimal(1)


def screen(
    text: str | Prepared,
    domain: str | None = "insurance",
    threshold: Decimal | None = None,
    book: Book | None = None,
) -> BiasScreen:
    """The findings of `text` under the profile `domain` (None: the default of the policy).

    `threshold` overrides that of the profile and must lie in [0, 1]. Raises ValueError (one French line) for an
    unknown domain or a threshold out of range; never for the text.
    """
    rules = load_book() if book is None else book
    profile = _profile(rules, domain)
    limit = profile.threshold if threshold is None else _checked(threshold)
    found = _findings(prepare(text), rules, profile)
    capped = len(found) > MAX_FINDINGS
    findings = tuple(found[:MAX_FINDINGS])
    total = sum((finding.score for finding in findings), ZERO)
    return BiasScreen(profile.id, findings, total, limit, total > limit, capped)


def enforce(result: BiasScreen) -> BiasScreen:
    """`result` itself, or BiasDetectedError when it acts: the step for `action: block`."""
    if result.acts:
        raise BiasDetectedError(result.findings, result.total, result.threshold, result.domain)
    return result


def coverage_by_ground(book: Book | None = None) -> Mapping[str, tuple[str, ...]]:
    """Ground of Code pénal 225-1 → the characteristics that have patterns for it, both by name."""
    rules = load_book() if book is None else book
    out: dict[str, list[str]] = {}
    for characteristic, group in rules.groups.items():
        for ground in group.grounds:
            out.setdefault(ground, []).append(characteristic.value)
    return {ground: tuple(sorted(names)) for ground, names in sorted(out.items())}


def _profile(book: Book, domain: str | None) -> Domain:
    profile = book.domains.get(book.default_domain if domain is None else domain)
    if profile is None:
        raise ValueError(f"domaine de biais inconnu : attendu l’un de {', '.join(book.domains)}")
    return profile


def _checked(threshold: Decimal) -> Decimal:
    value = Decimal(str(threshold)) if isinstance(threshold, (int, float)) else threshold
    if not value.is_finite() or not 0 <= value <= 1:
        raise ValueError("seuil de biais : attendu un nombre de 0 à 1")
    return value


def _findings(prepared: Prepared, book: Book, profile: Domain) -> list[BiasEvidence]:
    kept: list[BiasEvidence] = []
    budget = MAX_ANALYSED
    judged = -1
    for found, after in _with_next(named(prepared, book)):
        if found.faint or (after is None and found.to_reader):
            continue
        again = judged == found.sentence.stop and all(taken_up(found.sentence.words, hit) for hit in found.mentions)
        judged = found.sentence.follow
        if again:
            continue  # "… Ces gens-là …": looked at with the sentence before it
        followed = found.may_go_on(after)
        said = followed or found.may_be_biased
        if not (said or found.may_reason) or (reading := found.reading) is None or not reading.mentions:
            continue
        if not said and not reasoning.found(reading):
            continue
        whole, statements = _statements(found, reading, after, book, followed=followed)
        for statement in _distinct(statements, book) if statements else ():
            start, end = whole.span(statement.start, statement.end)
            severity = severity_of(book, statement)
            score = book.weights[severity] * profile.multipliers.get(statement.characteristic, ONE)
            name = statement.characteristic.value
            evidence = prepared.text[start:end]
            kept.append(BiasEvidence(name, severity, evidence, score, start, end, statement.rule))
        budget -= len(whole.words) + PER_SENTENCE
        if budget <= 0 or len(kept) > MAX_FINDINGS:
            break
    return sorted(kept, key=lambda finding: (finding.start, finding.end, finding.characteristic))


def _with_next(sentences: list[Named]) -> Iterator[tuple[Named, Named | None]]:
    """Each sentence, with the next of the text where that one names a group too."""
    for at, found in enumerate(sentences, 1):
        after = sentences[at] if at < len(sentences) else None
        yield found, after if after is not None and after.sentence.stop == found.sentence.follow else None


def _statements(
    found: Named, reading: Reading, after: Named | None, book: Book, *, followed: bool
) -> tuple[Sentence, list[Statement]]:
    """The statements of a sentence; when it has none, those that the next sentence makes about its group.

    `after`: the next sentence, where it names a group itself.
    """
    statements = bias_logic.found(reading)
    if not followed or statements or condemned(reading) or (after is None and _ends_here(reading, book)):
        return reading.sentence, statements
    both = found.joined(after)
    if both is None or both.sentence.split is None:
        return reading.sentence, statements
    split = both.sentence.split
    return both.sentence, [found for found in bias_logic.find(both, after=split) if found.start < split]


def _ends_here(reading: Reading, book: Book) -> bool:
    """True when the next sentence, which names no group, cannot be about this one: nothing here that it could be about.

    Unless it takes up what was named ("ces gens-là") or may hold a name that no list knows.
    """
    sentence = reading.sentence
    if sentence.words[-1] not in PUNCTUATION:
        return False
    about = targets(reading)
    if about.groups or about.owned or about.loose:
        return False
    return book.anaphora.isdisjoint(sentence.next_words) and not sentence.next_may_name


def severity_of(book: Book, statement: Statement) -> Severity:
    """The severity of a statement: that of its family in the table of its characteristic."""
    return getattr(book.groups[statement.characteristic].severity, statement.family)


def _distinct(statements: list[Statement], book: Book) -> list[Statement]:
    """One statement for each characteristic and overlapping span: the gravest, then longest, then first."""
    best: dict[Characteristic, list[Statement]] = {}
    order = sorted(statements, key=lambda found: (-severity_of(book, found).rank, found.start - found.end, found.start))
    for statement in order:
        taken = best.setdefault(statement.characteristic, [])
        if not any(other.start < statement.end and statement.start < other.end for other in taken):
            taken.append(statement)
    return list(chain.from_iterable(best.values()))
