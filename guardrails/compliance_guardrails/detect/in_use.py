"""The detectors of claims and citations for the rules in use, loaded, checked and compiled once.

The folder is `COMPLIANCE_POLICY_DIR` or the bundled data, read at the first call and kept for each folder. A rule whose
own examples disagree with it is refused here with one French line that names it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from compliance_guardrails.policy.paths import VARIABLE, policy_dir
from compliance_guardrails.policy.strict import load_yaml, parse_yaml

from .claim_rules import CitationRules, ClaimRules
from .lexicon import Lexicon
from .scanner import ClaimScanner
from .sourcing import SourceFinder
from .text import fold

if TYPE_CHECKING:
    from compliance_guardrails.policy import Policy

CLAIMS_FILE = "claims.yaml"
CITATIONS_FILE = "citations.yaml"


@dataclass(frozen=True)
class Detectors:
    """What `figures` and `citations` work with."""

    scanner: ClaimScanner
    finder: SourceFinder


def build(claims: ClaimRules, citations: CitationRules) -> Detectors:
    """Compile the rules; their examples are not checked here."""
    lexicon = Lexicon()
    references = frozenset(map(fold, (*claims.law_article.words, *claims.clause.words)))
    return Detectors(ClaimScanner(claims, lexicon), SourceFinder(citations, references, lexicon))


def load(directory: Path | None = None) -> Detectors:
    """The detectors of a policy folder, their examples checked. Raises PolicyError, in French."""
    from .rule_examples import verify

    rules = policy_dir(directory) / "rules"
    claims = load_yaml(rules / CLAIMS_FILE, ClaimRules)
    citations = load_yaml(rules / CITATIONS_FILE, CitationRules)
    made = build(claims, citations)
    verify(claims, citations, made)
    return made


def of(policy: Policy) -> Detectors:
    """The detectors of the rules in force in `policy`, so that a month is judged by the rules of its end."""
    return _from_texts(policy.rule_text("claims"), policy.rule_text("citations"))


@lru_cache(maxsize=8)
def _from_texts(claims_text: str, citations_text: str) -> Detectors:
    from .rule_examples import verify

    claims = parse_yaml(claims_text, ClaimRules, f"rules/{CLAIMS_FILE}")
    citations = parse_yaml(citations_text, CitationRules, f"rules/{CITATIONS_FILE}")
    made = build(claims, citations)
    verify(claims, citations, made)
    return made


@lru_cache(maxsize=4)
def _loaded(directory: str) -> Detectors:
    return load(Path(directory) if directory else None)


def detectors() -> Detectors:
    """The detectors of the folder in use; the first call of a process loads and checks them."""
    return _loaded(os.environ.get(VARIABLE, ""))
