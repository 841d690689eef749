"""A real LiteLLM proxy with the real hook, on loopback, in its own environment, stopped by its context.

`gateway(directory, model_url, …)` writes the configuration that `compliance-guardrails litellm-config` prints, adds the
test keys, starts the proxy from `.venv-litellm` and yields its address and the file that holds its log.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import yaml

from compliance_pipelines_tests.services.servers import ServerError, free_ports

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = ROOT / ".venv-litellm"
HERE = Path(__file__).parent
START_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running proxy."""

    url: str
    log: Path
    pid: int

    def log_text(self) -> str:
        """Everything the proxy has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")


def printed_config(model_url: str, policy: Path | None, *, langfuse: bool) -> dict:
    """What `compliance-guardrails litellm-config` prints, as a real operator would use it."""
    command = [sys.executable, "-m", "compliance_guardrails.cli", "litellm-config"]
    command += ["--api-base", model_url]
    command += [] if langfuse else ["--without-langfuse"]
    command += ["--policy", str(policy)] if policy else []
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_environment({}), timeout=60)
    return yaml.safe_load(done.stdout)


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "TMPDIR") if key in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT / "guardrails"), **extra}


@contextlib.contextmanager
def gateway(
    directory: Path,
    model_url: str,
    *,
    through_openai: tuple[str, ...] = (),
    policy: Path | None = None,
    environment: Mapping[str, str] | None = None,
    settings: Mapping[str, object] | None = None,
    callbacks: list[str] | None = None,
) -> Generator[Gateway]:
    """The proxy, ready to answer. The printed configuration serves Ollama; aliases of `through_openai` are served by
    the chat protocol of OpenAI instead. `settings` go into litellm_settings; `callbacks` replaces the printed ones.
    """
    program = ENVIRONMENT / "bin" / "litellm"
    if not program.exists():
        raise ServerError("no LiteLLM: make a venv .venv-litellm and install requirements/litellm.txt into it")
    extra = dict(environment or {})
    config = printed_config(model_url, policy, langfuse="LANGFUSE_PUBLIC_KEY" in extra)
    for model in config["model_list"]:
        if model["model_name"] in through_openai:
            model["litellm_params"] |= {
                "model": f"hosted_vllm/{model['model_name']}", "api_base": f"{model_url}/v1", "api_key": "sk-model-stub"
            }  # fmt: skip
    config["litellm_settings"] |= dict(settings or {})
    if callbacks is not None:
        config["litellm_settings"]["callbacks"] = callbacks
    config["general_settings"] = {"custom_auth": "keys.check"}
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.yaml").write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
    for name in ("keys.py", "faults.py", "switch.py"):
        shutil.copy(HERE / name, directory / name)
    (port,) = free_ports(1)
    extra |= {"LITELLM_MASTER_KEY": "sk-test-master-of-this-loopback-gateway-only"}
    extra |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "127.0.0.1"}
    extra |= {"COMPLIANCE_POLICY_DIR": str(policy)} if policy else {}
    log = directory / "proxy.log"
    command = [str(program), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=directory, env=_environment(extra), stdout=output, stderr=subprocess.STDOUT
        )
        try:
            _wait(process, f"http://127.0.0.1:{port}/health/liveliness", log)
            yield Gateway(f"http://127.0.0.1:{port}", log, process.pid)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(url, timeout=2).status_code == 200:
                return
        time.sleep(0.2)
    raise ServerError(f"the gateway did not start: {log.read_text(errors='replace')[-1500:]}")
