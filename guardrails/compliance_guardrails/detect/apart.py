"""What somebody is, set apart from what a query makes of it, without a connector between the two.

Two sources, candidates only. What the bias screen finds of people in an answer counts in a query too (bias_logic.py).
And a sentence may part a premise ("conducteur roumain", "si elle est voilée", "c’est un gitan") from a verdict: a
decision, an order, a refusal foretold, a guess, a suspicion. Vetoes are in attributes.py and lifted.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import bias_logic
from .persons import SAID, names_group, said_of_person
from .phrases import Hit
from .polarity import unfavourable
from .reading import NE, PUNCTUATION, Reading, Reason, Statement
from .rulebook import Mention, Predicate
from .rules_models import Characteristic
from .told import FACTS, OF_LIFE
from .verdicts import BURDENS, DOUBT, GUESS, JOINS, MUST, NEVER, THEY, foretold, their_own, verdict

REACH = 10
HEAD_REACH = 6
_CUTS = JOINS | PUNCTUATION
_ADDRESSED = frozenset({"je", "j", "vous", "tu", "t", "me", "m", "mon", "ma", "nous"})
_IF = frozenset({"si", "s", "quand", "lorsque", "lorsqu"})
_SUBJECTS = frozenset({
    "le", "la", "l", "les", "un", "une", "des", "il", "elle", "ils", "elles", "on", "nous", "vous", "je", "son", "sa",
    "ses", "votre", "vos", "mon", "ma", "ce", "cette", "c", "ces", "en", "dans", "a", "pour", "si",
})  # fmt: skip
_ASKING = frozenset({"pourquoi", "comment", "combien", "doit", "dois", "faut", "peut", "puis", "quelle", "est", "n"})
_RISKY = frozenset({"excuse", "pretexte", "risque", "raisonnable", "prudent", "imprudent", "dangereux"})
_TRUST = frozenset({
    "croire", "confiance", "craindre", "redouter", "fier", "exiger", "demander", "facturer", "reclamer", "enlever",
})  # fmt: skip
_WORTH = frozenset({"credible", "credibles", "fiable", "fiables", "apte", "aptes", "capable", "honnete", "toujours"})
_OF_BODY = FACTS | {Characteristic.AGE}
_SIGNALS = _RISKY | GUESS | DOUBT | BURDENS | _WORTH | {"non"}


def may(words: Sequence[str], verdicts: Sequence[Hit]) -> bool:
    """False when no verdict stands in a sentence: a quick look before it is read."""
    if not _SIGNALS.isdisjoint(words):
        return True
    if words[0] in _ASKING and not _TRUST.isdisjoint(words):
        return True
    if words[0] in {"etre", "avoir", "pourquoi"}:
        return True
    if JOINS.isdisjoint(words) and words[0] not in _ASKING:
        return False
    negated = not NEVER.isdisjoint(words)
    if negated and any(word in NE and foretold(words, at) for at, word in enumerate(words)):
        return True
    return any(type(value) is Predicate and (negated or value.polarity == "negative") for _, _, value in verdicts)


def find(reading: Reading, *, said: bool = True) -> Iterator[Reason]:
    """All candidates of a sentence; they may overlap. `said` False: the bias screen has nothing to find here."""
    if said:
        yield from _claimed(reading)
    if not may(reading.words, reading.predicates):
        return
    led = _led(reading)
    cuts: list[int] | None = None
    for hit in reading.telling:
        if hit.value.ignored or hit.start in led:
            continue
        span = None
        if reading.sentence.is_question and hit.value.kind in SAID and _asked(reading, hit):
            span = 0, hit.end
        elif _sufficient(reading, hit):
            span = 0, hit.end + 1
        elif not reading.sentence.is_question or reading.words[-2:] == ["non", "?"]:
            cuts = cuts or [at for at, word in enumerate(reading.words) if word in _CUTS]
            span = _judged(reading, hit, cuts) if cuts else None
        if span is not None:
            yield Reason("consequence", hit.value.characteristic, min(hit.start, span[0]), max(hit.end, span[1]))


def _claimed(reading: Reading) -> Iterator[Reason]:
    """What the bias screen finds of people here; what a connector leads is for reasoning.py to say."""
    statements = bias_logic.found(reading)
    if not statements:
        return
    people = {hit[:2]: hit for hit in reading.telling if hit.value.kind in SAID}
    led = _led(reading)
    for said in statements:
        hit = people.get(said.group) if said.rule != "reasoned" else None
        if hit is None or _of_thing(reading, hit):
            continue
        if hit.start in led or _theirs(reading, said):
            continue
        if said.rule in {"order", "advice"} and not _against(reading, hit, said):
            continue
        del people[said.group]  # one is enough
        yield Reason("consequence", said.characteristic, said.start, said.end)


def _led(reading: Reading) -> set[int]:
    """The tokens after a connector of cause."""
    marks = [*reading.marks.get("clause_connectors", ()), *reading.marks.get("noun_connectors", ())]
    return {at for mark in marks for at in range(mark.start + 1, mark.end + REACH + 1)}


def _against(reading: Reading, hit: Hit[Mention], said: Statement) -> bool:
    """False for orders and advice that may be kind: about a fact of life, or not parted from the group nor denied."""
    span = reading.words[said.start : said.end]
    denied = not {"ne", "n"}.isdisjoint(span)
    if hit.value.characteristic in OF_LIFE:
        return denied and said.rule == "advice"
    return denied or said.rule == "advice" or not PUNCTUATION.isdisjoint(span)


def _of_thing(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "La voiture étant trop vieille", "les pièces allemandes": no person stands before what also qualifies things."""
    if hit.value.kind not in {"loose_qualities", "phrases"} or not reading.persons.isdisjoint(range(hit.start)):
        return False
    named = not (reading.things | reading.abstract).isdisjoint(range(min(hit.start, HEAD_REACH)))
    return named and THEY.isdisjoint(reading.words[: hit.start])


