"""Ragas 0.4 metrics over the judge's endpoint and the configured embeddings, with French prompts of our own.

Ragas computes; calls go through the judge's pool (bounds, retries, budget, outage) and replies are kept by content, so
Ragas never opens a connection. The trace's text is framed as data in every prompt, and a reply that Ragas would quietly
make a score of (half the verdicts, a verdict of 7) gives none. Extra `[eval]`: imported when used, no telemetry.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pydantic import BaseModel, ValidationError

from compliance_pipelines.adapters.embeddings import Embedder, EmbeddingError
from compliance_pipelines.adapters.judge_asks import PARAMETERS, Session, run_alone
from compliance_pipelines.adapters.judge_client import Answer, ChatClient
from compliance_pipelines.adapters.judge_files import read_prompt
from compliance_pipelines.adapters.judge_pool import Ended, Task
from compliance_pipelines.core.judge_prompt import FRAMING, framed, tame, token_of
from compliance_pipelines.core.judge_reply import BAD_SHAPE, EMPTY, NOT_JSON
from compliance_pipelines.core.judge_samples import Identity, JudgementCache, Reading, Sample
from compliance_pipelines.core.ragas_samples import NEEDS_CONTEXT, OUT_OF_RANGE, RagasMetric, ragas_key, reading

VERSION = "0.4"
PROMPTS = ("ragas_affirmations", "ragas_appuis", "ragas_question", "ragas_utilite")
NO_EMBEDDING = "no_embedding"
RAGAS_ERROR = "ragas_error"
# the statements of an answer, then each again with a reason: longer than a judge's two sentences
RAGAS_PARAMETERS: Mapping[str, object] = {**PARAMETERS, "max_tokens": 3000}
Ask = Callable[[str, type[BaseModel]], Awaitable[Any]]
MetricOf = Callable[[RagasMetric, Ask], Any]


class RagasUnavailableError(RuntimeError):
    """The extra `[eval]` is not installed: one French line."""


class _CallFailedError(Exception):
    """A call inside a metric gave no usable reply; the pool decides what follows."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer


def installed() -> bool:
    """Whether Ragas can be imported, without importing it."""
    return find_spec("ragas") is not None


@dataclass(frozen=True, slots=True)
class _Work:
    """One metric on one sample."""

    metric: RagasMetric
    sample: Sample

    @property
    def key(self) -> str:
        """Where its reading is kept."""
        return ragas_key(self.metric, self.sample)

    @property
    def calls(self) -> int:
        """How many it takes: statements then verdicts; one question; each document."""
        each = {RagasMetric.FAITHFULNESS: 2, RagasMetric.ANSWER_RELEVANCY: 1}
        return each.get(self.metric, len(self.sample.contexts))


class RagasEvaluator:
    """Scores samples; construct it once a run. RagasUnavailableError without the extra."""

    def __init__(self, session: Session, embedder: Embedder, cache: JudgementCache, digest: str | None) -> None:
        if not installed():
            raise RagasUnavailableError("Ragas absent : installer l'extra [eval] (requirements/eval.txt)")
        self._session, self._embedder, self._cache = session, embedder, cache
        self._prompts = {name: read_prompt(name) for name in PROMPTS}
        prompts = hashlib.sha256("\n".join(self._prompts.values()).encode()).hexdigest()
        parameters = {**RAGAS_PARAMETERS, "framing": FRAMING, "ragas": VERSION, "embedding": embedder.identity}
        identity = Identity(session.settings.model, digest, prompts, parameters)
        self.evaluator = identity.fingerprint.replace("judge/", "ragas/", 1)
        self._metric_of = _metrics(self._prompts, embedder)

    def evaluate(self, label: str, samples: Iterable[tuple[RagasMetric, Sample]]) -> tuple[dict[str, Reading], Ended]:
        """(readings by content key, why it ended) for every metric and sample; nothing is asked twice.

        Raises JudgeConfigError when the judge's key is refused or its model unknown.
        """
        works = {(w := _Work(metric, sample)).key: w for metric, sample in samples}
        found = self._cache.good(self.evaluator, list(works))
        paid, _ = self._cache.resume(self.evaluator, label)
        found.update((key, read) for key, read in paid.items() if key in works)
        fresh = [work for key, work in works.items() if key not in found]
        ended = run_alone(self._run(label, fresh, found)) if fresh else Ended.DONE
        self._cache.close(self.evaluator, label, good=True)
        left = Reading(reason=ended.value)
        return {key: found.get(key, left) for key in works}, ended

    async def _run(self, label: str, fresh: list[_Work], found: dict[str, Reading]) -> Ended:
        async with self._session.client(RAGAS_PARAMETERS) as client:
            # a metric of many calls that is tried again pays only for what it had no reply to
            paid: dict[str, dict[str, str]] = {}

            async def call(work: _Work) -> Answer:
                asker = _Asker(client, self._session, paid.setdefault(work.key, {}))
                try:
                    result = await _score(self._metric_of(work.metric, asker.ask), work)
                except _CallFailedError as failed:
                    return failed.answer
                except EmbeddingError:
                    return Answer(reason=NO_EMBEDDING)
                except (ValueError, ArithmeticError, LookupError):
                    # one exchange that Ragas cannot take must not cost the night
                    return Answer(reason=RAGAS_ERROR)
                if math.isnan(result.value) and work.metric is RagasMetric.ANSWER_RELEVANCY:
                    return Answer(reason=NO_EMBEDDING)  # vectors without a direction
                return Answer(content=repr(float(result.value)))

            def answered(work: _Work, answer: Answer) -> bool:
                paid.pop(work.key, None)
                read = reading(float(answer.content)) if answer.content is not None else Reading(reason=answer.reason)
                found[work.key] = read
                if not answer.retry:
                    self._cache.put(self.evaluator, label, work.key, read)
                return False

            return await self._session.pool(call, answered).run(Task(work, more=work.calls - 1) for work in fresh)


