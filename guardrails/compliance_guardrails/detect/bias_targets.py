"""Whom a statement is about: which mentions stand for people, which attributes are somebody's.

Only this; what is said of them is in bias_logic.py and bias_frames.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from .persons import names_group, said_of_person
from .phrases import Hit
from .reading import Reading
from .rulebook import Mention
from .rules_models import Characteristic

THOSE = frozenset({"ces", "these", "those"})
NOUNS = frozenset({"attributes", "sure_attributes"})
_ADDRESSED = frozenset({"etes", "avez", "seriez", "etiez"})
"""Before a state of the reader ("si vous êtes enceinte"): what follows is addressed to them, not said of them."""

_GOES_ON = frozenset({"c", "ce", "il", "elle", "ils", "elles", "he", "she", "they"})
_TAKING_UP = frozenset(
    {"il", "elle", "ils", "elles", "lui", "eux", "celui", "celle", "ceux", "celles", "he", "she", "they", "them", "him"}
)
_OF_BODIES = frozenset({Characteristic.LOSS_OF_AUTONOMY, Characteristic.PHYSICAL_APPEARANCE, Characteristic.AGE})
_STATES = frozenset(
    {
        Characteristic.HEALTH, Characteristic.DISABILITY, Characteristic.LOSS_OF_AUTONOMY, Characteristic.PREGNANCY,
        Characteristic.AGE, Characteristic.FAMILY_SITUATION, Characteristic.PHYSICAL_APPEARANCE,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Targets:
    """The mentions of a sentence by what they are good for.

    `groups`: of people. `owned`: attributes of somebody. `held_against`: those of them that an order may turn on.
    `loose`: attributes that need a decision beside them to count.
    """

    groups: list[Hit[Mention]]
    owned: list[Hit[Mention]]
    held_against: list[Hit[Mention]]
    loose: list[Hit[Mention]]


def targets(reading: Reading) -> Targets:
    """Sort the mentions of a sentence."""
    again = reading.has("anaphora")
    groups: list[Hit[Mention]] = []
    owned: list[Hit[Mention]] = []
    loose: list[Hit[Mention]] = []
    for hit in reading.mentions:
        if _stands_for_group(reading, hit, again=again):
            groups.append(hit)
        elif _owned_attribute(reading, hit):
            owned.append(hit)
        elif _loosely(reading, hit):
            loose.append(hit)
    named = [hit for hit in groups if not taken_up(reading.words, hit)] if again else groups
    groups = named if named or owned else groups
    return Targets(groups, owned, [hit for hit in owned if _another_s(reading, hit)] + loose, loose)


def of_next(reading: Reading, about: Targets, after: int) -> tuple[list[Hit[Mention]], Targets]:
    """For a sentence joined with the next one, which begins at token `after`: the groups of that one, and the rest.

    What the next sentence names belongs to the first only where it goes on with it ("C’est un chômeur"); and where it
    takes nothing up ("elle", "leur", "ces gens-là"), what it says is first of all about its own groups.
    """
    own = [hit for hit in about.groups if hit.start >= after]
    if reading.word(after) not in _GOES_ON:
        kept = ([hit for hit in hits if hit.start < after] for hits in _all(about))
        about = Targets(*kept)
    following = reading.words[after:]
    again = not (_TAKING_UP | reading.grammar.third_person).isdisjoint(following) or reading.has("anaphora")
    return ([] if again else own), about


def _all(about: Targets) -> tuple[list[Hit[Mention]], ...]:
    return about.groups, about.owned, about.held_against, about.loose


def turned_to(own: list[Hit[Mention]], characteristic: Characteristic, at: int) -> bool:
    """True when what stands at token `at` is about the groups `own` of its sentence, not about one named before it.

    They stand before it, or they are no counterpart of that one ("c’est une femme. Préférez un homme").
    """
    return any(hit.start < at or hit.value.characteristic is not characteristic for hit in own)


def only_a_state(reading: Reading, hit: Hit[Mention]) -> bool:
    """An illness or another state that a contract may name in its clauses, and nobody's here."""
    if hit.value.characteristic not in _STATES or hit.value.kind not in NOUNS | {"phrases"}:
        return False
    if reading.word(hit.start - 1) in _GOES_ON:
        return False  # "elle perd la tête"
    return not reading.possessed(hit.start) and not reading.person_before(hit.start, 4)


