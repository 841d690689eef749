"""Runs the examples that each rule of claims and citations carries: a rule that its own examples contradict is refused.

Serves the rule that an expert who edits a word list learns at once, in French, which rule broke and on which example.
"""

from __future__ import annotations

from compliance_guardrails.policy.errors import PolicyError, Problem, quoted

from .claim_rules import CitationRules, ClaimRules
from .hits import Kind
from .in_use import CITATIONS_FILE, CLAIMS_FILE, Detectors


def verify(claims: ClaimRules, citations: CitationRules, made: Detectors) -> None:
    """Check every example; PolicyError with one problem for each that disagrees."""
    problems = [*_claim_problems(claims, made), *_citation_problems(citations, made)]
    if problems:
        raise PolicyError.of(tuple(problems))


def _claim_problems(rules: ClaimRules, made: Detectors) -> list[Problem]:
    from .figures import extract_figures

    problems = []
    for kind in Kind:
        rule = getattr(rules, kind.value)
        for name, texts, wanted in (
            ("must_match", rule.must_match, True),
            ("must_not_match", rule.must_not_match, False),
        ):
            for index, text in enumerate(texts):
                found = any(figure.kind is kind for figure in extract_figures(text, made.scanner))
                if found is not wanted:
                    what = "reconnu" if wanted else "ignoré"
                    expected = f"un exemple {what} par la règle « {kind.value} » : {quoted(text)}"
                    problems.append(Problem(CLAIMS_FILE, f"{kind.value}.{name}[{index}]", expected))
    return problems


def _citation_problems(rules: CitationRules, made: Detectors) -> list[Problem]:
    from .citations import check

    problems = []
    for name, texts, wanted in (
        ("must_cite", rules.examples.must_cite, 1),
        ("must_not_cite", rules.examples.must_not_cite, 0),
    ):
        for index, text in enumerate(texts):
            if check(text, made).compliance != wanted:
                what = "dont chaque affirmation est citée" if wanted else "dont une affirmation n’est pas citée"
                expected = f"un exemple {what} (règle « examples ») : {quoted(text)}"
                problems.append(Problem(CITATIONS_FILE, f"examples.{name}[{index}]", expected))
    return problems