class _Asker:
    """The calls of one metric on one sample; the pool has counted the first of them. `paid`: replies by prompt."""

    def __init__(self, client: ChatClient, session: Session, paid: dict[str, str]) -> None:
        self._client, self._session, self._paid = client, session, paid
        self._calls = 0
        self._statements: int | None = None

    async def ask(self, prompt: str, model: type[BaseModel]) -> Any:
        """A reply that is a valid `model`; _CallFailedError otherwise."""
        if prompt not in self._paid:
            self._paid[prompt] = await self._reply(prompt, model)
        try:
            found = model.model_validate_json(self._paid[prompt])
        except ValidationError:
            raise _CallFailedError(Answer(reason=NOT_JSON)) from None
        said = found.model_dump()
        if (fault := _fault(said, self._statements)) is not None:
            raise _CallFailedError(Answer(reason=fault))
        self._statements = len(said["statements"]) if "statements" in said else None
        return found

    async def _reply(self, prompt: str, model: type[BaseModel]) -> str:
        # the pool has kept their place in the budget
        self._session.budget.sent += self._calls > 0
        self._calls += 1
        messages = ({"role": "user", "content": prompt},)
        answer = await self._client.ask(messages, model.model_json_schema(), self._session.timing.wall)
        if answer.content is None:
            raise _CallFailedError(answer)
        if not answer.content.strip():
            raise _CallFailedError(Answer(reason=EMPTY))
        return answer.content


def _fault(said: Mapping[str, Any], statements: int | None) -> str | None:
    """What is wrong with a reply, where Ragas checks types alone. `statements`: how many await a verdict."""
    rows = said.get("statements", [])
    judged = [row for row in rows if isinstance(row, dict)]
    verdicts = [said.get("verdict", 0), said.get("noncommittal", 0), *(row["verdict"] for row in judged)]
    if any(verdict not in (0, 1) for verdict in verdicts):
        return OUT_OF_RANGE
    # an answer that evades leaves no question to find
    unasked = "question" in said and not said["question"].strip() and not said["noncommittal"]
    blank = any(isinstance(row, str) and not row.strip() for row in rows)
    return BAD_SHAPE if unasked or blank or (statements is not None and len(judged) != statements) else None


async def _score(metric: Any, work: _Work) -> Any:
    given: dict[str, Any] = {"user_input": work.sample.question, "response": work.sample.answer}
    if work.metric in NEEDS_CONTEXT:
        given["retrieved_contexts"] = list(work.sample.contexts)
    return await metric.ascore(**given)


def _metrics(prompts: Mapping[str, str], embedder: Embedder) -> MetricOf:
    """A maker of metrics over Ragas' own classes, which exist once it is imported."""
    os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
    # by name: the type checker's environment does not hold the extra
    base_llm: Any = import_module("ragas.llms.base").InstructorBaseRagasLLM
    base_embedding: Any = import_module("ragas.embeddings.base").BaseRagasEmbedding
    collections = import_module("ragas.metrics.collections")

    class JudgeLLM(base_llm):
        """Ragas' model, answered by the pool."""

        def __init__(self, ask: Ask) -> None:
            self._ask = ask

        def generate(self, prompt: str, response_model: type[BaseModel]) -> Any:
            raise NotImplementedError("only the asynchronous interface is used")

        async def agenerate(self, prompt: str, response_model: type[BaseModel]) -> Any:
            return await self._ask(prompt, response_model)

    class Embeddings(base_embedding):
        """Ragas' embeddings, answered by ours."""

        def embed_text(self, text: str, **_: Any) -> list[float]:
            return embedder.embed([text])[0]

        async def aembed_text(self, text: str, **_: Any) -> list[float]:
            return (await asyncio.to_thread(embedder.embed, [text]))[0]

        async def aembed_texts(self, texts: list[str], **_: Any) -> list[list[float]]:
            return await asyncio.to_thread(embedder.embed, texts)

    embeddings = Embeddings()

    def make(metric: RagasMetric, ask: Ask) -> Any:
        llm = JudgeLLM(ask)
        if metric is RagasMetric.FAITHFULNESS:
            made = collections.Faithfulness(llm=llm)
            _french(made.statement_generator_prompt, prompts["ragas_affirmations"])
            _french(made.nli_statement_prompt, prompts["ragas_appuis"])
        elif metric is RagasMetric.ANSWER_RELEVANCY:
            # at temperature 0 a second question would be the first again
            made = collections.AnswerRelevancy(llm=llm, embeddings=embeddings, strictness=1)
            _french(made.prompt, prompts["ragas_question"])
        else:
            made = collections.ContextPrecisionWithoutReference(llm=llm)
            _french(made.prompt, prompts["ragas_utilite"])
        return made

    return make


def _french(prompt: Any, text: str) -> None:
    """Give a Ragas prompt our instruction, no English examples, and its data in frames."""

    def to_string(data: BaseModel) -> str:
        parts = {name: _flat(value) for name, value in data.model_dump(exclude_none=True).items()}
        token = token_of(list(parts.values()))
        pieces = [framed(name, value, token) for name, value in parts.items()]
        closing = "Répondez par un objet JSON conforme au schéma demandé, et rien d’autre."
        return "\n\n".join([text.replace("{jeton}", token), *pieces, closing])

    prompt.to_string = to_string
    prompt.instruction, prompt.examples, prompt.language = text, [], "french"


def _flat(value: Any) -> str:
    return "\n".join(f"- {tame(str(item))}" for item in value) if isinstance(value, list) else str(value)
