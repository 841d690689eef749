"""How words join into biased statements: a group, something unfavourable said of it or decided about it, no veto.

For one read sentence: an insult listed as such; a trait or an incapacity ascribed to a group; a decision against it;
reasoning from an attribute (reasoning.py). Forms that need no listed predicate (an order, a refusal, "all of them") are
in bias_frames.py, whom a statement is about in bias_targets.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import bias_frames, bias_told, lifted, reasoning
from .bias_joins import HAD, REACH, ascribed, decided
from .bias_targets import THOSE, Targets, of_next, only_a_state, targets, turned_to
from .phrases import Hit
from .polarity import condemned, protective, unfavourable
from .reading import Reading, Statement
from .rulebook import Mention, Predicate
from .told import HELPED

COUNTED_REACH = 8
NEAR = 40
_RHETORICAL_FORMS = (
    ("a", "quoi", "bon"), ("qui", "va"), ("qui", "voudrait"), ("qui", "irait"), ("comment", "imaginer"),
    ("comment", "croire"), ("comment", "confier"), ("que", "voulez", "vous"), ("comment", "voulez", "vous"),
    ("pourquoi", "perdre"), ("vous", "imaginez"), ("depuis", "quand"), ("what", "do", "you", "expect"),
)  # fmt: skip
_RHETORICAL = {form[0]: [other for other in _RHETORICAL_FORMS if other[0] == form[0]] for form in _RHETORICAL_FORMS}
_REFUSED = frozenset({"non", "no"})
_DENIED = frozenset(
    {"pas", "jamais", "aucun", "aucune", "sans", "inutile", "ni", "non", "no", "not", "never", "without"}
)
_SOURCES = frozenset(
    {"selon", "indique", "releve", "rapporte", "constate", "insee", "dares", "drees", "says", "according", "reports"}
)
_OFFERS = frozenset({"pret", "offre", "tarif", "formule", "contrat", "carte", "remise", "reduction", "garantie"})
_TOO = frozenset({"trop", "too"})
_GRAVITY = {"stereotype": 0, "differential": 1, "exclusion": 2}


class Said(NamedTuple):
    """An unfavourable predicate with its family."""

    hit: Hit[Predicate]
    family: str


class Mood(NamedTuple):
    """What the context of a sentence leaves: `reported` no traits, `helped` no differences of treatment.

    `sourced`: a source is named, so that what it counts is no verdict; `aside`: the tokens of what others claim.
    """

    reported: bool
    helped: bool
    sourced: bool
    aside: set[int]


def find(reading: Reading, after: int | None = None) -> Iterator[Statement]:
    """All statements of a sentence; they may overlap (bias.py keeps one for each characteristic and span).

    `after`: only what is said from this token on counts (a question or remark, and the sentence that follows it).
    """
    if condemned(reading) or protective(reading) or bias_told.lifts(reading):
        return
    if after is not None and reading.word(after) in _REFUSED:
        return
    question = reading.sentence.is_question and not _rhetorical(reading)
    mood = Mood(
        reading.has("bias_reported") or question,
        reading.has("bias_entitled"),
        not _SOURCES.isdisjoint(reading.words),
        bias_told.aside(reading),
    )
    if not mood.reported and after is None:
        yield from _slurs(reading)
    if question:
        return
    about = targets(reading)
    own: list[Hit[Mention]] = []
    if after is not None:
        own, about = of_next(reading, about, after)
    if not (about.groups or about.owned or about.loose or (after is None and reasoning.found(reading))):
        return
    said = [
        Said(hit, family)
        for hit in reading.predicates
        if (after is None or hit.start >= after)
        and (not reading.inside.issuperset(range(hit.start, hit.end)) or _called(reading, hit))
        and (family := unfavourable(reading, hit))
        and not (mood.sourced and family != "stereotype" and _counted(reading, hit))
    ]
    if (said or not _aided(reading)) and (after is None or not reading.has("bias_other_reasons")):
        yield from _framed(reading, about, mood, after, own)
    if after is None or not any(_subject_of_next(reading, hit, after) for hit, _ in said):
        yield from _said(reading, about, said, mood, own)
    if after is None:
        if not mood.reported:
            yield from _essential(reading, about.groups)
        if not mood.helped:
            yield from _reasoned(reading, said, mood)


def found(reading: Reading) -> list[Statement]:
    """`find` worked out once for a reading: the flags of a query and the screen of an answer both ask for it."""
    if reading.statements is None:
        reading.statements = list(find(reading))
    return reading.statements


def _in_quotes(reading: Reading, start: int, end: int) -> bool:
    """True when all of it is somebody else's words."""
    return start in reading.quoted and end - 1 in reading.quoted


