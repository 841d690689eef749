"""Words and phrases found in one sentence, in linear time: the common ground of the attribute and the bias detector.

A text is folded once and first compared, as a set of words, with the words the lists need: an ordinary text ends
there. Only sentences that hold such a word are cut into tokens and matched against a trie of phrases, longest match
first. Knows no rule. Measured against pyahocorasick on the same lists (2 KB of French): 16 µs against 19 µs, and no
hit inside a longer word to discard, so the set is what runs. Work and findings are bounded by the constants below.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Generic, NamedTuple, TypeVar

from .text import View, view

MAX_FINDINGS = 200
"""Findings reported for one text; more are counted as `capped`."""

MAX_TOKENS = 24_000
"""Tokens analysed in one text, about 150 KB of sentences that all hold a listed word; the rest is not examined."""

MAX_SENTENCE = 400
"""Tokens of one sentence or pair of sentences."""

MAX_PIECE = 1_200
"""Characters of one sentence; a longer run without a full stop is looked at in pieces of this length."""

T = TypeVar("T")

_KEEP = b"abcdefghijklmnopqrstuvwxyz0123456789\xfe"
_WORD_BYTES = bytes(code if code in _KEEP else 32 for code in range(256))
_TOKEN = re.compile(r"[a-z0-9\xfe]+|[,;:()\"?!.]")
# A full stop ends a sentence when white space follows and no usual abbreviation stands before it.
_END = re.compile(
    r"(?<!\b[a-z])(?<!\bart)(?<!\bcf)(?<!\bdr)(?<!\bmr)(?<!\bmme)(?<!\bmlle)(?<!\bex)(?<!\bste)[.?!]+[\"')\]]*(?=\s|$)|\n+"
)


class Hit(NamedTuple, Generic[T]):
    """A listed phrase at tokens `start` up to and not including `end`."""

    start: int
    end: int
    value: T


class _Node(Generic[T]):
    """A place inside the written forms of an entry: where each word leads, and what is complete here."""

    __slots__ = ("accepts", "edges", "table")

    def __init__(self) -> None:
        self.edges: dict[str, list[_Node[T]]] = {}
        self.accepts: list[T] = []
        self.table: dict[str, _Node[T]] | None = None

    def merged(self, memo: dict[tuple[int, ...], _Node[T]]) -> dict[str, _Node[T]]:
        """Word → the one node that stands for all it leads to; made at the first visit, kept afterwards."""
        if self.table is None:
            self.table = {}
            for word, targets in self.edges.items():
                if len(targets) == 1:
                    self.table[word] = targets[0]
                    continue
                key = tuple(sorted({id(target) for target in targets}))
                union = memo.get(key)
                if union is None:
                    union = memo[key] = _Node()
                    for target in {id(target): target for target in targets}.values():
                        union.accepts.extend(target.accepts)
                        for next_word, nodes in target.edges.items():
                            union.edges.setdefault(next_word, []).extend(nodes)
                self.table[word] = union
        return self.table


class Lexicon(Generic[T]):
    """Entries with a value each, as one automaton over words that is made deterministic where texts lead it.

    An entry is a sequence of places with alternative words (inflect.slots); its written forms are never multiplied
    out, so lists stay cheap to load however many inflections they allow.
    """

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()
        self._memo: dict[tuple[int, ...], _Node[T]] = {}

    def add(self, places: list[list[tuple[str, ...]]], value: T) -> frozenset[bytes]:
        """Add one entry; returns its key words: a text that holds none of them does not hold the entry."""
        node: _Node[T] = _Node()
        node.accepts.append(value)
        for options in reversed(places):
            before: _Node[T] = _Node()
            for option in options:
                if not option:
                    for word, nodes in node.edges.items():
                        before.edges.setdefault(word, []).extend(nodes)
                    before.accepts.extend(node.accepts)
                    continue
                target = node
                for word in reversed(option[1:]):
                    link: _Node[T] = _Node()
                    link.edges[word] = [target]
                    target = link
                before.edges.setdefault(option[0], []).append(target)
            node = before
        for word, nodes in node.edges.items():
            self._root.edges.setdefault(word, []).extend(nodes)
        return _keys(places)

    def match(self, words: list[str]) -> list[Hit[T]]:
        """All entries found in `words`, by start, then by length."""
        out: list[Hit[T]] = []
        memo = self._memo
        root = self._root.merged(memo)
        size = len(words)
        for start, first in enumerate(words):
            node = root.get(first)
            index = start + 1
            while node is not None:
                if node.accepts:
                    out.extend([Hit(start, index, value) for value in node.accepts])
                if index >= size or not node.edges:
                    break
                node = (node.table or node.merged(memo)).get(words[index])
                index += 1
        return out


def _keys(places: list[list[tuple[str, ...]]]) -> frozenset[bytes]:
    """The longest words of the place whose shortest alternative is longest."""
    best: frozenset[bytes] = frozenset()
    length = 0
    for options in places:
        longest = [max(option, key=len, default="") for option in options]
        if (shortest := min(map(len, longest))) > length:
            length = shortest
            best = frozenset(word.encode("latin-1", "replace") for word in longest)
    return best


@dataclass(slots=True)
class Sentence:
    """The tokens of one sentence: words and punctuation marks, with offsets into the compact fold of `source`."""

    source: View
    words: list[str]
    starts: list[int]
    ends: list[int]
    split: int | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets into the original text of the tokens `start` up to and not including `end`."""
        return self.source.span(self.starts[start], self.ends[end - 1])

    def capital(self, index: int) -> bool:
        """True when token `index` begins with a capital in the original text."""
        first, _ = self.source.span(self.starts[index], self.starts[index] + 1)
        return self.source.original[first : first + 1].isupper()

    def name_like(self, index: int) -> bool:
        """True when token `index` is written as a proper name: a capital, then small letters."""
        first, last = self.source.span(self.starts[index], self.ends[index])
        token = self.source.original[first:last]
        return len(token) > 2 and token[0].isupper() and token[1:].islower()

    def first_part(self) -> Sentence:
        """The sentence without the one that follows it."""
        if self.split is None:
            return self
        return Sentence(self.source, self.words[: self.split], self.starts[: self.split], self.ends[: self.split])

    @property
    def is_question(self) -> bool:
        """True when the sentence ends with a question mark."""
        return "?" in self.words[-3:]