def _theirs(reading: Reading, said: Statement) -> bool:
    """ "Il est musulman, il décline", "doivent se méfier": what people decide for themselves."""
    return said.family != "stereotype" and any(
        found.end == said.end and (their_own(reading, found.start) or "se" in reading.words[found.start : found.end])
        for found in reading.predicates
    )


def _judged(reading: Reading, hit: Hit[Mention], cuts: list[int]) -> tuple[int, int] | None:
    """Where the verdict stands that is parted from what somebody is."""
    own, others = _parts(cuts, len(reading.words), hit)
    for first, last in others:
        span = verdict(reading, hit.value.characteristic, first, last)
        if span is not None and _premise(reading, hit, own):
            return span
    return None


def _parts(cuts: list[int], size: int, hit: Hit[Mention]) -> tuple[int, list[tuple[int, int]]]:
    """Where the part of the mention begins, and the parts before and after it, within reach."""
    own, others = 0, []
    for first, last in zip([0, *(at + 1 for at in cuts)], [*cuts, size], strict=True):
        if first <= hit.start:
            own = first
        if first < last and (hit.start - REACH < last <= hit.start or hit.end <= first < hit.end + REACH):
            others.append((first, last))
    return own, others


def _premise(reading: Reading, hit: Hit[Mention], own: int) -> bool:
    """True for what somebody is: a heading, an apposition, a statement, a condition, "par son âge"."""
    lead = reading.before(hit.start, REACH)
    if not _IF.isdisjoint(lead):
        return hit.value.characteristic not in OF_LIFE and _ADDRESSED.isdisjoint(lead)
    if hit.value.kind not in SAID:
        return hit.start < HEAD_REACH and reading.possessed(hit.start + 1) and not reading.has("gap_vetoes")
    return _heads(reading, hit) or said_of_person(reading, hit, own) or names_group(reading, hit)


def _heads(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Conducteur roumain", "Encore un Albanais": a noun phrase without article of its own opens the sentence."""
    words, grammar = reading.words, reading.grammar
    first = 2 if words[0] == "encore" and reading.word(1) in {"un", "une"} else 0
    head = words[first : hit.end]
    if hit.end > HEAD_REACH or words[first] in _SUBJECTS:
        return False
    return all(kept.isdisjoint(head) for kept in (_SUBJECTS, grammar.copulas, grammar.pronouns, PUNCTUATION))


def _sufficient(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Être handicapé suffit à …": what somebody is, in the infinitive, before a verb of cause or duty."""
    causes = any(mark.start == hit.end for mark in reading.marks.get("causal_verbs", ()))
    return hit.start < 3 and reading.words[0] in {"etre", "avoir"} and (causes or reading.word(hit.end) in MUST)


def _asked(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Comment refuser une candidate voilée ?", "faut-il croire un gitan ?": what to do with one of a group."""
    words, start = reading.words, hit.start
    lead = words[:start]
    named = names_group(reading, hit) or reading.person_before(start) or hit.value.kind == "phrases"
    if not (named or lead[-1:] == ["cette"]) or start > REACH + 4 or not _ADDRESSED.isdisjoint(lead):
        return False
    if start < 4 and not _WORTH.isdisjoint(words[hit.end :]):
        return not THEY.isdisjoint(words[hit.end : hit.end + 4])
    if not _RISKY.isdisjoint(lead[:HEAD_REACH]):
        return True
    if hit.value.characteristic in _OF_BODY or words[0] not in _ASKING:
        return False
    decided = words[0] == "pourquoi" and words[1].endswith(("er", "ir", "re"))
    decided = decided or any(found.start < start and unfavourable(reading, found) for found in reading.predicates)
    return decided or not _TRUST.isdisjoint(lead)
