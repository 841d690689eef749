"""The word lists of claims and citations as typed rules, read from ``rules/claims.yaml`` and ``rules/citations.yaml``.

What lives here: the models, the folder in use (`COMPLIANCE_POLICY_DIR` or the bundled data) and the cache. What does
not: matching, and the check of the examples, which `rule_examples` runs once for each pair of files. Serves the rule
that experts own the word lists and get French messages.
"""

from datetime import date
from typing import Annotated

from pydantic import Field

from compliance_guardrails.policy.strict import StrictModel

Words = Annotated[tuple[str, ...], Field(min_length=1, max_length=500)]
Word = Annotated[str, Field(min_length=1, max_length=80)]


class Rule(StrictModel):
    """What every rule carries: texts in which it must find something, and texts in which it must not."""

    must_match: Words
    must_not_match: Words


class MoneyRule(Rule):
    """Currencies by ISO code with their spellings, and the words that multiply the number before them."""

    currencies: dict[Annotated[str, Field(pattern="^[A-Z]{3}$")], Words]
    multipliers: dict[Word, Annotated[int, Field(gt=1, le=10**12)]]


class PercentRule(Rule):
    """Spellings of the percent sign, and what follows a hundred per cent that is no figure ("d'accord")."""

    words: Words
    never_before: Words = ()


class LawArticleRule(Rule):
    """Words that announce an article, letters of the codes' parts, and documents whose articles are clauses."""

    words: Words
    letters: Annotated[tuple[Annotated[str, Field(pattern="^[A-Z]$")], ...], Field(min_length=1)]
    suffixes: Words
    contract_documents: Words


class ClauseRule(Rule):
    """Words that announce a numbered clause."""

    words: Words


class DelayUnit(StrictModel):
    """One unit of time: its spellings and its length in hours, days or months (exactly one of them)."""

    words: Words
    hours: Annotated[int, Field(ge=1)] | None = None
    days: Annotated[int, Field(ge=1)] | None = None
    months: Annotated[int, Field(ge=1)] | None = None
    quality: Word | None = None
    needs_context: bool = False
    context_below: Annotated[int, Field(ge=0)] = 0


class DelayRule(Rule):
    """Units, what belongs to a delay before its number, and what tells a delay from an age, a date or an hour."""

    units: Annotated[tuple[DelayUnit, ...], Field(min_length=1)]
    lead_nouns: Words
    lead_prepositions: Words
    lead_words: Annotated[int, Field(ge=0, le=20)]
    context_before: Words
    context_after: Words
    never_after: Words
    age_after: Words
    age_before: Words
    age_from: Annotated[int, Field(ge=1)] | None = None
    never_before: Words
    clock_after: Words


class CoverageRule(Rule):
    """Words of cover and exclusion, the limits that make them a precise assertion, and what breaks the link."""

    words: Words
    limits: Words
    amount_links: Words
    amount_nouns: Words
    breakers: Words
    no_limits: Words = ()
    max_words_between: Annotated[int, Field(ge=0, le=40)]


class ClaimRules(StrictModel):
    """The whole of ``rules/claims.yaml``."""

    effective_from: date
    money: MoneyRule
    percent: PercentRule
    law_article: LawArticleRule
    clause: ClauseRule
    delay: DelayRule
    coverage: CoverageRule


class CitedExamples(StrictModel):
    """Texts whose every claim is cited, and texts with a claim that is not."""

    must_cite: Words
    must_not_cite: Words


class CitationRules(StrictModel):
    """The whole of ``rules/citations.yaml``."""

    effective_from: date
    markers: Words
    numbered_sources: Words
    named_sources: Words
    acronyms: Words
    document_nouns: Words
    determiners: Words
    generic_titles: Words
    person_titles: Words
    page_words: Words
    months: Words
    file_endings: Words
    abbreviations: Words
    reach: Annotated[int, Field(ge=10, le=400)]
    examples: CitedExamples
    leads: Words = ()
    identified_documents: Words = ()
    site_endings: Words = ("fr",)
    business_lines: Words = ()
