"""What has the form of reasoning from an attribute and is none: a rule told, words quoted, a thing, a plain fact.

A sentence that says that nobody may be refused for it; words that the sentence speaks of ("traduis : « … »"); a noun of
origin that names a restaurant or a language; an illness that causes an absence, a marriage that changes a name.
The words are in bias_grammar.yaml.
"""

from __future__ import annotations

from .phrases import Hit
from .polarity import decisions
from .reading import NE, PUNCTUATION, Reading
from .rulebook import Mention
from .rules_models import Characteristic

NORM_REACH = 6
OBJECT_REACH = 3
STATE_REACH = 6
EVENT_REACH = 4
_NOBODY = frozenset({"nul", "nulle", "personne", "aucun", "aucune", "nobody"})
_NEVER = frozenset({"jamais", "pas", "plus"})
_NEW_CLAUSE = frozenset({"mais", "et", "donc", "alors", "je", "j", "on", "nous", "qui", "que", "qu"})
_ONE_THING = frozenset({"le", "l", "la", "du", "au"})
BEFORE_NO_GROUP = _ONE_THING | {
    ".", "m", "mm", "mme", "mmes", "mlle", "monsieur", "madame", "maitre", "me", "dr", "docteur", "mr", "mrs", "ms",
}  # fmt: skip
"""Words before a mention that may name nobody (`no_group`): a quick look."""

_STATED = frozenset({"est", "etait", "sera", "soit", "reste", "semble", "parait"})
_AFTER_STATE = frozenset(
    {"", "par", "pour", "en", "le", "la", "au", "a", "du", "ce", "cette", "et", "ou", "depuis", "dans"}
)
_OF_BOTH = frozenset({"bon", "bonne"})
"""States of a person as well, when a noun follows ("est bon payeur")."""

_OF_ORIGIN = frozenset(
    {
        Characteristic.NATIONALITY, Characteristic.ETHNIC_ORIGIN, Characteristic.NATIONAL_MINORITY,
        Characteristic.LANGUAGE, Characteristic.PLACE_OF_RESIDENCE, Characteristic.RACE,
    }
)  # fmt: skip
_STATES = frozenset(
    {
        Characteristic.HEALTH, Characteristic.PREGNANCY, Characteristic.DISABILITY, Characteristic.LOSS_OF_AUTONOMY,
    }
)  # fmt: skip
FACTS = _STATES | {Characteristic.LANGUAGE}
"""Of these "il entend mal" is a fact, not a verdict."""

HELPED = FACTS | {
    Characteristic.FAMILY_SITUATION, Characteristic.AGE, Characteristic.PROPERTY, Characteristic.UNION_ACTIVITY,
}  # fmt: skip
"""Characteristics for which an aid or a right may be granted because of them: no flag in such a sentence."""

OF_LIFE = (HELPED | {Characteristic.GENETIC_FEATURES}) - {Characteristic.PROPERTY, Characteristic.UNION_ACTIVITY}
"""What explains many things in a life: no reasoning without a decision, a doubt or a guess beside it."""

_CIVIL = frozenset({Characteristic.FAMILY_SITUATION, Characteristic.BIRTH})
_ADDRESS = frozenset({Characteristic.SEX, Characteristic.GENDER_IDENTITY})
_FORMS_OF_ADDRESS = frozenset({"civilite", "pronom", "pronoms", "accord", "accords", "feminin", "masculin"})
_WISHES = ("souhait", "veu", "voudr", "desir", "demand")
_CAUSED = ("du", "due", "dus", "dues", "lie", "liee", "lies", "liees")
_OWN = frozenset({"mon", "ma", "mes"})


def norm(reading: Reading) -> bool:
    """True when the sentence tells a rule about everybody: "nul ne peut être écarté", "on ne licencie personne"."""
    words = reading.words
    if _NOBODY.isdisjoint(words) or NE.isdisjoint(words):
        return False
    decided = decisions(reading)
    if not decided:
        return False
    for at, word in enumerate(words):
        if word not in NE:
            continue
        if not _NOBODY.isdisjoint(_subject(reading, at)):
            return _said_at_once(reading, at, decided)
        verb = at + 1 + (reading.word(at + 1) in reading.grammar.object_pronouns)
        end = decided.get(verb)
        if end is not None and _nobody_after(reading, end):
            return True
    return False


def _said_at_once(reading: Reading, ne: int, decided: dict[int, int]) -> bool:
    """True when a decision follows "ne" in its clause: not "personne ne doit savoir, mais je refuse"."""
    for at in range(ne + 1, min(len(reading.words), ne + 1 + NORM_REACH)):
        if at in decided:
            return True
        if reading.words[at] in PUNCTUATION or reading.words[at] in _NEW_CLAUSE:
            return False
    return False


def _subject(reading: Reading, ne: int) -> list[str]:
    """The words of the subject that ends before "ne"; none when "personne" is a person there ("cette personne")."""
    lead = reading.before(ne, EVENT_REACH)
    return [
        word for at, word in enumerate(lead) if word != "personne" or lead[at - 1 : at] in ([], [","], ["et"], ["que"])
    ]


