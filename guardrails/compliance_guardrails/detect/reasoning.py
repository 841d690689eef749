"""The five families of reasoning from a protected attribute: cause + clause, cause + noun, comparison, membership,
consequence. Each takes a read sentence and gives candidates; vetoes and flags are put together in attributes.py.

Word lists come from the book; what is here is only how far a connector reaches and when a word of a group is said of
a person. Serves SPEC 2.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .phrases import Hit
from .reading import ARTICLES, COPULAS, PLURALS, POSSESSIVES, PRONOUNS, PUNCTUATION, Reading
from .rulebook import Mention
from .rules_models import Characteristic

CLAUSE_REACH = 14
NOUN_REACH = 7
COMPARE_REACH = 12
_BARE = frozenset("than from to for hire recruit insure against of and or with these those because so that if".split())
_LIGHT = frozenset(
    "pas plus trop tres si un une des de d aussi assez plutot bien encore deja vraiment est not very too a an so quite "
    "nationalite origine peut etre sans doute qu que tellement un peu juste tout toute also only still jamais".split()
)
_STOPS = frozenset(";?!.:")
_SOME = frozenset("un une a an des tel telle simple seul seule".split())
_STATUS = frozenset("statut condition qualite situation etat profil communaute".split())
_HAVE = frozenset("a ont avait avaient ai as avons avez ayant aura aurait avoir has have had de plus que deja".split())
_NOT_AGE = frozenset("de d du depuis y permis anciennete".split())
_AT_AGE_OK = frozenset(
    "adapte adaptee adaptes adaptees correspond correspondant relatif relative lie liee liees rapport egal quant "
    "superieur superieure inferieur equivalent conforme propre proportionnel proportionnelle regard due du".split()
)


class Reason(NamedTuple):
    """A candidate: the tokens from the connector to the attribute, and what they reason from."""

    rule: str
    characteristic: Characteristic
    start: int
    end: int


def find(reading: Reading) -> Iterator[Reason]:
    """All candidates of a sentence, family by family; they may overlap."""
    yield from _clauses(reading)
    yield from _nouns(reading)
    yield from _comparisons(reading)
    yield from _members(reading)
    yield from _consequences(reading)


def said_of_person(reading: Reading, hit: Hit[Mention], first: int) -> bool:
    """True when the mention is predicated of a person, or names persons, in the tokens from `first` on."""
    words = reading.words
    start, end, mention = hit.start, hit.end, hit.value
    if mention.ignored:
        return False
    back = words[max(first, start - 4) : start]
    last = back[-1] if back else ""
    match mention.kind:
        case "phrases" | "slurs":
            return True
        case "people":
            if mention.characteristic is Characteristic.SEX:
                return (
                    any(word in COPULAS for word in back) and last in _SOME | {"femme", "homme"}
                ) or last in {"les", "des", "aux"}
            copula = reading.copula_before(start, 4)
            if reading.thing_near(start, end) or (copula is not None and _thing_subject(reading, copula, first)):
                return False
            return last not in POSSESSIVES and (last != "la" or any(word in COPULAS for word in back))
        case "qualities":
            return said_quality(reading, start, end, first)
        case "loose_qualities":
            return _loose(reading, start, end, first)
        case "sure_attributes":
            return reading.possessed(start) or reading.complement(end) == "person"
        case _:
            if mention.weak or reading.about_thing(start):
                return False
            return reading.possessed(start) or reading.complement(end) == "person"


def _loose(reading: Reading, start: int, end: int, first: int) -> bool:
    words = reading.words
    if reading.thing_near(start, end):
        return False
    copula = reading.copula_before(start, 5)
    if copula is not None and copula >= first - 1 and _only_adverbs(words[copula + 1 : start]):
        return not _thing_subject(reading, copula, first)
    if reading.person_before(start):
        return True
    if words[end : end + 2] in (["comme", "il"], ["comme", "elle"]):
        return True
    last = words[start - 1] if start else ""
    if last in {"un", "une", "les", "des", "aux", "ces", "cet", "trop", "tous", "si", "d", "of", "qu"}:
        return end >= len(words) or end not in reading.things
    return False


def _only_adverbs(gap: list[str]) -> bool:
    """True when nothing but adverbs, articles and negation stands between a copula and an adjective."""
    return all(word in _LIGHT or word.endswith(("ment", "ly")) for word in gap)


def _thing_subject(reading: Reading, copula: int, first: int) -> bool:
    """Whether the subject between `first` and the copula, or what its pronoun stands for, is a thing."""
    for at in range(first, copula):
        if at in reading.persons:
            return False
        if at in reading.things:
            return True
    return reading.about_thing(first, strict=False) and not any(
        word in {"c", "he", "she", "they"} for word in reading.words[first:copula]
    )


def _clause_end(reading: Reading, first: int) -> int:
    words = reading.words
    limit = min(len(words), first + CLAUSE_REACH)
    for at in range(first, limit):
        word = words[at]
        if word in _STOPS or (word in {",", '"', ")"} and at - first >= 3):
            return at
    return limit


def _clauses(reading: Reading) -> Iterator[Reason]:
    starts = [(hit.start, hit.end) for hit in reading.marks.get("clause_connectors", ())]
    starts += _causal_comme(reading)
    for begin, first in starts:
        last = _clause_end(reading, first)
        for hit in reading.telling:
            if first <= hit.start and hit.end <= last and said_of_person(reading, hit, first):
                yield Reason("causal-clause", hit.value.characteristic, begin, hit.end)
        for at in _ages(reading, first, last):
            if not _thing_subject(reading, at, first):
                yield Reason("causal-clause", Characteristic.AGE, begin, at + 1)


def _causal_comme(reading: Reading) -> list[tuple[int, int]]:
    """ "Comme elle est enceinte, …": at the head of a clause, before a pronoun or a noun phrase with a verb."""
    out = []
    words = reading.words
    for at, word in enumerate(words):
        if word not in {"comme", "as"} or (at and words[at - 1] not in PUNCTUATION | {"et", "mais", "ou"}):
            continue
        follow = words[at + 1] if at + 1 < len(words) else ""
        if follow in PRONOUNS or (
            follow in ARTICLES | POSSESSIVES | {"m", "mme", "monsieur", "madame"} and words[at + 3 : at + 4] != [","]
        ):
            out.append((at, at + 2))
    return out


def _ages(reading: Reading, first: int, last: int) -> Iterator[int]:
    """Positions of "ans" in ages said of someone: "il a 82 ans", never "depuis 20 ans" or "20 ans de permis"."""
    words = reading.words
    for at in range(first + 1, last):
        if words[at] not in {"ans", "years"} or not words[at - 1].isdigit():
            continue
        if not 14 <= int(words[at - 1][:4]) <= 115 or words[at + 1 : at + 2] in (["de"], ["d"]):
            continue
        back = words[max(first, at - 4) : at - 1]
        if back and back[-1] in _HAVE and not any(word in {"y", "depuis", "il_y_a"} for word in back):
            yield at


def _nouns(reading: Reading) -> Iterator[Reason]:
    words = reading.words
    for mark in reading.marks.get("noun_connectors", ()):
        begin, first = mark.start, mark.end
        if words[begin] == "vu" and not _vu(reading, begin, first):
            continue
        yield from _noun_after(reading, begin, first, "causal-noun")
    for at, word in enumerate(words):
        if word in {"pour", "for"} and words[at + 1 : at + 2] and words[at + 1] in POSSESSIVES:
            if any(at - 6 <= hit.start < at for hit in reading.marks.get("measures", ())):
                yield from _noun_after(reading, at, at + 1, "causal-noun")
        elif word in {"avec", "with"} and words[at + 1 : at + 2] and words[at + 1] in POSSESSIVES | {"un", "une"}:
            yield from _noun_after(reading, at, at + 1, "causal-noun", reach=3)


def _vu(reading: Reading, begin: int, first: int) -> bool:
    """ "vu son âge", not "j’ai vu son âge" nor "point de vu"."""
    words = reading.words
    if begin and words[begin - 1] in {"ai", "as", "a", "avons", "avez", "ont", "ete", "jamais", "deja", "bien", "de"}:
        return False
    return first < len(words) and words[first] in POSSESSIVES | {"l", "le", "la", "les", "cet", "cette"}


def _noun_after(reading: Reading, begin: int, first: int, rule: str, reach: int = NOUN_REACH) -> Iterator[Reason]:
    words = reading.words
    last = min(len(words), first + reach)
    vetoes = {at for hit in reading.marks.get("gap_vetoes", ()) for at in range(hit.start, hit.end)}
    for at in range(first, last):
        if words[at] in _STOPS or words[at] == "," or at in vetoes:
            last = at
            break
    for hit in reading.telling:
        if first - 1 <= hit.start < last and hit.end > first and _noun_counts(reading, hit, first):
            yield Reason(rule, hit.value.characteristic, begin, hit.end)
    for at in range(first + 1, last):
        if words[at] == "ans" and words[at - 1].isdigit() and words[at - 2] in POSSESSIVES:
            yield Reason(rule, Characteristic.AGE, begin, at + 1)


def _noun_counts(reading: Reading, hit: Hit[Mention], first: int) -> bool:
    start, end, mention = hit.start, hit.end, hit.value
    if mention.ignored:
        return False
    gap = reading.words[first:start]
    owned = any(word in POSSESSIVES for word in gap)
    match mention.kind:
        case "phrases" | "slurs":
            return True
        case "people" | "qualities" | "loose_qualities":
            if any(word in _STATUS for word in gap):
                return True
            if mention.kind == "loose_qualities":
                return _loose(reading, start, end, first)
            plural = gap[-1:] in (["les"], ["des"], ["aux"]) or (not gap and reading.words[first - 1] in {"des", "aux"})
            return plural and mention.characteristic is not Characteristic.SEX
        case "sure_attributes":
            return reading.complement(end) != "thing" and (owned or not _object_owner(reading, start))
        case _:
            following = reading.complement(end)
            if following in {"thing", "other"}:
                return False
            if following == "person":
                return True
            if owned:
                return not reading.about_thing(start) or _sure_person(reading, start)
            return not mention.weak and not reading.about_thing(start)


def _object_owner(reading: Reading, index: int) -> bool:
    return reading.about_thing(index)


def _sure_person(reading: Reading, index: int) -> bool:
    """A person named in the sentence outside the complement of a thing at its head."""
    things = [at for at in reading.things if at < index]
    persons = [at for at in reading.persons if at < index]
    return bool(persons) and (not things or min(persons) < min(things))


def names_group(reading: Reading, hit: Hit[Mention]) -> bool:
    """True when the mention stands for a group of people ("les étrangers", "un handicapé"), not for a detail."""
    start, end, mention = hit.start, hit.end, hit.value
    words = reading.words
    last = words[start - 1] if start else ""
    following = words[end] if end < len(words) else ""
    if mention.kind == "people":
        if mention.characteristic is Characteristic.SEX:
            return _any_of_sex(last, following)
        return last not in POSSESSIVES
    if mention.kind not in {"qualities", "loose_qualities"} or reading.thing_near(start, end):
        return False
    if end in reading.persons or (reading.person_before(start, 2) and words[end - 1].endswith("s")):
        return True
    if words[end - 1].endswith("s") and (not last or last in PUNCTUATION | _BARE):
        return end not in reading.things
    return last in PLURALS | {"un", "une", "d", "qu", "l", "a", "an"} and (end >= len(words) or end not in reading.things)


def _any_of_sex(last: str, following: str) -> bool:
    """ "les femmes", "un homme", "la femme est …"; not "sa femme", "la femme a signé", "un homme a été blessé"."""
    if last in POSSESSIVES:
        return False
    if last in {"la", "le", "l", "ce", "cet", "cette"}:
        return following in {"est", "doit", "reste"}
    return last not in {"un", "une"} or following not in {"a", "avait", "ayant", "s", "et", "decede", "qui"}


def said_quality(reading: Reading, start: int, end: int, first: int) -> bool:
    """True when an adjective that only persons have is said of somebody here, not of a "culte catholique"."""
    words = reading.words
    if reading.thing_near(start, end):
        return False
    last = words[start - 1] if start else ""
    return (
        start <= first
        or last in PUNCTUATION | PLURALS | {"un", "une", "etant", "trop", "tres", "si", "quelqu", "d", "qu", "not", "que", "and"}
        or reading.copula_before(start, 5) is not None
        or reading.person_before(start, 2)
        or end in reading.persons
        or words[end : end + 1] == ["comme"]
    )


def _comparisons(reading: Reading) -> Iterator[Reason]:
    words = reading.words
    groups = [hit for hit in reading.telling if names_group(reading, hit)]
    if not groups:
        return
    for mark in reading.marks.get("contrast", ()):
        for hit in groups:
            if mark.end - 1 <= hit.start <= mark.end + 3:
                yield Reason("comparison", hit.value.characteristic, mark.start, hit.end)
    for mark in reading.marks.get("likeness", ()):
        for hit in groups:
            if mark.end - 1 <= hit.start <= mark.end + 2 and hit.value.kind != "phrases" and not _as_well(reading, hit):
                yield Reason("comparison", hit.value.characteristic, mark.start, hit.end)
    for mark in reading.marks.get("comparison_words", ()):
        if not _compares(reading, mark.start):
            continue
        for hit in groups:
            gap = words[mark.end : hit.start]
            if 0 < len(gap) <= COMPARE_REACH and any(w in {"que", "qu", "than"} for w in gap[-4:]):
                if not any(w in {"autre", "autres"} and False for w in gap):
                    yield Reason("comparison", hit.value.characteristic, mark.start, hit.end)
            lead = words[hit.end : mark.start]
            if hit.end <= mark.start and len(lead) <= 6 and not any(w in PUNCTUATION for w in lead):
                if reading.generic(hit.start, hit.end) and _verb_between(lead):
                    yield Reason("comparison", hit.value.characteristic, hit.start, mark.end)


def _as_well(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Les femmes sont couvertes comme les hommes": the other side of one attribute, named before."""
    return any(
        other.value.characteristic is hit.value.characteristic and other.end <= hit.start - 1
        for other in reading.telling
    )


