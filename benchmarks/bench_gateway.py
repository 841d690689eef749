"""What the hook costs a real LiteLLM proxy, beside a callback that does nothing, in the same proxy.

    python -m benchmarks.bench_gateway [--pairs 40] [--block 25] [--json FILE]

The callback is chosen by the key of the request. Blocks of requests alternate between the two and change order from
pair to pair, so that drift of the machine falls on both; both send the model the same messages. Each pair gives one
difference: the server's own CPU time and the callers' latency. The model is a stub on loopback, the Langfuse that the
hook reports to a stand-in; LiteLLM's own logging to Langfuse is off. Needs .venv-litellm.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from compliance_guardrails.policy import load_policy

from benchmarks.answers import CITED, PLAIN, QUESTION
from compliance_pipelines_tests.services.litellm.gateway import Gateway, gateway
from compliance_pipelines_tests.services.litellm.mock_model import ModelStub, say
from compliance_pipelines_tests.services.litellm.setup import policy_with
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn

STREAM_PIECES, STREAM_PAUSE = 60, 0.005
SETTLE = 0.15
"""Seconds after a block in which the server finishes what it does off the request path; they count for it."""

RATED = "direction-sinistres"
UNRATED = "direction-audit"


@dataclass(frozen=True)
class Scenario:
    """One kind of request: the department that sends it and the answer that the model gives."""

    name: str
    department: str
    answer: str


SCENARIOS = (
    Scenario("LOW department", "direction-it", PLAIN),
    Scenario("HIGH department, answer without claims", UNRATED, PLAIN),
    Scenario("HIGH department, answer with a cited claim", UNRATED, CITED),
    Scenario("CRITICAL department, answer with a cited claim, self-evaluation", RATED, CITED),
)


@dataclass
class Block:
    """One block: CPU of the server and latencies of the callers, in milliseconds per request."""

    cpu: float
    latencies: list[float]


def cpu_seconds(pid: int) -> float:
    """CPU time of the living threads of a process so far, to the nanosecond; clock ticks are too coarse for a block."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


class Caller:
    """Sends the requests of a scenario, with the hook or with the callback that does nothing."""

    def __init__(self, http: httpx.Client, server: Gateway) -> None:
        self.http = http
        self.server = server
        self.policy = load_policy()

    def request(self, department: str, *, hook: bool, stream: bool = False) -> tuple[dict[str, Any], dict[str, str]]:
        """Body and headers. Without the hook the caller itself sends what the hook would put first."""
        found = self.policy.department(department)
        messages = [{"role": "user", "content": QUESTION}]
        if found.layers.prompt and not hook:
            messages.insert(0, {"role": "system", "content": self.policy.prompt_for(found.alias).body})
        body = {"model": found.alias, "messages": messages, "metadata": {"retrieval_score": 0.9}, "stream": stream}
        key = ("" if hook else "noop-") + department.removeprefix("direction-")
        return body, {"Authorization": f"Bearer sk-test-{key}"}

    def block(self, department: str, count: int, *, hook: bool) -> Block:
        """`count` requests one after the other."""
        body, headers = self.request(department, hook=hook)
        before, taken = cpu_seconds(self.server.pid), []
        for _ in range(count):
            start = time.perf_counter()
            answer = self.http.post(f"{self.server.url}/v1/chat/completions", json=body, headers=headers)
            taken.append(1000 * (time.perf_counter() - start))
            answer.raise_for_status()
        time.sleep(SETTLE)
        return Block(1000 * (cpu_seconds(self.server.pid) - before) / count, taken)

    def first_token(self, department: str, *, hook: bool) -> tuple[float, float]:
        """Milliseconds to the first words of a streamed answer, and to its end."""
        body, headers = self.request(department, hook=hook, stream=True)
        start, first = time.perf_counter(), None
        url = f"{self.server.url}/v1/chat/completions"
        with self.http.stream("POST", url, json=body, headers=headers) as answer:
            for chunk in answer.iter_raw():
                if first is None and b'"content":"' in chunk.replace(b'"content":""', b""):
                    first = time.perf_counter()
        end = time.perf_counter()
        return 1000 * ((first or end) - start), 1000 * (end - start)


