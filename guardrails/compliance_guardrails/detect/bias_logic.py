"""How words join into biased statements: a group, something unfavourable said of it or decided about it, no veto.

For one read sentence: an insult listed as such; a trait or an incapacity ascribed to a group; a decision or an
instruction against it; reasoning from an attribute (reasoning.py). Forms that need no listed predicate (an order, a
refusal, a law about "all of them") are in bias_frames.py. Polarity is counted here: "ne sont pas fiables" is
unfavourable, "ne sont pas dangereux" is not. Serves SPEC 2.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import bias_frames, reasoning
from .bias_frames import Statement
from .phrases import Hit
from .reading import NEGATIONS, PUNCTUATION, Reading
from .rulebook import Mention, Predicate
from .rules_models import Characteristic

REACH = 30
AMONG_REACH = 6
_LESS = frozenset("moins peu mal less rarement rarely difficilement guere insuffisamment least hardly peine".split())
_SELDOM = frozenset("rarement rarely mal peu difficilement seldom hardly".split())
_MORE = frozenset("plus davantage mieux meilleur meilleure meilleurs meilleures more better".split())
_THAN = frozenset("que qu than".split())
_AMONG = frozenset("chez parmi dans among amongst by from des aux d avec".split())
_NO = (["non"], ["no"])
_ORDER = ("stereotype", "differential", "exclusion")


class Said(NamedTuple):
    """An unfavourable predicate with its family."""

    hit: Hit[Predicate]
    family: str


def find(reading: Reading, after: int | None = None) -> Iterator[Statement]:
    """All statements of a sentence; they may overlap (bias.py keeps one for each characteristic and span).

    `after`: only what is said from this token on counts (a question and the sentence that answers it).
    """
    if reading.has("bias_condemned") or (after is not None and reading.words[after : after + 1] in _NO):
        return
    question = reading.sentence.is_question
    reported = reading.has("bias_reported") or question
    helped = reading.has("bias_entitled")
    if not reported and after is None:
        for hit in reading.mentions:
            if hit.value.kind == "slurs" and hit.start not in reading.quoted:
                yield Statement(hit.value.characteristic, "slur", hit.start, hit.end, "slur")
    if question:
        return
    again = reading.has("anaphora")
    groups = [hit for hit in reading.mentions if stands_for_group(reading, hit, again=again)]
    owned = [hit for hit in reading.mentions if hit not in groups and owned_attribute(reading, hit)]
    if after is None and not reported:
        yield from _superior(reading, groups)
        yield from _essential(reading, groups)
    loose = [hit for hit in reading.mentions if hit not in groups and hit not in owned and _loosely(reading, hit)]
    said = [Said(hit, family) for hit in reading.predicates if (family := unfavourable(reading, hit))]
    if after is not None:
        said = [item for item in said if item.hit.start >= after]
    telling = {(hit.start, hit.end) for hit in reading.telling}
    if not helped:
        held_against = [hit for hit in owned if _another_s(reading, hit)]
        for found in bias_frames.find(reading, groups, held_against + loose, reported=reported):
            if found.family != "stereotype" and found.group not in telling:
                continue  # tenants, minors…: a decision about them is ordinary
            if after is None or (found.rule in {"order", "refusal"} and found.end > after):
                yield found
    yield from _said(reading, groups, owned, loose, said, reported=reported, helped=helped)
    if not helped and after is None:
        yield from _reasoned(reading, said)


def _said(  # noqa: PLR0913 - one argument per thing that was read
    reading: Reading,
    groups: list[Hit[Mention]],
    owned: list[Hit[Mention]],
    loose: list[Hit[Mention]],
    said: list[Said],
    *,
    reported: bool,
    helped: bool,
) -> Iterator[Statement]:
    """Each unfavourable predicate joined with each group or attribute that it is about."""
    telling = {(hit.start, hit.end) for hit in reading.telling}
    clause = reading.has("contract_terms")
    for predicate, family in said:
        if (reported and family == "stereotype") or (helped and family != "exclusion"):
            continue
        if predicate.start in reading.quoted:
            continue  # somebody else's words
        polarity = predicate.value.polarity
        joined = _ascribed if family == "stereotype" else _decided
        targets = groups if family == "stereotype" and predicate.value.polarity != "negative" else groups + owned
        for target in targets + (loose if family == "exclusion" else []):
            if family != "stereotype" and (
                (target.start, target.end) not in telling or (clause and _a_state(reading, target))
            ):
                continue
            if polarity != "negative" and target.start > predicate.start and family == "stereotype":
                continue
            if joined(reading, target, predicate):
                start, end = min(target.start, predicate.start), max(target.end, predicate.end)
                yield Statement(target.value.characteristic, family, start, end, family)


def stands_for_group(reading: Reading, hit: Hit[Mention], *, again: bool = False) -> bool:
    """True when the mention is of people: a group, or one person by the attribute ("le client est roumain").

    `again`: the sentence takes the group up ("ces gens-là"), so that any mention stands for it.
    """
    kind = hit.value.kind
    if kind == "slurs" or hit.value.ignored:
        return False
    if again and not hit.value.weak:
        return True
    if kind == "people":
        return reasoning.names_group(reading, hit)
    if kind == "phrases":
        return True
    if kind in {"attributes", "sure_attributes"}:
        return False
    return reasoning.names_group(reading, hit) or reasoning.said_of_person(reading, hit, 0)


def owned_attribute(reading: Reading, hit: Hit[Mention]) -> bool:
    """An attribute that is somebody's: "son génome", "la couleur de peau du client"."""
    mention = hit.value
    if mention.ignored or mention.kind not in {"attributes", "sure_attributes"}:
        return False
    owner = reading.complement(hit.end)
    if owner in {"person", "thing"}:
        return owner == "person"
    if mention.kind == "sure_attributes":
        return True
    if reading.about_thing(hit.start) or owner == "other":
        return False
    return _another_s(reading, hit)