def word_set(folded: str) -> set[bytes]:
    """The distinct words of a folded text, as Latin-1 bytes."""
    return set(folded.encode("latin-1", "replace").translate(_WORD_BYTES).split())


def sentences(source: View, needed: Iterable[frozenset[bytes]], *, paired: bool = False) -> Iterator[Sentence]:
    """The sentences of `source` that hold a word of each set in `needed`, in order, within `MAX_TOKENS` tokens.

    `paired` adds to each the sentence that follows it; `split` says where that one begins.
    """
    compact = source.compact
    sets = tuple(needed)
    budget = MAX_TOKENS
    for first, last, follow in _candidates(compact, sets):
        sentence = _tokens(source, first, last)
        if paired and follow > last and len(sentence.words) < MAX_SENTENCE:
            after = _tokens(source, last, follow)
            sentence.split = len(sentence.words)
            sentence.words += after.words
            sentence.starts += after.starts
            sentence.ends += after.ends
        if sentence.words:
            budget -= len(sentence.words)
            yield sentence
        if budget <= 0:
            return


def _tokens(source: View, first: int, last: int) -> Sentence:
    """The tokens between two offsets, at most `MAX_SENTENCE`."""
    sentence = Sentence(source, [], [], [])
    for found in islice(_TOKEN.finditer(source.compact, first, last), MAX_SENTENCE):
        sentence.words.append(found.group())
        sentence.starts.append(found.start())
        sentence.ends.append(found.end())
    return sentence


def _candidates(compact: str, sets: tuple[frozenset[bytes], ...]) -> Iterator[tuple[int, int, int]]:
    """Start and end of each sentence that holds the needed words, and the end of the sentence after it."""
    first = 0
    waiting: tuple[int, int] | None = None
    for last in chain((found.end() for found in _END.finditer(compact)), (len(compact),)):
        for begin, end in _pieces(compact, first, last):
            if waiting is not None:
                yield (*waiting, end)
                waiting = None
            if _holds(compact[begin:end], sets):
                waiting = (begin, end)
        first = last
    if waiting is not None:
        yield (*waiting, waiting[1])


def _pieces(compact: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """A sentence, or the parts of one that is too long to be prose, cut at spaces."""
    while last - first > MAX_PIECE:
        cut = compact.rfind(" ", first + MAX_PIECE // 2, first + MAX_PIECE)
        cut = first + MAX_PIECE if cut < 0 else cut
        yield first, cut
        first = cut
    if last - first > 3:
        yield first, last


def _holds(part: str, sets: tuple[frozenset[bytes], ...]) -> bool:
    words = part.encode("latin-1", "replace").translate(_WORD_BYTES).split()
    return not any(wanted.isdisjoint(words) for wanted in sets)


def prepare(text: str, needed: Iterable[frozenset[bytes]]) -> View | None:
    """The folded view of `text`, or None when a whole set of `needed` words is missing from it."""
    source = view(text)
    words = word_set(source.compact)
    if any(wanted.isdisjoint(words) for wanted in needed):
        return None
    return source
