"""Biased statements said obliquely, and look-alikes: of each kind three that must be found and three that must not.

Faint praise ("remarquable pour une femme"), verdicts, advice, places and names as proxies; complaints, quotations,
exemptions and medical facts beside them. The sentences stand in the corpus to tune on (oblique.jsonl).
"""

from __future__ import annotations

import pytest
from compliance_guardrails.detect import bias


@pytest.mark.corpus("oblique.jsonl")
def test_an_oblique_statement_is_told_from_its_look_alike(row: dict) -> None:
    found = {finding.characteristic for finding in bias.screen(row["text"]).findings}
    assert row["kind"] in found if row["label"] else not found


def test_those_people_are_looked_at_with_the_sentence_that_names_them() -> None:
    text = "Les Roumains ont rappelé. Ces gens-là ont la fraude dans le sang."
    assert {finding.characteristic for finding in bias.screen(text).findings} == {"nationality"}
    alone = "Ces gens-là ont la fraude dans le sang."
    assert {finding.characteristic for finding in bias.screen(alone).findings} == {"ethnic_origin"}
