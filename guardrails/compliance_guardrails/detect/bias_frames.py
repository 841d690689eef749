"""Forms of biased statement that need no listed predicate: orders, refusals, advice, what is said of a whole group.

An order about a group ("mutez-la"), a refusal ("pas de prêt pour eux", "seuls les"), a wish or warning; advice is in
bias_advice.py, what a group is said to do in bias_subject.py. Harmless verbs are a list of bias_predicates.yaml. The
caller has seen to it that no context lifts the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import bias_advice, bias_subject
from .needs import ALAS, foretells
from .phrases import Hit
from .reading import PUNCTUATION, Reading, Statement
from .rulebook import Mention
from .told import OF_LIFE

ORDER_REACH = 30
OBJECT_REACH = 6
_THEM = frozenset({"elle", "eux", "elles", "lui", "leur", "him", "them", "she", "he"})
_IF = frozenset({"si", "quand", "lorsque", "if", "when"})
_TO_THE_READER = frozenset({"vous", "votre", "vos", "you", "your"})
_SMALL = frozenset(
    {"a", "au", "aux", "vers", "dans", "en", "sur", "hors", "de", "du", "plutot", "tout", "chez", "avec", "et"}
)
_REFUSED = (["de"], ["d"], ["question"], ["un"], ["une"], ["aucun"], ["aucune"])
_NO_NEED = (["need"], ["point"], ["reason"], ["use"], ["rush"])
_REFUSING = frozenset({"pas", "plus", "aucun", "aucune", "no"})


def find(
    reading: Reading, groups: list[Hit[Mention]], owned: list[Hit[Mention]], *, reported: bool
) -> Iterator[Statement]:
    """The statements of a sentence by form alone; `reported` leaves out what only ascribes a trait.

    `groups` are mentions of people, `owned` attributes of somebody that an order may be held against.
    """
    if not groups and not owned:
        return
    line = reading.line
    about = groups + owned
    measured = {mark.start for mark in reading.marks.get("measures", ())}
    begun = reading.needs.may_decide(reading.words, line) or reading.has("english_orders")
    for at, end, family, rule in _decisions(reading) if begun or reading.words[0] in {"que", "qu"} else ():
        mild = rule == "order" and end - at == 1 and not _against_a_person(reading, at, end, measured)
        for group in about:
            if abs(group.start - at) <= ORDER_REACH and not (mild and group.value.characteristic in OF_LIFE):
                yield _statement(group, at, end, family, rule)
    if reported:
        return
    foretold = bias_advice.forecasts(reading) if foretells(line) else ()
    for at, end in [*foretold, *bias_advice.verdicts(reading)]:
        for group in about:
            if 0 <= at - group.end <= ORDER_REACH:
                yield _statement(group, at, end, "stereotype", "frame")
    but = not ALAS.isdisjoint(reading.words)
    for group in about:
        if bias_advice.opened(reading, group.start, group.end) or (
            but and bias_advice.excused(reading, group.start, group.end)
        ):
            yield _statement(group, group.start, group.end, "stereotype", "frame")
    for group in groups:
        for at, end, family in bias_subject.find(reading, group):
            yield _statement(group, at, end, family, "frame")


def _against_a_person(reading: Reading, at: int, end: int, measured: set[int]) -> bool:
    """True when what follows an order names or takes up a person, or a burden, or denies it.

    Beside a fact of life no other order counts ("elle est enceinte : déplacez la visite").
    """
    words, grammar = reading.words, reading.grammar
    if words[0] in _IF and not _TO_THE_READER.isdisjoint(words[1:4]):
        return False  # "if your mother is over eighty, ask for help"
    last = end + OBJECT_REACH
    last = next((then for then in range(end, last) if not reading.word(then).isalnum()), last)
    after = words[end:last]
    if "pas" in after[:1] or not (_THEM.isdisjoint(after) and grammar.third_person.isdisjoint(after)):
        return True
    if after[:1] and after[0] in grammar.object_pronouns and (len(after) == 1 or after[1] in _SMALL):
        return True
    near = range(end, min(last, end + 3))
    if not (reading.persons.isdisjoint(near) and reading.inside.isdisjoint(near)):
        return True
    return not (measured.isdisjoint(range(at, last)) and grammar.burdens.isdisjoint(after))


def _decisions(reading: Reading) -> Iterator[tuple[int, int, str, str]]:
    """Orders, refusals and advice: span, family, rule."""
    for at, end in _orders(reading):
        yield at, end, "exclusion", "order"
    for at, end in [*_refusals(reading), *_jussive(reading)]:
        if at not in reading.quoted:
            yield at, end, "exclusion", "refusal"
    for at, end in bias_advice.find(reading):
        yield at, end, "differential", "advice"


def _statement(group: Hit[Mention], at: int, end: int, family: str, rule: str) -> Statement:
    first, last = min(at, group.start), max(end, group.end)
    return Statement(group.value.characteristic, family, first, last, rule, (group.start, group.end))


def _jussive(reading: Reading) -> Iterator[tuple[int, int]]:
    """ "Que les royalistes aillent ailleurs", "attention aux jeunes mariées": a wish, an order, a warning."""
    for at, word in enumerate(reading.words[:1]):
        if word in {"que", "qu"} and not reading.sentence.is_question and not _whether(reading):
            yield at, at + 1
    for at, word in enumerate(reading.words):
        warns = word == "attention" and reading.word(at + 1) in {"aux", "a"} and _head(reading, at)
        if warns and "qui" not in reading.words[at + 2 : at + 6]:  # "aux escrocs qui visent les seniors"
            yield at, at + 2


def _whether(reading: Reading) -> bool:
    """ "Que l’on soit croyant ou non, …"."""
    return not {"soit", "soient", "soyez"}.isdisjoint(reading.words[1:6]) and "ou" in reading.words


def _orders(reading: Reading) -> Iterator[tuple[int, int]]:
    """Orders: a French imperative not listed as harmless (or denied), an English verb at the head of a clause."""
    words, grammar = reading.words, reading.grammar
    harmless = {at for hit in reading.marks.get("benign_verbs", ()) for at in range(hit.start, hit.end)}
    for at, word in enumerate(words):
        if len(word) > 4 and word.endswith("ez"):
            denied = _denied(reading, at) and word not in grammar.harmless_when_denied
            if denied and (reading.spared(at + 2) or (reading.spared(at + 3) and words[at + 2] in {"de", "d"})):
                continue  # "n’appliquez pas de surprime"
            if _of_none(reading, at) and at not in harmless:
                continue  # "n’exigez aucune pièce"
            if (at not in harmless or denied) and not _addressed(reading, at) and not _surname(reading, at):
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


def _of_none(reading: Reading, at: int) -> bool:
    """ "N’exigez aucune pièce": the order is to do none of it."""
    return (
        reading.word(at - 1) in {"ne", "n"}
        and reading.word(at + 1) in {"aucun", "aucune"}
        and reading.word(at + 2) != "compte"
    )


def _addressed(reading: Reading, at: int) -> bool:
    """True when "vous" is the subject: a statement or a question, not an order."""
    return "vous" in reading.words[max(0, at - 4) : at] or reading.word(at + 1) == "vous"


def _surname(reading: Reading, at: int) -> bool:
    """ "Mme Lopez": a name that ends as an order does."""
    return reading.word(at - 1) in reading.grammar.titles


def _head(reading: Reading, at: int) -> bool:
    lead = reading.word(at - 1)
    return not lead or lead in PUNCTUATION or lead in reading.grammar.clause_openers


def _refusals(reading: Reading) -> Iterator[tuple[int, int]]:
    """ "Pas de promotion pour …", "aucun délai pour …", "no loans for …", "seuls les …" at the head of a clause."""
    words = reading.words
    for at, word in enumerate(words):
        if word not in _REFUSING and word not in reading.grammar.alone:
            continue
        ahead = words[at + 1 : at + 6]
        if word in {"pas", "plus"}:
            refused = ahead[:1] in _REFUSED and (word == "pas" or "que" not in ahead) and ahead[1:2] != ["quoi"]
        elif word in {"aucun", "aucune"}:
            refused = not {"pour", "aux"}.isdisjoint(ahead[1:])
        elif word == "no":
            refused = "for" in ahead or (ahead[:1] in _NO_NEED and "to" in ahead)
        else:
            refused = word in reading.grammar.alone and bool(ahead)
        if refused and _head(reading, at) and not reading.spared(at + 1):
            yield at, min(at + 2, len(words))
