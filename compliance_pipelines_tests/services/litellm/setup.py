"""The gateway that the tests share: its policy, model server and Langfuse stand-in, as one context.

The policy is the shipped one with other bias settings for three departments, so that one proxy shows every mode:
Sinistres warns at the end of a stream, Finance holds the stream back and warns, Juridique and Commercial hold it
back and block, Audit refuses calls without similarity. Commercial's model speaks another protocol, with several
choices.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from compliance_guardrails.policy.paths import BUNDLED

from compliance_pipelines_tests.services.litellm.client import Client
from compliance_pipelines_tests.services.litellm.gateway import Gateway, gateway
from compliance_pipelines_tests.services.litellm.mock_model import ModelStub
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn

BLOCKED = "direction-juridique"
BLOCKED_TOO = "direction-commercial"
BUFFERED = "direction-finance"
HMAC_KEY = "cle-de-test-du-hmac-0123456789abcdef"

_OVERRIDES = f"""bias_screen_overrides:
  {BLOCKED}: {{domain: insurance, action: block, threshold: null, stream: buffer}}
  {BLOCKED_TOO}: {{domain: insurance, action: block, threshold: null, stream: buffer}}
  {BUFFERED}: {{domain: insurance, action: warn, threshold: null, stream: buffer}}
"""


@dataclass(frozen=True)
class Bench:
    """A running gateway with everything around it."""

    gateway: Gateway
    model: ModelStub
    langfuse: LangfuseStandIn
    client: Client

    def own_failures(self) -> list[str]:
        """The lines in which the gateway says that a guardrail failed."""
        return [line for line in self.gateway.log_text().splitlines() if "guardrail error stage=" in line]

    def events(self, trace_id: str) -> list[str]:
        """Names of the events stored for a trace, sorted."""
        return sorted(r["name"] for r in self.rows(trace_id) if r["type"] == "EVENT")

    def rows(self, trace_id: str) -> list[dict[str, Any]]:
        """Observations stored for a trace."""
        return [row for row in self.langfuse.observations if row["traceId"] == trace_id]

    def generation(self, trace_id: str) -> dict[str, Any]:
        """The stored model call of a trace, once it has arrived."""
        self.langfuse.wait_for(lambda _: any(r["type"] == "GENERATION" for r in self.rows(trace_id)), 20)
        return next(row for row in self.rows(trace_id) if row["type"] == "GENERATION")

    def wait_for_events(self, trace_id: str, *names: str) -> None:
        """Wait until exactly these events are stored for the trace."""
        self.langfuse.wait_for(lambda _: self.events(trace_id) == sorted(names), 20)

    def scores(self, trace_id: str) -> dict[str, Any]:
        """Scores stored for a trace."""
        return {s["name"]: s["value"] for s in self.langfuse.scores if s["subject"]["id"] == trace_id}


def policy_with(directory: Path, *edits: tuple[str, str, str]) -> Path:
    """A copy of the shipped policy, with `(file, old, new)` replacements and the overrides of these tests."""
    copy = directory / "policy"
    shutil.copytree(BUNDLED, copy)
    rules = copy / "guardrails.yaml"
    text = rules.read_text(encoding="utf-8")
    start = text.index("bias_screen_overrides:")
    end = text.index("\nself_evaluation:")
    rules.write_text(f"{text[:start]}{_OVERRIDES}{text[end:]}", encoding="utf-8")
    for name, old, new in edits:
        path = copy / name
        text = path.read_text(encoding="utf-8")
        if old not in text:
            raise ValueError(f"{old!r} is not in {name}")
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return copy


def audit_refuses(directory: Path, *edits: tuple[str, str, str]) -> Path:
    """`policy_with`, and Audit refuses calls without similarity."""
    copy = policy_with(directory, *edits)
    path = copy / "departments.yaml"
    head, mark, rest = path.read_text(encoding="utf-8").partition("  - id: direction-audit\n")
    path.write_text(
        head + mark + rest.replace("missing_score: pass_and_flag", "missing_score: refuse", 1), encoding="utf-8"
    )
    return copy


@contextlib.contextmanager
def bench(directory: Path, policy: Path, settings: dict[str, Any] | None = None) -> Generator[Bench]:
    """Start everything; the hook is the real one behind the fault switches of `faults`."""
    with ModelStub() as model, LangfuseStandIn() as langfuse:
        for department in ("direction-sinistres", BUFFERED):
            langfuse.store.add_queue(f"review-{department}")
        environment = {
            "LANGFUSE_PUBLIC_KEY": langfuse.public_key,
            "LANGFUSE_SECRET_KEY": langfuse.secret_key,
            "LANGFUSE_HOST": langfuse.url,
            "COMPLIANCE_HMAC_KEY": HMAC_KEY,
        }
        with (
            gateway(
                directory / "gateway",
                model.url,
                policy=policy,
                environment=environment,
                settings={"require_auth_for_metrics_endpoint": False, **(settings or {})},
                callbacks=["faults.hook", "prometheus"],
                through_openai=("general-assistant",),
            ) as running,
            httpx.Client(base_url=running.url, timeout=60) as http,
        ):
            yield Bench(running, model, langfuse, Client(http))


def metric(at: Bench, name: str, **labels: str) -> float:
    """Sum of a counter of the gateway over the series that carry `labels`."""
    text = at.client.http.get("/metrics/").text
    total = 0.0
    for line in text.splitlines():
        if line.startswith(name + "{") and all(f'{key}="{value}"' in line for key, value in labels.items()):
            total += float(line.rsplit(" ", 1)[1])
    return total