def in_pairs(measure: Callable[[bool], Block], count: int) -> list[tuple[Block, Block]]:
    """`count` pairs (without, with the hook), the order changing from pair to pair."""
    done = []
    for number in range(count):
        order = (False, True) if number % 2 == 0 else (True, False)
        found = {which: measure(which) for which in order}
        done.append((found[False], found[True]))
    return done


def spread(values: list[float]) -> dict[str, float]:
    """Median and the 10th and 90th percentile."""
    cut = statistics.quantiles(values, n=10) if len(values) > 1 else values * 9
    return {"median": round(statistics.median(values), 3), "p10": round(cut[0], 3), "p90": round(cut[8], 3)}


def interval(values: list[float]) -> list[float]:
    """The order statistics between which the median lies with 95 % (binomial)."""
    ordered, half = sorted(values), 0.98 * len(values) ** 0.5
    low, high = int(len(values) / 2 - half), int(len(values) / 2 + half)
    return [round(ordered[max(0, low)], 3), round(ordered[min(len(values) - 1, high)], 3)]


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def cost(caller: Caller, model: ModelStub, scenario: Scenario, given: argparse.Namespace) -> dict[str, Any]:
    """The figures of one scenario."""
    model.answer = lambda _: say(scenario.answer)
    for hook in (False, True):
        caller.block(scenario.department, given.block, hook=hook)
    done = in_pairs(lambda hook: caller.block(scenario.department, given.block, hook=hook), given.pairs)
    added = [with_hook.cpu - without.cpu for without, with_hook in done]
    return {
        "scenario": scenario.name,
        "answer, characters": len(scenario.answer),
        "cpu ms a request without": spread([without.cpu for without, _ in done]),
        "cpu ms added": spread(added),
        "cpu ms added, 95 % interval of the median": interval(added),
        **{
            f"latency p{int(100 * share)} ratio": spread(
                [percentile(b.latencies, share) / percentile(a.latencies, share) for a, b in done]
            )
            for share in (0.5, 0.95)
        },
    }


def streams(caller: Caller, model: ModelStub, rounds: int) -> dict[str, dict[str, float]]:
    """Time to the first token: no screen, screen at the end, stream held back."""
    model.answer = lambda _: say(PLAIN[: 12 * STREAM_PIECES], piece=12, pause=STREAM_PAUSE)
    ways = (("none", RATED, False), ("append", RATED, True), ("buffer", "direction-finance", True))
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name, _, _ in ways}
    for number in range(rounds + 1):
        for name, department, hook in ways if number % 2 else reversed(ways):
            found = caller.first_token(department, hook=hook)
            if number:
                taken[name].append(found)
    return {
        name: {
            **{f"first token {k}": v for k, v in spread([first for first, _ in found]).items()},
            "end median": round(statistics.median([end for _, end in found]), 1),
        }
        for name, found in taken.items()
    }


def unrated_policy(directory: Path) -> Path:
    """The tests' policy, with the self-evaluation of one HIGH department off, to show what it costs by itself."""
    policy = policy_with(directory)
    path = policy / "departments.yaml"
    head, mark, rest = path.read_text(encoding="utf-8").partition(f"  - id: {UNRATED}\n")
    rest = rest.replace("self_evaluation: true", "self_evaluation: false", 1)
    path.write_text(head + mark + rest, encoding="utf-8")
    return policy


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--block", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=20, help="streams of each kind")
    parser.add_argument("--json", type=Path)
    given, _ = parser.parse_known_args()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = stack.enter_context(ModelStub())
        langfuse = stack.enter_context(LangfuseStandIn(keep_requests=10))
        keys = {"LANGFUSE_PUBLIC_KEY": langfuse.public_key, "LANGFUSE_SECRET_KEY": langfuse.secret_key}
        server = stack.enter_context(
            gateway(
                directory / "gateway",
                model.url,
                policy=unrated_policy(directory),
                callbacks=["switch.hook"],
                environment={**keys, "LANGFUSE_HOST": langfuse.url},
                settings={"success_callback": [], "failure_callback": []},
            )
        )
        caller = Caller(stack.enter_context(httpx.Client(timeout=60)), server)
        results = {
            "pairs": given.pairs,
            "requests a block": given.block,
            "cost": [cost(caller, model, scenario, given) for scenario in SCENARIOS],
            "time to first token, ms": streams(caller, model, given.rounds),
        }
    print(json.dumps(results, indent=2, ensure_ascii=False))
    if given.json:
        given.json.write_text(json.dumps(results, indent=2, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
