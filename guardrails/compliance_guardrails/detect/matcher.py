"""A text cut into the sentences that are worth a look, and those into words with offsets; linear and bounded.

A text is folded once and looked over paragraph by paragraph, as words, for those under which an entry of the lists
stands: an ordinary text ends there. Words in a set were measured quicker than pyahocorasick on the same lists (2 KB of
French: 16 µs against 19), with no hit inside a longer word to discard.
Knows no rule and no list. The bounds are the constants below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from itertools import islice

from .text import View

MAX_FINDINGS = 200
"""Findings reported for one text; more are counted as `capped`."""

MAX_LOOKED_AT = 40_000
"""Tokens of candidate sentences looked at in one text, 100 to 200 KB; one that names a group counts twice."""

MAX_ANALYSED = 6_000
"""Tokens of sentences that do name a group and are analysed in full, about 30 KB; later ones are not."""

PER_SENTENCE = 20
"""What a sentence costs besides its own tokens, in tokens: many short ones must not cost more than few long ones."""

MAX_SENTENCE = 250
"""Tokens of one sentence."""

MIN_PIECE = 2
"""Characters of the shortest sentence; a line end alone is none."""

MAX_PIECE = 1_200
"""Characters of one sentence; a longer run without a full stop is looked at in pieces of this length."""

AHEAD = 200
"""Characters before a word that is looked for, in which the sentence that holds it is first thought to begin."""

FEW = 24
"""Words of one paragraph that are looked for one by one."""

PARAGRAPH = 2_000
"""Characters that are looked at together at least, where lines are shorter."""

BLOCK = 8_000
"""Characters of a part of a long line that is first looked at as a whole."""

_KEEP = b"abcdefghijklmnopqrstuvwxyz0123456789\xfe"
_WORD_BYTES = bytes(code if code in _KEEP else 32 for code in range(256))
_TOKEN = re.compile(r"[a-z0-9\xfe]+|[,;:()\"?!.]")
# A full stop ends a sentence when white space follows and no usual abbreviation stands before it. The sign comes first
# in the pattern, so that the search skips from sign to sign.
_ABBREVIATIONS = "".join(rf"(?<!\b{word}\.)" for word in ("[a-z]", "art", "cf", "dr", "mr", "mme", "mlle", "ex", "ste"))
_END = re.compile(rf"[.?!\n](?:(?<=\n)|{_ABBREVIATIONS}[.?!]*[\"')\]]*(?=\s|$))")


class Sentence:
    """The tokens of one sentence: words and punctuation marks; their offsets are worked out when asked for.

    `first` and `stop` are its ends in the compact fold of `source`, `follow` the end there of the sentence that comes
    next; `split` the first token of that one once joined.
    """

    __slots__ = ("_may_name", "_next", "_places", "first", "follow", "source", "split", "stop", "words")

    def __init__(self, source: View, first: int, stop: int, follow: int) -> None:
        self.source = source
        self.first = first
        self.stop = stop
        self.follow = follow
        self.split: int | None = None
        self.words: list[str] = _TOKEN.findall(source.compact, first, stop)
        del self.words[MAX_SENTENCE:]
        self._places: list[tuple[int, int]] | None = None
        self._next: list[str] | None = None
        self._may_name: bool | None = None

    @property
    def places(self) -> list[tuple[int, int]]:
        """Start and end of each token in the compact fold."""
        if self._places is None:
            compact = self.source.compact
            found = islice(_TOKEN.finditer(compact, self.first, self.stop), self.split or MAX_SENTENCE)
            self._places = [match.span() for match in found]
            if self.split is not None:
                found = islice(_TOKEN.finditer(compact, self.stop, self.follow), MAX_SENTENCE)
                self._places += [match.span() for match in found]
        return self._places

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets into the original text of the tokens `start` up to and not including `end`."""
        places = self.places
        return self.source.span(places[start][0], places[end - 1][1])

    def written(self, index: int) -> str:
        """Token `index` as it stands in the original text."""
        first, last = self.source.span(*self.places[index])
        return self.source.original[first:last]

    def capital(self, index: int) -> bool:
        """True when token `index` begins with a capital."""
        return self.written(index)[:1].isupper()

    def name_like(self, index: int) -> bool:
        """True when token `index` is written as a proper name: a capital, then small letters."""
        token = self.written(index)
        return len(token) > 2 and token[0].isupper() and token[1:].islower()

    @property
    def may_name(self) -> bool:
        """False when no token but the first can be written as a proper name: a quick look at all letters at once."""
        if self._may_name is None:
            self._may_name = self._capital_inside(self.first, self.stop if self.split is None else self.follow)
        return self._may_name

    @property
    def next_may_name(self) -> bool:
        """`may_name` of the sentence that comes next."""
        return self._capital_inside(self.stop, self.follow)

    @property
    def next_words(self) -> list[str]:
        """The words of the sentence that comes next, without punctuation."""
        return raw_words(self.source.compact[self.stop : self.follow]).split()

    @property
    def next_tokens(self) -> list[str]:
        """The tokens of the sentence that comes next, with punctuation."""
        if self._next is None:
            self._next = _TOKEN.findall(self.source.compact, self.stop, self.follow)[:MAX_SENTENCE]
        return self._next

    def _capital_inside(self, start: int, end: int) -> bool:
        source = self.source
        first, last = (start, end) if source.plain else source.span(start, end)
        return not source.original[first:last].lstrip()[1:].islower()

    @property
    def is_question(self) -> bool:
        """True when the sentence ends with a question mark."""
        return "?" in self.words[-3:]

    def with_next(self) -> Sentence | None:
        """This sentence and the one after it as one, or None when there is none."""
        if self.follow <= self.stop:
            return None
        after = Sentence(self.source, self.stop, self.follow, self.follow)
        if not after.words:
            return None
        after.first, after.stop = self.first, self.stop
        after.split = len(self.words)
        after.words = self.words + after.words
        return after


