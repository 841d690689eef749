"""French clauses: sentences cut into propositions, each with its words and what colours them.

Knows negation, condition, concession and reported speech, as word lists; knows no decision. Linear in the text: one
pass over the words, every look-up bounded by the longest phrase. Works on the folded text of `detect.text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from compliance_guardrails.detect.text import fold, view

from .rules import GateRules

MAX_CHARS: Final = 20_000
"""Characters of one answer that are read; a longer one is not an answer anybody was sent."""

_SENTENCE: Final = re.compile(r"(?:(?<!\bart)(?<!\bcf)(?<!\bm)(?<!\bp)(?<!\bmme)(?<!\bn)[.!?]+(?=[\s\"')*]|$))|\n+")
_WORD: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)*|[a-z0-9\xfe]+|[,;:()]")
_SEGMENT: Final = re.compile(r"[;:]")
_BREAKS: Final = frozenset(",;:()")
_VERB_REACH: Final = 9
_INFINITIVE_REACH: Final = 6
_NOUN_REACH: Final = 3
"""Words after its end that a negation bears on: a verb's whole group, or the noun after « aucun », « sans »."""
GAP: Final = "_"
_KEY: Final = 3
"""Letters by which the beginnings of words are looked up; a listed beginning has at least as many."""
MAX_GAP: Final = 5
"""Words that may stand in the place of a _ inside a listed phrase."""
_FILLERS: Final = frozenset(
    {"ne", "n", "pas", "plus", "jamais", "point", "guere", "nullement", "aucunement"}
    | {"bien", "donc", "egalement", "ainsi", "toujours", "pleinement", "totalement", "entierement", "effectivement"}
    | {"integralement", "clairement", "malheureusement", "aussi", "alors", "encore", "pleine", "toutefois"}
)
_SUBJECTS: Final = frozenset(
    {"nous", "vous", "il", "elle", "ils", "elles", "on", "je", "la", "le", "les", "votre", "notre", "cette", "ce"}
    | {"l", "un", "une", "ne", "n", "aucun", "aucune", "rien", "sera", "seront", "vos", "nos", "cet", "ces"}
)
_SUBJECT_ADVERBS: Final = frozenset({"aucun", "aucune", "rien", "ni"})
_NE: Final = frozenset({"ne", "n"})
_PLURAL_VERB: Final = ("ons", "ez")
_RESTRICTS: Final = frozenset({"que", "qu"})
_STOPS: Final = frozenset({"qui", "dont", "car", "puisque"})
_TURN, _JOIN = "turn", "join"


@dataclass
class _Node:
    """A place in the trie of phrases."""

    next: dict[str, _Node] = field(default_factory=dict)
    prefixes: dict[str, list[tuple[str, _Node]]] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Hit:
    """A listed phrase at words `start` up to and not including `end`."""

    start: int
    end: int
    value: str

    @property
    def places(self) -> range:
        """The words it covers."""
        return range(self.start, self.end)


def _phrase_words(phrase: str) -> list[str]:
    """The folded words of a listed phrase, a * kept on the word it ends."""
    parts = phrase.split()
    return [
        word + "*" * (part.endswith("*") and word is words[-1])
        for part in parts
        for words in [re.findall(r"[a-z0-9\xfe]+|_", fold(part))]
        for word in words
    ]


def without_fillers(words: Sequence[str]) -> tuple[list[str], list[int]]:
    """`words` without negations and adverbs that may stand inside a phrase, and the place of each one kept."""
    places = [place for place, word in enumerate(words) if word not in _FILLERS]
    return [words[place] for place in places], places


