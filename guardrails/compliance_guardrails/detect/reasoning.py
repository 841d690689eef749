"""Reasoning from a protected attribute by cause: a conjunction and a clause, a locution and a noun.

Each takes a read sentence and gives candidates; comparison, membership and consequence are in comparisons.py, vetoes
and flags in attributes.py. Word lists come from the book; what is here is how far a connector reaches.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import comparisons, hints
from .persons import loose_quality, said_of_person
from .phrases import Hit
from .reading import PUNCTUATION, Reading, Reason
from .rulebook import Mention
from .rules_models import Characteristic
from .told import caused_event, civil_event, own, state_of_thing
from .unlisted import plausible

CLAUSE_REACH = 14
NOUN_REACH = 7
WITH_REACH = 3
MEASURE_REACH = 6
DENIED_REACH = 6
_PASSIVES = frozenset({"ete", "was", "were", "been"})
_WITH_OR_FOR = frozenset({"pour", "for", "avec", "with"})
_HE, _SHE, _BOTH = ("il",), ("elle",), ("il", "elle")
_TAKEN_UP = {"le": _HE, "ce": _HE, "cet": _HE, "un": _HE, "la": _SHE, "cette": _SHE, "une": _SHE, "l": _BOTH}
_ONE_OF = frozenset({"un", "une"})
_OF_BOTH = frozenset({"origine", "provenance", "trop"})
_AFFAIRS = frozenset({
    "dossier", "demande", "candidature", "cas", "plainte", "reclamation", "declaration", "histoire", "version", "refus",
    "pret", "credit", "promotion", "mission", "poste", "contrat",
})  # fmt: skip
_AGENTS = (
    "eur",
    "euse",
    "trice",
    "ier",
    "iere",
    "ien",
    "ienne",
    "iste",
    "ant",
    "ante",
    "aire",
    "ais",
    "aise",
    "ois",
    "oise",
)
_PERSONAL = frozenset({"il", "elle", "lui", "son", "sa", "ses", "leur", "leurs", "on", "je", "j", "nous", "vous"})
_OF_PERSONS_ONLY = frozenset({
    Characteristic.RELIGION, Characteristic.SEXUAL_ORIENTATION, Characteristic.SOCIAL_ORIGIN, Characteristic.DISABILITY,
    Characteristic.POLITICAL_OPINION, Characteristic.GENDER_IDENTITY, Characteristic.PREGNANCY,
})  # fmt: skip
_DECIDING = frozenset({"compagnie", "banque", "agence", "mutuelle", "assureur", "direction"})
_NOT = frozenset({"pas", "not"})
_STOPS = frozenset(";?!.:")


def find(reading: Reading) -> Iterator[Reason]:
    """All candidates of a sentence, family by family; they may overlap."""
    if not reading.may_reason:
        return
    yield from _clauses(reading)
    yield from _nouns(reading)
    yield from comparisons.find(reading)
    yield from hints.find(reading)


def found(reading: Reading) -> list[Reason]:
    """`find` worked out once for a reading: the flags of a query and the screen of an answer both ask for it."""
    if reading.reasons is None:
        reading.reasons = list(find(reading))
    return reading.reasons


def _clauses(reading: Reading) -> Iterator[Reason]:
    starts = [(hit.start, hit.end) for hit in reading.marks.get("clause_connectors", ())]
    starts += _causal_comme(reading)
    for begin, first in starts:
        if _cause_denied(reading, begin) or reading.word(first) in {"je", "j", "on"}:
            continue  # "parce que je suis enceinte", "parce qu’on est âgé": told of oneself
        last = _clause_end(reading, first)
        thing = _takes_up_a_thing(reading, begin, first)
        both = {hit[:2] for hit in reading.telling if hit.value.kind == "loose_qualities"} if thing else ()
        for hit in reading.telling:
            if thing and (hit.value.kind == "loose_qualities" or hit[:2] in both or _of_both(reading, hit)):
                continue
            if not (begin <= hit.start and first < hit.end <= last and said_of_person(reading, hit, first)):
                continue
            if not (civil_event(reading, begin, hit) or caused_event(reading, begin, hit)):
                yield Reason("causal-clause", hit.value.characteristic, begin, hit.end)
        for at in told_ages(reading, first, last):
            if not reading.thing_subject(first, at):
                yield Reason("causal-clause", Characteristic.AGE, begin, at + 1)


def _cause_denied(reading: Reading, begin: int) -> bool:
    """ "Ce n’est pas parce qu’il est âgé", "n’a pas été refusée à cause de …", "rien à voir avec son …"."""
    words = reading.words
    back = words[max(0, begin - DENIED_REACH) : begin]
    if words[begin] in {"avec", "with"}:
        return back[-3:] == ["rien", "a", "voir"]
    if back[-2:-1] == ["pas"] and back[-3:-2] in ([","], ["et"], ["mais"]) and not reading.sentence.is_question:
        return True  # "…, pas déclenché parce que"
    if back[-1:] in (["pas"], ["non"], ["nullement"], ["aucunement"]) or (back[-1:] == ["not"] and len(back) > 1):
        return not reading.sentence.is_question
    if _NOT.isdisjoint(back) or (_PASSIVES.isdisjoint(back) and reading.sentence.is_question):
        return False
    denied = begin - len(back) + next(at for at, word in enumerate(back) if word in _NOT)
    return any(
        hit.end == begin and hit.start > denied and hit.value.polarity == "negative" for hit in reading.predicates
    )


def _takes_up_a_thing(reading: Reading, begin: int, first: int) -> bool:
    """ "Cette huile est chère parce qu’elle est italienne": a pronoun for the noun that heads the sentence.

    Not for a noun that a person's affairs go by ("le dossier"), nor one that may name a person ("la caissière").
    """
    article, noun = reading.word(0), reading.word(1)
    if article in _ONE_OF and reading.things.isdisjoint({1, 2}):
        return False
    if reading.word(first) not in _TAKEN_UP.get(article, ()) or noun in _AFFAIRS or noun.endswith(_AGENTS):
        return False
    nobody = reading.persons.isdisjoint(range(begin)) and reading.inside.isdisjoint(range(begin))
    return nobody and _PERSONAL.isdisjoint(reading.words[:begin])


def _of_both(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "D’origine latine", "trop vieux": what is said of persons and of things alike."""
    return not _OF_BOTH.isdisjoint(reading.words[hit.start : hit.end])


