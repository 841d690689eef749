"""From a day's traces and scores to judgements: one a trace and metric, with status and reason.

Unscored is not zero: a trace that a metric cannot judge says why. Layers and sampling are policy.
The metrics here need no model: lexical neutrality, citations, figure grounding, human oversight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compliance_guardrails.detect import citations as citation_rules
from compliance_guardrails.detect import figures
from compliance_guardrails.detect.in_use import Detectors

from compliance_pipelines.core import neutrality
from compliance_pipelines.core.judge_sampling import Strata, chosen
from compliance_pipelines.core.records import Judgement, Score, Status, Trace

NO_ANSWER = "no_answer"
NO_QUESTION = "no_question"
NO_CONTEXT = "no_context"
NO_CLAIM = "no_claim"
NO_FIGURE = "no_figure"
LAYER_OFF = "layer_off"

FEEDBACK_SCORES = frozenset({"human_feedback", "review_outcome"})


@dataclass(frozen=True, slots=True)
class Judged:
    """What a scorer returns for one trace: a value, or a status and its reason."""

    value: float | None
    status: Status
    reason: str | None = None


Scorer = Callable[[Trace], Judged]


def scored(value: float) -> Judged:
    """A scored judgement; the value must be finite and in [0, 1]."""
    if not 0 <= value <= 1:
        raise ValueError(f"a score must lie in [0, 1], got {value!r}")
    return Judged(value, Status.SCORED)


def not_applicable(reason: str) -> Judged:
    """The metric has nothing to judge on this trace."""
    return Judged(None, Status.NOT_APPLICABLE, reason)


def judge(
    traces: Sequence[Trace], metric: str, evaluator: str, scorer: Scorer, flagged_weight: float, strata: Strata | None
) -> list[Judgement]:
    """Apply `scorer` to each trace and keep those drawn by `strata` among what it can judge; None keeps all.

    Flagged traces carry `flagged_weight` in the weighted mean. The draw is the one of the paid judge, so that both
    evaluators look at the same traces.
    """
    found = [(trace, scorer(trace)) for trace in traces]
    eligible = [trace for trace, judged in found if judged.status is Status.SCORED]
    taken = None if strata is None else chosen(eligible, strata)
    out = []
    for trace, own in found:
        drawn = taken is None or own.status is not Status.SCORED or trace.trace_id in taken
        judged = own if drawn else Judged(None, Status.NOT_SAMPLED, "sampling")
        out.append(
            Judgement(
                trace_id=trace.trace_id,
                department=trace.department,
                observed_at=trace.observed_at,
                metric=metric,
                value=judged.value,
                status=judged.status,
                reason=judged.reason,
                evaluator=evaluator,
                weight=flagged_weight if trace.flagged else 1.0,
            )
        )
    return out


def lexical_scorer(rules: neutrality.LexicalRules) -> Scorer:
    """Lexical neutrality of answers that have a question and documents."""

    def score(trace: Trace) -> Judged:
        if not trace.answer:
            return not_applicable(NO_ANSWER)
        if not trace.question:
            return not_applicable(NO_QUESTION)
        if not trace.contexts:
            return not_applicable(NO_CONTEXT)
        return scored(neutrality.evaluate(trace.question, trace.answer, trace.contexts, rules).score)

    return score


def citation_scorer(layer_on: Callable[[str], bool], using: Detectors, *, marker: bool) -> Scorer:
    """Citation compliance (or, with `marker`, the looser rule) of answers that make a specific claim."""

    def score(trace: Trace) -> Judged:
        if not layer_on(trace.department):
            return not_applicable(LAYER_OFF)
        if not trace.answer:
            return not_applicable(NO_ANSWER)
        check = citation_rules.check(trace.answer, using)
        value = check.marker if marker else check.compliance
        return not_applicable(NO_CLAIM) if value is None else scored(float(value))

    return score


def grounding_scorer(using: Detectors) -> Scorer:
    """Share of an answer's figures that its documents or its question hold, compared by value."""

    def score(trace: Trace) -> Judged:
        if not trace.answer:
            return not_applicable(NO_ANSWER)
        if not trace.contexts:
            return not_applicable(NO_CONTEXT)
        grounding = figures.ground(trace.answer, [*trace.contexts, trace.question or ""], using.scanner)
        return not_applicable(NO_FIGURE) if not grounding.total else scored(grounding.found / grounding.total)

    return score


def oversight_scorer(scores: Sequence[Score]) -> Scorer:
    """1 when a person gave feedback on or reviewed the trace, else 0; only answers count."""
    seen = {s.trace_id for s in scores if s.name in FEEDBACK_SCORES}

    def score(trace: Trace) -> Judged:
        if not trace.answer:
            return not_applicable(NO_ANSWER)
        return scored(float(trace.trace_id.partition("/")[0] in seen))

    return score
