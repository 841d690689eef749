"""What is read of reviews: every item of every review queue, the newest correction of each exchange, whole."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from compliance_pipelines.adapters import langfuse_reviews
from compliance_pipelines.adapters.langfuse_api_http import LangfuseError, LangfuseHttp, Patience, Server
from compliance_pipelines.adapters.langfuse_write import LangfuseWriter
from compliance_pipelines.core.review_queue import ReviewItem
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn

NOON = datetime(2026, 6, 2, 10, tzinfo=UTC)
WORDS = "La franchise est de 300 €. " * 100


class Clock:
    """A time that the test sets."""

    def __init__(self) -> None:
        self.time = NOON

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture(params=["events_only", "dual", "v3"])
def server(request: pytest.FixtureRequest) -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn(request.param, clock=Clock()) as running:
        yield running


@pytest.fixture
def http(server: LangfuseStandIn) -> Iterator[LangfuseHttp]:
    target = Server(server.url, server.public_key, server.secret_key)
    connection = LangfuseHttp(target, Patience(timeout=2, attempts=2), pause=lambda _: None)
    yield connection
    connection.close()


def at(server: LangfuseStandIn, hour: int) -> None:
    server.clock.time = NOON.replace(hour=hour)  # type: ignore[attr-defined]


def test_items_of_every_review_queue_in_order_of_queueing(server: LangfuseStandIn, http: LangfuseHttp) -> None:
    rh, it, other = (server.store.add_queue(name) for name in ("review-direction-rh", "review-direction-it", "tri"))
    for number in range(120):
        server.store.add_item(rh["id"], f"t{number}", "TRACE")
    server.store.add_item(other["id"], "t0", "TRACE")
    at(server, 11)
    observed = server.store.add_item(it["id"], "o1", "OBSERVATION")
    at(server, 15)
    server.store.complete_item(observed["id"])
    found = langfuse_reviews.review_items(http)
    assert len(found) == 121
    assert {item.department for item in found[:120]} == {"direction-rh"}
    assert found[120] == ReviewItem(
        observed["id"], "direction-it", "o1", "OBSERVATION", NOON.replace(hour=11), NOON.replace(hour=15)
    )
    assert found[0].completed_at is None


def test_an_item_that_was_put_back_is_not_reviewed(server: LangfuseStandIn, http: LangfuseHttp) -> None:
    """A server may keep the time of a completion that was taken back: the status says what holds."""
    queue = server.store.add_queue("review-direction-rh")
    item = server.store.add_item(queue["id"], "t1", "TRACE", "COMPLETED")
    item["status"] = "PENDING"
    (found,) = langfuse_reviews.review_items(http)
    assert item["completedAt"] is not None
    assert found.completed_at is None


def test_no_queue_is_no_item(http: LangfuseHttp) -> None:
    assert langfuse_reviews.review_items(http) == []


def test_an_item_that_cannot_be_read_is_one_french_line(server: LangfuseStandIn, http: LangfuseHttp) -> None:
    queue = server.store.add_queue("review-direction-rh")
    server.store.add_item(queue["id"], "t1", "TRACE")["createdAt"] = "hier"
    with pytest.raises(LangfuseError, match="illisible"):
        langfuse_reviews.review_items(http)


@pytest.mark.parametrize(
    "change", [{"createdAt": "2026-06-02T10:00:00"}, {"createdAt": None}, {"id": None, "status": None}, {"objectId": 0}]
)
def test_items_of_unusual_fields_are_one_french_line_wherever_they_are_read(
    change: dict[str, object], server: LangfuseStandIn, http: LangfuseHttp
) -> None:
    queue = server.store.add_queue("review-direction-rh")
    item = server.store.add_item(queue["id"], "t1", "TRACE")
    item |= change
    for name in [name for name, value in change.items() if value in (None, 0)]:
        del item[name]
    for read in (lambda: langfuse_reviews.review_items(http), lambda: LangfuseWriter(http).queue_items("direction-rh")):
        with pytest.raises(LangfuseError, match="élément de file illisible"):
            read()


def test_a_queue_without_id_is_one_french_line(server: LangfuseStandIn, http: LangfuseHttp) -> None:
    del server.store.add_queue("review-direction-rh")["id"]
    for read in (lambda: langfuse_reviews.review_items(http), lambda: LangfuseWriter(http).enqueue("direction-rh", [])):
        with pytest.raises(LangfuseError, match="élément de file illisible"):
            read()


def test_a_queue_removed_meanwhile_takes_no_other_away(server: LangfuseStandIn, http: LangfuseHttp) -> None:
    gone, kept = (server.store.add_queue(name) for name in ("review-direction-rh", "review-direction-it"))
    server.store.add_item(kept["id"], "t1", "TRACE")
    server.faults.fail(f"{gone['id']}/items", 404)
    assert [item.department for item in langfuse_reviews.review_items(http)] == ["direction-it"]


def test_pages_that_are_announced_and_not_there_have_an_end(server: LangfuseStandIn, http: LangfuseHttp) -> None:
    queue = server.store.add_queue("review-direction-rh")
    server.store.add_item(queue["id"], "t1", "TRACE")
    answer = server.api.answer

    def announced(method: str, path: str, *rest: Any) -> tuple[int, Any]:
        status, body = answer(method, path, *rest)
        if path.endswith("/items"):
            body["meta"]["totalPages"] = 1_000_000_000
            body["meta"]["totalItems"] = 10**11
        return status, body

    server.api.answer = announced  # type: ignore[method-assign]
    with pytest.raises(LangfuseError, match="liste mouvante"):
        langfuse_reviews.review_items(http)
    assert len(server.requests) < 20


def correction(server: LangfuseStandIn, text: str, **more: object) -> None:
    server.add_score(name="correction", value=text, dataType="TEXT", **more)


def test_the_newest_correction_of_each_exchange_is_read_whole(server: LangfuseStandIn, http: LangfuseHttp) -> None:
    correction(server, "ancienne", traceId="t1")
    at(server, 12)
    correction(server, WORDS, traceId="t1")
    correction(server, "autre appel", traceId="t1", observationId="o2")
    server.add_score(name="review_outcome", value="overridden", traceId="t2", comment="Voir l’avenant 4.")
    server.add_score(name="review_outcome", value="confirmed", traceId="t3", comment="Rien à redire.")
    server.add_score(name="review_outcome", value="overridden", traceId="t4")
    server.add_score(name="human_feedback", value=-1, traceId="t5", comment="Faux.")
    correction(server, "   ", traceId="t6")
    at(server, 13)
    server.add_score(name="review_outcome", value="overridden", traceId="t1", comment="voir la correction")
    correction(server, "d’un autre", traceId="t7")
    assert langfuse_reviews.corrections(http, ["t1", "t1/o2", "t2", "t3", "t4", "t5", "t6"]) == {
        "t1": WORDS,
        "t1/o2": "autre appel",
        "t2": "Voir l’avenant 4.",
    }


def test_many_traces_are_asked_for_in_pages(server: LangfuseStandIn, http: LangfuseHttp) -> None:
    for number in range(130):
        for _ in range(3):
            correction(server, f"c{number}", traceId=f"t{number}")
    found = langfuse_reviews.corrections(http, [f"t{number}" for number in range(130)])
    assert found == {f"t{number}": f"c{number}" for number in range(130)}
    assert langfuse_reviews.corrections(http, []) == {}
