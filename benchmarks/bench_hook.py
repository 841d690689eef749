"""What the hook costs in CPU, measured in one process beside a callback that does nothing, with and without detectors.

    python -m benchmarks.bench_hook [--blocks 30] [--calls 100] [--json FILE]

Calls the three methods that LiteLLM calls, with LiteLLM's own objects, in blocks that alternate between the arms; each
figure is process CPU time a call. "Without detectors" puts ready-made decisions in the place of `before` and `after`:
what is left is the hook's own work (stamps, events, counters, log lines, headers). The reports wait in their queue and
are not sent. Steadier than `bench_gateway`, whose server does thirty times as much. Needs .venv-litellm.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.answers import CITED, PLAIN, QUESTION

ROOT = Path(__file__).resolve().parents[1]
UNCITED = f"{PLAIN} La franchise est de 150 €."
CASES = (
    ("LOW department", "it", PLAIN, 0.9),
    ("HIGH department, answer without claims", "audit", PLAIN, 0.9),
    ("CRITICAL department, cited claim", "sinistres", CITED, 0.9),
    ("CRITICAL department, uncited claim, no similarity: three events", "sinistres", UNCITED, None),
)
INSIDE = "--inside"


def request(score: float | None) -> dict[str, Any]:
    """A request as the proxy hands it over."""
    metadata = {} if score is None else {"retrieval_score": score}
    return {
        "model": "claims-assistant",
        "messages": [{"role": "user", "content": QUESTION}],
        "metadata": {**metadata, "requester_metadata": metadata},
        "litellm_call_id": "0f8fad5b-d9cb-469f-a165-70867728950e",
        "litellm_logging_obj": SimpleNamespace(),
        "proxy_server_request": {"headers": {f"x-header-{number}": "value" for number in range(8)}},
    }


def microseconds(values: list[float]) -> dict[str, float]:
    """The least and the median of some blocks."""
    return {"least": round(min(values), 1), "median": round(statistics.median(values), 1)}


async def measured(given: argparse.Namespace) -> list[dict[str, Any]]:
    """The figures of every case. Runs in LiteLLM's environment."""
    from compliance_guardrails.calls import caller_of
    from litellm.proxy._types import UserAPIKeyAuth  # ty: ignore[import-not-found]
    from litellm.types.utils import ModelResponse  # ty: ignore[import-not-found]

    from compliance_pipelines_tests.services.litellm.switch import NoOp

    shell: Any = importlib.import_module("compliance_guardrails.litellm_hook")
    hook, nothing = shell.hook, NoOp()
    runtime = hook.runtime
    runtime.reporter._start = lambda: None  # what is reported stays in the queue

    async def rated(*_: Any) -> Any:
        return shell.Outcome.CONFIDENT

    hook._rate = rated

    async def block(callback: Any, key: Any, text: str, score: float | None) -> float:
        message = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        ready = [(request(score), ModelResponse(choices=[message])) for _ in range(given.calls)]
        start = time.process_time()
        for data, response in ready:
            await callback.async_pre_call_hook(key, None, data, "acompletion")
            await callback.async_post_call_success_hook(data, key, response)
            await callback.async_post_call_response_headers_hook(data=data, user_api_key_dict=key, response=response)
        taken = time.process_time() - start
        waiting = runtime.reporter._waiting
        while not waiting.empty():
            waiting.get_nowait()
        return 1e6 * taken / given.calls

    real = shell.before, shell.after
    found = []
    for name, alias, text, score in CASES:
        key = UserAPIKeyAuth(api_key="sk-x", key_alias=alias)
        origin = runtime.origin_of(caller_of(key))
        places = [request(score)["metadata"]]
        ready = (
            real[0](runtime.policy, runtime.rules, origin, "claims-assistant", places, QUESTION),
            real[1](runtime.policy, runtime.rules, origin, [text]),
        )
        made = (lambda *_, r=ready: r[0], lambda *_, r=ready: r[1])
        arms: dict[str, list[float]] = {"hook": [], "without detectors": [], "no-op": []}
        for number in range(given.blocks + 1):
            for arm in arms if number % 2 else reversed(arms):
                shell.before, shell.after = made if arm == "without detectors" else real
                taken = await block(nothing if arm == "no-op" else hook, key, text, score)
                if number:
                    arms[arm].append(taken)
        found.append({"case": name, **{f"{arm}, µs a call": microseconds(values) for arm, values in arms.items()}})
    shell.before, shell.after = real
    return found


def main() -> None:
    """Run in LiteLLM's environment and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--json", type=Path)
    given, _ = parser.parse_known_args()
    if INSIDE in sys.argv:
        results = json.dumps(asyncio.run(measured(given)), indent=2, ensure_ascii=False)
        print(results)
        if given.json:
            given.json.write_text(results, encoding="utf-8")
        return
    program = ROOT / ".venv-litellm" / "bin" / "python"
    if not program.exists():
        sys.exit("no LiteLLM: make a venv .venv-litellm and install requirements/litellm.txt into it")
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONPATH": f"{ROOT / 'guardrails'}:{ROOT}"}
    keys = {"LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk", "LANGFUSE_BASE_URL": "http://127.0.0.1:9"}
    command = [str(program), "-m", "benchmarks.bench_hook", INSIDE, *sys.argv[1:]]
    environment = {**os.environ, **quiet, **keys}
    # The hook's log lines are part of its cost, and no part of what is to be read here.
    done = subprocess.run(command, check=False, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)  # noqa: S603
    if done.returncode:
        sys.exit(done.stderr[-2000:])


if __name__ == "__main__":
    main()