def _clause_end(reading: Reading, first: int) -> int:
    words = reading.words
    limit = min(len(words), first + CLAUSE_REACH)
    for at in range(first, limit):
        abridged = words[at] == "." and words[at - 1] in reading.grammar.titles  # "que M. Diop est …"
        if (words[at] in _STOPS and not abridged) or (words[at] in {",", '"', ")"} and at - first >= 3):
            return at
    return limit


def _causal_comme(reading: Reading) -> list[tuple[int, int]]:
    """ "Comme elle est enceinte, …": at the head of a clause, before a pronoun or a noun phrase with a verb."""
    out: list[tuple[int, int]] = []
    words, grammar = reading.words, reading.grammar
    if "comme" not in words and "as" not in words:
        return out
    for at, word in enumerate(words):
        if word not in {"comme", "as"}:
            continue
        lead = reading.word(at - 1)
        if lead and lead not in PUNCTUATION and lead not in {"et", "mais", "ou"}:
            continue
        follow = reading.word(at + 1)
        noun = (
            follow in grammar.articles or follow in grammar.possessives or follow in {"m", "mme", "monsieur", "madame"}
        )
        if follow in grammar.pronouns or (noun and reading.word(at + 3) != ","):
            out.append((at, at + 2))
    return out


def told_ages(reading: Reading, first: int, last: int) -> Iterator[int]:
    """Positions of "ans" in ages in figures said of someone: "il a 82 ans", never "20 ans de permis"."""
    words, grammar = reading.words, reading.grammar
    for at in range(first + 1, last):
        if words[at] not in grammar.units_of_age or not plausible(words[at - 1]):
            continue
        if reading.word(at + 1) in {"de", "d"}:
            continue
        back = words[max(first, at - 4) : at - 1]
        if back and back[-1] in grammar.has_number and not {"y", "depuis"}.intersection(back):
            yield at


def _nouns(reading: Reading) -> Iterator[Reason]:
    words, grammar = reading.words, reading.grammar
    for mark in reading.marks.get("noun_connectors", ()):
        if words[mark.start] != "vu" or _vu(reading, mark.start, mark.end):
            yield from _noun_after(reading, mark.start, mark.end)
    if _WITH_OR_FOR.isdisjoint(words):
        return
    for at, word in enumerate(words):
        follow = reading.word(at + 1)
        if word in {"pour", "for"} and follow in grammar.possessives:
            if any(at - MEASURE_REACH <= hit.start < at for hit in reading.marks.get("measures", ())):
                yield from _noun_after(reading, at, at + 1)
        elif word in {"avec", "with"} and (follow in grammar.possessives or follow in {"un", "une"}):
            yield from _noun_after(reading, at, at + 1, WITH_REACH)


