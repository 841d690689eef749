"""From one entry of a word list to all its written forms, folded: gender, number, conjugation, English endings.

An expert writes `handicapé*` or `refuser+` once; this file knows the endings. It errs on the side of forms that do
not exist (harmless: nobody writes them) and holds no word of its own. The marks: `*` French noun or adjective,
`+` French verb, `~` English noun or verb; several words may each carry a mark, `(a|b)` gives a choice of words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import overload

from .text import fold

# Endings of nouns and adjectives on the folded masculine singular, longest first: (ending, replacements).
_ENDINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("teur", ("teur", "teurs", "teuse", "teuses", "trice", "trices")),
    ("eur", ("eur", "eurs", "euse", "euses", "eure", "eures")),
    ("eux", ("eux", "euse", "euses")),
    ("eau", ("eau", "eaux")),
    ("aux", ("aux",)),
    ("oux", ("oux", "ouse", "ouses", "ousse", "ousses")),
    ("if", ("if", "ifs", "ive", "ives")),
    ("ien", ("ien", "iens", "ienne", "iennes")),
    ("een", ("een", "eens", "eenne", "eennes")),
    ("ier", ("ier", "iers", "iere", "ieres")),
    ("er", ("er", "ers", "ere", "eres")),
    ("el", ("el", "els", "elle", "elles")),
    ("ul", ("ul", "uls", "ule", "ules")),
    ("al", ("al", "aux", "ale", "ales", "als")),
    ("ot", ("ot", "ots", "ote", "otes", "otte", "ottes")),
    ("et", ("et", "ets", "ette", "ettes", "ete", "etes")),
    ("on", ("on", "ons", "onne", "onnes", "one", "ones")),
    ("an", ("an", "ans", "ane", "anes", "anne", "annes")),
    ("anc", ("anc", "ancs", "anche", "anches")),
    ("rec", ("rec", "recs", "recque", "recques")),
    ("c", ("c", "cs", "que", "ques")),
    ("f", ("f", "fs", "ve", "ves")),
    ("s", ("s", "se", "ses", "sse", "sses")),
    ("x", ("x",)),
    ("e", ("e", "es", "ee", "ees")),
    ("u", ("u", "us", "ue", "ues")),
)
_ENDINGS_OF_VERBS = {
    "er": (
        "er e es ent ons ez ee ees ant ante antes ants ait ais aient ions iez era erai eras erons erez eront erait "
        "erais eraient erions eriez a ai as erent at assent"
    ),
    "ir": (
        "ir is it issons issez issent issait issais issaient issant ira irai iras irons irez iront irait irais iraient "
        "i ie ies irent isse"
    ),
    "re": (
        "re s ons ez ent ait ais aient ions iez ant ra rai ras rons rez ront rait rais raient e u us ue ues it irent"
    ),
}
_ER, _IR, _RE = (tuple(endings.split()) for endings in _ENDINGS_OF_VERBS.values())
_PIECE = re.compile(r"\(([^()]*)\)([*+~]?)|([^\s()]+)")
_SOME_WORD = re.compile(r"\w")
_WORD = re.compile(r"[a-z0-9]+")


@lru_cache(maxsize=20_000)
def words_of(term: str) -> tuple[str, ...]:
    """The folded words of a text, without marks: what the matcher sees of it."""
    if "œ" in term or "Œ" in term:
        term = term.replace("œ", "oe").replace("Œ", "OE")
    folded = fold(term)
    return (folded,) if folded.isalnum() and folded.isascii() else tuple(_WORD.findall(folded))


def nominal(word: str) -> tuple[str, ...]:
    """`algérien` → algerien, algeriens, algerienne, algeriennes (folded)."""
    if word.endswith(("é", "É")):
        stem = fold(word)
        return (stem, stem + "s", stem + "e", stem + "es")
    base = fold(word)
    if base.endswith("e"):
        return (base, base + "s")
    for ending, forms in _ENDINGS:
        if base.endswith(ending):
            return tuple(base[: len(base) - len(ending)] + form for form in forms)
    return (base, base + "s", base + "e", base + "es")


def verbal(word: str) -> tuple[str, ...]:
    """`refuser` → its simple tenses and participles; -er, -ir (finir) and -re (vendre) verbs."""
    base = fold(word)
    if base.endswith("er"):
        stem = base[:-2]
        soft = stem + "e" if stem.endswith("g") else stem
        return tuple((soft if ending[0] in "ao" else stem) + ending for ending in _ER)
    if base.endswith("ir"):
        return tuple(base[:-2] + ending for ending in _IR)
    return (base[:-2], *(base[:-2] + ending for ending in _RE))


def english(word: str) -> tuple[str, ...]:
    """`deny` → deny, denies, denied, denying; also serves for plurals."""
    base = fold(word)
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return (base, base[:-1] + "ies", base[:-1] + "ied", base + "ing")
    if base.endswith("e"):
        return (base, base + "s", base + "d", base[:-1] + "ing")
    if base.endswith(("s", "x", "ch", "sh")):
        return (base, base + "es", base + "ed", base + "ing")
    return (base, base + "s", base + "ed", base + "ing")


_INFLECT = {"*": nominal, "+": verbal, "~": english}


@lru_cache(maxsize=40_000)
def _forms(token: str, mark: str) -> tuple[tuple[str, ...], ...]:
    """The forms of one written piece under its mark; elisions, hyphens and spaces make several words of it."""
    words = words_of(token)
    if not mark or not words:
        return (words,)
    last = token.replace("’", " ").replace("'", " ").replace("-", " ").replace("œ", "oe").split()[-1]
    head = words[:-1]
    return tuple([(*head, form) for form in dict.fromkeys(_INFLECT[mark](last))])


class Entry(Sequence[tuple[tuple[str, ...], ...]]):
    """One list entry as a sequence of places, each with its possible words (an empty tuple: may be left out).

    `client* (âgé|senior)*` gives two places. `œ` is matched in both spellings. Forms are made when a place is asked
    for, so that a long list costs little until a text comes near it. An optional beginning is dropped: it adds nothing
    to what is found. Raises ValueError on parentheses that do not close or an entry without an obligatory word.
    """

    __slots__ = ("_pieces",)

    def __init__(self, term: str) -> None:
        pieces: list[tuple[str, str, str]] = _PIECE.findall(term)
        opened = term.count("(")
        if opened != term.count(")") or (opened and opened != sum([1 for choice, _, _ in pieces if choice])):
            raise ValueError(f"malformed list entry: {term}")
        if opened or len(pieces) > 1:
            pieces = [piece for piece in pieces if _SOME_WORD.search(piece[0] or piece[2])]
            while pieces and pieces[0][0] and "" in map(str.strip, pieces[0][0].split("|")):
                del pieces[0]
        elif pieces and not _SOME_WORD.search(pieces[0][2]):
            pieces = []
        if not pieces:
            raise ValueError(f"malformed list entry: {term}")
        self._pieces = pieces

    def __len__(self) -> int:
        return len(self._pieces)

    @overload
    def __getitem__(self, index: int) -> tuple[tuple[str, ...], ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[tuple[str, ...], ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[tuple[str, ...], ...] | Sequence[tuple[tuple[str, ...], ...]]:
        if isinstance(index, slice):
            return [_place(*piece) for piece in self._pieces[index]]
        return _place(*self._pieces[index])

    def rarest(self, weigh: Callable[[str], int]) -> int:
        """The place to look an entry up by: the one whose words weigh least; a choice only where no lone word is rare.

        Words are weighed as they are written, without their other forms.
        """
        pieces = self._pieces
        if len(pieces) == 1:
            return 0
        alone = [(min(map(weigh, words_of(word))), at) for at, (_, _, word) in enumerate(pieces) if word]
        if alone and min(alone)[0] < 0:
            return min(alone)[1]
        for at, (choice, _, word) in enumerate(pieces):
            options = () if word else _written(choice)
            if options and () not in options:
                alone.append((max([min(map(weigh, option)) for option in options]), at))
        return min(alone)[1]


@lru_cache(maxsize=20_000)
def _written(choice: str) -> tuple[tuple[str, ...], ...]:
    return tuple([words_of(option) for option in choice.split("|")])


@lru_cache(maxsize=40_000)
def _place(choice: str, mark: str, word: str) -> tuple[tuple[str, ...], ...]:
    """The forms of one piece of an entry: a word with its mark, or a choice."""
    if not word:
        return tuple([form for option in choice.split("|") for form in _option(option.strip(), mark)])
    bare = word.rstrip("*+~")
    options = _forms(bare, word[len(bare) : len(bare) + 1])
    if "œ" in bare:
        options += (tuple(_WORD.findall(fold(bare))),)
    return options


def _option(option: str, mark: str) -> Sequence[tuple[str, ...]]:
    """The forms of one choice; marks inside it count for their own word, `mark` for the last one."""
    if not option:
        return ((),)
    pieces = option.split()
    out: Sequence[tuple[str, ...]] = ((),)
    for index, piece in enumerate(pieces):
        bare = piece.rstrip("*+~")
        own = piece[len(bare) : len(bare) + 1] or (mark if index == len(pieces) - 1 else "")
        forms = _forms(bare, own)
        out = forms if index == 0 else [head + form for head in out for form in forms]
    return out
