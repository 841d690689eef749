"""What the hook sends beside what the langfuse client was recorded sending: same words, less of a claim.

The hook has a transport of its own (docs/adr/0005): its spans may say nothing that the client's do not say, and must
not say what makes a client's event take over the name of its trace.
"""

from __future__ import annotations

from typing import Any

import pytest
from compliance_guardrails import events
from compliance_guardrails.events import Event, Origin, Score, ScoreName
from compliance_guardrails.langfuse_wire import Report, envelope_of, otlp_of, span_of

from compliance_pipelines_tests.standins import langfuse_recorded as rec

ORIGIN = Origin("direction-sinistres", "d" * 64)
AT = 1_796_031_192_884_191_399
TRACE = "9edf368cf5fa412f829a1d4c0f8e4ed9"
METADATA = "langfuse.observation.metadata."
EVENTS = (
    events.gate_blocked(ORIGIN, 0.21, 0.35),
    events.score_missing(ORIGIN, "absent"),
    events.uncited_claim(ORIGIN, ["money"], 1),
    events.low_confidence(ORIGIN, 1),
    events.protected_attribute(ORIGIN, ["r"], ["sexe"]),
)


def recorded_spans() -> list[dict[str, Any]]:
    return [
        span
        for call in rec.recorded("otlp-hook-events")
        for resource in call["body"]["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def attributes(span: dict[str, Any]) -> set[str]:
    return {attribute["key"] for attribute in span["attributes"]}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_an_event_says_what_the_client_says_and_claims_no_root(event: Event) -> None:
    ours = span_of(Report(TRACE, AT, event), event, "rec-sdk")
    client = set().union(*(attributes(span) for span in recorded_spans()))
    assert "langfuse.internal.as_root" in client
    plain = {key for key in attributes(ours) if not key.startswith(METADATA)}
    assert plain <= client
    assert not {key for key in attributes(ours) if key.startswith("langfuse.internal.")}
    assert {"langfuse.observation.type", "langfuse.observation.level", "langfuse.environment"} == plain
    recorded = recorded_spans()[0]
    assert set(ours) <= set(recorded)
    for name in ("traceId", "spanId", "parentSpanId", "startTimeUnixNano"):
        assert len(ours[name]) == len(recorded[name])
    assert ours["startTimeUnixNano"] == ours["endTimeUnixNano"]


def test_the_scope_is_the_one_whose_metadata_the_server_unpacks() -> None:
    recorded = rec.recorded("otlp-hook-events")[0]["body"]["resourceSpans"][0]["scopeSpans"][0]["scope"]["name"]
    assert otlp_of([])["resourceSpans"][0]["scopeSpans"][0]["scope"]["name"] == recorded


def test_a_score_has_the_fields_of_the_clients() -> None:
    score = Score(ScoreName.CITATION_COMPLIANCE, 1, "direction-sinistres", "d" * 64)
    ours = envelope_of(Report(TRACE, AT, score), score, "rec-sdk")
    recorded = rec.recorded("ingestion-scores")[0]["body"]["batch"][0]
    assert ours.keys() == recorded.keys()
    assert ours["body"].keys() <= recorded["body"].keys()
    assert ours["body"]["dataType"] == "NUMERIC"
    assert ours["type"] == recorded["type"] == "score-create"
