"""The LiteLLM hook: `callbacks: ["compliance_guardrails.litellm_hook.hook"]`. The only module that imports litellm.

It carries out what `decisions` decides, on /v1/chat/completions, /v1/completions, /v1/messages and /v1/responses,
streamed or not. An own failure never takes the gateway down: it is counted, logged without text, and the call goes on
or is refused as the policy's `on_error` says. No network on the request path but the self-evaluation.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from fastapi import HTTPException  # ty: ignore[import-not-found]
from litellm.integrations.custom_logger import CustomLogger  # ty: ignore[import-not-found]

from . import calls, events, selfeval
from .answers import blocked_codes, error_detail, findings_of, headers_of
from .calls import Call
from .decisions import After, after, before
from .detect.evidence import BiasDetectedError, BiasScreen
from .events import Delivered
from .metrics import Metric, Stage
from .payloads import Endpoint, Slot, endpoint_of, put, question_of, slots_of, texts_of, without_sources
from .policy.types import OnError, Stream
from .runtime import LOG, Runtime, show_log
from .selfeval import Outcome
from .streams import FINDINGS_KEY, GAP, StreamGuard
from .streams_events import dialect_of

_OFF_LOOP: Final = 200_000
"""Texts longer than this many characters are examined in a thread, so that other calls go on meanwhile."""

_ATTRIBUTE: Final = "compliance_guardrails_call"


class RefusedError(HTTPException):
    """A refusal of the hook. `message` is what the gateway shows people where it has no room for the detail."""

    def __init__(self, status: int, message: str, reason: str, **codes: Any) -> None:
        super().__init__(status, detail=error_detail(message, reason, codes))
        self.message = message


class RetrievalGroundingHook(CustomLogger):
    """Grounding gate, department prompt and routing, citation check, self-evaluation, attribute flag, bias screen."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self.runtime = runtime
        self._defers = _deferral_known()

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any] | None:
        """Decide a call before the model; HTTP 400 when it is refused."""
        del cache
        endpoint = endpoint_of(call_type)
        if endpoint is None:
            return None
        runtime, started = self.runtime, time.perf_counter()
        try:
            refusal = await self._before(user_api_key_dict, data, endpoint)
        except Exception as error:  # noqa: BLE001 - an own failure must not take the gateway down
            self._failed(Stage.PRE_CALL, error)
            return data
        runtime.metrics.observe(Stage.PRE_CALL, time.perf_counter() - started)
        if refusal is not None:
            raise RefusedError(400, refusal, "retrieval_gate_blocked")
        return data

    async def _before(self, key: Any, data: dict[str, Any], endpoint: Endpoint) -> str | None:
        runtime = self.runtime
        runtime.follow_the_day()
        policy = runtime.policy
        origin = runtime.origin_of(calls.caller_of(key))
        if calls.key_flag(key, calls.EXEMPT):
            runtime.metrics.count(Metric.REQUESTS, (origin.department, Stage.EXEMPT))
            return None
        call = calls.open_call(data, endpoint, key, origin)
        _remember(data, call)
        runtime.metrics.count(Metric.REQUESTS, (origin.department, Stage.PRE_CALL))
        asked = question_of(data, endpoint)
        question = without_sources(asked)
        places = calls.score_places(data)
        decide = partial(before, policy, runtime.rules, origin, data.get("model"), places, question)
        decision = decide() if len(question) <= _OFF_LOOP else await asyncio.to_thread(decide)
        if policy.department(origin.department).layers.grounding:
            runtime.metrics.count(Metric.REQUESTS, (origin.department, Stage.GROUNDING))
        runtime.report(call.trace_id, decision.events)
        if decision.refusal is not None:
            calls.stamp_refusal(data, call)
            call.finished = True
            return decision.refusal
        calls.carry_out(data, call, decision, asked)
        calls.stamp(data, call)
        if self._defers and data.get("stream") is not True:
            # The log record is written after the answer is judged, so that it shows what the user saw.
            data["litellm_logging_obj"].defer_async_logging = True
        return None

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """Judge a whole answer and change it in place; HTTP 400 when it is blocked."""
        del user_api_key_dict
        call = _call_of(data)
        if call is None or call.finished:
            return response
        try:
            slots = slots_of(response)
            verdict = await self._judge(call, texts_of(slots)) if slots else None
            if verdict is not None and verdict.block is None:
                self._deliver(call, slots, response, verdict)
                calls.stamp(data, call)
        except Exception as error:  # noqa: BLE001 - an own failure must not take the gateway down
            self._failed(Stage.POST_CALL, error)
            return response
        if verdict is not None and verdict.block is not None:
            self._refuse_biased(data, call, verdict.block)
        return response

    async def _judge(self, call: Call, texts: Sequence[str]) -> After:
        """Examine an answer, ask the small model where needed, report; fills `call.notices` and `call.headers`."""
        runtime, started = self.runtime, time.perf_counter()
        policy = runtime.policy
        department = call.origin.department
        examine = partial(after, policy, runtime.rules, call.origin, texts)
        verdict = examine() if sum(map(len, texts)) <= _OFF_LOOP else await asyncio.to_thread(examine)
        runtime.metrics.observe(Stage.POST_CALL, time.perf_counter() - started)
        runtime.metrics.count(Metric.REQUESTS, (department, Stage.POST_CALL))
        call.headers.update(headers_of(verdict, policy.guardrails.bias_screen_of(department).action))
        low = await self._self_evaluate(call, texts, verdict.doubtful)
        for at in low:
            call.notices[at] = policy.guardrails.messages.low_self_confidence
        doubt = (events.low_confidence(call.origin, 1),) if low else ()
        call.finished = True
        runtime.count_findings(department, [choice.screen for choice in verdict.choices])
        runtime.report(call.trace_id, (*verdict.events, *doubt), verdict.scores)
        return verdict

    def _deliver(self, call: Call, slots: Sequence[Slot], response: Any, verdict: After) -> None:
        """Put notices and findings into a whole answer."""
        for at, notice in call.notices.items():
            shown = [slot for slot in slots if slot.choice == at and slot.shown]
            for slot in shown[:1]:
                slot.replace(notice + GAP + slot.text)
                call.delivered = Delivered.PREPENDED
        if verdict.warn:
            put(response, FINDINGS_KEY, findings_of(verdict.warn))

    def _refuse_biased(self, data: dict[str, Any], call: Call, screen: BiasScreen) -> None:
        calls.stamp_refusal(data, call)
        policy = self.runtime.policy
        contact = policy.department(call.origin.department).contact
        cause = BiasDetectedError(screen.findings, screen.total, screen.threshold, screen.domain)
        message = policy.guardrails.messages.bias_blocked.format(contact=contact)
        raise RefusedError(400, message, "bias_detected", **blocked_codes(screen)) from cause

    async def _self_evaluate(self, call: Call, texts: Sequence[str], choices: Sequence[int]) -> tuple[int, ...]:
        """The choices that the small model rates at the bottom. A failure is an outcome, never an error."""
        if not choices:
            return ()
        asked = choices[: selfeval.MAX_CHOICES]
        ratings = [self._rate(call.question, texts[at]) for at in asked]
        # One choice is the usual case, and needs no task of its own.
        outcomes = [await ratings[0]] if len(ratings) == 1 else await asyncio.gather(*ratings)
        for outcome in outcomes:
            self.runtime.metrics.count(Metric.SELF_EVALUATION, (call.origin.department, outcome))
        return tuple(at for at, outcome in zip(asked, outcomes, strict=True) if outcome is Outcome.LOW)

    async def _rate(self, question: str, answer: str) -> Outcome:
        rule = self.runtime.policy.guardrails.self_evaluation
        started = time.perf_counter()
        try:
            reply = await asyncio.wait_for(
                _complete(self.runtime.self_evaluation_model or rule.model, question, answer, rule.timeout_seconds),
                rule.timeout_seconds,
            )
        except TimeoutError:
            return Outcome.TIMEOUT
        except Exception as error:  # noqa: BLE001 - whatever the model server does, the answer goes on
            # LiteLLM wraps a time-out of the model server in its own class.
            timed_out = "timeout" in type(error).__name__.lower()
            return Outcome.TIMEOUT if timed_out else Outcome.UNAVAILABLE
        finally:
            self.runtime.metrics.observe(Stage.SELF_EVALUATION, time.perf_counter() - started)
        return selfeval.outcome_of(reply)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Judge a streamed answer: held back whole, or let through but for its end, as the policy says."""
        del user_api_key_dict
        call = _call_of(request_data)
        if call is None or call.finished:
            async for chunk in response:
                yield chunk
            return
        rule = self.runtime.policy.guardrails.bias_screen_of(call.origin.department)
        guard = StreamGuard(dialect_of(call.endpoint), buffer=rule.stream is Stream.BUFFER)
        self._defer_stream_log(request_data, call, guard)
        try:
            async for chunk in response:
                for piece in self._fed(guard, chunk):
                    yield piece
            for piece in await self._close(request_data, call, guard):
                yield piece
        except (GeneratorExit, asyncio.CancelledError):
            self._hung_up(call, guard)
            raise

    def _fed(self, guard: StreamGuard, chunk: Any) -> list[Any]:
        """What may go out now that `chunk` has come."""
        if guard.broken:
            return [chunk]
        try:
            return guard.feed(chunk)
        except Exception as error:  # noqa: BLE001 - an own failure must not cut the stream
            self._failed(Stage.STREAM, error)
            return guard.give_up()

    async def _close(self, data: dict[str, Any], call: Call, guard: StreamGuard) -> list[Any]:
        """The pieces still held, with notices and findings; HTTP 400 when the answer is blocked."""
        if guard.broken:
            return []
        try:
            verdict = await self._judge(call, guard.texts())
            if verdict.block is None:
                pieces = guard.finish(call.notices, findings_of(verdict.warn) if verdict.warn else None)
                if call.notices:
                    call.delivered = Delivered.PREPENDED if guard.buffer else Delivered.APPENDED
                calls.stamp(data, call)
                return pieces
        except Exception as error:  # noqa: BLE001 - an own failure must not cut the stream
            self._failed(Stage.STREAM, error)
            return guard.give_up()
        self._refuse_biased(data, call, verdict.block)
        return []

    def _hung_up(self, call: Call, guard: StreamGuard) -> None:
        """The client left: what it has seen so far is judged all the same, without the small model."""
        if call.finished or guard.broken or guard.buffer:
            return
        call.finished = True
        try:
            verdict = after(self.runtime.policy, self.runtime.rules, call.origin, guard.texts())
            self.runtime.report(call.trace_id, verdict.events, verdict.scores)
        except Exception as error:  # noqa: BLE001 - the client is gone; nothing else may fail
            self.runtime.failed(Stage.STREAM, error)

    def _defer_stream_log(self, data: Mapping[str, Any], call: Call, guard: StreamGuard) -> None:
        """Have the log record of a stream written after it is judged, with the text that was delivered."""
        record = data.get("litellm_logging_obj")
        if self._defers and record is not None and getattr(record, "_on_deferred_stream_complete", None) is None:
            record._on_deferred_stream_complete = partial(_log_stream, record, call, guard)

    async def async_post_call_response_headers_hook(
        self,
        data: dict[str, Any],
        user_api_key_dict: Any,
        response: Any,
        request_headers: dict[str, str] | None = None,
        litellm_call_info: dict[str, Any] | None = None,
    ) -> dict[str, str] | None:
        """Codes and totals of the bias screen, the trace id, and for gate keys the HMAC of the masked prompt."""
        del user_api_key_dict, response, request_headers, litellm_call_info
        call = _call_of(data)
        if call is None:
            return None
        headers = {"x-compliance-trace-id": call.trace_id, **call.headers}
        try:
            if call.gate_key and self.runtime.hmac_key is not None:
                headers["x-compliance-prompt-hmac"] = calls.prompt_hmac(data, call, self.runtime.hmac_key)
        except Exception as error:  # noqa: BLE001 - a header is not worth a failed answer
            self.runtime.failed(Stage.HEADERS, error)
        return headers

    def _failed(self, stage: Stage, error: Exception) -> None:
        """Count and log an own failure; refuse the call when the policy says so."""
        self.runtime.failed(stage, error)
        rules = self.runtime.policy.guardrails
        if rules.on_error is OnError.REFUSE:
            raise RefusedError(503, rules.messages.guardrail_failed, "guardrail_error") from None


def _remember(data: Mapping[str, Any], call: Call) -> None:
    """Keep the call on the gateway's own record of the request, which lives exactly as long as the request."""
    record = data.get("litellm_logging_obj")
    if record is None:
        raise LookupError("the gateway keeps no record of this request, so its answer could not be judged")
    setattr(record, _ATTRIBUTE, call)


