"""Every reason that a row can be stored with has its French words in the report; none that cannot occur is listed."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from compliance_pipelines.adapters import judge, judge_client, ragas_eval
from compliance_pipelines.core import judge_reply, judge_samples, ragas_samples
from compliance_pipelines.core.judge_night import ANCHORS_FAILED
from compliance_pipelines.core.reasons_fr import REASONS_FR

CODE = re.compile(r"[a-z]+(_[a-z]+)*")
# codes of "not applicable", which is no fault of a judge, and names that are no codes
OTHERS = {"no_answer", "no_question", "no_context", judge_samples.METRIC}


def codes(module: ModuleType) -> set[str]:
    """Upper-case constants of a module that look like a code."""
    named = {value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)}
    return {value for value in named if CODE.fullmatch(value)} - OTHERS


@pytest.mark.parametrize("module", [judge_reply, judge_client, ragas_samples, ragas_eval, judge_samples, judge])
def test_no_reason_is_printed_as_a_code(module: ModuleType) -> None:
    assert codes(module)
    assert codes(module) - set(REASONS_FR) == set()


def test_every_french_reason_has_a_code_that_occurs() -> None:
    modules = (judge_reply, judge_client, ragas_samples, ragas_eval, judge_samples, judge)
    occurring = set().union(*(codes(module) for module in modules), judge.BATCH_REASONS, {ANCHORS_FAILED, "no_reading"})
    assert occurring == set(REASONS_FR)
    assert len(set(REASONS_FR.values())) == len(REASONS_FR)
