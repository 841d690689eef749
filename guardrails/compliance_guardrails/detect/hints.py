"""Reasoning from a group without a connector: a verdict set beside it, mistrust of it, surprise at one of it.

"C’est une femme, elle conduit moins bien", "me méfier d’un assuré gitan", "pour une femme, elle s’y connaît bien".
Candidates only; reasoning.py gathers them with the other families.
"""

from __future__ import annotations

from collections.abc import Iterator

from .persons import SAID, names_group, said_of_person
from .phrases import Hit
from .polarity import unfavourable
from .reading import PARTS, PUNCTUATION, STRONG, Reading, Reason
from .rulebook import Mention
from .rules_models import Characteristic
from .told import FACTS

VERDICT_REACH = 8
MISTRUST_REACH = 4
SURPRISE_REACH = 7
_THEY = frozenset({"il", "elle", "ils", "elles"})
_GUESSED = frozenset({"forcement", "surement"})
_LESS = _GUESSED | {"moins", "mal"}
_ACCUSED = frozenset({"menti", "exagere", "invente", "gonfle", "triche", "simule", "fraude", "provoque", "vole"})
_TOLD = frozenset({"a", "ont", "avait", "avaient"})
_OURS = frozenset({"je", "j", "on", "nous", "me", "m"})
_ADVISED = ("er", "ez", "ons")
_OTHERS = frozenset({"doit", "doivent", "peut", "peuvent", "faire", "aider", "apprendre"})
_MANY = frozenset({"les", "des", "aux", "ces"})
_IMPERSONAL = frozenset({"faut", "y", "existe", "suffit", "convient"})
_COVERED = ("couver", "couvr", "assur", "garanti", "indemni", "protege", "rembours", "inscri", "affili")
_OURSELVES = frozenset({"nous", "vous", "toi"})
_SHE_OR_HE = {"un": "il", "une": "elle"}
_SURPRISED = frozenset({"plutot", "vraiment", "tres", "etonnamment", "sacrement", "drolement", "parfaitement"})


def find(reading: Reading) -> Iterator[Reason]:
    """All candidates of a sentence; they may overlap."""
    taken_up = not _THEY.isdisjoint(reading.words)
    for hit in reading.telling if taken_up else ():
        if hit.value.ignored or hit.value.kind not in SAID:
            continue
        end = _verdict(reading, hit)
        if end is not None:
            yield Reason("consequence", hit.value.characteristic, hit.start, end)
        if _surprising(reading, hit):
            yield Reason("as-member", hit.value.characteristic, hit.start, hit.end)
    if reading.grammar.mistrust.isdisjoint(reading.words):
        return
    for at, word in enumerate(reading.words):
        if word not in reading.grammar.mistrust or not _ours(reading, at):
            continue
        for hit in reading.telling:
            if hit.value.kind in SAID and _mistrusted(reading, at, hit):
                yield Reason("consequence", hit.value.characteristic, at, hit.end)


def _verdict(reading: Reading, hit: Hit[Mention]) -> int | None:
    """Where an unfavourable verdict ends that stands beside what somebody is: "c’est un vieux, il …"."""
    part = next((at for at in range(hit.end, hit.end + 2) if reading.word(at) in PUNCTUATION), None)
    if part is None or reading.words[part] not in PARTS or reading.word(part + 1) not in _THEY:
        return None
    own = not reading.grammar.copulas.isdisjoint(reading.words[hit.start : hit.end])  # the entry "c’est une femme"
    if not own and (reading.copula_before(hit.start, 3) is None or not said_of_person(reading, hit, 0)):
        return None
    last = part + 2
    while last < min(len(reading.words), part + 2 + VERDICT_REACH) and reading.words[last] not in STRONG:
        last += 1
    for found in reading.predicates:
        if part + 1 < found.start < last and found.value.family == "stereotype" and unfavourable(reading, found):
            return found.end
    if reading.word(part + 2) in _TOLD:  # never "elle a mal compris la notice"
        return part + 4 if reading.word(part + 3) in _ACCUSED else None
    telling = _GUESSED if hit.value.characteristic in FACTS else _LESS
    return next((at + 1 for at in range(part + 2, last) if reading.words[at] in telling), None)


def _surprising(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Pour une femme, elle connaît bien les voitures": at the head of a clause, then praise of that one."""
    word = reading.word
    article = hit.start
    while article < hit.end and word(article) not in _SHE_OR_HE:
        article += 1
    if article == hit.end:
        article = hit.start - 1
    if word(article - 1) not in {"pour", "for"} or word(hit.end) != ",":
        return False
    lead, pronoun = word(article - 2), _SHE_OR_HE.get(word(article))
    if (lead and lead not in PUNCTUATION) or word(hit.end + 1) != pronoun or _impersonal(reading, hit.end + 2):
        return False
    said = reading.words[hit.end + 2 : hit.end + 2 + SURPRISE_REACH]
    if any(word.startswith(_COVERED) for word in said):
        return False
    return not (reading.grammar.evaluations | _SURPRISED).isdisjoint(said)


def _impersonal(reading: Reading, verb: int) -> bool:
    """ "Il faut", "il s’agit", "il est bon de": nobody is meant by the pronoun."""
    if reading.word(verb) == "est":
        return reading.word(verb + 2) in {"de", "d", "que", "qu"}
    return reading.word(verb) in _IMPERSONAL or reading.words[verb : verb + 2] == ["s", "agit"]


def _ours(reading: Reading, at: int) -> bool:
    """True when it is we who mistrust, or are told to: not "la police soupçonne" nor "les aînés doivent se méfier"."""
    if reading.negated(at) or reading.word(at + 1) in {"pas", "plus"}:
        return False
    if not reading.words[at].endswith(_ADVISED):
        return not _OURS.isdisjoint(reading.before(at, 3))
    return _OTHERS.isdisjoint(reading.before(at, 4)) or not _OURS.isdisjoint(reading.before(at, 4))


def _mistrusted(reading: Reading, verb: int, hit: Hit[Mention]) -> bool:
    """True when the group is what is mistrusted: it follows the verb at once, or a noun of persons that it tells of."""
    verb += reading.word(verb + 1) in _OURSELVES
    gap = reading.words[verb + 1 : hit.start]
    if hit.start <= verb or len(gap) > MISTRUST_REACH:
        return False
    if any(word not in reading.grammar.articles and at not in reading.persons for at, word in enumerate(gap, verb + 1)):
        return False
    if hit.value.characteristic is Characteristic.SEX:
        return bool(gap) and gap[-1] in _MANY
    return names_group(reading, hit) or said_of_person(reading, hit, verb + 1)
