"""Folding: one length-preserving view of any text, on which every detector matches.

What lives here: `fold`, which maps each character to one lowercase Latin-1 character so that an offset in the fold is
an offset in the original, and `view`, which drops invisible characters (combining marks of NFD text, zero-width
characters, direction marks) and keeps the way back. What does not: any word list or rule.
Serves the rule that French is matched as people type it and that evidence spans point into the original text.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from itertools import accumulate, chain, compress, pairwise

FILLER = "\x7f"
"""Stands for a character that is not seen (combining mark, zero-width, control): drop it before matching words."""

EURO = "\xa4"
"""Stands for the euro sign, which Latin-1 lacks."""

OTHER_LETTER = "\xfe"
"""Stands for a letter that has no Latin look-alike; it is a word character, so word boundaries stay right."""

OTHER_SYMBOL = "\xac"
"""Stands for any other sign (emoji, lone surrogate, private use)."""

_PLAIN = {
    "’": "'", "‘": "'", "‛": "'", "ʼ": "'", "ʹ": "'", "′": "'", "`": "'", "´": "'", "‹": "'", "›": "'",
    "«": '"', "»": '"', "“": '"', "”": '"', "„": '"', "‟": '"', "″": '"',
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-", "﹣": "-", "－": "-",
    "•": "*", "‣": "*", "●": "*", "▪": "*", "◦": "*", "∙": "*", "■": "*",
    "…": ".", "€": EURO, "œ": "e", "Œ": "e", "æ": "e", "Æ": "e", "ß": "s", "ø": "o",
    "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d", "ı": "i", "º": "°", "％": "%", "＊": "*", "∗": "*",
    "⁄": "/", "∕": "/", "＄": "$",
    "【": "[", "】": "]", **dict.fromkeys("⁰⁴⁵⁶⁷⁸⁹", "¹"),
    "\xa0": " ", "\t": " ", "\n": "\n", "\r": "\n", "\v": "\n", "\f": "\n", "\x85": "\n",
    "\u2028": "\n", "\u2029": "\n",
}  # fmt: skip

# Capitals and small letters of Cyrillic and Greek that look like Latin ones: typed by mistake or to slip past a list.
_LOOKALIKES = dict(
    zip(
        "АВЕКМНОРСТУХІЈЅаеорсухіјѕԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοια",
        "abekmhopctyxijsaeopcyxijsdqwabezhikmnoptyxoia",
        strict=True,
    )
)


def _fold_char(char: str) -> str:
    """One character to exactly one Latin-1 character."""
    plain = _PLAIN.get(char) or _LOOKALIKES.get(char)
    if plain is None and 0x20 <= ord(char) < 0x7F:
        plain = char.lower()
    return plain or _fold_by_category(char, unicodedata.category(char))


def _fold_by_category(char: str, category: str) -> str:
    """A character without an entry of its own: what its Unicode category makes of it."""
    if category == "Zs":
        return " "
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category[0] == "L":
        base = unicodedata.normalize("NFKD", char)[0]
        known = base.lower() if base.isascii() and base.isalpha() else _PLAIN.get(base) or _LOOKALIKES.get(base)
        return known or OTHER_LETTER
    if category in {"Mn", "Me", "Mc", "Cf", "Cc"}:
        return FILLER
    return char if ord(char) < 0x100 else OTHER_SYMBOL


class _FoldTable(dict[int, str]):
    """A `str.translate` table that fills itself with the characters it meets."""

    def __missing__(self, code: int) -> str:
        folded = _fold_char(chr(code))
        if len(self) < 65536:  # bounded: a hostile text may hold every code point
            self[code] = folded
        return folded


_LATIN1 = bytes(ord(_fold_char(chr(code))) for code in range(256))
_TABLE = _FoldTable()
_MAX_DISTINCT = 24  # beyond this many foreign characters one translate pass is cheaper than a replace for each
_SPARSE = 8  # with fewer fillers than one in so many characters, what stands between them is copied in pieces
_FREQUENT = tuple((char, _fold_char(char)) for char in ("’", "€", "\u202f", "œ"))


def fold(text: str) -> str:
    """Return `text` folded: same length, lowercase, without accents, every space U+0020, every line end ``\\n``.

    Every character becomes exactly one Latin-1 character, so ``text[a:b]`` is the evidence for a match at ``a:b``.
    Apostrophes become ``'``, quotation marks ``"``, dashes ``-``, bullets ``*``, the euro sign `EURO`, œ and æ ``e``,
    characters that are not seen `FILLER`. Idempotent, never raises, O(length). Fold the words of a list with it too.
    """
    plain = text
    for distinct in range(_MAX_DISTINCT):
        try:
            return plain.encode("latin-1").translate(_LATIN1).decode("latin-1")
        except UnicodeEncodeError as error:
            if not distinct:
                for char, folded in _FREQUENT:
                    plain = plain.replace(char, folded)
            else:
                char = plain[error.start]
                plain = plain.replace(char, _TABLE[ord(char)])
    return text.translate(_TABLE)


class View:
    """A text as a matcher should read it: folded, without fillers and Markdown emphasis, with the way back.

    `compact` is what to match on; `span` gives the offsets of a match in `original`. `plain`: nothing was dropped, so
    that offsets are the same in both.
    """

    def __init__(self, original: str, compact: str, folded: str) -> None:
        self.original = original
        self.compact = compact
        self.folded = folded
        self.plain = len(compact) == len(folded)
        self._shifts: list[int] | None = None
        self._visible = original if self.plain else None

    @property
    def visible(self) -> str:
        """The original characters behind `compact`, one for one: where capitals are to be told from small letters."""
        if self._visible is None:
            self._visible = self._shown()
        return self._visible

    def _shown(self) -> str:
        if self.folded.count(FILLER) > len(self.folded) // _SPARSE:
            return "".join(compress(self.original, map(FILLER.__ne__, self.folded)))
        ends = accumulate(len(part) + 1 for part in self.folded.split(FILLER))
        starts = chain((0,), ends)
        return "".join([self.original[start : end - 1] for start, end in pairwise(starts)])

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets in `original` of ``compact[start:end]``, marks that combine with its last letter included."""
        if self.plain:
            return start, end
        if self._shifts is None:  # for each dropped character, how many compact ones stand before it
            self._shifts = list(accumulate(map(len, self.folded.split(FILLER))))[:-1]
        first = start + bisect_right(self._shifts, start)
        if end <= start:
            return first, first
        last = end + bisect_right(self._shifts, end - 1)
        while last < len(self.original) and unicodedata.combining(self.original[last]):
            last += 1
        return first, last

    def evidence(self, start: int, end: int) -> str:
        """The original characters of ``compact[start:end]``."""
        first, last = self.span(start, end)
        return self.original[first:last]


def view(text: str) -> View:
    """Fold `text` and drop what a reader does not see (fillers, ``**``). O(length); never raises."""
    folded = fold(text)
    if "**" in folded:
        folded = folded.replace("**", FILLER * 2)
    return View(text, folded.replace(FILLER, ""), folded)
