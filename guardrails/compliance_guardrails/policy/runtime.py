"""The model of guardrails.yaml: how the hook behaves, and the messages that users read.

Which guardrails serve a department stands in departments.yaml; the word lists and domain profiles of the
detectors in rules/. Messages are templates whose placeholders are checked here, so that none can fail
when it is needed.
"""

import string
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from .strict import StrictModel
from .types import Action, Alias, DatedFile, Id, OnError, Stream, Text, Unit


class BiasScreenPolicy(StrictModel):
    """How answers are screened for bias. `threshold` None means the domain's own."""

    domain: Id
    action: Action
    threshold: Unit | None
    stream: Stream

    @model_validator(mode="after")
    def _block_needs_buffer(self) -> Self:
        if self.action is Action.BLOCK and self.stream is not Stream.BUFFER:
            raise ValueError("stream: buffer avec action: block (rien ne doit atteindre l’utilisateur avant l’examen)")
        return self


class SelfEvaluation(StrictModel):
    """The small model's rating of an answer that makes a specific claim."""

    model: Alias
    timeout_seconds: Annotated[float, Field(gt=0, le=60)]


class Messages(StrictModel):
    """What users read. Placeholders stand in braces and are checked."""

    grounding_refusal: Text
    missing_score_refusal: Text
    low_self_confidence: Text
    bias_blocked: Text
    guardrail_failed: Text

    @field_validator("grounding_refusal")
    @classmethod
    def _refusal_fields(cls, value: str) -> str:
        return _with_fields(value, {"score", "floor", "contact"})

    @field_validator("missing_score_refusal", "bias_blocked")
    @classmethod
    def _contact_field(cls, value: str) -> str:
        return _with_fields(value, {"contact"})

    @field_validator("low_self_confidence", "guardrail_failed")
    @classmethod
    def _no_fields(cls, value: str) -> str:
        return _with_fields(value, set())


class Guardrails(DatedFile):
    """guardrails.yaml: how the hook behaves."""

    on_error: OnError
    bias_screen: BiasScreenPolicy
    bias_screen_overrides: dict[str, BiasScreenPolicy] = Field(description="Réglage propre à une direction")
    self_evaluation: SelfEvaluation
    messages: Messages

    def bias_screen_of(self, department: str) -> BiasScreenPolicy:
        """The bias screen of `department`: its own where it has one, otherwise the common one."""
        return self.bias_screen_overrides.get(department, self.bias_screen)


def _with_fields(template: str, names: set[str]) -> str:
    """`template` when its placeholders are exactly `names`, all plain; ValueError otherwise."""
    wanted = ", ".join(f"{{{name}}}" for name in sorted(names)) or "aucune accolade"
    try:
        parts = [part[1:] for part in string.Formatter().parse(template)]
    except ValueError:
        raise ValueError(f"un message avec {wanted}, accolades fermées") from None
    fields = [(name, spec, conversion) for name, spec, conversion in parts if name is not None]
    if {name for name, _, _ in fields} != names or any(spec or conversion for _, spec, conversion in fields):
        raise ValueError(f"un message avec {wanted}, sans autre accolade")
    return template
