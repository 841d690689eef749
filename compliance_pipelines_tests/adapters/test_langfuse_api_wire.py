"""What comes over the wire from a Langfuse server or what stands before it: compressed, cut, dripping, by a proxy."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest

from compliance_pipelines.adapters.langfuse_api_http import (
    LangfuseError,
    LangfuseHttp,
    PageTooLargeError,
    Patience,
    Server,
    TooWideError,
)

PATH = "/api/public/projects"
Answers = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serving(answer: Answers) -> Generator[str]:
    """A server on the loopback that lets `answer` write what it likes; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def send(handler: BaseHTTPRequestHandler, body: bytes, *, size: int | None = None, **headers: str) -> None:
    handler.send_response_only(200)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body) if size is None else size))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def http() -> Iterator[Callable[..., LangfuseHttp]]:
    made = []

    def make(address: str, **patience: float) -> LangfuseHttp:
        options = {"timeout": 2.0, "attempts": 3} | patience
        given = Patience(**options)  # type: ignore[arg-type]
        made.append(LangfuseHttp(Server(address, "pk-x", "sk-very-secret"), given, pause=lambda _: None))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_compressed_answer_is_read(http: Callable[..., LangfuseHttp]) -> None:
    asked = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append((handler.path, "gzip" in handler.headers["Accept-Encoding"]))
        send(handler, gzip.compress(b'{"a": "\xc3\xa9"}'), Content_Encoding="gzip")

    with serving(answer) as address:
        assert http(address).get(PATH, {"b": "1 é"}, msgspec.json.decode).value == {"a": "é"}
    assert asked == [(f"{PATH}?b=1+%C3%A9", True)]


def test_a_small_answer_that_unpacks_to_a_huge_one_is_refused(http: Callable[..., LangfuseHttp]) -> None:
    body = gzip.compress(b" " * (80 << 20), 6)
    with (
        serving(lambda handler: send(handler, body, Content_Encoding="gzip")) as address,
        pytest.raises(PageTooLargeError),
    ):
        http(address).get(PATH, {}, msgspec.json.decode)


def test_what_is_not_what_its_head_says_is_asked_for_again(http: Callable[..., LangfuseHttp]) -> None:
    served = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        served.append(handler.path)
        if len(served) == 1:
            # cut before its end
            send(handler, b'{"a"', size=100)
            handler.close_connection = True
        elif len(served) == 2:
            send(handler, b"no gzip at all", Content_Encoding="gzip")
        else:
            send(handler, b'{"a": 1}')

    with serving(answer) as address:
        client = http(address)
        assert client.get(PATH, {}, msgspec.json.decode).value == {"a": 1}
        assert client.traffic.retries == 2


def test_an_answer_that_never_ends_is_given_up(http: Callable[..., LangfuseHttp]) -> None:
    stopped = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        send(handler, b"[", size=10**6)
        while not stopped.wait(0.02):
            try:
                handler.wfile.write(b" ")
                handler.wfile.flush()
            except OSError:
                return

    with serving(answer) as address:
        # each byte comes in time; the whole has ten times the time-out
        with pytest.raises(TooWideError, match="délai dépassé"):
            http(address, timeout=0.05).get(PATH, {}, msgspec.json.decode)
        stopped.set()


def test_the_proxy_of_the_environment_is_used(
    http: Callable[..., LangfuseHttp], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append((handler.path, handler.headers["Host"], handler.headers["Proxy-Authorization"]))
        send(handler, b"[]")

    with serving(answer) as address:
        for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", address.replace("http://", "http://user:word@"))
        assert http("http://langfuse.invalid:3000/base").get(PATH, {}, msgspec.json.decode).value == []
        assert asked == [(f"http://langfuse.invalid:3000/base{PATH}", "langfuse.invalid:3000", "Basic dXNlcjp3b3Jk")]
        monkeypatch.setenv("no_proxy", "langfuse.invalid")
        with pytest.raises(LangfuseError, match=r"langfuse\.invalid:3000") as raised:
            http("http://langfuse.invalid:3000").get(PATH, {}, msgspec.json.decode)
        assert len(asked) == 1
        assert "secret" not in str(raised.value)
