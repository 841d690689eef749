"""Calibration of the judge against people's labels: labelled file in, calibration file out, and which files exist.

A calibration belongs to one fingerprint: another model, digest, prompt or anchor set starts without. The file holds
figures and digests, no text; the report cites it, and a judge that has none reads "Indicatif".
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from compliance_guardrails.policy import PolicyError
from compliance_guardrails.policy.strict import StrictModel, validate
from compliance_guardrails.policy.types import Unit
from pydantic import Field, model_validator

from compliance_pipelines.adapters.judge import NeutralityJudge, Progress
from compliance_pipelines.adapters.judge_config import JudgeUnavailableError
from compliance_pipelines.adapters.judge_pool import Ended
from compliance_pipelines.adapters.whole_file import replace_file
from compliance_pipelines.core.calibration import Calibration, Labelled, calibrate
from compliance_pipelines.core.judge_samples import MAX_CHARS, Sample
from compliance_pipelines.core.neutrality import band

SCHEMA = 1
MAX_BYTES = 64 * 1024 * 1024
MAX_LINES = 20_000
Piece = Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]


class _Line(StrictModel):
    question: Piece
    answer: Piece
    contexts: Annotated[tuple[Piece, ...], Field(min_length=1, max_length=50)]
    band: Literal["neutral", "mostly", "partial", "strong"] | None = None
    score: Unit | None = None
    group: Annotated[str, Field(min_length=1, max_length=200)] | None = None

    @model_validator(mode="after")
    def _one_label(self) -> Self:
        if (self.band is None) == (self.score is None):
            raise ValueError("soit band (neutral, mostly, partial, strong), soit score (0 à 1)")
        if not (self.question.strip() and self.answer.strip() and any(map(str.strip, self.contexts))):
            raise ValueError("question, answer et contexts avec du texte")
        return self


@dataclass(frozen=True, slots=True)
class LabelledFile:
    """Exchanges with their labels, and the sha256 of the file they came from."""

    items: tuple[tuple[Sample, Labelled], ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A calibration with whom it is of. `adequate` was decided by the rules of the day it was measured."""

    evaluator: str
    model: str
    model_digest: str | None
    prompt_sha256: str
    labelled_sha256: str
    measured_on: date
    adequate: bool
    figures: Calibration

    def line_fr(self) -> str:
        """The line a report prints."""
        seen = self.figures
        interval = f" [{_fr(seen.kappa_low)} ; {_fr(seen.kappa_high)}]" if seen.kappa_low is not None else ""
        state = "" if self.adequate else " ; insuffisant, verdicts indicatifs"
        return (
            f"kappa {_fr(seen.kappa)}{interval} sur {seen.n} réponses étiquetées ({seen.n_groups} groupes), "
            f"sensibilité {_fr(seen.sensitivity)}, spécificité {_fr(seen.specificity)}, "
            f"le {self.measured_on.isoformat()}{state}"
        )


