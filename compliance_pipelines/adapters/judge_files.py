"""The judge's files, read strictly: prompts (Markdown, French) and anchors (YAML), with their digest.

An edit of either makes another judge: the digest is part of its identity. Errors are French PolicyErrors with file and
key, as for every file that people edit.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Self

from compliance_guardrails.policy import PolicyError
from compliance_guardrails.policy.strict import StrictModel, load_yaml
from compliance_guardrails.policy.types import Count, Id, Text, Unit
from pydantic import Field, model_validator

from compliance_pipelines.core.calibration import Adequacy
from compliance_pipelines.core.judge_anchors import Acceptance, Anchor, AnchorKind
from compliance_pipelines.core.judge_prompt import TOKEN
from compliance_pipelines.core.judge_samples import Sample

PACKAGE = "compliance_pipelines"


class _Anchor(StrictModel):
    id: Id
    kind: AnchorKind
    twin: Id | None = None
    question: Text
    contexts: Annotated[tuple[Text, ...], Field(min_length=1, max_length=5)]
    answer: Text
    low: Unit
    high: Unit

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low >= self.high:
            raise ValueError("low strictement inférieur à high")
        if (self.kind is AnchorKind.INJECTED) != (self.twin is not None):
            raise ValueError("twin pour un témoin injected, et pour lui seul")
        return self


class _Acceptance(StrictModel):
    min_share: Unit
    max_injected_missed: Annotated[int, Field(ge=0, le=100)]
    max_injection_shift: Unit


class _Calibration(StrictModel):
    min_items: Count
    min_groups: Count
    min_per_side: Count
    max_unscored_share: Unit
    min_kappa_low: Annotated[float, Field(ge=-1, le=1)]


class _Anchors(StrictModel):
    version: Count
    acceptance: _Acceptance
    calibration: _Calibration
    anchors: Annotated[tuple[_Anchor, ...], Field(min_length=4, max_length=60)]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        ids = [a.id for a in self.anchors]
        if len(set(ids)) != len(ids):
            raise ValueError("des identifiants distincts")
        if {a.kind for a in self.anchors} != set(AnchorKind):
            raise ValueError(f"au moins un témoin de chaque sorte ({', '.join(AnchorKind)})")
        clean = {a.id for a in self.anchors if a.kind is not AnchorKind.INJECTED}
        if any(a.twin not in clean for a in self.anchors if a.twin is not None):
            raise ValueError("un twin qui soit l’identifiant d’un témoin sans injection")
        return self


@dataclass(frozen=True, slots=True)
class JudgeFiles:
    """Everything that makes the neutrality judge besides its model. `sha256` covers prompt and anchors."""

    prompt: str
    anchors: tuple[Anchor, ...]
    acceptance: Acceptance
    adequacy: Adequacy
    sha256: str


def judge_files(folder: Path | None = None) -> JudgeFiles:
    """The shipped files, or those under `folder` (prompts/, anchors/); raises PolicyError in French."""
    root = folder or Path(str(resources.files(PACKAGE)))
    path = root / "anchors" / "neutrality.yaml"
    found = load_yaml(path, _Anchors)
    prompt = read_prompt("neutralite", folder)
    anchors = tuple(
        Anchor(a.id, a.kind, Sample(a.question, a.answer, a.contexts), a.low, a.high, a.twin) for a in found.anchors
    )
    acceptance = Acceptance(**found.acceptance.model_dump())
    adequacy = Adequacy(**found.calibration.model_dump())
    # only what moves a score or lets it through: the adequacy of a calibration does not
    frozen = found.model_dump_json(exclude={"calibration"})
    sha = hashlib.sha256(f"{prompt}\n{frozen}".encode()).hexdigest()
    return JudgeFiles(prompt, anchors, acceptance, adequacy, sha)


def read_prompt(name: str, folder: Path | None = None) -> str:
    """The prompt `prompts/<name>.md`, which must carry the token's place; raises PolicyError."""
    path = (folder or Path(str(resources.files(PACKAGE)))) / "prompts" / f"{name}.md"
    shown = f"prompts/{name}.md"
    try:
        text = path.read_bytes().decode("utf-8").replace("\r\n", "\n").strip()
    except (OSError, UnicodeDecodeError):
        raise PolicyError(shown, "fichier", "un fichier Markdown lisible, en UTF-8") from None
    if TOKEN not in text:
        raise PolicyError(shown, "texte", f"la marque {TOKEN}, qui protège des consignes glissées dans les traces")
    return text
