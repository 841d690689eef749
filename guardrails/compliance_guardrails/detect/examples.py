"""Each rule against its own examples, at load: a rule that disagrees with what it promises is refused in French.

Knows the detectors and the rule files, nothing else. Runs once per rules folder and process (rulebook.load_book).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from compliance_guardrails.policy.errors import PolicyError, Problem, quoted

from . import attributes, bias
from .rulebook import ATTRIBUTES_FILE, GROUP_FILES, PREDICATES_FILE, Book
from .rules_models import CHARTER


class _Rule(NamedTuple):
    """A rule with its examples; `promised`: a text has what the rule is for; `anything`: it has any finding."""

    file: str
    name: str
    must_match: tuple[str, ...]
    must_not_match: tuple[str, ...]
    promised: Callable[[str], bool]
    anything: Callable[[str], bool]


def check_examples(book: Book) -> None:
    """Raise one PolicyError with a problem for each example that its rule gets wrong."""
    problems = tuple(problem for rule in _rules(book) for problem in _problems(rule))
    if problems:
        raise PolicyError.of(problems)


def _rules(book: Book) -> Iterator[_Rule]:
    def flags(text: str) -> set[str]:
        return {flag.rule for flag in attributes.find(text, book)}

    def found(text: str) -> set[str]:
        return {finding.characteristic for finding in bias.screen(text, None, book=book).findings}

    for rule in book.attributes.rules:
        yield _Rule(
            ATTRIBUTES_FILE,
            rule.id,
            rule.must_match,
            rule.must_not_match,
            lambda text, name=rule.id: name in flags(text),
            lambda text: bool(flags(text)),
        )
    for name, group in book.groups.items():
        yield _Rule(
            GROUP_FILES[0 if name in CHARTER else 1],
            name,
            group.must_match,
            group.must_not_match,
            lambda text, name=name: name in found(text),
            lambda text: bool(found(text)),
        )
    for family in book.predicates.families:
        yield _Rule(
            PREDICATES_FILE,
            family.id,
            family.must_match,
            family.must_not_match,
            lambda text: bool(found(text)),
            lambda text: bool(found(text)),
        )


def _problems(rule: _Rule) -> Iterator[Problem]:
    for index, text in enumerate(rule.must_match):
        if not rule.promised(text):
            expected = f"un exemple reconnu par la règle « {rule.name} » : {quoted(text)}"
            yield Problem(rule.file, f"{rule.name}.must_match[{index}]", expected)
    for index, text in enumerate(rule.must_not_match):
        if rule.anything(text):
            expected = f"un exemple ignoré par la règle « {rule.name} » : {quoted(text)}"
            yield Problem(rule.file, f"{rule.name}.must_not_match[{index}]", expected)