def _call_of(data: Mapping[str, Any]) -> Call | None:
    return getattr(data.get("litellm_logging_obj"), _ATTRIBUTE, None)


async def _complete(model: str, question: str, answer: str, seconds: float) -> Any:
    """The small model's reply, through the gateway's own router, kept out of the traces."""
    from litellm.proxy.proxy_server import llm_router  # ty: ignore[import-not-found]

    if llm_router is None:
        raise RuntimeError("the gateway has no router")
    asked: Any = selfeval.messages(question, answer)
    reply: Any = await llm_router.acompletion(
        model=model,
        messages=asked,
        max_tokens=selfeval.MAX_TOKENS,
        temperature=0,
        timeout=seconds,
        num_retries=0,
        **{"no-log": True},
    )
    return reply.choices[0].message.content


def _deferral_known() -> bool:
    """Whether this LiteLLM writes a log record when asked to, after the hooks: without that nothing is deferred."""
    try:
        from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER  # ty: ignore[import-not-found]
        from litellm.proxy.common_request_processing import ProxyBaseLLMRequestProcessing  # ty: ignore[import-not-found]
        from litellm.proxy.utils import ProxyLogging  # ty: ignore[import-not-found]
    except ImportError:
        return False
    return (
        hasattr(ProxyBaseLLMRequestProcessing, "_flush_deferred_async_logging")
        and hasattr(ProxyLogging, "fire_deferred_stream_logging")
        and hasattr(GLOBAL_LOGGING_WORKER, "ensure_initialized_and_enqueue")
    )


