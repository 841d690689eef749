"""The pairs file: what an expert writes, checked, and the prompts that follow from it.

JSON, read strictly (duplicate and unknown keys refused) with errors in French that name file, pair and key. Each side
is a template; `prompts` crosses the names or wordings of its group with harmless frames, and the i-th prompts of both
sides share frame and file number, so that they differ by the protected attribute alone. No network, no clock.
"""

from __future__ import annotations

import datetime as dt
import enum
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from compliance_guardrails.policy.errors import PolicyError, Problem
from compliance_guardrails.policy.strict import StrictModel, validate

from .rules import GateRules

MAX_BYTES = 64_000_000
MAX_PAIRS = 10_000
NAME_SLOT = "nom"
_HALF = re.compile("[\ud800-\udfff]")
_SLOT = re.compile(r"\{([a-z_]{1,40})\}")

Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Short = Annotated[str, Field(min_length=1, max_length=200)]


class Side(enum.StrEnum):
    """The two sides of a pair."""

    BASE = "base"
    SWAP = "swap"


class Dimension(enum.StrEnum):
    """What is compared between the answers of both sides."""

    MEANING = "meaning"
    DECISION = "decision"
    FIGURES = "figures"
    TONE = "tone"


class Variant(StrictModel):
    """The names or wordings of one group: a shipped list that fills {nom}, or values by slot."""

    names: str | None = Field(default=None, description="Une liste de rules/counterfactual.yaml")
    values: tuple[dict[str, Short], ...] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.names is None) == (self.values is None):
            raise ValueError("« names » ou « values », et l’un des deux seulement")
        return self


class Variants(StrictModel):
    """The variants of both sides."""

    base: Variant
    swap: Variant


class ExpectedDifference(StrictModel):
    """What may legitimately differ: declared by an expert, printed in every result, until it expires."""

    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1)]
    clause: Short
    owner: Short
    expires: dt.date


