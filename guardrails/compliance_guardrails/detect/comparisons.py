"""Reasoning from a protected attribute by comparison, by membership and by consequence.

"moins fiable qu’un Français", "en tant que femme", "elle est enceinte, donc …", "son accent prouve …". Candidates only;
reasoning.py gathers them with the causal families. Word lists come from the book.
"""

from __future__ import annotations

from collections.abc import Iterator

from .grammar import Grammar
from .persons import names_group, said_of_person
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
_SUFFERED = (
    "nombreu", "numerous", "touche", "expose", "vulnerable", "victime", "concerne", "represente", "atteint", "affected",
    "exposed", "meur", "gagne", "consulte", "kilometre", "protege", "longtemps",
)  # fmt: skip
_SOME = frozenset({"des", "les", "leurs", "ces", "de", "d"})
_OF_PEOPLE = frozenset({"people", "qualities", "loose_qualities"})


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
            led = led and not _of_what_they_had(reading, hit.end, mark)
            if led and lead[0] not in reading.grammar.not_compared and reading.generic(hit.start, hit.end):
                yield Reason("comparison", hit.value.characteristic, hit.start, mark.end)


def _of_things(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Les voitures étrangères … que les françaises": the other side is said of a thing."""
    return any(
        other.value.characteristic is hit.value.characteristic
        and other.end < hit.start
        and reading.thing_near(other.start, other.end)
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
    counted = reading.word(at + 1) in {"de", "d"} and at + 2 in reading.inside  # "plus de femmes que d’hommes"
    measured = counted or reading.grammar.measured.intersection(reading.words[max(0, at - LEAD_REACH - 2) : at])
    return bool(measured) and not blamed


def compares(words: list[str], at: int, grammar: Grammar, *, question: bool) -> bool:
    """ "plus" as a comparison: not "ne … plus", "plus de 65 ans", "au plus", "de plus", "plus tard"; nor denied."""
    word, last = words[at], words[at - 1] if at else ""
    if last == "pas" and not question:
        return False  # "ne fraudent pas davantage" says the contrary
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
            near = mark.end <= hit.start <= mark.end + 2
            if (
                not near
                or relation(reading, hit)
                or hit.value.ignored
                or hit.value.kind not in _OF_PEOPLE | {"phrases"}
            ):
                continue
            if reading.words[hit.end : hit.end + 2] == [",", "vous"]:
                continue  # said to the reader about themselves
            if not reading.thing_near(hit.start, hit.end) and not reading.about_thing(mark.start):
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
    if kind in _OF_PEOPLE and reading.word(start - 1) in {"un", "une"} and reading.word(start - 2) == "pour":
        return start - 3 if reading.word(start - 3) in grammar.evaluations else None
    if hit.value.characteristic is not Characteristic.AGE or words[end - 1] != "age":
        return None
    lead = start - 1 if words[start] in grammar.possessives else start - 2
    owner = reading.word(end - 2)
    if reading.word(lead) != "a" or (owner not in grammar.possessives and owner != "cet"):
        return None
    return None if reading.word(lead - 1) in grammar.age_measures or reading.about_thing(lead) else lead


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
            if mention.kind in _OF_PEOPLE | {"slurs"} or mention.ignored:
                continue
            if mention.weak and reading.word(hit.start - 1) not in reading.grammar.third_person:
                continue
            if reading.word(mark.start - 1) in {"n", "ne", "se", "s"} and not reading.sentence.is_question:
                continue  # "n’interdit pas", "se prouve"
            if not 0 <= mark.start - hit.end <= CAUSE_REACH or not PUNCTUATION.isdisjoint(words[hit.end : mark.start]):
                continue
            owned = (
                mention.kind == "phrases" or reading.possessed(hit.start + 1) or reading.complement(hit.end) == "person"
            )
            if owned and not reading.about_thing(hit.start):
                yield Reason("consequence", mention.characteristic, hit.start, mark.end)
