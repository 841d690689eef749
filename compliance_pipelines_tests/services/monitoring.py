"""Real Alertmanager, Prometheus and Pushgateway for the tests, on loopback, and a webhook that notes what it is told.

The programs come from Debian packages; a missing one is an error that names the package, never a skip. The routes under
test are those of k8s/monitoring/alertmanager.yaml with the times shortened and the receivers pointed at the webhook.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml

from compliance_pipelines_tests.services.servers import ServerError, free_ports

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "k8s" / "monitoring"


def program(name: str, package: str) -> str:
    """The path of a program; ServerError names the Debian package when it is absent."""
    found = shutil.which(name)
    if found is None:
        raise ServerError(f"{name} is not installed: apt-get install {package}")
    return found


@dataclass
class Webhook:
    """What Alertmanager notified, in order: (receiver, status, alert name, department)."""

    url: str
    bodies: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def notices(self) -> list[tuple[str, str, str, str]]:
        out = []
        for path, body in list(self.bodies):
            for alert in body["alerts"]:
                labels = alert["labels"]
                out.append((path.strip("/"), alert["status"], labels["alertname"], labels["department"]))
        return out

    def wait(self, count: int, seconds: float = 20.0) -> list[tuple[str, str, str, str]]:
        """The notices once there are `count` of them; whatever there is when time is up."""
        until(lambda: len(self.notices()) >= count, seconds)
        return self.notices()


@contextlib.contextmanager
def webhook() -> Generator[Webhook]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            noted.bodies.append((self.path, body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    noted = Webhook(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield noted
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@dataclass
class Process:
    """A server that can be stopped and started again on the same port and directory."""

    command: list[str]
    url: str
    log: Path
    running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.running = subprocess.Popen(self.command, stdout=output, stderr=subprocess.STDOUT)
        if not until(self._ready, 30):
            raise ServerError(f"{self.command[0]} did not start: {self.log.read_text(errors='replace')[-600:]}")

    def stop(self, how: int = signal.SIGKILL) -> None:
        if self.running is not None:
            self.running.send_signal(how)
            self.running.wait(15)
            self.running = None

    def _ready(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/-/ready", timeout=2).status_code == 200
        return False


def until(true: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.05)
    return true()


@contextlib.contextmanager
def alertmanager(folder: Path, hook: Webhook) -> Generator[Process]:
    """Alertmanager with the shipped routes; a second stands for minutes."""
    config = yaml.safe_load((MONITORING / "alertmanager.yaml").read_text(encoding="utf-8"))
    _hasten(config["route"])
    for receiver in config["receivers"]:
        (shipped,) = receiver["webhook_configs"]
        receiver["webhook_configs"] = [{**shipped, "url": f"{hook.url}/{receiver['name']}"}]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "alertmanager.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (port,) = free_ports(1)
    binary = program("prometheus-alertmanager", "prometheus-alertmanager")
    command = [binary, f"--config.file={folder / 'alertmanager.yaml'}", f"--storage.path={folder / 'am'}"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
    with _running(Process(command, f"http://127.0.0.1:{port}", folder / "alertmanager.log")) as process:
        yield process


def _hasten(route: dict[str, Any]) -> None:
    for name, value in (("group_wait", "200ms"), ("group_interval", "500ms")):
        if name in route or "receiver" in route:
            route[name] = value
    for child in route.get("routes", ()):
        _hasten(child)


@contextlib.contextmanager
def pushgateway(folder: Path) -> Generator[Process]:
    folder.mkdir(parents=True, exist_ok=True)
    (port,) = free_ports(1)
    binary = program("prometheus-pushgateway", "prometheus-pushgateway")
    command = [binary, f"--web.listen-address=127.0.0.1:{port}"]
    with _running(Process(command, f"http://127.0.0.1:{port}", folder / "pushgateway.log")) as process:
        yield process


@contextlib.contextmanager
def prometheus(folder: Path, config: dict[str, Any]) -> Generator[Process]:
    """Prometheus on `config`, in `folder` (a `tsdb` directory there is used)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (port,) = free_ports(1)
    command = [program("prometheus", "prometheus"), f"--config.file={folder / 'prometheus.yaml'}"]
    command += [f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}"]
    command += ["--storage.tsdb.retention.time=400d"]
    # what fires before Alertmanager is discovered is sent again after this, a minute by default
    command += ["--rules.alert.resend-delay=1s"]
    with _running(Process(command, f"http://127.0.0.1:{port}", folder / "prometheus.log")) as process:
        yield process


@contextlib.contextmanager
def _running(process: Process) -> Generator[Process]:
    process.start()
    try:
        yield process
    finally:
        process.stop()
