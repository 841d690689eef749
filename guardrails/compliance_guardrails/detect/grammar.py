"""The grammatical words of rules/bias_grammar.yaml: articles, negations, state verbs, as sets of folded words.

Data, not logic: what each set is for stands in the file. No word of a group, of a prejudice or of a decision here.
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from compliance_guardrails.policy.strict import PolicyError, StrictModel

from .inflect import words_of


class Grammar(NamedTuple):
    """One set of folded words for each list of the file, under the same name; `frequent` keeps its order.

    A tuple, because a dataclass of so many fields takes three times as long to define.
    """

    copulas: frozenset[str]
    possessives: frozenset[str]
    third_person: frozenset[str]
    articles: frozenset[str]
    plurals: frozenset[str]
    singulars: frozenset[str]
    of_one_or_some: frozenset[str]
    pronouns: frozenset[str]
    known_persons: frozenset[str]
    negations: frozenset[str]
    contracted: frozenset[str]
    deniers: frozenset[str]
    no_complement: frozenset[str]
    complement_links: frozenset[str]
    units_of_age: frozenset[str]
    tens: frozenset[str]
    digits: frozenset[str]
    has_age: frozenset[str]
    has_number: frozenset[str]
    contract_words: frozenset[str]
    before_names: frozenset[str]
    plural_before_names: frozenset[str]
    adverbs_between: frozenset[str]
    after_bare_plural: frozenset[str]
    before_quality: frozenset[str]
    before_adjective: frozenset[str]
    before_group: frozenset[str]
    statuses: frozenset[str]
    age_measures: frozenset[str]
    seen: frozenset[str]
    evaluations: frozenset[str]
    not_comparing: frozenset[str]
    not_compared: frozenset[str]
    less: frozenset[str]
    seldom: frozenset[str]
    more: frozenset[str]
    among: frozenset[str]
    suffered_by: frozenset[str]
    agents: frozenset[str]
    trailing_negations: frozenset[str]
    absolutes: frozenset[str]
    nothing: frozenset[str]
    norms: frozenset[str]
    rights_and_duties: frozenset[str]
    subject_openers: frozenset[str]
    subject_links: frozenset[str]
    clause_openers: frozenset[str]
    english: frozenset[str]
    harmless_when_denied: frozenset[str]
    harmless_forecasts: frozenset[str]
    had: frozenset[str]
    alone: frozenset[str]
    passives: frozenset[str]
    neutral_plural_verbs: frozenset[str]
    advice: frozenset[str]
    object_pronouns: frozenset[str]
    nobody: frozenset[str]
    burdens: frozenset[str]
    everyday_denied: frozenset[str]
    measured: frozenset[str]
    mistrust: frozenset[str]
    naming: frozenset[str]
    quoting: frozenset[str]
    thing_states: frozenset[str]
    thing_verbs: frozenset[str]
    events: frozenset[str]
    civil_changes: frozenset[str]
    titles: frozenset[str]
    frequent: tuple[str, ...]


class GrammarFile(StrictModel):
    """bias_grammar.yaml: one text of words for each set of `Grammar`."""

    effective_from: date
    words: dict[str, str]


def grammar_of(file: GrammarFile, name: str) -> Grammar:
    """The sets of a read file; `name` is the file in messages. Raises PolicyError when one is missing or unknown."""
    for wrong in sorted(file.words.keys() ^ set(Grammar._fields)):
        expected = "une clé connue de la grammaire" if wrong in file.words else "cette clé, qui manque"
        raise PolicyError(name, f"words.{wrong}", expected)
    sets = {key: frozenset(words_of(listed)) for key, listed in file.words.items()}
    frequent = tuple(dict.fromkeys(words_of(file.words["frequent"])))  # in order, the most frequent first
    return Grammar(**{**sets, "frequent": frequent})  # ty: ignore[invalid-argument-type]
