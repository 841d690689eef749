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
_WORD: Final = re.compile(r"[a-z0-9\xfe]+|[,;:()]")
_BREAKS: Final = frozenset(",;:()")
_VERB_REACH: Final = 9
_NOUN_REACH: Final = 3
"""Words after its end that a negation bears on: a verb's whole group, or the noun after « aucun », « sans »."""
GAP: Final = "_"
MAX_GAP: Final = 5
"""Words that may stand in the place of a _ inside a listed phrase."""
_FILLERS: Final = frozenset(
    {"ne", "n", "pas", "plus", "jamais", "point", "guere", "nullement", "aucunement"}
    | {"bien", "donc", "egalement", "ainsi", "toujours", "pleinement", "totalement", "entierement", "effectivement"}
    | {"integralement", "clairement", "malheureusement", "aussi", "alors", "encore", "pleine", "toutefois"}
)
_SUBJECTS: Final = frozenset(
    {"nous", "vous", "il", "elle", "ils", "elles", "on", "je", "la", "le", "les", "votre", "notre", "cette", "ce"}
    | {"l", "un", "une"}
)


@dataclass
class _Node:
    """A place in the trie of phrases."""

    next: dict[str, _Node] = field(default_factory=dict)
    prefixes: list[tuple[str, _Node]] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Hit:
    """A listed phrase at words `start` up to and not including `end`."""

    start: int
    end: int
    value: str


def _phrase_words(phrase: str) -> list[str]:
    """The folded words of a listed phrase, a final * kept on the word it ends."""
    return re.findall(r"[a-z0-9\xfe]+\*?|_", fold(phrase.replace("*", "")) + ("*" if phrase.endswith("*") else ""))


def without_fillers(words: Sequence[str]) -> tuple[list[str], list[int]]:
    """`words` without negations and adverbs that may stand inside a phrase, and the place of each one kept."""
    places = [place for place, word in enumerate(words) if word not in _FILLERS]
    return [words[place] for place in places], places


class Phrases:
    """Phrases of folded words; the longest at each place wins.

    A final * stands for the rest of a word, a _ for at most `MAX_GAP` words. With `loose`, negations and adverbs inside
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
        found = next((n for p, n in node.prefixes if p == word[:-1]), None)
        if found is None:
            found = _Node()
            node.prefixes.append((word[:-1], found))
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
        while place < len(words):
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
            follow = node.next.get(words[place])
            if follow is None:
                follow = next((n for p, n in node.prefixes if words[place].startswith(p)), None)
            if follow is not None:
                walks.append((follow, place + 1))
            gap = node.next.get(GAP)
            if gap is not None:
                walks.extend((gap, later) for later in range(place, min(place + MAX_GAP + 1, len(words))))
        return best


@dataclass(frozen=True, slots=True)
class Clause:
    """One proposition. `conditional`: its sentence sets a condition; `reported`: it tells of a question or an aim."""

    words: tuple[str, ...]
    conditional: bool
    reported: bool
    negations: tuple[tuple[int, int], ...]

    def negated(self, hit: Hit) -> bool:
        """Whether an odd number of negations bears on the phrase at `hit`; each is (place, last word it reaches)."""
        return sum(1 for place, reach in self.negations if place < hit.end and hit.start <= reach) % 2 == 1


class Reader:
    """Cuts an answer into clauses by the rules' word lists."""

    def __init__(self, rules: GateRules) -> None:
        self._adverbs = frozenset(fold(word) for word in rules.negation.adverbs)
        self._before = Phrases((phrase, "") for phrase in rules.negation.before)
        self._idioms = Phrases((phrase, "") for phrase in rules.negation.idioms)
        self._condition = Phrases([*((p, "yes") for p in rules.condition), *((p, "no") for p in rules.not_condition)])
        self._concession = Phrases((p, "") for p in rules.concession)
        self._reported = Phrases((p, "") for p in rules.reported)
        self._adversative = Phrases((p, "") for p in rules.adversative)

    def clauses(self, text: str) -> list[Clause]:
        """Every clause of `text`, concessions left out: they give way to what they introduce."""
        out: list[Clause] = []
        for sentence in _SENTENCE.split(view(text[:MAX_CHARS]).compact):
            words = _WORD.findall(sentence)
            if words:
                out.extend(self._sentence(words))
        return out

    def _sentence(self, words: list[str]) -> list[Clause]:
        plain = [w for w in words if w not in _BREAKS]
        conditional = any(hit.value == "yes" for hit in self._condition.find(plain))
        out = []
        for part in self._parts(words):
            if self._concession.find(part[:4]):
                continue
            reported = bool(self._reported.find(part))
            out.append(Clause(tuple(part), conditional, reported, self._negations(part)))
        return out

    def _parts(self, words: list[str]) -> list[list[str]]:
        """The sentence cut at punctuation, at adversatives, and at « et » before a subject of its own."""
        parts: list[list[str]] = [[]]
        turns = {place for hit in self._adversative.find(words) for place in range(hit.start, hit.end)}
        for place, word in enumerate(words):
            joins = word == "et" and place + 1 < len(words) and words[place + 1] in _SUBJECTS
            if word in _BREAKS or place in turns or joins:
                parts.append([])
            else:
                parts[-1].append(word)
        return [part for part in parts if part]

    def _negations(self, words: list[str]) -> tuple[tuple[int, int], ...]:
        """Where a negation begins to bear: « ne … pas » counts once, « sans », « aucun » where they stand."""
        places: list[tuple[int, int]] = []
        # what belongs to an idiom negates nothing
        adverbs_used = {place for hit in self._idioms.find(words) for place in range(hit.start, hit.end)}
        for place, word in enumerate(words):
            if word in {"ne", "n"} and place not in adverbs_used:
                adverb = next(
                    (k for k in range(place + 1, min(place + 7, len(words))) if words[k] in self._adverbs), None
                )
                # « aucune demande n’est … »: the subject carries the adverb
                before = next(
                    (k for k in range(max(0, place - 6), place) if words[k] in {"aucun", "aucune", "rien", "ni"}), None
                )
                found = adverb if adverb is not None else before
                if found is not None:
                    adverbs_used.add(found)
                    places.append((min(place, found), max(place, found) + _VERB_REACH))
        alone = (hit for hit in self._before.find(words) if not adverbs_used & set(range(hit.start, hit.end)))
        return (*places, *((hit.start, hit.end + _NOUN_REACH) for hit in alone))