def read_labelled(path: Path) -> LabelledFile:
    """The labelled exchanges of a JSON Lines file; PolicyError in French (file, line and key, what was expected)."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise PolicyError(path.name, "fichier", f"au plus {MAX_BYTES // 1024 // 1024} Mo")
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise PolicyError(path.name, "fichier", "un fichier JSON Lines lisible, en UTF-8") from None
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not 1 <= len(lines) <= MAX_LINES:
        raise PolicyError(path.name, "fichier", f"de 1 à {MAX_LINES} lignes étiquetées")
    items = tuple(_item(path.name, n, line) for n, line in lines)
    first: dict[str, int] = {}
    for (n, _), (sample, _) in zip(lines, items, strict=True):
        # twice the same exchange is not twice the evidence, and with two labels it is none
        if (seen := first.setdefault(sample.key, n)) != n:
            raise PolicyError(
                f"{path.name}, ligne {n}", "answer", f"une seule étiquette par réponse, déjà ligne {seen}"
            )
    return LabelledFile(items, hashlib.sha256(raw).hexdigest())


def _item(name: str, n: int, line: str) -> tuple[Sample, Labelled]:
    shown = f"{name}, ligne {n}"
    try:
        value: Any = json.loads(line, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise PolicyError(shown, "ligne", "un objet JSON sans clé répétée") from None
    found = validate(value, _Line, shown)
    label = found.band or band(found.score if found.score is not None else 0.0)
    # without a group, the same documents and question make one: such answers are not independent
    group = found.group or Sample(found.question, "", found.contexts).key
    return Sample(found.question, found.answer, found.contexts), Labelled(label, group)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("the same key twice")
    return found


def measure(
    judge: NeutralityJudge, labelled: LabelledFile, measured_on: date, progress: Progress = lambda _a, _b: None
) -> Measured:
    """Judge the labelled exchanges (through cache and anchors, so that it resumes) and compare.

    Raises JudgeUnavailableError when the batch could not be finished or its anchors failed.
    """
    samples = {sample.key: sample for sample, _ in labelled.items if sample.chars <= MAX_CHARS}
    batch = judge.judge(f"calibration-{labelled.sha256[:16]}", samples, progress)
    if batch.withheld:
        missed = ", ".join(batch.missed()[:4])
        raise JudgeUnavailableError(f"étalonnage impossible : réponses témoins du juge manquées ({missed})")
    if batch.ended is not Ended.DONE:
        raise JudgeUnavailableError(f"étalonnage interrompu ({batch.ended.value}) : relancer la commande le reprend")
    values = [batch.readings[s.key].value if s.key in batch.readings else None for s, _ in labelled.items]
    figures = calibrate([label for _, label in labelled.items], values)
    identity = judge.identity
    return Measured(
        evaluator=identity.fingerprint,
        model=identity.model,
        model_digest=identity.digest,
        prompt_sha256=identity.prompt_sha256,
        labelled_sha256=labelled.sha256,
        measured_on=measured_on,
        adequate=figures.adequate(judge.files.adequacy),
        figures=figures,
    )


def calibration_folder(home: Path) -> Path:
    """Where calibrations are kept in COMPLIANCE_HOME."""
    return home / "state" / "calibration"


def save(measured: Measured, home: Path) -> Path:
    """Write the calibration of its judge, replacing an earlier one; returns the file."""
    name = hashlib.sha256(measured.evaluator.encode()).hexdigest()[:16]
    path = calibration_folder(home) / f"{name}.json"
    content = {"schema": SCHEMA, **asdict(measured), "measured_on": measured.measured_on.isoformat()}
    replace_file(path, (json.dumps(content, ensure_ascii=False, sort_keys=True, indent=2) + "\n").encode())
    return path


def calibrations(home: Path) -> dict[str, Measured]:
    """Every kept calibration by evaluator; PolicyError when a file cannot be read as one."""
    found = {}
    for path in sorted(calibration_folder(home).glob("*.json")):
        try:
            measured = _measured(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            expected = "un fichier écrit par « compliance judge calibrate »"
            raise PolicyError(f"calibration/{path.name}", "fichier", expected) from None
        found[measured.evaluator] = measured
    return found


def _measured(content: dict[str, Any]) -> Measured:
    if content.pop("schema") != SCHEMA:
        raise ValueError("another schema")
    figures = content.pop("figures")
    for name in ("sensitivity_interval", "specificity_interval"):
        figures[name] = tuple(figures[name]) if figures[name] is not None else None
    figures["confusion"] = tuple(tuple(row) for row in figures["confusion"])
    measured_on = date.fromisoformat(content.pop("measured_on"))
    return Measured(**content, measured_on=measured_on, figures=Calibration(**figures))


def adequate_evaluators(home: Path) -> frozenset[str]:
    """Fingerprints of the judges whose calibration lets a verdict read "Conforme"."""
    return frozenset(name for name, measured in calibrations(home).items() if measured.adequate)


def _fr(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}".replace(".", ",")
