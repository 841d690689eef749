"""Alert rules for 15 departments: evaluations a second of the state machine, with and without the outbox file.

An evaluation is one rule seen once for one department. A week of quarter hours is played with departments that go
below their threshold and recover, so that alerts are raised and resolved while the time is taken. Target: 10,000 ≤ 1 s.
"""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from compliance_guardrails.policy import Policy, load_policy
from compliance_guardrails.policy.types import AlertName

from compliance_pipelines.adapters.outbox import Outbox
from compliance_pipelines.core.alerting import Book, Key, Level, Observation
from compliance_pipelines.core.alerting_text import notes

DEPARTMENTS, EVALUATIONS = 15, 10_000
START = datetime(2026, 6, 1, tzinfo=UTC)


def observations() -> list[list[Observation]]:
    """Ticks of a quarter of an hour, every rule for every department, 10,000 evaluations in all."""
    policy = load_policy()
    known = [d.id for d in policy.departments]
    ticks, made = [], 0
    for k in range(EVALUATIONS // (DEPARTMENTS * len(AlertName)) + 1):
        tick = []
        for d in range(DEPARTMENTS):
            for r, name in enumerate(AlertName):
                if made == EVALUATIONS:
                    break
                made += 1
                bad = (k + d + r) % 12 < 5
                tick.append(
                    Observation(
                        Key(name.value, f"direction-{d:02d}", "journée"),
                        START + k * timedelta(minutes=15),
                        Level.BREACH if bad else Level.CLEAR,
                        sustain=timedelta(minutes=30),
                        annotations=_words(policy, name, known[d % len(known)]) if bad else {},
                    )
                )
        ticks.append(tick)
    return ticks


def _words(policy: Policy, name: AlertName, department: str) -> dict[str, str]:
    rule = policy.alerts.rule(name)
    figure, limit = (None, None) if rule.comparison == "event" else (0.61, 0.7)
    return notes(rule, policy, department, "Fenêtre", figure, limit, 40, "")


def main() -> None:
    """Print the figures."""
    began = time.process_time()
    ticks = observations()
    made = time.process_time() - began
    began, book = time.process_time(), Book()
    for tick in ticks:
        book.apply(tick, tick[0].at)
    pure = time.process_time() - began
    with tempfile.TemporaryDirectory() as folder:
        outbox, began = Outbox(Path(folder)), time.process_time()
        for tick in ticks:
            outbox.observe(tick, tick[0].at)
        kept = time.process_time() - began
        episodes = len(outbox.episodes())
    print("CPU seconds of this process; the machine may be busy with others")
    print(f"{EVALUATIONS} evaluations, {DEPARTMENTS} departments, {len(AlertName)} rules, {episodes} alerts raised")
    print(
        f"observations with their words {made:.3f} s, state machine {pure:.3f} s, sum {made + pure:.3f} s (target 1 s)"
    )
    print(f"the same through the outbox file, {len(ticks)} transactions: {kept:.3f} s")


if __name__ == "__main__":
    main()
