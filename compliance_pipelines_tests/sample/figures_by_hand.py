"""A second, much simpler reading of figures, so that the marks of the situations are not checked by
themselves.

It knows amounts, shares, durations and numbered articles, compares them by value, and shares no code with
the sample or with the detectors.
"""

from __future__ import annotations

import re
import unicodedata

_WORDS = {
    "un": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "six": 6, "huit": 8, "dix": 10, "douze": 12,
    "quatorze": 14, "quinze": 15, "trente": 30,
}  # fmt: skip
_NUMBER = r"(\d+(?:,\d+)?|" + "|".join(_WORDS) + r")"
_MONEY = re.compile(r"(\d+(?:,\d+)?) ?(M)?(?: ?(?:€|euros?\b|EUR\b))")
_SHARE = re.compile(r"(\d+(?:,\d+)?) ?(?:%|pour cent)")
_SPAN = re.compile(r"\b" + _NUMBER + r" (?:jours?|semaines?|mois|ans?|heures?|année)\b")
_UNIT = re.compile(r"(jour|semaine|mois|an|heure)")
_ARTICLE = re.compile(r"\b[aA]rticle ([LRAD]?\d+(?:-\d+)*)")
_CLAUSE = re.compile(r"\b[cC]lause (\d+)")


def flat(text: str) -> str:
    """One kind of space, no space inside numbers, composed accents."""
    text = unicodedata.normalize("NFC", text)
    text = re.sub(r"[\u00a0\u202f\u2009]", " ", text)
    return re.sub(r"(?<=\d) (?=\d{3}(?!\d))", "", text)


def figures(text: str) -> set[tuple[str, str]]:
    """Every figure of `text` as (kind, normal form)."""
    text = flat(text)
    found: set[tuple[str, str]] = set()
    for match in _MONEY.finditer(text):
        found.add(("money", f"{float(match[1].replace(',', '.')) * (1e6 if match[2] else 1):.2f}"))
    found |= {("percent", f"{float(match[1].replace(',', '.')):g}") for match in _SHARE.finditer(text)}
    for match in _SPAN.finditer(text):
        unit = _UNIT.findall(match[0].split(" ", 1)[1])[0]
        number = _WORDS.get(match[1], match[1])
        found.add(("delay", f"{number} {unit}"))
    found |= {("law_article", match[1]) for match in _ARTICLE.finditer(text)}
    found |= {("clause", match[1]) for match in _CLAUSE.finditer(text)}
    return found
