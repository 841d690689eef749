"""Which words a pair varies: they are taken out of the answers before meaning and figures are compared.

Names and values of the variants, and, where both templates are nearly the same text, the words in which they differ.
A register pair differs in almost every word: there nothing but the variants is taken out.
"""

from __future__ import annotations

import difflib
import re
from decimal import Decimal
from typing import Final

from compliance_guardrails.detect.text import view

from .pairs import Pair, Side
from .rules import GateRules

MAX_CHANGED: Final = 12
"""More differing words than this on a side: the templates are two wordings, not one text with an attribute."""
_WORD: Final = re.compile(r"[a-z0-9\xfe]+")
_CIVILITY: Final = frozenset({"m", "mme", "mlle", "monsieur", "madame", "el", "la", "le"})


def changed_words(pair: Pair, rules: GateRules) -> tuple[set[str], frozenset[object]]:
    """(phrases to take out, folded; numbers among them as Decimals, which figures must ignore)."""
    phrases: set[str] = set()
    for side in Side:
        for filling in pair.fillings(side, rules):
            for value in filling.values():
                words = _WORD.findall(view(value).compact)
                phrases.add(" ".join(words))
                if len(words) <= 4:
                    phrases.update(w for w in words if w not in _CIVILITY and (len(w) > 2 or w.isdigit()))
    one, two = (_WORD.findall(view(pair.template(side)).compact) for side in Side)
    matcher = difflib.SequenceMatcher(a=one, b=two, autojunk=False) if max(len(one), len(two)) < 600 else None
    if matcher is not None:
        blocks = [block for block in matcher.get_opcodes() if block[0] != "equal"]
        if sum(max(b[2] - b[1], b[4] - b[3]) for b in blocks) <= MAX_CHANGED:
            for _, a, b, c, d in blocks:
                phrases.update(w for w in (*one[a:b], *two[c:d]) if len(w) > 2 or w.isdigit())
    phrases.discard("")
    numbers = {Decimal(word) for phrase in phrases for word in phrase.split() if word.isdigit() and len(word) < 7}
    years = {number * 12 for number in numbers}  # an age "74 ans" is read as a delay of 888 months
    return phrases, frozenset(numbers | years)
