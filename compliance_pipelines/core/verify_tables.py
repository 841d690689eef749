"""The printed cells that close with no verdict: first page, guardrails, human oversight, probes, counts, evolution.

A place in print is a label and the cells after it, in order; where lines break does not matter. What a cell must read
is written here from the attached values alone: the report's formatting code is not reused on purpose, so that an error
there shows here. A value that is masked or bounded in the attachment may read anything. The words are those of
`SCHEMA`: a report that is laid out otherwise takes another number, so that one of today still verifies in seven years.
Pure; linear in the text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

from compliance_pipelines.core.evidence import EvidenceError

SCHEMA = "compliance-pipelines/figures/1"
_ANY = r"[^|]*"
_NEVER = r"(?!)"
_ABSENT = "—"
_HUGE = 10**15  # no printed figure comes near it, and rounding it would not be exact
_SMALLEST_P = Decimal("0.001")
MAX_PLACES = 2_000
_LABEL_CHARACTERS = 600
_WHOLE_WORD = 12
_MODES = (ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_HALF_DOWN)
_TILES = (
    ("citation_compliance", "share_cited", "réponses dont chaque affirmation est sourcée"),
    ("human_oversight", "share_with_feedback", "traces avec un avis humain explicite"),
    ("retrieval_gate", "share_with_score", "requêtes vues par le contrôle documentaire"),
)
_MEASURES = {
    "judge_neutrality": "Neutralité (juge LLM)",
    "lexical_neutrality": "Neutralité lexicale (indicatif, sans LLM)",
    "citation_compliance": "Citation des sources",
    "figure_grounding": "Chiffres retrouvés dans les sources",
}
_VERDICTS = ("conforme", "non_conforme", "indicatif", "insuffisant", "sans_objet")
_EXTRACTION = {
    "rows_read": "Lignes lues à la source",
    "duplicates": "– doublons écartés",
    "malformed": "– lignes illisibles écartées",
    "late_excluded": "– traces créées après l’arrêté, exclues",
    "retained": "Traces conservées, une par requête",
    "unanswered": "– sans réponse (requête refusée ou en erreur)",
    "answered": "Traces avec réponse",
    "eligible": "Traces éligibles à la neutralité",
    "sampled": "– prises dans l’échantillon",
    "scored": "Traces notées",
}
_Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Place:
    """One place that must be in print: its name for messages and the pattern of its cells."""

    name: str
    pattern: re.Pattern[str]


def flat(pages: Sequence[str]) -> str:
    """The text with a bar between lines and no other white space: "Finance|60|9|15,0%|"."""
    lines = (line for page in pages for line in page.split("\n"))
    return "|" + "|".join("".join(line.split()) for line in lines) + "|"


def missing(places: Sequence[Place], text: str) -> list[Place]:
    """The places that `text` (see `flat`) does not hold."""
    return [place for place in places if not place.pattern.search(text)]


def digest_places(digests: Mapping[str, str | None]) -> list[Place]:
    """The digests that the declaration prints in full, by the name they have there."""
    return [_place(name.lower(), name, _words(digest)) for name, digest in digests.items() if digest is not None]


def printed_places(figures: Sequence[Mapping[str, object]], labels: Mapping[str, str]) -> list[Place]:
    """Every place that the attached figures promise."""
    groups: dict[tuple[int, str, str], dict[str, object]] = defaultdict(dict)
    for item in figures:
        if isinstance(item["section"], int):
            groups[item["section"], str(item["department"]), str(item["metric"])][str(item["name"])] = item["value"]
    places = [*_first_page(groups), *_whole_month(groups)]
    for (section, department, metric), values in groups.items():
        label = labels.get(department)
        if metric == "coverage" and department == "toutes":
            places += _coverage(values)
        elif (section, metric) == (8, "extraction"):
            places += [
                _place(f"section 8, {name}", _EXTRACTION[name], _count(value))
                for name, value in values.items()
                if name in _EXTRACTION
            ]
        elif metric == "counterfactual":
            places += _pairs(values)
        elif label is None:
            continue
        elif (section, metric) == (4, "human_oversight") and isinstance(values.get("traces"), int):
            places.append(_place(f"{department[:60]}, avis", label, *_oversight(values)))
        elif (section, metric) == (6, "sycophancy_flip") and {"probes", "flips"} <= values.keys():
            probes, flips = values["probes"], values["flips"]
            cells = _count(probes), _count(flips), _share(flips, probes)
            places.append(_place(f"{department[:60]}, sondes", label, *cells))
        elif section in {2, 3}:
            places += _monthly(department, label, metric, values)
        if len(places) > MAX_PLACES:
            raise EvidenceError(f"figures.json : attendu au plus {MAX_PLACES} lignes imprimées")
    return places


def _first_page(groups: Mapping[tuple[int, str, str], _Values]) -> list[Place]:
    def of(metric: str) -> _Values:
        return groups.get((1, "toutes", metric), {})

    places = []
    for metric in ("judge_neutrality", "lexical_neutrality"):
        values = of(metric)
        reached, judged, scored = (
            values.get(name) for name in ("departments_at_threshold", "departments_measured", "n_scored")
        )
        if isinstance(judged, int) and judged:
            words = "directions à effectif suffisant, au seuil de neutralité"
            head = _count(reached) + "/" + _count(judged)
            pattern = rf"\|{head}\|{_words(words)}[^=\d]*N={_count(scored)}traces"
            places.append(Place(f"première page, {metric}", re.compile(pattern)))
    for metric, name, words in _TILES:
        values = of(metric)
        base = values.get(f"n_{name}")
        if isinstance(base, int) and base:
            exact, least = values.get(name), values.get(f"{name}_at_least")
            head = _percent(exact) if exact is not None else _ANY if least is None else "≥" + _percent(least)
            pattern = rf"\|{head}\|{_words(words)}\|N={_count(base)}(?!\d)"
            places.append(Place(f"première page, {name}", re.compile(pattern)))
    for metric, words in _MEASURES.items():
        values = of(metric)
        counts = [values.get(f"departments_{verdict}") for verdict in _VERDICTS]
        if all(isinstance(count, int) for count in counts):
            cells = [str(count) if count else "–" for count in counts]
            places.append(_place(f"première page, verdicts, {metric}", words, _ANY, *cells))
    return places


def _coverage(values: _Values) -> list[Place]:
    places = []
    for name, value in values.items():
        base = values.get(f"{name} – base")
        if not isinstance(base, int):
            continue
        least = values.get(f"{name} – au moins")
        if isinstance(value, int):
            cells = _count(value), _count(base), r"\D*", _share(value, base)
        elif isinstance(least, int):
            share = _decimals(Decimal(least) / base * 100 if base else None, 1, (ROUND_FLOOR,))
            cells = "≥" + _count(least), _count(base), r"\D*", f"≥{share}%"
        else:
            cells = _ANY, _count(base)
        places.append(_place(f"garde-fou, {name[:60]}", name, *cells))
    return places


def _whole_month(groups: Mapping[tuple[int, str, str], _Values]) -> list[Place]:
    """The missing nights of the first page, and the sentence that counts the grounds of article 225-1."""
    places = []
    nights = groups.get((7, "toutes", "missing_nights"), {}).get("count")
    if isinstance(nights, int):
        words = f"{nights}surlapériode" if nights else "aucune"
        places.append(_place("nuits manquantes", "Nuits manquantes", words))
    states = [str(value).split(" – ")[0] for value in groups.get((5, "toutes", "grounds"), {}).values()]
    if states:
        tested, part, not_tested = (states.count(word) for word in ("testé", "en partie", "non testé"))
        text = f"Testés : {tested} ; en partie : {part} ; non testés : {not_tested}, sur {len(states)} critères"
        places.append(Place("critères de l’article 225-1", re.compile(_words(text))))
    return places


def _pairs(values: _Values) -> list[Place]:
    places = []
    for name in values:
        base, swap = values.get(f"{name} – n_base"), values.get(f"{name} – n_swap")
        if isinstance(base, int) and isinstance(swap, int):
            p, effect = _exact(values.get(f"{name} – p_holm"), 1), _exact(values.get(f"{name} – effect"), 1)
            shown = _ABSENT if p is None else "<0,001" if p < _SMALLEST_P else _decimals(p, 3)
            size = _ABSENT if effect is None else _decimals(effect, 2)
            # Criterion and department stand between; either may take several lines.
            cells = rf"(?:[^|]*\|){{1,9}}{base}/{swap}", shown, size
            places.append(_place(f"paire {name[:60]}", name, *cells))
    return places


def _oversight(values: _Values) -> list[str]:
    traces, up, down = (values.get(name) for name in ("traces", "feedback_up", "feedback_down"))
    queued, reviewed, overridden = (values.get(name) for name in ("queued", "reviewed", "overridden"))
    split = isinstance(up, int) and isinstance(down, int)
    total = up + down if isinstance(up, int) and isinstance(down, int) else values.get("feedback")
    given = _share(total, traces)
    low, high = values.get("feedback_ci_low"), values.get("feedback_ci_high")
    exact = isinstance(low, int | float) and isinstance(high, int | float)
    either = values.get("mean")
    return [
        _count(traces),
        _count(up) if split else _ANY,
        _count(down) if split else _ANY,
        given,
        f"{_decimals(_exact(low, 100), 1)}–{_percent(high)}" if exact else _ANY,
        _percent(either) if isinstance(either, int | float) else _ANY,
        _count(queued) if queued is not None else _ANY,
        _share(reviewed, queued),
        _share(overridden, reviewed),
    ]


def _monthly(department: str, label: str, metric: str, values: _Values) -> list[Place]:
    """The row against the month before, and (section 8) the way from traces to scores."""
    places = []
    names = ("n_traces", "n_eligible", "n_sampled", "n_scored", "n_unscored")
    counts = [values.get(name) for name in names]
    who = f"{department[:60]}, {metric[:60]}"
    if metric in {"judge_neutrality", "lexical_neutrality"} and all(isinstance(count, int) for count in counts):
        judged = sum(count for count in counts[3:] if isinstance(count, int))
        cells = [*(_count(count) for count in counts), _share(counts[4], judged)]
        places.append(_place(f"{who}, effectifs", label, *cells))
    before, now, base = values.get("previous_mean"), values.get("mean"), values.get("previous_n_scored")
    if isinstance(before, int | float) and isinstance(now, int | float) and isinstance(base, int):
        show = _rate if metric == "citation_compliance" else _score
        # Decimals beyond the usual ones are printed where a value would otherwise stand on the wrong side.
        cells = [f"{_count(base)}/{_count(values.get('n_scored'))}", show(before), show(now)]
        places.append(_place(f"{who}, évolution", label, *cells))
    return places


def _place(name: str, label: str, *cells: str) -> Place:
    return Place(name, re.compile(rf"\|{_words(label)}\|" + r"\|".join(cells) + r"\|"))


def _words(text: str) -> str:
    """The words of a label, wherever its lines break."""
    # Only a long word is ever broken inside.
    words = text[:_LABEL_CHARACTERS].split()
    pieces = (piece for word in words for piece in ([word] if len(word) <= _WHOLE_WORD else word))
    return r"\|?".join(map(re.escape, pieces))


def _count(value: object) -> str:
    return str(value) if isinstance(value, int) else _ANY


def _share(part: object, base: object) -> str:
    if not isinstance(base, int) or not isinstance(part, int):
        return _ANY
    if not base:
        return _ABSENT
    # A share of a large base whose numerator or rest is a small group is printed as a bound.
    return rf"(?:{_decimals(Decimal(part) / base * 100, 1)}%|[<>]{_ANY}|n\.c\.)"


def _percent(value: object) -> str:
    return f"{_decimals(_exact(value, 100), 1)}%"


def _rate(value: object) -> str:
    return "(?:" + "|".join(f"{_decimals(_exact(value, 100), places)}%" for places in range(1, 7)) + ")"


def _score(value: object) -> str:
    return "(?:" + "|".join(_decimals(_exact(value, 1), places) for places in range(2, 7)) + ")"


def _exact(value: object, scale: int) -> Decimal | None:
    return Decimal(repr(value)) * scale if isinstance(value, int | float) else None


def _decimals(value: Decimal | None, places: int, modes: Sequence[str] = _MODES) -> str:
    """The pattern of a value at that many decimals; a tie may have been rounded any way."""
    if value is None:
        return _ANY
    if abs(value) >= _HUGE:
        return _NEVER
    quantum = Decimal(1).scaleb(-places)
    shown = dict.fromkeys(f"{value.quantize(quantum, rounding=mode):f}".replace(".", ",") for mode in modes)
    return shown.popitem()[0] if len(shown) == 1 else "(?:" + "|".join(shown) + ")"
