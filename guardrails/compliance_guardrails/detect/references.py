"""Finds articles of law and clauses of the contract: the announcing word, then one number or a list of them.

``article L111-1``, ``L. 113-8``, ``R*111-2``, ``articles 1240 et 1241``, ``1792 du Code civil``, ``clause n° 12.3``.
An article "des Conditions générales" is a clause. Values are normalised (``L. 113-8`` is ``L113-8``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .claim_rules import ClaimRules
from .hits import Hit, Kind
from .lexicon import Anchor, Lexicon, Role, trie
from .numbers_fr import NUMBER_WORDS, parse_words
from .text import View

_SEPARATOR = r"(?:, ?(?:et |ou )?| & | et (?:a )?(?:l'|aux? )?| ou (?:l')?| a |-| au?x? )"
_NUMERO = r"(?:n(?:°|os?|um(?:eros?)?)?\.? ?)?"
_ONLY_NUMERO = r"(?: [a-z'\"]{1,20}){1,4},? n(?:°|os?)\.? ?"
_BEFORE_CODE = re.compile(r"(?<![a-z0-9'])([a-z])\.?[ ]?\*?\.?[ -]?\Z")
_BEFORE_OF_CODE = re.compile(r"(?<![a-z0-9,.*-])([0-9]{1,4}(?:-[0-9]{1,3}){0,4}(?: (?:bis|ter|quater))?)\Z")
_DATED = re.compile("-(?:19|20)[0-9]{2}-")
_OF_A_CODE = ("du code", "du c. civ", "c. civ", "c. ass")
_MAX_LIST = 60
_DIGITS = "0123456789"
_CODE = re.compile(r"(?<![0-9])[0-9]{3,4}(?:-[0-9]{1,4}){1,4}(?![0-9a-z-])")
_NOT_A_CLAUSE_NUMBER = frozenset({"un", "une", "zero", "million", "millions", "milliard", "milliards"})


class ReferenceScanner:
    """The patterns of one set of rules, compiled once; adds its anchors to the lexicon."""

    def __init__(self, rules: ClaimRules, lexicon: Lexicon) -> None:
        law = rules.law_article
        self._letters = frozenset("".join(law.letters).lower())
        letters = "".join(sorted(self._letters))
        suffix = trie(law.suffixes)
        self._article_number = re.compile(
            rf"(?:([{letters}])[. ]?[ ]?\*?\.?[ -]?)?([0-9]{{1,4}}(?:[.-][0-9]{{1,4}}){{0,4}}"
            rf"(?: ?(?:{suffix})(?![a-z]))?)(?:er)?(?![0-9a-z°%])"
            rf"( (?!m\.|c\. ?[a-z])(?:[a-z]|[ivx]{{2,4}})(?: (?:{suffix}))?(?![a-z0-9'°]))?|()(premier)(?![a-z])"
        )
        spelled = trie(NUMBER_WORDS - _NOT_A_CLAUSE_NUMBER)
        self._clause_number = re.compile(
            rf"[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{0,4}}(?: (?:{suffix})(?![a-z]))?(?![0-9a-z%])|[ivx]{{1,6}}(?![a-z0-9'])"
            rf"|[a-z]{{1,3}}-?[0-9]{{1,4}}(?![0-9a-z%])"
            rf"|(?:{spelled})(?:[ -](?:et[ -])?(?:{trie(NUMBER_WORDS)})){{0,4}}(?![a-z])"
        )
        self._announced = re.compile(rf" ?{_NUMERO}")
        self._qualified = re.compile(_ONLY_NUMERO)
        self._separator = re.compile(_SEPARATOR + _NUMERO)
        self._of_contract = re.compile(
            rf" (?:des?|du|de (?:la|l'|vos|votre|nos|notre|ce|cette)|dudit|aux?|a (?:la|l'|votre)) ?"
            rf"(?:presente?s? )?(?:{trie(law.contract_documents)})(?![a-z])"
        )
        for role, words in ((Role.ARTICLE, law.words), (Role.CLAUSE, rules.clause.words)):
            for word in words:
                lexicon.add(role, word, word.rstrip(".").endswith("s"))
        for words_after in _OF_A_CODE:
            lexicon.add(Role.OF_A_CODE, f" {words_after}")
        for left in _DIGITS:
            for right in _DIGITS:
                lexicon.add(Role.DASH, f"{left}-{right}", inside=True)
        self._firsts = frozenset(f'{_DIGITS}{letters}pnt (*"')

    def scan(self, seen: View, anchors: list[list[Anchor]], amounts: set[int]) -> Iterator[Hit]:
        """References of a view; `amounts` are the places where numbers of amounts start."""
        folded = seen.compact
        taken: set[int] = set()
        for anchor in anchors[Role.ARTICLE]:
            if folded[anchor[1] + 1 : anchor[1] + 2] not in self._firsts:
                continue
            hits = list(self._articles(seen, anchor, amounts))
            if hits and self._of_contract.match(folded, hits[-1].end):
                hits = [hit._replace(kind=Kind.CLAUSE) for hit in hits]
            taken.update([hit.number for hit in hits])
            yield from hits
        last = -1
        for dash in anchors[Role.DASH]:
            code = _CODE.search(folded, max(0, dash[0] - 3), dash[1] + 20) if dash[0] > last else None
            if code is not None and code.start() <= dash[0]:
                last = code.end()
                if code.start() not in taken and (hit := self._code(seen, *code.span())):
                    taken.add(code.start())
                    yield hit
        for anchor in anchors[Role.OF_A_CODE]:
            match = _BEFORE_OF_CODE.search(folded, max(0, anchor[0] - 26), anchor[0])
            if match is not None and match.start() not in taken:
                value = match[1].replace(" ", "")
                yield Hit(Kind.LAW_ARTICLE, value, "article", match.start(), anchor[0], match.start())
        for anchor in anchors[Role.CLAUSE]:
            yield from self._clauses(seen, anchor, amounts)

    def _announcement(self, folded: str, end: int) -> int:
        """Where the number may stand after the announcing word that ends at `end`."""
        match = self._announced.match(folded, end)
        position = match.end() if match else end
        if position <= end + 1 and not folded[position : position + 1].isdigit():
            match = self._qualified.match(folded, end)
            return match.end() if match else position
        return position

    def _articles(self, seen: View, anchor: Anchor, amounts: set[int]) -> Iterator[Hit]:
        folded = seen.compact
        start, position = anchor[0], self._announcement(folded, anchor[1])
        for rank in range(_MAX_LIST):
            match = self._article_number.match(folded, position)
            if match is None:
                return
            letter, digits = match[1] or "", match[2] or "1"
            number, end = (match.start(2), match.end()) if match[2] else (match.start(5), match.end())
            if match[3]:  # "article 990 I", "39 C", "150-0 B ter"; in small letters it is the next word
                capital = seen.visible[match.start(3) + 1].isupper()
                if capital and not (match[3] == " a" and seen.visible[start + 1].isupper()):
                    digits += match[3].upper()
                else:
                    end = match.start(3)
            # After a singular "article" only what looks like one goes on with the list: "L113-8 et L113-9".
            if number in amounts or (rank and not (anchor[2] or letter or "-" in digits)):
                return
            value = letter.upper() + digits.replace(" ", "")
            yield Hit(Kind.LAW_ARTICLE, value, "article", start, end, number)
            separator = self._separator.match(folded, end)
            if separator is None:
                return
            start = position = separator.end()

    def _clauses(self, seen: View, anchor: Anchor, amounts: set[int]) -> Iterator[Hit]:
        folded = seen.compact
        start, position = anchor[0], self._announcement(folded, anchor[1])
        for _ in range(_MAX_LIST):
            match = self._clause_number.match(folded, position)
            if match is None or match.start() in amounts:
                return
            value = match[0].upper().replace(" ", "")
            if value.isalpha() or "-" in value:
                shown = seen.visible[match.start() : match.end()]
                spelled = parse_words(match[0].replace("-", " ").split())
                if spelled is not None:
                    value = str(spelled)
                elif not shown.isupper():
                    return  # "clause vi…" in small letters is no Roman number
            yield Hit(Kind.CLAUSE, value, "clause", start, match.end(), match.start())
            separator = self._separator.match(folded, match.end())
            if separator is None:
                return
            start = position = separator.end()

    def _code(self, seen: View, start: int, end: int) -> Hit | None:
        """``L. 113-8`` without the word "article": the letter decides."""
        folded = seen.compact
        letter = _BEFORE_CODE.search(folded, max(0, start - 6), start)
        if letter is None or letter[1] not in self._letters:
            return None
        written = seen.evidence(letter.start(1), letter.end(1))
        if not written.isascii() or (written.islower() and letter[1] in "ad"):
            return None  # "à 111-4", "il a 111-4", "d 111-4" are words, not parts of a code
        if _DATED.match(folded, start - 1):
            return None  # "devis D-2024-115"
        value = letter[1].upper() + folded[start:end]
        return Hit(Kind.LAW_ARTICLE, value, "article", letter.start(1), end, start)
