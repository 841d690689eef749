"""A text cut into the sentences that are worth a look, and those into words with offsets; linear and bounded.

A text is folded once and first compared, as a set of words, with the words the lists need: an ordinary text ends
there. Measured against pyahocorasick on the same lists (2 KB of French): 16 µs against 19 µs, with no hit inside a
longer word to discard, so the set is what runs. Knows no rule and no list. The bounds are the constants below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from .text import View

MAX_FINDINGS = 200
"""Findings reported for one text; more are counted as `capped`."""

MAX_LOOKED_AT = 40_000
"""Tokens of candidate sentences looked at in one text, about 200 KB; later candidates are not examined."""

MAX_ANALYSED = 6_000
"""Tokens of sentences that do name a group and are analysed in full, about 30 KB; later ones are not."""

PER_SENTENCE = 20
"""What a sentence costs besides its own tokens, in tokens: many short ones must not cost more than few long ones."""

MAX_SENTENCE = 250
"""Tokens of one sentence."""

MAX_PIECE = 1_200
"""Characters of one sentence; a longer run without a full stop is looked at in pieces of this length."""

MAX_SUBSTRINGS = 12
"""Up to so many wanted words a search for each is cheaper than cutting a sentence into words."""

_KEEP = b"abcdefghijklmnopqrstuvwxyz0123456789\xfe"
_WORD_BYTES = bytes(code if code in _KEEP else 32 for code in range(256))
_TOKEN = re.compile(r"[a-z0-9\xfe]+|[,;:()\"?!.]")
# A full stop ends a sentence when white space follows and no usual abbreviation stands before it. The sign comes first
# in the pattern, so that the search skips from sign to sign.
_ABBREVIATIONS = "".join(rf"(?<!\b{word}\.)" for word in ("[a-z]", "art", "cf", "dr", "mr", "mme", "mlle", "ex", "ste"))
_END = re.compile(rf"[.?!\n](?:(?<=\n)|{_ABBREVIATIONS}[.?!]*[\"')\]]*(?=\s|$))")


@dataclass(slots=True)
class Sentence:
    """The tokens of one sentence: words and punctuation marks, with offsets into the compact fold of `source`.

    `follow` is the end, in that fold, of the sentence that comes next; `split` the first token of it once joined.
    """

    source: View
    words: list[str]
    starts: list[int]
    ends: list[int]
    stop: int = 0
    follow: int = 0
    split: int | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets into the original text of the tokens `start` up to and not including `end`."""
        return self.source.span(self.starts[start], self.ends[end - 1])

    def written(self, index: int) -> str:
        """Token `index` as it stands in the original text."""
        first, last = self.source.span(self.starts[index], self.ends[index])
        return self.source.original[first:last]

    def capital(self, index: int) -> bool:
        """True when token `index` begins with a capital."""
        return self.written(index)[:1].isupper()

    def name_like(self, index: int) -> bool:
        """True when token `index` is written as a proper name: a capital, then small letters."""
        token = self.written(index)
        return len(token) > 2 and token[0].isupper() and token[1:].islower()

    @property
    def is_question(self) -> bool:
        """True when the sentence ends with a question mark."""
        return "?" in self.words[-3:]

    def with_next(self) -> Sentence | None:
        """This sentence and the one after it as one, or None when there is none."""
        if self.follow <= self.stop:
            return None
        after = tokens(self.source, self.stop, self.follow)
        joined = Sentence(self.source, self.words + after.words, self.starts + after.starts, self.ends + after.ends)
        joined.split = len(self.words)
        return joined if after.words else None


def byte_words(compact: str) -> list[bytes]:
    """The words of a folded text, in order, as Latin-1 bytes."""
    return _raw(compact).split()


def _raw(compact: str) -> bytes:
    """The folded text with every sign that is not part of a word blanked; offsets stay."""
    return compact.encode("latin-1", "replace").translate(_WORD_BYTES)


def sentences(source: View, wanted: frozenset[bytes], also: frozenset[bytes] | None = None) -> Iterator[Sentence]:
    """The sentences that hold one of the words `wanted` (and one of `also`), within `MAX_LOOKED_AT` tokens."""
    budget = MAX_LOOKED_AT
    for first, last, follow in _candidates(source.compact, wanted, also):
        sentence = tokens(source, first, last)
        sentence.stop, sentence.follow = last, follow
        budget -= len(sentence.words) + PER_SENTENCE // 4
        if sentence.words:
            yield sentence
        if budget <= 0:
            return


def tokens(source: View, first: int, last: int) -> Sentence:
    """The tokens between two offsets of the compact fold, at most `MAX_SENTENCE`."""
    sentence = Sentence(source, [], [], [], last, last)
    words, starts, ends = sentence.words, sentence.starts, sentence.ends
    for found in islice(_TOKEN.finditer(source.compact, first, last), MAX_SENTENCE):
        words.append(found[0])
        starts.append(found.start())
        ends.append(found.end())
    return sentence


def _candidates(
    compact: str, wanted: frozenset[bytes], also: frozenset[bytes] | None
) -> Iterator[tuple[int, int, int]]:
    """Start and end of each sentence that holds a wanted word, and the end of the sentence after it."""
    raw = _raw(compact)
    few = tuple(wanted) if len(wanted) <= MAX_SUBSTRINGS else None
    first = 0
    waiting: tuple[int, int] | None = None
    for last in chain((found.end() for found in _END.finditer(compact)), (len(compact),)):
        for begin, end in _pieces(compact, first, last):
            if waiting is not None:
                yield (*waiting, end)
                waiting = None
            piece = raw[begin:end]
            if few is None or any(word in piece for word in few):
                words = piece.split()
                if not wanted.isdisjoint(words) and (also is None or not also.isdisjoint(words)):
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
    if last - first > 1:
        yield first, last
