"""What a group at the head of a sentence is said to be, to do, never to do or to be about to do, by form alone.

"Les Roumains revendent …", "n’achètent jamais", "sont tous …", "devraient", "…, c’est du cinéma", "ceux qui ont parlé
chercheront ailleurs". Everyday verbs and rights are lists of bias_grammar.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import bias_advice
from .needs import LESS_FOR
from .persons import OF_PEOPLE, own_care
from .phrases import Hit
from .polarity import CONDITIONS, exempt
from .reading import PUNCTUATION, Reading
from .rulebook import Mention
from .rules_models import Characteristic

SUBJECT_REACH = 12
BLAME_REACH = 6
HABIT_REACH = 3
PEOPLES = frozenset(
    {
        Characteristic.RACE, Characteristic.COLOUR, Characteristic.ETHNIC_ORIGIN, Characteristic.SOCIAL_ORIGIN,
        Characteristic.RELIGION, Characteristic.POLITICAL_OPINION, Characteristic.NATIONAL_MINORITY,
        Characteristic.NATIONALITY, Characteristic.PLACE_OF_RESIDENCE, Characteristic.SEXUAL_ORIENTATION,
        Characteristic.GENDER_IDENTITY, Characteristic.MORALS, Characteristic.PROPERTY,
    }
)  # fmt: skip
_RIGHTS = frozenset({"pouvoir", "recevoir", "beneficier", "disposer", "obtenir", "receive"})
_ENDS = frozenset(";.!?")
_CONTRASTED = frozenset({"nettement", "beaucoup", "bien", "et", "mais", "much", "but", "far", "rather"})
_LESS = frozenset({"moins", "less"})


def find(reading: Reading, group: Hit[Mention]) -> Iterator[tuple[int, int, str]]:
    """What is said of `group`, as spans of tokens with the family of the statement."""
    whole = group.start, group.end, "stereotype"
    if (
        group.value.kind in OF_PEOPLE
        or _noun_start(reading, group) is not None
        or (reading.word(group.start) in bias_advice.WHOEVER)
    ):
        end = bias_advice.foretold(reading, group.start, group.end)
        if end is not None:
            yield group.start, end, "stereotype"
    if group.value.kind == "phrases" and _headed_absolute(reading, group):
        yield whole
    if _subject(reading, group):
        if _every(reading, group) or _judged(reading, group) or _habit(reading, group):
            yield whole
        yield from _of_subject(reading, group)


def _subject(reading: Reading, group: Hit[Mention]) -> bool:
    """True when the group heads its part of the sentence."""
    first = _noun_start(reading, group)
    if group.value.kind not in OF_PEOPLE and (group.value.kind != "phrases" or first is None):
        return False
    at = (group.start if first is None else first) - 1
    while reading.word(at) in reading.grammar.subject_openers or (at >= 0 and at in reading.persons):
        at -= 1
    lead = reading.word(at)
    return not lead or lead in PUNCTUATION or lead in reading.grammar.subject_links


def _noun_start(reading: Reading, group: Hit[Mention]) -> int | None:
    """Where the noun of persons begins that a phrase belongs to ("les familles d’origine africaine"), else None."""
    if group.start in reading.persons:
        return group.start
    return group.start - 1 if group.start - 1 in reading.persons else None


def _headed_absolute(reading: Reading, group: Hit[Mention]) -> bool:
    """ "Cinq enfants, forcément …": a phrase at the head of the sentence and an absolute just after it."""
    after = reading.words[group.end : group.end + 3]
    return group.start <= 1 and not reading.grammar.absolutes.isdisjoint(after)


def _every(reading: Reading, group: Hit[Mention]) -> bool:
    """ "Tous les …" followed by what they are all said to do, unless that is a right, a duty or a passive."""
    head = reading.words[max(0, group.start - 2) : group.start + 1]
    if {"tous", "toutes", "all"}.isdisjoint(head):
        return False
    verb, grammar = reading.word(group.end), reading.grammar
    plain = not verb or verb in PUNCTUATION or verb in grammar.copulas or verb in grammar.rights_and_duties
    return not plain


def _habit(reading: Reading, group: Hit[Mention]) -> bool:
    """ "Les Roumains du foyer revendent …": what a whole people or milieu is said to do, unless it is everyday."""
    if group.value.characteristic not in PEOPLES:
        return False
    first = _noun_start(reading, group)
    first = group.start if first is None else first
    return "les" in {reading.word(first), reading.word(first - 1)} and _does(reading, group.end, HABIT_REACH)


def _does(reading: Reading, first: int, reach: int) -> bool:
    """True when a verb in the plural that is not an everyday one begins within `reach` tokens."""
    for at in range(first, min(len(reading.words), first + reach + 1)):
        word = reading.words[at]
        if word in PUNCTUATION or word in {"ne", "n", "qui"}:
            return False
        if word.endswith("aient"):
            return False  # told, not a habit of theirs
        if len(word) > 4 and word.endswith("ent") and not word.endswith("ment") and at not in reading.inside:
            return word not in reading.grammar.neutral_plural_verbs
    return False


def _judged(reading: Reading, group: Hit[Mention]) -> bool:
    """ "Un délégué malade, c’est du cinéma": a group set apart, then a verdict; "aucun étranger ne …"."""
    words, grammar = reading.words, reading.grammar
    head = reading.word(group.start) if reading.word(group.start) in grammar.nobody else reading.word(group.start - 1)
    if head in grammar.nobody:
        return not {"ne", "n", "should", "can", "will", "is"}.isdisjoint(words[group.end : group.end + 4])
    for at in range(group.end, min(len(words), group.end + SUBJECT_REACH)):
        if words[at] == ",":
            then = words[at + 1 : at + 3]
            if then in (["c", "est"], ["ce", "n"]):
                return True
            if then in (["ce", "serait"], ["ce", "sera"]):
                return not _welcome(reading, at + 3)
        if words[at] in _ENDS:
            return False
    return False


def _welcome(reading: Reading, at: int) -> bool:
    """ "(Ce serait) une chance", "utile": no verdict against anybody by its form."""
    if reading.word(at) in {"trop", "tres", "plutot", "un", "vraiment"} and reading.word(at + 1) != "atout":
        return reading.words[at] == "un" and reading.word(at + 1) != "peu"
    return (
        reading.word(at) in {"une", "bien", "possible", "le", "la", "l", "a", "pour"}
        or reading.word(at) in reading.grammar.evaluations
        or any(hit.start == at and hit.value.polarity == "positive" for hit in reading.predicates)
    )


def _of_subject(reading: Reading, group: Hit[Mention]) -> Iterator[tuple[int, int, str]]:
    """What a group in the subject place is said to be, never to do, or to have to do."""
    words, grammar = reading.words, reading.grammar
    for at in range(group.end, min(len(words), group.end + SUBJECT_REACH)):
        word = words[at]
        if word == "," and _contrast(reading, group, at):
            yield at, at + 2, "stereotype"
        if word in _ENDS or word in {"si", "lorsqu", "quand"} or words[at : at + 2] in (["s", "il"], ["s", "ils"]):
            return
        if word in grammar.norms:
            if reading.word(at + 1) in _RIGHTS or own_care(reading, group, at + 1):
                return
            yield at, at + 1, "exclusion"
        elif word in {"toujours", "always"} and words[at - 1] in {"doit", "doivent", "peut", "peuvent", "must", "can"}:
            continue  # a duty or a right
        elif word in grammar.absolutes and (at > group.end or word in {"always", "never", "all", "only"}):
            yield at, at + 1, "stereotype"
        elif word in {"ne", "n"} and reading.word(at + 1) not in grammar.norms:
            end = _denial(reading, at)
            if end is not None:
                yield at, end, "stereotype"
        elif word in grammar.deniers and reading.word(at + 1) in {"t", "not"}:
            yield at, at + 2, "stereotype"


def _contrast(reading: Reading, group: Hit[Mention], comma: int) -> bool:
    """ "Forts pour la fête, moins pour se lever": praise of a group, then what it is less good for."""
    at = comma + 1
    if reading.words[at : at + 2] in (["guere", "plus"], ["pas", "plus"], ["sans", "plus"]):
        counted = any(word[0].isdigit() for word in reading.words[group.end : comma])
        return reading.word(at + 2) in PUNCTUATION and not counted
    while reading.word(at) in _CONTRASTED:
        at += 1
    if reading.word(at) not in _LESS or reading.word(at + 1) not in LESS_FOR:
        return False
    return any(
        group.end <= hit.start < comma and hit.value.polarity == "positive" and hit.value.family == "stereotype"
        for hit in reading.predicates
    )


def _denial(reading: Reading, at: int) -> int | None:
    """The end of "ne … pas / jamais / rien" when it denies something to the group, not a prejudice or a refusal."""
    if (
        reading.word(at - 1) == "qui"
        or reading.word(at + 1) in reading.grammar.everyday_denied
        or _legal(reading, at)
        or exempt(reading, at + 4)
        or _told(reading, at)
        or any(at < hit.start <= at + BLAME_REACH and hit.value.polarity == "negative" for hit in reading.predicates)
    ):
        return None
    for then in range(at + 1, min(at + 5, len(reading.words))):
        if reading.words[then] in {"que", "qu"} and reading.word(then + 1) in CONDITIONS:
            return None  # "ne conduisent qu’avec l’accord du médecin"
        if reading.words[then] in reading.grammar.nothing:
            if reading.words[then + 1 : then + 4] == ["les", "memes", "droits"]:
                return None  # a difference of treatment: a listed decision
            return None if reading.spared(then + 1) else then + 1
    return None


def _told(reading: Reading, at: int) -> bool:
    """ "N’a pas signé": a fact in the past, not "n’a pas le niveau"."""
    if reading.word(at + 1) not in {"a", "ont", "avait", "avaient"}:
        return False
    verb = reading.word(at + 3)
    return len(verb) > 4 and verb.endswith(("e", "i", "u", "is", "it", "ert")) and verb not in reading.grammar.had


def _legal(reading: Reading, at: int) -> bool:
    """ "ne sont pas exclus", "ne peuvent être refusés": a negation that protects or states a rule."""
    verb = reading.word(at + 1)
    if reading.word(at + 3) == "partie":
        return True  # "ne font pas partie de"
    if verb in {"aura", "auront"}:
        return reading.word(at + 3) not in {"de", "d", "un", "une"} or reading.spared(at + 3)
    if verb.endswith(("ra", "ront")) and verb in reading.grammar.harmless_when_denied:
        return True  # "ne perdra aucun avantage"
    if verb in reading.grammar.copulas:
        return reading.word(at + 3) not in {"un", "une", "des", "le", "la", "les", "de"}
    return not verb or verb in {"peut", "peuvent", "doit", "doivent", "saurait", "sauraient"}