def addressed(words: list[str], hit: Hit[Mention]) -> bool:
    """ "Vous êtes locataire": told to the reader, whether or not the verb is part of the entry."""
    last = words[hit.start - 1] if hit.start else ""
    if last in {"are", "re"}:
        return words[hit.start - 2 : hit.start - 1] == ["you"]
    return words[hit.start] in _ADDRESSED or last in _ADDRESSED


def _stands_for_group(reading: Reading, hit: Hit[Mention], *, again: bool) -> bool:
    """A group, or one person by the attribute ("le client est roumain").

    `again`: the sentence takes the group up ("ces gens-là"), so that any mention stands for it.
    """
    kind = hit.value.kind
    if kind == "slurs" or hit.value.ignored or addressed(reading.words, hit):
        return False
    if kind == "phrases":
        doubtful = hit.value.characteristic in _OF_BODIES or reading.words[hit.start] in THOSE
        return not (doubtful and _of_nobody(reading, hit))
    if again and not hit.value.weak:
        return True
    if kind in NOUNS:
        return False
    if hit.value.characteristic is Characteristic.NATIONAL_MINORITY and reading.words[hit.start] == "travellers":
        return reading.sentence.capital(hit.start)  # not whoever travels
    return names_group(reading, hit) or (kind != "people" and said_of_person(reading, hit, 0))


def _of_nobody(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Those people who have not signed", "la toiture ne tient plus": no group, and nobody's state."""
    if reading.words[hit.start] in THOSE:
        return reading.word(hit.end) in {"who", "whose", "that", "with"}
    if not reading.about_thing(hit.start):
        return False
    return reading.word(hit.start - 1) not in _GOES_ON and reading.persons.isdisjoint(range(hit.start))


def _owned_attribute(reading: Reading, hit: Hit[Mention]) -> bool:
    """An attribute that is somebody's: "son génome", "la couleur de peau du client"."""
    if hit.value.ignored or hit.value.kind not in NOUNS:
        return False
    owner = reading.complement(hit.end)
    if owner in {"person", "thing"} or hit.value.kind == "sure_attributes":
        return owner != "thing" and not _amount(reading, hit)
    return owner != "other" and not reading.about_thing(hit.start) and _another_s(reading, hit)


def _amount(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Un handicap de 300 euros": nobody's."""
    counted = reading.word(hit.end) in {"de", "d"} and reading.word(hit.end + 1)[:1].isdigit()
    return counted and not reading.possessed(hit.start)


def taken_up(words: list[str], hit: Hit[Mention]) -> bool:
    """ "Ces gens-là": a group that only the sentences around it may name, so that an order may be for its good."""
    return hit.value.kind == "phrases" and words[hit.start] in THOSE


def _loosely(reading: Reading, hit: Hit[Mention]) -> bool:
    """A word of an attribute with no thing beside it: enough for a decision against somebody."""
    mention = hit.value
    if mention.kind not in NOUNS or mention.ignored or mention.weak or reading.thing_near(hit.start, hit.end):
        return False
    return reading.complement(hit.end) != "thing" and not reading.about_thing(hit.start) and not _amount(reading, hit)


def _another_s(reading: Reading, hit: Hit[Mention]) -> bool:
    """An attribute of a third person ("son caryotype"), or one that nobody may ask about (genetic features)."""
    if hit.value.characteristic is Characteristic.GENETIC_FEATURES:
        return True
    return not reading.grammar.third_person.isdisjoint(reading.words[max(0, hit.start - 3) : hit.start])
