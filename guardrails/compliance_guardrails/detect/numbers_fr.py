"""French numbers, in digits and in words, to exact values.

Digits with any of the separators in use (``12 500,00``, ``12.500,00``, ``12'500``), words up to milliards
(``quatre-vingt-dix``, ``deux mille``, also septante and nonante). Input is folded text (`text.view`). Knows nothing
of units: what a number counts is the business of `amounts` and `references`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

# Possessive on purpose: a number is read once, so a run of digits and separators costs no backtracking. At most 15
# digits or seven groups are read; what is longer is an identifier, not an amount.
DIGITS: Final = (
    r"[0-9](?<![0-9a-z_][0-9])(?>"
    r"[0-9]{0,2}(?:[ .'][0-9]{3}){1,6}(?![0-9])(?:[.,][0-9]{1,8})?"
    r"|[0-9]{0,2}(?:,[0-9]{3}){1,5}\.[0-9]{1,4}(?![0-9])"
    r"|[0-9]{0,2}(?:,[0-9]{3}){2,5}(?![0-9,])"
    r"|[0-9]{0,14}(?:[.,][0-9]{1,8})?)"
)
_MAX_WORDS: Final = 12
_MAX_SPAN: Final = 90
_LONGEST: Final = 12  # characters of the longest number word and its separator

_SMALL: Final[dict[str, int]] = {
    "zero": 0, "un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "six": 6, "sept": 7, "huit": 8,
    "neuf": 9, "dix": 10, "onze": 11, "douze": 12, "treize": 13, "quatorze": 14, "quinze": 15, "seize": 16,
    "vingt": 20, "vingts": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60, "septante": 70,
    "huitante": 80, "octante": 80, "nonante": 90,
}  # fmt: skip
_SCALES: Final = {"mille": 1_000, "million": 10**6, "millions": 10**6, "milliard": 10**9, "milliards": 10**9}
_HUNDRED: Final = frozenset({"cent", "cents"})
NUMBER_WORDS: Final = frozenset(_SMALL) | frozenset(_SCALES) | _HUNDRED


def parse_digits(text: str, *, money: bool) -> Decimal:
    """The value of a run matched by `DIGITS`.

    The last of two different separators is the decimal one. A lone ``.`` or ``,`` before exactly three digits groups
    thousands when `money` is true (12.500 €, 12,500 EUR) and, for ``,``, is decimal otherwise (12,125 %).
    """
    if text.isdigit():
        return Decimal(text)
    digits = text.replace(" ", "").replace("'", "")
    dot, comma = digits.rfind("."), digits.rfind(",")
    if dot >= 0 and comma >= 0:
        group, point = (".", ",") if comma > dot else (",", ".")
        return Decimal(digits.replace(group, "").replace(point, "."))
    mark = "." if dot >= 0 else ","
    if max(dot, comma) < 0:
        return Decimal(digits)
    whole, *rest = digits.split(mark)
    grouped = len(rest) > 1 or (money and len(rest[0]) == 3 and 0 < len(whole) <= 3 and whole[0] != "0")
    if grouped:
        return Decimal(whole + "".join(rest))
    return Decimal(f"{whole}.{''.join(rest)}")


def parse_words(words: list[str]) -> int | None:
    """The value of a number in words ("quatre", "vingt", "dix" is 90), or None when the words make no number."""
    total = group = 0
    for word in words:
        if word == "et":
            continue
        if word in _SCALES:
            total += (group or 1) * _SCALES[word]
            group = 0
        elif word in _HUNDRED:
            group = (group or 1) * 100
        elif word in _SMALL:
            value = _SMALL[word]
            group = group - 4 + 80 if value == 20 and group % 10 == 4 and group % 100 == 4 else group + value
        else:
            return None
    return total + group if words else None


def number_before(folded: str, end: int) -> tuple[int, int] | None:
    """The number in words that ends at `end` (a space or hyphen may follow): its start and value, or None."""
    low = max(0, end - _MAX_SPAN)
    while end > low and folded[end - 1] in " -":
        end -= 1
    words: list[str] = []
    start = at = end
    while at > low and len(words) < _MAX_WORDS:
        window = folded[max(low, at - _LONGEST) : at]
        word = window[max(map(window.rfind, " -'(")) + 1 :]
        if word not in NUMBER_WORDS and not (word == "et" and words):
            break
        words.append(word)
        start = at - len(word)
        if start <= low or folded[start - 1] in "'(":
            break
        at = start - 1
    while words and words[-1] == "et":
        start += 3
        words.pop()
    if not words or (start > 0 and (folded[start - 1].isalnum() or folded[start - 1] == "_")):
        return None
    value = parse_words(words[::-1])
    return None if value is None else (start, value)
