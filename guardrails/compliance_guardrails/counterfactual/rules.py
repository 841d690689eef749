"""rules/counterfactual.yaml as typed, frozen models: stages, smallest effects, encoders, frames, names, word lists.

What the words mean lives in `extract`, what the numbers do in `engine`. Everything an expert may edit is in the YAML;
no threshold is written in code.
"""

from __future__ import annotations

import datetime as dt
import enum
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from compliance_guardrails.policy.paths import policy_dir
from compliance_guardrails.policy.strict import StrictModel, load_yaml

FILE = "counterfactual.yaml"

Unit = Annotated[float, Field(ge=0, le=1)]
Words = tuple[Annotated[str, Field(min_length=1, max_length=80)], ...]


class FloorSource(enum.StrEnum):
    """Where an encoder's floor comes from: thresholds.yaml, or a calibration written beside its name."""

    POLICY = "policy"
    CALIBRATED = "calibrated"


class Stage(StrictModel):
    """One stage: fresh answers a side, and the part of the error that may be spent at it."""

    samples: Annotated[int, Field(ge=2, le=500)]
    spend: Annotated[float, Field(ge=0, le=0.5)]


class MinimumEffect(StrictModel):
    """The smallest established difference that counts, by dimension."""

    decision: Unit
    figures: Unit
    tone: Unit


class ErrorShares(StrictModel):
    """How the error of a pair is shared between its dimensions; only the proportions count."""

    meaning: Annotated[float, Field(gt=0, le=1)]
    decision: Annotated[float, Field(gt=0, le=1)]
    figures: Annotated[float, Field(gt=0, le=1)]
    tone: Annotated[float, Field(gt=0, le=1)]


class EncoderRule(StrictModel):
    """One encoder: the prefix it wants and its floor."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    prefix: str = ""
    source: FloorSource
    floor: Unit | None = None
    calibrated_on: dt.date | None = None

    @model_validator(mode="after")
    def _floor_when_calibrated(self) -> Self:
        if (self.source is FloorSource.CALIBRATED) != (self.floor is not None):
            raise ValueError(f"floor avec source « calibrated » seulement, pour l’encodeur « {self.name} »")
        return self


class Aspect(StrictModel):
    """One thing an answer may decide, the phrases that say so, and how a reason words each value."""

    id: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    yes_fr: str
    no_fr: str = "n’en parlent pas"
    both_fr: str = "disent l’un et l’autre"
    cond_fr: str
    yes: Words
    no: Words = ()
    both: Words = ()
    denied: Words = Field(default=(), description="Ne disent rien seuls, « no » quand ils sont niés")
    weak_no: Words = Field(default=(), description="Disent « no » si rien d’autre ne tranche")
    undone: Words = Field(default=(), description="Un refus levé : disent « yes », niés ou non")
    neutral: Words = Field(default=(), description="Ne disent rien et cachent une formule plus courte")
    exact: Words = Field(default=(), description="Lues mot à mot, négations comprises : disent « yes »")
    requests: Words = Field(default=(), description="Verbes qui, avec un nom de la liste, disent « yes »")
    nouns: Words = Field(default=(), description="Noms pour requests ; sinon tone.document_nouns")
    conditional: bool = Field(default=True, description="Faux : dit sous condition, c’est dit")
    silence: Unit = Field(default=1.0, description="Poids de « n’en parle pas » face à « oui »")
    condition: Unit = Field(default=0.5, description="Poids de « sous condition » face à « oui » ou « non »")
    when_decided: Unit = Field(default=1.0, description="Poids de l’écart quand les deux réponses tranchent de même")


class Negation(StrictModel):
    """Words that negate: with « ne », or standing just before."""

    adverbs: Words
    infinitive: Words
    verbs: Words = Field(default=(), description="Nient ce qui les suit, jusqu’au bout du groupe : « empêche »")
    after: Words = Field(default=(), description="Nient ce qui les précède : « … est annulée »")
    modals: Words
    before: Words
    idioms: Words


class Polarity(StrictModel):
    """When two clauses are about the same thing and opposite: see `stances`."""

    letters: Annotated[int, Field(ge=3, le=12, description="Lettres gardées de chaque mot")]
    least_common: Annotated[int, Field(ge=1, le=20, description="Mots communs, au moins")]
    of_smaller: Unit = Field(description="Part commune de la plus courte des deux propositions, au moins")
    of_all: Unit = Field(description="Part commune de tous leurs mots, au moins")
    opposing: Words = Field(description="Mots qui inversent, comme une négation")
    empty: Words = Field(description="Mots qui ne portent pas de contenu")


class PartOfFigure(StrictModel):
    """A part that an amount may play; parts of one group exclude each other."""

    id: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    group: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    before: bool = Field(default=True, description="Cherché aussi avant le montant, non seulement après")
    words: Words


class ToneWords(StrictModel):
    """Word lists of the tone dimension."""

    refusal: Words
    evasion: Words = Field(default=(), description="Un refus de répondre si la réponse ne tranche et ne chiffre rien")
    warning: Words
    courtesy: Words
    document_nouns: Words


class GateRules(StrictModel):
    """The whole file."""

    effective_from: dt.date
    stages: Annotated[tuple[Stage, ...], Field(min_length=1, max_length=6)]
    screen_p: Unit
    futility_p: Unit
    minimum_effect: MinimumEffect
    error_shares: ErrorShares
    max_failed: Unit
    encoders: tuple[EncoderRule, ...]
    frames: Annotated[Words, Field(min_length=1)] = Field(description="Chaque tournure contient {scenario}")
    names: dict[str, Annotated[Words, Field(min_length=2)]]
    neutral_words: Words
    aspects: Annotated[tuple[Aspect, ...], Field(min_length=1)]
    negation: Negation
    condition: Words
    condition_local: Words
    unreal: Words
    decided: Words
    generic: Words
    general: Words
    partial: Words
    not_condition: Words
    concession: Words
    adversative: Words
    subordinate: Words
    reported: Words
    polarity: Polarity
    figure_parts: tuple[PartOfFigure, ...]
    tone: ToneWords

    @model_validator(mode="after")
    def _frames_hold_the_scenario(self) -> Self:
        for frame in self.frames:
            if frame.count("{scenario}") != 1:
                raise ValueError(f"dans frames, {{scenario}} une fois dans chaque tournure, trouvé « {frame[:40]} »")
        return self

    @property
    def alpha(self) -> float:
        """The error of a whole run: the sum over its stages."""
        return sum(stage.spend for stage in self.stages)

    def encoder(self, name: str) -> EncoderRule | None:
        """The rule of the encoder called `name`; a model tag (":latest") does not count."""
        short = name.rsplit("/", 1)[-1].split(":", 1)[0]
        return next((rule for rule in self.encoders if rule.name in {name, short}), None)


def load_rules(directory: Path | None = None) -> GateRules:
    """The rules of the policy folder in use. Raises PolicyError in French."""
    return load_yaml(policy_dir(directory) / "rules" / FILE, GateRules)
