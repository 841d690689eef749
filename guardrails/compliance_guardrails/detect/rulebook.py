"""Reads rules/attributes.yaml and rules/bias_*.yaml and compiles them into one book, once per folder and process.

What does not live here: the logic that joins words into findings (reasoning.py, bias_logic.py). A file that cannot be
used, or a rule whose own examples disagree with it, is a PolicyError in French that names the file and the rule.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from compliance_guardrails.policy.errors import quoted
from compliance_guardrails.policy.paths import VARIABLE, policy_dir
from compliance_guardrails.policy.strict import PolicyError, StrictModel, load_yaml, parse_yaml

from .evidence import Severity
from .grammar import Grammar, GrammarFile, grammar_of
from .inflect import bare, fold_list, terms, words_of
from .needs import Needs
from .phrases import Phrases
from .rules_models import (
    CHARTER,
    KINDS,
    AttributesFile,
    Characteristic,
    Domain,
    DomainsFile,
    Group,
    GroupsFile,
    Kind,
    PredicatesFile,
)

if TYPE_CHECKING:
    from compliance_guardrails.policy import Policy

M = TypeVar("M", bound=StrictModel)

ATTRIBUTES_FILE = "attributes.yaml"
GROUP_FILES = ("bias_groups.yaml", "bias_grounds.yaml")
PREDICATES_FILE = "bias_predicates.yaml"
DOMAINS_FILE = "bias_domains.yaml"
GRAMMAR_FILE = "bias_grammar.yaml"
RULE_FILES = (GRAMMAR_FILE, ATTRIBUTES_FILE, PREDICATES_FILE, DOMAINS_FILE, *GROUP_FILES)
_WEIGHT_OF_ALL = frozenset(Severity)

MARKS = (
    "clause_connectors", "noun_connectors", "measures", "comparison_words", "contrast", "likeness", "as_one",
    "consequences", "causal_verbs", "persons", "things", "abstract_things", "gap_vetoes", "institutions", "anaphora",
    "contract_terms", "exceptions", "tariff_groups", "legal", "entitled",
)  # fmt: skip
"""The lists of attributes.yaml that become marks of the same name in a matched sentence."""

_REASONING = ("clause_connectors", "noun_connectors", "comparison_words", "contrast", "likeness", "as_one",
              "consequences", "causal_verbs")  # fmt: skip
_TELLING = frozenset({*_REASONING, "english_orders"})
"""Lists by which something is said, beside the predicates; the others give a context."""


class Mention(NamedTuple):
    """A listed word of a group. `weak` and `ignored`: see the lists of these names in attributes.yaml."""

    characteristic: Characteristic
    kind: Kind
    weak: bool
    ignored: bool


class Predicate(NamedTuple):
    """A listed word that says something of a group: family of bias_predicates.yaml and how it counts there."""

    family: str
    polarity: str


class Mark(NamedTuple):
    """Any other listed word: a connector, a person, a thing, a context…"""

    name: str


@dataclass(frozen=True)
class Book:
    """The compiled rules of one folder.

    `mentions` holds the words of groups, `verdicts` what says or reasons something of them, `contexts` all other lists.
    `needs` are the words without which nothing is looked for.
    """

    grammar: Grammar
    mentions: Phrases[Mention]
    verdicts: Phrases[Predicate | Mark]
    contexts: Phrases[Predicate | Mark]
    needs: Needs
    groups: Mapping[Characteristic, Group]
    domains: Mapping[str, Domain]
    default_domain: str
    weights: Mapping[Severity, Decimal]
    anaphora: frozenset[str]
    reasoning_marks: frozenset[str]
    attributes: AttributesFile
    predicates: PredicatesFile


def _malformed(file: str, key: str, listed: str, at: int) -> PolicyError:
    """The refusal of entry `at` of a list; `file` and `key` say where it stands."""
    entry = list(terms(listed))[at]
    expected = f"un mot, et des parenthèses fermées sans imbrication, dans {quoted(entry)}"
    return PolicyError(file, key, expected)


def _bare(listed: str) -> frozenset[tuple[str, ...]]:
    """The entries of a list without their marks, to compare two lists."""
    return frozenset(words_of(entry) for entry in terms(listed))


class _Source(Protocol):
    """Where the rule files come from: a folder, or the texts in force in a policy."""

    def __call__(self, name: str, model: type[M], /) -> M: ...


def _groups(read: _Source) -> dict[Characteristic, Group]:
    out: dict[Characteristic, Group] = {}
    for name in GROUP_FILES:
        for index, group in enumerate(read(name, GroupsFile).groups):
            key = f"groups[{index}].characteristic"
            if group.characteristic in out:
                raise PolicyError(name, key, f"une seule entrée pour « {group.characteristic} »")
            low, high = group.range
            for family in type(group.severity).model_fields:
                if not low.rank <= getattr(group.severity, family).rank <= high.rank:
                    raise PolicyError(name, f"groups[{index}].severity.{family}", f"une gravité de {low} à {high}")
            out[group.characteristic] = group
    missing = [name for name in Characteristic if name not in out]
    if missing:
        raise PolicyError(GROUP_FILES[0], "groups", f"une entrée pour « {missing[0]} »")
    return out


def _domains(read: _Source) -> DomainsFile:
    domains = read(DOMAINS_FILE, DomainsFile)
    if frozenset(domains.weights) != _WEIGHT_OF_ALL:
        raise PolicyError(DOMAINS_FILE, "weights", "un poids pour LOW, MEDIUM, HIGH et CRITICAL")
    ids = [domain.id for domain in domains.domains]
    if len(set(ids)) != len(ids):
        raise PolicyError(DOMAINS_FILE, "domains", "des identifiants tous différents")
    if domains.default_domain not in ids:
        raise PolicyError(DOMAINS_FILE, "default_domain", "l’identifiant d’un domaine de la liste")
    return domains


def _compiled(read: _Source) -> Book:
    grammar = grammar_of(read(GRAMMAR_FILE, GrammarFile), GRAMMAR_FILE)
    attributes = read(ATTRIBUTES_FILE, AttributesFile)
    predicates = read(PREDICATES_FILE, PredicatesFile)
    domains = _domains(read)
    groups = _groups(read)
    weak, ignored = _bare(attributes.weak_attributes), _bare(attributes.ignored_attributes)
    common = {word: len(grammar.frequent) - rank for rank, word in enumerate(grammar.frequent)}
    mentions: Phrases[Mention] = Phrases(common)
    special = weak | ignored
    names = {" ".join(words) for words in special}
    for group in groups.values():
        file = GROUP_FILES[0] if group.characteristic in CHARTER else GROUP_FILES[1]
        for kind in KINDS:
            usual = Mention(group.characteristic, kind, weak=False, ignored=False)
            listed: str = getattr(group, kind)
            folded = list(terms(fold_list(listed)))
            others = {
                term: usual._replace(weak=words in weak, ignored=words in ignored)
                for term in folded
                if ((name := term.rstrip("*+~^")) in names or not name.replace(" ", "").isalnum())
                and (words := bare(term)) in special
            }
            try:
                mentions.add_terms(folded, usual, others)
            except ValueError as error:
                raise _malformed(file, f"{group.characteristic}.{kind}", listed, error.args[0]) from None
    verdicts: Phrases[Predicate | Mark] = Phrases(common)
    contexts: Phrases[Predicate | Mark] = Phrases(common)
    for file, key, listed, value in _other_lists(attributes, predicates):
        phrases = verdicts if isinstance(value, Predicate) or key in _TELLING else contexts
        try:
            phrases.add_terms(terms(fold_list(listed)), value, {})
        except ValueError as error:
            raise _malformed(file, key, listed, error.args[0]) from None
    anaphora: Phrases[None] = Phrases(common)
    anaphora.add_terms(terms(fold_list(attributes.anaphora)), None, {})
    return Book(
        grammar=grammar,
        mentions=mentions,
        verdicts=verdicts,
        contexts=contexts,
        needs=Needs.of(grammar),
        groups=groups,
        domains={domain.id: domain for domain in domains.domains},
        default_domain=domains.default_domain,
        weights=domains.weights,
        anaphora=anaphora.words(),
        reasoning_marks=frozenset(_REASONING),
        attributes=attributes,
        predicates=predicates,
    )


def _other_lists(
    attributes: AttributesFile, predicates: PredicatesFile
) -> Iterator[tuple[str, str, str, Predicate | Mark]]:
    """Every list that is not of a group: file, key, entries and what they stand for."""
    for name in MARKS:
        yield ATTRIBUTES_FILE, name, getattr(attributes, name), Mark(name)
    for family in predicates.families:
        for polarity in ("negative", "positive", "able", "essential"):
            key = f"{family.id}.{polarity}"
            yield PREDICATES_FILE, key, getattr(family, polarity), Predicate(family.id, polarity)
    for name in ("english_orders", "benign_verbs", "plain_verbs"):
        yield PREDICATES_FILE, name, getattr(predicates, name), Mark(name)
    for name in type(predicates.contexts).model_fields:
        yield PREDICATES_FILE, name, getattr(predicates.contexts, name), Mark("bias_" + name)


@lru_cache(maxsize=8)
def _book(folder: Path) -> Book:
    return _checked(lambda name, model: load_yaml(folder / name, model))


@lru_cache(maxsize=4)
def _book_of(texts: tuple[str, ...]) -> Book:
    listed = dict(zip(RULE_FILES, texts, strict=True))
    return _checked(lambda name, model: parse_yaml(listed[name], model, name))


def _checked(read: _Source) -> Book:
    from .examples import check_examples

    with _no_collection():
        book = _compiled(read)
        check_examples(book)
    return book


def of(policy: Policy) -> Book:
    """The book of the rules in force in `policy`, so that a month is judged by the rules of its end.

    Raises PolicyError when a file is missing, or one or its examples are not in order.
    """
    return _book_of(tuple(policy.rule_text(Path(name).stem) for name in RULE_FILES))


@contextmanager
def _no_collection() -> Generator[None]:
    """Garbage collection held back: what is built here stays, and looking through it over and over takes a third.

    It counts as old when collection goes on, unless the host keeps frozen objects of its own.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@lru_cache(maxsize=4)
def _configured(variable: str) -> Book:
    """The book for one value of the variable: the default path costs a look-up, not file system calls."""
    return _book(policy_dir(Path(variable) if variable else None).resolve() / "rules")


def load_book(directory: Path | None = None) -> Book:
    """The rules of the policy folder `directory` (None: the one in use), compiled and checked once per process.

    Raises PolicyError when a file or an example is not in order.
    """
    if directory is None:
        return _configured(os.environ.get(VARIABLE, ""))
    return _book(policy_dir(directory).resolve() / "rules")
