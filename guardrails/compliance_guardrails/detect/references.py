"""Finds articles of law and clauses of the contract: the announcing word, then one number or a list of them.

``article L111-1``, ``L. 113-8``, ``R*111-2``, ``articles 1240 et 1241``, ``1792 du Code civil``, ``clause n° 12.3``.
An article "des Conditions générales" is a clause. Values are normalised (``L. 113-8`` is ``L113-8``). Serves SPEC 2.3.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from .claim_rules import ClaimRules
from .hits import MAX_CANDIDATES, Hit, Kind, longest_first
from .text import View

_SEPARATOR = r"(?:, ?(?:et |ou )?| et (?:a )?(?:l'|aux? )?| ou (?:l')?| a |-| au?x? )"
_NUMERO = r"(?:n(?:°|os?|um(?:eros?)?)?\.? ?|numeros? )?"
_BEFORE_CODE = re.compile(r"(?<![a-z0-9'])([a-z])\.?[ ]?\*?\.?[ -]?\Z")
_BEFORE_OF_CODE = re.compile(r"(?<![a-z0-9,.*-])([0-9]{1,4}(?:-[0-9]{1,3}){0,4}(?: (?:bis|ter|quater))?)\Z")
_CLAUSE_NUMBER = r"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){0,4}(?![0-9a-z%])|[ivx]{1,6}(?![a-z0-9']))"


class ReferenceScanner:
    """The patterns of one set of rules, compiled once."""

    def __init__(self, rules: ClaimRules) -> None:
        law = rules.law_article
        self._letters = frozenset("".join(law.letters).lower())
        letters = "".join(sorted(self._letters))
        suffix = "|".join(longest_first(law.suffixes))
        number = (
            rf"(?:([{letters}])[. ]?[ ]?\*?\.?[ -]?)?([0-9]{{1,4}}(?:[.-][0-9]{{1,4}}){{0,4}}"
            rf"(?: ?(?:{suffix})(?![a-z]))?)(?:er)?(?![0-9a-z°%])|()(premier)(?![a-z])"
        )
        self._article_number = re.compile(number)
        self._article = re.compile(rf"{_announce(law.words)} ?{_NUMERO}(?=[0-9{letters}p])")
        self._clause_number = re.compile(_CLAUSE_NUMBER)
        self._clause = re.compile(rf"{_announce(rules.clause.words)} ?{_NUMERO}(?=[0-9ivx])")
        self._separator = re.compile(_SEPARATOR + _NUMERO)
        documents = "|".join(map(re.escape, longest_first(law.contract_documents)))
        self._of_contract = re.compile(
            rf" (?:des?|du|de (?:la|l'|vos|votre|nos|notre|ce|cette)|dudit|aux?|a (?:la|l'|votre)) ?"
            rf"(?:presente?s? )?(?:{documents})(?![a-z])"
        )

    def scan(self, view: View, codes: list[tuple[int, int]], amounts: set[int]) -> Iterator[Hit]:
        """References of the compact fold; `codes` from `AmountScanner`, `amounts` where numbers of amounts start."""
        folded = view.compact
        taken: set[int] = set()
        for announce in _bounded(self._article, folded):
            plural = announce[0].rstrip(" .n°ou").endswith("s")
            hits = list(self._list(folded, announce, Kind.LAW_ARTICLE, amounts, plural=plural))
            if hits and self._of_contract.match(folded, hits[-1].end):
                hits = [hit._replace(kind=Kind.CLAUSE) for hit in hits]
            taken.update(hit.number for hit in hits)
            yield from hits
        for start, end in codes:
            if start not in taken and (hit := self._code(view, start, end)):
                yield hit
        yield from self._of_a_code(folded, taken)
        for announce in _bounded(self._clause, folded):
            yield from self._list(folded, announce, Kind.CLAUSE, amounts, plural=True, view=view)

    def _list(
        self,
        folded: str,
        announce: re.Match[str],
        kind: Kind,
        amounts: set[int],
        *,
        plural: bool,
        view: View | None = None,
    ) -> Iterator[Hit]:
        pattern = self._article_number if view is None else self._clause_number
        start, position = announce.start(), announce.end()
        for _ in range(60):
            match = pattern.match(folded, position)
            if match is None:
                return
            if view is None:
                letter, digits = (match[1] or match[3] or ""), (match[2] or match[4])
                number = match.start(2) if match[2] else match.start(4)
                value = letter.upper() + re.sub(r"\s", "", digits).replace("premier", "1")
                strong = bool(letter) or "-" in digits
            else:
                number, value, strong = match.start(), match[0].upper(), True
                if value[0].isalpha() and not view.evidence(match.start(), match.end()).isupper():
                    return
            first = start == announce.start()
            if number in amounts or not (first or plural or strong):
                return
            yield Hit(
                kind, value.rstrip("."), "article" if view is None else "clause", start, match.end(), number
            )
            separator = self._separator.match(folded, match.end())
            if separator is None:
                return
            start = position = separator.end()

    def _code(self, view: View, start: int, end: int) -> Hit | None:
        """``L. 113-8`` without the word "article": the letter decides."""
        letter = _BEFORE_CODE.search(view.compact, max(0, start - 6), start)
        if letter is None or letter[1] not in self._letters:
            return None
        written = view.evidence(letter.start(1), letter.end(1))
        if not written.isascii() or (written.islower() and letter[1] in "ad"):
            return None  # "à 111-4", "il a 111-4", "d 111-4" are words, not parts of a code
        return Hit(
            Kind.LAW_ARTICLE,
            letter[1].upper() + view.compact[start:end],
            "article",
            letter.start(1),
            end,
            start,
        )

    def _of_a_code(self, folded: str, taken: set[int]) -> Iterator[Hit]:
        """``1792 du Code civil`` without the word "article"."""
        at = folded.find(" du code ")
        for _ in range(MAX_CANDIDATES):
            if at < 0:
                return
            match = _BEFORE_OF_CODE.search(folded, max(0, at - 26), at)
            if match is not None and match.start() not in taken and folded[at - 1 : at] != "-":
                yield Hit(
                    Kind.LAW_ARTICLE, match[1].replace(" ", ""), "article", match.start(), at, match.start()
                )
            at = folded.find(" du code ", at + 9)


def _announce(words: tuple[str, ...]) -> str:
    """Any of `words` at the start of a word, written so that a search can leap to their common beginning."""
    folded = longest_first(words)
    common = os.path.commonprefix(folded)
    rests = "|".join(re.escape(word[len(common) :]) for word in folded)
    return rf"{re.escape(common)}(?<![a-z0-9]{re.escape(common)})(?:{rests})"


def _bounded(pattern: re.Pattern[str], folded: str) -> Iterator[re.Match[str]]:
    for count, match in enumerate(pattern.finditer(folded)):
        if count >= MAX_CANDIDATES:
            return
        yield match
