"""Reads rules/attributes.yaml and rules/bias_*.yaml and compiles them into one book, once per folder and process.

What does not live here: the logic that joins words into findings (reasoning.py, bias_logic.py). A file that cannot be
used, or a rule whose own examples disagree with it, is a PolicyError in French that names the file and the rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from compliance_guardrails.policy.paths import policy_dir
from compliance_guardrails.policy.strict import PolicyError, load_yaml

from .evidence import Severity
from .inflect import slots, words_of
from .matcher import Lexicon
from .rules_models import (
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

ATTRIBUTES_FILE = "attributes.yaml"
GROUP_FILES = ("bias_groups.yaml", "bias_grounds.yaml")
PREDICATES_FILE = "bias_predicates.yaml"
DOMAINS_FILE = "bias_domains.yaml"
_WEIGHT_OF_ALL = frozenset(Severity)

MARKS = (
    "clause_connectors", "noun_connectors", "measures", "comparison_words", "contrast", "likeness", "as_one",
    "consequences", "causal_verbs", "persons", "things", "abstract_things", "gap_vetoes", "institutions", "anaphora", "exceptions", "tariff_groups", "legal",
    "entitled",
)  # fmt: skip
"""The lists of attributes.yaml that become marks of the same name in a matched sentence."""

_REASONING = ("clause_connectors", "noun_connectors", "comparison_words", "contrast", "likeness", "as_one",
              "consequences", "causal_verbs")  # fmt: skip


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


Value = Mention | Predicate | Mark


@dataclass(frozen=True)
class Book:
    """The compiled rules of one folder. `lexicon` holds every list; the key sets say which texts need a look."""

    lexicon: Lexicon[Value]
    groups: Mapping[Characteristic, Group]
    domains: Mapping[str, Domain]
    default_domain: str
    weights: Mapping[Severity, Decimal]
    group_keys: frozenset[bytes]
    reasoning_keys: frozenset[bytes]
    slur_keys: frozenset[bytes]
    predicate_keys: frozenset[bytes]
    attributes: AttributesFile
    predicates: PredicatesFile


def terms(listed: str) -> Iterator[str]:
    """The entries of a comma-separated list."""
    return (entry for raw in listed.split(",") if (entry := raw.strip()))


class _Compiler:
    """Gathers all lists into one lexicon and notes the key words of each purpose."""

    def __init__(self) -> None:
        self.lexicon: Lexicon[Value] = Lexicon()
        self.keys: dict[str, set[bytes]] = {}

    def add(self, file: str, key: str, listed: str, value: Value, purpose: str = "") -> None:
        """Add all entries of one list; `file` and `key` say where it stands, should it be malformed."""
        keys = self.keys.setdefault(purpose, set())
        for entry in terms(listed):
            try:
                places = slots(entry)
            except ValueError:
                raise PolicyError(file, key, f"des parenthèses fermées dans « {entry[:40]} »") from None
            if not places:
                raise PolicyError(file, key, f"au moins un mot dans « {entry[:40]} »")
            keys |= self.lexicon.add(places, value)


def _bare(listed: str) -> frozenset[tuple[str, ...]]:
    """The entries of a list without their marks, to compare two lists."""
    return frozenset(words_of(entry) for entry in terms(listed))


def _groups(folder: Path) -> dict[Characteristic, Group]:
    out: dict[Characteristic, Group] = {}
    for name in GROUP_FILES:
        for index, group in enumerate(load_yaml(folder / name, GroupsFile).groups):
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


def _domains(folder: Path) -> DomainsFile:
    domains = load_yaml(folder / DOMAINS_FILE, DomainsFile)
    if frozenset(domains.weights) != _WEIGHT_OF_ALL:
        raise PolicyError(DOMAINS_FILE, "weights", "un poids pour LOW, MEDIUM, HIGH et CRITICAL")
    ids = [domain.id for domain in domains.domains]
    if len(set(ids)) != len(ids):
        raise PolicyError(DOMAINS_FILE, "domains", "des identifiants tous différents")
    if domains.default_domain not in ids:
        raise PolicyError(DOMAINS_FILE, "default_domain", "l’identifiant d’un domaine de la liste")
    return domains


def compile_book(folder: Path) -> Book:
    """The book of a rules folder, without the check of its examples. Raises PolicyError."""
    attributes = load_yaml(folder / ATTRIBUTES_FILE, AttributesFile)
    predicates = load_yaml(folder / PREDICATES_FILE, PredicatesFile)
    domains = _domains(folder)
    groups = _groups(folder)
    compiler = _Compiler()
    weak, ignored = _bare(attributes.weak_attributes), _bare(attributes.ignored_attributes)
    for group in groups.values():
        for kind in KINDS:
            purpose = "slur" if kind == "slurs" else "group"
            for entry in terms(getattr(group, kind)):
                bare = words_of(entry)
                mention = Mention(group.characteristic, kind, bare in weak, bare in ignored)
                compiler.add(GROUP_FILES[0], f"{group.characteristic}.{kind}", entry, mention, purpose)
    for name in MARKS:
        purpose = "reasoning" if name in _REASONING else ""
        compiler.add(ATTRIBUTES_FILE, name, getattr(attributes, name), Mark(name), purpose)
    for family in predicates.families:
        for polarity in ("negative", "positive", "able", "essential"):
            value = Predicate(family.id, polarity)
            compiler.add(
                PREDICATES_FILE, f"{family.id}.{polarity}", getattr(family, polarity), value, "predicate"
            )
    compiler.add(PREDICATES_FILE, "benign_verbs", predicates.benign_verbs, Mark("benign_verbs"))
    for name in type(predicates.contexts).model_fields:
        compiler.add(PREDICATES_FILE, name, getattr(predicates.contexts, name), Mark("bias_" + name))
    keys = {name: frozenset(found) for name, found in compiler.keys.items()}
    return Book(
        lexicon=compiler.lexicon,
        groups=groups,
        domains={domain.id: domain for domain in domains.domains},
        default_domain=domains.default_domain,
        weights=domains.weights,
        group_keys=keys["group"],
        reasoning_keys=keys["reasoning"],
        slur_keys=keys["slur"],
        predicate_keys=keys["predicate"],
        attributes=attributes,
        predicates=predicates,
    )


@lru_cache(maxsize=8)
def _book(folder: Path) -> Book:
    from .examples import check_examples

    book = compile_book(folder)
    check_examples(book)
    return book


def load_book(directory: Path | None = None) -> Book:
    """The rules of the policy folder `directory` (None: the one in use), compiled and checked once per process.

    Raises PolicyError when a file or an example is not in order.
    """
    return _book(policy_dir(directory).resolve() / "rules")