def _loosely(reading: Reading, hit: Hit[Mention]) -> bool:
    """A word of an attribute with no thing beside it: enough for a decision against somebody."""
    if hit.value.kind not in {"attributes", "sure_attributes"} or hit.value.ignored or reading.thing_near(hit.start, hit.end):
        return False
    return not hit.value.weak and reading.complement(hit.end) != "thing" and not reading.about_thing(hit.start)


def _another_s(reading: Reading, hit: Hit[Mention]) -> bool:
    """An attribute of a third person ("son caryotype"), or one that nobody may ask about (genetic features)."""
    before = reading.words[max(0, hit.start - 3) : hit.start]
    genetic = hit.value.characteristic is Characteristic.GENETIC_FEATURES
    return genetic or any(word in {"son", "sa", "ses", "leur", "leurs", "his", "her", "their"} for word in before)


def unfavourable(reading: Reading, hit: Hit[Predicate]) -> str | None:
    """The family of a predicate that is unfavourable as it stands in its sentence, else None."""
    polarity = hit.value.polarity
    if polarity == "essential":
        return None
    words = reading.words
    back = reading.before(hit.start, 3)
    negated = reading.negated(hit.start) or _trailing_pas(reading, hit)
    less = any(word in _LESS and not (word == "peu" and back[at - 1 : at] == ["un"]) for at, word in enumerate(back))
    if polarity == "able":
        rare = bool(_SELDOM.intersection(back) or _SELDOM.intersection(words[hit.end : hit.end + 2]))
        return hit.value.family if negated or rare else None
    if polarity == "negative":
        if hit.value.family == "stereotype" and back[-1:] == ["ete"]:
            return None  # "a été brûlé": suffered, not done
        own = any(word in NEGATIONS for word in words[hit.start : hit.end])
        return None if (negated and not own) or less else hit.value.family
    return hit.value.family if negated != less else None


def _trailing_pas(reading: Reading, hit: Hit[Predicate]) -> bool:
    """ "n’embauchez pas", "embauchez pas", "ne savent pas": the negation that follows a verb."""
    follow = reading.words[hit.end : hit.end + 3]
    for word in follow:
        if word in PUNCTUATION:
            return False
        if word in {"pas", "jamais", "rien", "guere"}:
            return True
    return False


