"""The verdict of a query on somebody, where it stands in a part of its own, by words and short distances.

A decision, an order, a refusal foretold, a guess, a suspicion, a burden asked for; not what people decide for
themselves. apart.py sets it beside what somebody is, lifted.py beside a fact of life. Knows no rule of the bias screen.
"""

from __future__ import annotations

from collections.abc import Sequence

from .needs import foretells
from .polarity import unfavourable
from .reading import NE, PARTS, WE, Reading
from .rules_models import Characteristic
from .told import FACTS, HELPED

JOINS = PARTS | {"et", "donc", "alors"}
THEY = frozenset({"il", "elle", "ils", "elles", "ce", "cela"})
_THEMSELVES = frozenset({"il", "elle", "ils", "elles", "se", "s"})
GUESS = frozenset({"forcement", "surement", "certainement", "probablement", "evidemment"})
_NATURAL = frozenset({"etonnant", "etonne", "surprenant"})
DOUBT = frozenset({
    "louche", "louches", "pue", "pincettes", "fraude", "controle", "enquete", "mefie", "mefions", "trompe", "arrange",
    "arnaque", "soupconne", "soupconnons", "menti", "combine", "bidon", "credible",
} | _NATURAL)  # fmt: skip
BURDENS = frozenset({
    "supplementaire", "supplementaires", "caution", "garant", "acompte", "surprime", "controle", "controles", "reserve",
    "justificatif", "justificatifs",
})  # fmt: skip
MUST = frozenset({"devra", "devrait", "doit", "exige", "exigez", "faut", "demande", "demandez", "ajoute", "ajoutez"})
NEVER = frozenset({"pas", "plus", "jamais", "guere"})
_CLITICS = frozenset({"le", "la", "les", "l", "lui", "leur", "s", "se", "y", "en"})
_UNABLE = frozenset({"sait", "peut", "comprend", "suit"})
_CALLS = frozenset({"appel", "appels", "telephone", "oral"})


def verdict(reading: Reading, about: Characteristic, first: int, last: int) -> tuple[int, int] | None:
    """The first decision, order, forecast, guess or suspicion between two tokens, not what they do themselves."""
    words = reading.words
    part = words[first:last]
    for found in reading.predicates:
        if not first <= found.start < last or their_own(reading, found.start):
            continue
        if found.value.family == "stereotype" and (about in FACTS or WE.isdisjoint(part)):
            continue
        calls = not _CALLS.isdisjoint(words[found.end : found.end + 2])
        if not calls and _ours(words, found.start, first) and unfavourable(reading, found):
            return found.start, found.end
    if about in FACTS:
        return _denied(reading, first, last, facts=True)
    guess = next((at for at in range(first, last) if words[at] in GUESS or words[at] in DOUBT), None)
    if guess is not None and (words[guess - 1] != "pas" or words[guess] in _NATURAL):
        return guess, guess + 1
    burdened = not (MUST.isdisjoint(part) or BURDENS.isdisjoint(part))
    if about not in HELPED or about is Characteristic.AGE:
        return (first, last) if burdened or part == ["non"] else _denied(reading, first, last)
    return None


def _ours(words: list[str], at: int, first: int) -> bool:
    """True when a verb is an order or what we do: "refuse", "je la bloque", "à refuser"."""
    return at - first <= 1 or not WE.isdisjoint(words[max(first, at - 3) : at])


def _denied(reading: Reading, first: int, last: int, *, facts: bool = False) -> tuple[int, int] | None:
    """An order not to, a refusal foretold, an incapacity; `facts`: only of a thing of theirs ("sa demande n’ira …")."""
    words = reading.words
    at = next((at for at in range(first, last) if words[at] in NE), last)
    if at == last or (facts and (at == first or words[at - 1] in THEY or at - 1 in reading.persons)):
        return None
    return (at, at + 3) if foretold(words, at) else None


def foretold(words: Sequence[str], at: int) -> bool:
    """ "Ne la mets pas", "il ne s’adaptera pas", "n’a plus" at "ne"."""
    verb = at + 1
    while verb < len(words) and words[verb] in _CLITICS:
        verb += 1
    after = words[verb : verb + 3]
    if NEVER.isdisjoint(after[1:]):
        return False
    if at == 0 or words[at - 1] in JOINS:
        return not after[0].endswith(("t", "ait", "ez"))
    return foretells(f"{after[0]} ") or after[0] in _UNABLE or after[:2] == ["a", "plus"]


def their_own(reading: Reading, verb: int) -> bool:
    """ "Mme Ferry préfère", "elle refuse", "se méfier": what they do themselves."""
    last = reading.word(verb - 1)
    return verb > 1 and (last in _THEMSELVES or (last.isalpha() and reading.sentence.capital(verb - 1)))
