"""The gauges that the pipeline offers to Prometheus, and how they are written: names, labels, text format.

Values come from the aggregates of the newest night. Nothing non-finite is ever written; a figure without N is left
out, so that its series ends instead of lying. Sending is adapters.pushgateway.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import pandas as pd

from compliance_pipelines.core.records import Aggregate, Status

# metric of an aggregate -> name of its gauge
BY_DEPARTMENT: Mapping[str, str] = {
    "judge_neutrality": "judge_neutrality",
    "lexical_neutrality": "lexical_neutrality",
    "ragas_faithfulness": "ragas_faithfulness",
    "citation_compliance": "citation_compliance",
    "figure_grounding": "figure_grounding",
    "human_oversight": "human_oversight_rate",
}
QUEUE_SHOWN = 5
WATCH_JOB, PURGE_JOB = "compliance-watch", "purge"
HELP: Mapping[str, str] = {
    "judge_neutrality": "Mean neutrality of the last completed night, LLM judge, 0 to 1",
    "lexical_neutrality": "Mean neutrality of the last completed night, lexical evaluator, indicative, 0 to 1",
    "ragas_faithfulness": "Mean faithfulness of the last completed night, 0 to 1",
    "citation_compliance": "Share of answers with specific claims whose claims are all cited",
    "figure_grounding": "Mean share of figures found in the documents",
    "human_oversight_rate": "Share of answers that a person rated or reviewed",
    "unscored_rate": "Share of sampled traces that could not be scored",
    "counterfactual_consistency": "Share of counterfactual pairs of an attribute that are fair",
    "review_queue_score": "Neutrality of the newest traces that wait for a person's review",
    "compliance_last_success_timestamp": "Unix time of the last success of a job",
    "compliance_first_night_timestamp": "Unix time of the end of the first night of the installation",
    "compliance_alerts_waiting": "Alerts that their receiver was not told of yet",
    "compliance_alerts_refused": "Alerts that their receiver refuses, set aside",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one gauge."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


def of_night(aggregates: Iterable[Aggregate]) -> list[Sample]:
    """The gauges of one night; those without a value are left out."""
    out = []
    for row in aggregates:
        department = ("department", row.department)
        name = BY_DEPARTMENT.get(row.metric)
        if name is not None and row.mean is not None:
            out.append(Sample(name, (department,), row.mean))
        if row.n_sampled:
            rate = row.n_unscored / row.n_sampled
            out.append(Sample("unscored_rate", (department, ("metric", row.metric)), rate))
    return [sample for sample in out if math.isfinite(sample.value)]


def of_queue(judged: pd.DataFrame, below: float) -> list[Sample]:
    """The newest traces of a night whose neutrality is below `below`: what a dashboard lists, by id and never by text.

    judged: rows of evaluation/neutrality. Five series at most, replaced each night, so that labels stay bounded.
    """
    low = judged[(judged["status"] == Status.SCORED.value) & (judged["value"] < below)]
    newest = low.sort_values(["observed_at", "trace_id"], ascending=False).head(QUEUE_SHOWN)
    return [
        Sample(
            "review_queue_score",
            (
                ("department", str(row.department)),
                ("observed", f"{row.observed_at:%Y-%m-%d %H:%M}"),
                ("trace", str(row.trace_id)),
            ),
            float(str(row.value)),
        )
        for row in newest.itertuples()
    ]


def of_pairs(fair_by_attribute: Mapping[str, tuple[int, int]]) -> list[Sample]:
    """Counterfactual consistency from (fair pairs, decided pairs) by protected attribute."""
    return [
        Sample("counterfactual_consistency", (("protected_attr", attribute),), fair / decided)
        for attribute, (fair, decided) in sorted(fair_by_attribute.items())
        if decided
    ]


def last_success(at: datetime) -> list[Sample]:
    """When a job last succeeded; its `job` label is that of the push."""
    return [Sample("compliance_last_success_timestamp", (), at.timestamp())]


def of_watch(first_night: datetime | None, waiting: int, refused: int, watching: datetime | None) -> list[Sample]:
    """What the alerting says of itself: since when there are nights, what was not delivered, when it last looked.

    watching: None where alerts do not go to Alertmanager: Prometheus' own rules of silence then stay in force.
    """
    looked = [] if watching is None else last_success(watching)
    since = [] if first_night is None else [Sample("compliance_first_night_timestamp", (), first_night.timestamp())]
    return [
        *looked,
        *since,
        Sample("compliance_alerts_waiting", (), float(waiting)),
        Sample("compliance_alerts_refused", (), float(refused)),
    ]


def exposition(samples: Iterable[Sample]) -> str:
    """The samples in Prometheus' text format, grouped by name, in a fixed order."""
    lines: list[str] = []
    last = ""
    for sample in sorted(samples, key=lambda s: (s.name, s.labels)):
        if sample.name != last:
            lines += [f"# HELP {sample.name} {HELP[sample.name]}", f"# TYPE {sample.name} gauge"]
            last = sample.name
        labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels)
        lines.append(f"{sample.name}{{{labels}}} {sample.value!r}" if labels else f"{sample.name} {sample.value!r}")
    return "\n".join(lines) + "\n" if lines else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
