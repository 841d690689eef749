"""Forms of biased statement that need no listed predicate: orders, refusals, laws about a whole group.

An order about a group ("mutez-la", "pas de prêt pour eux"), a negated verb with a group for subject ("n’achètent
jamais"), an absolute about it ("toujours", "tous"), a norm ("devraient"), an exclusive ("seuls les"). Harmless verbs
are a list of bias_predicates.yaml. The caller has seen to it that no context lifts the sentence. Serves SPEC 2.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from .phrases import Hit
from .reading import PUNCTUATION, Reading, Statement
from .rulebook import Mention
from .rules_models import Characteristic

ORDER_REACH = 30
SUBJECT_REACH = 12
BLAME_REACH = 6
_OF_PEOPLE = frozenset({"people", "qualities", "loose_qualities"})
_PEOPLES = frozenset(
    {
        Characteristic.RACE, Characteristic.COLOUR, Characteristic.ETHNIC_ORIGIN, Characteristic.SOCIAL_ORIGIN,
        Characteristic.RELIGION, Characteristic.POLITICAL_OPINION, Characteristic.NATIONAL_MINORITY,
        Characteristic.NATIONALITY, Characteristic.PLACE_OF_RESIDENCE, Characteristic.SEXUAL_ORIENTATION,
        Characteristic.GENDER_IDENTITY, Characteristic.MORALS, Characteristic.PROPERTY,
    }
)  # fmt: skip
_ENDS = frozenset(";.!?")


def find(
    reading: Reading, groups: list[Hit[Mention]], owned: list[Hit[Mention]], *, reported: bool
) -> Iterator[Statement]:
    """The statements of a sentence by form alone; `reported` leaves out what only ascribes a trait.

    `groups` are mentions of people, `owned` attributes of somebody that an order may be held against.
    """
    for at, end in _orders(reading):
        for group in groups + owned:
            if abs(group.start - at) <= ORDER_REACH:
                yield _statement(group, at, end, "exclusion", "order")
    for at, end in [*_refusals(reading), *_jussive(reading)]:
        for group in groups + owned:
            if at not in reading.quoted and abs(group.start - at) <= ORDER_REACH:
                yield _statement(group, at, end, "exclusion", "refusal")
    if reported:
        return
    for group in groups:
        if not _subject(reading, group):
            continue
        if _every(reading, group) or _judged(reading, group) or _habit(reading, group):
            yield _statement(group, group.start, group.end, "stereotype", "frame")
        for at, end, family in _of_subject(reading, group):
            yield _statement(group, at, end, family, "frame")


def _statement(group: Hit[Mention], at: int, end: int, family: str, rule: str) -> Statement:
    first, last = min(at, group.start), max(end, group.end)
    return Statement(group.value.characteristic, family, first, last, rule, (group.start, group.end))


def _subject(reading: Reading, group: Hit[Mention]) -> bool:
    """True when the group heads its part of the sentence."""
    if group.value.kind not in _OF_PEOPLE:
        return False
    at = group.start - 1
    while reading.word(at) in reading.grammar.subject_openers:
        at -= 1
    lead = reading.word(at)
    return not lead or lead in PUNCTUATION or lead in reading.grammar.subject_links


def _every(reading: Reading, group: Hit[Mention]) -> bool:
    """ "Tous les …" followed by what they are all said to do, unless that is a right, a duty or a passive."""
    head = reading.words[max(0, group.start - 2) : group.start + 1]
    if {"tous", "toutes", "all"}.isdisjoint(head):
        return False
    verb, grammar = reading.word(group.end), reading.grammar
    plain = not verb or verb in PUNCTUATION or verb in grammar.copulas or verb in grammar.rights_and_duties
    return not plain


def _jussive(reading: Reading) -> Iterator[tuple[int, int]]:
    """ "Que les royalistes aillent ailleurs", "attention aux jeunes mariées": a wish, an order, a warning."""
    for at, word in enumerate(reading.words[:1]):
        if word in {"que", "qu"} and not reading.sentence.is_question:
            yield at, at + 1
    for at, word in enumerate(reading.words):
        if word == "attention" and reading.word(at + 1) in {"aux", "a"} and _head(reading, at):
            yield at, at + 2


def _habit(reading: Reading, group: Hit[Mention]) -> bool:
    """ "Les Roumains revendent …": what a whole people or milieu is said to do, unless it is an everyday verb."""
    verb = reading.word(group.end)
    if group.value.characteristic not in _PEOPLES or not verb.endswith("ent") or len(verb) < 5:
        return False
    head = {reading.word(group.start), reading.word(group.start - 1)}
    return "les" in head and verb not in reading.grammar.neutral_plural_verbs


def _judged(reading: Reading, group: Hit[Mention]) -> bool:
    """ "Un délégué malade, c’est du cinéma": a group set apart, then a verdict; "aucun étranger ne …"."""
    words, grammar = reading.words, reading.grammar
    head = reading.word(group.start) if reading.word(group.start) in grammar.nobody else reading.word(group.start - 1)
    if head in grammar.nobody:
        return not {"ne", "n", "should", "can", "will", "is"}.isdisjoint(words[group.end : group.end + 4])
    for at in range(group.end, min(len(words), group.end + SUBJECT_REACH)):
        if words[at] == "," and words[at + 1 : at + 3] in (["c", "est"], ["ce", "n"]):
            return True
        if words[at] in _ENDS:
            return False
    return False


def _orders(reading: Reading) -> Iterator[tuple[int, int]]:
    """Orders: a French imperative not listed as harmless (or denied), an English verb at the head of a clause."""
    words, grammar = reading.words, reading.grammar
    harmless = {at for hit in reading.marks.get("benign_verbs", ()) for at in range(hit.start, hit.end)}
    for at, word in enumerate(words):
        if len(word) > 4 and word.endswith("ez"):
            denied = _denied(reading, at) and word not in grammar.harmless_when_denied
            if (at not in harmless or denied) and not _addressed(reading, at):
                yield at, at + 1
        elif word in {"don", "do", "never"} and reading.word(at + 1) in {"t", "not"} and _head(reading, at):
            yield at, min(at + 3, len(words))
        elif word == "pas" and _advised_against(reading, at):
            yield at - 1, at + 2
    if not grammar.english.isdisjoint(words):
        for hit in reading.marks.get("english_orders", ()):
            if _head(reading, hit.start):
                yield hit.start, hit.end


def _advised_against(reading: Reading, at: int) -> bool:
    """ "il convient de ne pas embaucher": an infinitive denied, unless it is itself unfavourable or a mere purpose."""
    verb = reading.word(at + 1)
    if reading.word(at - 1) != "ne" or not verb.endswith(("er", "ir", "re")) or verb in reading.grammar.copulas:
        return False
    if reading.word(at - 2) == "pour" or any(
        hit.start == at + 1 and hit.value.polarity == "negative" for hit in reading.predicates
    ):
        return False
    lead = reading.words[max(0, at - 6) : at - 1]
    return not reading.grammar.advice.isdisjoint(lead)


def _denied(reading: Reading, at: int) -> bool:
    """ "ne le formez pas": the order is not to do it."""
    before = reading.words[max(0, at - 3) : at]
    return reading.word(at + 1) == "pas" and not {"ne", "n"}.isdisjoint(before)


def _addressed(reading: Reading, at: int) -> bool:
    """True when "vous" is the subject: a statement or a question, not an order."""
    return "vous" in reading.words[max(0, at - 4) : at] or reading.word(at + 1) == "vous"


def _head(reading: Reading, at: int) -> bool:
    lead = reading.word(at - 1)
    return not lead or lead in PUNCTUATION or lead in reading.grammar.clause_openers


def _refusals(reading: Reading) -> Iterator[tuple[int, int]]:
    """ "Pas de promotion pour …", "aucun délai pour …", "no loans for …", "seuls les …" at the head of a clause."""
    words = reading.words
    for at, word in enumerate(words):
        ahead = words[at + 1 : at + 6]
        if word in {"pas", "plus"}:
            refused = ahead[:1] in (["de"], ["d"], ["question"], ["un"], ["une"])
        elif word in {"aucun", "aucune"}:
            refused = not {"pour", "aux"}.isdisjoint(ahead[1:])
        elif word == "no":
            refused = "for" in ahead
        else:
            refused = word in reading.grammar.alone and bool(ahead)
        if refused and _head(reading, at):
            yield at, min(at + 2, len(words))


def _of_subject(reading: Reading, group: Hit[Mention]) -> Iterator[tuple[int, int, str]]:
    """What a group in the subject place is said to be, never to do, or to have to do."""
    words, grammar = reading.words, reading.grammar
    for at in range(group.end, min(len(words), group.end + SUBJECT_REACH)):
        word = words[at]
        if word in _ENDS:
            return
        if word in grammar.norms:
            yield at, at + 1, "exclusion"
        elif word in grammar.absolutes and (at > group.end or word in {"always", "never", "all", "only"}):
            yield at, at + 1, "stereotype"
        elif word in {"ne", "n"}:
            end = _denial(reading, at)
            if end is not None:
                yield at, end, "stereotype"
        elif word in grammar.deniers and reading.word(at + 1) in {"t", "not"}:
            yield at, at + 2, "stereotype"


def _denial(reading: Reading, at: int) -> int | None:
    """The end of "ne … pas / jamais / rien" when it denies something to the group, not a prejudice or a refusal."""
    if _legal(reading, at) or any(
        at < hit.start <= at + BLAME_REACH and hit.value.polarity == "negative" for hit in reading.predicates
    ):
        return None
    for then in range(at + 1, min(at + 5, len(reading.words))):
        if reading.words[then] in reading.grammar.nothing:
            return then + 1
    return None


def _legal(reading: Reading, at: int) -> bool:
    """ "ne sont pas exclus", "ne peuvent être refusés": a negation that protects or states a rule."""
    verb = reading.word(at + 1)
    if verb in reading.grammar.copulas:
        return reading.word(at + 3) not in {"un", "une", "des", "le", "la", "les", "de"}
    return not verb or verb in {"peut", "peuvent", "doit", "doivent", "saurait", "sauraient"}
