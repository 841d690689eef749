"""The real thing for one test: PostgreSQL, code server, daemon and web server of Dagster, on loopback and free ports.

`stack(folder, export)` is a context manager; everything is stopped at its end. The instance differs from k8s/base only
in its run launcher: no API server here, so runs are processes. Nothing here is reachable from outside.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
START_SECONDS = 120.0


class StackError(RuntimeError):
    """Something did not start; the end of its log is in the message."""


@dataclass
class Stack:
    """A running installation. `env` is what its commands need; `url` the web server's address."""

    url: str
    home: Path
    env: dict[str, str] = field(repr=False)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, repr=False)

    def graphql(self, query: str, **variables: Any) -> dict[str, Any]:
        """`data` of one GraphQL request, as the interface sends it."""
        reply = httpx.post(f"{self.url}/graphql", json={"query": query, "variables": variables}, timeout=60)
        found = reply.json()
        assert "errors" not in found, str(found["errors"])[:500]
        return found["data"]

    def run(self, *words: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """One of the environment's commands, with the stack's settings, typed where the daemon's pod stands."""
        command = [str(BIN / words[0]), *words[1:]]
        where = self.env["DAGSTER_HOME"]
        return subprocess.run(
            command, capture_output=True, text=True, env=self.env, cwd=where, timeout=timeout, check=False
        )

    def memory_mib(self, name: str) -> int:
        """Resident memory of a process and its children, in MiB."""
        return sum(_resident(pid) for pid in _family(self.processes[name].pid)) // 1024


def wait_for(what: str, ready: Callable[[], bool], seconds: float = START_SECONDS, pause: float = 0.5) -> None:
    """Poll until `ready()`; StackError after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if ready():
            return
        time.sleep(pause)
    raise StackError(f"{what} after {seconds:.0f} s")


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def postgres(folder: Path) -> Generator[dict[str, str]]:
    """A fresh PostgreSQL; yields the variables that k8s/base/dagster.yaml reads, and its port."""
    program = _postgres_program("initdb")
    port, password = free_port(), "test-only"
    data, secret = folder / "pg", folder / "password"
    folder.mkdir(parents=True, exist_ok=True)
    secret.write_text(password)
    server_user: dict[str, Any] = {}
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root
        account = pwd.getpwnam("postgres")
        server_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        data.mkdir()
        for path in (data, secret):
            os.chown(path, account.pw_uid, account.pw_gid)
        for parent in [folder, *folder.parents][:4]:
            with contextlib.suppress(OSError):
                parent.chmod(parent.stat().st_mode | 0o011)
    options = ["-D", str(data), "-U", "dagster", f"--pwfile={secret}", "-A", "scram-sha-256", "--no-sync", "-E", "UTF8"]
    done = subprocess.run([program, *options], capture_output=True, text=True, check=False, cwd="/", **server_user)
    if done.returncode:
        raise StackError(f"initdb: {done.stderr[-400:]}")
    command = [_postgres_program("postgres"), "-D", str(data), "-p", str(port), "-c", "listen_addresses=127.0.0.1"]
    command += ["-c", f"unix_socket_directories={data}", "-c", "fsync=off", "-c", "max_connections=200"]
    with (folder / "postgres.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd="/", **server_user)
        try:
            wait_for("PostgreSQL does not answer", lambda: _listens(port), 60)
            yield {
                "DAGSTER_PG_HOST": "127.0.0.1",
                "DAGSTER_PG_PORT": str(port),
                "DAGSTER_PG_USER": "dagster",
                "DAGSTER_PG_PASSWORD": password,
                "DAGSTER_PG_DB": "postgres",
            }
        finally:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            if process.poll() is None:
                process.kill()


@contextlib.contextmanager
def stack(folder: Path, export: Path, runs_at_once: int = 2) -> Generator[Stack]:
    """PostgreSQL, code server, web server and daemon over `export`; ready when the location is loaded."""
    home, dagster_home = folder / "home", folder / "dagster"
    dagster_home.mkdir(parents=True)
    with postgres(folder / "postgres") as database:
        port, code_port = free_port(), free_port()
        instance = instance_settings(int(database["DAGSTER_PG_PORT"]), runs_at_once, folder / "scratch")
        (dagster_home / "dagster.yaml").write_text(yaml.safe_dump(instance), encoding="utf-8")
        location = {"host": "127.0.0.1", "port": code_port, "location_name": "compliance_pipelines"}
        workspace = dagster_home / "workspace.yaml"
        workspace.write_text(yaml.safe_dump({"load_from": [{"grpc_server": location}]}), encoding="utf-8")
        settings = {"COMPLIANCE_HOME": home, "DAGSTER_HOME": dagster_home, "LANGFUSE_EXPORT": export}
        env = {**os.environ, **database, **{k: str(v) for k, v in settings.items()}, "PYTHONWARNINGS": "ignore"}
        found = Stack(f"http://127.0.0.1:{port}", home, env)
        try:
            code = ["dagster", "api", "grpc", "-m", "compliance_pipelines.definitions", "-h", "127.0.0.1"]
            _start(found, folder, "code", [*code, "-p", str(code_port), "--location-name", "compliance_pipelines"])
            _ready(found, folder, "code", lambda: _listens(code_port))
            web = ["dagster-webserver", "-w", str(workspace), "-h", "127.0.0.1", "-p", str(port)]
            _start(found, folder, "web", web)
            _start(found, folder, "daemon", ["dagster-daemon", "run", "-w", str(workspace)])
            _ready(found, folder, "web", lambda: _answers(f"{found.url}/server_info"))
            yield found
        finally:
            for process in reversed(found.processes.values()):
                _stop(process)


def instance_settings(port: int, runs_at_once: int, scratch: Path) -> dict[str, Any]:
    """k8s/base/dagster.yaml with local processes instead of pods."""
    settings = yaml.safe_load((ROOT / "k8s" / "base" / "dagster.yaml").read_text(encoding="utf-8"))
    del settings["run_launcher"], settings["run_monitoring"]
    settings["storage"]["postgres"]["postgres_db"]["port"] = port
    settings["local_artifact_storage"]["config"]["base_dir"] = str(scratch)
    settings["concurrency"]["runs"]["max_concurrent_runs"] = runs_at_once
    return settings


def _start(found: Stack, folder: Path, name: str, words: list[str]) -> None:
    with (folder / f"{name}.log").open("wb") as log:
        found.processes[name] = subprocess.Popen(
            # started from a shell's background, a process would ignore the interrupt that ends it
            ["env", "--default-signal=INT", "--default-signal=TERM", str(BIN / words[0]), *words[1:]],
            env=found.env,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
        )


def _ready(found: Stack, folder: Path, name: str, ready: Callable[[], bool]) -> None:
    def alive() -> bool:
        if found.processes[name].poll() is not None:
            raise StackError(f"{name} ended: {(folder / f'{name}.log').read_text(errors='replace')[-800:]}")
        return ready()

    wait_for(f"{name} does not answer", alive)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started (its own session)."""
    for how, seconds in ((signal.SIGINT, 15), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def _postgres_program(name: str) -> str:
    places = [str(p) for p in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(places))
    if found is None:
        raise StackError(f"{name} is not installed: make system-packages")
    return str(Path(found).resolve())


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    found = children.read_text().split() if children.exists() else []
    return [pid, *(one for child in found for one in _family(int(child)))]


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0
