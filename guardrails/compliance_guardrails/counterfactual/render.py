"""A result for people and machines: French table, Markdown for a pull request, JUnit XML. JSON is `GateResult.to_json`.

Whatever comes from a pairs file is escaped for the place it is printed in: an HTML scenario never becomes HTML. No
answer text is printed.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

from .result import DIMENSIONS_FR, VERDICTS_FR, DimensionResult, GateResult, PairResult, PairVerdict

_MARKS = {
    PairVerdict.FAIR: "✓",
    PairVerdict.BIASED: "✗",
    PairVerdict.NEUTRALISED: "○",
    PairVerdict.VACUOUS: "?",
    PairVerdict.UNDECIDED: "?",
}
_OVERALL = {
    PairVerdict.FAIR: "Aucun biais constaté.",
    PairVerdict.NEUTRALISED: "Aucun biais constaté : toutes les paires sont neutralisées par le masquage.",
    PairVerdict.BIASED: "BIAIS CONSTATÉ.",
    PairVerdict.VACUOUS: "NON PROBANT : des réponses ne prouvent rien.",
    PairVerdict.UNDECIDED: "NON TRANCHÉ.",
}


def clean(text: str) -> str:
    """`text` on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def table(result: GateResult) -> str:
    """The table for a terminal: one line a pair, the reason under it, the dimensions of what is not fair."""
    width = max((len(pair.id) for pair in result.pairs), default=4)
    lines = [*_head(result), ""]
    for pair in result.pairs:
        lines.append(
            f"{_MARKS[pair.verdict]} {pair.id:<{width}}  {VERDICTS_FR[pair.verdict]:<14}  "
            f"{pair.protected_attr} · {pair.department} · {pair.calls} appels"
        )
        lines.append(f"    {clean(pair.reason_fr)}")
        if pair.verdict is PairVerdict.BIASED:
            lines.extend(f"    {text}" for text in _dimension_lines(pair))
    lines += ["", f"{_OVERALL[result.verdict]} {_counts(result.pairs)}"]
    return "\n".join(lines) + "\n"


def markdown(result: GateResult) -> str:
    """The summary for a pull request."""
    lines = [
        "## Barrière contrefactuelle",
        "",
        f"**{_OVERALL[result.verdict]}** {_counts(result.pairs)}",
        "",
        *(f"- {_md(line)}" for line in _head(result)),
        "",
        "| Paire | Attribut | Direction | Verdict | Motif |",
        "|---|---|---|---|---|",
    ]
    order = list(_MARKS)
    for pair in sorted(
        result.pairs, key=lambda p: (p.verdict is not PairVerdict.BIASED, -order.index(p.verdict), p.id)
    ):
        cells = (pair.id, pair.protected_attr, pair.department, VERDICTS_FR[pair.verdict], pair.reason_fr)
        lines.append("| " + " | ".join(_md(cell) for cell in cells) + " |")
    for pair in result.pairs:
        if pair.verdict is PairVerdict.BIASED:
            lines += ["", f"<details><summary>{_md(pair.id)}</summary>", ""]
            lines += [f"- {_md(text)}" for text in _dimension_lines(pair)]
            lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def junit(result: GateResult) -> str:
    """JUnit XML: a biased pair is a failure, an undecided or vacuous one an error, a neutralised one is skipped."""
    failures = sum(p.verdict is PairVerdict.BIASED for p in result.pairs)
    errors = sum(p.verdict in {PairVerdict.VACUOUS, PairVerdict.UNDECIDED} for p in result.pairs)
    skipped = sum(p.verdict is PairVerdict.NEUTRALISED for p in result.pairs)
    counts = f'tests="{len(result.pairs)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="counterfactual-gate" {counts}>',
    ]
    for pair in result.pairs:
        lines.append(f"  <testcase classname={_attr(pair.department)} name={_attr(pair.id)}>")
        tag = {
            PairVerdict.BIASED: "failure",
            PairVerdict.VACUOUS: "error",
            PairVerdict.UNDECIDED: "error",
            PairVerdict.NEUTRALISED: "skipped",
        }.get(pair.verdict)
        if tag is not None:
            lines.append(f"    <{tag} message={_attr(pair.reason_fr)}/>")
        lines.append("  </testcase>")
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def _head(result: GateResult) -> list[str]:
    e = result.embedding
    floor = f"plancher {_fr(e.floor)}" if e.floor is not None else "non probant"
    stages = " + ".join(str(n) for n in result.samples)
    return [
        f"Modèle {clean(result.model)}, {result.calls} appels",
        f"Jusqu’à {stages} réponses par côté, erreur du test {_fr(result.alpha)}",
        f"Sens : {clean(e.name or 'aucun encodeur')}, {floor} · décisions : {clean(result.extractor)}",
    ]


def _dimension_lines(pair: PairResult) -> list[str]:
    return [f"{DIMENSIONS_FR[name]} : {_dimension(found)}" for name, found in pair.dimensions.items()]


def _dimension(found: DimensionResult) -> str:
    state = {"expected": "différence admise", "unproven": "non probante"}.get(found.status)
    verdict = state or ("ÉCART" if found.fails else "rien d’établi")
    interval = f"[{_fr(found.ci[0])} ; {_fr(found.ci[1])}]"
    p = f"p corrigée {found.p_holm:.4f}".replace(".", ",")
    return f"{verdict} (effet {_fr(found.effect)} {interval}, {p}, {found.n_base} et {found.n_swap} réponses)"


def _counts(pairs: Iterable[PairResult]) -> str:
    counts: dict[PairVerdict, int] = {}
    for pair in pairs:
        counts[pair.verdict] = counts.get(pair.verdict, 0) + 1
    return "Paires : " + ", ".join(f"{VERDICTS_FR[v]} {n}" for v, n in sorted(counts.items())) + "."


def _md(text: str) -> str:
    escaped = html.escape(clean(text), quote=False)
    for char in "\\`*_[]|":
        escaped = escaped.replace(char, "\\" + char)
    return escaped


def _attr(text: str) -> str:
    return quoteattr(clean(text))


def _fr(number: float) -> str:
    return f"{number:.3g}".replace(".", ",")
