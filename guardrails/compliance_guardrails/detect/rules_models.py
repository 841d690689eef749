"""The shapes of rules/attributes.yaml and rules/bias_*.yaml, as strict models; nothing is read or compiled here.

Experts edit these files: unknown keys, wrong types and empty example lists are refused in French by policy.strict.
The syntax of the word lists is that of inflect.py; what the lists are for stands in the files themselves.
"""

from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from compliance_guardrails.policy.strict import StrictModel

from .evidence import Severity

Kind = Literal["people", "qualities", "loose_qualities", "phrases", "attributes", "sure_attributes", "slurs"]
KINDS: tuple[Kind, ...] = (
    "people", "qualities", "loose_qualities", "phrases", "attributes", "sure_attributes", "slurs",
)  # fmt: skip
Terms = str


def _number(value: object) -> object:
    """A decimal written between quotes; anything else is left for pydantic to refuse."""
    if isinstance(value, str):
        try:
            return Decimal(value)
        except InvalidOperation:
            return value
    return value


Exact = Annotated[Decimal, BeforeValidator(_number)]


class Characteristic(StrEnum):
    """The sixteen characteristics of Charter article 21, then the further grounds of Code pénal 225-1."""

    SEX = "sex"
    RACE = "race"
    COLOUR = "colour"
    ETHNIC_ORIGIN = "ethnic_origin"
    SOCIAL_ORIGIN = "social_origin"
    GENETIC_FEATURES = "genetic_features"
    LANGUAGE = "language"
    RELIGION = "religion"
    POLITICAL_OPINION = "political_opinion"
    NATIONAL_MINORITY = "national_minority"
    PROPERTY = "property"
    BIRTH = "birth"
    DISABILITY = "disability"
    AGE = "age"
    SEXUAL_ORIENTATION = "sexual_orientation"
    NATIONALITY = "nationality"
    FAMILY_SITUATION = "family_situation"
    PREGNANCY = "pregnancy"
    PHYSICAL_APPEARANCE = "physical_appearance"
    SURNAME = "surname"
    PLACE_OF_RESIDENCE = "place_of_residence"
    HEALTH = "health"
    LOSS_OF_AUTONOMY = "loss_of_autonomy"
    MORALS = "morals"
    GENDER_IDENTITY = "gender_identity"
    UNION_ACTIVITY = "union_activity"
    WHISTLEBLOWER = "whistleblower"


CHARTER = frozenset(tuple(Characteristic)[:16])
"""The sixteen characteristics of the Charter; the others come from Code pénal 225-1 only."""


class SeverityTable(StrictModel):
    """The severity of a finding by the family of what is said."""

    stereotype: Severity
    differential: Severity
    exclusion: Severity
    slur: Severity


class Group(StrictModel):
    """One characteristic: its words by kind, its grounds of Code pénal 225-1 and its severities."""

    characteristic: Characteristic
    grounds: tuple[str, ...] = Field(min_length=1)
    range: tuple[Severity, Severity]
    severity: SeverityTable
    people: Terms
    qualities: Terms
    loose_qualities: Terms
    phrases: Terms
    attributes: Terms
    sure_attributes: Terms
    slurs: Terms
    must_match: tuple[str, ...] = Field(min_length=1)
    must_not_match: tuple[str, ...] = Field(min_length=1)


class GroupsFile(StrictModel):
    """bias_groups.yaml, bias_grounds.yaml."""

    effective_from: date
    groups: tuple[Group, ...] = Field(min_length=1)


class Family(StrictModel):
    """What is said of a group: one family of predicates."""

    id: Literal["stereotype", "differential", "exclusion"]
    negative: Terms
    positive: Terms
    able: Terms = ""
    essential: Terms = ""
    must_match: tuple[str, ...] = Field(min_length=1)
    must_not_match: tuple[str, ...] = Field(min_length=1)


class Contexts(StrictModel):
    """Words that lift a finding of their sentence."""

    condemned: Terms
    entitled: Terms
    other_reasons: Terms
    reported: Terms
    aids: Terms = ""


class PredicatesFile(StrictModel):
    """bias_predicates.yaml."""

    effective_from: date
    families: tuple[Family, ...] = Field(min_length=3, max_length=3)
    english_orders: Terms
    benign_verbs: Terms
    plain_verbs: Terms
    contexts: Contexts


class Domain(StrictModel):
    """A domain profile: when the screen acts and what weighs more there."""

    id: str
    threshold: Exact = Field(ge=0, le=1)
    multipliers: dict[Characteristic, Exact]
    reason: str = Field(min_length=1)


class DomainsFile(StrictModel):
    """bias_domains.yaml."""

    effective_from: date
    default_domain: str
    weights: dict[Severity, Exact]
    domains: tuple[Domain, ...] = Field(min_length=1)


class ReasoningRule(StrictModel):
    """A family of reasoning with the examples that it must and must not flag."""

    id: Literal["causal-clause", "causal-noun", "comparison", "as-member", "consequence"]
    title: str
    must_match: tuple[str, ...] = Field(min_length=1)
    must_not_match: tuple[str, ...] = Field(min_length=1)


class AttributesFile(StrictModel):
    """attributes.yaml: connectors, nouns of persons and things, exceptions; every list in the syntax of inflect.py."""

    effective_from: date
    clause_connectors: Terms
    noun_connectors: Terms
    measures: Terms
    comparison_words: Terms
    contrast: Terms
    likeness: Terms
    as_one: Terms
    consequences: Terms
    causal_verbs: Terms
    persons: Terms
    things: Terms
    abstract_things: Terms
    institutions: Terms
    anaphora: Terms
    contract_terms: Terms
    weak_attributes: Terms
    ignored_attributes: Terms
    gap_vetoes: Terms
    exceptions: Terms
    tariff_groups: Terms
    legal: Terms
    entitled: Terms
    rules: tuple[ReasoningRule, ...] = Field(min_length=1)