def _verb_between(lead: list[str]) -> bool:
    """Something between the group and the comparison, or nothing at all: never only "de" or "et"."""
    return bool(lead) and lead[0] not in {"de", "d", "du", "et", "ou", "a", "of", "and"}


def _compares(reading: Reading, at: int) -> bool:
    """ "plus" as a comparison: not "ne … plus", "plus de 65 ans", "au plus", "de plus", "le plus tôt"."""
    words = reading.words
    word = words[at]
    if word in {"plus", "moins"}:
        if word == "plus" and any(w in {"ne", "n"} for w in words[max(0, at - 5) : at]):
            return False
        if at and words[at - 1] in {"au", "de", "non", "le", "la", "les", "en", "du"}:
            return False
        if words[at + 1 : at + 2] == ["de"] and words[at + 2 : at + 3] and words[at + 2][0].isdigit():
            return False
        if words[at + 1 : at + 2] in (["tard"], ["tot"]):
            return any(w in {"que", "qu"} for w in words[at + 2 : at + 5])
        return words[at + 1 : at + 2] not in ([","], ["."])
    if word in {"meme", "memes", "aussi", "plutot"}:
        return any(w in {"que", "qu"} for w in words[at + 1 : at + 8])
    return True


def _members(reading: Reading) -> Iterator[Reason]:
    words = reading.words
    for mark in reading.marks.get("as_one", ()):
        for hit in reading.telling:
            if mark.end <= hit.start <= mark.end + 2 and hit.value.kind in {"people", "qualities", "loose_qualities", "phrases"}:
                if hit.value.ignored or reading.thing_near(hit.start, hit.end) or reading.about_thing(mark.start):
                    continue
                yield Reason("as-member", hit.value.characteristic, mark.start, hit.end)
    for hit in reading.telling:
        start, end, mention = hit.start, hit.end, hit.value
        if mention.characteristic is Characteristic.AGE and words[end - 1] == "age" and start:
            lead = start - 1 if words[start] in POSSESSIVES else start - 2
            if lead >= 0 and words[lead] == "a" and words[end - 2] in POSSESSIVES | {"cet"}:
                if not (lead and words[lead - 1] in _AT_AGE_OK) and not reading.about_thing(lead):
                    yield Reason("as-member", mention.characteristic, lead, end)
        if mention.kind == "phrases" and words[start] in {"trop", "too"} and not _thing_subject(reading, start, 0):
            yield Reason("as-member", mention.characteristic, start, end)
        if mention.kind in {"people", "loose_qualities", "qualities"} and start >= 2 and words[start - 1] in {"un", "une"}:
            if words[start - 2] == "pour" and start >= 3 and words[start - 3] in _EVALUATIONS:
                yield Reason("as-member", mention.characteristic, start - 3, end)