async def _log_stream(record: Any, call: Call, guard: StreamGuard, *stored: Any) -> None:
    """Write the log record of a finished stream: a ready coroutine, or the assembled answer with its cache mark."""
    if len(stored) == 1 and asyncio.iscoroutine(stored[0]):
        from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER  # ty: ignore[import-not-found]

        GLOBAL_LOGGING_WORKER.ensure_initialized_and_enqueue(async_coroutine=stored[0])
        return
    assembled, cache_hit = stored
    for slot in slots_of(assembled) if call.delivered is not Delivered.UNCHANGED else ():
        notice = call.notices.get(slot.choice)
        if notice and slot.shown:
            slot.replace(notice + GAP + slot.text if guard.buffer else slot.text + GAP + notice)
    await record.dispatch_success_handlers(
        assembled, cache_hit=cache_hit, start_time=None, end_time=None, prefer_async_handlers=True
    )


def _load() -> RetrievalGroundingHook:
    show_log()
    runtime = Runtime(os.environ)
    LOG.info(
        "RetrievalGroundingHook loaded version=%s policy=%s langfuse=%s metrics=%s",
        runtime.version,
        runtime.policy.digest,
        "on" if runtime.reporter.active else "off",
        "on" if runtime.metrics.available else "off",
    )
    return RetrievalGroundingHook(runtime)


hook: Final = _load()
