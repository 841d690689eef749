"""Whether a listed predicate is unfavourable as it stands: negation, "moins", "rarement", the passive.

"ne sont pas fiables", "moins fiables" and "sont paresseux" are unfavourable; "ne sont pas dangereux" is not. Serves
SPEC 2.6.
"""

from __future__ import annotations

from .phrases import Hit
from .reading import PUNCTUATION, Reading
from .rulebook import Predicate

BACK = 3
AHEAD = 3


def unfavourable(reading: Reading, hit: Hit[Predicate]) -> str | None:
    """The family of a predicate that is unfavourable as it stands in its sentence, else None."""
    family, polarity = hit.value.family, hit.value.polarity
    if polarity == "essential":
        return None
    grammar, words = reading.grammar, reading.words
    back = _before(reading, hit.start)
    negated = reading.negated(hit.start) or _negated_after(reading, hit.end)
    if polarity == "able":
        rare = not grammar.seldom.isdisjoint(back) or not grammar.seldom.isdisjoint(words[hit.end : hit.end + 2])
        return family if negated or rare else None
    less = _lessened(back, grammar.less)
    if polarity == "positive":
        return family if negated != less else None
    if family == "stereotype" and back[-1:] == ["ete"]:
        return None  # "a été brûlé": suffered, not done
    negative_itself = not grammar.negations.isdisjoint(words[hit.start : hit.end])
    return None if less or (negated and not negative_itself) else family


def _before(reading: Reading, start: int) -> list[str]:
    """The last tokens before a predicate, without those of a mention ("qui parlent mal français")."""
    first = start - len(reading.before(start, BACK))
    return [reading.words[at] for at in range(first, start) if at not in reading.inside]


def _lessened(back: list[str], less: frozenset[str]) -> bool:
    """ "moins", "peu", but not "un peu"."""
    return any(word in less and not (word == "peu" and back[at - 1 : at] == ["un"]) for at, word in enumerate(back))


def _negated_after(reading: Reading, end: int) -> bool:
    """ "n’embauchez pas", "embauchez pas", "ne savent pas": the negation that follows a verb."""
    for word in reading.words[end : end + AHEAD]:
        if word in PUNCTUATION:
            return False
        if word in reading.grammar.trailing_negations:
            return True
    return False
