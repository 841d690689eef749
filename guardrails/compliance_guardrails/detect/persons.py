"""When a word of a group is said of a person: "parce qu’il est roumain", never "un permis roumain".

Adjectives and nouns that also qualify things need a state verb, a person or an article beside them. Only short
distances in one sentence are looked at. Used by reasoning.py and comparisons.py for queries, by bias_targets.py for
answers.
"""

from __future__ import annotations

from .phrases import Hit
from .reading import PUNCTUATION, Reading
from .rulebook import Mention
from .rules_models import Characteristic

STATES = frozenset(
    {Characteristic.PREGNANCY, Characteristic.HEALTH, Characteristic.AGE, Characteristic.DISABILITY, Characteristic.SEX}
)
OF_PEOPLE = frozenset({"people", "qualities", "loose_qualities"})
SAID = OF_PEOPLE | {"phrases"}
"""Kinds of mention that say what somebody is."""
_CARE = (
    "evit", "boire", "boit", "mang", "consult", "faire", "fait", "surveill", "privilegi", "hydrat", "dorm", "nag",
    "plong", "port", "soule", "voyag", "repos", "proteg", "vaccin", "emport", "limit", "expos", "avoid", "drink", "eat",
    "have", "see", "rest", "get", "carry", "bring", "tell", "keep", "sleep", "swim", "lift", "wear",
)  # fmt: skip
"""What people in a state of health are advised for their own good ("devraient éviter l’alcool")."""
_ON_THE_WAY = frozenset({"se", "s", "also", "ne", "n", "pas", "plus", "jamais", "not", "etre", "be", "rester", "reste"})
_NO_CARE = frozenset({"de", "d", "place", "no", "out", "off", "used", "lost"})


def own_care(reading: Reading, group: Hit[Mention], verb: int) -> bool:
    """ "Pregnant women should avoid alcohol": what people in a state are advised, for their health, from `verb` on."""
    if group.value.characteristic not in STATES:
        return False
    while reading.word(verb) in _ON_THE_WAY:
        verb += 1
    follow = reading.word(verb + 1)
    return reading.word(verb).startswith(_CARE) and follow not in _NO_CARE and not follow.endswith("ing")


def said_of_person(reading: Reading, hit: Hit[Mention], first: int) -> bool:
    """True when the mention is predicated of a person, or names persons, in the tokens from `first` on."""
    start, end, mention = hit.start, hit.end, hit.value
    if mention.ignored:
        return False
    match mention.kind:
        case "people":
            said = _people(reading, hit, first)
        case "qualities":
            said = _quality(reading, start, end, first)
        case "loose_qualities":
            said = loose_quality(reading, start, end, first)
        case "attributes" if mention.weak or reading.about_thing(start):
            said = False
        case "attributes" | "sure_attributes":
            said = reading.possessed(start) or reading.complement(end) == "person"
        case _:
            said = True
    return said


def names_group(reading: Reading, hit: Hit[Mention]) -> bool:
    """True when the mention stands for a group of people ("les étrangers", "un handicapé"), not for a detail."""
    start, end, mention = hit.start, hit.end, hit.value
    grammar, last = reading.grammar, reading.word(start - 1)
    if end in reading.things or end in reading.abstract or start - 1 in reading.things or start - 1 in reading.abstract:
        return False
    if mention.kind == "people":
        of_sex = mention.characteristic is Characteristic.SEX
        return _any_of_sex(reading, hit, last) if of_sex else _people_named(reading, hit)
    if mention.kind == "phrases":
        return start in reading.persons or start - 1 in reading.persons
    if mention.kind not in {"qualities", "loose_qualities"} or reading.thing_near(start, end):
        return False
    plural = reading.words[end - 1].endswith("s")
    if plural and (
        not last or last in PUNCTUATION or last in grammar.after_bare_plural or reading.person_before(start)
    ):
        return True
    named = mention.kind == "loose_qualities" and _proper(reading, start, end)
    if mention.kind == "qualities" and start == 1 and last in {"le", "la"}:
        named = reading.word(end) in {"du", "de", "des", "d", "qui"}  # "la sourde du troisième, …"
    return named or end in reading.persons or last in grammar.plurals or last in grammar.before_group


def _people_named(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Les veuves", "notre collègue en fauteuil"; not "son voisin"."""
    return reading.word(hit.start - 1) not in reading.grammar.possessives or hit.end - hit.start > 1


def _proper(reading: Reading, start: int, end: int) -> bool:
    """ "Le Portugais du troisième": an adjective of origin is written with a capital when it names a person."""
    if not reading.sentence.name_like(start):
        return False
    if start == 0:
        return reading.word(end) in {",", ":", "?", "au", "sans", "de"}
    return reading.word(start - 1) in {"le", "l", "du", "au", "un", "une", "ce", "cet", "cette", "notre", "votre"}


def loose_quality(reading: Reading, start: int, end: int, first: int) -> bool:
    """An adjective that also qualifies things ("vieux", "roumain"), said of a person after token `first`."""
    if reading.thing_near(start, end):
        return False
    copula = reading.copula_before(start)
    if copula is not None and copula >= first - 1 and _only_adverbs(reading, copula + 1, start):
        return not reading.thing_subject(first, copula)
    if reading.person_before(start) or (reading.word(end) == "comme" and reading.word(end + 1) in {"il", "elle"}):
        return True
    return reading.word(start - 1) in reading.grammar.before_adjective or (
        start > first
        and _proper(reading, start, end)
        and (reading.word(end) in reading.grammar.copulas or any(said.start == end for said in reading.predicates))
    )


def _people(reading: Reading, hit: Hit[Mention], first: int) -> bool:
    grammar, start = reading.grammar, hit.start
    last = reading.word(start - 1) if start > first else ""
    copula = reading.copula_before(start, 4)
    described = copula is not None and copula >= first - 1
    if hit.value.characteristic is Characteristic.SEX:
        said = described and (last in grammar.of_one_or_some or last in grammar.copulas)
        return said or last in {"les", "des", "aux"}
    if reading.thing_near(start, hit.end) or (copula is not None and reading.thing_subject(first, copula)):
        return False
    return last not in grammar.possessives and (last != "la" or described)


def _quality(reading: Reading, start: int, end: int, first: int) -> bool:
    """An adjective that only persons have, said of somebody here, not of a "culte catholique"."""
    if reading.thing_near(start, end):
        return False
    last, grammar = reading.word(start - 1), reading.grammar
    return (
        start <= first
        or last in PUNCTUATION
        or last in grammar.plurals
        or last in grammar.before_quality
        or reading.copula_before(start) is not None
        or reading.person_before(start)
        or end in reading.persons
        or reading.word(end) == "comme"
    )


def _any_of_sex(reading: Reading, hit: Hit[Mention], last: str) -> bool:
    """ "les femmes", "un homme", "la femme est …"; not "sa femme", "la femme a signé", "un homme a été blessé"."""
    following = reading.word(hit.end)
    if last in reading.grammar.possessives or last == "sage":
        return False
    if last in {"la", "le", "l", "ce", "cet", "cette"}:
        return following in {"est", "doit", "reste"}
    told = following in {"avait", "ayant", "s", "et", "decede", "qui"}
    told = told or (following == "a" and reading.sentence.written(hit.end) not in {"à", "À"})
    return last not in {"un", "une"} or not told


def _only_adverbs(reading: Reading, first: int, last: int) -> bool:
    """True when nothing but adverbs, articles and negation stands between a state verb and an adjective."""
    between = reading.grammar.adverbs_between
    return all(word in between or word.endswith(("ment", "ly")) for word in reading.words[first:last])
