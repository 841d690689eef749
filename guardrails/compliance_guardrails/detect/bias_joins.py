"""Whether something unfavourable is said of a mention or decided about it, where both stand in one sentence.

A trait follows its group within reach and is of no other noun; a decision is not what the group itself takes. Used by
bias_logic.py, which knows what is unfavourable and what the context leaves.
"""

from __future__ import annotations

from .bias_targets import NOUNS, taken_up
from .persons import own_care
from .phrases import Hit
from .reading import PUNCTUATION, Reading
from .rulebook import Mention, Predicate

REACH = 30
AMONG_REACH = 6
AGENT_REACH = 8
GAP_OF_A_NOUN = 2
COMPLETED_REACH = 3
_COMPLETED = frozenset({"d", "de"})
HAD = frozenset({"a", "ont", "avait", "avaient"})
_PARTICIPLE = ("e", "i", "u", "is", "it", "ert")
_ONE = frozenset({"un", "une", "l"})
_SOME = frozenset({"un", "une", "des"})
_NO_VERBS = frozenset({"violent", "insolent", "turbulent", "imprudent"})
_MUST = frozenset({"doit", "doivent", "devrait", "devraient", "devra", "devront"})


def ascribed(reading: Reading, target: Hit[Mention], predicate: Hit[Predicate]) -> bool:
    """A trait said of the group: it follows the group within reach, or it is found "chez" them."""
    if predicate.end - predicate.start == 1 and taken_up(reading.words, target):
        return False  # "ces gens-là exagèrent": may be anybody
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
    told = gap[0] in HAD and len(gap) > COMPLETED_REACH and gap[1].endswith(_PARTICIPLE)  # "ont signalé un escalier"
    return noun in reading.things or told


def decided(reading: Reading, target: Hit[Mention], predicate: Hit[Predicate]) -> bool:
    """A decision about the group, before or after it, in the same sentence, that the group does not itself take."""
    first, last = min(target.end, predicate.end), max(target.start, predicate.start)
    if "aupres" in reading.before(target.start, 2):
        return False
    crossed = min(target.start, predicate.start) < last < first < max(target.end, predicate.end)
    crossed = crossed and reading.word(target.start) not in reading.grammar.possessives - {"his", "her", "their"}
    if not (crossed or first <= last <= first + REACH) or _is_agent(reading, target, predicate):
        return False
    if target.value.kind in NOUNS and reading.words[predicate.start : predicate.start + 4][-2:] == ["pas", "a"]:
        return False  # "l’apparence du candidat n’a pas à figurer": said of the attribute
    advised = not reading.grammar.norms.isdisjoint(reading.words[target.end : predicate.start])
    if advised and own_care(reading, target, predicate.start):
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
    to_be = gap[-1:] == ["a"] and gap[0] in reading.grammar.copulas  # "sont une plaie à éliminer"
    if not PUNCTUATION.isdisjoint(gap) or len(gap) > AGENT_REACH or (to_be and (len(gap) == 2 or gap[1] in _SOME)):
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
