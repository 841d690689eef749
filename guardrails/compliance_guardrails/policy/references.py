"""The models of the files that are cited rather than computed with: law, grounds of discrimination,
report wording, prompts; and the two ledgers, retired.yaml and corrective_actions.yaml.

Law is data with a source and a date: nothing in the code knows when an obligation applies. Persons are
named by their function only.
"""

import enum
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from .strict import StrictModel
from .types import Alias, DatedFile, Id, Label, Text, refuse_duplicates


class Ground(StrictModel):
    """One ground of article 225-1 of the Code pénal."""

    id: Id
    label: Label


class Grounds(DatedFile):
    """grounds.yaml: the 24 grounds, in the order of the law."""

    source: Text
    as_of: date
    grounds: Annotated[tuple[Ground, ...], Field(min_length=1)]

    @field_validator("grounds")
    @classmethod
    def _distinct(cls, value: tuple[Ground, ...]) -> tuple[Ground, ...]:
        refuse_duplicates("des identifiants", tuple(ground.id for ground in value))
        return value


class LegalClass(enum.StrEnum):
    """Classification of the system under the AI Act, as the operator decided it."""

    UNDETERMINED = "non déterminée"
    HIGH_RISK = "haut risque"
    LIMITED_RISK = "risque limité"
    MINIMAL_RISK = "risque minimal"


class Classification(StrictModel):
    """The operator's own decision; the software never infers it."""

    value: LegalClass
    decided_on: date | None
    decided_by: Label | None = Field(description="Fonction, pas de nom de personne")
    basis: Text

    @model_validator(mode="after")
    def _dated_when_decided(self) -> Self:
        decided = self.value is not LegalClass.UNDETERMINED
        if decided and (self.decided_on is None or self.decided_by is None):
            raise ValueError("decided_on et decided_by dès que la classification est arrêtée")
        if not decided and (self.decided_on is not None or self.decided_by is not None):
            raise ValueError("decided_on et decided_by à null tant que la classification est « non déterminée »")
        return self


class PendingChange(StrictModel):
    """A change of the date of application that is reported but not yet checked at its source."""

    applies_from: date
    source: Text
    as_of: date
    status: Literal["à confirmer", "confirmé"]


class LegalRule(StrictModel):
    """One rule that the report refers to. `applies_from` None: no date of application (guidance)."""

    id: Id
    instrument: Label
    article: Label
    subject: Label
    obligation: Text
    answered_by: Text = Field(description="Ce qui, dans le dispositif, y répond")
    binding: bool
    applies_from: date | None
    pending: PendingChange | None
    source: Text
    as_of: date


class Legal(DatedFile):
    """legal.yaml."""

    as_of: date
    classification: Classification
    rules: Annotated[tuple[LegalRule, ...], Field(min_length=1)]

    @field_validator("rules")
    @classmethod
    def _distinct(cls, value: tuple[LegalRule, ...]) -> tuple[LegalRule, ...]:
        refuse_duplicates("des identifiants", tuple(rule.id for rule in value))
        return value


class Wording(StrictModel):
    """Phrases of the report that the operator may have to change."""

    title: Label
    retention: Text
    declaration: Text
    limits: Annotated[tuple[Text, ...], Field(min_length=1)]


class Report(DatedFile):
    """report.yaml."""

    organisation: Label
    recipient: Label
    system_name: Label
    corrective_actions: Annotated[str, Field(pattern=r"^[a-z0-9_]+\.yaml$")] | None = Field(
        description="Nom du fichier des actions correctives, dans le même dossier"
    )
    wording: Wording


class CorrectiveAction(StrictModel):
    """One action, its owner (a function, not a person) and its date."""

    id: Id
    finding: Text
    action: Text
    owner: Label
    opened_on: date
    due_on: date
    closed_on: date | None
    departments: tuple[Id, ...]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.due_on < self.opened_on:
            raise ValueError("due_on au plus tôt le jour de opened_on")
        if self.closed_on is not None and self.closed_on < self.opened_on:
            raise ValueError("closed_on au plus tôt le jour de opened_on")
        return self


class CorrectiveActions(DatedFile):
    """The corrective actions ledger; the report shows those opened by its own date."""

    actions: tuple[CorrectiveAction, ...]

    @field_validator("actions")
    @classmethod
    def _distinct(cls, value: tuple[CorrectiveAction, ...]) -> tuple[CorrectiveAction, ...]:
        refuse_duplicates("des identifiants", tuple(action.id for action in value))
        return value


class RetiredLine(StrictModel):
    """One acknowledged loosening or removal: what, to which value, when, why, by whose decision."""

    key: Alias = Field(description="fichier.clé, comme l’écrit « policy diff »")
    to: bool | float | str | None = Field(description="Nouvelle valeur ; null quand l’élément est retiré")
    date: date
    reason: Annotated[str, Field(min_length=10, max_length=2_000, pattern=r"\S")]
    owner: Label = Field(description="Fonction qui a décidé")


class Retired(DatedFile):
    """retired.yaml: lines are added, never changed or removed."""

    retired: tuple[RetiredLine, ...]


class FrontMatter(DatedFile):
    """The head of a prompt file."""

    alias: Id
    title: Label
    refusal: Text | None = Field(description="Phrase exacte que le texte doit contenir ; null s’il n’y en a pas")


class Prompt(StrictModel):
    """One system prompt: the alias it serves and the text put first."""

    name: Id
    effective_from: date
    alias: Id
    title: Label
    refusal: str | None
    body: str
