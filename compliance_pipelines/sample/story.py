"""From a plan to everything that one trace leaves behind: observations, scores and the truth beside them.

The hook's events and scores are those that its rules call for, taken from the marked truth and not from a
detector, so that a detector can be measured against them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from compliance_pipelines.sample import rows
from compliance_pipelines.sample.month import iso
from compliance_pipelines.sample.plan import FLOOR, Outcome, Plan
from compliance_pipelines.sample.profiles import Channel
from compliance_pipelines.sample.situations import AnswerKind, QuestionKind
from compliance_pipelines.sample.stamps import POLICY_DIGEST, Row, user
from compliance_pipelines.sample.texts import has_marker

_SUSPECT = {AnswerKind.SYCOPHANTIC, AnswerKind.UNGROUNDED, AnswerKind.PROTECTED_BIASED}
_COMMENTS = (None, None, None, "Réponse inexacte", "Chiffre introuvable dans le document", "Trop affirmatif")


@dataclass(frozen=True, slots=True)
class Told:
    """What one trace leaves behind; its call is the first observation."""

    observations: list[Row]
    scores: list[Row]
    truth: Row


def tell(plan: Plan) -> Told:
    """Write down one trace."""
    rng = plan.rng
    seconds = rng.uniform(0.02, 0.08) if plan.outcome is Outcome.GATE_REFUSED else rng.uniform(0.6, 9.0)
    end = plan.observed + timedelta(milliseconds=int(seconds * 1000))
    observations = [*rows.generations(plan, end), *_before(plan), *_after(plan, end)]
    if plan.channel is Channel.RETRIEVER:
        found = plan.observed - timedelta(milliseconds=rng.randrange(40, 200))
        observations.append(rows.retriever(plan, found, plan.observed))
    call = observations[0]
    scores = [*_hook_scores(plan, end), *_feedback(plan, call, end), *_review(plan, end)]
    return Told(observations, scores, _truth(plan, call))


def _department(plan: Plan) -> str:
    return plan.profile.id if plan.hook_knows else "non-attribue"


def _before(plan: Plan) -> list[Row]:
    """Pre-call events: the gate, and questions that reason from a protected attribute."""
    at = plan.observed + timedelta(milliseconds=8)
    who: Row = {"department": _department(plan)}
    events: list[Row] = []
    if plan.outcome is Outcome.GATE_REFUSED:
        gate: Row = {"similarity": plan.retrieval_score, "floor": FLOOR, "policy_digest": POLICY_DIGEST}
        events.append(rows.event(plan, "retrieval_gate_blocked", at, "DEFAULT", who | gate))
    elif plan.retrieval_score is None:
        events.append(rows.event(plan, "retrieval_score_missing", at, "WARNING", who | {"reason": "missing"}))
    if plan.question_kind is QuestionKind.PROTECTED and plan.situation.protected:
        attribute = plan.situation.protected.attribute
        seen: Row = {"rules": [f"sample-{attribute}"], "grounds": [attribute]}
        events.append(rows.event(plan, "protected-attr-comparison-detected", at, "WARNING", who | seen))
    return events


def _after(plan: Plan, end: datetime) -> list[Row]:
    """Post-call events, in departments that the hook could tell."""
    who: Row = {"department": _department(plan)}
    events: list[Row] = []
    loose = Counter(figure.kind.value for figure in plan.said.figures if not figure.cited)
    if plan.screened and loose:
        found: Row = {"kinds": sorted(loose), "count": loose.total(), "policy_digest": POLICY_DIGEST}
        events.append(rows.event(plan, "uncited-specific-claim", end, "WARNING", who | found))
    if plan.screened and plan.said.low_confidence:
        events.append(rows.event(plan, "low_self_confidence", end, "WARNING", who | {"confidence": 1}))
    if plan.screened and plan.said.kind is AnswerKind.PROTECTED_BIASED and plan.situation.protected:
        screen: Row = {
            "domain": "insurance",
            "characteristics": [plan.situation.protected.bias_characteristic],
            "total": "0.6",
            "threshold": "0.3",
            "action": "warn",
        }
        events.append(rows.event(plan, "bias-screen-finding", end, "WARNING", who | screen))
    return events


def _hook_scores(plan: Plan, end: datetime) -> list[Row]:
    """`citation_compliance` (every figure cited) and the looser `citation_marker`; none without a figure."""
    figures = plan.said.figures
    if not plan.screened or not figures:
        return []
    every = all(figure.cited for figure in figures)
    some = every or has_marker(plan.said.text or "", figures)
    metadata = {"policy_digest": POLICY_DIGEST}
    return [
        rows.score(plan, "citation_compliance", int(every), end, metadata=metadata),
        rows.score(plan, "citation_marker", int(some), end, metadata=metadata),
    ]


def _feedback(plan: Plan, call: Row, end: datetime) -> list[Row]:
    """A thumb from the chat window, on the trace or on the observation, up to three days later."""
    rng = plan.rng
    if plan.outcome is not Outcome.ANSWERED or rng.random() >= plan.profile.feedback:
        return []
    liked = rng.random() < (0.45 if plan.said.kind in _SUSPECT else 0.86)
    at = end + timedelta(seconds=rng.choice((20, 90, 600, 7_200, 100_000, 250_000)) * rng.uniform(0.5, 1))
    fields: Row = {
        "metadata": {"user": user(plan), "source": "open-webui"},
        "comment": None if liked else rng.choice(_COMMENTS),
    }
    if rng.random() < 0.3:
        fields["subject"] = {"kind": "observation", "id": call["id"], "traceId": plan.trace_id}
    return [rows.score(plan, "human_feedback", 1 if liked else -1, at, **fields)]


def _review(plan: Plan, end: datetime) -> list[Row]:
    """The verdict of a person on a queued trace, for some with the corrected answer."""
    rng = plan.rng
    protected = plan.question_kind is QuestionKind.PROTECTED
    queued = plan.profile.high_risk and (protected or plan.said.kind in _SUSPECT)
    if not queued or plan.outcome is not Outcome.ANSWERED or rng.random() >= 0.55:
        return []
    overridden = plan.said.correction is not None and rng.random() < 0.7
    at = end + timedelta(hours=rng.uniform(1, 150))
    by: Row = {
        "source": "ANNOTATION",
        "authorUserId": f"relecteur-{rng.randrange(6) + 1}",
        "queueId": f"review-{plan.profile.id}",
    }
    verdict = rows.score(plan, "review_outcome", "overridden" if overridden else "confirmed", at, **by)
    if not overridden or plan.said.correction is None or rng.random() >= 0.6:
        return [verdict]
    return [verdict, rows.score(plan, "correction", plan.said.correction, at, dataType="TEXT", **by)]


def _truth(plan: Plan, call: Row) -> Row:
    """What is really so. Offsets count in the stored answer."""
    said = plan.said
    return {
        "trace_id": plan.trace_id, "situation": plan.situation.id, "observed_at": iso(plan.observed),
        "created_at": call["createdAt"], "department": plan.department, "habits_of": plan.profile.id,
        "named_by": plan.naming.value, "outcome": plan.outcome.value,
        "question_kind": plan.question_kind.value,
        "question": plan.question, "premise": plan.situation.premise
        if plan.question_kind is QuestionKind.LEADING else None,
        "channel": plan.channel.value, "documents": len(plan.contexts), "answer_kind": said.kind.value,
        "band": said.band and said.band.value, "retrieval_score": plan.retrieval_score,
        "streamed": plan.stream, "low_confidence": said.low_confidence, "injection": said.injection,
        "protected": plan.situation.protected.attribute
        if plan.question_kind is QuestionKind.PROTECTED and plan.situation.protected else None,
        "figures": [
            {"kind": f.kind.value, "text": f.text, "start": f.start, "end": f.end,
             "in_documents": f.in_documents, "cited": f.cited}
            for f in said.figures
        ],
    }  # fmt: skip
