"""`compliance-guardrails screen` and `explain`: every detector on texts from the standard input.

`screen` writes one JSON object for each text (the shape is documented in docs/interfaces.md); `explain` says in French
what was found, by which rule and why a claim counts as cited or not. No detection happens here. A line that cannot be
read gives one line on stderr, without its content, and exit code 2; the other lines are still screened.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, TextIO

from . import attributes, bias, citations
from .evidence import AttributeFlag, BiasScreen
from .prepared import prepare

MAX_LINE: Final = 64_000_000
"""Bytes of one line or text at most."""

DEFAULT_DOMAIN: Final = "insurance"


@dataclass(frozen=True, slots=True)
class Screened:
    """What all detectors found in one text."""

    flags: tuple[AttributeFlag, ...]
    citation: citations.CitationCheck
    bias: BiasScreen

    @property
    def in_order(self) -> bool:
        """No flag, no uncited claim, and the bias total does not act."""
        return not self.flags and self.citation.compliance != 0 and not self.bias.acts

    def to_json(self) -> dict[str, Any]:
        """The object that `screen` writes; every number is finite."""
        return {
            "protected_attribute": [
                {"rule": f.rule, "attribute": f.attribute, "text": f.text, "start": f.start, "end": f.end}
                for f in self.flags
            ],
            "claims": [
                {"kind": c.kind.value, "text": c.text, "start": c.start, "end": c.end, "cited": c.cited}
                for c in self.citation.claims
            ],
            "citation_compliance": self.citation.compliance,
            "bias": {
                "domain": self.bias.domain,
                "findings": [
                    {
                        "characteristic": f.characteristic,
                        "severity": f.severity.value,
                        "evidence": f.evidence,
                        "score": float(f.score),
                        "start": f.start,
                        "end": f.end,
                    }
                    for f in self.bias.findings
                ],
                "total": float(self.bias.total),
                "threshold": float(self.bias.threshold),
                "acts": self.bias.acts,
            },
        }


def screen_text(text: str, domain: str = DEFAULT_DOMAIN) -> Screened:
    """Run every detector on `text`. ValueError on an unknown domain, PolicyError on broken rules."""
    ready = prepare(text)
    return Screened(tuple(attributes.find(ready)), citations.check(ready), bias.screen(ready, domain))


def screen_main(argv: list[str], stdin: BinaryIO | None = None) -> int:
    """``screen [--domain D] [--jsonl] [--fail]``: exit 0, 1 with ``--fail`` when something is found, 2 on bad input."""
    parser = _parser("screen", "every detector on a text, as JSON")
    parser.add_argument("--jsonl", action="store_true", help='one {"id","text"} object a line')
    parser.add_argument("--fail", action="store_true", help="exit 1 when a text is not in order")
    options = parser.parse_args(argv)
    if not _known(options.domain):
        return 2
    source = stdin or sys.stdin.buffer
    bad = found = False
    for number, item in _items(source, jsonl=options.jsonl):
        if isinstance(item, str):
            sys.stderr.write(f"ligne {number} : attendu {item}\n")
            bad = True
            continue
        identity, text = item
        result = screen_text(text, options.domain)
        found = found or not result.in_order
        _write(sys.stdout, identity | result.to_json())
    return 2 if bad else int(found and options.fail)


def explain_main(argv: list[str], stdin: BinaryIO | None = None) -> int:
    """``explain [--domain D]``: what was found in one text and why, in French; exit 0, 2 on bad input."""
    options = _parser("explain", "what was found in a text and why, in French").parse_args(argv)
    if not _known(options.domain):
        return 2
    for number, item in _items(stdin or sys.stdin.buffer, jsonl=False):
        if isinstance(item, str):
            sys.stderr.write(f"ligne {number} : attendu {item}\n")
            return 2
        for line in _explained(screen_text(item[1], options.domain)):
            sys.stdout.write(f"{line}\n")
    return 0


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"compliance-guardrails {name}", description=description)
    parser.add_argument("--domain", default=DEFAULT_DOMAIN, help=f"profile of the bias screen ({DEFAULT_DOMAIN})")
    return parser


def _known(domain: str) -> bool:
    try:
        bias.screen("", domain)
    except ValueError as error:
        sys.stderr.write(f"{' '.join(str(error).split())}\n")
        return False
    return True


def _items(source: BinaryIO, *, jsonl: bool) -> Iterator[tuple[int, tuple[dict[str, Any], str] | str]]:
    """Texts by line number, each with its id; or, for what cannot be read, what was expected (in French)."""
    if not jsonl:
        raw = source.read(MAX_LINE + 1)
        text = _decoded(raw)
        yield 1, _TOO_LONG if len(raw) > MAX_LINE else _NOT_UTF8 if text is None else ({}, text)
        return
    number = 0
    while raw := source.readline(MAX_LINE + 1):
        number += 1
        if len(raw) > MAX_LINE and not raw.endswith(b"\n"):
            while (rest := source.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            yield number, _TOO_LONG
        elif raw.strip():
            yield number, _record(raw)


_NOT_UTF8: Final = "un texte en UTF-8"
_NOT_A_RECORD: Final = 'un objet JSON {"id": …, "text": "…"} par ligne'
_TOO_LONG: Final = f"au plus {MAX_LINE // 1_000_000} Mo"


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _record(raw: bytes) -> tuple[dict[str, Any], str] | str:
    line = _decoded(raw.removeprefix(b"\xef\xbb\xbf"))
    if line is None:
        return _NOT_UTF8
    try:
        record = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NOT_A_RECORD
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        return _NOT_A_RECORD
    if "id" not in record:
        return {}, record["text"]
    if isinstance(record["id"], bool) or not isinstance(record["id"], str | int | None):
        return "un « id » qui est un texte ou un nombre entier"
    return {"id": record["id"]}, record["text"]


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _write(out: TextIO, value: dict[str, Any]) -> None:
    """One line of JSON; escaped where the output cannot hold the text as it is (no UTF-8, lone surrogates)."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    encoding = (out.encoding or "utf-8") if isinstance(out, io.TextIOWrapper) else "utf-8"
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        line = json.dumps(value, allow_nan=False)
    out.write(f"{line}\n")


