"""Patience with a Langfuse server, and what its failures say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from compliance_pipelines.adapters.langfuse_api_http import (
    LangfuseError,
    LangfuseHttp,
    NotThereError,
    Patience,
    RefusedError,
    Server,
    StoppedError,
    TooWideError,
)
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn

NOW = datetime(2026, 6, 10, 12, tzinfo=UTC)
PATH = "/api/public/projects"
PATIENCE = Patience(timeout=2, attempts=4, waiting=100, first_pause=0.5, longest_pause=8)


class Client:
    """A client whose pauses are noted instead of waited."""

    def __init__(self, server: LangfuseStandIn, patience: Patience = PATIENCE) -> None:
        self.pauses: list[float] = []
        target = Server(server.url, server.public_key, server.secret_key)
        self.http = LangfuseHttp(target, patience, pause=self.pauses.append)

    def get(self, path: str = PATH) -> object:
        return self.http.get(path, {}, msgspec.json.decode).value


@pytest.fixture
def server() -> Iterator[LangfuseStandIn]:
    with LangfuseStandIn(clock=lambda: NOW) as running:
        yield running


@pytest.fixture
def client(server: LangfuseStandIn) -> Iterator[Client]:
    made = Client(server)
    yield made
    made.http.close()


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        (7, 7),
        ("0", 0),
        (NOW + timedelta(seconds=42), 42),
        (NOW - timedelta(seconds=5), 0),
    ],
    ids=["seconds", "zero", "date", "date in the past"],
)
def test_retry_after_is_honoured_in_both_forms(
    server: LangfuseStandIn, client: Client, retry_after: int | str | datetime, seconds: float
) -> None:
    server.faults.fail(PATH, 429, retry_after=retry_after)
    assert client.get()
    assert client.pauses == [seconds]
    assert client.http.traffic.retries == 1


@pytest.mark.parametrize("text", ["demain", "-3", "1e3", "99999999999", "Wed, 99 Foo 2026 00:00:00 GMT", ""])
def test_a_retry_after_that_cannot_be_read_is_a_usual_pause(server: LangfuseStandIn, client: Client, text: str) -> None:
    server.faults.fail(PATH, 429, retry_after=text)
    assert client.get()
    assert len(client.pauses) == 1
    assert 0 < client.pauses[0] < 1


def test_being_asked_to_wait_is_no_failure(server: LangfuseStandIn, client: Client) -> None:
    server.faults.fail(PATH, 429, retry_after=2, times=20)
    assert client.get()
    assert client.pauses == [2] * 20


def test_patience_ends(server: LangfuseStandIn, client: Client) -> None:
    server.faults.fail(PATH, 429, retry_after=60, times=99)
    with pytest.raises(LangfuseError, match="HTTP 429"):
        client.get()
    assert client.pauses == [60]
    server.faults.fail("health", 429, retry_after=86400, times=99)
    with pytest.raises(LangfuseError):
        client.get("/api/public/health")
    assert client.pauses == [60]


@pytest.mark.parametrize("retry_after", [0, NOW - timedelta(hours=1), None], ids=["zero", "past", "none"])
def test_being_told_to_come_back_at_once_for_ever_has_an_end(
    server: LangfuseStandIn, client: Client, retry_after: int | datetime | None
) -> None:
    server.faults.fail(PATH, 429, retry_after=retry_after, times=10**6)
    with pytest.raises(LangfuseError, match="HTTP 429"):
        client.get()
    # ever later, up to the longest pause, until patience is used up
    assert 10 < len(client.pauses) < 40
    assert sorted(client.pauses[:5]) == client.pauses[:5]
    assert sum(client.pauses) <= PATIENCE.waiting


def test_a_wait_beyond_patience_is_said_and_not_counted_as_waited(server: LangfuseStandIn, client: Client) -> None:
    server.faults.fail(PATH, 429, retry_after=3600, times=99)
    with pytest.raises(LangfuseError, match=r"0 s d’attente ; le serveur demande encore 3600 s"):
        client.get()
    assert client.pauses == []


@pytest.mark.parametrize(
    "address",
    [
        "http://langfuse:abc", "http://langfuse:99999", "http://langfuse:0", "http://[::1", "http://a\nb",
        "http://" + "a" * 300, "http://langfuse/?projet=1", "http://langfuse/#haut",
    ],
)  # fmt: skip
def test_an_address_that_nobody_can_reach_is_refused_before_it_is_used(address: str) -> None:
    with pytest.raises(LangfuseError, match=r"^LANGFUSE_BASE_URL : adresse illisible, attendu http"):
        Server(address, "pk", "sk")


@pytest.mark.parametrize("address", ["http://[::1]:3000", "https://é.exemple.fr/langfuse/", "http://lang_fuse:3000"])
def test_unusual_addresses_pass(address: str) -> None:
    assert Server(address, "pk", "sk").host


@pytest.mark.parametrize("status", [500, 502, 503, 520])
def test_failures_of_the_server_are_tried_again_ever_later(
    server: LangfuseStandIn, client: Client, status: int
) -> None:
    server.faults.fail(PATH, status, times=3)
    assert client.get()
    assert len(client.pauses) == 3
    assert client.pauses[0] < client.pauses[1] < client.pauses[2]
    server.faults.fail(PATH, status, times=4)
    with pytest.raises(LangfuseError, match=f"HTTP {status} sur {PATH}, après 4"):
        client.get()


@pytest.mark.parametrize("kind", ["reset", "truncate"])
def test_broken_answers_are_asked_for_again(server: LangfuseStandIn, client: Client, kind: str) -> None:
    getattr(server.faults, kind)(PATH, times=2)
    assert client.get()
    assert len(client.pauses) == 2


@pytest.mark.parametrize("status", [422, 524])
def test_a_server_that_gives_up_asks_for_less(server: LangfuseStandIn, client: Client, status: int) -> None:
    server.faults.fail(PATH, status)
    with pytest.raises(TooWideError, match=str(status)):
        client.get()
    assert client.pauses == []


def test_a_server_that_is_slow_twice_asks_for_less(server: LangfuseStandIn) -> None:
    client = Client(server, Patience(timeout=0.15, attempts=9))
    server.faults.hang(PATH, 0.6, times=1)
    assert client.get()
    server.faults.hang(PATH, 0.6, times=2)
    with pytest.raises(TooWideError, match="délai dépassé"):
        client.get()
    server.faults.fail(PATH, 504, times=2)
    with pytest.raises(TooWideError, match="504"):
        client.get()
    client.http.close()


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (401, LangfuseError, "clés refusées"),
        (403, LangfuseError, "clés refusées"),
        (404, NotThereError, "absent de ce serveur"),
        (405, NotThereError, "absent de ce serveur"),
        (400, RefusedError, "demande refusée"),
        (302, LangfuseError, "redirection"),
        (418, LangfuseError, "réponse inattendue"),
    ],
)
def test_other_refusals_are_final(
    server: LangfuseStandIn, client: Client, status: int, error: type[LangfuseError], words: str
) -> None:
    server.faults.fail(PATH, status)
    with pytest.raises(error, match=words) as raised:
        client.get()
    assert client.pauses == []
    assert "\n" not in str(raised.value)


def test_a_server_that_is_down_is_named_by_its_host_alone() -> None:
    target = Server("http://127.0.0.1:9/some/path", "pk-lf-x", "sk-lf-very-secret")
    http = LangfuseHttp(target, Patience(timeout=1, attempts=2), pause=lambda _: None)
    with pytest.raises(LangfuseError) as raised:
        http.get(PATH, {}, msgspec.json.decode)
    http.close()
    assert str(raised.value).startswith("Langfuse (127.0.0.1:9) : connexion (ConnectError)")
    assert "secret" not in str(raised.value) + repr(target)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("", "pk", "sk"), "LANGFUSE_BASE_URL"),
        (("langfuse.exemple.fr", "pk", "sk"), "LANGFUSE_BASE_URL"),
        (("ftp://langfuse.exemple.fr", "pk", "sk"), "LANGFUSE_BASE_URL"),
        (("https://pk:sk-secret@langfuse.exemple.fr", "pk", "sk"), "clés dans l’adresse"),
        (("https://langfuse.exemple.fr", "", "sk"), "LANGFUSE_PUBLIC_KEY"),
        (("https://langfuse.exemple.fr", "pk", ""), "LANGFUSE_SECRET_KEY"),
        (("https://langfuse.exemple.fr", "pk", "sk-secret\n"), "LANGFUSE_SECRET_KEY"),
    ],
)
def test_wrong_settings_name_their_variable(arguments: tuple[str, str, str], words: str) -> None:
    with pytest.raises(LangfuseError, match=words) as raised:
        Server(*arguments)
    assert "secret" not in str(raised.value)


def test_a_stopped_read_ends_its_waiting(server: LangfuseStandIn) -> None:
    target = Server(server.url, server.public_key, server.secret_key)
    http = LangfuseHttp(target, PATIENCE)
    http.stop.set()
    with pytest.raises(StoppedError):
        http.get(PATH, {}, msgspec.json.decode)
    http.close()


def test_a_post_that_must_not_repeat_fails_at_the_first(server: LangfuseStandIn, client: Client) -> None:
    server.faults.reset("score-configs")
    with pytest.raises(LangfuseError, match="sans nouvel essai"):
        client.http.send("POST", "/api/public/score-configs", {}, msgspec.json.decode, repeat=False)
    # the server said that it did nothing: asking again doubles nothing
    server.faults.fail("score-configs", 429, retry_after=1)
    body = {"name": "c", "dataType": "NUMERIC"}
    assert client.http.send("POST", "/api/public/score-configs", body, msgspec.json.decode, repeat=False).value
    assert client.pauses == [1]