_EVALUATIONS = frozenset(
    "bien bon bonne bons mal normal normale etonnant etonnante courageux courageuse competent competente rapide "
    "risque risquee dangereux assez trop lourd raisonnable fiable serieux vite doue douee".split()
)


def _consequences(reading: Reading) -> Iterator[Reason]:
    words = reading.words
    for mark in reading.marks.get("consequences", ()):
        for hit in reading.telling:
            gap = words[hit.end : mark.start]
            if hit.end > mark.start or len(gap) > 6 or any(word in _STOPS - {":"} for word in gap):
                continue
            if hit.value.kind in {"attributes", "sure_attributes"} or not said_of_person(reading, hit, 0):
                continue
            if hit.value.kind == "people" and (hit.value.weak or reading.copula_before(hit.start, 3) is None):
                continue
            if hit.value.kind == "qualities" and (hit.value.weak or reading.copula_before(hit.start, 4) is None):
                continue
            yield Reason("consequence", hit.value.characteristic, hit.start, mark.end)
        for at in _ages(reading, 0, mark.start):
            if mark.start - at <= 4 and not _thing_subject(reading, at, 0):
                yield Reason("consequence", Characteristic.AGE, at - 1, mark.end)
    for mark in reading.marks.get("causal_verbs", ()):
        for hit in reading.telling:
            mention = hit.value
            if mention.kind not in {"attributes", "sure_attributes", "phrases"} or mention.ignored or mention.weak:
                continue
            if 0 <= mark.start - hit.end <= 4 and not any(w in PUNCTUATION for w in words[hit.end : mark.start]):
                owned = reading.possessed(hit.start) or reading.complement(hit.end) == "person" or mention.kind == "phrases"
                if owned and not reading.about_thing(hit.start):
                    yield Reason("consequence", mention.characteristic, hit.start, mark.end)