class Pair(StrictModel):
    """One pair. `base` and `swap` are templates whose {slots} the variants fill."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{1,63}$")]
    protected_attr: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_+-]{1,63}$")]
    department: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{1,63}$")]
    base: Text
    swap: Text
    context_doc: Annotated[str, Field(min_length=1, max_length=400)]
    """A text, Markdown or PDF file of the checkout, by a relative path without « .. » (see `context`)."""
    varies: Short | None = None
    grounds: tuple[str, ...] = ()
    intersectional: bool = False
    rationale: Annotated[str, Field(max_length=2_000)] | None = None
    owner: Short | None = None
    reviewed_on: dt.date | None = None
    variants: Variants | None = None
    expected_difference: ExpectedDifference | None = None

    def template(self, side: Side) -> str:
        """The text of one side, slots unfilled."""
        return self.base if side is Side.BASE else self.swap

    def fillings(self, side: Side, rules: GateRules) -> tuple[dict[str, str], ...]:
        """What fills the slots of `side`, one mapping a variant; at least one."""
        if self.variants is None:
            return ({},)
        variant = self.variants.base if side is Side.BASE else self.variants.swap
        if variant.names is not None:
            return tuple({NAME_SLOT: name} for name in rules.names[variant.names])
        return tuple(dict(value) for value in variant.values or ())

    def expected_on(self, today: dt.date) -> frozenset[Dimension]:
        """The dimensions in which a difference is declared legitimate on `today`."""
        declared = self.expected_difference
        return frozenset(declared.dimensions) if declared and today <= declared.expires else frozenset()


class PairsFile(StrictModel):
    """The file: `{"pairs": [...]}`; a bare list is read as the same."""

    pairs: Annotated[tuple[Pair, ...], Field(min_length=1, max_length=MAX_PAIRS)]


class Prompt(StrictModel):
    """One question to ask: its text, who it is about, and its place in the design."""

    pair_id: str
    side: Side
    index: int
    text: str
    subject: str


def prompts(pair: Pair, side: Side, rules: GateRules, start: int, count: int) -> list[Prompt]:
    """Prompts `start` to `start + count - 1` of `side`: names and frames walk at different pace, so few repeat."""
    fillings, frames = pair.fillings(side, rules), rules.frames
    out = []
    for index in range(start, start + count):
        filling = fillings[index % len(fillings)]
        frame = frames[(index + index // len(frames)) % len(frames)]
        scenario = _SLOT.sub(lambda slot, f=filling: f.get(slot[1], slot[0]), pair.template(side))
        dossier = f"{2026_000_000 + (index * 7_919) % 900_000 + 100_000}"
        text = frame.replace("{dossier}", dossier).replace("{scenario}", scenario)
        subject = next(iter(filling.values()), "")
        out.append(Prompt(pair_id=pair.id, side=side, index=index, text=text, subject=subject))
    return out


def load_pairs(path: Path, rules: GateRules, departments: frozenset[str], grounds: frozenset[str]) -> tuple[Pair, ...]:
    """The pairs of the file at `path`, each checked. Raises PolicyError with every problem found, in French."""
    name = path.name
    try:
        if path.stat().st_size > MAX_BYTES:
            raise PolicyError(name, "(fichier)", f"au plus {MAX_BYTES // 1_000_000} Mo")
        data = path.read_bytes()
    except OSError:
        raise PolicyError(name, "(fichier)", "un fichier lisible") from None
    return parse_pairs(data, name, rules, departments, grounds)


def parse_pairs(
    data: bytes, name: str, rules: GateRules, departments: frozenset[str], grounds: frozenset[str]
) -> tuple[Pair, ...]:
    """As `load_pairs`, from bytes."""
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_no_constant)
        if b"\\ud" in data.lower():
            _no_half(value)
    except UnicodeDecodeError:
        raise PolicyError(name, "(fichier)", "un texte en UTF-8") from None
    except json.JSONDecodeError as error:
        raise PolicyError(name, "(fichier)", _syntax_fr(error)) from None
    except RecursionError:
        raise PolicyError(name, "(fichier)", "une liste de paires, sans imbrication profonde") from None
    except _RefusedError as error:
        raise PolicyError(name, "(fichier)", str(error)) from None
    except ValueError:  # Python refuses to read such a number
        raise PolicyError(name, "(fichier)", "des nombres de moins de 4 000 chiffres") from None
    found = validate({"pairs": value} if isinstance(value, list) else value, PairsFile, name).pairs
    problems = tuple(Problem(name, key, text) for key, text in _problems(found, rules, departments, grounds))
    if problems:
        raise PolicyError.of(problems[:50])
    return found


class _RefusedError(ValueError):
    """A JSON value that is legal for the reader but not here; the message is French."""


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in items:
        if key in found:
            raise _RefusedError(f"chaque clé une seule fois, « {key[:40]} » est en double")
        found[key] = value
    return found


def _no_constant(text: str) -> Any:
    raise _RefusedError(f"des nombres ordinaires, trouvé {text}")


def _no_half(value: Any) -> None:
    if _HALF.search(json.dumps(value, ensure_ascii=False)):
        raise _RefusedError("des caractères entiers, trouvé une moitié de caractère (« \\ud… »)")


def _syntax_fr(error: json.JSONDecodeError) -> str:
    line = error.doc.splitlines()[error.lineno - 1].strip() if error.doc.strip() else ""
    before = error.doc[: error.pos].rstrip()
    if not error.doc.strip():
        return "au moins une paire (le fichier est vide)"
    here = error.doc[error.pos :].lstrip()
    if line.startswith(("//", "#", "/*")) or here.startswith(("//", "#", "/*")):
        return f"du JSON sans commentaire (ligne {error.lineno})"
    if (before.endswith(",") and error.doc[error.pos : error.pos + 1] in "]}") or "trailing comma" in error.msg:
        return f"pas de virgule après le dernier élément (ligne {error.lineno})"
    return f"une écriture JSON correcte à la ligne {error.lineno}, colonne {error.colno}"


def _problems(
    found: tuple[Pair, ...], rules: GateRules, departments: frozenset[str], grounds: frozenset[str]
) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for pair in found:
        key = f"pairs[{pair.id}]"
        if pair.id in seen:
            yield f"{key}.id", "un identifiant qu’aucune autre paire ne porte"
        seen.add(pair.id)
        if pair.department not in departments:
            yield f"{key}.department", f"un identifiant de departments.yaml, trouvé « {pair.department} »"
        for ground in pair.grounds:
            if ground not in grounds:
                yield f"{key}.grounds", f"un motif de grounds.yaml, trouvé « {ground[:40]} »"
        yield from ((f"{key}.{where}", text) for where, text in _side_problems(pair, rules))


def _side_problems(pair: Pair, rules: GateRules) -> Iterator[tuple[str, str]]:
    usable = True
    for side in Side:
        variant = getattr(pair.variants, side.value) if pair.variants else None
        if variant is not None and variant.names is not None and variant.names not in rules.names:
            usable = False
            yield f"variants.{side}.names", f"une liste parmi {', '.join(sorted(rules.names))}"
            continue
        wanted = set(_SLOT.findall(pair.template(side)))
        for filling in pair.fillings(side, rules):
            if wanted != set(filling):
                usable = False
                yield f"variants.{side}", f"une valeur pour {_slots(wanted)} et pour rien d’autre"
                break
    if usable:
        texts = [{p.text for p in prompts(pair, side, rules, 0, 5)} for side in Side]
        if texts[0] & texts[1]:
            yield "swap", "un texte différent de base : les deux côtés posent la même question"


def _slots(names: set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names)) or "aucun emplacement (le texte n’en a pas)"
