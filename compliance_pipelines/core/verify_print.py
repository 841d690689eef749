"""Find the rows of attached figures in the text of the printed pages.

A printed row is: label, base (N), figures, and the verdict that closes it; layout does not matter, only
this order. Numbers are compared by value at the precision printed. The report's formatting code is not
reused on purpose, so that an error there shows here. Pure; linear in the text for each row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

from compliance_pipelines.core.records import Verdict

MAX_TEXT = 2_000_000
ROW_NUMBERS = 24  # the widest table row has fewer than half as many
LABEL_CHARACTERS = 1500  # a repeated table head may stand between the row before and the label
_GROUP = "\u202f\u00a0\u2009 "
_VERDICTS = "|".join(r"\s+".join(map(re.escape, verdict.split())) for verdict in sorted(Verdict, key=len, reverse=True))
_TOKEN = re.compile(
    rf"(?P<verdict>\b(?:{_VERDICTS})\b)"
    rf"|(?P<number>\d{{1,3}}(?:[{_GROUP}]\d{{3}}(?!\d)){{1,6}}(?:,\d{{1,12}})?|\d{{1,18}}(?:,\d{{1,12}})?)"
)
_VERDICT = re.compile(rf"\b(?:{_VERDICTS})\b")
_ALONE = re.compile(rf"^[^\w\n]*({_VERDICTS})[^\w\n]*$", re.MULTILINE)
_PART = re.compile(r"\d+(?:,\d+)?")


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """What one row must show: base, the figures after it in order, verdict and label where known.

    `name` is for messages.
    """

    name: str
    base: int
    values: tuple[Decimal, ...]
    verdict: str | None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A number (`value`, printed with `decimals`) or a verdict.

    The number starts at `page[start]`, after the first `seen` of the page's verdicts, which end at `ends`; kept as
    offsets, since a page may hold very many numbers.
    """

    value: Decimal | None
    decimals: int
    verdict: str | None
    page: str = field(default="", repr=False)
    ends: Sequence[int] = field(default=(), repr=False)
    seen: int = 0
    start: int = 0

    def before(self, skipped: int) -> str:
        """The text from the last verdict to the number, `skipped` verdicts not counted."""
        last = self.seen - 1 - skipped
        return self.page[max(self.ends[last] if last >= 0 else 0, self.start - LABEL_CHARACTERS) : self.start]


def print_problems(rows: Sequence[PrintedRow], pages: Iterable[str], verdict: object = None) -> list[str]:
    """French sentences for the rows that are not in print; empty when all are.

    Each row claims its own place: two departments cannot be proved by one printed line. `verdict` is the
    month's; the first verdict printed must be it. Reading stops when nothing is left to find.
    """
    tokens: list[Token] = []
    used: set[int] = set()
    left = list(rows)
    size = 0
    first: str | None = None
    for page in pages:
        size += len(page)
        if size > MAX_TEXT:
            return [f"texte du PDF : attendu moins de {MAX_TEXT} caractères"]
        start = len(tokens)
        tokens.extend(_tokens(page))
        first = first or _first_verdict(page, tokens[start:])
        left = [row for row in left if not _claim(row, tokens, used)]
        if not left and first:
            break
    problems = [f"{row.name} : la ligne imprimée ne correspond pas aux données jointes" for row in left]
    if isinstance(verdict, str) and first != verdict:
        problems.insert(0, f"verdict imprimé : {first or 'aucun'}, données jointes : {verdict[:40]}")
    return problems


def _first_verdict(page: str, tokens: Sequence[Token]) -> str | None:
    """The first verdict with a line of its own, as the month's is; the organisation above may bear its words."""
    alone = _ALONE.search(page)
    return " ".join(alone[1].split()) if alone else next((token.verdict for token in tokens if token.verdict), None)


def _tokens(text: str) -> list[Token]:
    """Numbers and verdicts of one page in order.

    Digits in groups of three may be one number or several neighbours: both readings are kept.
    """
    found: list[Token] = []
    ends: list[int] = []
    for match in _TOKEN.finditer(text):
        if match["verdict"]:
            found.append(Token(None, 0, " ".join(match[0].split())))
            ends.append(match.end())
            continue
        start = match.start()
        raws = [match[0]]
        if any(space in match[0] for space in _GROUP):
            raws += _PART.findall(match[0])
        for raw in raws:
            digits = raw.translate({ord(space): None for space in _GROUP}).replace(",", ".")
            found.append(Token(Decimal(digits), len(digits.partition(".")[2]), None, text, ends, len(ends), start))
    return found


def _claim(row: PrintedRow, tokens: Sequence[Token], used: set[int]) -> bool:
    base = Decimal(row.base)
    for index, token in enumerate(tokens):
        if token.value == base and token.decimals == 0 and index not in used and _proves(row, tokens, index):
            used.add(index)
            return True
    return False


def _proves(row: PrintedRow, tokens: Sequence[Token], index: int) -> bool:
    """Whether the tokens after the base, up to the verdict that closes the row, show all its figures."""
    numbers: list[Token] = []
    verdict: str | None = None
    for token in tokens[index + 1 : index + 2 + ROW_NUMBERS]:
        if token.verdict:
            verdict = token.verdict
            break
        numbers.append(token)
    if verdict is None or row.verdict not in {None, verdict}:
        return False
    # In the order of the columns, each number once: a neighbour cannot stand in for a wrong figure.
    following = iter(numbers)
    if not all(any(_prints(token, value) for token in following) for value in row.values):
        return False
    if row.label is None:
        return True
    # A department may be called by the words of a verdict: those of its own name close no row.
    before = tokens[index].before(len(_VERDICT.findall(row.label)))
    return "".join(row.label.split()) in "".join(before.split())


def _prints(token: Token, value: Decimal) -> bool:
    """Whether a printed number is `value` rounded to the decimals printed, as such or as a percentage."""
    for scaled, least in ((value, 2), (value * 100, 0)):
        if token.decimals >= least or scaled == token.value:
            quantum = Decimal(1).scaleb(-token.decimals)
            if any(scaled.quantize(quantum, rounding=mode) == token.value for mode in _MODES):
                return True
    return False


# A tie may have been rounded any way: the figure is the same.
_MODES = (ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_HALF_DOWN)
