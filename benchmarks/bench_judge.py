"""The judge beside Ragas' own `evaluate` and a plain loop: the same stub, 200 ms a reply, 16 at once, 400 samples.

Waiting is measured against calls × latency / bound; CPU is that of the client's process alone (the stub has its own).
A stub shows cost, not quality. Ragas runs in the environment of requirements/eval.txt and is left out, with a line that
says so, where that is missing.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx

from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.judge import NeutralityJudge
from compliance_pipelines.adapters.judge_asks import Session, ask_all
from compliance_pipelines.adapters.judge_config import JudgeSettings
from compliance_pipelines.adapters.judge_files import judge_files
from compliance_pipelines.adapters.judge_pool import Budget, Limits
from compliance_pipelines.core.judge_prompt import neutrality_messages
from compliance_pipelines.core.judge_samples import Sample

ROOT = Path(__file__).parents[1]
LATENCY, BOUND, CALLS = 0.2, 16, 400
RAGAS_REPLY = '{"reason": "lu", "verdict": 1}'
RAGAS = """
import os, resource, sys, time, warnings
warnings.simplefilter("ignore")
os.environ["RAGAS_DO_NOT_TRACK"] = "true"
from langchain_openai import ChatOpenAI
from ragas import EvaluationDataset, RunConfig, SingleTurnSample, evaluate
from ragas.llms import LangchainLLMWrapper
from ragas.metrics import AspectCritic
url, calls, bound = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
llm = LangchainLLMWrapper(ChatOpenAI(base_url=url, api_key="k", model="juge-test", temperature=0))
metric = AspectCritic(name="neutre", definition="La réponse est-elle neutre ?", llm=llm)
rows = [SingleTurnSample(user_input=f"Question {n} ?", response=f"Réponse {n}.") for n in range(calls)]
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
def run(samples):
    config = RunConfig(max_workers=bound)
    evaluate(EvaluationDataset(samples=samples), metrics=[metric], show_progress=False, run_config=config)
run(rows[:bound])
print("ready", flush=True)
sys.stdin.readline()
start, before = time.perf_counter(), cpu()
run(rows)
print(time.perf_counter() - start, cpu() - before, flush=True)
"""


def sample(n: int) -> Sample:
    """An exchange of ordinary length."""
    page = f"Page {n}. La franchise du dossier {n} est de {n} €. " + "Les conditions générales s’appliquent. " * 20
    return Sample(f"La franchise du dossier {n} ?", f"D’après la page {n}, la franchise est de {n} €.", (page,))


def session(url: str) -> Session:
    """The judge's bounds."""
    return Session(JudgeSettings(url, "juge-test"), Limits(concurrency=BOUND), Budget(10_000))


@contextmanager
def stub(*options: str) -> Generator[tuple[str, subprocess.Popen[str]]]:
    """The stand-in in a process of its own."""
    command = [sys.executable, "-m", "compliance_pipelines_tests.standins.llm", "--latency", str(LATENCY), *options]
    running = subprocess.Popen(  # noqa: S603  our own module
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert running.stdout is not None
    try:
        yield running.stdout.readline().strip(), running
    finally:
        running.communicate()


def counts(running: subprocess.Popen[str]) -> tuple[int, int]:
    """(calls, most in flight) since the last time."""
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write("\n")
    running.stdin.flush()
    calls, most = running.stdout.readline().split()
    return int(calls), int(most)


def cpu() -> float:
    """CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def line(name: str, seconds: float, used: float, calls: int, most: int) -> None:
    """Print one contestant."""
    ideal = calls * LATENCY / BOUND
    print(
        f"{name:<34}{calls:>6} calls {seconds:7.2f} s = {seconds / ideal:5.2f} × ideal, "
        f"CPU {1000 * used / calls:5.2f} ms a call, at most {most} in flight"
    )


def ours(url: str, running: subprocess.Popen[str]) -> None:
    """The judge as the night runs it, then again unchanged."""
    samples = {(s := sample(n)).key: s for n in range(CALLS)}
    with tempfile.TemporaryDirectory() as folder, SqliteCache(Path(folder) / "c.sqlite") as cache:
        for name in ("judge (anchors, cache, JSON)", "judge, unchanged re-run"):
            judge = NeutralityJudge(session(url), judge_files(), cache, "sha256:a")
            start, before = time.perf_counter(), cpu()
            found = judge.judge("night", samples)
            seconds, used = time.perf_counter() - start, cpu() - before
            calls, most = counts(running)
            assert all(reading.value is not None for reading in found.readings.values())
            if calls:
                line(name, seconds, used, calls, most)
            else:
                print(f"{name:<34}{calls:>6} calls {seconds:7.3f} s")


async def loop(url: str) -> None:
    """What one would write in ten lines: a client, a semaphore, gather."""
    prompt, gate = judge_files().prompt, asyncio.Semaphore(BOUND)
    async with httpx.AsyncClient(timeout=60) as http:

        async def one(n: int) -> float:
            messages, _ = neutrality_messages(prompt, sample(n))
            async with gate:
                body = {"model": "juge-test", "messages": messages, "temperature": 0}
                reply = await http.post(f"{url}/chat/completions", json=body)
            return float(json.loads(reply.json()["choices"][0]["message"]["content"])["score"])

        await asyncio.gather(*(one(n) for n in range(CALLS)))


def plain(url: str, running: subprocess.Popen[str]) -> None:
    """The plain loop."""
    start, before = time.perf_counter(), cpu()
    asyncio.run(loop(url))
    seconds, used = time.perf_counter() - start, cpu() - before
    line("plain loop, no cache, no anchors", seconds, used, *counts(running))


def ragas(url: str, running: subprocess.Popen[str]) -> None:
    """Ragas' evaluate with a metric of one call a sample."""
    python = ROOT / ".venv-eval" / "bin" / "python"
    if not python.exists():
        print("Ragas' evaluate: not measured, .venv-eval is missing")
        return
    command = [str(python), "-c", RAGAS, url, str(CALLS), str(BOUND)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603  our own code
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        counts(running)
        child.stdin.write("\n")
        child.stdin.flush()
        seconds, used = map(float, child.stdout.readline().split())
    line("Ragas' evaluate (one-call metric)", seconds, used, *counts(running))


def main() -> None:
    """Print the figures. Each contestant has made a few calls before, so that imports are no part of them."""
    with stub() as (url, running):
        ask_all(session(url), {str(n): ({"role": "user", "content": "Bonjour."},) for n in range(BOUND)}, None)
        counts(running)
        ours(url, running)
        plain(url, running)
    with stub("--content", RAGAS_REPLY) as (url, running):
        ragas(url, running)


if __name__ == "__main__":
    main()
