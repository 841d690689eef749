"""The models of the files that change what the guardrails and the pipeline do: departments, thresholds,
sampling, alerts, guardrails.

One class per file, named like the file; field descriptions are French because they become the JSON
Schema that experts see in their editor. Defaults are deliberately absent: a threshold is read in its
file, never guessed.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from .strict import StrictModel
from .types import (
    UNATTRIBUTED,
    AlertName,
    Alias,
    Count,
    DatedFile,
    Id,
    Label,
    Minutes,
    MissingScore,
    Risk,
    Severity,
    Text,
    Unit,
    refuse_duplicates,
)


class Layers(StrictModel):
    """Which guardrails serve a department."""

    grounding: bool = Field(description="Refus quand aucun document n’est assez proche de la question")
    prompt: bool = Field(description="Consignes de la direction placées en tête")
    citation_check: bool = Field(description="Contrôle des affirmations sans source")
    self_evaluation: bool = Field(description="Auto-évaluation par le petit modèle")


class Resolution(StrictModel):
    """The names that attribute a trace to a department; case, accents and separators do not count."""

    key_aliases: tuple[Alias, ...]
    team_aliases: tuple[Alias, ...]
    team_ids: tuple[Alias, ...]
    declared_names: tuple[Alias, ...]


class Department(StrictModel):
    """One department, everything about it explicit."""

    id: Id
    label: Label
    risk: Risk
    alias: Id = Field(description="Alias du modèle dans la passerelle")
    base_model: Alias
    layers: Layers
    report_threshold: Unit = Field(description="Seuil de neutralité du rapport mensuel")
    alert_threshold: Unit = Field(description="Seuil d’alerte de neutralité")
    alert_for_minutes: Minutes = Field(description="Durée avant que l’alerte parte")
    sampling_rate: Unit = Field(description="Part des traces évaluées la nuit")
    contact: Label
    missing_score: MissingScore
    resolution: Resolution

    @property
    def is_high_stakes(self) -> bool:
        """True for CRITICAL and HIGH: the departments whose answers are checked for citations."""
        return self.risk in (Risk.CRITICAL, Risk.HIGH)


class Departments(DatedFile):
    """departments.yaml."""

    departments: Annotated[tuple[Department, ...], Field(min_length=1, max_length=500)]
    unattributed: Department

    @field_validator("departments")
    @classmethod
    def _distinct(cls, value: tuple[Department, ...]) -> tuple[Department, ...]:
        refuse_duplicates("des identifiants", tuple(d.id for d in value))
        refuse_duplicates("des libellés", tuple(d.label for d in value))
        if any(d.id == UNATTRIBUTED for d in value):
            raise ValueError(f"un autre identifiant que « {UNATTRIBUTED} », qui est réservé")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.unattributed.id != UNATTRIBUTED:
            raise ValueError(f"« id: {UNATTRIBUTED} » dans le bloc unattributed")
        base: dict[str, str] = {}
        for department in (*self.departments, self.unattributed):
            if base.setdefault(department.alias, department.base_model) != department.base_model:
                raise ValueError(f"un seul base_model pour l’alias « {department.alias} »")
        return self


class UncitedBurst(StrictModel):
    """How many uncited claims in how long make an alert, and where it applies."""

    count: Count = Field(description="L’alerte part au-delà de ce nombre")
    window_minutes: Minutes
    departments: Annotated[tuple[Id, ...], Field(min_length=1)]


class Thresholds(DatedFile):
    """thresholds.yaml: the figures that are not a department's own."""

    grounding_floor: Unit
    counterfactual_cosine_floor: Unit
    counterfactual_cosine_overrides: dict[str, Unit] = Field(description="Plancher relevé par critère protégé")
    citation_compliance: Unit
    flagged_weight: Annotated[float, Field(ge=1, le=100)]
    retention_years: Annotated[int, Field(ge=1, le=100)]
    uncited_burst: UncitedBurst
    min_n: Count
    max_unscored_rate: Unit
    queue_below: Unit
    suppress_below: Count
    purge_months: Annotated[int, Field(ge=1, le=1200)]
    min_score_coverage: Unit = Field(description="Part des requêtes qui doivent porter une similarité")

    @model_validator(mode="after")
    def _overrides_only_tighten(self) -> Self:
        for attribute, floor in self.counterfactual_cosine_overrides.items():
            if floor < self.counterfactual_cosine_floor:
                raise ValueError(
                    f"pour « {attribute[:60]} » un plancher d’au moins counterfactual_cosine_floor "
                    f"({self.counterfactual_cosine_floor:g})"
                )
        return self

    def cosine_floor(self, attribute: str) -> float:
        """The cosine floor of one protected attribute: its own where it has one, otherwise the common one."""
        return self.counterfactual_cosine_overrides.get(attribute, self.counterfactual_cosine_floor)


class Intraday(StrictModel):
    """Scoring during the day: which departments, how often, over which window, with which budget."""

    departments: Annotated[tuple[Id, ...], Field(min_length=1)]
    window_minutes: Minutes
    every_minutes: Minutes
    rate: Unit
    min_n: Count
    max_calls_per_hour: Count


class Sampling(DatedFile):
    """sampling.yaml. The rate of each department stands in departments.yaml."""

    salt: Label = Field(description="Graine du tirage, déterministe par identifiant de trace")
    strata: Annotated[tuple[Literal["department", "day"], ...], Field(min_length=1)]
    min_per_stratum: Annotated[int, Field(ge=0, le=1_000_000)]
    probe_triples_per_department: Annotated[int, Field(ge=0, le=1_000)]
    intraday: Intraday

    @field_validator("strata")
    @classmethod
    def _drawn_so(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        # the report prints them: a list that the draw does not follow would be a false statement
        if value != ("department", "day"):
            raise ValueError("[department, day], les strates que le tirage applique")
        return value


class AlertRule(StrictModel):
    """One alert. Its limit is a number, or names the policy key that has it, or there is none."""

    name: AlertName
    metric: Alias
    comparison: Literal["below", "above", "event"]
    limit: float | None
    limit_from: str | None
    for_minutes: Annotated[int, Field(ge=0)] | None
    for_minutes_from: str | None
    severity: Severity
    summary: Text
    next_step: Text

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        given = (self.limit is not None) + (self.limit_from is not None)
        if self.comparison == "event" and given:
            raise ValueError("ni limit ni limit_from quand comparison vaut event")
        if self.comparison != "event" and given != 1:
            raise ValueError("soit limit, soit limit_from (l’autre à null)")
        if self.for_minutes is not None and self.for_minutes_from is not None:
            raise ValueError("soit for_minutes, soit for_minutes_from (l’autre à null)")
        return self


class Alerts(DatedFile):
    """alerts.yaml."""

    service: Literal["compliance-pipelines"]
    resend_minutes: Minutes
    rules: tuple[AlertRule, ...]

    @field_validator("rules")
    @classmethod
    def _complete(cls, value: tuple[AlertRule, ...]) -> tuple[AlertRule, ...]:
        refuse_duplicates("des noms de règle", tuple(r.name.value for r in value))
        missing = [name.value for name in AlertName if name not in {r.name for r in value}]
        if missing:
            raise ValueError(f"une règle pour chaque alerte, il manque {', '.join(missing)}")
        return value

    def rule(self, name: AlertName) -> AlertRule:
        """The rule called `name`; every name has one."""
        return next(rule for rule in self.rules if rule.name == name)