def _explained(result: Screened) -> Iterator[str]:
    for flag in result.flags:
        grounds = ", ".join(flag.grounds)
        yield f"critère protégé [{flag.start}:{flag.end}] « {_short(flag.text)} » : {flag.attribute}"
        yield f"  règle {flag.rule} ; critères de l’article 225-1 : {grounds or 'aucun'}"
    for claim in result.citation.claims:
        state = "citée" if claim.cited else "non citée"
        yield f"affirmation {_KINDS[claim.kind]} [{claim.start}:{claim.end}] « {_short(claim.text)} » : {state}"
        yield f"  {_REASONS[claim.because]}"
    if result.citation.claims:
        yield f"citation_compliance {result.citation.compliance}, citation_marker {result.citation.marker}"
    for finding in result.bias.findings:
        yield (
            f"biais {finding.characteristic} {finding.severity.value} [{finding.start}:{finding.end}] "
            f"« {_short(finding.evidence)} » : {finding.score}"
        )
        yield f"  règle {finding.rule}"
    sign = ">" if result.bias.acts else "≤"
    yield f"biais, profil {result.bias.domain} : total {result.bias.total} {sign} seuil {result.bias.threshold}"


_KINDS: Final = {
    citations.Kind.MONEY: "de montant",
    citations.Kind.PERCENT: "de pourcentage",
    citations.Kind.LAW_ARTICLE: "d’article de loi",
    citations.Kind.CLAUSE: "de clause",
    citations.Kind.DELAY: "de délai",
    citations.Kind.COVERAGE: "de garantie",
}


_REASONS: Final = {
    citations.Because.PAGE_OR_NOTE: "une page ou un renvoi [n] figure dans la même phrase",
    citations.Because.MARKED_SOURCE: "un marqueur suivi d’une source identifiable figure dans la même phrase",
    citations.Because.NAMED_DOCUMENT: "la même phrase nomme un document ou un code",
    citations.Because.REFERENCE: "un article ou une clause figure dans la même phrase",
    citations.Because.NOTHING: "aucune source identifiable dans la même phrase, en dehors de ses propres mots",
}


def _short(text: str) -> str:
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= 80 else plain[:79] + "…"
