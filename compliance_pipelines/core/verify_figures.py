"""Do the figures printed in the PDF say what the attached figures say?

The attached `figures.json` is compared with `figures.csv`, with the manifest's own facts and, by `verify_print`
(rows that a verdict closes) and `verify_tables` (the others), with the text of the pages. Pure and bounded; a
damaged attachment gives a failed check, never an exception.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from compliance_pipelines.core.evidence import EvidenceError, Manifest
from compliance_pipelines.core.ports import Check
from compliance_pipelines.core.verify_print import MAX_TEXT, PrintedRow, print_problems
from compliance_pipelines.core.verify_tables import SCHEMA, Place, digest_places, flat, missing, printed_places

NAME = "Chiffres imprimés"
MAX_FIGURES_BYTES = 5_000_000
_COLUMNS = ("section", "department", "metric", "name", "value", "state")
_PRINTED_SECTIONS = frozenset({2, 3})
# Columns of a printed row after its base, in order. A figure that was not measured is a dash there.
_NEUTRALITY = ("mean", "weighted_mean", "min", "threshold", "ci_low", "ci_high")
_PRINTED = {
    "judge_neutrality": _NEUTRALITY,
    "lexical_neutrality": _NEUTRALITY,
    "citation_compliance": ("mean", "ci_low", "ci_high", "threshold"),
}
# A share whose numerator is a small group is printed as a bound, without an interval.
_BOUNDS = ("mean_below", "mean_above")
_PRINTED_BOUND = (*_BOUNDS, "threshold")
_PRINTED_OTHERWISE = ("mean", "ci_low", "ci_high", "min", "threshold")
_FORMULA = tuple("=+-@\t\r\n|%")


def figures_check(content: bytes, csv_content: bytes | None, pages: Iterable[str], manifest: Manifest) -> Check:
    """One check over the attached figures: readable, equal to the CSV and the manifest, and printed.

    `pages` may be read lazily: it is left as soon as every row has been found.
    """
    try:
        document = _document(content)
        figures = document["figures"]
        problems = [*_identity_problems(document, manifest), *_verdict_problems(document)]
        if csv_content is not None:
            problems += _csv_problems(figures, csv_content)
        labels = document.get("labels", {})
        rows = _published(figures, labels)
        reading = _Reading(pages)
        problems += print_problems(rows, reading, document.get("verdict"))
        places = _places(document, manifest) if document.get("schema") == SCHEMA else []
        problems += [
            f"{place.name} : l’impression ne correspond pas aux données jointes"
            for place in _unprinted(places, reading)
        ]
    except EvidenceError as error:
        return Check(NAME, ok=False, detail_fr=str(error))
    found = len(rows) + len(places)
    detail = " ; ".join(problems[:5]) or f"{found} ligne(s) retrouvée(s) dans le texte, CSV et JSON égaux"
    return Check(NAME, ok=not problems, detail_fr=detail)


class _Reading:
    """Pages as they are asked for: those already read are kept, so that text is extracted once."""

    def __init__(self, pages: Iterable[str]) -> None:
        self._left = iter(pages)
        self._seen: list[str] = []

    def __iter__(self) -> Iterator[str]:
        yield from self._seen
        for page in self._left:
            self._seen.append(page)
            yield page


def _places(document: Mapping[str, Any], manifest: Manifest) -> list[Place]:
    digests = {
        "Empreinte de la politique": manifest.policy_digest,
        "Empreinte des données": manifest.input_digest,
        "Manifeste précédent": manifest.previous.manifest_sha256 if manifest.previous else None,
    }
    return [*printed_places(document["figures"], document.get("labels", {})), *digest_places(digests)]


def _unprinted(places: list[Place], pages: Iterable[str]) -> list[Place]:
    """The places found on no page; reading stops when none is left."""
    size = 0
    reading = iter(pages)
    while places and (page := next(reading, None)) is not None:
        size += len(page)
        if size > MAX_TEXT:
            break
        places = missing(places, flat([page]))
    return places


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
    labels = document.get("labels", {})
    if not isinstance(labels, dict) or not all(isinstance(label, str) for label in labels.values()):
        raise EvidenceError("figures.json : labels : attendu un libellé par direction")
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


def _verdict_problems(document: Mapping[str, Any]) -> list[str]:
    """The month's verdict stands twice in the document: at its head and among the figures."""
    stated = {f["value"] for f in document["figures"] if (f["metric"], f["name"]) == ("month", "verdict")}
    same = not stated or stated == {document.get("verdict")}
    return [] if same else ["figures.json : verdict n’est pas celui de ses propres chiffres"]


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


def _published(figures: Sequence[Mapping[str, object]], labels: Mapping[str, str]) -> list[PrintedRow]:
    """The rows that must be in print: those of sections 2 and 3 that have a base and a mean, or a bound for it."""
    groups: dict[tuple[str, str], dict[str, object]] = defaultdict(dict)
    for item in figures:
        if item["section"] in _PRINTED_SECTIONS and item["value"] is not None:
            groups[str(item["department"]), str(item["metric"])][str(item["name"])] = item["value"]
    rows: list[PrintedRow] = []
    for (department, metric), row in groups.items():
        base, names = row.get("n_scored"), _PRINTED.get(metric, _PRINTED_OTHERWISE)
        if "mean" not in row:
            names = _PRINTED_BOUND
        if not isinstance(base, int) or not row.keys() & {"mean", *_BOUNDS}:
            continue
        values = [row[name] for name in names if name in row]
        if metric == "citation_compliance":
            marker = groups.get((department, "citation_marker"), {})
            values += [marker["mean"]] if "mean" in marker else []
        decimals = tuple(Decimal(repr(value)) for value in values if isinstance(value, int | float))
        verdict = row.get("verdict")
        name = f"{department[:60]}, {metric[:60]}"
        rows.append(
            PrintedRow(name, base, decimals, verdict if isinstance(verdict, str) else None, labels.get(department))
        )
    return rows