class Phrases:
    """Phrases of folded words; the longest at each place wins.

    A * stands for the rest of a word, a _ for at most `MAX_GAP` words. With `loose`, negations and adverbs inside
    a phrase are skipped: « la garantie ne joue donc pas » holds « garantie joue ».
    """

    def __init__(self, entries: Iterable[tuple[str, str]], *, loose: bool = False) -> None:
        self._root = _Node()
        self._loose = loose
        for phrase, value in entries:
            node = self._root
            listed = _phrase_words(phrase)
            for word in (without_fillers(listed)[0] or listed) if loose else listed:
                node = self._step(node, word)
            node.values.append(value)

    @staticmethod
    def _step(node: _Node, word: str) -> _Node:
        if not word.endswith("*"):
            return node.next.setdefault(word, _Node())
        alike = node.prefixes.setdefault(word[:_KEY], [])
        found = next((n for p, n in alike if p == word[:-1]), None)
        if found is None:
            found = _Node()
            alike.append((word[:-1], found))
        return found

    def find(self, words: Sequence[str]) -> list[Hit]:
        """Non-overlapping hits in order."""
        if self._loose:
            kept, places = without_fillers(words)
            return [Hit(places[h.start], places[h.end - 1] + 1, h.value) for h in self._find(kept)]
        return self._find(words)

    def _find(self, words: Sequence[str]) -> list[Hit]:
        out: list[Hit] = []
        place = 0
        first, starts = self._root.next, self._root.prefixes
        while place < len(words):
            if words[place] not in first and words[place][:_KEY] not in starts:
                place += 1
                continue
            end, values = self._longest(words, place)
            out.extend(Hit(place, end, value) for value in values)
            place = end if values else place + 1
        return out

    def _longest(self, words: Sequence[str], start: int) -> tuple[int, list[str]]:
        best: tuple[int, list[str]] = (start, [])
        walks = [(self._root, start)]
        while walks:  # few: a walk ends at the first word that no phrase goes on with
            node, place = walks.pop()
            if node.values and place > best[0]:
                best = (place, node.values)
            if place == len(words):
                continue
            alike = node.prefixes.get(words[place][:_KEY], ())
            walks.extend((n, place + 1) for p, n in alike if words[place].startswith(p))
            follow = node.next.get(words[place])
            if follow is not None:  # taken last, so tried first: of two phrases as long, the one without a * counts
                walks.append((follow, place + 1))
            gap = node.next.get(GAP)
            if gap is not None:
                walks.extend((gap, later) for later in range(place, min(place + MAX_GAP + 1, len(words))))
        return best


@dataclass(frozen=True, slots=True)
class Clause:
    """One proposition and what colours it.

    `conditional`: it holds on a condition; `reported`: it tells of a question, an aim, the past or the unreal; `level`:
    2 decides ("nous", "donc", "votre demande"), 1 states, 0 gives a general rule; `turned`: it stands after "mais" or
    "en revanche"; `negations`: (place, last word reached).
    """

    words: tuple[str, ...]
    conditional: bool
    reported: bool
    level: int
    turned: bool
    negations: tuple[tuple[int, int], ...]

    def negated(self, hit: Hit) -> bool:
        """Whether an odd number of negations bears on the phrase at `hit`; each is (place, last word it reaches)."""
        return sum(1 for place, reach in self.negations if place < hit.end and hit.start <= reach) % 2 == 1


