"""How words join into biased statements: a group, something unfavourable said of it or decided about it, no veto.

For one read sentence: an insult listed as such; a trait or an incapacity ascribed to a group; a decision against it;
reasoning from an attribute (reasoning.py). Forms that need no listed predicate (an order, a refusal, "all of them") are
in bias_frames.py, whom a statement is about in bias_targets.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import bias_frames, reasoning
from .bias_targets import Targets, of_next, only_a_state, state_of_nobody, targets, turned_to
from .phrases import Hit
from .polarity import condemned, of_the_past, protective, unfavourable
from .reading import PUNCTUATION, Reading, Statement
from .rulebook import Mention, Predicate

REACH = 30
AMONG_REACH = 6
SUPERIOR_REACH = 8
NEAR = 40
AGENT_REACH = 8
GAP_OF_A_NOUN = 2
COMPLETED_REACH = 3
_COMPLETED = frozenset({"d", "de"})
_HAD = frozenset({"a", "ont", "avait", "avaient"})
_PARTICIPLE = ("e", "i", "u", "is", "it", "ert")
_ONE = frozenset({"un", "une", "l"})
_NO_VERBS = frozenset({"violent", "insolent", "turbulent", "imprudent"})
_THAN = frozenset({"que", "qu", "than"})
_RHETORICAL_FORMS = (
    ("a", "quoi", "bon"), ("qui", "va"), ("qui", "voudrait"), ("qui", "irait"), ("comment", "imaginer"),
    ("comment", "croire"), ("comment", "confier"), ("que", "voulez", "vous"), ("comment", "voulez", "vous"),
    ("pourquoi", "perdre"), ("vous", "imaginez"), ("depuis", "quand"), ("what", "do", "you", "expect"),
)  # fmt: skip
_RHETORICAL = {form[0]: [other for other in _RHETORICAL_FORMS if other[0] == form[0]] for form in _RHETORICAL_FORMS}
_MUST = frozenset({"doit", "doivent", "devrait", "devraient", "devra", "devront"})
_REFUSED = frozenset({"non", "no"})
_BELIEVING = frozenset({"penser", "croire", "affirmer", "pretendre", "supposer", "imaginer"})
_DENIED = frozenset(
    {"pas", "jamais", "aucun", "aucune", "sans", "inutile", "ni", "non", "no", "not", "never", "without"}
)
_GRAVITY = {"stereotype": 0, "differential": 1, "exclusion": 2}


class Said(NamedTuple):
    """An unfavourable predicate with its family."""

    hit: Hit[Predicate]
    family: str


class Mood(NamedTuple):
    """What the context of a sentence leaves: `reported` no traits, `helped` no differences of treatment."""

    reported: bool
    helped: bool


def find(reading: Reading, after: int | None = None) -> Iterator[Statement]:
    """All statements of a sentence; they may overlap (bias.py keeps one for each characteristic and span).

    `after`: only what is said from this token on counts (a question or remark, and the sentence that follows it).
    """
    if condemned(reading) or _refuted(reading) or (after is not None and reading.word(after) in _REFUSED):
        return
    if protective(reading) or of_the_past(reading):
        return
    question = reading.sentence.is_question and not _rhetorical(reading)
    mood = Mood(reading.has("bias_reported") or question, reading.has("bias_entitled"))
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
        and not reading.inside.issuperset(range(hit.start, hit.end))
        and (family := unfavourable(reading, hit))
    ]
    if (said or not _aided(reading)) and (after is None or not reading.has("bias_other_reasons")):
        yield from _framed(reading, about, mood, after, own)
    if after is None or not any(_subject_of_next(reading, hit, after) for hit, _ in said):
        yield from _said(reading, about, said, mood, own)
    if after is None:
        if not mood.reported:
            yield from _superior(reading, about.groups)
            yield from _essential(reading, about.groups)
        if not mood.helped:
            yield from _reasoned(reading, said)


def _subject_of_next(reading: Reading, hit: Hit[Predicate], after: int) -> bool:
    """ "Une veuve a appelé. Les voleurs ont …": the noun heads the next sentence, which tells of somebody else."""
    if hit.start != after + 1 or reading.word(after) not in reading.grammar.articles:
        return False
    verb = reading.word(hit.end)
    return verb in _HAD or verb in reading.grammar.copulas or verb.endswith("ent")


def _refuted(reading: Reading) -> bool:
    """ "Penser que …, c’est …": the sentence is about a belief."""
    words = reading.words
    return words[0] in _BELIEVING and reading.word(1) in {"que", "qu"} and "," in words and "est" in words


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
    for found in bias_frames.find(reading, about.groups, about.held_against, reported=mood.reported):
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
        if predicate.start in reading.quoted:
            continue  # somebody else's words
        for target in _candidates(reading, about, predicate, family):
            if turned_to(own, target.value.characteristic, predicate.start):
                continue
            start, end = min(target.start, predicate.start), max(target.end, predicate.end)
            yield Statement(target.value.characteristic, family, start, end, family)


def _candidates(reading: Reading, about: Targets, predicate: Hit[Predicate], family: str) -> Iterator[Hit[Mention]]:
    """The mentions that a predicate of this family may be said of, where it stands."""
    telling = {(hit.start, hit.end) for hit in reading.telling}
    if family == "stereotype":
        plain = predicate.value.polarity == "negative"
        rule = predicate.value.polarity == "able"  # "les mineurs ne peuvent pas souscrire" is a rule of the contract
        for target in about.groups + about.owned if plain else about.groups:
            if rule and (target.start, target.end) not in telling:
                continue
            if (plain or target.start <= predicate.start) and _ascribed(reading, target, predicate):
                yield target
        return
    if reading.has("bias_other_reasons"):
        return
    clause = reading.has("contract_terms")
    for target in about.groups + about.owned + (about.loose if family == "exclusion" else []):
        if (target.start, target.end) not in telling or (clause and only_a_state(reading, target)):
            continue
        if _decided(reading, target, predicate):
            yield target


def _ascribed(reading: Reading, target: Hit[Mention], predicate: Hit[Predicate]) -> bool:
    """A trait said of the group: it follows the group within reach, or it is found "chez" them."""
    if target.end <= predicate.start:
        if predicate.start - target.end > REACH or _of_another_noun(reading, target, predicate):
            return False
        return reading.word(target.start - 1) not in reading.grammar.suffered_by and "aupres" not in reading.before(
            target.start, 2
        )
    gap = reading.words[predicate.end : target.start]
    return len(gap) <= AMONG_REACH and not reading.grammar.among.isdisjoint(gap)


def _of_another_noun(reading: Reading, target: Hit[Mention], predicate: Hit[Predicate]) -> bool:
    """ "Les propriétaires de chiens dangereux": the adjective of a thing, or of the noun that completes the group."""
    word = reading.words[predicate.start]
    verb = word.endswith("ent") and word not in _NO_VERBS
    if predicate.end - predicate.start > 1 or predicate.value.polarity == "able" or verb:
        return False
    gap = reading.words[target.end : predicate.start]
    if len(gap) < GAP_OF_A_NOUN or not reading.grammar.copulas.isdisjoint(gap) or not PUNCTUATION.isdisjoint(gap):
        return False
    noun = predicate.start - 1
    if gap[0] in _COMPLETED and (len(gap) == GAP_OF_A_NOUN or (len(gap) == COMPLETED_REACH and gap[1] in _ONE)):
        return noun not in reading.inside and gap[-1] not in reading.grammar.adverbs_between
    if gap[-2] not in reading.grammar.articles:
        return False
    told = gap[0] in _HAD and len(gap) > COMPLETED_REACH and gap[1].endswith(_PARTICIPLE)  # "ont signalé un escalier"
    return noun in reading.things or told


def _decided(reading: Reading, target: Hit[Mention], predicate: Hit[Predicate]) -> bool:
    """A decision about the group, before or after it, in the same sentence, that the group does not itself take."""
    first, last = min(target.end, predicate.end), max(target.start, predicate.start)
    if "aupres" in reading.before(target.start, 2):
        return False
    if not first <= last <= first + REACH or _is_agent(reading, target, predicate):
        return False
    caused = reading.words[max(0, target.start - 3) : target.start]
    return target.value.kind != "people" or {"par", "by"}.isdisjoint(caused)


def _is_agent(reading: Reading, target: Hit[Mention], predicate: Hit[Predicate]) -> bool:
    """ "Les seniors préfèrent", "l’assurée souhaite retirer": what the group does is not done to it.

    So it is for a group that stands before an active verb in the same part of the sentence, no pronoun between.
    """
    if target.value.kind not in {"people", "qualities", "loose_qualities"} or target.end > predicate.start:
        return False
    gap = reading.words[target.end : predicate.start]
    if not PUNCTUATION.isdisjoint(gap) or len(gap) > AGENT_REACH:
        return False
    verb, grammar = reading.words[predicate.start], reading.grammar
    own_refusal = verb == "refus" and reading.word(predicate.start - 1) in grammar.third_person
    if verb in _MUST or own_refusal:
        return own_refusal  # "doivent payer" is imposed, "leur refus" is theirs
    if gap and gap[0] in grammar.agents and "ete" not in gap:
        return True
    last = gap[-1] if gap else ""
    if last in grammar.object_pronouns or last in grammar.passives or not grammar.norms.isdisjoint(gap):
        return False
    return verb.endswith(("er", "ir", "re", "ent", "ed")) or (not gap and verb.endswith("e"))


def _superior(reading: Reading, groups: list[Hit[Mention]]) -> Iterator[Statement]:
    """ "Les hommes sont plus compétents que les femmes": praise of one group at the expense of another."""
    words = reading.words
    for hit in reading.predicates:
        if hit.value.family != "stereotype" or hit.value.polarity not in {"positive", "able"}:
            continue
        if reading.grammar.more.isdisjoint(reading.before(hit.start, 3) + words[hit.start : hit.end]):
            continue
        for group in groups:
            gap = words[hit.end : group.start]
            if 0 < len(gap) <= SUPERIOR_REACH and not _THAN.isdisjoint(gap):
                yield Statement(group.value.characteristic, "stereotype", hit.start, group.end, "superior")
            if 0 <= hit.start - group.end <= SUPERIOR_REACH and not _THAN.isdisjoint(words[hit.end : hit.end + 6]):
                yield Statement(group.value.characteristic, "stereotype", group.start, hit.end, "superior")


def _essential(reading: Reading, groups: list[Hit[Mention]]) -> Iterator[Statement]:
    """A trait, good or bad, made the nature of a group."""
    laws = [hit for hit in reading.predicates if hit.value.polarity == "essential"]
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
                    yield Statement(group.value.characteristic, "stereotype", start, end, "essential")


def _reasoned(reading: Reading, said: list[Said]) -> Iterator[Statement]:
    """Reasoning from an attribute: as grave as what is said beside it, at least a differential treatment."""
    worst = max(said, key=lambda item: _GRAVITY[item.family], default=None)
    clause = reading.has("contract_terms")
    for reason in reasoning.found(reading):
        if clause and state_of_nobody(reading, reason):
            continue
        family, start, end = "differential", reason.start, reason.end
        if worst is not None and worst.family == "exclusion":
            first, last = min(start, worst.hit.start), max(end, worst.hit.end)
            if last - first <= NEAR:
                family, start, end = "exclusion", first, last
        yield Statement(reason.characteristic, family, start, end, "reasoned")
