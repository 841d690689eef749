"""The monthly report: a million traces to figures and PDF, and the verification of seven years of archive.

Limits: 20 s from judgements to the PDF of a month of 1,000,000 traces, 30 s to verify 84 months. Beside the figures,
what one would use instead: pandas' own group-by of means, which gives no interval, no verdict and no masking.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
from compliance_guardrails.policy import load_policy

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.pdf import render
from compliance_pipelines.core import departments
from compliance_pipelines.core.periods import Month
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.verify import verify_all

TRACES = 1_000_000
MONTHS = 84
T = TypeVar("T")
ROOT = Path(__file__).parent.parent
METRICS = ("lexical_neutrality", "citation_compliance", "citation_marker", "figure_grounding", "human_oversight")


def judgements(ids: np.ndarray, owners: np.ndarray, metric: str, rng: np.random.Generator) -> pd.DataFrame:
    """One judgement a trace: seven in ten scored, one in fifty unscored, the rest without anything to judge."""
    draw = rng.random(len(ids))
    status = np.where(draw < 0.7, "scored", np.where(draw < 0.72, "unscored", "not_applicable"))
    values = (
        rng.beta(8, 2, len(ids))
        if metric in ("lexical_neutrality", "figure_grounding")
        else rng.random(len(ids)) < 0.85
    )
    return pd.DataFrame(
        {
            "trace_id": ids,
            "department": owners,
            "metric": metric,
            "value": np.where(status == "scored", values.astype(float), np.nan),
            "status": status,
            "evaluator": f"{metric}/1",
            "weight": np.where(rng.random(len(ids)) < 0.03, 2.0, 1.0),
        }
    )


def month_of_traces(rng: np.random.Generator) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """A month of traces in five departments' shares, four traces a conversation, and its judgements."""
    names = [department.id for department in load_policy().departments]
    owners = rng.choice(np.array(names, dtype=object), TRACES)
    ids = np.array([f"{number:032x}" for number in range(TRACES)], dtype=object)
    start = datetime(2026, 6, 1, tzinfo=UTC)
    seconds = rng.integers(0, int(timedelta(days=29).total_seconds()), TRACES)
    times = pd.Timestamp(start) + pd.to_timedelta(seconds, unit="s")
    sessions = np.array([f"s{number // 4}" for number in range(TRACES)], dtype=object)
    traces = pd.DataFrame(
        {"trace_id": ids, "department": owners, "session_hash": sessions, "created_at": times, "observed_at": times}
    )
    return traces, [judgements(ids, owners, metric, rng) for metric in METRICS]


def timed(what: Callable[[], T]) -> tuple[T, float]:
    """The result and its seconds of processor, which do not depend on who else uses the machine."""
    started = time.process_time()
    found = what()
    return found, time.process_time() - started


def main() -> None:
    """Print the figures."""
    sys.path.insert(0, str(ROOT))
    from compliance_pipelines_tests import report_samples
    from compliance_pipelines_tests.adapters.test_verify_report import archived
    from compliance_pipelines_tests.evidence_samples import TOOLS

    month, policy = Month.parse("2026-06"), load_policy()
    traces, parts = month_of_traces(np.random.default_rng(20260630))
    window = (month.start, month.end)
    rows, counted = timed(lambda: departments.aggregate(traces, parts, policy, window))
    inputs = report_samples.lexical_inputs(aggregates=tuple(rows), policy_digest=policy.digest)
    report, built = timed(lambda: build_report(inputs))
    pdf, drawn = timed(lambda: render(report, attachments(report)))
    _, plain = timed(lambda: pd.concat(parts).groupby(["department", "metric"])["value"].agg(["mean", "count", "min"]))
    total = counted + built + drawn
    print(
        f"{TRACES:,} traces, {len(parts) * TRACES:,} judgements: figures {counted:.1f} s, report {built:.2f} s, ",
        end="",
    )
    print(f"PDF {drawn:.1f} s ({len(pdf) / 1e6:.2f} MB); together {total:.1f} s (limit 20 s: {total <= 20})")
    print(f"pandas group-by of mean, count, min alone: {plain:.1f} s (no interval, no verdict, no masking)")
    with tempfile.TemporaryDirectory() as folder:
        archive = DirectoryArchive(Path(folder))
        for number in range(MONTHS):
            name = f"{2026 + number // 12}-{number % 12 + 1:02d}"
            archived(archive, replace(report_samples.inputs(), month=name))
        results, seconds = timed(lambda: verify_all(archive, TOOLS))
        valid = sum(result.exit_code == 0 for result in results) - 1
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        digests, hashed = timed(lambda: [path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()])
    print(
        f"{MONTHS} months verified in {seconds:.1f} s (limit 30 s: {seconds <= 30}), {valid} valid, {size / 1e6:.1f} MB"
    )
    print(f"reading their {len(digests)} files alone: {hashed:.2f} s (sees no figure, link, signature or retention)")


if __name__ == "__main__":
    main()