def _called(reading: Reading, hit: Hit[Predicate]) -> bool:
    """ "(Les lanceurs d’alerte) sont des paranoïaques": a group's name said of another group as a trait."""
    copula = reading.copula_before(hit.start, 2) if hit.value.family == "stereotype" else None
    return copula is not None and any(group.end <= copula for group in reading.mentions)


def _subject_of_next(reading: Reading, hit: Hit[Predicate], after: int) -> bool:
    """ "Une veuve a appelé. Les voleurs ont …": the noun heads the next sentence, which tells of somebody else."""
    if hit.start != after + 1 or reading.word(after) not in reading.grammar.articles:
        return False
    verb = reading.word(hit.end)
    return verb in HAD or verb in reading.grammar.copulas or verb.endswith("ent")


def _counted(reading: Reading, hit: Hit[Predicate]) -> bool:
    """ "Earn 15 % less than … according to …": a fair figure with its source."""
    near = reading.words[max(0, hit.start - COUNTED_REACH) : hit.end + 2]
    return not reading.words[hit.start].endswith("ez") and any(word[0].isdigit() for word in near)


def _aided(reading: Reading) -> bool:
    """True when the sentence offers a means that helps ("un interprète", "en gros caractères") and denies nothing."""
    return reading.has("bias_aids") and _DENIED.isdisjoint(reading.words)


def _rhetorical(reading: Reading) -> bool:
    """ "À quoi bon …?", "qui va la croire?": a question that asserts."""
    words = reading.words
    return any(
        tuple(words[at : at + len(form)]) == form for at, word in enumerate(words) for form in _RHETORICAL.get(word, ())
    )


def _slurs(reading: Reading) -> Iterator[Statement]:
    for hit in reading.mentions:
        if hit.value.kind == "slurs" and hit.start not in reading.quoted:
            yield Statement(hit.value.characteristic, "slur", hit.start, hit.end, "slur")


def _framed(
    reading: Reading, about: Targets, mood: Mood, after: int | None, own: list[Hit[Mention]]
) -> Iterator[Statement]:
    telling = {(hit.start, hit.end) for hit in reading.telling}
    spared = {(hit.start, hit.end) for hit in reading.mentions if bias_told.cared_for(reading, hit)}
    unnamed = reading.has("anaphora")
    for found in bias_frames.find(reading, about.groups, about.held_against, reported=mood.reported):
        if found.group[0] in mood.aside or found.group in spared:
            continue
        if found.rule == "frame":
            habit = (found.start, found.end) == found.group
            if (habit and mood.sourced) or _in_quotes(reading, found.start, found.end):
                continue  # a habit that somebody has counted, somebody else's words
        elif unnamed and reading.words[found.group[0]] in THOSE:
            continue  # "ces gens-là"
        if mood.helped and found.rule not in {"order", "advice"}:
            continue
        if found.family != "stereotype" and found.group not in telling:
            continue  # tenants, minors…: a decision about them is ordinary
        if after is None or (
            found.rule in {"order", "refusal", "advice"}
            and found.end > after > found.start
            and (found.group[0] >= after or not turned_to(own, found.characteristic, found.end - 1))
        ):
            yield found