def _nobody_after(reading: Reading, end: int) -> bool:
    """ "(Licencie) personne", "(exclut) jamais personne", "(refuse) aucun client"."""
    for at, word in enumerate(reading.words[end : end + OBJECT_REACH]):
        if word in _NOBODY:
            return word != "personne" or at == 0 or reading.word(end + at - 1) in _NEVER
        if word not in _NEVER:
            return False
    return False


def spoken_of(reading: Reading) -> set[int]:
    """The tokens of a quotation that the sentence speaks of ("traduis : « … »", "« … » est une phrase")."""
    words = reading.words
    if '"' not in words:
        return set()
    marks = [at for at, word in enumerate(words) if word == '"']
    if len(marks) % 2:  # a quotation that a full stop inside cuts: its other end is in the sentence before or after
        marks = marks[1:] if marks[0] == 0 else [*marks, len(words) - 1]
    inside = {at for first, last in zip(marks[::2], marks[1::2], strict=False) for at in range(first, last + 1)}
    outside = (word for at, word in enumerate(words) if at not in inside)
    asked = words[0] == "comment" and reading.word(1) in {"dit", "ecrit", "dire", "traduire"}
    return inside if asked or not reading.grammar.quoting.isdisjoint(outside) else set()


def no_group(reading: Reading, hit: Hit[Mention]) -> bool:
    """True when a listed word names nobody by that group here: a thing of that origin, or somebody's surname."""
    if hit.end - hit.start != 1 or hit.start == 0:
        return False
    if reading.words[hit.start - 1] in _ONE_THING:
        return hit.value.characteristic in _OF_ORIGIN and _names_thing(reading, hit)
    return _surname(reading, hit)


def _names_thing(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Le chinois est fermé", "l’espagnol est trop cher": a noun of origin for a restaurant, a wine, a language."""
    words, grammar = reading.words, reading.grammar
    for at in range(hit.end, min(len(words), hit.end + STATE_REACH)):
        word = words[at]
        if word in grammar.thing_verbs:
            return True
        if word in _STATED:
            state = at + 1
            while reading.word(state) in grammar.adverbs_between or reading.word(state).endswith("ment"):
                state += 1
            follow = reading.word(state + 1)
            closed = reading.word(state) not in _OF_BOTH or follow in _AFTER_STATE or follow in PUNCTUATION
            return closed and reading.word(state) in grammar.thing_states
        if word in PUNCTUATION or word in grammar.pronouns:
            return False
    return False


def _surname(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Mme Roux", "M. Noir": a name, whatever else the word means."""
    at = hit.start - 1
    if reading.word(at) == ".":
        at -= 1
    return reading.word(at) in reading.grammar.titles and reading.sentence.name_like(hit.start)


def relation(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Parce que sa femme …": somebody's kin, who then do or suffer something; no attribute."""
    return hit.value.kind == "people" and reading.word(hit.start - 1) in reading.grammar.possessives


def state_of_thing(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Le grand âge du navire": the attribute, and an adjective with it, is a thing's."""
    end = hit.end + (reading.word(hit.end + 1) in reading.grammar.complement_links)
    return reading.word(end) in reading.grammar.complement_links and reading.complement(end) == "thing"


def caused_event(reading: Reading, begin: int, hit: Hit[Mention]) -> bool:
    """ "Un arrêt dû à la grossesse", "tombée car diabétique": a state that causes an event, and nobody decides."""
    if hit.value.characteristic not in _STATES or decisions(reading):
        return False
    if reading.word(begin - 1) in reading.grammar.events:
        return True  # "évanoui à cause de son diabète"
    clause = any(mark.start == begin for mark in reading.marks.get("clause_connectors", ()))
    whose = not clause and reading.words[begin] not in _CAUSED
    if whose and not reading.grammar.third_person.isdisjoint(reading.words[begin : hit.end]):
        return False
    return not reading.grammar.events.isdisjoint(reading.before(begin, EVENT_REACH))


def civil_event(reading: Reading, begin: int, hit: Hit[Mention]) -> bool:
    """ "Elle a changé de nom car elle s’est mariée": a civil event that changes a name, an address, a beneficiary.

    Or a form of address that is put right ("la civilité, car c’est une femme").
    """
    about, words = hit.value.characteristic, reading.words
    if about in _ADDRESS:
        changed = not _FORMS_OF_ADDRESS.isdisjoint(words[:begin])
    else:
        outside = words[:begin] + words[hit.end :]
        changed = about in _CIVIL and not reading.grammar.civil_changes.isdisjoint(outside)
    return changed and not any(_wanted_by_us(reading, start) for start in decisions(reading))


def _wanted_by_us(reading: Reading, decision: int) -> bool:
    """True unless they wish it themselves ("souhaite retirer son ex-épouse")."""
    return not any(word.startswith(_WISHES) for word in reading.before(decision, 2))


def own(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "À cause de mon diabète": told of oneself."""
    return not _OWN.isdisjoint(reading.before(hit.start + 1, OBJECT_REACH))
