"""The sycophancy probes of a day: ask the assistants, have the judge read the positions, keep the outcome.

Assistants are asked through the gateway with the key of the environment, so what is probed is what that key may call.
An outcome is kept by day, department and triple: a re-run costs no call. Answers of assistants are not stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Annotated, Self

from compliance_guardrails.policy.strict import StrictModel, load_yaml
from compliance_guardrails.policy.types import Alias, Count, Id, Text
from pydantic import Field, model_validator

from compliance_pipelines.adapters.judge_asks import Session, ask_all
from compliance_pipelines.adapters.judge_client import Answer
from compliance_pipelines.adapters.judge_config import JudgeConfigError, endpoint
from compliance_pipelines.adapters.judge_files import PACKAGE, read_prompt
from compliance_pipelines.adapters.judge_pool import Ended
from compliance_pipelines.core.judge_prompt import FRAMING, POSITION_SCHEMA, position_messages
from compliance_pipelines.core.judge_reply import EMPTY, read_position
from compliance_pipelines.core.judge_samples import Identity, JudgementCache, Reading
from compliance_pipelines.core.records import Judgement
from compliance_pipelines.core.sycophancy import Framing, Probe, Triple, flip, probes, question_of, rows

MAX_ANSWER = 20_000
Asked = dict[str, tuple[Probe, Framing]]
SessionOf = Callable[[str], Session]


class _Triple(StrictModel):
    id: Id
    alias: Alias
    context: Text
    proposition: Text
    neutral: Text
    leading_for: Text
    leading_against: Text


class _Triples(StrictModel):
    version: Count
    triples: Annotated[tuple[_Triple, ...], Field(min_length=1, max_length=1000)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len({t.id for t in self.triples}) != len(self.triples):
            raise ValueError("des identifiants distincts")
        return self


def read_triples(folder: Path | None = None) -> tuple[Triple, ...]:
    """The shipped triples, or those of `folder`/anchors/probes.yaml; PolicyError in French."""
    found = load_yaml((folder or Path(str(resources.files(PACKAGE)))) / "anchors" / "probes.yaml", _Triples)
    return tuple(
        Triple(t.id, t.alias, t.context, t.proposition, {framing: getattr(t, framing.value) for framing in Framing})
        for t in found.triples
    )


def gateway(env: Mapping[str, str]) -> tuple[str, str] | None:
    """(address, key) of the gateway whose assistants are probed, None when none is configured; JudgeConfigError."""
    url, key = env.get("LITELLM_CI_URL", "").strip(), env.get("LITELLM_CI_KEY", "").strip()
    if not url:
        return None
    if not key:
        raise JudgeConfigError("LITELLM_CI_KEY manque : attendu la clé de la passerelle LITELLM_CI_URL")
    address = endpoint("LITELLM_CI_URL", url)
    return (address if address.endswith("/v1") else f"{address}/v1"), key


def probe_day(
    assistant: SessionOf,
    judge: Session,
    digest: str | None,
    cache: JudgementCache,
    departments: Mapping[str, str],
    day: date,
    count: int,
    triples: Sequence[Triple],
) -> list[Judgement]:
    """The day's rows for `departments` (id → alias). `assistant` gives the session that asks an alias.

    Raises JudgeConfigError when a key is refused or a model unknown.
    """
    prompt = read_prompt("position")
    shown = hashlib.sha256(repr([prompt, *(repr(t) for t in triples)]).encode()).hexdigest()
    evaluator = Identity(judge.settings.model, digest, shown, {"framing": FRAMING}).fingerprint.replace(
        "judge/", "sycophancy/", 1
    )
    asked = probes(departments, triples, day, count)
    keys = {probe.id: hashlib.sha256(probe.id.encode()).hexdigest() for probe in asked}
    known = cache.good(evaluator, list(keys.values()))
    readings = {probe.id: known[keys[probe.id]] for probe in asked if keys[probe.id] in known}
    fresh = [probe for probe in asked if probe.id not in readings]
    if fresh:
        positions = _positions(fresh, assistant, judge, prompt)
        for probe in fresh:
            readings[probe.id] = flip({framing: positions[probe.triple.id, framing] for framing in Framing})
            cache.put(evaluator, f"probes-{day}", keys[probe.id], readings[probe.id])
        cache.close(evaluator, f"probes-{day}", good=True)
    return rows(asked, readings, evaluator)


def _positions(
    fresh: Sequence[Probe], assistant: SessionOf, judge: Session, prompt: str
) -> dict[tuple[str, Framing], Reading]:
    """The position of each triple and framing; departments that share an alias and a triple share its answers."""
    triples = {probe.triple.id: probe.triple for probe in fresh}
    wanted = {f"{t.id}/{framing.value}": (t, framing) for t in triples.values() for framing in Framing}
    answers: dict[str, str] = {}
    found: dict[tuple[str, Framing], Reading] = {}
    for alias in sorted({t.alias for t in triples.values()}):
        own = {name: question_of(t, framing) for name, (t, framing) in wanted.items() if t.alias == alias}
        messages = {name: ({"role": "user", "content": text},) for name, text in own.items()}
        replies, ended = ask_all(assistant(alias), messages, None)
        for name in own:
            read = _text(replies.get(name), ended)
            if isinstance(read, str):
                answers[name] = read
            else:
                found[_place(wanted[name])] = read
    requests = {name: position_messages(prompt, wanted[name][0].proposition, text) for name, text in answers.items()}
    replies, ended = ask_all(judge, {name: messages for name, (messages, _) in requests.items()}, POSITION_SCHEMA)
    for name, (_, token) in requests.items():
        answer = replies.get(name)
        if answer is None or answer.content is None:
            found[_place(wanted[name])] = Reading(reason=_why(answer, ended))
        else:
            found[_place(wanted[name])] = read_position(answer.content, token)
    return found


def _place(of: tuple[Triple, Framing]) -> tuple[str, Framing]:
    return of[0].id, of[1]


def _text(answer: Answer | None, ended: Ended) -> str | Reading:
    if answer is None or answer.content is None:
        return Reading(reason=f"assistant_{_why(answer, ended)}")
    text = answer.content.strip()[:MAX_ANSWER]
    return text or Reading(reason=f"assistant_{EMPTY}")


def _why(answer: Answer | None, ended: Ended) -> str:
    return answer.reason or EMPTY if answer is not None else ended.value
