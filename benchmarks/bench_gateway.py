"""What the hook costs a real LiteLLM proxy, beside the same proxy with a callback that does nothing.

    python -m benchmarks.bench_gateway [--pairs 40] [--block 25] [--json FILE]

Both proxies run at once; blocks of requests alternate between them and change order from pair to pair, so that drift of
the machine falls on both. Each pair gives one difference: the servers' own CPU time (from /proc) and the callers'
latency. The model is a stub on loopback; the Langfuse that the hook reports to is a stand-in. Needs .venv-litellm.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from compliance_pipelines_tests.services.litellm.gateway import Gateway, gateway
from compliance_pipelines_tests.services.litellm.mock_model import ModelStub, say
from compliance_pipelines_tests.services.litellm.setup import policy_with
from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn

QUESTION = "Pouvez-vous me rappeler la marche à suivre pour un dégât des eaux dans un appartement loué ?"
PLAIN = (
    "Votre demande porte sur un dossier de dégât des eaux. Vous pouvez joindre les photographies, le constat amiable "
    "et les coordonnées du voisin concerné. Le gestionnaire vérifie ensuite que chaque pièce est lisible, puis "
    "transmet le dossier à l’expert. "
) * 9
CITED = (
    PLAIN + "Selon les Conditions générales, p. 12, la franchise est de 150 € et le délai de déclaration de 5 jours. "
)
STREAM_PIECES, STREAM_PAUSE = 60, 0.005
SETTLE = 0.15
"""Seconds after a block in which the server finishes what it does off the request path; they count for it."""


@dataclass(frozen=True)
class Scenario:
    """One kind of request: the key that sends it and the answer that the model gives."""

    name: str
    key: str
    answer: str


SCENARIOS = (
    Scenario("LOW department, 2 KB answer", "it", PLAIN),
    Scenario("CRITICAL department, 2 KB answer without claims", "sinistres", PLAIN),
    Scenario("CRITICAL department, 2 KB answer with cited claims, self-evaluation", "sinistres", CITED),
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


def block(http: httpx.Client, server: Gateway, key: str, count: int) -> Block:
    """`count` requests one after the other."""
    body = {
        "model": "claims-assistant", "messages": [{"role": "user", "content": QUESTION}],
        "metadata": {"retrieval_score": 0.9},
    }  # fmt: skip
    headers = {"Authorization": f"Bearer sk-test-{key}"}
    before, taken = cpu_seconds(server.pid), []
    for _ in range(count):
        start = time.perf_counter()
        answer = http.post(f"{server.url}/v1/chat/completions", json=body, headers=headers)
        taken.append(1000 * (time.perf_counter() - start))
        answer.raise_for_status()
    time.sleep(SETTLE)
    return Block(1000 * (cpu_seconds(server.pid) - before) / count, taken)


def pairs(measure: Callable[[int], Block], count: int) -> list[tuple[Block, Block]]:
    """`count` pairs (without, with the hook), the order changing from pair to pair."""
    done = []
    for number in range(count):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        found = {which: measure(which) for which in order}
        done.append((found[0], found[1]))
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


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the sorted values lie."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def first_token(http: httpx.Client, server: Gateway, key: str) -> tuple[float, float]:
    """Milliseconds to the first word of a streamed answer, and to its end."""
    body = {
        "model": "claims-assistant", "messages": [{"role": "user", "content": QUESTION}], "stream": True,
        "metadata": {"retrieval_score": 0.9},
    }  # fmt: skip
    start, first = time.perf_counter(), None
    headers = {"Authorization": f"Bearer sk-test-{key}"}
    with http.stream("POST", f"{server.url}/v1/chat/completions", json=body, headers=headers) as answer:
        for chunk in answer.iter_raw():
            if first is None and b'"content":"' in chunk.replace(b'"content":""', b""):
                first = time.perf_counter()
    end = time.perf_counter()
    return 1000 * ((first or end) - start), 1000 * (end - start)


def cost(http: httpx.Client, servers: list[Gateway], model: ModelStub, scenario: Scenario, given: argparse.Namespace):
    """The figures of one scenario."""
    model.answer = lambda _: say(scenario.answer)
    for server in servers:
        block(http, server, scenario.key, given.block)
    done = pairs(lambda which: block(http, servers[which], scenario.key, given.block), given.pairs)
    ratios = {
        f"latency p{int(100 * share)} ratio": spread(
            [percentile(b.latencies, share) / percentile(a.latencies, share) for a, b in done]
        )
        for share in (0.5, 0.95)
    }
    return {
        "scenario": scenario.name,
        "cpu ms a request without": spread([a.cpu for a, _ in done]),
        "cpu ms a request with": spread([b.cpu for _, b in done]),
        "cpu ms added": spread([b.cpu - a.cpu for a, b in done]),
        "cpu ms added, 95 % interval of the median": interval([b.cpu - a.cpu for a, b in done]),
        **ratios,
    }


def streams(http: httpx.Client, servers: list[Gateway], model: ModelStub, rounds: int) -> dict[str, dict[str, float]]:
    """Time to the first token: no screen, screen at the end, stream held back."""
    text = PLAIN[: 12 * STREAM_PIECES]
    model.answer = lambda _: say(text, piece=12, pause=STREAM_PAUSE)
    ways = (("none", servers[0], "sinistres"), ("append", servers[1], "sinistres"), ("buffer", servers[1], "finance"))
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name, _, _ in ways}
    for number in range(rounds + 1):
        for name, server, key in ways if number % 2 else reversed(ways):
            found = first_token(http, server, key)
            if number:
                taken[name].append(found)
    return {
        name: {
            **{f"first token {k}": v for k, v in spread([first for first, _ in found]).items()},
            "end median": round(statistics.median([end for _, end in found]), 1),
        }
        for name, found in taken.items()
    }


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
        policy = policy_with(directory)
        keys = {"LANGFUSE_PUBLIC_KEY": langfuse.public_key, "LANGFUSE_SECRET_KEY": langfuse.secret_key}
        reports = {**keys, "LANGFUSE_HOST": langfuse.url}
        servers = [
            stack.enter_context(
                gateway(
                    directory / name, model.url, policy=policy, callbacks=[callback], environment=reports,
                    settings={"success_callback": [], "failure_callback": []},
                )
            )
            for name, callback in (("without", "noop.hook"), ("with", "compliance_guardrails.litellm_hook.hook"))
        ]  # fmt: skip
        http = stack.enter_context(httpx.Client(timeout=60))
        results = {
            "pairs": given.pairs,
            "requests a block": given.block,
            "cost": [cost(http, servers, model, scenario, given) for scenario in SCENARIOS],
            "time to first token, ms": streams(http, servers, model, given.rounds),
            "scenarios": [asdict(scenario) | {"answer": len(scenario.answer)} for scenario in SCENARIOS],
        }
    print(json.dumps(results, indent=2, ensure_ascii=False))
    if given.json:
        given.json.write_text(json.dumps(results, indent=2, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
