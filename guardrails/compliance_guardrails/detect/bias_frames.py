"""Forms of biased statement that need no listed predicate: orders, refusals, laws about a whole group.

An order about a group ("mutez-la", "pas de prêt pour eux"), a negated verb with a group for subject ("n'achètent
jamais"), an absolute about it ("toujours", "tous"), a norm ("devraient"), an exclusive ("seuls les"). Harmless verbs are
a list of bias_predicates.yaml. The caller has seen to it that no context lifts the sentence. Serves SPEC 2.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .phrases import Hit
from .reading import COPULAS, PUNCTUATION, Reading
from .rulebook import Mention
from .rules_models import Characteristic

ORDER_REACH = 30
SUBJECT_REACH = 12
_ABSOLUTES = frozenset(
    "toujours jamais tous toutes forcement surement certainement evidemment rarement systematiquement "
    "immanquablement trop always never all only simply surely obviously too".split()
)
_NOTHING = frozenset("pas jamais rien guere plus aucun aucune nul nulle que not never nothing".split())
_NORMS = frozenset("devrait devraient should ought".split())
_SELF = frozenset("je j nous on i we".split())
_ENGLISH_ORDERS = frozenset("don never do".split())
_PLAIN_VERBS = PUNCTUATION | COPULAS | frozenset(
    "peuvent doivent ont beneficient recoivent auront pourront devront de du des d qui dont et ou can must may have "
    "get receive who with in of and or a au aux en sans avec".split()
)
_CLAUSE_STARTS = frozenset({",", ";", ":", ".", "!", "?", "et", "donc", "so", "and", "alors", "then", "just", "please", "better", '"', "("})
_ENGLISH = frozenset("the is are was of and to his her their with for so they him them who that has have".split())
_KIND_WHEN_DENIED = frozenset("oubliez hesitez manquez negligez".split())


class Statement(NamedTuple):
    """One biased passage as tokens, with its characteristic, its family and the rule that saw it."""

    characteristic: Characteristic
    family: str
    start: int
    end: int
    rule: str
    group: tuple[int, int] = (-1, -1)


def find(
    reading: Reading, groups: list[Hit[Mention]], owned: list[Hit[Mention]], *, reported: bool
) -> Iterator[Statement]:
    """The statements of a sentence by form alone; `reported` leaves out what only ascribes a trait.

    `groups` are mentions of people, `owned` attributes of somebody that an order may be held against.
    """
    targets = groups + owned
    for at, end in _orders(reading):
        for group in targets:
            if abs(group.start - at) <= ORDER_REACH:
                yield _statement(group, at, end, "exclusion", "order")
    for at, end in _refusals(reading):
        if at in reading.quoted:
            continue
        for group in targets:
            if abs(group.start - at) <= ORDER_REACH:
                yield _statement(group, at, end, "exclusion", "refusal")
    if reported:
        return
    for group in groups:
        if not subject(reading, group):
            continue
        if _every(reading, group):
            yield _statement(group, group.start, min(group.end + 1, len(reading.words)), "stereotype", "frame")
        for at, end, family in _of_subject(reading, group):
            yield _statement(group, at, end, family, "frame")


def _statement(group: Hit[Mention], at: int, end: int, family: str, rule: str) -> Statement:
    first, last = min(at, group.start), max(end, group.end)
    return Statement(group.value.characteristic, family, first, last, rule, (group.start, group.end))


def subject(reading: Reading, group: Hit[Mention]) -> bool:
    """True when the group is spoken of in general and heads its part of the sentence."""
    if group.value.kind not in {"people", "qualities", "loose_qualities"}:
        return False
    words = reading.words
    at = group.start - 1
    while at >= 0 and words[at] in {"les", "des", "ces", "un", "une", "tous", "toutes", "la", "le", "l", "ce", "cette", "cet",
                                    "the", "a", "an", "all", "tout", "toute", "vieux", "jeunes", "personnes", "gens", "most"}:  # fmt: skip
        at -= 1
    if at >= 0 and words[at] not in PUNCTUATION | {"et", "ou", "car", "que", "qu", "puisque", "and", "because", "or", "mais"}:
        return False
    return True


def _every(reading: Reading, group: Hit[Mention]) -> bool:
    """ "Tous les …" followed by what they are all said to do, unless that is a right, a duty or a passive."""
    words = reading.words
    head = words[max(0, group.start - 2) : group.start + 1]
    verb = words[group.end : group.end + 1]
    return any(word in {"tous", "toutes", "all"} for word in head) and bool(verb) and verb[0] not in _PLAIN_VERBS


def _orders(reading: Reading) -> Iterator[tuple[int, int]]:
    """Orders: a French imperative not listed as harmless (or denied), an English verb at the head of a clause."""
    words = reading.words
    harmless = {at for hit in reading.marks.get("benign_verbs", ()) for at in range(hit.start, hit.end)}
    for at, word in enumerate(words):
        if len(word) > 4 and word.endswith("ez") and not _addressed(words, at):
            if at not in harmless or (_denied(words, at) and word not in _KIND_WHEN_DENIED):
                yield at, at + 1
        elif word in _ENGLISH_ORDERS and words[at + 1 : at + 2] in (["t"], ["not"]) and _head(words, at):
            yield at, min(at + 3, len(words))
    if not _ENGLISH.isdisjoint(words):
        for hit in reading.marks.get("english_orders", ()):
            if _head(words, hit.start):
                yield hit.start, hit.end


def _denied(words: list[str], at: int) -> bool:
    """ "ne le formez pas": the order is not to do it."""
    return any(word in {"ne", "n"} for word in words[max(0, at - 3) : at]) and words[at + 1 : at + 2] == ["pas"]


def _addressed(words: list[str], at: int) -> bool:
    """True when "vous" is the subject: a statement or a question, not an order."""
    return any(word == "vous" for word in words[max(0, at - 4) : at]) or words[at + 1 : at + 2] == ["vous"]


def _head(words: list[str], at: int) -> bool:
    return at == 0 or words[at - 1] in _CLAUSE_STARTS


def _refusals(reading: Reading) -> Iterator[tuple[int, int]]:
    """ "Pas de promotion pour …", "aucun rendez-vous pour …", "no loans for …" at the head of a clause."""
    words = reading.words
    for at, word in enumerate(words):
        if not _head(words, at):
            continue
        if word in {"pas", "plus"} and words[at + 1 : at + 2] in (["de"], ["d"], ["question"], ["un"], ["une"]):
            yield at, at + 3
        elif word in {"aucun", "aucune"} and any(w in {"pour", "aux", "a"} for w in words[at + 2 : at + 6]):
            yield at, at + 2
        elif word == "no" and "for" in words[at + 1 : at + 6]:
            yield at, at + 2
        elif word in {"seul", "seuls", "seule", "seules", "only"} and at + 1 < len(words):
            yield at, at + 1


def _of_subject(reading: Reading, group: Hit[Mention]) -> Iterator[tuple[int, int, str]]:
    """What a group in the subject place is said to be, never to do, or to have to do."""
    words = reading.words
    last = min(len(words), group.end + SUBJECT_REACH)
    for at in range(group.end, last):
        word = words[at]
        if word in {";", ".", "!", "?"}:
            return
        if word in _NORMS:
            yield at, at + 1, "exclusion"
        elif word in _ABSOLUTES and (at > group.end or word in {"always", "never", "all", "only"}):
            yield at, at + 1, "stereotype"
        elif word in {"ne", "n"} and not _legal_negation(words, at) and not _blames(reading, at):
            for then in range(at + 1, min(at + 5, len(words))):
                if words[then] in _NOTHING:
                    yield at, then + 1, "stereotype"
                    break
        elif word in {"don", "doesn", "can", "cannot", "won", "not"} and words[at + 1 : at + 2] in (["t"], ["not"]):
            yield at, at + 2, "stereotype"


def _blames(reading: Reading, at: int) -> bool:
    """An unfavourable word soon after the negation: what is denied is the prejudice."""
    return any(at < hit.start <= at + 6 and hit.value.polarity == "negative" for hit in reading.predicates)


def _legal_negation(words: list[str], at: int) -> bool:
    """ "ne sont pas exclus", "ne peuvent être refusés": a negation that protects or states a rule."""
    verb = words[at + 1 : at + 2]
    if not verb:
        return True
    if verb[0] in COPULAS:
        return not any(word in {"un", "une", "des", "le", "la", "les", "de"} for word in words[at + 3 : at + 4])
    return verb[0] in {"peut", "peuvent", "doit", "doivent", "saurait", "sauraient"}
