"""How a word list is written, and what one entry of it stands for: places, each with its possible words.

An expert writes `handicapé*` or `refuser+` once; endings.py knows the endings. The marks: `*` French noun or adjective,
`+` French verb, `~` English noun or verb; several words may each carry a mark, `(a|b)` gives a choice of words. A whole
list is folded at once (`fold_list`); what folding would lose, a final é before `*` and the ligature œ, is kept aside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import overload

from .endings import english, nominal, participle, verbal
from .text import FILLER, fold

_PIECE = re.compile(r"\(([^()]*)\)([*+~]?)|([^\s()]+)")
_SOME_WORD = re.compile(r"\w")
_WORD = re.compile(r"[a-z0-9]+")
_ACUTE_AT_END = re.compile("[éÉ](?=[*|)])")
_ACUTE = "^"
_MARKS = "*+~^"
_LIGATURE = f"o{FILLER}e"
_INFLECT: dict[str, Callable[[str], tuple[str, ...]]] = {"*": nominal, "+": verbal, "~": english}


Piece = tuple[str, str, str]
"""One place as it is written: a choice and its mark, or a word with its own."""


def fold_list(listed: str) -> str:
    """A list, or one entry of it, folded and without elisions and hyphens.

    A final é that a mark may follow is followed by `^`, œ is two letters with a filler between them.
    """
    if "œ" in listed or "Œ" in listed:
        listed = listed.replace("œ", "o\x02e").replace("Œ", "o\x02e")
    folded = fold(_ACUTE_AT_END.sub("é^", listed)).replace("'", " ").replace("-", " ")
    return folded.replace(" |", "|").replace("| ", "|").replace("( ", "(").replace(" )", ")")


def terms(listed: str) -> Iterator[str]:
    """The entries of a comma-separated list."""
    return (entry for raw in listed.split(",") if (entry := raw.strip()))


def words_of(term: str) -> tuple[str, ...]:
    """The folded words of a text, without marks: what the matcher sees of it."""
    if "œ" in term or "Œ" in term:
        term = term.replace("œ", "oe").replace("Œ", "OE")
    return bare(fold(term))


def bare(folded: str) -> tuple[str, ...]:
    """The words of a folded text; elisions, hyphens and spaces make several words of it."""
    if folded.isascii():
        if folded.isalnum():
            return (folded,)
        words = folded.split()
        if "".join(words).isalnum():
            return tuple(words)
    return tuple(_WORD.findall(folded.replace(_LIGATURE, "oe") if FILLER in folded else folded))


def forms_of(term: str) -> Sequence[str] | None:
    """The forms of a folded entry that is one plain word with or without a mark; None for any other."""
    if not term.isascii():
        return None
    if term.isalnum():
        return (term,)
    inflected = _INFLECT.get(term[-1:])
    base = term[:-1]
    if inflected is None:
        return (base,) if term[-1:] == _ACUTE and base.isalnum() else None
    if base.isalnum():
        return inflected(base)
    if base[-1:] == _ACUTE and base[:-1].isalnum():
        return participle(base[:-1]) if term[-1] == "*" else inflected(base[:-1])
    return None


def rarest_of(term: str, weights: Mapping[str, int]) -> tuple[int, Sequence[str]] | None:
    """Of a folded entry of several words: the place of its rarest word, and the forms of that word.

    None where the entry is written in a way that wants a closer look (`Entry`).
    """
    tokens = term.split()
    words = tokens if "".join(tokens).isalnum() else [token.rstrip(_MARKS) for token in tokens]
    if not (term.isascii() and all(map(str.isalnum, words))):
        return None
    found = [weights.get(word, -len(word)) for word in words]
    at = found.index(min(found)) if found else 0
    forms = forms_of(tokens[at]) if found else None
    return None if forms is None else (at, forms)


@lru_cache(maxsize=20_000)
def _forms(token: str, mark: str) -> tuple[tuple[str, ...], ...]:
    """The forms of one folded piece under its mark."""
    words = bare(token)
    if not mark or not words:
        return (words,)
    head = words[:-1]
    inflected = participle if mark == "*" and token.endswith(_ACUTE) else _INFLECT[mark]
    return tuple([(*head, form) for form in dict.fromkeys(inflected(words[-1]))])


class Entry(Sequence[tuple[tuple[str, ...], ...]]):
    """One list entry as a sequence of places, each with its possible words (an empty tuple: may be left out).

    `client* (âgé|senior)*` gives two places. `œ` is matched in both spellings. Forms are made when a place is asked
    for, so that a long list costs little until a text comes near it. An optional beginning is dropped: it adds nothing
    to what is found. `folded`: the entry comes from `fold_list`. Raises ValueError on parentheses that do not close or
    an entry without an obligatory word.
    """

    __slots__ = ("pieces",)

    def __init__(self, term: str, *, folded: bool = False) -> None:
        written: list[Piece] = _PIECE.findall(term if folded else fold_list(term))
        opened = term.count("(")
        if opened != term.count(")") or (opened and opened != len([1 for choice, _, _ in written if choice])):
            raise ValueError(f"malformed list entry: {term}")
        pieces = [piece for piece in written if _SOME_WORD.search(piece[0] or piece[2])]
        while pieces and "|" in pieces[0][0] and "" in map(str.strip, pieces[0][0].split("|")):
            del pieces[0]
        if not pieces:
            raise ValueError(f"malformed list entry: {term}")
        self.pieces: list[Piece] = pieces

    def __len__(self) -> int:
        return len(self.pieces)

    @overload
    def __getitem__(self, index: int) -> tuple[tuple[str, ...], ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[tuple[str, ...], ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[tuple[str, ...], ...] | Sequence[tuple[tuple[str, ...], ...]]:
        if isinstance(index, slice):
            return [place_of(*piece) for piece in self.pieces[index]]
        return place_of(*self.pieces[index])

    def options_with(self, word: str, at: int) -> Sequence[tuple[str, ...]]:
        """The forms of place `at` that may hold `word`, one of its keys: that word alone where no form is longer."""
        choice, mark, lone = self.pieces[at]
        if lone.isalnum() or _unmarked(choice.replace("|", "") or lone).isalnum():
            return ((word,),)
        if _is_unmarked(choice, mark):
            return [tuple(option.split()) for option in choice.split("|") if word in option]
        return self[at]

    def rarest(self, weights: Mapping[str, int]) -> int:
        """The place to look an entry up by: the one whose words weigh least; a choice only where no lone word is rare.

        Words are weighed as they are written, without their other forms.
        """
        pieces = self.pieces
        if len(pieces) == 1:
            return 0
        found: list[tuple[int, int]] = []
        for at, (_, _, word) in enumerate(pieces):
            if word:
                base = word.rstrip(_MARKS)
                lone = (base,) if base.isalnum() else bare(word)
                found.append((min([weights.get(w, -len(w)) for w in lone]), at))
        if found and (rarest := min(found))[0] < 0:
            return rarest[1]
        for at, (choice, _, _) in enumerate(pieces):
            if choice and "" not in (options := _unmarked(choice).split("|")):
                weighed = [_weight(o, weights) if " " in o else weights.get(o, -len(o)) for o in options]
                found.append((max(weighed), at))
        return min(found)[1]

    def keys(self, at: int, weights: Mapping[str, int]) -> Sequence[str]:
        """The words to look an entry up by at place `at`: of each of its forms, the one that weighs least."""
        choice, mark, word = self.pieces[at]
        options = choice.split("|") if choice else (word,)
        if _is_unmarked(choice, mark):
            return [key_of(option.split(), weights) if " " in option else option for option in options if option]
        found: list[str] = []
        for option in options:
            forms = _option_of_one_word(option, mark)
            if forms is None:
                several = _option(option, mark) if choice else self[at]
                forms = [key_of(form, weights) for form in several if form]
            found += forms
        return found


def key_of(option: Sequence[str], weights: Mapping[str, int]) -> str:
    """The word of an option that weighs least: a word without a weight the less, the longer it is."""
    found = [weights.get(word, -len(word)) for word in option]
    return option[found.index(min(found))]


def _weight(words: str, weights: Mapping[str, int]) -> int:
    """What the lightest of some words weighs."""
    return min([weights.get(word, -len(word)) for word in words.split()])


def _is_unmarked(choice: str, mark: str) -> bool:
    """Whether a choice is of words that stand as they are."""
    return not mark and choice.isascii() and choice.replace("|", "").replace(" ", "").isalnum()


def _unmarked(written: str) -> str:
    return written.replace("*", "").replace("+", "").replace("~", "").replace(_ACUTE, "")


@lru_cache(maxsize=40_000)
def place_of(choice: str, mark: str, word: str) -> tuple[tuple[str, ...], ...]:
    """The forms of one piece of an entry: a word with its mark, or a choice."""
    if _is_unmarked(choice, mark):
        return tuple([tuple(option.split()) for option in choice.split("|")])
    if not word:
        return tuple([form for option in choice.split("|") for form in _option(option, mark)])
    base = word.rstrip("*+~")
    mark = word[len(base) : len(base) + 1]
    options = _forms(base, mark)
    return options if FILLER not in base else options + _forms(base.replace(_LIGATURE, "e"), mark)


def words_of_place(choice: str, mark: str, word: str) -> Sequence[str] | None:
    """The forms of a piece that are all one plain word, an empty one where it may be left out; None for any other."""
    if word:
        return forms_of(word)
    if " " in choice:
        return None
    if _is_unmarked(choice, mark):
        return choice.split("|")
    out: list[str] = []
    for option in choice.split("|"):
        forms = _option_of_one_word(option, mark) if option else ("",)
        if forms is None:
            return None
        out += forms
    return out


def _option(option: str, mark: str) -> Sequence[tuple[str, ...]]:
    """The forms of one choice; marks inside it count for their own word, `mark` for the last one."""
    if not option:
        return ((),)
    words = _option_of_one_word(option, mark)
    if words is not None:
        return [(word,) for word in words]
    pieces = option.split()
    out: Sequence[tuple[str, ...]] = ((),)
    for index, piece in enumerate(pieces):
        base = piece.rstrip("*+~")
        own = piece[len(base) : len(base) + 1] or (mark if index == len(pieces) - 1 else "")
        forms = _forms(base, own)
        out = forms if index == 0 else [head + form for head in out for form in forms]
    return out


def _option_of_one_word(option: str, mark: str) -> Sequence[str] | None:
    """The forms of one choice that is one plain word; None for any other."""
    if not option or " " in option:
        return None
    return forms_of(option if option[-1] in "*+~" else option + mark)