def _said(
    reading: Reading, about: Targets, said: list[Said], mood: Mood, own: list[Hit[Mention]]
) -> Iterator[Statement]:
    """Each unfavourable predicate joined with each group or attribute that it is about."""
    for predicate, family in said:
        if (mood.reported and family == "stereotype") or (mood.helped and family != "exclusion"):
            continue
        claimed = predicate.start in mood.aside
        if predicate.start in reading.quoted or (claimed and family == "stereotype"):
            continue  # somebody else's words
        for target in _candidates(reading, about, predicate, family):
            if claimed and target.start in mood.aside:
                continue
            if _for_their_good(reading, target, predicate):
                continue
            if turned_to(own, target.value.characteristic, predicate.start):
                continue
            start, end = min(target.start, predicate.start), max(target.end, predicate.end)
            yield Statement(target.value.characteristic, family, start, end, family, target[:2])


def _for_their_good(reading: Reading, target: Hit[Mention], predicate: Hit[Predicate]) -> bool:
    """ "(Une personne âgée) ne reste pas seule", "un prêt réservé aux jeunes"."""
    word = reading.words[predicate.start]
    if word.startswith("reserv") and target.value.characteristic in HELPED:
        return not _OFFERS.isdisjoint(reading.before(predicate.start, REACH))
    return predicate.value.family != "exclusion" and bias_told.cared_for(reading, target)


def _candidates(reading: Reading, about: Targets, predicate: Hit[Predicate], family: str) -> Iterator[Hit[Mention]]:
    """The mentions that a predicate of this family may be said of, where it stands."""
    telling = {(hit.start, hit.end) for hit in reading.telling}
    if family == "stereotype":
        plain = predicate.value.polarity == "negative"
        rule = predicate.value.polarity == "able"  # "les mineurs ne peuvent pas souscrire" is a rule of the contract
        for target in about.groups + about.owned if plain else about.groups:
            if rule and (target.start, target.end) not in telling:
                continue
            if (plain or target.start <= predicate.start) and ascribed(reading, target, predicate):
                yield target
        return
    if reading.has("bias_other_reasons"):
        return
    clause = reading.has("contract_terms")
    for target in about.groups + about.owned + (about.loose if family == "exclusion" else []):
        if (target.start, target.end) not in telling or (clause and only_a_state(reading, target)):
            continue
        if decided(reading, target, predicate):
            yield target


def _essential(reading: Reading, groups: list[Hit[Mention]]) -> Iterator[Statement]:
    """A trait, good or bad, made the nature of a group."""
    laws = [hit for hit in reading.predicates if hit.value.polarity == "essential"]
    laws = [law for law in laws if law.start not in reading.quoted]
    if not laws:
        return
    traits = [
        hit
        for hit in reading.predicates
        if hit.value.family == "stereotype" and hit.value.polarity in {"positive", "negative"}
    ]
    for law in laws:
        for trait in traits:
            for group in groups:
                start, end = min(law.start, trait.start, group.start), max(law.end, trait.end, group.end)
                if group.start < trait.start and end - start <= REACH:
                    yield Statement(group.value.characteristic, "stereotype", start, end, "essential", group[:2])


def _reasoned(reading: Reading, said: list[Said], mood: Mood) -> Iterator[Statement]:
    """Reasoning from an attribute: as grave as what is said beside it, at least a differential treatment."""
    worst = max(said, key=lambda item: _GRAVITY[item.family], default=None)
    for reason in reasoning.found(reading):
        verdict = reason.rule == "comparison" or reading.words[reason.start] in _TOO
        if reason.start in mood.aside or not (verdict or lifted.weighs(reading, reason)):
            continue
        if mood.sourced and not said and reason.rule == "comparison":
            continue  # a fair figure with its source
        family, start, end = "differential", reason.start, reason.end
        if worst is not None and worst.family == "exclusion":
            first, last = min(start, worst.hit.start), max(end, worst.hit.end)
            if last - first <= NEAR:
                family, start, end = "exclusion", first, last
        yield Statement(reason.characteristic, family, start, end, "reasoned")
