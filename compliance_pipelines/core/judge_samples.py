"""What a judge is shown and who the judge is: samples with their content hash, identities with their fingerprint.

A judgement is addressed by content: fingerprint of the evaluator × hash of the sample. The trace id, its department and
its date are no part of it, so a backfill, a retry and a duplicate cost no second call. No text leaves a sample but
towards the judge.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from compliance_pipelines.core.judging import NO_ANSWER, NO_CONTEXT, NO_QUESTION
from compliance_pipelines.core.records import Trace

METRIC = "judge_neutrality"
MAX_CHARS = 60_000
TOO_LONG = "too_long"


@dataclass(frozen=True, slots=True)
class Sample:
    """One exchange as a judge sees it. `contexts` may be empty for a task that shows none."""

    question: str
    answer: str
    contexts: tuple[str, ...]

    @property
    def key(self) -> str:
        """sha256 over the parts, unambiguous about where each ends."""
        text = json.dumps([self.question, self.answer, list(self.contexts)], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def chars(self) -> int:
        """Characters shown to the judge."""
        return len(self.question) + len(self.answer) + sum(map(len, self.contexts))


@dataclass(frozen=True, slots=True)
class Ineligible:
    """A trace that cannot be judged, and why. `unscored` tells a sample that is too long from one that lacks a part."""

    reason: str
    unscored: bool = False


def sample_of(trace: Trace) -> Sample | Ineligible:
    """The sample of a trace. Judging a clipped document would invent a score, so too long is unscored."""
    if not trace.answer:
        return Ineligible(NO_ANSWER)
    if not trace.question:
        return Ineligible(NO_QUESTION)
    if not any(context.strip() for context in trace.contexts):
        return Ineligible(NO_CONTEXT)
    sample = Sample(trace.question, trace.answer, trace.contexts)
    return Ineligible(TOO_LONG, unscored=True) if sample.chars > MAX_CHARS else sample


@dataclass(frozen=True, slots=True)
class Identity:
    """Who judges: model, its digest where the server tells one, sha256 of prompt and anchors, request parameters."""

    model: str
    digest: str | None
    prompt_sha256: str
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Short, stable, without a secret: what is stored beside each judgement."""
        shown = json.dumps(dict(self.parameters), sort_keys=True)
        whole = hashlib.sha256(f"{self.model}\n{self.digest}\n{self.prompt_sha256}\n{shown}".encode()).hexdigest()
        return f"judge/{self.model}/{(self.digest or 'sans-empreinte')[:19]}/{whole[:12]}"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply said: a finite value in [0, 1] (or a label of a closed set), else a reason code."""

    value: float | None = None
    label: str | None = None
    reason: str | None = None


class JudgementCache(Protocol):
    """Where judgements are kept by content; `adapters.cache` implements it. Holds numbers and codes, never text."""

    def good(self, evaluator: str, keys: list[str]) -> dict[str, Reading]:
        """Readings of batches whose anchors passed."""
        ...

    def resume(self, evaluator: str, label: str) -> tuple[dict[str, Reading], dict[str, Reading]]:
        """(pending readings by key, anchor readings by anchor name) of the open batch called `label`, or empty."""
        ...

    def put(self, evaluator: str, label: str, key: str, reading: Reading) -> None:
        """Keep one paid reply in the open batch, durable when this returns."""
        ...

    def put_anchor(self, evaluator: str, label: str, name: str, reading: Reading) -> None:
        """Keep one anchor's reply in the open batch."""
        ...

    def close(self, evaluator: str, label: str, *, good: bool) -> None:
        """End the batch: its readings are served from now on, or (bad) forgotten."""
        ...
