"""The filter in a real Open WebUI, by hand: `python -m` this module, with VENV as its argument.

VENV is an environment that holds the package open-webui (6 GB with its dependencies, which is why no test does this).
Starts it on loopback with an embedding stub, installs the filter, uploads a document, asks five questions and checks
what reaches the model server. Exit 0 when all is as expected.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from compliance_pipelines_tests.services.litellm.gateway import ROOT
from compliance_pipelines_tests.services.servers import free_ports

FILTER = ROOT / "guardrails" / "openwebui" / "retrieval_score_filter.py"
DOCUMENT = (
    "La franchise pour un dégât des eaux est de 150 euros par sinistre. "
    "L'assuré déclare le sinistre dans les cinq jours."
)
NEAR, FAR = "franchise pour un dégât des eaux", "la météo de demain est incertaine"
START_SECONDS = 900.0
Json = dict[str, Any]


def embedding(text: str) -> list[float]:
    """Words hashed into 256 places, normalised: enough for cosines that can be computed by hand."""
    vector = [0.0] * 256
    for word in text.lower().replace("?", " ").replace(".", " ").split():
        vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % 256] += 1
    length = math.sqrt(sum(value * value for value in vector)) or 1
    return [value / length for value in vector]


def cosine(one: str, other: str) -> float:
    """The cosine of two texts' embeddings."""
    return sum(a * b for a, b in zip(embedding(one), embedding(other), strict=True))


class Upstream(BaseHTTPRequestHandler):
    """Models, embeddings and answers; keeps what it was asked."""

    protocol_version = "HTTP/1.1"
    seen: list[Json] = []  # noqa: RUF012 - one server a run

    def log_message(self, *_: object) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "claims-assistant", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            self._send({"data": [{"index": at, "embedding": embedding(text)} for at, text in enumerate(texts)]})
            return
        self.seen.append(body)
        choice = {"index": 0, "message": {"role": "assistant", "content": "Bonjour"}, "finish_reason": "stop"}
        self._send({"id": "x", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]})

    def _send(self, content: Json) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def environment(directory: str, upstream: str) -> dict[str, str]:
    """Settings of an Open WebUI that needs no network."""
    return {
        **os.environ,
        "DATA_DIR": directory,
        "OPENAI_API_BASE_URL": upstream,
        "OPENAI_API_KEY": "sk-stub",
        "ENABLE_OLLAMA_API": "false",
        "RAG_EMBEDDING_ENGINE": "openai",
        "RAG_OPENAI_API_BASE_URL": upstream,
        "RAG_OPENAI_API_KEY": "sk-stub",
        "RAG_EMBEDDING_MODEL": "stub",
        "WEBUI_SECRET_KEY": "trial",
        "OFFLINE_MODE": "true",
        "HF_HUB_OFFLINE": "1",
        "ENABLE_RETRIEVAL_QUERY_GENERATION": "false",
        "SCARF_NO_ANALYTICS": "true",
        "ANONYMIZED_TELEMETRY": "false",
        "DO_NOT_TRACK": "true",
    }


def set_up(http: httpx.Client) -> str:
    """Sign up, install the filter for all models, upload the document; returns its id."""
    account = {"name": "Essai", "email": "essai@example.org", "password": "Essai-123456"}
    http.headers["Authorization"] = "Bearer " + http.post("/api/v1/auths/signup", json=account).json()["token"]
    function = {"id": "retrieval_score", "name": "Retrieval score", "meta": {"description": "trial"}}
    made = http.post("/api/v1/functions/create", json={**function, "content": FILTER.read_text(encoding="utf-8")})
    made.raise_for_status()
    for switch in ("toggle", "toggle/global"):
        http.post(f"/api/v1/functions/id/retrieval_score/{switch}").raise_for_status()
    sent = http.post("/api/v1/files/", files={"file": ("cg.txt", DOCUMENT.encode(), "text/plain")})
    file_id = sent.raise_for_status().json()["id"]
    for _ in range(60):
        if '"completed"' in http.get(f"/api/v1/files/{file_id}/process/status").text:
            return file_id
        time.sleep(0.5)
    raise SystemExit("the document was not processed")


def score_sent(http: httpx.Client, question: str, files: list[Json], **extra: Any) -> float | None:
    """The similarity that reached the model server with a question."""
    Upstream.seen.clear()
    body = {"model": "claims-assistant", "messages": [{"role": "user", "content": question}], "stream": False, **extra}
    http.post("/api/chat/completions", json={**body, **({"files": files} if files else {})}).raise_for_status()
    return (Upstream.seen[-1].get("litellm_metadata") or {}).get("retrieval_score")


def check(http: httpx.Client) -> bool:
    """Ask and compare; prints one line a question."""
    file = {"type": "file", "id": set_up(http), "name": "cg.txt"}
    forged = {"litellm_metadata": {"retrieval_score": 0.99}, "metadata": {"retrieval_score": 0.99}}
    cases: list[tuple[str, float | None, float | None]] = [
        ("near", score_sent(http, NEAR, [file]), cosine(NEAR, DOCUMENT)),
        ("far", score_sent(http, FAR, [file]), cosine(FAR, DOCUMENT)),
        ("no documents", score_sent(http, "bonjour", []), None),
        ("forged", score_sent(http, "bonjour", [], **forged), None),
        ("full text", score_sent(http, NEAR, [{**file, "context": "full"}]), None),
    ]
    good = True
    for name, sent, expected in cases:
        same = sent == expected if sent is None or expected is None else abs(sent - expected) < 1e-3
        good &= same
        print(f"{'ok' if same else 'WRONG':6}{name:14}sent={sent} expected={expected}")
    return good


def started(process: subprocess.Popen[bytes], http: httpx.Client) -> bool:
    """Wait until it answers: half a minute, or minutes on a busy machine."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.HTTPError):
            if http.get("/health").status_code == 200:
                return True
        time.sleep(1)
    return False


def main() -> int:
    """Start, check, stop."""
    program = Path(sys.argv[1]) / "bin" / "open-webui"
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory() as directory, (Path(directory) / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(program), "serve", "--host", "127.0.0.1", "--port", str(port)],
            env=environment(directory, f"http://127.0.0.1:{upstream.server_address[1]}/v1"),
            cwd=directory,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
                if not started(process, http):
                    print("Open WebUI did not start:", (Path(directory) / "log").read_text(errors="replace")[-2000:])
                    return 1
                print("Open WebUI", http.get("/api/version").json()["version"])
                return 0 if check(http) else 1
        finally:
            process.terminate()
            process.wait(30)
            upstream.shutdown()


if __name__ == "__main__":
    sys.exit(main())
