"""Reasoning from a protected attribute by comparison, by membership and by consequence.

"moins fiable qu’un Français", "en tant que femme", "elle est enceinte, donc …", "son accent prouve …". Candidates only;
reasoning.py gathers them with the causal families. Word lists come from the book.
"""

from __future__ import annotations

from collections.abc import Iterator

from .grammar import Grammar
from .needs import PRAISED
from .persons import OF_PEOPLE, SAID, names_group, own_care, said_of_person
from .phrases import Hit
from .reading import PUNCTUATION, Reading, Reason
from .rulebook import Mention
from .rules_models import Characteristic
from .told import relation

COMPARE_REACH = 12
LEAD_REACH = 6
CAUSE_REACH = 4
_THAN = frozenset({"que", "qu", "than"})
_STOPS = frozenset(";?!.")
_DENIED_OR_SELF = frozenset({"n", "ne", "se", "s", "rien", "pas"})
_SUFFERED = (
    "nombreu", "numerous", "touche", "expose", "vulnerable", "victime", "concerne", "represente", "atteint", "affected",
    "exposed", "meur", "gagne", "consulte", "kilometre", "protege", "longtemps",
)  # fmt: skip
_SOME = frozenset({"des", "les", "leurs", "ces", "de", "d"})
_FOR_ONE = frozenset({("pour", "un"), ("pour", "une"), ("for", "a"), ("for", "an")})
_ONES = frozenset({"un", "une", "a", "an"})
PRAISE_REACH = 12
_SURPRISE = frozenset({"surprisingly", "remarkably", "unusually", "etonnamment", "remarquablement"})
_PASSIVES = frozenset({"were", "was", "been", "ete", "sont"})
_THEY = frozenset({"elle", "elles", "ce"})
_HAS = frozenset({"a", "has"})
_STANDING = frozenset({"dossier", "cv", "parcours", "niveau", "profil", "record", "resume", "english"})
_OF_OFFERS = (
    "adapte", "convenable", "ideal", "interessant", "logique", "normal", "raisonnable", "rapide", "rentable", "souple",
    "utile", "valable",
)  # fmt: skip
"""Said of a contract as well ("il est intéressant pour un retraité")."""

_AILMENTS = (
    "alzheimer", "anemi", "arthr", "asthm", "cancer", "cardia", "carenc", "chute", "dement", "deshydrat", "diabet",
    "disease", "fractur", "heart", "hospital", "hypertens", "illness", "infect", "maladie", "osteopor", "sickle",
    "stroke", "thrombos",
)  # fmt: skip
_OF_LOOKS = frozenset(
    {
        Characteristic.SEXUAL_ORIENTATION, Characteristic.GENDER_IDENTITY, Characteristic.PHYSICAL_APPEARANCE,
        Characteristic.RELIGION, Characteristic.ETHNIC_ORIGIN, Characteristic.RACE, Characteristic.SEX,
        Characteristic.POLITICAL_OPINION,
    }
)  # fmt: skip
_DISPOSED = ("likely", "prone", "risk", "sujet", "susceptible", "at")
AILMENT_REACH = 9


def find(reading: Reading) -> Iterator[Reason]:
    """All candidates of a sentence; they may overlap."""
    groups = [hit for hit in reading.telling if names_group(reading, hit)]
    if groups:
        yield from _beside(reading, groups)
        yield from _more_or_less(reading, groups)
    yield from _members(reading)
    yield from _consequences(reading)
    yield from _causes(reading)


def _beside(reading: Reading, groups: list[Hit[Mention]]) -> Iterator[Reason]:
    """ "contrairement aux Français", "comme tous les vieux"."""
    for mark in reading.marks.get("contrast", ()):
        for hit in groups:
            if mark.end - 1 <= hit.start <= mark.end + 3:
                yield Reason("comparison", hit.value.characteristic, mark.start, hit.end)
    for mark in reading.marks.get("likeness", ()):
        if reading.word(mark.start - 1).startswith(("decri", "identifi")):
            continue
        for hit in groups:
            if mark.end - 1 <= hit.start <= mark.end + 2 and not _as_well(reading, hit):
                yield Reason("comparison", hit.value.characteristic, mark.start, hit.end)


