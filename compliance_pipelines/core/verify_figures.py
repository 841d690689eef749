"""Do the figures printed in the PDF say what the attached figures say?

The attached `figures.json` is compared with `figures.csv`, with the manifest's own facts and with the text
of the pages: each published row (department and metric) must stand in print, its base, mean, minimum and
threshold close together and equal by value at the precision printed. Pure, linear in the text; formatting
code is not reused on purpose, so that an error there shows here. Layout does not matter, only the order of
the text does.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

from compliance_pipelines.core.evidence import EvidenceError, Manifest
from compliance_pipelines.core.ports import Check

NAME = "Chiffres imprimés"
MAX_FIGURES_BYTES = 5_000_000
WINDOW = 24  # numbers of one table row; the widest has fewer than half as many
_SPACES = "\u202f\u00a0\u2009 "
_NUMBER = re.compile(rf"\d{{1,3}}(?:[{_SPACES}]\d{{3}}(?!\d))+(?:,\d{{1,12}})?|\d{{1,18}}(?:,\d{{1,12}})?")
_COLUMNS = ("section", "department", "metric", "name", "value", "state")
_PRINTED_SECTIONS = frozenset({2, 3})
_PRINTED = ("mean", "min", "threshold")
_FORMULA = tuple("=+-@\t\r\n|%")


@dataclass(frozen=True, slots=True)
class Number:
    """One number of the text: its value, how many decimals it was printed with, and where it starts."""

    value: Decimal
    decimals: int
    start: int


def figures_check(
    content: bytes, csv_content: bytes | None, pages: Sequence[str], manifest: Manifest
) -> Check:
    """One check over the attached figures: readable, equal to the CSV and the manifest, and printed."""
    try:
        document = _document(content)
        figures = document["figures"]
        problems = _identity_problems(document, manifest)
        if csv_content is not None:
            problems += _csv_problems(figures, csv_content)
        rows = _published(figures)
        problems += _print_problems(rows, _numbers("\n".join(pages)))
    except EvidenceError as error:
        return Check(NAME, ok=False, detail_fr=str(error))
    detail = " ; ".join(problems[:5]) or f"{len(rows)} ligne(s) retrouvée(s) dans le texte, CSV et JSON égaux"
    return Check(NAME, ok=not problems, detail_fr=detail)


def _document(content: bytes) -> dict:
    """Read figures.json into {"figures": [...], …}; anything else is an EvidenceError."""
    if len(content) > MAX_FIGURES_BYTES:
        raise EvidenceError(f"figures.json : attendu moins de {MAX_FIGURES_BYTES} octets")
    try:
        document = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise EvidenceError("figures.json : attendu un objet JSON en UTF-8") from error
    figures = document.get("figures") if isinstance(document, dict) else None
    if not isinstance(figures, list) or not all(
        isinstance(item, dict) and set(item) == set(_COLUMNS) for item in figures
    ):
        raise EvidenceError(
            "figures.json : attendu une liste figures de section, department, metric, name, value, state"
        )
    for item in figures:
        value = item["value"]
        if isinstance(value, bool | list | dict) or (isinstance(value, float) and not math.isfinite(value)):
            raise EvidenceError("figures.json : value : attendu un nombre fini, un texte ou rien")
        if not all(isinstance(item[key], str) for key in ("department", "metric", "name", "state")):
            raise EvidenceError("figures.json : attendu des textes pour department, metric, name, state")
    return document


def _identity_problems(document: Mapping[str, object], manifest: Manifest) -> list[str]:
    expected = {
        "month": manifest.month,
        "revision": manifest.revision,
        "policy_digest": manifest.policy_digest,
        "input_digest": manifest.input_digest,
        "code_version": manifest.code_version,
    }
    return [
        f"figures.json : {key} n’est pas celui du manifeste"
        for key, value in expected.items()
        if key in document and document[key] != value
    ]


def _csv_problems(figures: Sequence[Mapping[str, object]], content: bytes) -> list[str]:
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True))
    except (ValueError, csv.Error) as error:
        raise EvidenceError("figures.csv : attendu un CSV en UTF-8") from error
    if not rows or tuple(rows[0]) != _COLUMNS or len(rows) != len(figures) + 1:
        return [f"figures.csv : attendu un en-tête et {len(figures)} ligne(s)"]
    for number, (row, item) in enumerate(zip(rows[1:], figures, strict=True), start=2):
        if [_cell(text) for text in row] != [_plain(item[key]) for key in _COLUMNS]:
            return [f"figures.csv, ligne {number} : ne dit pas la même chose que figures.json"]
    return []


def _cell(text: str) -> str:
    """A cell as it was meant: the apostrophe that disarms a formula is not part of it."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


def _plain(value: object) -> str:
    return "" if value is None else str(value)


def _published(figures: Sequence[Mapping[str, object]]) -> list[tuple[str, dict[str, Decimal]]]:
    """Rows that must be in print: (name for messages, {n_scored, mean, min, threshold} as decimals)."""
    groups: dict[tuple[str, str], dict[str, Decimal]] = defaultdict(dict)
    for item in figures:
        value = item["value"]
        if item["section"] in _PRINTED_SECTIONS and isinstance(value, int | float):
            groups[str(item["department"]), str(item["metric"])][str(item["name"])] = Decimal(repr(value))
    wanted = ("n_scored", *_PRINTED)
    return [
        (f"{department[:60]} {metric[:60]}", {name: row[name] for name in wanted if name in row})
        for (department, metric), row in groups.items()
        if "n_scored" in row and "mean" in row
    ]


def _numbers(text: str) -> list[Number]:
    """Every number of the text; a group of three digits after a space may also be two numbers, so both are
    kept.
    """
    found: list[Number] = []
    for match in _NUMBER.finditer(text):
        raw = match[0]
        found.append(_number(raw, match.start()))
        if any(space in raw for space in _SPACES):
            found.extend(
                _number(part[0], match.start() + part.start()) for part in re.finditer(r"\d+(?:,\d+)?", raw)
            )
    return found


def _number(raw: str, start: int) -> Number:
    digits = raw.translate({ord(space): None for space in _SPACES}).replace(",", ".")
    return Number(Decimal(digits), len(digits.partition(".")[2]), start)


def _print_problems(rows: Sequence[tuple[str, dict[str, Decimal]]], numbers: Sequence[Number]) -> list[str]:
    """Each row claims its own place in the text: two departments cannot be proved by one printed line."""
    places: dict[Decimal, list[int]] = defaultdict(list)
    for index, number in enumerate(numbers):
        if number.decimals == 0:
            places[number.value].append(index)
    used: set[int] = set()
    problems: list[str] = []
    for name, row in rows:
        expected = [row[key] for key in _PRINTED if key in row]
        for index in places.get(row["n_scored"], ()):
            window = numbers[index + 1 : index + 1 + WINDOW]
            if index not in used and all(any(_prints(item, value) for item in window) for value in expected):
                used.add(index)
                break
        else:
            problems.append(f"{name} : la ligne imprimée ne correspond pas aux données jointes")
    return problems


def _prints(number: Number, value: Decimal) -> bool:
    """Whether a printed number is `value` rounded to the decimals printed, as such or as a percentage."""
    for scaled, least in ((value, 2), (value * 100, 0)):
        if number.decimals >= least or scaled == number.value:
            quantum = Decimal(1).scaleb(-number.decimals)
            if any(
                scaled.quantize(quantum, rounding=rounding) == number.value
                for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_HALF_DOWN)
            ):
                return True
    return False