def raw_words(compact: str) -> str:
    """The folded text with every sign that is not part of a word blanked; offsets stay, `split` gives the words."""
    return compact.encode("latin-1", "replace").translate(_WORD_BYTES).decode("latin-1")


def stretches(compact: str, raw: str, wanted: Callable[[list[str]], Set[str]]) -> Iterator[tuple[int, int, int]]:
    """Each sentence that holds a word that is wanted in its paragraph: its ends, and the end of the sentence after it.

    `wanted` picks them among the words of a paragraph; one without any is not cut into sentences, another only as far
    as it has some. At most `MAX_LOOKED_AT` paragraphs and sentences are passed over.
    """
    spaced = f" {raw} "
    waiting: tuple[int, int] | None = None
    passed = 0
    for low, high in _paragraphs(compact):
        passed += 1
        found = wanted(raw[low:high].split())
        if not found and waiting is None:
            continue
        few = len(found) <= FEW
        places = _places(spaced, low, high, found) if few else [low]
        at, place, start = 0, places[0], low
        while start < high:
            if waiting is None and place - start > AHEAD and few:
                start = _begin(compact, start, place)
            match = _END.search(compact, start, high)
            stop = high if match is None else match.end()
            size = stop - start
            for first, last in ((start, stop),) if size <= MAX_PIECE else _pieces(compact, start, stop):
                if size < MIN_PIECE:
                    continue
                passed += 1
                if waiting is not None:
                    yield (*waiting, last)
                    waiting = None
                if place < last and (few or not found.isdisjoint(raw[first:last].split())):
                    waiting = first, last
                while few and place < last:
                    at += 1
                    place = places[at]
            if place == high and waiting is None:
                break
            start = stop
        if passed > MAX_LOOKED_AT:
            break
    if waiting is not None:
        yield (*waiting, waiting[1])


def _begin(compact: str, start: int, place: int) -> int:
    """Where the sentence begins that holds the word at `place`, when an end shortly before it shows that; else `start`.

    What lies between is not cut. A search may begin behind any letter or digit, for no end of a sentence holds one.
    """
    line = compact.rfind("\n", place - AHEAD, place)
    at = place - AHEAD
    if line >= 0:
        at = start = line + 1
    while not (at == start or compact[at - 1].isalnum()):
        at += 1
    for match in _END.finditer(compact, at, place + 1):
        start = match.end()
    return start


def _places(spaced: str, low: int, high: int, found: Set[str]) -> list[int]:
    """Where the words `found` stand between `low` and `high`, in order, then `high`."""
    places: list[int] = []
    for word in found:
        between = f" {word} "
        at = spaced.find(between, low, high + 2)
        while at >= 0:
            places.append(at)
            at = spaced.find(between, at + 1, high + 2)
    places.sort()
    places.append(high)
    return places


def _paragraphs(compact: str) -> Iterator[tuple[int, int]]:
    """A text in lines, short ones together; a very long line in parts that end with a sentence, where one does."""
    first, size = 0, len(compact)
    while first < size:
        last = compact.find("\n", first + PARAGRAPH) + 1 or size
        while last - first > 2 * BLOCK:
            found = _END.search(compact, first + BLOCK, first + 2 * BLOCK)
            cut = first + 2 * BLOCK if found is None else found.end()
            yield first, cut
            first = cut
        yield first, last
        first = last


def _pieces(compact: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """A sentence, or the parts of one that is too long to be prose, cut at spaces."""
    while last - first > MAX_PIECE:
        cut = compact.rfind(" ", first + MAX_PIECE // 2, first + MAX_PIECE)
        cut = first + MAX_PIECE if cut < 0 else cut
        yield first, cut
        first = cut
    if last - first >= MIN_PIECE:
        yield first, last