def _as_well(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Les femmes sont couvertes comme les hommes": the other side of one attribute, named before."""
    return any(
        other.value.characteristic is hit.value.characteristic and other.end < hit.start for other in reading.telling
    )


def _more_or_less(reading: Reading, groups: list[Hit[Mention]]) -> Iterator[Reason]:
    """ "plus … que les femmes", "les femmes conduisent moins bien"."""
    words = reading.words
    for mark in reading.marks.get("comparison_words", ()):
        if not compares(words, mark.start, reading.grammar, question=reading.sentence.is_question):
            continue
        if _of_numbers(reading, mark.start):
            continue
        for hit in groups:
            gap = words[mark.end : hit.start]
            if "parce" in gap or _of_things(reading, hit):
                continue
            if 0 < len(gap) <= COMPARE_REACH and not _THAN.isdisjoint(gap[-4:]):
                yield Reason("comparison", hit.value.characteristic, mark.start, hit.end)
            lead = words[hit.end : mark.start]
            led = 0 < len(lead) <= LEAD_REACH and PUNCTUATION.isdisjoint(lead)
            led = led and not _as_well(reading, hit) and reading.word(mark.start - 2) not in {"un", "une"}
            led = led and not _of_what_they_had(reading, hit.end, mark) and not own_care(reading, hit, hit.end + 1)
            if led and lead[0] not in reading.grammar.not_compared and reading.generic(hit.start, hit.end):
                yield Reason("comparison", hit.value.characteristic, hit.start, mark.end)


def _of_things(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Les voitures étrangères … que les françaises": the other side is said of a thing."""
    return any(
        other.value.characteristic is hit.value.characteristic
        and other.end < hit.start
        and (reading.thing_near(other.start, other.end) or other.start - 1 in reading.abstract)
        for other in reading.mentions
    )


def _of_what_they_had(reading: Reading, first: int, mark: Hit) -> bool:
    """ "Les femmes ont subi des dommages plus graves": told, and of the noun before it; not "plus souvent"."""
    words = reading.words
    if reading.sentence.is_question or words[mark.start] not in {"plus", "moins"}:
        return False
    if reading.word(first) not in {"a", "ont", "avaient"} or reading.word(mark.start - 2) not in _SOME:
        return False
    compared = words[mark.end : mark.end + 1]
    return compared != [] and not compared[0].endswith("ment") and compared[0] not in {"souvent", "vite", "que", "qu"}


def _of_numbers(reading: Reading, at: int) -> bool:
    """ "Plus nombreuses", "l’espérance de vie des … plus longue que celle des …": counted or measured, not judged."""
    blamed = any(hit.value.polarity == "negative" for hit in reading.predicates)
    if reading.word(at + 1) == "souvent" and not blamed:
        return True
    near = reading.words[max(0, at - 1) : at + 3]
    if any(word.startswith(_SUFFERED) for word in near):
        return True
    if not blamed and reading.word(at + 1).startswith(_DISPOSED):  # "more likely to develop osteoporosis"
        return any(word.startswith(_AILMENTS) for word in reading.words[at + 2 : at + AILMENT_REACH])
    suffered = not _PASSIVES.isdisjoint(reading.words[max(0, at - 3) : at - 1])
    if suffered and reading.word(at - 1).endswith(("ed", "e", "es", "id")) and reading.word(at - 1) not in _THEY:
        return not blamed  # "were offered higher rates than"
    counted = reading.word(at + 1) in {"de", "d"} and at + 2 in reading.inside  # "plus de femmes que d’hommes"
    measured = counted or reading.grammar.measured.intersection(reading.words[max(0, at - LEAD_REACH - 2) : at])
    return bool(measured) and not blamed


def compares(words: list[str], at: int, grammar: Grammar, *, question: bool) -> bool:
    """ "plus" as a comparison: not "ne … plus", "plus de 65 ans", "au plus", "de plus", "plus tard"; nor denied."""
    word, last = words[at], words[at - 1] if at else ""
    advised = last in {"vaut", "vaudrait"} and (at < 2 or words[at - 2] == "il")
    if advised or (last == "pas" and not question):
        return False  # "il vaut mieux qu’elle …", "ne fraudent pas davantage" says the contrary
    if word in {"plus", "moins"}:
        return last not in grammar.not_comparing and _quantifies(words, at)
    if word in {"meme", "memes", "aussi", "plutot"}:
        if word in {"meme", "memes"} and not question:
            return False  # "la même prime que les autres" is equality
        if word == "aussi" and not question and "pas" not in words[max(0, at - 3) : at]:
            return False
        return not _THAN.isdisjoint(words[at + 1 : at + 8])
    return True


def _quantifies(words: list[str], at: int) -> bool:
    if words[at] == "plus" and not {"ne", "n"}.isdisjoint(words[max(0, at - 5) : at]):
        return False
    follow, then = [*words[at + 1 : at + 3], "", ""][:2]
    if follow in {"de", "d"} and (then[:1].isdigit() or _a_share(words, at + 2)):
        return False
    if follow in {"tard", "tot"}:
        return not _THAN.isdisjoint(words[at + 2 : at + 5])
    return follow not in {",", "."}


def _a_share(words: list[str], at: int) -> bool:
    """ "plus de la moitié", "moins d’un tiers": how many, not how much more."""
    return not {"moitie", "tiers", "quart", "dixieme", "majorite"}.isdisjoint(words[at : at + 2])


def _members(reading: Reading) -> Iterator[Reason]:
    """ "en tant que femme", "à son âge", "trop vieux", "bien pour une femme"."""
    for mark in reading.marks.get("as_one", ()):
        if reading.word(mark.end) in {"je", "j"}:
            continue  # "parce que je suis …": told of oneself
        for hit in reading.telling:
            own = hit.value.kind == "phrases"  # the entries "est noir", "vient de …" take the verb along
            near = mark.end - own <= hit.start <= mark.end + 2
            near = near and PUNCTUATION.isdisjoint(reading.words[mark.end : hit.start])
            if not near or relation(reading, hit) or hit.value.ignored or hit.value.kind not in SAID:
                continue
            if reading.words[hit.end : hit.end + 2] == [",", "vous"]:
                continue  # said to the reader about themselves
            of_thing = reading.about_thing(mark.start) or mark.start - 1 in reading.abstract
            if not of_thing and not reading.thing_near(hit.start, hit.end):
                yield Reason("as-member", hit.value.characteristic, mark.start, hit.end)
    for hit in reading.telling:
        start = _member_start(reading, hit)
        if start is not None:
            yield Reason("as-member", hit.value.characteristic, start, hit.end)


def _member_start(reading: Reading, hit: Hit[Mention]) -> int | None:
    """Where a mention that reasons by itself begins its passage, else None."""
    words, grammar, start, end = reading.words, reading.grammar, hit.start, hit.end
    kind = hit.value.kind
    if kind == "phrases" and words[start] in {"trop", "too"}:
        return None if reading.thing_subject(0, start) else start
    if reading.word(start - 1) in {"trop", "too"} and hit.value.characteristic in _OF_LOOKS:
        after = words[end : end + 2]
        return None if {"pour", "for", "to"}.isdisjoint(after) or reading.thing_subject(0, start) else start - 1
    for at in range(start - 2, start + 1) if _ONES.intersection(words[max(0, start - 1) : start + 2]) else ():
        if (reading.word(at), reading.word(at + 1)) in _FOR_ONE:  # an entry may hold its article
            return at - 1 if reading.word(at - 1) in grammar.evaluations else _faint_praise(reading, at)
    if kind in {"attributes", "sure_attributes"} and reading.word(start - 2) == "vu" and reading.word(end) == ",":
        alone = reading.word(start - 1) in {"le", "la", "l"} and reading.word(start - 3) not in grammar.seen
        return start - 2 if alone else None
    return _at_that_age(reading, start, end) if hit.value.characteristic is Characteristic.AGE else None


def _at_that_age(reading: Reading, start: int, end: int) -> int | None:
    """Where "à son âge", "à cet âge" begins that says something of a person, else None."""
    words, grammar = reading.words, reading.grammar
    if words[end - 1] != "age":
        return None
    lead = start - 1 if words[start] in grammar.possessives else start - 2
    owner = reading.word(end - 2)
    if reading.word(lead) != "a" or (owner not in grammar.possessives and owner != "cet"):
        return None
    return None if reading.word(lead - 1) in grammar.age_measures or reading.about_thing(lead) else lead


def _of_a_person(hit: Hit) -> bool:
    """ "Bon élève": two words of praise that no thing is given."""
    return hit.value.polarity == "positive" and hit.value.family == "stereotype" and hit.end - hit.start > 1


def _faint_praise(reading: Reading, at: int) -> int | None:
    """ "Elle conduit remarquablement (pour une femme)": where praise of a person ends before `at` begins, else None."""
    words = reading.words
    lead = reading.before(at, PRAISE_REACH)
    if not {0}.isdisjoint(hit.start for hit in reading.predicates if hit.end <= at and _of_a_person(hit)):
        return 0  # "bon élève pour un …"
    who = next((at - back for back, word in enumerate(reversed(lead), 1) if word in PRAISED), None)
    if who is None or not {"trop", "too"}.isdisjoint(lead):
        return None
    verb = who + 1 + (words[who + 1] in {"se", "s", "y", "en"} and words[who + 2] not in PRAISED)
    sure = words[who] in {"he", "she"} or not words[verb].startswith("est")
    praised = any(
        verb < hit.start < at
        and hit.value.polarity == "positive"
        and (sure or not words[hit.start].startswith(_OF_OFFERS))
        for hit in reading.predicates
    )
    if words[verb] in reading.grammar.copulas:
        return who if praised or not _SURPRISE.isdisjoint(words[verb:at]) else None
    if words[verb] in _HAS:
        return who if not _STANDING.isdisjoint(words[verb + 1 : at]) and praised else None
    how = words[verb + 1 : min(at, verb + 3)]
    return who if any(word in {"bien", "well"} or word.endswith(("ment", "ly")) for word in how) else None


def _consequences(reading: Reading) -> Iterator[Reason]:
    """ "il est musulman, donc …": a group said of somebody, then a conclusion."""
    words = reading.words
    for mark in reading.marks.get("consequences", ()):
        for hit in reading.telling:
            gap = words[hit.end : mark.start]
            if hit.end > mark.start or len(gap) > LEAD_REACH or not _STOPS.isdisjoint(gap):
                continue
            if _concluded_from(reading, hit):
                yield Reason("consequence", hit.value.characteristic, hit.start, mark.end)


def _concluded_from(reading: Reading, hit: Hit[Mention]) -> bool:
    kind = hit.value.kind
    if kind in {"attributes", "sure_attributes"} or not said_of_person(reading, hit, 0):
        return False
    if kind in {"people", "qualities"}:
        return not hit.value.weak and (hit.start == 0 or reading.copula_before(hit.start, 4) is not None)
    return True


def _causes(reading: Reading) -> Iterator[Reason]:
    """ "son origine justifie", "son accent laisse penser"."""
    words = reading.words
    for mark in reading.marks.get("causal_verbs", ()):
        for hit in reading.telling:
            mention = hit.value
            if mention.kind in OF_PEOPLE | {"slurs"} or mention.ignored:
                continue
            if mention.weak and reading.word(hit.start - 1) not in reading.grammar.third_person:
                continue
            if reading.word(mark.start - 1) in _DENIED_OR_SELF and not reading.sentence.is_question:
                continue  # "n’interdit pas", "se prouve"
            if not 0 <= mark.start - hit.end <= CAUSE_REACH or not PUNCTUATION.isdisjoint(words[hit.end : mark.start]):
                continue
            owned = (
                mention.kind == "phrases" or reading.possessed(hit.start + 1) or reading.complement(hit.end) == "person"
            )
            if owned and not reading.about_thing(hit.start):
                yield Reason("consequence", mention.characteristic, hit.start, mark.end)