class Reader:
    """Cuts an answer into clauses by the rules' word lists."""

    def __init__(self, rules: GateRules) -> None:
        self._adverbs = frozenset(fold(word) for word in rules.negation.adverbs)
        self._modals = frozenset(fold(word) for word in rules.negation.modals)
        self._before = _list(rules.negation.before)
        self._infinitive = _list(rules.negation.infinitive)
        self._verbs = _list(rules.negation.verbs)
        self._after = _list(rules.negation.after)
        self._idioms = _list(rules.negation.idioms)
        self._condition = Phrases([*((p, "yes") for p in rules.condition), *((p, "no") for p in rules.not_condition)])
        self._local = Phrases([*((p, "yes") for p in rules.condition_local), *((p, "no") for p in rules.not_condition)])
        self._concession = _list(rules.concession)
        self._reported = _list((*rules.reported, *rules.unreal))
        self._decided = _list(rules.decided)
        self._general = _list(rules.general)
        self._generic = _list(rules.generic)
        self._turns = Phrases(
            [*((p, _TURN) for p in rules.adversative), *((p, _JOIN) for p in rules.subordinate)],
        )

    def clauses(self, text: str) -> list[Clause]:
        """Every clause of `text`, concessions left out: they give way to what they introduce."""
        out: list[Clause] = []
        for sentence in _SENTENCE.split(view(text[:MAX_CHARS]).compact.replace("peut-etre", "peutetre")):
            for segment in _SEGMENT.split(sentence):
                words = _WORD.findall(segment)
                if words:
                    out.extend(self._segment(words))
        return out

    def _segment(self, words: list[str]) -> list[Clause]:
        """The clauses of what stands between two full stops or semicolons; a condition colours all of them."""
        conditional = _any_yes(self._condition, [w for w in words if w not in _BREAKS])
        out = []
        general = bool(self._general.find(words))
        for part, turned in self._parts(words):
            if self._concession.find(part[:4]):
                continue
            negations = self._negations(part)
            maybe = _any_yes(self._local, part) and not negations
            level = 0 if general else self._level(part)
            reported = bool(self._reported.find(part))
            out.append(Clause(tuple(part), conditional or maybe, reported, level, turned, negations))
        return out

    def _level(self, part: list[str]) -> int:
        if self._decided.find(part):
            return 2
        return 0 if any(hit.start == 0 for hit in self._generic.find(part[:5])) else 1

    def _parts(self, words: list[str]) -> list[tuple[list[str], bool]]:
        """The segment cut at punctuation, adversatives, conjunctions, and at « et » before a subject of its own."""
        parts: list[tuple[list[str], bool]] = [([], False)]
        turns = {place: hit.value for hit in self._turns.find(words) for place in range(hit.start, hit.end)}
        turned = False
        for place, word in enumerate(words):
            joins = word == "et" and place + 1 < len(words) and words[place + 1] in _SUBJECTS
            if word in _BREAKS or place in turns or joins:
                turned = turned or turns.get(place) == _TURN
                parts.append(([], turned))
            else:
                parts[-1][0].append(word)
        return [part for part in parts if part[0]]

    def _negations(self, words: list[str]) -> tuple[tuple[int, int], ...]:
        """Where a negation begins to bear: « ne … pas » counts once, « sans », « aucun » where they stand."""
        places: list[tuple[int, int]] = []
        # what belongs to an idiom negates nothing
        used = {place for hit in self._idioms.find(words) for place in range(hit.start, hit.end)}
        for hit in self._infinitive.find(words):
            used.update(hit.places)
            places.append((hit.start, _reach(words, hit.end, _INFINITIVE_REACH)))
        for place, word in enumerate(words):
            if word in _NE and place not in used:
                found = self._adverb_of(words, place)
                if found is not None:
                    used.add(found)
                    places.append((min(place, found), _reach(words, max(place, found), _VERB_REACH)))
        places.extend((hit.start, _reach(words, hit.end, _VERB_REACH)) for hit in self._verbs.find(words))
        places.extend((-1, hit.start) for hit in self._after.find(words))
        for hit in self._before.find(words):
            if used.isdisjoint(hit.places):
                self._alone(words, hit, places)
        return tuple(places)

    @staticmethod
    def _alone(words: list[str], hit: Hit, places: list[tuple[int, int]]) -> None:
        """A negation without « ne » bears on a few words, not on the verb after; « plus aucun », « ni » carry on."""
        carried = next((k for k, (place, _) in enumerate(places) if 0 <= place < hit.start), None)
        reach = hit.end + _NOUN_REACH
        if words[hit.start] in _SUBJECT_ADVERBS and carried is not None:
            places[carried] = (places[carried][0], max(places[carried][1], reach))
            return
        verb = next((k for k in range(hit.end, min(reach + 1, len(words))) if words[k] in _NE), None)
        places.append((hit.start, reach if verb is None else verb - 1))

    def _adverb_of(self, words: list[str], place: int) -> int | None:
        """Where the other half of the « ne » at `place` stands; None for « ne … que » and an empty « ne »."""
        # « aucune demande n’est … », « rien ne laisse penser que … »: the subject carries the adverb
        before = next((k for k in range(max(0, place - 6), place) if words[k] in _SUBJECT_ADVERBS), None)
        for k in range(place + 1, min(place + 7, len(words))):
            if words[k] in self._adverbs:
                return k
            if words[k] in _RESTRICTS and before is None:
                return None
        if before is not None:
            return before
        return place if self._modals & set(words[place + 1 : place + 4]) else None


def _list(phrases: Iterable[str]) -> Phrases:
    return Phrases((phrase, "yes") for phrase in phrases)


def _any_yes(phrases: Phrases, words: Sequence[str]) -> bool:
    return any(hit.value == "yes" for hit in phrases.find(words))


def _reach(words: Sequence[str], start: int, reach: int) -> int:
    """The last word that a negation at `start` bears on: a relative, a causal clause or another verb is out of it."""
    last = min(start + reach, len(words) - 1)
    stop = next((k for k in range(start + 1, last + 1) if words[k] in _STOPS or _second_verb(words, k)), None)
    return start + reach if stop is None else stop - 1


def _second_verb(words: Sequence[str], place: int) -> bool:
    """« … et répondons »: the second verb of one subject has a negation of its own."""
    return words[place] == "et" and place + 1 < len(words) and words[place + 1].endswith(_PLURAL_VERB)
