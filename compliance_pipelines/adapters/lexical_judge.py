"""The lexical evaluator's word lists, read strictly from the policy and identified by their digest.

The scoring itself is `core.neutrality`; this file only turns an expert's YAML into its rules.
"""

from __future__ import annotations

import hashlib
from typing import Annotated

from compliance_guardrails.policy import Policy
from compliance_guardrails.policy.strict import StrictModel, parse_yaml
from compliance_guardrails.policy.types import DatedFile, Unit
from pydantic import Field, StringConstraints

from compliance_pipelines.core.neutrality import VERSION, LexicalRules

RULES = "lexical_neutrality"

Phrase = Annotated[str, StringConstraints(min_length=2, max_length=80)]
Phrases = Annotated[tuple[Phrase, ...], Field(min_length=1, max_length=500)]


class _Weights(StrictModel):
    agreement: Unit
    echo: Unit
    unsupported: Unit
    independence: Unit


class _File(DatedFile):
    agreement: Phrases
    independence: Phrases
    leading: Phrases
    weights: _Weights
    unsupported_floor: Annotated[float, Field(ge=0, lt=1)]
    opening_chars: Annotated[int, Field(ge=20, le=5000)]


def lexical_rules(policy: Policy) -> LexicalRules:
    """The rules in force in `policy`; PolicyError (file, key, expected; French) when they cannot be used."""
    found = parse_yaml(policy.rule_text(RULES), _File, f"rules/{RULES}.yaml")
    return LexicalRules(
        agreement=found.agreement,
        independence=found.independence,
        leading=found.leading,
        weight_agreement=found.weights.agreement,
        weight_echo=found.weights.echo,
        weight_unsupported=found.weights.unsupported,
        weight_independence=found.weights.independence,
        unsupported_floor=found.unsupported_floor,
        opening_chars=found.opening_chars,
    )


def fingerprint(policy: Policy) -> str:
    """The evaluator's identity: its name, version and word lists."""
    lists = hashlib.sha256(policy.rule_text(RULES).encode()).hexdigest()[:12]
    return f"lexical/{VERSION}/{lists}"