def _vu(reading: Reading, begin: int, first: int) -> bool:
    """ "vu son âge", not "j’ai vu son âge" nor "point de vu"."""
    if reading.word(begin - 1) in reading.grammar.seen:
        return False
    follow = reading.word(first)
    return follow in reading.grammar.possessives or follow in {"l", "le", "la", "les", "cet", "cette"}


def _noun_after(reading: Reading, begin: int, first: int, reach: int = NOUN_REACH) -> Iterator[Reason]:
    words = reading.words
    last = min(len(words), first + reach)
    if _cause_denied(reading, begin):
        return
    thing = _of_thing_ahead(reading, begin, first)
    vetoes = {at for hit in reading.marks.get("gap_vetoes", ()) for at in range(hit.start, hit.end)}
    for at in range(first, last):
        if words[at] in _STOPS or words[at] == "," or at in vetoes:
            last = at
            break
    for hit in reading.telling:
        if thing and hit.value.characteristic not in _OF_PERSONS_ONLY:
            continue
        if not (first - 1 <= hit.start < last and hit.end > first and _counts(reading, hit, first)):
            continue
        if not (own(reading, hit) or caused_event(reading, begin, hit) or civil_event(reading, begin, hit)):
            yield Reason("causal-noun", hit.value.characteristic, begin, hit.end)
    for at in range(first + 1, last) if not thing else ():
        owned = words[at - 2] in reading.grammar.possessives
        if owned and words[at] in reading.grammar.units_of_age and words[at - 1].isdigit():
            yield Reason("causal-noun", Characteristic.AGE, begin, at + 1)


def _of_thing_ahead(reading: Reading, begin: int, first: int) -> bool:
    """ "Compte tenu de son âge, la toiture …": at the head, the owner is the subject that follows the comma."""
    if begin > 0 or reading.word(first) not in reading.grammar.third_person:
        return False
    comma = next(
        (at for at in range(first, min(len(reading.words), first + MEASURE_REACH)) if reading.words[at] == ","), 0
    )
    if not _DECIDING.isdisjoint(reading.words[comma + 1 : comma + 4]):
        return False
    near = set(range(comma + 1, comma + 4))
    return comma > 0 and not near.isdisjoint(reading.things) and near.isdisjoint(reading.persons)


def _counts(reading: Reading, hit: Hit[Mention], first: int) -> bool:
    """True when the mention is what a causal locution that ends before `first` reasons from."""
    start, end, mention = hit.start, hit.end, hit.value
    if mention.ignored:
        return False
    match mention.kind:
        case "slurs":
            return True
        case "phrases":
            return not state_of_thing(reading, hit)
        case "people" | "qualities" | "loose_qualities":
            return _group_counts(reading, hit, first)
        case _:
            return _attribute_counts(reading, start, end, mention, owned=_owned(reading, first, start))


def _owned(reading: Reading, first: int, start: int) -> bool:
    return not reading.grammar.possessives.isdisjoint(reading.words[first - 1 : start])


def _group_counts(reading: Reading, hit: Hit[Mention], first: int) -> bool:
    """ "à cause des étrangers", "son statut de réfugié"."""
    gap = reading.words[first : hit.start]
    if not reading.grammar.statuses.isdisjoint(gap):
        return True
    if hit.value.kind == "loose_qualities":
        return loose_quality(reading, hit.start, hit.end, first)
    last = gap[-1] if gap else reading.word(first - 1)
    return last in {"les", "des", "aux"} and hit.value.characteristic is not Characteristic.SEX


def _attribute_counts(reading: Reading, start: int, end: int, mention: Mention, *, owned: bool) -> bool:
    """ "son âge", "la religion du client"; not "l’âge du véhicule" nor "son âge" of a roof."""
    following = reading.complement(end)
    about_thing = reading.about_thing(start)
    if mention.kind == "sure_attributes":
        return following != "thing" and (owned or not about_thing)
    if following in {"thing", "other"}:
        return False
    if following == "person" or owned:
        return following == "person" or not about_thing
    return (not mention.weak or reading.word(end) == "comme") and not about_thing