def _ascribed(reading: Reading, target: Hit[Mention], predicate: Hit[Predicate]) -> bool:
    """A trait said of the group: it follows the group within reach, or it is found "chez" them."""
    words = reading.words
    if target.end <= predicate.start:
        if predicate.start - target.end > REACH:
            return False
        return not (target.start and words[target.start - 1] in {"contre", "par", "envers", "against", "by"})
    gap = words[predicate.end : target.start]
    return len(gap) <= AMONG_REACH and any(word in _AMONG for word in gap)


def _decided(reading: Reading, target: Hit[Mention], predicate: Hit[Predicate]) -> bool:
    """A decision about the group, before or after it, in the same sentence, that the group does not itself take."""
    if _is_agent(reading, target, predicate):
        return False
    first, last = min(target.end, predicate.end), max(target.start, predicate.start)
    return first <= last <= first + REACH


_STATES = frozenset(
    {
        Characteristic.HEALTH, Characteristic.DISABILITY, Characteristic.LOSS_OF_AUTONOMY, Characteristic.PREGNANCY,
        Characteristic.AGE, Characteristic.FAMILY_SITUATION, Characteristic.PHYSICAL_APPEARANCE,
    }
)  # fmt: skip


def _a_state(reading: Reading, target: Hit[Mention]) -> bool:
    """An illness or another state that a contract may name in its clauses, and nobody's here."""
    if target.value.characteristic not in _STATES or target.value.kind not in {"attributes", "sure_attributes", "phrases"}:
        return False
    return not reading.possessed(target.start) and not reading.person_before(target.start, 4)


def _is_agent(reading: Reading, target: Hit[Mention], predicate: Hit[Predicate]) -> bool:
    """ "Les seniors préfèrent", "les grévistes ont bloqué": what the group does is not done to it."""
    words = reading.words
    gap = words[target.end : predicate.start]
    if target.end > predicate.start or len(gap) > 2:
        return False
    if gap and gap[0] in {"a", "ont", "avait", "avaient", "have", "has"}:
        return "ete" not in gap and words[predicate.start] != "ete"
    return not gap and words[predicate.start].endswith("ent")


def _superior(reading: Reading, groups: list[Hit[Mention]]) -> Iterator[Statement]:
    """ "Les hommes sont plus compétents que les femmes": praise of one group at the expense of another."""
    words = reading.words
    for hit in reading.predicates:
        if hit.value.family != "stereotype" or hit.value.polarity not in {"positive", "able"}:
            continue
        if not any(word in _MORE for word in reading.before(hit.start, 3) + words[hit.start : hit.end]):
            continue
        for group in groups:
            gap = words[hit.end : group.start]
            if 0 < len(gap) <= 8 and any(word in _THAN for word in gap):
                yield Statement(group.value.characteristic, "stereotype", hit.start, group.end, "superior")
            if 0 <= hit.start - group.end <= 8 and any(word in _THAN for word in words[hit.end : hit.end + 6]):
                yield Statement(group.value.characteristic, "stereotype", group.start, hit.end, "superior")


def _essential(reading: Reading, groups: list[Hit[Mention]]) -> Iterator[Statement]:
    """A trait, good or bad, made the nature of a group."""
    laws = [hit for hit in reading.predicates if hit.value.polarity == "essential"]
    traits = [
        hit for hit in reading.predicates
        if hit.value.family == "stereotype" and hit.value.polarity in {"positive", "negative"}
    ]  # fmt: skip
    for law in laws:
        for trait in traits:
            for group in groups:
                start, end = min(law.start, trait.start, group.start), max(law.end, trait.end, group.end)
                if group.start < trait.start and end - start <= REACH:
                    yield Statement(group.value.characteristic, "stereotype", start, end, "essential")


def _reasoned(reading: Reading, said: list[Said]) -> Iterator[Statement]:
    """Reasoning from an attribute: as grave as what is said beside it, at least a differential treatment."""
    worst = max(said, key=lambda item: _ORDER.index(item.family), default=None)
    for reason in reasoning.find(reading):
        family, start, end = "differential", reason.start, reason.end
        if worst is not None and worst.family == "exclusion" and _near(worst.hit, start, end):
            family, start, end = "exclusion", min(start, worst.hit.start), max(end, worst.hit.end)
        yield Statement(reason.characteristic, family, start, end, "reasoned")


def _near(hit: Hit[Predicate], start: int, end: int) -> bool:
    return max(end, hit.end) - min(start, hit.start) <= 40
