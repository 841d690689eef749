"""Synthetic rows for tests that read a stand-in: exchanges spread evenly over Paris days, with events and scores."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from pathlib import Path

from compliance_pipelines.adapters.langfuse_api import ApiReader
from compliance_pipelines.adapters.langfuse_api_http import Patience, Server
from compliance_pipelines.core.extraction import ReadReport
from compliance_pipelines.core.periods import day_start
from compliance_pipelines.core.records import Trace
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.langfuse_rows import instant, observation
from compliance_pipelines_tests.standins.langfuse_store import Row

DAY = date(2026, 6, 2)
QUICK = Patience(timeout=5, attempts=4, first_pause=0.01, longest_pause=0.02)


def at(day: date, share: float) -> datetime:
    """The instant that lies `share` (0..1) into a Paris day."""
    start = day_start(day)
    return start + share * (day_start(day + timedelta(days=1)) - start)


def exchange(number: int, started: datetime, *, department: str = "direction-it") -> list[Row]:
    """A generation and, for every other number, a guardrail event of the same trace."""
    trace_id = f"{number:032x}"
    messages = [{"role": "user", "content": f"question {number} é"}]
    generation = observation(
        id=f"{number:015x}a",
        traceId=trace_id,
        startTime=instant(started),
        createdAt=instant(started + timedelta(seconds=3)),
        type="GENERATION",
        name="litellm:alias",
        model="openai/m",
        input=json.dumps({"messages": messages}),
        output=json.dumps({"role": "assistant", "content": f"réponse {number}"}),
        metadata={
            "litellm_call_id": trace_id,
            "compliance_department": department,
            "requester_metadata": {"retrieval_score": 0.5, "note": "x" * 300},
        },
        sessionId=f"session-{number % 7}",
        tags=["department:direction-rh"],
    )
    if number % 2:
        return [generation]
    event = observation(
        id=f"{number:015x}b",
        traceId=trace_id,
        startTime=instant(started + timedelta(milliseconds=5)),
        createdAt=instant(started + timedelta(seconds=2)),
        type="EVENT",
        name="protected-attr-comparison-detected",
        level="WARNING",
        parentObservationId=generation["id"],
    )
    return [generation, event]


def fill(server: LangfuseStandIn, count: int, *, day: date = DAY, days: int = 1, scores: int = 0) -> list[Row]:
    """Put `count` exchanges over `days` days, and `scores` human ratings of the first of them; returns the rows."""
    span = day_start(day + timedelta(days=days)) - day_start(day)
    moments = [day_start(day) + span * (number / count) for number in range(count)]
    rows = [row for number, moment in enumerate(moments) for row in exchange(number, moment)]
    server.store.put_observations(rows)
    for number in range(scores):
        server.add_score(
            instant(moments[number]), id=f"s{number}", name="human_feedback", value=1, traceId=f"{number:032x}"
        )
    return rows


def reader_of(server: LangfuseStandIn, state: Path, *, at_once: int = 4, **more: object) -> ApiReader:
    """A reader of the stand-in that takes the department stamp and loses no time waiting."""
    options: dict[str, object] = {"patience": QUICK, "pause": lambda _: None} | more
    return ApiReader(
        Server(server.url, server.public_key, server.secret_key),
        state,
        lambda stamp, *_: (stamp or "non-attribue", "stamp" if stamp else "none"),
        b"key",
        windows_at_once=at_once,
        **options,  # type: ignore[arg-type]
    )


def traces(reader: ApiReader, first: date = DAY, last: date = DAY) -> tuple[list[Trace], dict[str, int]]:
    """What `reader`, which is closed then, gives of some days, in order of time, and its counts."""
    report = ReadReport()
    with reader:
        found = [trace for chunk in reader.trace_chunks(first, last, report) for trace in chunk]
    return sorted(found, key=lambda t: (t.observed_at, t.trace_id)), report.totals(first, last)


def numbers(found: list[Trace]) -> list[int]:
    """The numbers that `exchange` gave."""
    return [int(trace.trace_id, 16) for trace in found]
