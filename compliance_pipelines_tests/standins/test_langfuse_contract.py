"""The Langfuse stand-in against recordings of a real server, its OpenAPI document and the real client."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from google.protobuf.json_format import ParseDict
from jsonschema import Draft202012Validator
from langfuse import Langfuse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from compliance_pipelines_tests.standins import langfuse_recorded as rec
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
from compliance_pipelines_tests.standins.langfuse_rows import GROUPS

NOW = datetime(2026, 11, 30, 9, 45, tzinfo=UTC)
# what a server adds from its price list and its own clock
SERVER_SIDE = {
    "createdAt", "updatedAt", "projectId", "internalModelId", "modelId", "inputPrice", "outputPrice", "totalPrice",
    "usagePricingTierId", "usagePricingTierName", "inputCost", "outputCost", "totalCost", "costDetails",
    # answers to OTLP without these attributes came from the server's tokenizer
    "usageDetails", "inputUsage", "outputUsage", "totalUsage",
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn("events_only", clock=lambda: NOW) as running:
        yield running


@pytest.fixture
def http(server: LangfuseStandIn) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, auth=(server.public_key, server.secret_key)) as client:
        yield client


@pytest.mark.parametrize(
    "name",
    [
        *(f"v2-observations-p0{number}" for number in (1, 2, 3, 4)),
        *(f"v2-observations-window-p0{number}" for number in (1, 2, 3)),
    ],
)
def test_recorded_pages_come_back_byte_for_byte(server: LangfuseStandIn, http: httpx.Client, name: str) -> None:
    server.add(*rec.observations())
    path, query = rec.request(name)
    answer = http.get(path, params=query)
    assert answer.status_code == 200
    expected = rec.response(name)
    assert answer.json()["meta"] == expected["meta"]
    assert answer.json()["data"] == expected["data"]
    # the server's key order too: people compare dumps
    assert [list(row) for row in answer.json()["data"]] == [list(row) for row in expected["data"]]


@pytest.mark.parametrize("name", ["err-limit", "err-cursor", "err-badfield"])
def test_recorded_refusals_come_back(http: httpx.Client, name: str) -> None:
    path, query = rec.request(name)
    answer = http.get(path, params=query)
    assert answer.status_code == rec.recorded(name)["status"]
    assert answer.json() == rec.response(name)


def test_refusals_recorded_without_their_request(http: httpx.Client) -> None:
    path = "/api/public/v3/scores"
    assert http.get(path, params={"limit": "0"}).json() == rec.recorded("err-limit0")
    assert http.get(path, params={"limit": "abc"}).json() == rec.recorded("err-limit-nan")
    refused = http.get("/api/public/v2/observations", params={"parseIoAsJson": "true"})
    assert refused.status_code == 400
    assert refused.json()["error"][0]["path"] == rec.response("err-parseIo")["error"][0]["path"]


@pytest.mark.parametrize("path", ["/api/public/traces", "/api/public/observations", "/api/public/v2/scores"])
def test_old_reads_are_gone_in_events_only(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert answer.status_code == 404
    assert answer.json() == rec.response("events-only-404")


@pytest.mark.parametrize("mode", ["dual", "v3"])
def test_unknown_trace_answers_as_recorded(mode: str) -> None:
    with LangfuseStandIn(mode) as server:
        answer = httpx.get(f"{server.url}/api/public/traces/nope", auth=(server.public_key, server.secret_key))
    assert answer.status_code == 404
    assert answer.json() == rec.recorded("err-trace-404")


def test_v3_servers_do_not_know_the_new_reads() -> None:
    with LangfuseStandIn("v3") as server:
        auth = (server.public_key, server.secret_key)
        for path in ("/api/public/v2/observations", "/api/public/v3/scores", "/api/public/v2/metrics"):
            assert httpx.get(server.url + path, auth=auth).status_code == 404
        assert httpx.get(f"{server.url}/api/public/traces", auth=auth).status_code == 200


def test_wrong_keys_are_refused(server: LangfuseStandIn) -> None:
    assert httpx.get(f"{server.url}/api/public/projects", auth=("pk", "sk")).status_code == 401
    assert httpx.get(f"{server.url}/api/public/health").json() == {"status": "OK", "version": "4.16.0"}


@pytest.mark.parametrize("name", ["otlp-litellm", "otlp-litellm-errors", "otlp-hook-events"])
def test_recorded_spans_become_the_recorded_rows(server: LangfuseStandIn, http: httpx.Client, name: str) -> None:
    expected = {row["id"]: row for row in rec.observations()}
    for call in rec.recorded(name):
        message = ParseDict(_base64_ids(call["body"]), ExportTraceServiceRequest(), ignore_unknown_fields=True)
        headers = {"Content-Type": "application/x-protobuf"}
        answer = http.post(call["path"], content=message.SerializeToString(), headers=headers)
        assert answer.status_code == 200
    compared = 0
    for row in server.observations:
        if row["id"] not in expected:
            continue
        compared += 1
        wanted = expected[row["id"]]
        assert {k: v for k, v in row.items() if k not in SERVER_SIDE} == {
            k: v for k, v in wanted.items() if k not in SERVER_SIDE
        }
    assert compared >= 2


def test_scores_sent_as_recorded_read_as_recorded(http: httpx.Client) -> None:
    for call in rec.recorded("ingestion-scores"):
        answer = http.post(call["path"], json=call["body"])
        assert answer.status_code == call["status"] == 207
        assert answer.json() == call["response"]
    stored = {
        row["id"]: row
        for row in http.get("/api/public/v3/scores?fields=core,details,subject,annotation").json()["data"]
    }
    server_side = {"createdAt", "updatedAt", "projectId"}
    compared = 0
    for wanted in rec.rows("v3-scores-last"):
        if wanted["id"] in stored:
            compared += 1
            assert list(stored[wanted["id"]]) == list(wanted)
            for key in wanted.keys() - server_side:
                assert stored[wanted["id"]][key] == wanted[key]
    assert compared >= 4


def test_score_pages_have_the_recorded_shape(server: LangfuseStandIn, http: httpx.Client) -> None:
    for number in range(3):
        server.add_score(f"2026-11-30T09:33:1{number}.215Z", id=f"s{number}", name="n", value=0.5, traceId="t")
    page = http.get("/api/public/v3/scores?limit=2").json()
    wanted = rec.response("v3-scores-core")
    assert list(page["data"][0]) == list(wanted["data"][0])
    cursor = rec.request("v3-scores-core")[1]["cursor"]
    assert _opened(page["meta"]["cursor"]).keys() == _opened(cursor).keys()
    last = http.get("/api/public/v3/scores", params={"limit": "2", "cursor": page["meta"]["cursor"]}).json()
    assert [row["id"] for row in page["data"] + last["data"]] == ["s2", "s1", "s0"]
    assert "cursor" not in last["meta"]


def test_metadata_is_cut_only_where_it_was_cut(server: LangfuseStandIn, http: httpx.Client) -> None:
    server.add(*rec.observations())
    path, query = rec.request("v2-observations-cut")
    wanted = {row["id"]: row["metadata"] for row in rec.rows("v2-observations-cut")}
    got = {row["id"]: row["metadata"] for row in http.get(path, params=query).json()["data"]}
    compared = 0
    for row_id in wanted.keys() & got.keys():
        for key, value in wanted[row_id].items():
            cut = isinstance(value, str) and len(value) == 200
            mine = got[row_id][key]
            # the server counts its own text of the value, which may be a little shorter or longer than ours
            if cut and isinstance(mine, str):
                compared += 1
                assert len(mine) == 200
            elif not cut and not isinstance(mine, str):
                assert mine == value
    assert compared > 100
    named = http.get(path, params=query | {"expandMetadata": "requester_metadata"}).json()["data"]
    assert all(not isinstance(row["metadata"].get("requester_metadata"), str) for row in named)


@pytest.mark.parametrize("mode", ["dual", "v3"])
def test_old_rows_have_the_recorded_fields(mode: str) -> None:
    with LangfuseStandIn(mode, clock=lambda: NOW) as server:
        server.add(*rec.observations())
        server.add_score("2026-11-30T09:33:10Z", name="n", value="x", traceId=rec.observations()[0]["traceId"])
        auth = (server.public_key, server.secret_key)
        with httpx.Client(base_url=server.url, auth=auth) as http:
            for name in ("observations-p01", "traces-p01", "v2-scores-p01"):
                path, _ = rec.request(name)
                page = http.get(path, params={"limit": "2"}).json()
                assert list(page["data"][0]) == list(rec.rows(name)[0])
                assert page["meta"].keys() == rec.response(name)["meta"].keys()
            whole = http.get(f"/api/public/traces/{rec.observations()[0]['traceId']}").json()
        assert rec.recorded("trace").keys() - {"totalCost", "latency"} <= whole.keys() | {"projectId"}


def test_answers_follow_the_openapi_document() -> None:
    document = rec.openapi()
    with LangfuseStandIn("dual", clock=lambda: NOW) as server:
        server.add(*rec.observations())
        server.add_score(name="human_feedback", value=1, traceId="t1")
        server.add_score(name="review_outcome", value="confirmed", traceId="t1", observationId="o1")
        config = server.store.add_config({"name": "review_outcome", "dataType": "CATEGORICAL"})
        queue = server.store.add_queue("review-x", [config["id"]])
        item = server.store.add_item(queue["id"], "t1", "TRACE")
        server.store.put_dataset({"name": "golden-x"})
        golden = server.store.put_dataset_item({"datasetName": "golden-x", "input": "q"})
        metrics = {
            "view": "observations",
            "metrics": [{"measure": "count", "aggregation": "count"}],
            "fromTimestamp": "2026-11-30T00:00:00Z",
            "toTimestamp": "2026-12-01T00:00:00Z",
        }
        names = {
            "{queueId}": queue["id"], "{itemId}": item["id"], "{datasetName}": "golden-x", "{id}": golden["id"],
            "{traceId}": rec.observations()[0]["traceId"],
        }  # fmt: skip
        bodies: dict[str, Any] = {
            "/api/public/annotation-queues": {"name": "q", "scoreConfigIds": [config["id"]]},
            "/api/public/annotation-queues/{queueId}/items": {"objectId": "t2", "objectType": "TRACE"},
            "/api/public/annotation-queues/{queueId}/items/{itemId}": {"status": "COMPLETED"},
            "/api/public/score-configs": {"name": "c", "dataType": "NUMERIC"},
            "/api/public/v2/datasets": {"name": "d"},
            "/api/public/dataset-items": {"datasetName": "golden-x", "input": {"q": 1}},
            "/api/public/scores": {"name": "n", "value": 0.5, "traceId": "t1"},
            "/api/public/ingestion": rec.recorded("ingestion-scores")[0]["body"],
        }
        checked = 0
        with httpx.Client(base_url=server.url, auth=(server.public_key, server.secret_key)) as http:
            for template, operations in document["paths"].items():
                path = template
                for name, value in names.items():
                    path = path.replace(name, value)
                for method, operation in operations.items():
                    if template.endswith("otel/v1/traces"):
                        continue
                    query = {"query": json.dumps(metrics)} if template.endswith("metrics") else {}
                    if "fields" in operation["parameters"] and "v2/observations" in template:
                        query["fields"] = ",".join(GROUPS)
                    body = bodies.get(template)
                    if operation["request"]:
                        _validate(body, operation["request"])
                    answer = http.request(method, path, params=query, json=body if operation["request"] else None)
                    assert answer.status_code == operation["status"], (method, template)
                    _validate(answer.json(), operation["response"])
                    checked += 1
    assert checked >= 25


@pytest.mark.parametrize("mode", ["events_only", "dual", "v3"])
def test_the_real_client_writes_and_reads(mode: str) -> None:
    with LangfuseStandIn(mode) as server:
        client = Langfuse(
            public_key=server.public_key, secret_key=server.secret_key, base_url=server.url, environment="essai"
        )
        messages = [{"role": "user", "content": "Où ?"}]
        with client.start_as_current_observation(
            name="chat", as_type="generation", model="m", input=messages, metadata={"a": {"b": 1}}
        ) as generation:
            generation.update(output="Ici.", usage_details={"input": 3, "output": 4})
            client.create_event(name="uncited-specific-claim", level="WARNING", metadata={"department": "x"})
            generation.score(name="citation_compliance", value=1.0)
            trace_id = generation.trace_id
        client.flush()
        server.wait_for(lambda running: len(running.scores) == 1 and len(running.observations) == 2)
        assert client.auth_check()
        row = next(row for row in server.observations if row["type"] == "GENERATION")
        assert (row["traceId"], row["environment"], row["model"]) == (trace_id, "essai", "m")
        assert row["input"] == json.dumps(messages)
        assert row["metadata"]["a"] == {"b": 1}
        if mode == "v3":
            assert client.api.trace.get(trace_id).output == "Ici."
            assert [score.value for score in client.api.trace.get(trace_id).scores] == [1.0]
        else:
            page = client.api.observations.get_many(fields="core,basic,io", limit=1)
            assert page.meta.cursor
            following = client.api.observations.get_many(limit=1, cursor=page.meta.cursor)
            assert {page.data[0].id, following.data[0].id} == {row["id"] for row in server.observations}
            scores = client.api.scores_v3.get_many_v3(fields="subject").data
            assert [score.subject.trace_id for score in scores] == [trace_id]
        client.shutdown()


def _validate(body: Any, schema: dict[str, Any]) -> None:
    text = json.dumps({"schemas": rec.openapi()["schemas"], "use": schema}).replace(
        "#/components/schemas/", "#/schemas/"
    )
    whole = _nullable(json.loads(text))
    checker = Draft202012Validator({"schemas": whole["schemas"], **whole["use"]})
    problems = [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in checker.iter_errors(body)
    ]
    assert not problems, problems[:3]


def _nullable(node: Any) -> Any:
    """OpenAPI 3.0 writes `nullable: true` where JSON Schema says that null is a type."""
    if isinstance(node, list):
        return [_nullable(item) for item in node]
    if not isinstance(node, dict):
        return node
    inner = {key: _nullable(value) for key, value in node.items() if key != "nullable"}
    return {"anyOf": [inner, {"type": "null"}]} if node.get("nullable") is True else inner


def _opened(cursor: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))


def _base64_ids(node: Any) -> Any:
    if isinstance(node, list):
        return [_base64_ids(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: base64.b64encode(bytes.fromhex(value)).decode()
        if key in {"traceId", "spanId", "parentSpanId"}
        else _base64_ids(value)
        for key, value in node.items()
    }
