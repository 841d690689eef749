"""Each rule against its own examples, at load: a rule that disagrees with what it promises is refused in French.

Knows the detectors and the rule files, nothing else. Runs once per rules folder and process (rulebook.load_book).
"""

from __future__ import annotations

from compliance_guardrails.policy.strict import PolicyError

from . import attributes, bias
from .rulebook import ATTRIBUTES_FILE, GROUP_FILES, PREDICATES_FILE, Book


def check_examples(book: Book) -> None:
    """Raise PolicyError for the first example that its rule gets wrong."""
    for rule in book.attributes.rules:
        for text in rule.must_match:
            if rule.id not in {flag.rule for flag in attributes.find(text, book)}:
                raise _error(ATTRIBUTES_FILE, rule.id, "must_match", f"un signalement par la règle pour {_quote(text)}")
        for text in rule.must_not_match:
            if attributes.find(text, book):
                raise _error(ATTRIBUTES_FILE, rule.id, "must_not_match", f"aucun signalement pour {_quote(text)}")
    for name, group in book.groups.items():
        for text in group.must_match:
            if name not in {finding.characteristic for finding in bias.screen(text, None, book=book).findings}:
                raise _error(_file(name), name, "must_match", f"un constat « {name} » pour {_quote(text)}")
        for text in group.must_not_match:
            if bias.screen(text, None, book=book).findings:
                raise _error(_file(name), name, "must_not_match", f"aucun constat pour {_quote(text)}")
    for family in book.predicates.families:
        for text in family.must_match:
            if not bias.screen(text, None, book=book).findings:
                raise _error(PREDICATES_FILE, family.id, "must_match", f"un constat pour {_quote(text)}")
        for text in family.must_not_match:
            if bias.screen(text, None, book=book).findings:
                raise _error(PREDICATES_FILE, family.id, "must_not_match", f"aucun constat pour {_quote(text)}")


def _file(characteristic: str) -> str:
    from .rules_models import CHARTER

    return GROUP_FILES[0] if characteristic in CHARTER else GROUP_FILES[1]


def _quote(text: str) -> str:
    return f"« {text[:80]} »"


def _error(file: str, rule: str, key: str, expected: str) -> PolicyError:
    return PolicyError(file, f"règle {rule}: {key}", expected)
